"""The 2^L routes through L layers: what each contributes, how many there are of a length, what they carry. numpy alone.

At every layer a route goes through F or around it (Veit et al. 2016, 1605.06431, section 3); its length is the number
of F on it. Here F is a linear map on the last axis, v -> A v: a ReLU layer whose switches are held as one forward pass
set them (`frozen`). The sum over all routes then is that forward pass, exactly; a bias starts routes of its own.
"""

from itertools import product
from math import comb

import numpy as np

from . import blocks

DEEPEST = 6


def routes(depth):
    """Return all 2^depth routes, bool (2^depth, depth): True is through F, False is around it.

    In the order of a tree: the choice at layer 1 parts the first half from the second. Raises ValueError beyond
    depth 6: `by_length` adds up what is too much to list.
    """
    if depth not in range(DEEPEST + 1):
        raise ValueError(f"depth is {depth}; routes are listed for whole numbers from 0 to {DEEPEST}.")
    return np.array(list(product((False, True), repeat=depth)), dtype=bool)


def frozen(weights, states):
    """Return the layers as linear maps, lowest first: v -> W (open * v).

    ``weights`` (L, n, n); ``states`` is what `blocks.stack` returns, L + 1 arrays (..., n): where a state is positive,
    the unit is open.
    """
    return [lambda v, W=W, x=x: (v * (x > 0)) @ W.T for W, x in zip(weights, states[:-1], strict=True)]


def frozen_back(weights, states):
    """Return the transposed maps, highest first, as an arrow meets them on its way down: g -> open * (Wᵀ g)."""
    layers = list(zip(weights, states[:-1], strict=True))
    return [lambda g, W=W, x=x: (g @ W) * (x > 0) for W, x in layers[::-1]]


def route(v, maps, through, skip=1.0, scale=1.0):
    """Return what v (..., n) has become at the end of one route.

    ``through`` holds one choice a layer: True multiplies by ``scale`` A, False, going around, by ``skip``.
    """
    for F, here in zip(maps, through, strict=True):
        v = blocks.add(v, F(v) if here else np.zeros_like(v), 0.0 if here else skip, scale)
    return v


def along(taken, start, maps, skip=1.0, scale=1.0):
    """Return what ``start`` (..., n) is at the end of each route of ``taken``, bool (routes, L): (routes, ..., n).

    Raises ValueError if a route has not one choice a layer.
    """
    if np.ndim(taken) != 2 or np.shape(taken)[1] != len(maps):
        raise ValueError(f"taken has the shape {np.shape(taken)}; needed is one row a route, {len(maps)} wide.")
    return np.array([route(start, maps, through, skip, scale) for through in taken])


def by_length(start, maps, skip=1.0, scale=1.0):
    """Return the sum of all routes of each length, (L + 1, ..., n), without listing them.

    A route of length k had length k and goes around here, or had length k - 1 and goes through: P_k <- skip P_k +
    scale A P_(k-1), layer by layer. With `frozen_back` maps and the gradient at the top as ``start`` it splits the
    gradient by length, exactly; in both directions the sum over k is the whole.
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

    The coefficients of the product of (1 + ratio_l z) / (1 + ratio_l). Equal ratios r give Binomial(L, r / (1 + r)):
    r = 1 counts the routes (Veit et al. 2016, section 5); r = (scale σ / skip)² is the expected energy for independent
    F of mean zero with E|F(x)|² = σ²|x|²; r = |gradient through| / |around| is Veit's count × magnitude. If every F is
    normalised to write unit energy into a stream that starts at one, ratio_l = 1 / l, and the mean length is
    H_(L+1) - 1, H the harmonic number.
    """
    share = np.ones(1)
    for r in ratios:
        share = np.convolve(share, [1 / (1 + r), r / (1 + r)])
    return share


def count_times_magnitude(start, maps, rng, skip=1.0, scale=1.0, draws=20):
    """Return number of routes × mean norm of ``draws`` single ones for each length, (L + 1,).

    So Veit et al. (2016, section 5) weigh the lengths; ``rng`` is a numpy Generator. It adds norms where `by_length`
    adds vectors: routes that cancel one another count in full.
    """
    depth, sizes = len(maps), []
    for k in range(depth + 1):
        taken = rng.random((draws, depth)).argsort(1) < k
        sizes.append(comb(depth, k) * np.linalg.norm(along(taken, start, maps, skip, scale), axis=-1).mean())
    return np.array(sizes)
