"""The ground floor of notebook 02 against brute force."""

import numpy as np
import pytest

from helpers.maths import gradients

N = 16


def drawn(depth, gain=1.0, seed=0, width=N):
    return gain * gradients.tables(depth, width, seed).astype(float)


@pytest.mark.parametrize("skip", [0.0, 1.0])
def test_an_arrow_goes_back_as_through_the_transposed_product(skip):
    J, arrow = drawn(9, 0.8), np.eye(N)[2]
    lengths = [1.0]
    for one in J[::-1]:
        arrow = (skip * np.eye(N) + 0.5 * one).T @ arrow
        lengths.append(arrow @ arrow)
    for chunk in (1, 3, 64):
        found = gradients.log_lengths(np.eye(N)[2], J / 0.8, 0.8, skip, 0.5, chunk=chunk)
        assert np.allclose(found, np.log(lengths), atol=1e-12)


@pytest.mark.parametrize(("gain", "skip"), [(0.1, 0.0), (2.0, 0.0), (2.0, 1.0)])
def test_a_thousand_layers_neither_overflow_nor_underflow(gain, skip):
    found = gradients.log_lengths(np.eye(64, dtype=np.float32)[0], gradients.tables(1000, 64), gain, skip)
    middle, variance = gradients.log_moments(1000, 64, gain, skip)
    assert found.shape == (1001,) and np.isfinite(found).all()
    assert abs(found[-1] - middle) < 4 * np.sqrt(variance)


def test_an_arrow_that_is_cancelled_has_no_length():
    found = gradients.log_lengths(np.eye(N)[0], gradients.tables(3, N, kind="minus-identity"))
    assert found[0] == 0 and (found[1:] == -np.inf).all()


def test_the_recursion_on_lengths_has_the_law_of_the_matrices():
    rng = np.random.default_rng(1)
    vectors = np.tile(np.eye(N)[0], (12000, 1))
    for _ in range(5):
        vectors = vectors + 0.7 * np.einsum("dij,dj->di", rng.standard_normal((12000, N, N)) / 4, vectors)
    matrices = np.log(np.sum(vectors**2, axis=1))
    lengths = gradients.spread(gradients.noise(5, N, 12000, 2), 0.7)[-1]
    assert abs(matrices.mean() - lengths.mean()) < 4 * np.sqrt((matrices.var() + lengths.var()) / 12000)
    assert abs(matrices.var() / lengths.var() - 1) < 0.08


def test_silence_is_minus_infinity_and_no_warning():
    numbers = gradients.noise(4, N, 3)
    assert (gradients.spread(numbers, skip=0.0, scale=0.0)[1:] == -np.inf).all()
    assert gradients.log_moments(4, N, 1.0, 0.0, 0.0) == (-np.inf, 0.0)


@pytest.mark.parametrize(("gain", "skip"), [(0.5, 1.0), (1.3, 1.0), (0.8, 0.0), (0.5, 0.5)])
def test_density_fills_the_space_between_the_edges(gain, skip):
    low, high = gradients.edges(gain, skip)
    points = np.linspace(low, high, 20001)[1:-1]
    assert abs(gradients.density(points, gain, skip).sum() * (high - low) / 20000 - 1) < 0.01
    outside = [s for s in (low - 0.01, high + 0.01) if s > 0]
    assert np.abs(gradients.density(outside, gain, skip)).max() < 1e-6


def test_share_below_one_where_nothing_or_everything_is():
    assert gradients.share_below_one(0.4, 0.0) == 1 and gradients.share_below_one(0.1, 2.0) == 0
    assert gradients.edges(0.0) == (1, 1) and gradients.share_below_one(0.0) == 0


@pytest.mark.parametrize(("depth", "skip"), [(1, 1.0), (6, 0.0), (40, 1.0), (60, 0.0), (200, 0.0)])
def test_singular_values_hundreds_of_decades_apart(depth, skip):
    factors = np.array([gradients.factor(J, skip) for J in drawn(depth)])
    found = gradients.log_singular_values(factors)
    volume = sum(np.linalg.slogdet(one)[1] for one in factors)
    assert np.isclose(found.sum(), volume, rtol=1e-8)
    whole = factors[0]
    for one in factors[1:]:
        whole = one @ whole
    assert np.isclose(found[0], np.log(np.linalg.norm(whole, 2)))
    undone = np.linalg.inv(factors[-1])
    for one in factors[-2::-1]:
        undone = np.linalg.inv(one) @ undone
    assert np.isclose(found[-1], -np.log(np.linalg.norm(undone, 2)), atol=0.05)
    assert (np.diff(found) <= 0).all()


def test_a_product_that_is_zero_has_no_singular_value_left():
    factors = [gradients.factor(J) for J in gradients.tables(3, N, kind="minus-identity")]
    assert gradients.log_singular_values(factors).max() < -600


@pytest.mark.parametrize("skip", [0.0, 1.0])
@pytest.mark.parametrize("norm", [False, True])
def test_slopes_of_a_net_against_nudging_with_statistics_frozen(skip, norm):
    rng = np.random.default_rng(3)
    x, weights = rng.standard_normal((7, N)), drawn(3)
    streams, slopes = gradients.net(x, weights, skip, 0.5, norm)
    before, deviations = streams[:-1], [np.sqrt(s.var(axis=0) + 1e-5) if norm else np.ones(N) for s in streams[:-1]]
    means = [s.mean(axis=0) if norm else np.zeros(N) for s in before]

    def frozen(batch):
        for W, mean, deviation in zip(weights, means, deviations, strict=True):
            batch = skip * batch + 0.5 * np.maximum((batch - mean) / deviation, 0) @ W.T
        return batch

    assert np.allclose(frozen(x), streams[-1])
    J = gradients.nudge(frozen, x[4])
    direction = rng.standard_normal(N)
    assert np.allclose(gradients.net_along(direction, weights, slopes, skip, 0.5)[4], J @ direction, atol=1e-6)
    arrows = np.zeros((7, N))
    arrows[4] = direction
    back = gradients.net_back(arrows, weights, slopes, skip, 0.5)
    assert np.isclose(back[-1], np.log(np.sum((J.T @ direction) ** 2)), atol=1e-6)


def test_slope_on_a_line_against_nudging():
    start, direction, readout = np.random.default_rng(4).standard_normal((3, N))
    weights, t = drawn(3), np.linspace(-2, 2, 9)

    def f(t):
        return np.maximum(gradients.net(start + t[:, None] * direction, weights)[0][-1], 0) @ readout

    found = gradients.slope_on_line(start, direction, weights, readout, points=9)
    assert np.allclose(found, (f(t + 1e-6) - f(t - 1e-6)) / 2e-6, atol=1e-5)


def test_autocorrelation_and_likeness_of_known_things():
    assert gradients.autocorrelation(np.sin(np.linspace(0, 6, 400))) > 0.99
    assert abs(gradients.autocorrelation(np.random.default_rng(0).standard_normal(20000))) < 0.03
    assert np.isclose(gradients.likeness(np.outer([1.0, 2.0, 5.0], np.ones(4))), 1)
    assert np.isclose(gradients.likeness(np.eye(4)), 0)


def test_bad_input_gets_a_sentence():
    with pytest.raises(ValueError, match="allowed are gaussian, orthogonal, minus-identity"):
        gradients.tables(1, 4, kind="uniform")
    with pytest.raises(ValueError, match="x has width 5, the weights 4"):
        gradients.net(np.zeros((2, 5)), gradients.tables(1, 4))
