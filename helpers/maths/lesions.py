"""Layers taken out of finished nets, or put in another order (Veit et al. 2016, 1605.06431, section 4).

A net is `x = images @ W_in + b_in`, layers `x = skip * x + scale * (relu(x) @ W + b)`, every vector of x then scaled
to root mean square 1, and the scores `relu(x) @ W_out + b_out`. numpy; `train` alone loads torch.
"""

import json
from functools import cache
from typing import NamedTuple

import numpy as np

from . import blocks, paths, store

COLUMNS = ("depth", "skip", "scale", "seed", "lesion", "at", "accuracy")
SWAPS = (0, 1, 2, 4, 8, 16)
DRAWS = 5  # random sets of layers, or of swaps, for each number of them


class Nets(NamedTuple):
    """Finished nets of one depth, one entry a net."""

    W_in: np.ndarray  # (nets, pixels, width)
    b_in: np.ndarray  # (nets, 1, width)
    W: np.ndarray  # (depth, nets, width, width)
    b: np.ndarray  # (depth, nets, 1, width)
    W_out: np.ndarray  # (nets, width, classes)
    b_out: np.ndarray  # (nets, 1, classes)
    skip: np.ndarray  # (nets, 1, 1)
    scale: np.ndarray  # (nets, 1, 1)
    seed: np.ndarray  # (nets,)

    def only(self, which):
        """Return the nets with these indices."""
        return Nets(*(part[:, which] if name in ("W", "b") else part[which] for name, part in self._asdict().items()))

    def columns(self):
        """Return what each net is, {"skip", "scale", "seed": (nets,)}."""
        return {name: getattr(self, name).ravel() for name in ("skip", "scale", "seed")}

    def layers(self):
        """Return F of every layer, lowest first: relu(x) W + b."""
        return [lambda x, W=W, b=b: np.maximum(x, 0) @ W + b for W, b in zip(self.W, self.b, strict=True)]


@cache
def stored(name):
    """Return (config, rows as {column: array}, `Nets` or None) of a study in data/. Raises DataError (`store.load`)."""
    found = store.load(name, "config", *COLUMNS)
    parts = [found[f"net_{part}"].astype(np.float32) for part in Nets._fields if f"net_{part}" in found]
    config, rows = json.loads(found["config"].item()), {column: found[column] for column in COLUMNS}
    return config, rows, Nets(*parts) if parts else None


def where(table, **wanted):
    """Return which rows of {column: array} hold these values, bool (rows,); a strength is stored rounded."""
    given = ((name, table[name], value) for name, value in wanted.items())
    return np.all([abs(own - value) < 1e-3 if name == "scale" else own == value for name, own, value in given], 0)


def rows(table, **wanted):
    """Return the rows of {column: array} that hold these values."""
    mine = where(table, **wanted)
    return {name: column[mine] for name, column in table.items()}


def run(x, layers, order, skip=1.0, scale=1.0):
    """Return what leaves a stack whose ``layers`` run in ``order``; past one that is left out, x goes on as it is."""
    for layer in order:
        x = blocks.add(x, layers[layer](x), skip, scale)
    return x


def size(x, eps=1e-6):
    """Return the root mean square of every vector, what the norm divides by (Zhang and Sennrich 2019, 1910.07467)."""
    return np.sqrt(np.square(x).mean(-1, keepdims=True) + eps)


def scores(nets, images, order=None, run=run):
    """Return the scores (nets, images, classes) of ``images`` (images, pixels), layers run in ``order`` (or all)."""
    order = range(len(nets.W)) if order is None else order
    x = run(images @ nets.W_in + nets.b_in, nets.layers(), order, nets.skip, nets.scale)
    return np.maximum(x / size(x), 0) @ nets.W_out + nets.b_out


def accuracy(nets, order=None, run=run):
    """Return the share of the test digits that each net gets right, (nets,), with the layers run in ``order``."""
    *_, x, y = store.digits()
    return (scores(nets, x.astype(np.float32), order, run).argmax(-1) == y).mean(-1)


def orders(depth):
    """Yield (lesion, at, orders to run), several orders where layers are drawn at random.

    "alone": the layer ``at`` is out. "out": ``at`` random layers are out; what is out stays out for larger ``at``.
    "swaps": ``at`` times in a row, two random layers have changed places.
    """
    whole, rng = np.arange(depth), np.random.default_rng(0)
    for layer in whole:
        yield "alone", layer + 1, [np.delete(whole, layer)]
    leaving = [rng.permutation(depth) for _ in range(DRAWS)]
    for count in range(depth + 1):
        yield "out", count, [np.sort(order[count:]) for order in (leaving if 0 < count < depth else leaving[:1])]
    for count in SWAPS:
        drawn = np.tile(whole, (DRAWS, 1))
        for order in drawn:
            for _ in range(count):
                pair = rng.choice(depth, 2, replace=False)
                order[pair] = order[pair[::-1]]
        yield "swaps", count, list(drawn)


def study(nets):
    """Yield the rows of one lesion after the other: a dict a net with the COLUMNS, accuracy the mean over orders."""
    scales = nets.scale.astype(float).round(4)
    for lesion, at, each in orders(len(nets.W)):
        means = np.mean([accuracy(nets, order) for order in each], 0)
        whose = zip(nets.skip.flat, scales.flat, nets.seed, means, strict=True)
        yield [dict(zip(COLUMNS, (len(nets.W), *own, lesion, at, mean), strict=True)) for *own, mean in whose]


def train(keep=1.0, **config):
    """Train nets as `nets.train` does, then take layers out: yield (step, total, rows) and return the `Nets`.

    While training, ``rows`` hold the accuracy with no layer out; afterwards, one lesion of `study` a step.
    ``keep`` below 1 is stochastic depth (Huang et al. 2016, 1603.09382): in training each layer of each net is left out
    of a step with probability 1 - ``keep``; afterwards every write is multiplied by ``keep``. Raises ValueError if
    ``keep`` is not above 0 and at most 1, and as `nets.train` does.
    """
    from . import nets

    if not 0 < keep <= 1:
        raise ValueError(f"keep is {keep}; allowed are numbers above 0, up to 1.")
    rng = np.random.default_rng(0)

    def block(x, F, skip, scale):
        # Outside training no gradient is asked for.
        here = scale.new_tensor(rng.random((len(x), 1, 1)) < keep) if x.requires_grad else keep
        return nets.block(x, F, skip, scale * here)

    training = nets.train(final="rms", block=block if keep < 1 else nets.block, **config)
    left = len(list(orders(config["depth"])))
    while True:
        try:
            step, steps, rows = next(training)
        except StopIteration as end:
            trained = end.value
            break
        yield step, steps + left, [whole(row, keep) for row in rows]
    done = finished(trained, keep)
    for count, rows in enumerate(study(done), 1):
        yield steps + count, steps + left, rows
    return done


def whole(row, keep):
    """Return a row of `nets.train` as a row with no layer out."""
    scale, accuracy = round(row["scale"] * keep, 4), 1 - row["test_error"] / 100
    return dict(zip(COLUMNS, (row["depth"], row["skip"], scale, row["seed"], "out", 0, accuracy), strict=True))


def finished(trained, keep=1.0):
    """Return trained `nets.Nets` as `Nets` in numpy, single precision, writes multiplied by ``keep``."""
    W_in, b_in, W_out, b_out = (part.detach().numpy() for part in trained.outer)
    W, b = (np.stack([part.detach().numpy() for part in parts]) for parts in (trained.W, trained.b))
    columns = trained.skip.numpy(), keep * trained.scale.numpy(), np.array(trained.columns["seed"])
    return Nets(W_in, b_in, W, b, W_out, b_out, *columns)


def gradients(net, images, labels):
    """Return the arrow that comes back to x_L, (images, width), and the maps on its way down (`paths.frozen_back`).

    ``net`` holds one net, ``images`` is (images, pixels); the arrow is dloss/dx_L of each image's cross-entropy. All in
    double precision.
    """
    net = Nets(*(part.astype(float) for part in net))
    states = [state[0] for state in blocks.stack(images @ net.W_in + net.b_in, net.layers(), net.skip, net.scale)]
    unit, W_out = states[-1] / size(states[-1]), net.W_out[0]
    p = np.exp(np.maximum(unit, 0) @ W_out + net.b_out[0])
    p /= p.sum(-1, keepdims=True)
    p[np.arange(len(p)), labels] -= 1
    g = (p @ W_out.T) * (unit > 0)
    g = (g - unit * (g * unit).mean(-1, keepdims=True)) / size(states[-1])
    return g, paths.frozen_back(net.W[:, 0].swapaxes(1, 2), states)
