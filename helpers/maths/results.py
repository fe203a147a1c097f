"""What notebook 03 measures without torch: stored trainings, signals in a stack at the start, layers set by hand."""

import json
from functools import cache

import numpy as np

from . import blocks, store

ARM = ("skip", "scale", "init")  # what tells the nets of one file apart, besides the seed


@cache
def stored(name):
    """Return (config, columns) of a training in data/, made by data/make.py.

    A column of one number a measured step is (measurements, nets); those by layer, taken at the end, are (nets, depth).
    Raises DataError (see `store.load`).
    """
    columns = store.load(name, "config", "step", "train_error", "test_error", "first_gradient", "moved")
    config = json.loads(columns.pop("config").item())
    count = len(config["seed"])
    shaped = {key: value.reshape(-1, count) if value.ndim == 1 else value for key, value in columns.items()}
    return config, shaped


def arm(config, skip, scale, init="he"):
    """Return which nets of a stored config have these three, as a list of indices."""
    wanted = (skip, scale, init)
    each = zip(*(config[name] for name in ARM), strict=True)
    return [index for index, own in enumerate(each) if own == wanted]


def some(config, nets):
    """Return the config of the same training with only the nets at these indices."""
    return config | {name: [config[name][index] for index in nets] for name in (*ARM, "seed")}


def spread(values):
    """Return the lowest, the median and the highest of values (seeds, ...) over the seeds."""
    return np.min(values, 0), np.median(values, 0), np.max(values, 0)


def signals(block, depth, skip, scale, draws=5, images=64):
    """Return the mean cosine between different digits before each layer and behind the last, (draws, depth + 1).

    Runs `block(x, F, skip, scale)` with F(x) = relu(x) W, He weights, on x_0 = digits times a Gaussian matrix.
    """
    rng = np.random.default_rng(0)
    digits = store.digits().x_train[:images]
    x = digits @ rng.normal(0, np.sqrt(1 / digits.shape[1]), (draws, digits.shape[1], blocks.WIDTH))
    cosines = [similarity(x)]
    for W in rng.normal(0, np.sqrt(2 / blocks.WIDTH), (depth, draws, blocks.WIDTH, blocks.WIDTH)):
        x = block(x, lambda v, W=W: np.maximum(v, 0) @ W, skip, scale)
        cosines.append(similarity(x))
    return np.stack(cosines, -1)


def similarity(x):
    """Return the mean cosine between different rows of x (..., images, width)."""
    unit = x / np.linalg.norm(x, axis=-1, keepdims=True)
    count = x.shape[-2]
    return (np.square(unit.sum(-2)).sum(-1) / count - 1) / (count - 1)


def signals_form(depth, skip, scale, images=64):
    """Return what `signals` tends to for infinite width, (depth + 1,): each pair's cosine goes through the same map.

    ReLU and He weights turn the cosine c into k(c) = (sqrt(1 - c²) + (π - arccos c) c) / π (Cho and Saul 2009, eq. 6,
    n = 1); a write of mean zero is added to the stream, so c becomes (skip² c + scale² k(c)) / (skip² + scale²).
    """
    unit = store.digits().x_train[:images]
    unit = unit / np.linalg.norm(unit, axis=1, keepdims=True)
    cosine = np.clip(unit @ unit.T, -1, 1)[~np.eye(images, dtype=bool)]
    means = [cosine.mean()]
    for _ in range(depth):
        kernel = (np.sqrt(1 - cosine**2) + (np.pi - np.arccos(cosine)) * cosine) / np.pi
        cosine = np.clip((skip**2 * cosine + scale**2 * kernel) / (skip**2 + scale**2), -1, 1)
        means.append(cosine.mean())
    return np.array(means)


def by_hand(width, skip):
    """Return the weights (width, width) that make an inserted layer hand on what it gets: 0 with a skip, I without.

    Exact behind a ReLU: relu(relu(x)) = relu(x) (He et al. 2015, section 1).
    """
    return np.zeros((width, width)) if skip else np.eye(width)


def inserted(images, weights, skip):
    """Return the scores (images, 10) of the stored two-layer net with layers of these `weights` before its read-out."""
    net = store.load("shallow.npz", "W_in", "b_in", "W", "b", "W_out", "b_out")
    x = images @ net["W_in"] + net["b_in"]
    for W, b in zip(net["W"], net["b"], strict=True):
        x = np.maximum(x, 0) @ W + b
    for W in weights:
        x = blocks.add(x, np.maximum(x, 0) @ W, skip)
    return np.maximum(x, 0) @ net["W_out"] + net["b_out"]
