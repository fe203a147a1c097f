"""The claims of notebook 02: what happens to a gradient on its way back through many layers."""

import itertools
from functools import cache, reduce

import numpy as np
import pytest

from helpers.maths import blocks, gradients, store

N = 64


def inside(value, expected, share):
    return abs(value / expected - 1) < share


def singular_values(matrix):
    return np.linalg.svd(matrix, compute_uv=False)


@cache
def arrows_and_products(skip, gain, depth=20, draws=60):
    """Squared length of one arrow, and squared Frobenius norm of the product over n, for each draw."""
    arrow = np.eye(N, dtype=np.float32)[0]
    arrows, products = [], []
    for seed in range(draws):
        tables = gradients.tables(depth, N, seed)
        arrows.append(np.exp(gradients.log_lengths(arrow, tables, gain, skip)[-1]))
        whole = reduce(lambda right, left: left @ right, [gradients.factor(gain * J, skip) for J in tables])
        products.append(np.sum(whole.astype(float) ** 2) / N)
    return np.array(arrows), np.array(products)


@pytest.mark.claim("C6", notebook="02", part="a", reference="plain g^(2L), residual (1 + g²)^L", source="closed form")
def test_c6_mean_squared_length_is_a_power_of_the_depth(record):
    for skip, gain, share in ((0, 0.9, 0.20), (1, 0.5, 0.08), (1, 0.9, 0.08)):
        expected = (skip + gain**2) ** 20
        arrows, products = arrows_and_products(skip, gain)
        record(
            f"arrow, skip {skip}, gain {gain}, depth 20, 60 draws: mean |v|² over {expected:.4g}",
            arrows.mean() / expected,
        )
        record(f"same, squared Frobenius norm of the product / {N}, over the same", products.mean() / expected)
        assert inside(products.mean(), expected, share)
        assert inside(arrows.mean(), expected, share)


@cache
def logs(skip, gain, depth, draws=60):
    return gradients.spread(gradients.noise(depth, N, draws, 2), gain, skip)[-1]


@pytest.mark.claim(
    "C6",
    notebook="02",
    part="a",
    reference="L (log m - v/2), variance L v; v = 2/n, (4g² + 2g⁴) / (n (1 + g²)²)",
    source="closed form, first order in 1/n",
)
def test_c6_the_typical_draw_lies_below_the_mean(record):
    for skip, gain, depth in itertools.product((0, 1), (0.5, 1.0), (200, 1000)):
        found = logs(skip, gain, depth)
        v = (4 * gain**2 + 2 * gain**4) / (N * (1 + gain**2) ** 2) if skip else 2 / N
        expected = depth * (np.log(skip + gain**2) - v / 2)
        error = found.std(ddof=1) / np.sqrt(len(found))
        record(
            f"skip {skip}, gain {gain}, depth {depth}: log-mean off by, in standard errors",
            (found.mean() - expected) / error,
        )
        record("log-variance over L v", found.var(ddof=1) / (depth * v))
        assert abs(found.mean() - expected) < 3 * error
        assert inside(found.var(ddof=1), depth * v, 3 * np.sqrt(2 / 59))
        assert np.isfinite(found).all()


@pytest.mark.claim("C7", notebook="02", part="c", reference="I, at any depth; shortcut λ: λ^L", source="exact")
def test_c7_one_route_is_exactly_the_identity(record):
    J = 0.7 * gradients.tables(5, 6, 1).astype(float)
    for skip in (1.0, 0.0):
        whole = reduce(lambda right, left: left @ right, [gradients.factor(one, skip) for one in J])
        rest = np.zeros((6, 6))
        for length in range(1, 6):
            for route in itertools.combinations(J, length):
                rest += skip ** (5 - length) * reduce(lambda right, left: left @ right, route)
        off = np.abs(whole - rest - skip * np.eye(6)).max()
        record(f"skip {skip:g}, depth 5: whole product minus the other 31 routes, distance from {skip:g} I", off)
        assert off < 1e-13
    arrow, silent = np.eye(N)[0], np.zeros((1000, N, N))
    assert (gradients.log_lengths(arrow, silent) == 0).all()  # log of length 1, all the way
    half = gradients.log_lengths(arrow, silent[:54], skip=0.5)[-1] / 2
    record("shortcut 0.5, 54 layers: direct term", np.exp(half))
    assert inside(np.exp(half), 5.6e-17, 0.01)


@pytest.mark.claim(
    "half-truth 1", notebook="02", part="b", reference="J = -I gives 0; σ_min(I + J) ≥ 1 - ‖J‖", source="exact"
)
def test_the_identity_can_be_cancelled(record):
    gone = singular_values(gradients.factor(gradients.tables(1, N, kind="minus-identity")[0]))
    record("largest singular value of I + J, J = -I", gone.max())
    assert gone.max() == 0
    J = 0.4 * gradients.tables(1, N, 3)[0]
    low = singular_values(gradients.factor(J)).min()
    record("Gaussian J of gain 0.4: smallest singular value of I + J", low)
    assert 1 - singular_values(J).max() <= low < 1
    plain = singular_values(gradients.factor(J, skip=0))
    assert np.allclose(plain, singular_values(J), atol=1e-6)


@cache
def values_of(gain, skip, width=500, draws=2):
    J = np.float32(gain) * gradients.tables(draws, width, 0)
    return singular_values(np.array([gradients.factor(one, skip) for one in J]))


@pytest.mark.claim(
    "edges",
    notebook="02",
    part="b",
    reference="s² = g² (a ± 3)³ / (8 (a ± 1)), a = sqrt(1 + 8/g²)",
    source="closed form",
)
def test_edges_and_share_of_the_singular_values(record):
    published = {0.25: (0.664, 1.368, 0.472), 0.5: (0.369, 1.760, 0.443), 0.9: (0.034, 2.426, 0.398)}
    for gain, (low, high, share) in published.items():
        found = values_of(gain, 1)
        record(f"gain {gain}, width 500: smallest, beside {low}", found.min())
        record(f"gain {gain}, width 500: largest, beside {high}", found.max())
        record(f"gain {gain}, width 500: share below 1, beside {share}", (found < 1).mean())
        assert abs(found.min() - low) < 0.02 and abs(found.max() - high) < 0.02
        assert abs((found < 1).mean() - share) < 0.01
        assert np.allclose(gradients.edges(gain), (low, high), atol=6e-4)
        assert abs(gradients.share_below_one(gain) - share) < 6e-4
    plain = values_of(0.9, 0)
    record("plain, gain 0.9: largest, beside 1.8", plain.max())
    assert plain.min() < 0.02 and abs(plain.max() - 1.8) < 0.02
    narrow = values_of(0.5, 1, 64, 20)
    record("gain 0.5, width 64, median of 20 draws: smallest", np.median(narrow.min(axis=1)))
    record("gain 0.5, width 64, median of 20 draws: largest", np.median(narrow.max(axis=1)))
    assert abs(np.median(narrow.min(axis=1)) - 0.40) < 0.02 and abs(np.median(narrow.max(axis=1)) - 1.74) < 0.02


@pytest.mark.claim("scaling", notebook="02", part="a", reference="(1 + g²/L)^L → e^(g²)", source="closed form")
def test_one_over_root_depth_keeps_the_gradient_bounded(record):
    for depth in (56, 1000):
        numbers = gradients.noise(depth, N, 400, 3)
        for gain in (0.5, 1.0):
            found = np.exp(gradients.spread(numbers, gain, 1.0, depth**-0.5)[-1]).mean()
            record(f"depth {depth}, gain {gain}: mean |v|² over e^(g²)", found / np.exp(gain**2))
            assert inside(found, np.exp(gain**2), 0.05)
    plain = gradients.spread(numbers, 1.0, 0.0, 1000**-0.5)[-1].mean()
    record("plain with the same scale, depth 1000: log-mean over -1000 log 1000", plain / (-1000 * np.log(1000)))
    assert inside(plain, -1000 * np.log(1000), 0.01)


@cache
def he_vectors(skip, n=128, depth=50, draws=400):
    """Log |x_L|² of one vector through blocks W relu(x); a fresh Gaussian W times a vector is a Gaussian vector."""
    rng = np.random.default_rng(4)
    x = rng.standard_normal((draws, n))
    start = np.sum(x**2, axis=1)
    for _ in range(depth):
        length = np.linalg.norm(np.maximum(x, 0), axis=1, keepdims=True)
        x = blocks.add(x, np.sqrt(2 / n) * length * rng.standard_normal((draws, n)), skip)
    return np.log(np.sum(x**2, axis=1) / start)


@pytest.mark.claim(
    "he-vector", notebook="02", part="deeper", reference="-5L/(2n), 5L/n", source="closed form, first order"
)
def test_plain_he_keeps_the_length_in_mean_square_only(record):
    plain = he_vectors(0)
    record("plain ReLU, He, width 128, depth 50, 400 draws: log-mean, beside -0.989", plain.mean())
    record("log-variance, beside 2.012", plain.var())
    assert abs(plain.mean() + 0.989) < 0.3 and abs(plain.var() - 2.012) < 0.6
    assert abs(plain.mean() + 5 * 50 / 256) < 0.3 and abs(plain.var() - 5 * 50 / 128) < 0.6
    residual = he_vectors(1)
    record("residual, same: log-mean over 50 log 2", residual.mean() / (50 * np.log(2)))
    assert inside(residual.mean(), 50 * np.log(2), 0.05)


@cache
def orthogonal_lengths(skip, draws=40):
    found = []
    for seed in range(draws):
        x = np.random.default_rng(seed).standard_normal((20, 128))
        weights = np.sqrt(2) * gradients.tables(10, 128, seed, "orthogonal").astype(float)
        found.append(np.mean(gradients.net(x, weights, skip)[0][-1] ** 2) / np.mean(x**2))
    return np.mean(found)


@pytest.mark.claim(
    "orthogonal", notebook="02", part="deeper", reference="Q Qᵀ = I; under ReLU needs × sqrt 2", source="closed form"
)
def test_orthogonal_under_relu_needs_root_two(record):
    Q = gradients.tables(200, 16, 6, "orthogonal").astype(float)
    assert np.abs(Q @ Q.swapaxes(1, 2) - np.eye(16)).max() < 1e-5
    # Without the sign correction the diagonal leans to one side.
    lean = np.trace(Q, axis1=1, axis2=2).mean()
    record("mean trace of 200 matrices 16 × 16, beside 0", lean)
    assert abs(lean) < 0.25
    record("sqrt 2 Q, ReLU, depth 10: mean |x|² over the start, beside 1", orthogonal_lengths(0))
    record("the same with + I, beside 2^10", orthogonal_lengths(1))
    assert inside(orthogonal_lengths(0), 1, 0.1) and inside(orthogonal_lengths(1), 1024, 0.1)


@cache
def normed_growth(skip, depth, seed, first=0, last=None):
    """Length of the gradient ``last`` layers from the top over that ``first`` layers from the top."""
    x = np.random.default_rng(seed).standard_normal((256, 256))
    weights = np.sqrt(2) * gradients.tables(depth, 256, seed).astype(float)
    _, slopes = gradients.net(x, weights, skip, norm=True)
    back = gradients.net_back(np.random.default_rng(seed + 99).standard_normal(x.shape), weights, slopes, skip)
    return np.exp((back[depth if last is None else last] - back[first]) / 2)


@pytest.mark.claim(
    "batch-norm",
    notebook="02",
    part="deeper",
    reference="plain sqrt(π/(π-1)) = 1.2112 a layer; residual 4.16, 8.65, 20.35",
    source="closed form",
)
def test_batch_norm_makes_the_plain_gradient_grow(record):
    rate = np.mean([normed_growth(0, 30, seed, 5, 25) ** (1 / 20) for seed in range(3)])
    record("plain, width 256, batch 256, layers 5 to 25 from the top: growth a layer", rate)
    assert inside(rate, 1.2112, 0.01) and inside(gradients.batch_norm_growth(1, 0), 1.2112, 1e-4)
    for depth, expected in ((10, 4.16), (30, 8.65), (100, 20.35)):
        found = np.mean([normed_growth(1, depth, seed) for seed in range(2)])
        record(f"residual, depth {depth}: bottom over top, beside {expected}", found)
        assert inside(found, expected, 0.06) and abs(gradients.batch_norm_growth(depth) - expected) < 0.005


@cache
def smoothness(skip, norm, depth, draws=24, n=128):
    found = []
    for seed in range(draws):
        start, direction, readout = np.random.default_rng(seed).standard_normal((3, n))
        weights = np.sqrt(2) * gradients.tables(depth, n, seed).astype(float)
        slope = gradients.slope_on_line(start, direction, weights, readout, skip, norm=norm)
        found.append(gradients.autocorrelation(slope))
    return np.mean(found)


@pytest.mark.claim(
    "shattering",
    notebook="02",
    part="deeper",
    source="measured",
    reference="lag 1, L = 10 / 24: plain + BN .49 / -.03, residual + BN .90 / .79, plain .93 / .89, residual .96 / .92",
)
def test_batch_norm_shatters_the_plain_gradient(record):
    published = {(0, True): (0.49, -0.03), (1, True): (0.90, 0.79), (0, False): (0.93, 0.89), (1, False): (0.96, 0.92)}
    for (skip, norm), pair in published.items():
        for depth, expected in zip((10, 24), pair, strict=True):
            found = smoothness(skip, norm, depth)
            record(f"skip {skip}, {'batch norm' if norm else 'no norm'}, depth {depth}, beside {expected}", found)
            assert abs(found - expected) < 0.1
    # Like with like: without the norm even the plain net is smoother than the residual net with it.
    assert smoothness(0, False, 24) > smoothness(1, True, 24) > smoothness(0, True, 24) + 0.5


@cache
def digits_alike(skip, depth):
    x = store.digits().x_test[:100]
    found = []
    for seed in range(5):
        streams = blocks.stack(x, blocks.layers("feed-forward", depth, seed), skip, depth**-0.5 if skip else 1.0)
        found.append(gradients.likeness(np.maximum(streams[-1], 0)))
    return np.mean(found)


@pytest.mark.claim(
    "signals",
    notebook="02",
    part="a",
    reference="mean cosine, plain .82 .96 .98 .994 at 8 20 32 56; residual .45",
    source="measured",
)
def test_different_digits_become_alike_without_the_skip(record):
    for depth, expected in ((8, 0.82), (20, 0.96), (32, 0.98), (56, 0.994)):
        plain, residual = digits_alike(0, depth), digits_alike(1, depth)
        record(f"plain, depth {depth}, beside {expected}", plain)
        record(f"residual, scale 1/sqrt(depth), depth {depth}, beside 0.45", residual)
        assert abs(plain - expected) < 0.07 and abs(residual - 0.45) < 0.07
