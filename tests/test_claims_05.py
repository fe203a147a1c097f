"""The claims of notebook 05: routes, their lengths, and layers taken out."""

from math import comb

import numpy as np
import pytest

from helpers.maths import lesions, paths, store

WIDTH = 64
OPEN = np.ones((201, 1))  # every unit open: F is linear


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
                maps = paths.frozen(W, states if relu else OPEN[: depth + 1])
                ends = paths.along(paths.routes(depth), x, maps, skip, scale)
                # Each bias enters with `scale` and has the layers above it to go.
                starts = [(scale * c, maps[k + 1 :]) for k, c in enumerate(b)]
                above = [paths.along(paths.routes(len(rest)), c, rest, skip, scale) for c, rest in starts]
                from_biases = np.concatenate(above)
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
        maps = paths.frozen(drawn(depth, seed=0)[0], OPEN[: depth + 1])
        (around,) = paths.along(np.zeros((1, depth), bool), np.eye(WIDTH), maps)
        (plain,) = paths.along(np.zeros((1, depth), bool), np.eye(WIDTH), maps, skip=0.0)
        assert (around == np.eye(WIDTH)).all()
        assert not plain.any()
        (once,) = paths.along(np.arange(depth)[None] == 2, np.eye(WIDTH), maps)
        np.testing.assert_allclose(once, drawn(depth, seed=0)[0][2].T, atol=1e-14)
    record("largest entry of (route around 200 layers) - I", abs(around - np.eye(WIDTH)).max())


@pytest.mark.claim(
    "energy",
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
            maps = paths.frozen(rng.normal(0, 1 / 8, (depth, WIDTH, WIDTH)), OPEN[: depth + 1])
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


@pytest.mark.claim("Veit", notebook="05", part="b", source="closed form", reference="P(5 ≤ Bin(54, ½) ≤ 17) = 0.004537")
def test_the_share_of_routes_in_veits_window(record):
    """Counted twice: by the closed form, and by sending 1 through 54 layers with F(x) = x: each route contributes 1."""
    form = paths.share_by_length(np.ones(54))[5:18].sum()
    counted = paths.by_length(np.ones(1), [lambda v: v] * 54)[:, 0]
    record("share of the 2^54 routes with 5 to 17 blocks", form)
    assert form == pytest.approx(0.004537, abs=5e-7)
    assert counted[5:18].sum() / 2**54 == pytest.approx(form, rel=1e-12)
    assert counted.sum() == 2**54
    assert paths.by_length(np.ones(1), [lambda v: v] * 54, skip=0.0)[:, 0].sum() == 1
    quarter, half = (paths.share_by_length(np.full(54, r))[5:18].sum() for r in (0.25, 0.5))
    record("share in that window by count × magnitude, each block × 0.25", quarter)
    assert quarter > 0.95 > half


@pytest.mark.claim(
    "H(L)",
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
        share = paths.energy_share(paths.by_length(x, paths.frozen(maps, OPEN[: depth + 1])))
        means.append(share @ np.arange(depth + 1))
    expected = sum(1 / k for k in range(2, depth + 2))
    form = paths.share_by_length(1 / np.arange(1, depth + 1)) @ np.arange(depth + 1)
    record("mean length by energy, 54 normalised blocks, expected 3.59", np.mean(means))
    assert form == pytest.approx(expected, rel=1e-12) == pytest.approx(3.59, abs=0.005)
    assert np.mean(means) == pytest.approx(expected, rel=0.05)
    plain = paths.energy_share(paths.by_length(x, paths.frozen(maps, OPEN[: depth + 1]), skip=0.0))
    assert plain[-1] == 1, "without + I the only route has the full length"


def pair(seeds=5):
    """Return the stored nets of scale 0.5: the residual ones, then the plain ones, everything else equal."""
    *_, nets = lesions.stored("lesions_20.npz")
    residual, plain = (np.flatnonzero(lesions.where(nets.columns(), skip=skip, scale=0.5))[:seeds] for skip in (1, 0))
    return nets.only(np.concatenate([residual, plain]))


def control(file, scale):
    """Return the median accuracy of the stored residual nets whole, and without any layer."""
    *_, nets = lesions.stored(file)
    these = nets.only(lesions.where(nets.columns(), skip=1, scale=scale))
    return [np.median(lesions.accuracy(these, order)) for order in (None, [])]


@pytest.mark.claim(
    "C13",
    notebook="05",
    part="c",
    source="measured, 5 seeds; Veit et al. 2016, section 4, for the effect",
    reference="one out: plain < .35 whichever goes, median < .2; residual median within .04, worst > .80; "
    "all out: below a third of the whole",
)
def test_c13_one_layer_out(record):
    nets, depth = pair(), 20
    seeds = len(nets.seed) // 2
    assert len(nets.W) == depth and seeds >= 5
    assert (nets.skip.ravel() == [1] * seeds + [0] * seeds).all() and (nets.scale == 0.5).all()
    base = lesions.accuracy(nets)
    alone = np.array([lesions.accuracy(nets, [k for k in range(depth) if k != gone]) for gone in range(depth)])
    none = lesions.accuracy(nets, [])
    rng = np.random.default_rng(0)
    several = [
        np.mean([lesions.accuracy(nets, np.sort(rng.permutation(depth)[k:]))[:seeds] for _ in range(5)])
        for k in (2, 4, 8, 12, 16)
    ]
    ours, theirs = alone[:, :seeds], alone[:, seeds:]
    record("plain: whole, then median and highest with one out", [base[seeds:].mean(), np.median(theirs), theirs.max()])
    record("residual: whole, then median and lowest with one out", [base[:seeds].mean(), np.median(ours), ours.min()])
    record("residual: 2, 4, 8, 12, 16 layers out", several)
    record("residual: every layer out, each seed", none[:seeds])
    weak, few = control("lesions_20.npz", 20**-0.5), control("lesions_8.npz", 0.5)
    record("strength 1/sqrt(20): whole and every layer out", weak)
    record("8 layers: whole and every layer out", few)
    assert base[:seeds].min() > 0.95 and base[seeds:].min() > 0.8, "both sides have learned"
    assert theirs.max() < 0.35 and np.median(theirs) < 0.2
    assert np.median(ours) > base[:seeds].mean() - 0.04
    assert ours.min() > 0.8
    assert (none < base / 3)[:seeds].all(), "or the study would prove nothing"
    assert all(without > whole / 3 for whole, without in (weak, few)), "there it proves nothing"
    assert (np.diff(several) < 0).all()


@pytest.mark.claim(
    "C7",
    notebook="05",
    part="d",
    source="measured",
    reference="the route around everything carries 0 to .05 of a trained gradient; the mean length is below Veit's",
)
def test_c7_the_gradient_split_by_length(record):
    """The split sums to the gradient, which is taken here by an explicit backward loop and by nudging x_0."""
    *_, images, labels = store.digits()
    images, labels = images[:64], labels[:64]
    nets, measured, worst = pair(), [], 0.0
    for k, skip in enumerate(nets.skip.ravel().tolist()):
        net = nets.only([k])
        back, maps = lesions.gradients(net, images, labels)
        pieces = paths.by_length(back, maps, skip, 0.5)
        states, expected = backward(net, images, back, skip)
        error = np.linalg.norm(pieces.sum(0) - expected) / np.linalg.norm(expected)
        worst = max(worst, error)
        assert error < 1e-10
        far = np.linalg.norm(back, axis=-1).argmax()  # differences are exact where the gradient is large
        nudged = nudge_loss(net, states[0][[far]], labels[[far]], skip)
        np.testing.assert_allclose(pieces[:, far].sum(0), nudged, atol=1e-6 * np.abs(nudged).max())
        if not skip:
            assert not pieces[:-1].any(), "a plain net has routes of one length"
        else:
            back = back / np.linalg.norm(back, axis=-1, keepdims=True)  # every digit counts alike
            pieces = paths.by_length(back, maps, skip, 0.5)
            lengths, share = np.arange(21), paths.energy_share(pieces)
            weighed = paths.count_times_magnitude(back, maps, np.random.default_rng(0), skip, 0.5)
            over = weighed / np.linalg.norm(pieces, axis=-1).mean(-1)
            measured.append((share @ lengths, weighed @ lengths / weighed.sum(), share[0], over[8]))
    mean, veit, direct, over = np.array(measured).T
    record("mean length of the routes of each seed, exact", mean)
    record("mean length of the routes of each seed, by count × magnitude", veit)
    record("share of the route around everything", direct)
    record("count × magnitude over the exact norm at length 8", over)
    record("largest relative distance of the sum over lengths from the gradient, plain and residual", worst)
    assert len(measured) == 5
    assert (direct < 0.05).all() and (mean > 4).all() and (mean < 6.5).all()
    assert (veit > mean + 1).all() and (over > 30).all()


def float64(net):
    """Return the weights of one net in double precision: (W, b) by layer, W_out, b_out."""
    return list(zip(net.W[:, 0].astype(float), net.b[:, 0], strict=True)), net.W_out[0].astype(float), net.b_out[0]


def backward(net, images, back, skip):
    """Return the states and dloss/dx_0 by explicit loops, given dloss/dx_L."""
    layers, *_ = float64(net)
    states = [images @ net.W_in[0].astype(float) + net.b_in[0]]
    for W, b in layers:
        states.append(skip * states[-1] + 0.5 * (np.maximum(states[-1], 0) @ W + b))
    for (W, _), x in zip(layers[::-1], states[-2::-1], strict=True):
        back = skip * back + 0.5 * (back @ W.T) * (x > 0)
    return states, back


def nudge_loss(net, x, labels, skip, h=1e-6):
    """Return dloss/dx_0 of one image by central differences, the loss written out as a loop."""
    layers, W_out, b_out = float64(net)

    def loss(x):
        for W, b in layers:
            x = skip * x + 0.5 * (np.maximum(x, 0) @ W + b)
        scores = np.maximum(x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6), 0) @ W_out + b_out
        return np.log(np.exp(scores - scores[:, labels]).sum(-1))

    steps = h * np.eye(x.shape[1])
    return (loss(x + steps) - loss(x - steps)) / (2 * h)
