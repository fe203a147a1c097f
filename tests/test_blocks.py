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
    back = gradients.send_back(arrow, states, layers, skip, 0.5)
    J = gradients.nudge(lambda v: blocks.stack(v, layers, skip, 0.5)[-1], X, h=1e-6)
    assert back[0] == pytest.approx(J.T @ arrow, abs=1e-6) and len(back) == 5


@pytest.mark.parametrize("steps", [0, 1, 60])
@pytest.mark.parametrize("skip", [0.0, 1.0])
def test_descent_follows_its_closed_form(skip, steps):
    for delta in (0.0, 0.3, 2.0):
        form = descent.descend_form(delta, skip, steps)
        assert descent.descend(delta, skip, steps) == pytest.approx(form, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("skip", [0.0, 1.0])
def test_one_step_of_the_stack_follows_the_slope_of_its_loss(skip):
    """The loss after a tiny step must fall by rate · |gradient|², summed here by central differences of the loss."""
    rate, settings = 1e-7, {"spread": 0.1, "depth": 2, "skip": skip, "delta": 0.3}
    fall = np.diff(descent.descend_stack(steps=1, rate=rate, **settings))[0]
    again = np.diff(descent.descend_stack(steps=1, rate=-rate, **settings))[0]
    assert fall < 0 < again and fall == pytest.approx(-again, rel=1e-3)
