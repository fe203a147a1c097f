"""Claims of notebook 03: degradation, the search that fails, a hundred layers. Short trainings, shared by the tests."""

from functools import cache

import numpy as np
import pytest
import torch

from helpers.maths import nets, results, store

SEEDS = 3
SHORT = {"steps": 100, "every": 1000}


def pair(depth, **more):
    """The config of plain and residual nets of one depth, the latter scaled by 1/sqrt(depth), with three seeds."""
    own = {"skip": [0] * SEEDS + [1] * SEEDS, "scale": [1.0] * SEEDS + [depth**-0.5] * SEEDS, "seed": [0, 1, 2] * 2}
    return {"depth": depth, **own, "every": 1000, **more}


@cache
def trained(**config):
    """Train here, measured at both ends; return {(skip, init, "start" or "end"): rows}."""
    rows, _ = nets.finish(nets.train(**{name: list(v) if isinstance(v, tuple) else v for name, v in config.items()}))
    ends = {0: "start", rows[-1]["step"]: "end"}
    found = {}
    for row in rows:
        found.setdefault((row["skip"], row["init"], ends[row["step"]]), []).append(row)
    return found


def frozen(config):
    return {name: tuple(v) if isinstance(v, list) else v for name, v in config.items()}


def run(config):
    return trained(**frozen(config))


def column(rows, name):
    return np.array([row[name] for row in rows])


def stored(depth, name, skip):
    """The last measurement of the ten stored seeds of this depth."""
    config, columns = results.stored(f"depth_{depth}.npz")
    return columns[name][-1, results.arm(config, skip, depth**-0.5 if skip else 1.0)]


def alike(cosine, skip, scale, depth):
    """The mean cosine at the read-out for infinite width, from the cosines of pairs of digits (Cho and Saul 2009)."""

    def kernel(c):
        return (np.sqrt(1 - c**2) + (np.pi - np.arccos(c)) * c) / np.pi

    for _ in range(depth):
        cosine = np.clip((skip**2 * cosine + scale**2 * kernel(cosine)) / (skip**2 + scale**2), -1, 1)
    return kernel(cosine).mean()


@pytest.mark.claim(
    "C8",
    notebook="03",
    part="a",
    source="measured, 10 seeds stored and 3 trained again",
    reference="300 steps: training error plain 7 to 67 % at depth 56, 0 % at 8; residual 0 % at both",
)
def test_c8_more_layers_train_worse(record):
    here = run(pair(56))
    plain, residual = (column(here[on, "he", "end"], "train_error") for on in (0, 1))
    record("depth 56, trained here: plain training error, %", plain)
    record("residual", residual)
    assert 8 < np.median(plain) < 50 and plain.max() < 70 and residual.max() < 2
    shallow = column(run(pair(8))[0, "he", "end"], "train_error")
    record("depth 8, trained here: plain training error, %", shallow)
    assert shallow.max() < 1
    means = {on: [stored(depth, "train_error", on).mean() for depth in (8, 32, 56)] for on in (0, 1)}
    record("stored means at depth 8, 32, 56: plain training error, %", means[0])
    unseen = [stored(depth, "test_error", 0).mean() for depth in (8, 32, 56)]
    record("the same of the test error", unseen)
    record("worst residual training error at 56", stored(56, "train_error", 1).max())
    assert np.all(np.diff(means[0]) > 0) and np.all(np.diff(unseen) > 0)
    assert np.median(stored(56, "train_error", 0)) > 8
    assert stored(56, "train_error", 1).max() < 2 and stored(56, "test_error", 1).max() < 5


@pytest.mark.claim(
    "C8",
    notebook="03",
    part="a",
    source="measured",
    reference="at the start no layer's gradient far below the largest; plain's does not fade",
)
def test_c8_gradients_are_healthy(record):
    here = run(pair(56, **SHORT))
    for on in (0, 1):
        gradient = column(here[on, "he", "start"], "gradient")
        ratio = gradient[:, 0] / gradient[:, -1]
        record(f"{('plain', 'residual')[on]}: first / last at the start", ratio)
        assert np.all((ratio > 0.1) & (ratio < 20)) and np.all(gradient[:, 0] > 0.01)
        least = gradient.min(axis=1) / gradient.max(axis=1)
        record("smallest over largest of all layers at the start", least)
        assert least.min() > (0.05, 0.5)[on]
    kept = np.divide(*(column(here[0, "he", end], "gradient")[:, 0] for end in ("end", "start")))
    record("plain, first layer: after 100 steps over the start", kept)
    assert kept.min() > 0.3


@pytest.mark.claim(
    "C8",
    notebook="03",
    part="a",
    source="closed form (arc-cosine kernel, Cho and Saul 2009)",
    reference="cosine c of two digits goes through (skip² c + scale² k(c)) / (skip² + scale²)",
)
def test_c8_signals_degrade_too(record):
    digits = store.digits().x_train[:256]
    unit = digits / np.linalg.norm(digits, axis=1, keepdims=True)
    cosines = np.clip(unit @ unit.T, -1, 1)[~np.eye(len(unit), dtype=bool)]
    for depth, bound in ((8, 0.06), (56, 0.03)):
        config = {"depth": depth, "skip": [0] * 10 + [1] * 10, "seed": [*range(10)] * 2, "steps": 1}
        here = run({**config, "scale": [1.0] * 10 + [depth**-0.5] * 10})
        for on, scale in ((0, 1.0), (1, depth**-0.5)):
            measured = column(here[on, "he", "start"], "cosine").mean()
            expected = alike(cosines, on, scale, depth)
            record(f"depth {depth}, {('plain', 'residual')[on]}: mean cosine, closed form", [measured, expected])
            assert measured == pytest.approx(expected, abs=bound)


@pytest.mark.claim(
    "C8",
    notebook="03",
    part="d",
    source="measured, 3 seeds",
    reference="slow, not stuck: plain He at 300 and 1500 steps; looks-linear plain nets train as well",
)
def test_c8_slow_is_not_stuck(record):
    config, columns = results.stored("rate_0.001.npz")
    arms = {name: results.arm(config, 0, 1.0, name) for name in ("he", "looks-linear")}
    steps = list(columns["step"][:, 0])
    early, late = (columns["train_error"][steps.index(step), arms["he"]] for step in (300, 1500))
    test = columns["test_error"][-1, arms["he"]]
    record("plain He, training error after 300 and 1500 steps, medians", [np.median(early), np.median(late)])
    record("its test error after 1500 steps", test)
    linear = columns["train_error"][steps.index(300), arms["looks-linear"]]
    record("plain looks-linear, training error after 300 steps", linear)
    assert np.median(late) < np.median(early) / 2 and np.median(early) > 8
    assert np.median(test) > 5 and linear.max() < 2
    # The same start, trained here: with or without skips, which both forced, it would be no plain net.
    here = run({"depth": 56, "skip": [0, 1], "scale": [1.0, 56**-0.5], "init": ["looks-linear", "he"], **SHORT})
    plain, residual = (here[on, init, "end"][0]["train_error"] for on, init in ((0, "looks-linear"), (1, "he")))
    record("after 100 steps here: plain looks-linear, residual He", [plain, residual])
    assert plain < 10 and residual < 10


@cache
def hosted():
    """A finished plain two-layer net (3 seeds) and its scores on the test images."""
    _, net = nets.finish(nets.train(**HOST))
    return net, net.scores(nets.tensors()[2][None])


HOST = {"depth": 2, "skip": [0] * 3, "seed": [0, 1, 2], "every": 1000}


@pytest.mark.claim(
    "C9",
    notebook="03",
    part="c",
    source="by construction",
    reference="48 layers with W = I (plain) or W = 0 (residual) change no bit of a score",
)
def test_c9_the_deeper_net_contains_the_shallower(record):
    net, scores = hosted()
    for on, init in ((0, "identity"), (1, "zero")):
        deep = nets.Nets(48, skip=[on] * 3, init=init, host=net).scores(nets.tensors()[2][None])
        change = (deep - scores).abs().max().item()
        record(f"{('plain, W = I', 'residual, W = 0')[on]}: largest change of a score", change)
        assert torch.equal(deep, scores)


@cache
def with_inserted(depth):
    """Training errors of three plain, then three residual nets: a finished plain net with layers inserted."""
    _, net = nets.finish(nets.train(**pair(depth, host=pair(2) | {"skip": 0, "scale": 1.0})))
    with torch.no_grad():
        return nets.wrong(net.scores(nets.tensors()[0][None]), nets.tensors()[1]).numpy()


@pytest.mark.claim(
    "C9",
    notebook="03",
    part="c",
    source="measured, 5 seeds stored and 3 trained again",
    reference="54 inserted layers, usual start, 300 steps: plain 3 to 44 %, residual 0 to 0.1 %",
)
def test_c9_what_fails_is_the_search(record):
    depths = (6, 18, 54)
    for on in (0, 1):
        ends = []
        for depth in depths:
            config, columns = results.stored(f"inserted_{depth}.npz")
            ends.append(columns["train_error"][-1, results.arm(config, on, depth**-0.5 if on else 1.0)])
        record(f"{('plain', 'residual')[on]}, stored, median at 6, 18, 54", np.median(ends, 1))
        assert np.max(ends[0]) < 1 and (np.max(ends) < 1 if on else np.min(ends[2]) > 3)
    few, errors = (with_inserted(depth) for depth in (6, 54))
    record("6 inserted, trained here: plain, residual, %", few)
    record("54 inserted, trained here: plain, %", errors[:SEEDS])
    record("54 inserted, trained here: residual, %", errors[SEEDS:])
    assert few.max() < 1  # the trainer works: it fails at 54 plain layers only
    assert errors[:SEEDS].min() > 3 and np.median(errors[:SEEDS]) < 50 and errors[SEEDS:].max() < 1


@pytest.mark.claim(
    "C18",
    notebook="03",
    part="b",
    source="measured, 3 seeds stored and one trained again",
    reference="110 layers: small start does not move, plain He moves but learns little, residual 0 %",
)
def test_c18_a_hundred_layers(record):
    config, columns = results.stored("depth_110.npz")
    arms = {
        name: results.arm(config, *which)
        for name, which in {"small": (0, 1.0, "small"), "plain": (0, 1.0), "residual": (1, 110**-0.5)}.items()
    }
    for name, index in arms.items():
        record(f"{name}, stored: training error after 300 steps", columns["train_error"][-1, index])
        record(f"{name}, stored: how far layer 1 moved", columns["moved"][index, 0])
    assert columns["train_error"][-1, arms["residual"]].max() < 1
    assert np.median(columns["train_error"][-1, arms["plain"]]) > 40
    assert np.median(columns["moved"][arms["plain"]], 0).min() > 0.3
    three = {"skip": [0, 0, 1], "scale": [1.0, 1.0, 110**-0.5], "init": ["small", "he", "he"]}
    here = run({"depth": 110, **three, **SHORT})
    small, plain, residual = (here[key][0] for key in ((0, "small", "end"), (0, "he", "end"), (1, "he", "end")))
    record("after 100 steps here: small, plain, residual, %", [row["train_error"] for row in (small, plain, residual)])
    assert not any(small["moved"][:50]) and not any(small["gradient"][:50]) and small["train_error"] > 80
    assert min(plain["moved"]) > 0.3 and plain["train_error"] > 40 and residual["train_error"] < 10
