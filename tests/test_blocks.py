"""The ground floor of notebooks 00 and 01 against brute force and against the functions typed in the notebooks."""

import numpy as np
import pytest

from helpers.maths import blocks, descent, gradients, store
from tests.notebooks import ROOT, read

X = store.digit(5)


def typed(name, cell, function):
    """Return the function that a cell of a notebook defines."""
    source = next(c.source for c in read(ROOT / "notebooks" / name).cells if c.id == cell)
    scope = {"np": np}
    exec(source, scope)
    return scope[function]


def test_typed_functions_are_those_of_the_house():
    block = typed("01_equation.ipynb", "a-idea", "block")
    correction = typed("01_equation.ipynb", "b-idea", "correction")
    nudge = typed("01_equation.ipynb", "c-idea", "nudge")
    for kind in blocks.SUBLAYERS:
        F = blocks.layers(kind, 1)[0]
        for skip, scale in ((1.0, 1.0), (0.0, 1.0), (1.0, 0.3), (0.5, 0.0)):
            assert np.array_equal(block(X, F, skip, scale), blocks.block(X, F, skip, scale))
        assert np.array_equal(nudge(F, X), gradients.nudge(F, X))
    for skip in (0.0, 1.0):
        assert np.array_equal(correction(0.8 * X, X, skip), blocks.correction(0.8 * X, X, skip))


def test_convolution_is_a_sum_over_neighbours():
    F = blocks.layers("convolution", 1)[0]
    padded = np.pad(np.maximum(X.reshape(8, 8), 0), 1)
    expected = [
        [sum(F.K[a, b] * padded[row + a, column + b] for a in range(3) for b in range(3)) for column in range(8)]
        for row in range(8)
    ]
    assert F(X) == pytest.approx(np.ravel(expected), abs=1e-12)


def test_attention_is_a_weighted_mean_of_values():
    F = blocks.layers("attention", 1)[0]
    tokens = [X.reshape(8, 8)[2 * r : 2 * r + 2, 2 * c : 2 * c + 2].ravel() for r in range(4) for c in range(4)]
    for i, reader in enumerate(tokens):
        logits = np.array([(reader @ F.Wq) @ (other @ F.Wk) / 2 for other in tokens])
        weights = np.exp(logits) / np.exp(logits).sum()
        expected = sum(weight * (other @ F.Wv @ F.Wo) for weight, other in zip(weights, tokens, strict=True))
        assert blocks.patches(F(X))[i] == pytest.approx(expected, abs=1e-12)
    assert np.array_equal(blocks.picture(blocks.patches(X)), X)


@pytest.mark.parametrize("kind", blocks.SUBLAYERS)
def test_a_batch_is_its_rows(kind):
    F, rows = blocks.layers(kind, 1)[0], np.stack([X, -X, store.digit(1)])
    assert F(rows) == pytest.approx(np.stack([F(row) for row in rows]), abs=1e-12)


def test_unknown_sublayer_is_named():
    with pytest.raises(ValueError, match=r"pooling.*feed-forward, convolution, attention, minus-x"):
        blocks.layers("pooling", 2)


def test_deeper_stacks_begin_with_the_same_layers():
    shallow, deep = blocks.layers("attention", 2, seed=4), blocks.layers("attention", 5, seed=4)
    assert np.array_equal(shallow[1].Wv, deep[1].Wv) and not np.array_equal(deep[0].Wv, deep[1].Wv)


@pytest.mark.parametrize("skip", [0.0, 1.0])
def test_an_arrow_sent_back_is_the_slope_of_the_whole_stack(skip):
    layers = blocks.layers("feed-forward", 4)
    arrow = np.random.default_rng(0).normal(size=64)
    states = blocks.stack(X, layers, skip, 0.5)
    tables = [0.5 * F.jacobian(x) + skip * np.eye(64) for F, x in zip(layers, states, strict=False)]
    back = gradients.send_back(arrow, tables)
    J = gradients.nudge(lambda v: blocks.stack(v, layers, skip, 0.5)[-1], X, h=1e-6)
    assert back[0] == pytest.approx(J.T @ arrow, abs=1e-6) and len(back) == 5


@pytest.mark.parametrize("steps", [0, 1, 60])
@pytest.mark.parametrize("skip", [0.0, 1.0])
def test_descent_follows_its_closed_form(skip, steps):
    for delta in (0.0, 0.3, 2.0):
        form = descent.loss_form(delta, skip, steps)
        found = descent.loss(descent.descend(delta, skip, steps), delta, skip)
        assert found == pytest.approx(form, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("skip", [0.0, 1.0])
def test_the_gradient_written_by_hand_is_the_slope_of_the_loss(skip):
    rng = np.random.default_rng(0)
    weights, x, target = rng.normal(0, 0.3, (3, 2, 6, 6)), rng.normal(size=(9, 6)), rng.normal(size=(9, 6))

    def loss(entries):
        return np.array([descent.stack_gradient(w.reshape(3, 2, 6, 6), x, target, skip)[0] for w in entries])[:, None]

    slope = gradients.nudge(loss, weights.ravel(), h=1e-6)[0]
    assert descent.stack_gradient(weights, x, target, skip)[1].ravel() == pytest.approx(slope, abs=1e-8)


def test_all_zero_weights_get_no_gradient_but_a_zero_last_matrix_learns():
    x = store.digits().x_train[:64]
    weights = np.zeros((1, 2, 64, 64))
    for skip in (0.0, 1.0):
        assert not descent.stack_gradient(weights, x, 0.8 * x, skip)[1].any()
    weights[0, 0] = np.random.default_rng(0).normal(0, 0.1, (64, 64))
    assert np.abs(descent.stack_gradient(weights, x, 0.8 * x, 1.0)[1][0, 1]).max() > 1e-4


@pytest.mark.parametrize("kind", blocks.SUBLAYERS)
def test_no_block_shrinks_below_one_minus_the_norm_of_its_slope(kind):
    """σ_min(I + J) ≥ 1 - ‖J‖, with equality for F = -x at every strength."""
    J = blocks.layers(kind, 1)[0].jacobian(X)
    for scale in (0.1, 0.3, 1.0):
        smallest = np.linalg.svd(scale * J + np.eye(64), compute_uv=False)[-1]
        assert smallest >= 1 - scale * np.linalg.norm(J, 2) - 1e-12
        if kind == "minus-x":
            assert smallest == pytest.approx(1 - scale, abs=1e-12)


@pytest.mark.parametrize("kind", ["feed-forward", "convolution", "attention"])
def test_every_layer_that_is_shown_does_something(kind):
    for digit in range(10):
        assert all(state.any() for state in blocks.stack(store.digit(digit), blocks.layers(kind, 8), skip=0.0))


@pytest.mark.parametrize(
    ("x", "write", "sentence"),
    [
        (np.ones((5, 64)), np.ones(64), r"x has the shape \(5, 64\), F\(x\) \(64,\)\."),
        (X, 1.0, r"x has the shape \(64,\), F\(x\) \(\)\."),
        (X, np.ones(32), "x has 64 and F\\(x\\) has 32; .*projection"),
    ],
)
def test_a_wrong_shape_gets_one_sentence(x, write, sentence):
    with pytest.raises(ValueError, match=sentence):
        blocks.block(x, lambda v: write)
