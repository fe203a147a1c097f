"""Sublayers over tokens, the Transformer as a list of layers, and how alike the tokens become. numpy alone.

A sublayer takes (..., tokens, width) to the same shape and knows the widths it reads and writes.
"""

from typing import NamedTuple

import numpy as np

from . import orders
from .signals import layer_norm


def relu(x):
    """Return max(x, 0), entry by entry."""
    return np.maximum(x, 0)


class Attention:
    """One head, softmax(Q Kᵀ / sqrt(width)) V W_o (Vaswani et al. 2017, eq. 1); entries of every W ~ N(0, 1/width).

    With a ``memory`` (..., tokens, width) the keys and values come from there: cross-attention. ``draws`` gives the
    shape of a batch, each with weights of its own.
    """

    def __init__(self, rng, width, memory=None, draws=()):
        self.name = "attention" if memory is None else "cross-attention"
        self.memory = memory
        self.Wq, self.Wk, self.Wv, self.Wo = rng.normal(0, width**-0.5, (4, *draws, width, width))
        self.reads, self.writes = self.Wq.shape[-2], self.Wo.shape[-1]

    def __call__(self, x):
        source = x if self.memory is None else self.memory
        logits = (x @ self.Wq) @ np.swapaxes(source @ self.Wk, -1, -2) / np.sqrt(self.reads)
        powers = np.exp(logits - logits.max(-1, keepdims=True))
        return powers / powers.sum(-1, keepdims=True) @ source @ self.Wv @ self.Wo


class FeedForward:
    """W2 relu(W1 x), each token by itself, four times as wide inside (Vaswani et al. 2017, eq. 2)."""

    name = "feed-forward"

    def __init__(self, rng, width):
        self.W1 = rng.normal(0, width**-0.5, (width, 4 * width))
        self.W2 = rng.normal(0, (4 * width) ** -0.5, (4 * width, width))
        self.reads, self.writes = len(self.W1), self.W2.shape[1]

    def __call__(self, x):
        return relu(x @ self.W1) @ self.W2


class Both:
    """Two sublayers side by side that share one copy and one addition: a parallel block."""

    def __init__(self, *parts):
        self.parts = parts
        self.name = " + ".join(part.name for part in parts)
        self.reads, self.writes = parts[0].reads, parts[0].writes

    def __call__(self, x):
        return sum(part(x) for part in self.parts)


KINDS = ("attention+feed-forward", "with-cross-attention", "parallel")


def sublayers(kind, width, rng, memory=None):
    """Return the sublayers of one block: two in an encoder or a decoder-only block, three or one in the other KINDS."""
    if kind not in KINDS:
        raise ValueError(f"The kind of block is {kind!r}; allowed are {', '.join(KINDS)}.")
    attention, feed_forward = Attention(rng, width), FeedForward(rng, width)
    if kind == "parallel":
        return [Both(attention, feed_forward)]
    return [attention, *([Attention(rng, width, memory)] if kind == "with-cross-attention" else []), feed_forward]


class Layer(NamedTuple):
    """One sublayer and the order of pieces around it."""

    order: tuple
    sublayer: object


def transformer(blocks, order):
    """Return the layers of a Transformer from its ``blocks``, each a list of sublayers; ``order`` wraps every one."""
    return [Layer(order, sublayer) for block in blocks for sublayer in block]


def stream(layers, x, skip=1.0, scale=1.0):
    """Return [x_0, ..., x_L]: the tokens x (..., tokens, width) before the first layer and after every one."""
    states = [x]
    for layer in layers:
        states.append(orders.run(layer.order, states[-1], layer.sublayer, layer_norm, relu, skip, scale)[-1])
    return states


def additions(layers):
    """Return how many additions of a copy one forward pass goes through."""
    return sum(layer.order.count("add") for layer in layers)


def distance(x):
    """Return how far the tokens x (..., tokens, width) are from being all alike: |x - mean token| / |x|, 0 to 1.

    The distance to the nearest matrix of equal rows, as in Dong et al. 2021 (2103.03404), in the Frobenius norm.
    """
    return np.linalg.norm(x - x.mean(-2, keepdims=True), axis=(-2, -1)) / np.linalg.norm(x, axis=(-2, -1))


def collapse(depth, draws, order=orders.BARE, skip=1.0, tokens=32, width=64):
    """Return `distance` before and after each of ``depth`` layers of random attention alone, (draws, depth + 1).

    ``skip`` may be an array (n, 1, 1, 1), the same draws with n values: (n, draws, depth + 1).
    """
    rng = np.random.default_rng(0)
    x = rng.normal(size=(draws, tokens, width)) * np.ones_like(skip)
    layers = transformer([[Attention(rng, width, draws=(draws,)) for _ in range(depth)]], order)
    return np.stack([distance(state) for state in stream(layers, x, skip)], -1)
