"""Stored trainings of `nets`, read without torch, and a stored shallow net into which layers are inserted."""

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


def by_hand(width, skip):
    """Return the weights (width, width) that make an inserted layer hand on what it gets: 0 with a skip, I without.

    Exact behind a ReLU: relu(relu(x)) = relu(x) (He et al. 2015, section 1).
    """
    return np.zeros((width, width)) if skip else np.eye(width)


def inserted(images, weights, skip, scale=1.0):
    """Return the scores (images, 10) of the stored two-layer net with layers of these `weights` before its read-out."""
    net = store.load("shallow.npz", "W_in", "b_in", "W", "b", "W_out", "b_out")
    x = images @ net["W_in"] + net["b_in"]
    for W, b in zip(net["W"], net["b"], strict=True):
        x = np.maximum(x, 0) @ W + b
    for W in weights:
        x = blocks.add(x, np.maximum(x, 0) @ W, skip, scale)
    return np.maximum(x, 0) @ net["W_out"] + net["b_out"]
