"""What a stack of layers in a given order does to the stream and to the gradient, measured and in closed form. numpy.

A layer wraps a feed-forward sublayer F(x) = W2 relu(W1 x), entries of both ~ N(0, 1/width), so that F halves the mean
square of what it reads. ``depth`` counts layers, two to a Transformer block. LayerNorm without gain and bias.
"""

from typing import NamedTuple

import numpy as np

from . import blocks, orders


class Signals(NamedTuple):
    """By layer, from what enters the first to what leaves the last; arrays (..., depth + 1)."""

    stream: np.ndarray  # root mean square of the entries of x_l
    total: np.ndarray  # length of the arrow sent back from the top, 1 at the top, through all paths
    road: np.ndarray  # the same through the identity path alone


def layer_norm(x):
    """Return x (..., width) with mean 0 and variance 1 over the last axis (Ba et al. 2016, without gain); 0 stays 0."""
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.maximum(np.sqrt(np.square(centred).mean(-1, keepdims=True)), 1e-300)


def draw_layers(depth, width, seed=0, draws=()):
    """Return ``depth`` pairs (W1, W2), each matrix (*draws, width, width)."""
    rng = np.random.default_rng(seed)
    return [rng.normal(0, width**-0.5, (2, *draws, width, width)) for _ in range(depth)]


def times(W, x):
    """Return W x for matrices (..., n, n) and vectors (..., n)."""
    return (W @ x[..., None])[..., 0]


def forward(piece, x, W):
    """Return (what ``piece`` makes of x, the function that sends an arrow back through it)."""
    if piece == "norm":
        y, spread = layer_norm(x), x.std(-1, keepdims=True)
        return y, lambda g: (g - g.mean(-1, keepdims=True) - y * (g * y).mean(-1, keepdims=True)) / spread
    if piece == "activation":
        return np.maximum(x, 0), lambda g: g * (x > 0)
    first, second = W
    hidden = times(first, x)
    back = [matrix.swapaxes(-1, -2) for matrix in W]
    return times(second, np.maximum(hidden, 0)), lambda g: times(back[0], times(back[1], g) * (hidden > 0))


def chain(pieces, x, W):
    """Run ``pieces`` (none of them copy or add) one after the other; return the value and the way back."""
    backs = []
    for piece in pieces:
        x, back = forward(piece, x, W)
        backs.insert(0, back)

    def back(g):
        for step in backs:
            g = step(g)
        return g

    return x, back


def measure(order, layers, x, arrow, skip=1.0, scale=1.0):
    """Send x (..., width) up through all ``layers`` in ``order`` and ``arrow`` (..., width) back down: `Signals`.

    ``layers``: pairs (W1, W2) from `draw_layers`. An order without add is a plain one, whatever ``skip`` is.
    Raises ValueError for an order that is neither a residual block nor plain.
    """
    before, branch, after = orders.split(order)
    if orders.refusal(order) and {"copy", "add"} & set(order):
        raise ValueError(f"This order is no residual block: {orders.refusal(order)}.")
    lengths, ways = [rms(x)], []
    for W in layers:
        x, lower = chain(before, x, W)
        if "add" in order:
            write, around = chain(branch, x, W)
            x, upper = chain(after, blocks.add(x, write, skip, scale), W)
            ways.append((lower, around, upper))
        else:
            ways.append((lower, None, None))
        lengths.append(rms(x))
    total, road = [arrow], [arrow]
    for lower, around, upper in reversed(ways):
        g, direct = total[-1], road[-1]
        if around is None:
            g, direct = lower(g), 0 * direct
        else:
            g, direct = upper(g), upper(direct)
            g, direct = blocks.add(g, around(g), skip, scale), blocks.add(direct, 0 * direct, skip, scale)
            g, direct = lower(g), lower(direct)
        total.append(g)
        road.append(direct)
    back = [[rms(g) / rms(arrow) for g in arrows[::-1]] for arrows in (total, road)]
    return Signals(*(np.stack(part, -1) for part in (lengths, *back)))


def rms(x):
    """Return the root mean square over the last axis."""
    return np.sqrt(np.square(x).mean(-1))


def passed(pieces, q):
    """Return (mean square after ``pieces``, factor on the squared arrow going back) for the mean square q going in."""
    factor = 1.0
    for piece in pieces:
        q, factor = (1.0, factor / q) if piece == "norm" else (q / 2, factor / 2)
    return q, factor


def expected(order, depth, skip=1.0, scale=1.0, passed=passed):
    """Return the closed form of `measure` in mean square for wide layers, or None where a ReLU leaves a mean behind.

    Piece by piece: a norm divides the mean square q by itself, a sublayer or a ReLU in front of one halves it, the
    addition of a write with mean zero gives skip² q + scale² write; an arrow going back meets the same factors. So for
    pre-LN q_l = 1 + l/2 and the gradient falls as 1/sqrt(q_l); for post-LN the road has the factor sqrt(2/3) a layer
    and the total gradient 1; for DeepNorm the road has (1 + scale²/(2 skip²))^(-1/2) a layer. Own derivation, after
    the mean-field argument of Xiong et al. 2020 (2002.04745).
    """
    order = orders.check(order)
    if any(piece == "activation" and order[i + 1 : i + 2] != ("sublayer",) for i, piece in enumerate(order)):
        return None
    before, branch, after = orders.split(order)
    squares, totals, roads = [1.0], [], []
    for _ in range(depth):
        q, lower = passed(before, squares[-1])
        total, road = lower, 0.0
        if "add" in order:
            write, around = passed(branch, q)
            q, upper = passed(after, blocks.add(q, write, skip**2, scale**2))
            total, road = (lower * blocks.add(*ways, skip**2, scale**2) * upper for ways in ((1.0, around), (1.0, 0.0)))
        squares.append(q)
        totals.append(total)
        roads.append(road)
    back = [np.append(np.cumprod(factors[::-1])[::-1], 1.0) for factors in (totals, roads)]
    return Signals(*(np.sqrt(part) for part in (np.array(squares), *back)))


def deepnorm(depth):
    """Return (skip, scale) of DeepNorm for post-LN layers, ``depth`` = 2 N (Wang et al. 2022, 2203.00555).

    skip is their α = (2N)^(1/4). Their β = (8N)^(-1/4) multiplies both matrices of F at the start: scale = β².
    """
    return depth**0.25, (4 * depth) ** -0.5
