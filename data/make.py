"""Makes the files of this folder: ``python data/make.py [NAME ...]`` (needs the test tools, see README.md here).

Each file is one job, a function and its config; an .npz of a job stores its config. Finished files wait in a folder
beside this one, so that an interrupted run goes on where it stopped, and move here together at the end.
"""

import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from multiprocessing import get_context
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

DEPTHS = (2, 4, 8, 14, 20, 32, 44, 56)
INSERTED = (6, 18, 54)
RATES = (1e-4, 3e-4, 1e-3, 3e-3)
BUDGET = {"lr": 1e-3, "steps": 300, "batch": 128, "every": 20}


def digits():
    """Return pixels (1797, 64) uint8 from 0 to 16 and labels, shuffled once so that any cut is fair."""
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    return {"pixels": pixels[order].astype(np.uint8), "labels": labels[order].astype(np.uint8)}


def trained(**config):
    """Train as config says; return one array a column, and by layer only what stands at the last step.

    `first_gradient` and `last_gradient` are kept for every step that was measured, `gradient`, `moved` and `share`
    (nets, depth) for the end.
    """
    from helpers.maths import nets

    rows, _ = nets.finish(nets.train(**config))
    by_layer = ("gradient", "moved", "share")
    for row in rows:
        row["first_gradient"], row["last_gradient"] = row["gradient"][0], row["gradient"][-1]
    last = [row for row in rows if row["step"] == rows[-1]["step"]]
    columns = {name: [row[name] for row in rows] for name in rows[0] if name not in by_layer}
    return compact(columns | {name: [row[name] for row in last] for name in by_layer})


def weights(**config):
    """Train one net as config says; return its weights W_in, b_in, W (depth, width, width), b, W_out, b_out."""
    from helpers.maths import nets

    _, net = nets.finish(nets.train(**config))
    W_in, b_in, W_out, b_out = net.outer
    parts = {
        "W_in": W_in,
        "b_in": b_in,
        "W": np.stack([W[0].detach() for W in net.W]),
        "b": np.stack([b[0].detach() for b in net.b]),
        "W_out": W_out,
        "b_out": b_out,
    }
    return compact({name: part if name in ("W", "b") else part[0].detach() for name, part in parts.items()})


def transformers(**config):
    """Train digit Transformers as config says; return one array a column, one entry a net at every step measured."""
    from helpers.maths import nets, transformer

    rows, _ = nets.finish(transformer.train(**config))
    return compact({name: [row[name] for row in rows] for name in rows[0]})


def lesioned_nets(**config):
    """Train nets, take layers out of them; return one array a column and, in half precision, the nets (`net_...`)."""
    from helpers.maths import lesions, nets

    rows, done = nets.finish(lesions.train(**config))
    # What was yielded while the nets were still training is replaced by what came last.
    last = {tuple(row[name] for name in lesions.COLUMNS[:-1]): row["accuracy"] for row in rows}
    table = zip(*((*key, accuracy) for key, accuracy in last.items()), strict=True)
    columns = {name: np.array(column) for name, column in zip(lesions.COLUMNS, table, strict=True)}
    return compact(columns) | {f"net_{name}": part.astype(np.float16) for name, part in done._asdict().items()}


def lesioned(**config):
    """Do the same, return the columns alone."""
    return {name: part for name, part in lesioned_nets(**config).items() if not name.startswith("net_")}


def compact(columns):
    """Return columns as arrays, floating-point numbers in single precision."""
    arrays = {name: np.asarray(column) for name, column in columns.items()}
    return {name: a.astype(np.float32) if a.dtype == float else a for name, a in arrays.items()}


def nets_of(seeds, *arms):
    """Return the columns skip, scale, init and seed of `arms`, tuples (skip, scale, init), each with every seed."""
    each = [(*arm, seed) for arm in arms for seed in range(seeds)]
    skip, scale, init, seed = map(list, zip(*each, strict=True))
    return {"skip": skip, "scale": scale, "init": init, "seed": seed}


def jobs():
    """Return {file name: (function, config)}."""
    made = {"digits.npz": (digits, {}), "shallow.npz": (weights, {"depth": 2, **nets_of(1, (0, 1.0, "he")), **BUDGET})}
    for depth in DEPTHS:
        pair = [(0, 1.0, "he"), (1, depth**-0.5, "he")]
        gone_wrong = [(1, 1.0, "he"), (1, 1.0, "zero")]
        made[f"depth_{depth}.npz"] = trained, {"depth": depth, **nets_of(10, *pair, *gone_wrong), **BUDGET}
        normed = nets_of(5, (0, 1.0, "he"), (1, 1.0, "he"))
        made[f"batch_norm_{depth}.npz"] = trained, {"depth": depth, "norm": "batch", **normed, **BUDGET}
    for depth in INSERTED:
        arms = nets_of(5, (0, 1.0, "he"), (1, depth**-0.5, "he"))
        host = {"depth": 2, "skip": 0, "seed": arms["seed"], **BUDGET}
        made[f"inserted_{depth}.npz"] = trained, {"depth": depth, **arms, **BUDGET, "host": host}
    starts = [(0, 1.0, "he"), (0, 1.0, "orthogonal"), (0, 1.0, "looks-linear"), (1, 56**-0.5, "he")]
    long = {"steps": 1500, "every": 100}
    for rate in RATES:
        made[f"rate_{rate:g}.npz"] = trained, {"depth": 56, **nets_of(3, *starts), **BUDGET, "lr": rate, **long}
    hundred = nets_of(3, (0, 1.0, "small"), (0, 1.0, "he"), (1, 110**-0.5, "he"))
    made["depth_110.npz"] = trained, {"depth": 110, **hundred, **BUDGET}
    budget = BUDGET | {"steps": 400, "every": 50}
    # Five of the pair that is studied, three each where the study says nothing, or something else.
    others = nets_of(3, *((skip, scale, "he") for scale in (20**-0.5, 1.0) for skip in (1, 0)))
    pair = nets_of(5, (1, 0.5, "he"), (0, 0.5, "he"))
    arms = {name: pair[name] + others[name] for name in pair}
    made["lesions_20.npz"] = lesioned_nets, {"depth": 20, **arms, **budget}
    made["lesions_8.npz"] = lesioned_nets, {"depth": 8, **pair, **budget}
    made["lesions_thinned.npz"] = lesioned, {"depth": 20, "keep": 0.8, **nets_of(5, (1, 0.5, "he")), **budget}
    return made | transformer_jobs()


def transformer_jobs():
    """Return the same for the digit Transformers of notebook 04."""
    made = {}
    # All matrices start with variance 1/inputs or, small, those of the feed-forward and those with which attention
    # writes with 1/(3 inputs), which is what torch gives a linear layer.
    post, pre = ("copy", "sublayer", "add", "norm"), ("copy", "norm", "sublayer", "add")
    arms = [
        ("post-LN", post, 1.0, 0),
        ("post-LN", post, 1.0, 100),
        ("pre-LN", pre, 1.0, 0),
        ("pre-LN", pre, 1.0, 100),
        ("no-skip", pre, 0.0, 0),
        ("no-skip", pre, 0.0, 100),
    ]
    grid = product(("raw", "centred"), (("even", 1.0), ("small", 3**-0.5)), (1e-3, 3e-3), arms)
    for pixels, (start, gain), rate, (name, order, skip, warmup) in grid:
        config = {"order": order, "lr": rate, "warmup": warmup, "skip": skip, "blocks": 6, "seed": list(range(7))}
        config |= {"gain": gain, "inner": gain, "centred": pixels == "centred"}
        made[f"transformer_{pixels}_{start}_{name}_{rate:g}_{warmup}.npz"] = transformers, config
    return made


def run(name):
    """Do the job of the file `name` in this process, with one thread; return its arrays, config included."""
    import torch

    torch.set_num_threads(1)
    function, config = jobs()[name]
    return function(**config) | ({"config": np.array(json.dumps(config))} if config else {})


def executor(address):
    """Return what runs the jobs: processes of this machine, or with "dask://host:port" the workers of a Dask cluster.

    Raises ValueError, one sentence, for any other address and where Dask is not installed.
    """
    if not address:
        return ProcessPoolExecutor(mp_context=get_context("spawn"))
    if not address.startswith("dask://"):
        raise ValueError(f"EXECUTOR={address} is not understood; leave it out or give dask://host:port.")
    try:
        from distributed import Client
    except ImportError:
        raise ValueError(f"EXECUTOR={address} needs Dask, which is not here: pip install distributed.") from None
    return Client(address.replace("dask://", "tcp://")).get_executor()


def write(path, arrays):
    """Write an .npz at path; it is there whole or not at all."""
    half = path.with_suffix(".half")
    with half.open("wb") as file:
        np.savez_compressed(file, **arrays)
    os.replace(half, path)


def same(path, config):
    """Tell whether path is a finished file of this config."""
    if not path.is_file():
        return False
    with np.load(path) as stored:
        return not config or stored["config"].item() == json.dumps(config)


def make(names, address="", waiting=FOLDER / ".waiting"):
    """Make the files `names` (all, if there are none). Raises ValueError for a name without a job."""
    known = jobs()
    if unknown := set(names) - set(known):
        raise ValueError(f"There is no job for {sorted(unknown)[0]}; known are {', '.join(known)}.")
    names = list(names or known)
    waiting.mkdir(exist_ok=True)
    left = [name for name in names if not same(waiting / name, known[name][1])]
    print(f"{len(names)} files, {len(names) - len(left)} of them waiting finished from an earlier run.", flush=True)
    with executor(address) as pool:
        futures = {pool.submit(run, name): name for name in left}
        for done in as_completed(futures):
            if not done.exception():
                write(waiting / futures[done], done.result())
            print(futures[done], "failed" if done.exception() else "is finished", flush=True)
    for done in futures:
        done.result()  # raises what went wrong, when the others are safe
    for name in names:
        os.replace(waiting / name, FOLDER / name)
    waiting.rmdir()


if __name__ == "__main__":
    import make as itself  # by its name, so that workers find the functions

    try:
        itself.make(sys.argv[1:], os.environ.get("EXECUTOR", ""))
    except ValueError as error:
        sys.exit(str(error))
