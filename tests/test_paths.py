"""The room of the routes: brute force beside it, bounds and refusals."""

from math import comb

import numpy as np
import pytest

from helpers.maths import blocks, lesions, paths
from tests.test_blocks import typed

WIDTH = blocks.WIDTH


def weights(depth, seed=0, width=WIDTH):
    return np.random.default_rng(seed).normal(0, np.sqrt(2 / width), (depth, width, width))


def linear(W):
    """Return maps with every unit open."""
    return paths.frozen(W, np.ones((len(W) + 1, 1)))


def start(seed=1, width=WIDTH):
    return np.random.default_rng(seed).normal(size=width)


@pytest.mark.parametrize("depth", range(paths.DEEPEST + 1))
def test_routes_are_all_different_and_in_the_order_of_a_tree(depth):
    taken = paths.routes(depth)
    assert taken.shape == (2**depth, depth)
    assert (np.bincount(taken.sum(1), minlength=depth + 1) == [comb(depth, k) for k in range(depth + 1)]).all()
    # Read as a binary number, layer 1 first, each route is its own place in the list.
    assert (taken @ (1 << np.arange(depth)[::-1]) == np.arange(2**depth)).all()


@pytest.mark.parametrize("depth", [-1, 7, 2.5, "three"])
def test_routes_refuse_a_depth_they_cannot_list(depth):
    with pytest.raises(ValueError, match=r"depth is .*0 to 6"):
        paths.routes(depth)


def test_a_route_is_the_product_of_what_it_passes():
    W = weights(3)
    (end,) = paths.along([[True, False, True]], start(), linear(W), skip=0.5, scale=2.0)
    np.testing.assert_allclose(end, 2.0 * W[2] @ (0.5 * (2.0 * W[0] @ start())), rtol=1e-13)


@pytest.mark.parametrize("taken", [[[True, False]], [True, False, True], [[True] * 4]])
def test_a_route_needs_a_choice_a_layer(taken):
    with pytest.raises(ValueError, match="3 wide"):
        paths.along(taken, start(), linear(weights(3)))


def test_frozen_refuses_states_of_another_depth():
    layers = blocks.layers("feed-forward", 4)
    with pytest.raises(ValueError):
        paths.frozen(weights(3), blocks.stack(start(), layers))


def test_the_maps_down_are_the_maps_up_transposed():
    layers = blocks.layers("feed-forward", 5)
    W, states = [F.W for F in layers], blocks.stack(start(), layers)
    up = [F(np.eye(WIDTH)).T for F in paths.frozen(W, states)]
    down = [F(np.eye(WIDTH)).T for F in paths.frozen_back(W, states)]
    for F, state, u, d in zip(layers, states, up, down[::-1], strict=False):
        np.testing.assert_allclose(u, F.jacobian(state), atol=1e-15)
        np.testing.assert_allclose(d, F.jacobian(state).T, atol=1e-15)


@pytest.mark.parametrize("skip, scale", [(1.0, 1.0), (0.7, 0.5), (0.0, 1.0)])
def test_by_length_adds_up_the_listed_routes_of_each_length(skip, scale):
    maps, taken = linear(weights(6)), paths.routes(6)
    ends = paths.along(taken, start(), maps, skip, scale)
    for k, piece in enumerate(paths.by_length(start(), maps, skip, scale)):
        np.testing.assert_allclose(piece, ends[taken.sum(1) == k].sum(0), atol=1e-13)


def test_batches_go_through_side_by_side():
    layers = blocks.layers("feed-forward", 4)
    W, batch = [F.W for F in layers], np.stack([start(s) for s in range(3)])
    together = paths.by_length(batch, paths.frozen(W, blocks.stack(batch, layers)))
    for i, x in enumerate(batch):
        alone = paths.by_length(x, paths.frozen(W, blocks.stack(x, layers)))
        np.testing.assert_allclose(together[:, i], alone, atol=1e-13)


def test_shares_of_uneven_layers_by_brute_force():
    ratios = np.array([0.1, 2.0, 0.5, 1.0])
    expected = np.zeros(5)
    for taken in paths.routes(4):
        expected[taken.sum()] += np.prod(np.where(taken, ratios, 1) / (1 + ratios))
    np.testing.assert_allclose(paths.share_by_length(ratios), expected, rtol=1e-13)


def test_count_times_magnitude_of_layers_that_only_scale_is_binomial():
    # Where every F multiplies by 0.4, single routes of a length are all alike, so sampling them is exact.
    sizes = paths.count_times_magnitude(start(), [lambda v: 0.4 * v] * 10, np.random.default_rng(0), draws=2)
    np.testing.assert_allclose(sizes / sizes.sum(), [comb(10, k) * 0.4**k / 1.4**10 for k in range(11)], rtol=1e-12)


def test_energy_share_sums_to_one_over_batches():
    share = paths.energy_share(paths.by_length(np.stack([start(1), start(2)]), linear(weights(5))))
    assert share.shape == (6,)
    assert share.sum() == pytest.approx(1)


@pytest.mark.parametrize("skip, scale", [(1.0, 0.5), (0.0, 1.0)])
def test_typed_functions_are_those_of_the_house(skip, scale):
    layers = blocks.layers("feed-forward", 4)
    maps = paths.frozen([F.W for F in layers], blocks.stack(start(), layers, skip, scale))
    route, by_length, run = (
        typed("05_ensemble_view.ipynb", f"{part}-idea", name)
        for part, name in (("a", "route"), ("b", "by_length"), ("c", "run"))
    )
    for through in paths.routes(4):
        np.testing.assert_array_equal(
            route(start(), maps, through, skip, scale), paths.route(start(), maps, through, skip, scale)
        )
    ours = paths.by_length(start(), maps, skip, scale)
    np.testing.assert_allclose(by_length(start(), maps, skip, scale), ours, atol=1e-14)
    for order in ([0, 1, 2, 3], [3, 1], []):
        np.testing.assert_array_equal(
            run(start(), layers, order, skip, scale), lesions.run(start(), layers, order, skip, scale)
        )
