"""`make data`: resumed, written whole, and clear about executors it cannot have."""

import json
import sys
from concurrent.futures import Future

import numpy as np
import pytest

from data import make


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A data folder of its own with two small jobs, run in this process."""
    monkeypatch.setattr(make, "FOLDER", tmp_path)
    monkeypatch.setattr(make, "executor", lambda address: InThisProcess())
    monkeypatch.setattr(make, "jobs", lambda: {name: (tell, {"name": name}) for name in ("a.npz", "b.npz")})
    return tmp_path


class InThisProcess:
    """The executor seam: anything with `submit` that is a context."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def submit(self, function, *arguments):
        future = Future()
        try:
            future.set_result(function(*arguments))
        except RuntimeError as error:
            future.set_exception(error)
        return future


def tell(name):
    return {"told": np.array([name])}


def test_every_file_holds_its_config(folder):
    make.make([], waiting=folder / "waiting")
    for name in ("a.npz", "b.npz"):
        with np.load(folder / name) as found:
            assert json.loads(found["config"].item()) == {"name": name} and found["told"] == [name]
    assert sorted(path.name for path in folder.iterdir()) == ["a.npz", "b.npz"]


def test_an_interrupted_run_goes_on_where_it_stopped(folder, monkeypatch):
    told = []

    def breaks_on_b(name):
        told.append(name)
        if name == "b.npz":
            raise RuntimeError("power cut")
        return tell(name)

    monkeypatch.setattr(make, "jobs", lambda: {name: (breaks_on_b, {"name": name}) for name in ("a.npz", "b.npz")})
    (folder / "b.npz").write_bytes(b"the old one")
    with pytest.raises(RuntimeError):
        make.make([], waiting=folder / "waiting")
    assert (folder / "b.npz").read_bytes() == b"the old one" and not (folder / "a.npz").exists()
    monkeypatch.setattr(make, "jobs", lambda: {name: (tell_once(told), {"name": name}) for name in ("a.npz", "b.npz")})
    make.make([], waiting=folder / "waiting")
    assert told == ["a.npz", "b.npz", "b.npz"] and (folder / "a.npz").exists()


def tell_once(told):
    return lambda name: told.append(name) or tell(name)


def test_a_file_of_another_config_is_not_taken_for_finished(folder):
    make.write(folder / "a.npz", {"config": np.array(json.dumps({"name": "other"}))})
    assert not make.same(folder / "a.npz", {"name": "a.npz"}) and make.same(folder / "a.npz", {"name": "other"})


def test_a_file_is_there_whole_or_not_at_all(folder):
    class Breaks:
        def __array__(self, *_, **__):
            raise RuntimeError("full disk")

    make.write(folder / "a.npz", {"told": np.arange(3)})
    with pytest.raises(RuntimeError):
        make.write(folder / "a.npz", {"told": Breaks()})
    with np.load(folder / "a.npz") as found:
        assert found["told"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("address, words", [("slurm://x", "not understood"), ("dask://x:1", "pip install distributed")])
def test_an_executor_that_cannot_be_had_gets_a_sentence(address, words, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ValueError, match=words):
        make.executor(address)


def test_an_unknown_file_gets_a_sentence():
    with pytest.raises(ValueError, match=r"no job for depth_3\.npz; known are digits\.npz"):
        make.make(["depth_3.npz"])


def test_processes_do_the_jobs():
    with make.executor("") as pool:
        found = pool.submit(make.run, "digits.npz").result()
    assert found["pixels"].shape == (1797, 64)
