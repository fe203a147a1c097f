"""Claims C1 to C5 of notebook 01, each against an expectation that does not use the block itself."""

import numpy as np
import pytest

from helpers.maths import blocks, descent, gradients, store

EPS = np.finfo(float).eps
KINDS = ("feed-forward", "convolution", "attention")


def cases():
    """Yield (x, F) for every kind of F, five draws each, on digits and on Gaussian vectors."""
    for kind in KINDS:
        for seed, F in enumerate(blocks.layers(kind, 5, seed=1)):
            yield store.digit(seed), F
            yield np.random.default_rng(seed).normal(size=blocks.WIDTH), F


@pytest.mark.claim("C1", notebook="01", part="a", reference="y = F(x) + x, bit for bit", source="He et al. 2015, eq. 1")
def test_c1_a_residual_block_adds_its_input(record):
    worst = 0.0
    for x, F in cases():
        y, write = blocks.block(x, F), F(x)
        assert np.array_equal(y, write + x)
        assert np.array_equal(blocks.block(x, F, skip=0.0), write)
        worst = max(worst, np.max(np.abs(y - write - x) / (EPS * (np.abs(x) + np.abs(write)))))
    record("largest |y - F(x) - x| in units of eps (|x| + |F(x)|), at most 2", worst)
    assert 0 < worst <= 2


@pytest.mark.claim(
    "C2", notebook="01", part="b", reference="δ²|x|² residual, (1-δ)²|x|² plain, equal at ½", source="closed form"
)
def test_c2_the_layer_learns_a_correction(record):
    nothing = np.zeros((64, 64))
    for delta in (0.0, 0.2, 0.5, 0.8, 1.0, 2.0):
        residual, plain = (descent.loss(nothing, delta, skip) for skip in (1.0, 0.0))
        assert residual == pytest.approx(delta**2, abs=1e-12)
        assert plain == pytest.approx((1 - delta) ** 2, abs=1e-12)
        record(f"starting loss at δ = {delta:g}, residual and plain", [residual, plain])
    moment = descent.second_moment()
    for skip in (1.0, 0.0):
        learned = descent.descend(0.2, skip, 400)
        wanted = blocks.correction(0.8, 1.0, skip)  # of x: target - x with the copy, the whole target without
        assert wanted == pytest.approx(-0.2 if skip else 0.8)
        assert np.abs(learned @ moment - wanted * moment).max() < 0.01 * np.abs(moment).max() * abs(wanted)
        record(f"what W has learned of x after 400 steps, skip {skip:g}", np.trace(learned @ moment))


@pytest.mark.claim(
    "C2",
    notebook="01",
    part="b",
    reference="one matrix: both contract alike; two blocks: the plain ones wait",
    source="E ← (E - 2ηEΣ), closed form; measured, three seeds",
)
def test_c2_only_the_start_differs_until_blocks_are_stacked(record):
    start, left = np.zeros((64, 64)), []
    for skip in (1.0, 0.0):
        left.append(descent.loss(descent.descend(0.2, skip, 50), 0.2, skip) / descent.loss(start, 0.2, skip))
    record("share of the loss left after 50 steps, one matrix, residual and plain", left)
    assert left[0] == pytest.approx(left[1], rel=1e-9) and left[0] < 0.1

    def halving(skip, depth, seed):
        losses = descent.descend_stack(0.5, skip, depth, seed=seed, steps=150)
        return int(np.argmax(losses < losses[0] / 2))

    # At δ = ½ both arms start at the same loss and have as much to learn, so + I alone differs.
    one, two = ([[halving(skip, depth, seed) for seed in range(3)] for skip in (1.0, 0.0)] for depth in (1, 2))
    record("steps until the loss is halved, one block, residual", one[0])
    record("the same, plain", one[1])
    record("two blocks, residual", two[0])
    record("two blocks, plain", two[1])
    assert np.abs(np.subtract(*one)).max() <= 2 and min(one[0]) > 0
    assert min(np.divide(two[1], two[0])) > 4


@pytest.mark.claim("C3", notebook="01", part="a", reference="F = 0 gives y = x, bit for bit", source="closed form")
def test_c3_doing_nothing_is_the_default(record):
    changed, lost = [], []
    for x, F in cases():
        changed.append(np.abs(blocks.block(x, F, scale=0.0) - x).max())
        lost.append(np.abs(blocks.block(x, F, skip=0.0, scale=0.0)).max())
        assert np.array_equal(blocks.block(x, lambda v: np.zeros_like(v)), x)
        assert np.array_equal(blocks.stack(x, [F] * 8, scale=0.0)[-1], x)
    record("largest change of x by a residual block with F = 0", max(changed))
    record("largest entry that a plain block with F = 0 passes on", max(lost))
    assert max(changed) == 0 and max(lost) == 0


@pytest.mark.claim(
    "C4", notebook="01", part="deeper", reference="unequal widths are refused by name", source="definition"
)
def test_c4_the_addition_needs_equal_widths(record):
    x, narrow = store.digit(3), np.ones((32, 64))
    for width in (1, 32):
        with pytest.raises(ValueError, match=rf"x has 64 and F\(x\) has {width};"):
            blocks.block(x, lambda v, width=width: np.ones(width))
    with pytest.raises(ValueError, match=r"x has 64 and F\(x\) has 1;"):
        blocks.block(np.ones((5, 64)), lambda v: np.ones((5, 1)))
    record("width that numpy gives 64 + 1 without a word", (x + np.ones(1)).shape[-1])
    record("width of a plain block from 64 to 32", len(blocks.block(x, lambda v: narrow @ v, skip=0.0)))
    assert np.array_equal(blocks.block(x, lambda v: narrow @ v, skip=0.0), narrow @ x)
    assert np.array_equal(blocks.block(x, lambda v: 0 * v), x)
    assert not blocks.block(x, lambda v: 0 * v, skip=0.0).any()
    assert len(blocks.stack(x, blocks.layers("attention", 8))[-1]) == 64


@pytest.mark.claim("C5", notebook="01", part="c", reference="dy/dx = dF/dx + I", source="closed form; to 1e-6")
def test_c5_the_derivative_gains_an_identity(record):
    worst = 0.0
    for x, F in cases():
        J = F.jacobian(x)
        residual = gradients.nudge(lambda v, F=F: blocks.block(v, F), x, h=1e-5)
        plain = gradients.nudge(lambda v, F=F: blocks.block(v, F, skip=0.0), x, h=1e-5)
        worst = max(worst, np.abs(residual - (J + np.eye(64))).max(), np.abs(plain - J).max())
    record("largest difference between nudged and exact", worst)
    assert worst < 1e-6
    minus = blocks.SUBLAYERS["minus-x"]()
    left = np.abs(gradients.nudge(lambda v: blocks.block(v, minus), store.digit(3))).max()
    record("largest entry of dy/dx for F = -x", left)
    assert left == 0
