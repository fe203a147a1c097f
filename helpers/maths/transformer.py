"""A small Transformer over the digits, every sublayer wrapped by an order of pieces, many nets trained as one batch.

One token a 2×2 patch and a class token in front. Weights are stacked with one entry a net in front, as in `nets`:
the stream is (nets, images, tokens, width). A Transformer of N blocks has depth 2 N: an attention and a feed-forward
sublayer each.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

from . import orders
from .nets import losses, many, tensors, wrong

PATCHES, PIXELS, CLASSES = 16, 4, 10


class Linear(nn.Module):
    """x W + b for every net, (nets, ..., inside) to (nets, ..., outside); at first W ~ N(0, gain² / inside), b = 0."""

    def __init__(self, draw, inside, outside, gain=1.0):
        super().__init__()
        self.weight = nn.Parameter(draw(inside, outside) * gain / math.sqrt(inside))
        self.bias = nn.Parameter(torch.zeros(len(self.weight), 1, outside))

    def forward(self, x):
        return torch.baddbmm(self.bias, x.flatten(1, -2), self.weight).unflatten(1, x.shape[1:-1])


class Attention(nn.Module):
    """Every token reads all tokens (Vaswani et al. 2017, eq. 1, several heads)."""

    name = "attention"

    def __init__(self, draw, width, heads, gain):
        super().__init__()
        self.heads = heads
        self.reads, self.writes = Linear(draw, width, 3 * width), Linear(draw, width, width, gain)

    def forward(self, x):
        q, k, v = self.reads(x).unflatten(-1, (3, self.heads, -1)).movedim(-3, 0).transpose(-3, -2)
        return self.writes(F.scaled_dot_product_attention(q, k, v).transpose(-3, -2).flatten(-2))


class FeedForward(nn.Module):
    """W2 relu(W1 x + b1) + b2, each token by itself (Vaswani et al. 2017, eq. 2)."""

    name = "feed-forward"

    def __init__(self, draw, width, hidden, inner, gain):
        super().__init__()
        self.reads, self.writes = Linear(draw, width, hidden, inner), Linear(draw, hidden, width, gain)

    def forward(self, x):
        return self.writes(self.reads(x).relu())


class LayerNorm(nn.Module):
    """LayerNorm over the last axis with a learned gain and bias a net (Ba et al. 2016, 1607.06450)."""

    def __init__(self, nets, width):
        super().__init__()
        self.gain, self.bias = nn.Parameter(torch.ones(nets, 1, 1, width)), nn.Parameter(torch.zeros(nets, 1, 1, width))

    def forward(self, x):
        return F.layer_norm(x, x.shape[-1:]) * self.gain + self.bias


class RMSNorm(nn.Module):
    """Scale every vector to root mean square 1, no gain (Zhang and Sennrich 2019, 1910.07467)."""

    def __init__(self, nets, width):
        super().__init__()

    def forward(self, x):
        return F.rms_norm(x, x.shape[-1:], eps=1e-6)


NORMS = {"layer": LayerNorm, "rms": RMSNorm}


class Wrapped(nn.Module):
    """One sublayer in its order of pieces, each norm with parameters of its own; x (nets, images, tokens, width)."""

    def __init__(self, order, sublayer, norms):
        super().__init__()
        self.order, self.sublayer, self.norms = order, sublayer, nn.ModuleList(norms)

    def forward(self, x, skip=1.0, scale=1.0):
        norms = iter(self.norms)
        return orders.run(self.order, x, self.sublayer, lambda x: next(norms)(x), torch.relu, skip, scale)[-1]


class Transformer(nn.Module):
    """Digit Transformers of ``blocks`` blocks each, one a seed, side by side.

    ``order`` wraps every sublayer. ``skip``, ``scale`` and ``seed`` have one entry a net, or one for all. ``norm`` is
    "layer" or "rms". A matrix starts with entries N(0, g² / inputs), g being ``gain`` for those that write into the
    stream (GPT-2: 1/sqrt(2 N)), ``inner`` for the first of a feed-forward, ``out`` for the read-out, else 1; ``start``
    is the spread of class token and positions. A norm stands before the read-out unless the order ends on one.
    Raises ValueError for an unknown norm, an order that cannot be run, or heads that do not divide the width.
    """

    def __init__(
        self,
        order=orders.PRE_LN,
        blocks=6,
        skip=1.0,
        scale=1.0,
        seed=0,
        *,
        norm="layer",
        gain=1.0,
        inner=1.0,
        out=1.0,
        start=0.3,
        width=48,
        heads=4,
        hidden=192,
    ):
        super().__init__()
        if norm not in NORMS:
            raise ValueError(f"norm is {norm!r}; allowed are {', '.join(NORMS)}.")
        if width % heads:
            raise ValueError(f"width is {width} and heads is {heads}; the heads must divide the width.")
        self.order = orders.check(order)
        self.columns = {"skip": many(skip), "scale": many(scale), "seed": many(seed)}
        nets = max(map(len, self.columns.values()))
        self.columns = {name: value * (nets // len(value)) for name, value in self.columns.items()}
        self.skip, self.scale = (torch.tensor(self.columns[k]).float().view(-1, 1, 1, 1) for k in ("skip", "scale"))
        generators = [torch.Generator().manual_seed(s) for s in self.columns["seed"]]

        def draw(*shape):
            return torch.stack([torch.randn(shape, generator=g) for g in generators])

        def wrap(sublayer):
            return Wrapped(self.order, sublayer, [NORMS[norm](nets, width) for _ in range(self.order.count("norm"))])

        self.embed = Linear(draw, PIXELS, width)
        self.first = nn.Parameter(start * draw(1, 1, width))
        self.places = nn.Parameter(start * draw(1, 1 + PATCHES, width))
        self.layers = nn.ModuleList()
        for _ in range(blocks):
            self.layers += [
                wrap(Attention(draw, width, heads, gain)),
                wrap(FeedForward(draw, width, hidden, inner, gain)),
            ]
        self.final = nn.Identity() if self.order[-1:] == ("norm",) else NORMS[norm](nets, width)
        self.unembed = Linear(draw, width, CLASSES, out)

    def additions(self):
        """Return how many additions of a copy stand in one forward pass, counted from the modules."""
        return sum(layer.order.count("add") for layer in self.modules() if isinstance(layer, Wrapped))

    def into(self, images):
        """Return x_0 (nets, images, 17, width), what enters the first sublayer, for images (nets or 1, images, 64)."""
        images = images.expand(len(self.first), -1, -1)
        patches = images.unflatten(-1, (4, 2, 4, 2)).transpose(-3, -2).flatten(-2).flatten(2, 3)
        return torch.cat([self.first.expand(-1, images.shape[1], -1, -1), self.embed(patches)], 2) + self.places

    def stream(self, images):
        """Yield x_0 and then the stream after every sublayer, each (nets, images, 17, width)."""
        yield (x := self.into(images))
        for layer in self.layers:
            yield (x := layer(x, self.skip, self.scale))

    def read(self, x):
        """Return the scores (nets, images, 10) read off the class token of a stream x (nets, images, 17, width)."""
        return self.unembed(self.final(x[:, :, :1]))[:, :, 0]

    def scores(self, images):
        """Return the scores (nets, images, 10) of images (nets or 1, images, 64)."""
        for last in self.stream(images):
            x = last
        return self.read(x)


def rate(step, steps, lr, warmup=0, cosine=False):
    """Return the learning rate at ``step``: a straight climb over ``warmup`` steps, then ``lr`` or a cosine to 0."""
    if step < warmup:
        return lr * (step + 1) / warmup
    return lr * (1 + math.cos(math.pi * (step - warmup) / (steps - warmup))) / 2 if cosine else lr


def train(
    order=orders.PRE_LN,
    blocks=6,
    *,
    lr=1e-3,
    warmup=0,
    cosine=False,
    decay=0.01,
    epochs=12,
    batch=64,
    every=22,
    centred=True,
    **shape,
):
    """Train Transformers on the digits; yield (step, steps, rows) at every step and return the `Transformer`.

    ``order``, ``blocks`` and ``shape`` describe the nets (see `Transformer`), ``centred`` the pixels (see
    `store.digits`); AdamW (Loshchilov and Hutter 2017) with `rate` and weight decay ``decay``; every seed has its own
    order of the images. ``rows`` is empty except every ``every`` steps and at both ends: then a dict a net with depth,
    skip, scale, seed, step, loss (mean cross-entropy in training), train_error and test_error in percent. The caller's
    random state and thread count stay as they are.
    Raises ValueError for a warm-up that is longer than the training and as `Transformer` does.
    """
    net = Transformer(order, blocks, **shape)
    x, y, x_test, y_test = tensors(centred)
    pieces = len(x) // batch
    steps = epochs * pieces
    if not 0 <= warmup < steps:
        raise ValueError(f"warmup is {warmup}; allowed are 0 to {steps - 1}, fewer than the steps of the training.")
    optimiser = torch.optim.AdamW(net.parameters(), lr, weight_decay=decay, fused=True)
    generators = [torch.Generator().manual_seed(seed) for seed in net.columns["seed"]]
    for step in range(steps):
        yield step, steps, measure(net, step, x, y, x_test, y_test) if step % every == 0 else []
        if step % pieces == 0:
            shuffled = torch.stack([torch.randperm(len(x), generator=g) for g in generators])
        which = shuffled[:, step % pieces * batch :][:, :batch]
        optimiser.param_groups[0]["lr"] = rate(step, steps, lr, warmup, cosine)
        optimiser.zero_grad()
        losses(net.scores(x[which]), y[which]).sum().backward()
        optimiser.step()
    yield steps, steps, measure(net, steps, x, y, x_test, y_test)
    return net


@torch.no_grad()
def measure(net, step, x, y, x_test, y_test):
    """Return one dict a net: depth, skip, scale, seed, step, and loss and errors in percent on the tensors given."""
    scores = net.scores(x[None])
    found = {
        "loss": losses(scores, y.expand(len(scores), -1)),
        "train_error": wrong(scores, y),
        "test_error": wrong(net.scores(x_test[None]), y_test),
    }
    table = net.columns | {name: column.tolist() for name, column in found.items()}
    return [
        {"depth": len(net.layers), "step": step} | dict(zip(table, row, strict=True))
        for row in zip(*table.values(), strict=True)
    ]
