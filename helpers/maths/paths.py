"""The 2^L routes through a stack of L layers: what each contributes, how many there are of a length. numpy alone.

At every layer a route goes through F or around it (Veit et al. 2016, 1605.06431, section 3); its length is the number
of F on it. Here F is a linear map v -> A v on the last axis: a matrix, or a ReLU layer with the switches of one forward
pass held fast (``frozen``). For these the sum over all routes is the forward pass, exactly.
"""

from itertools import product
from math import comb

import numpy as np

from . import blocks

DEEPEST = 6


def routes(depth):
    """Return all 2^depth routes, bool (2^depth, depth), shortest first: True is through F, False is around it.

    Raises ValueError beyond depth 6, where listing routes stops being of use: ``by_length`` needs no list.
    """
    if depth not in range(DEEPEST + 1):
        raise ValueError(
            f"depth is {depth}; all routes are listed for whole numbers from 0 to {DEEPEST}, "
            f"by_length adds up those of a deeper stack."
        )
    return np.array(sorted(product((False, True), repeat=depth), key=sum), dtype=bool)


def random_routes(depth, length, draws, rng):
    """Return ``draws`` routes of one ``length``, drawn evenly among the C(depth, length): bool (draws, depth)."""
    return rng.random((draws, depth)).argsort(1) < length


def frozen(weights, states=None):
    """Return the layers as linear maps, v -> W (open * v), lowest first.

    ``weights`` is (L, n, n). ``states`` is what ``blocks.stack`` returned, L + 1 arrays (..., n): a unit is open where
    it was positive in that forward pass. Without ``states`` every unit is open: F is linear.
    """
    return [lambda v, W=W, open_=open_: (open_ * v) @ W.T for W, open_ in _switches(weights, states)]


def frozen_back(weights, states=None):
    """Return the transposed maps, g -> open * (Wᵀ g), highest first: the same layers, for an arrow on its way down."""
    return [lambda g, W=W, open_=open_: open_ * (g @ W) for W, open_ in reversed(_switches(weights, states))]


def _switches(weights, states):
    opens = [1.0] * len(weights) if states is None else [state > 0 for state in states[:-1]]
    return list(zip(weights, opens, strict=True))


def route(v, maps, through, skip=1.0, scale=1.0):
    """Return what v (..., n) has become at the end of one route.

    ``through`` holds one choice a layer: True multiplies by ``scale`` A, False, going around, by ``skip``.
    """
    for F, here in zip(maps, through, strict=True):
        v = blocks.add(v, F(v) if here else np.zeros_like(v), 0.0 if here else skip, scale)
    return v


def along(taken, start, maps, skip=1.0, scale=1.0):
    """Return what ``start`` (..., n) has become at the end of each route: (routes, ..., n).

    ``taken`` is bool (routes, L). Raises ValueError if a route does not have one choice a layer.
    """
    if np.ndim(taken) != 2 or np.shape(taken)[1] != len(maps):
        raise ValueError(f"taken has the shape {np.shape(taken)}; needed is one row a route, {len(maps)} wide.")
    return np.array([route(start, maps, through, skip, scale) for through in taken])


def from_biases(biases, maps, skip=1.0, scale=1.0):
    """Return the contributions of the 2^L - 1 routes that start at a bias: (2^L - 1, n), lowest bias first.

    ``biases`` (L, n) are added inside F, so each enters with ``scale`` and has the layers above it to go.
    """
    above = range(len(maps) - 1, -1, -1)
    return np.concatenate(
        [along(routes(k), scale * b, maps[len(maps) - k :], skip, scale) for k, b in zip(above, biases, strict=True)]
    )


def by_length(start, maps, skip=1.0, scale=1.0):
    """Return the sum of all routes of each length, (L + 1, ..., n), without listing them.

    A route of length k either had length k already and goes around here, or had length k - 1 and goes through:
    P_k <- skip P_k + scale A P_(k-1), layer by layer. With ``frozen_back`` maps and a gradient as ``start`` this is
    the exact split of the gradient by length; in both directions the sum over k is the whole.
    """
    pieces = np.zeros((len(maps) + 1, *np.shape(start)))
    pieces[0] = start
    for F in maps:
        through = np.zeros_like(pieces)
        through[1:] = F(pieces[:-1])
        pieces = blocks.add(pieces, through, skip, scale)
    return pieces


def energy_share(pieces):
    """Return each one's share of the squared norm of ``pieces`` (L + 1, ..., n), summed over all other axes."""
    energy = np.square(pieces).reshape(len(pieces), -1).sum(1)
    return energy / energy.sum()


def share_by_length(ratios):
    """Return the shares of the lengths 0 to L, (L + 1,), where going through layer l weighs ``ratios[l]``, around it 1.

    The coefficients of the product of (1 + ratio_l z) / (1 + ratio_l); equal ratios r give Binomial(L, r / (1 + r)):
    r = 1 counts the routes (Veit et al. 2016, section 5); r = (scale σ / skip)² is the expected energy for independent
    F with E|F(x)|² = σ²|x|² and mean zero; r = the ratio of gradient norms per block is Veit's count × magnitude.
    ``normalised_ratios`` are those of blocks whose F is normalised.
    """
    share = np.ones(1)
    for r in ratios:
        share = np.convolve(share, [1 / (1 + r), r / (1 + r)])
    return share


def normalised_ratios(depth):
    """Return 1 / l for l = 1 to ``depth``: the ratios if every F writes unit energy into a stream that starts at one.

    Block l then meets a stream of energy l, and the mean length is H_(depth+1) - 1, H the harmonic number.
    """
    return 1 / np.arange(1, depth + 1)


def window(share, low=5, high=17):
    """Return the share of the lengths ``low`` to ``high``, both included.

    5 to 17 is where Veit et al. (2016, section 5) find almost all of the gradient of a net of 54 blocks.
    """
    return share[low : high + 1].sum()


def count_times_magnitude(start, maps, rng, skip=1.0, scale=1.0, draws=20):
    """Return number of routes × mean norm of ``draws`` single ones for each length, (L + 1,).

    So Veit et al. (2016, section 5) weigh the lengths (``rng`` is a numpy Generator). It adds norms where ``by_length``
    adds vectors: routes that cancel one another count in full.
    """
    depth, sizes = len(maps), []
    for k in range(depth + 1):
        ends = along(random_routes(depth, k, draws, rng), start, maps, skip, scale)
        sizes.append(comb(depth, k) * np.linalg.norm(ends, axis=-1).mean())
    return np.array(sizes)
