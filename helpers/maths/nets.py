"""Many small nets trained as one batch, plain and residual side by side. Loads torch.

A net is `x = image @ W_in + b_in`, then `depth` layers `x = skip * x + scale * (relu(x) @ W + b)`, then the scores
`relu(x) @ W_out + b_out`. Weights are stacked with one entry a net in front, so that `skip`, `scale`, `seed` and
`init` are numbers and names per net, and nets with the same seed start from the same draw and see the same images.
"""

import math
import os
from functools import partial
from itertools import pairwise

# A hub shows all its cores and gives a share of them; more threads than that would make torch many times slower.
if limit := os.environ.get("CPU_LIMIT"):
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, int(float(limit)))))

import torch
from torch.nn import functional

from . import blocks, store

WIDTH, CLASSES = blocks.WIDTH, 10


def block(x, F, skip, scale):
    """Return skip * x + scale * F(x) of every net: x (nets, images, width), skip and scale (nets, 1, 1)."""
    return blocks.add(x, F(x), skip, scale)


def batch_norm(x, eps=1e-5):
    """Return x (nets, images, width) with mean 0 and variance 1 per net and unit (Ioffe and Szegedy 2015, no gain)."""
    x = x - x.mean(1, keepdim=True)
    return x * torch.rsqrt(x.square().mean(1, keepdim=True) + eps)


def rms_norm(x, eps=1e-6):
    """Return x with every vector scaled to root mean square 1 (Zhang and Sennrich 2019, no gain)."""
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)


NORMS = {"none": lambda x: x, "batch": batch_norm, "rms": rms_norm}


def orthogonal(noise):
    """Return uniformly random orthogonal matrices (..., n, n) from Gaussian ones (QR, signs fixed: Mezzadri 2007)."""
    Q, R = torch.linalg.qr(noise)
    return Q * R.diagonal(dim1=-2, dim2=-1).sign().unsqueeze(-2)


def mirrored(noise):
    """Return [[Q, -Q], [-Q, Q]] (..., n, n), Q orthogonal of half the width: linear at the start (1702.08591)."""
    half = noise.shape[-1] // 2
    Q = orthogonal(noise[..., :half, :half])
    return torch.cat([torch.cat([Q, -Q], -1), torch.cat([-Q, Q], -1)], -2)


# Each takes standard Gaussian noise (depth, width, width). He: variance 2/width, which keeps the mean square under ReLU
# (He et al. 2015, 1502.01852). Small: standard deviation 0.01, the habit before (Krizhevsky et al. 2012).
INITS = {
    "he": lambda noise: noise * math.sqrt(2 / noise.shape[-1]),
    "orthogonal": lambda noise: orthogonal(noise) * math.sqrt(2),
    "looks-linear": mirrored,
    "small": lambda noise: noise * 0.01,
    "zero": torch.zeros_like,
    "identity": lambda noise: torch.eye(noise.shape[-1]).expand_as(noise).clone(),
}


def start(depth, init, seed):
    """Return W_in (64, 64), b_in (1, 64), W (depth, 64, 64), b (depth, 1, 64), W_out (64, 10), b_out (1, 10)."""
    generator = torch.Generator().manual_seed(seed)
    shapes = (WIDTH, WIDTH), (depth, WIDTH, WIDTH), (WIDTH, CLASSES)
    W_in, W, W_out = (torch.randn(shape, generator=generator) for shape in shapes)
    W_in, W_out = W_in * math.sqrt(1 / WIDTH), W_out * math.sqrt(2 / WIDTH)
    if init == "looks-linear":
        half = WIDTH // 2
        W_in, W_out = torch.cat([W_in[:, :half], -W_in[:, :half]], -1), torch.cat([W_out[:half], -W_out[:half]])
    return W_in, torch.zeros(1, WIDTH), INITS[init](W), torch.zeros(depth, 1, WIDTH), W_out, torch.zeros(1, CLASSES)


class Nets:
    """Plain and residual nets of one depth, stacked; weights drawn on creation.

    `skip`, `scale`, `seed`, `init`: one entry a net, or one for all. `norm` and `final`: "none", "batch" or "rms", what
    stands before the ReLU of every layer and before the read-out. `block`: a function in place of `nets.block`. `host`:
    finished nets, as many; these layers then stand between its last layer and its read-out, and it stays as it is.
    Raises ValueError for a name that is not known or lists that do not match.
    """

    def __init__(self, depth, skip, scale=1.0, seed=0, init="he", *, norm="none", final="none", block=block, host=None):
        columns = {"skip": many(skip), "scale": many(scale), "seed": many(seed), "init": many(init)}
        self.count = max(map(len, columns.values()))
        for name, value in columns.items():
            if len(value) not in (1, self.count):
                raise ValueError(f"{name} has {len(value)} entries; allowed are 1 for all or {self.count}.")
        names = ("init", columns["init"], INITS), ("norm", [norm], NORMS), ("final", [final], NORMS)
        for name, given, known in names:
            if unknown := sorted(set(given) - set(known)):
                raise ValueError(f"{name} is {unknown[0]!r}; allowed are {', '.join(known)}.")
        self.columns = {name: value * (self.count // len(value)) for name, value in columns.items()}
        self.skip, self.scale = (torch.tensor(self.columns[name]).float()[:, None, None] for name in ("skip", "scale"))
        self.depth, self.norm, self.final, self.block, self.host = depth, NORMS[norm], NORMS[final], block, host
        drawn = [start(depth, *own) for own in zip(self.columns["init"], self.columns["seed"], strict=True)]
        W_in, b_in, W, b, W_out, b_out = (torch.stack(parts) for parts in zip(*drawn, strict=True))
        self.W, self.b = ([part.clone() for part in stacked.unbind(1)] for stacked in (W, b))
        self.outer = [W_in, b_in, W_out, b_out] if host is None else host.outer
        self.drawn = W.unbind(1)

    def parameters(self):
        """Return the tensors that training changes, ready for gradients."""
        parts = [*self.W, *self.b, *(self.outer if self.host is None else [])]
        return [part.requires_grad_() for part in parts]

    def into(self, images):
        """Return x_0 (nets, images, width), what enters the first layer, for images (nets or 1, images, pixels)."""
        if self.host is not None:
            with torch.no_grad():
                return self.host.through(self.host.into(images))
        return torch.baddbmm(self.outer[1], images.expand(self.count, -1, -1), self.outer[0])

    def write(self, index, x):
        """Return F(x) of layer `index`, `relu(norm(x)) @ W + b` (nets, images, width)."""
        return torch.baddbmm(self.b[index], self.norm(x).relu(), self.W[index])

    def stream(self, x, order=None):
        """Yield x after every layer; `order` lists the layers to run (left out, swapped), all of them by default."""
        for index in range(self.depth) if order is None else order:
            x = self.block(x, partial(self.write, index), self.skip, self.scale)
            yield x

    def through(self, x, order=None):
        """Return x (nets, images, width) after the last layer."""
        for last in self.stream(x, order):
            x = last
        return x

    def read(self, x):
        """Return the scores (nets, images, classes) read off the stream x: `relu(final(x)) @ W_out + b_out`."""
        return torch.baddbmm(self.outer[3], self.final(x).relu(), self.outer[2])

    def scores(self, images, order=None):
        """Return the scores (nets, images, classes) of images (nets or 1, images, pixels)."""
        return self.read(self.through(self.into(images), order))


def many(value):
    """Return value as a list, a single one as a list of one."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


def tensors(centred=True):
    """Return `store.digits` as tensors: x_train (1437, 64) float32, y_train int64, x_test (360, 64), y_test."""
    parts = store.digits(centred)
    return [torch.tensor(part, dtype=torch.float32 if part.ndim == 2 else torch.int64) for part in parts]


@torch.no_grad()
def measure(nets, probe=256):
    """Return what is measured on nets after a backward pass, each with one entry (or one row by layer) a net.

    train_error and test_error in percent; loss, the mean cross-entropy in training; cosine, the mean cosine between
    different digits as the read-out sees them; by layer: gradient, the Frobenius norm of dloss/dW for the last batch;
    moved, how far each W is from where it started (Frobenius norm); share, the mean of |scale F(x)| / |x|.
    """
    x, y, x_test, y_test = tensors()
    scores = nets.scores(x.unsqueeze(0))
    stream = [start := nets.into(x[:probe].unsqueeze(0)), *nets.stream(start)]
    write = [(new - nets.skip * old).norm(dim=-1) / old.norm(dim=-1) for old, new in pairwise(stream)]
    seen = functional.normalize(nets.final(stream[-1]).relu(), dim=-1)
    return {
        "train_error": wrong(scores, y),
        "test_error": wrong(nets.scores(x_test.unsqueeze(0)), y_test),
        "loss": losses(scores, y.expand(nets.count, -1)),
        "cosine": (seen.sum(1).square().sum(-1) / probe - 1) / (probe - 1),
        "gradient": torch.stack([W.grad.norm(dim=(1, 2)) for W in nets.W], -1),
        "moved": torch.stack([(W - drawn).norm(dim=(1, 2)) for W, drawn in zip(nets.W, nets.drawn, strict=True)], -1),
        "share": torch.stack([part.mean(-1) for part in write], -1),
    }


def wrong(scores, y):
    """Return the percentage of images (nets,) whose highest score (nets, images, classes) is not at the label y."""
    return (scores.argmax(-1) != y).float().mean(-1) * 100


def losses(scores, y):
    """Return the mean cross-entropy (nets,) of scores (nets, images, classes) for labels y (nets, images)."""
    return functional.cross_entropy(scores.transpose(1, 2), y, reduction="none").mean(-1)


def train(depth, skip, *, lr=1e-3, steps=300, batch=128, every=20, host=None, **shape):
    """Train nets on the digits; yield (step, steps, rows) at every step and return the `Nets`.

    `depth`, `skip` and `shape` describe the nets (see `Nets`); Adam (Kingma and Ba 2014) with rate `lr`, `batch` images
    a step, drawn anew for every seed. `rows` is empty except every `every` steps and at both ends: then a dict for each
    net with depth, skip, scale, seed, init, step and what `measure` returns. `host`: a config of nets that are trained
    first and frozen (see `Nets`). The random state and the thread count of the caller stay as they are.
    Raises ValueError for numbers that are not whole or below 1.
    """
    for name, value in {"depth": depth, "steps": steps, "batch": batch, "every": every}.items():
        if not isinstance(value, int) or value < 1:
            raise ValueError(f"{name} is {value!r}; allowed are the whole numbers from 1.")
    nets = Nets(depth, skip, host=host and finish(train(**host))[1], **shape)
    x, y, *_ = tensors()
    optimiser = torch.optim.Adam(nets.parameters(), lr, fused=True)
    draws = {seed: torch.Generator().manual_seed(seed) for seed in nets.columns["seed"]}
    for step in range(steps + 1):
        drawn = {seed: torch.randint(len(x), (batch,), generator=draw) for seed, draw in draws.items()}
        which = torch.stack([drawn[seed] for seed in nets.columns["seed"]])
        optimiser.zero_grad()
        losses(nets.scores(x[which]), y[which]).sum().backward()
        yield step, steps, rows(nets, step) if step % every == 0 or step == steps else []
        if step < steps:
            optimiser.step()
    return nets


def rows(nets, step):
    """Return one dict a net: what it is (depth, skip, scale, seed, init), the step, and what `measure` finds."""
    table = nets.columns | {name: column.tolist() for name, column in measure(nets).items()}
    each = zip(*table.values(), strict=True)
    return [{"depth": nets.depth, "step": step} | dict(zip(table, net, strict=True)) for net in each]


def finish(experiment):
    """Run a generator of (step, total, rows) to its end; return all rows and what it returned."""
    found = []
    while True:
        try:
            found += next(experiment)[2]
        except StopIteration as end:
            return found, end.value
