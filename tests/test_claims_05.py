"""The claims of notebook 05: routes, their lengths, and layers taken out."""

from math import comb

import numpy as np
import pytest

from helpers.maths import paths

WIDTH = 64


def drawn(depth, seed):
    """He weights (depth, 64, 64) and biases (depth, 64)."""
    rng = np.random.default_rng(seed)
    return rng.normal(0, np.sqrt(2 / WIDTH), (depth, WIDTH, WIDTH)), rng.normal(0, 0.3, (depth, WIDTH))


def run(x, W, b, skip, scale, relu):
    """The forward pass as a plain loop: independent of the house."""
    states = [x]
    for w, c in zip(W, b, strict=True):
        states.append(skip * states[-1] + scale * (w @ (np.maximum(states[-1], 0) if relu else states[-1]) + c))
    return states


@pytest.mark.claim(
    "C12",
    notebook="05",
    part="a",
    source="closed form",
    reference="the 2^L routes and the 2^L - 1 from biases add up to the forward pass",
)
def test_c12_all_routes_add_up_to_the_forward_pass(record):
    worst, x = 0.0, np.random.default_rng(9).normal(size=WIDTH)
    for depth in range(1, 7):
        W, b = drawn(depth, seed=depth)
        for relu in (True, False):
            for skip, scale in ((1.0, 1.0), (0.0, 1.0), (0.7, 0.5)):
                states = run(x, W, b, skip, scale, relu)
                maps = paths.frozen(W, states if relu else None)
                ends = paths.along(paths.routes(depth), x, maps, skip, scale)
                from_biases = paths.from_biases(b, maps, skip, scale)
                assert len(ends) == 2**depth and len(from_biases) == 2**depth - 1
                if skip == 0:
                    assert not ends[:-1].any(), "a plain stack has one route, the one through every F"
                total = ends.sum(0) + from_biases.sum(0)
                worst = max(worst, np.linalg.norm(total - states[-1]) / np.linalg.norm(states[-1]))
    record("largest relative distance of the sum of routes from the forward pass, depth 1 to 6", worst)
    assert worst < 1e-13


@pytest.mark.claim(
    "C7",
    notebook="05",
    part="a",
    source="closed form",
    reference="the route around every F contributes exactly I, at any depth; without + I, exactly 0",
)
def test_c7_the_route_around_everything_is_the_identity(record):
    for depth in (6, 54, 200):
        maps = paths.frozen(drawn(depth, seed=0)[0])
        (around,) = paths.along(np.zeros((1, depth), bool), np.eye(WIDTH), maps)
        (plain,) = paths.along(np.zeros((1, depth), bool), np.eye(WIDTH), maps, skip=0.0)
        assert (around == np.eye(WIDTH)).all()
        assert not plain.any()
        (once,) = paths.along(np.arange(depth)[None] == 2, np.eye(WIDTH), maps)
        np.testing.assert_allclose(once, drawn(depth, seed=0)[0][2].T, atol=1e-14)
    record("largest entry of (route around 200 layers) - I", abs(around - np.eye(WIDTH)).max())


@pytest.mark.claim(
    "paths: energy by length",
    notebook="05",
    part="b",
    source="closed form",
    reference="Binomial(L, σ²/(1+σ²)), σ² the energy of one write per unit of stream",
)
def test_energy_by_length_is_binomial(record):
    sigma, rng = 0.5, np.random.default_rng(0)
    for depth, draws, tolerance in ((6, 1500, 0.03), (54, 100, None)):
        energy = np.zeros(depth + 1)
        for _ in range(draws):
            maps = paths.frozen(rng.normal(0, 1 / 8, (depth, WIDTH, WIDTH)))
            energy += np.square(paths.by_length(rng.normal(size=WIDTH), maps, scale=sigma)).sum(1)
        share, p = energy / energy.sum(), sigma**2 / (1 + sigma**2)
        expected = np.array([comb(depth, k) * p**k * (1 - p) ** (depth - k) for k in range(depth + 1)])
        np.testing.assert_allclose(paths.share_by_length(np.full(depth, sigma**2)), expected, rtol=1e-10)
        mean = share @ np.arange(depth + 1)
        record(f"mean length by energy, depth {depth}, expected {depth * p:g}", mean)
        assert mean == pytest.approx(depth * p, rel=0.03)
        if tolerance:
            record("largest relative distance of a share from the binomial", abs(share / expected - 1).max())
            np.testing.assert_allclose(share, expected, rtol=tolerance)
        else:
            assert abs(share - expected).sum() / 2 < 0.03
    plain = paths.energy_share(paths.by_length(rng.normal(size=WIDTH), maps, skip=0.0))
    assert plain[-1] == 1, "without + I all energy has the full length"


@pytest.mark.claim(
    "paths: Veit's window", notebook="05", part="b", source="closed form", reference="P(5 ≤ Bin(54, ½) ≤ 17) = 0.004537"
)
def test_the_share_of_routes_in_veits_window(record):
    """Counted twice: by the closed form, and by sending 1 through 54 layers with F(x) = x: each route contributes 1."""
    form = paths.window(paths.share_by_length(np.ones(54)))
    counted = paths.by_length(np.ones(1), [lambda v: v] * 54)[:, 0]
    record("share of the 2^54 routes with 5 to 17 blocks", form)
    assert form == pytest.approx(0.004537, abs=5e-7)
    assert paths.window(counted) / 2**54 == pytest.approx(form, rel=1e-12)
    assert counted.sum() == 2**54
    assert paths.by_length(np.ones(1), [lambda v: v] * 54, skip=0.0)[:, 0].sum() == 1
    quarter, half = (paths.window(paths.share_by_length(np.full(54, r))) for r in (0.25, 0.5))
    record("share in that window by count × magnitude, each block × 0.25", quarter)
    assert quarter > 0.95 > half


@pytest.mark.claim(
    "paths: normalised blocks",
    notebook="05",
    part="b",
    source="closed form",
    reference="mean length H_(L+1) - 1 = 3.59 at L = 54, every F normalised, unit stream",
)
def test_the_mean_length_with_normalised_blocks(record):
    """Measured on random writes normalised to unit energy, each layer's F a fresh random matrix."""
    depth, rng, means = 54, np.random.default_rng(3), []
    for _ in range(40):
        x = rng.normal(size=WIDTH)
        stream, maps = x / np.linalg.norm(x), []
        for _ in range(depth):
            W = rng.normal(0, 1 / 8, (WIDTH, WIDTH))
            W /= np.linalg.norm(W @ stream)
            stream = stream + W @ stream
            maps.append(W)
        share = paths.energy_share(paths.by_length(x, paths.frozen(maps)))
        means.append(share @ np.arange(depth + 1))
    expected = sum(1 / k for k in range(2, depth + 2))
    form = paths.share_by_length(paths.normalised_ratios(depth)) @ np.arange(depth + 1)
    record("mean length by energy, 54 normalised blocks, expected 3.59", np.mean(means))
    assert form == pytest.approx(expected, rel=1e-12) == pytest.approx(3.59, abs=0.005)
    assert np.mean(means) == pytest.approx(expected, rel=0.05)
    plain = paths.energy_share(paths.by_length(x, paths.frozen(maps), skip=0.0))
    assert plain[-1] == 1, "without + I the only route has the full length"
