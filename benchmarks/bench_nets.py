"""A training step of six nets of depth 56, as one batch, against a loop over six modules and the bare products."""

import torch

from benchmarks.rows import Row, median_times
from helpers.maths import nets

DEPTH, COUNT, BATCH = 56, 6, 128
SKIP = [0, 0, 0, 1, 1, 1]
SCALE = [1.0, 1.0, 1.0, DEPTH**-0.5, DEPTH**-0.5, DEPTH**-0.5]


class Net(torch.nn.Module):
    """One of the six, as a learner would write it."""

    def __init__(self, skip, scale):
        super().__init__()
        self.skip, self.scale = skip, scale
        self.first = torch.nn.Linear(nets.WIDTH, nets.WIDTH)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(nets.WIDTH, nets.WIDTH) for _ in range(DEPTH))
        self.last = torch.nn.Linear(nets.WIDTH, nets.CLASSES)

    def forward(self, images):
        x = self.first(images)
        for layer in self.layers:
            x = self.skip * x + self.scale * layer(x.relu())
        return self.last(x.relu())


def batch_step(images, labels):
    """Return a function that trains all six by one step, as `nets.train` does."""
    batch = nets.Nets(DEPTH, SKIP, SCALE, seed=[0, 1, 2] * 2)
    optimiser = torch.optim.Adam(batch.parameters(), fused=True)

    def step():
        optimiser.zero_grad()
        nets.losses(batch.scores(images), labels).sum().backward()
        optimiser.step()

    return step


def loop_step(images, labels):
    """Return a function that trains six modules by one step, one after the other."""
    modules = [Net(skip, scale) for skip, scale in zip(SKIP, SCALE, strict=True)]
    optimisers = [torch.optim.Adam(module.parameters()) for module in modules]

    def step():
        for module, optimiser, x, y in zip(modules, optimisers, images, labels, strict=True):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(module(x), y).backward()
            optimiser.step()

    return step


def products():
    """Return a function with the three products of every layer, forward and back, on tensors of their own."""
    shapes = (COUNT, BATCH, nets.WIDTH), (COUNT, nets.WIDTH, nets.WIDTH), (COUNT, BATCH, nets.WIDTH)
    layers = [[torch.randn(shape) for shape in shapes] for _ in range(DEPTH)]

    def step():
        kept = [torch.bmm(x, W) for x, W, _ in layers]
        for x, W, back in reversed(layers):
            kept += [torch.bmm(x.mT, back), torch.bmm(back, W.mT)]

    return step


def rows():
    """Yield the row; the limit is the batched matrix products alone."""
    x, y, *_ = nets.tensors()
    which = torch.randint(len(x), (COUNT, BATCH), generator=torch.Generator().manual_seed(0))
    steps = batch_step(x[which], y[which]), loop_step(x[which], y[which]), products()
    yield Row("train six nets of depth 56, a step", *median_times(*steps, rounds=30))
