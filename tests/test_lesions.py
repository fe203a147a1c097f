"""The room of the lesions: numpy beside torch, the orders, what is stored, and what is refused."""

import numpy as np
import pytest

from helpers.maths import lesions, nets, store


@pytest.fixture(scope="module")
def trained():
    """Four small nets, trained for a moment."""
    arms = {"skip": [1, 0, 1, 0], "scale": [0.5, 0.5, 1, 1], "seed": [0, 0, 1, 1]}
    return nets.finish(nets.train(4, **arms, final="rms", steps=5, every=5))[1]


@pytest.mark.parametrize("order", [None, [0, 2, 3], [3, 1, 2, 0], []])
def test_numpy_reads_the_nets_as_torch_does(trained, order):
    _, _, images, _ = nets.tensors()
    expected = trained.scores(images[None], order)
    ours = lesions.scores(lesions.finished(trained), images.numpy(), order)
    np.testing.assert_allclose(ours, expected.detach(), rtol=1e-4, atol=1e-4)


def test_some_of_the_nets_answer_as_before(trained):
    done = lesions.finished(trained)
    assert (lesions.accuracy(done.only([3, 1])) == lesions.accuracy(done)[[3, 1]]).all()


def test_orders_leave_out_and_swap_what_they_say():
    found = {(lesion, at): each for lesion, at, each in lesions.orders(20)}
    assert len(found) == 20 + 21 + len(lesions.SWAPS)
    for (lesion, at), each in found.items():
        for order in each:
            if lesion == "alone":
                assert list(order) == [layer for layer in range(20) if layer != at - 1]
            elif lesion == "out":
                assert len(order) == 20 - at
                assert (np.diff(order) > 0).all()
            else:
                assert sorted(order) == list(range(20))
                assert (order != np.arange(20)).sum() <= 2 * at
    for fewer, more in zip(range(1, 19), range(2, 20), strict=True):
        for before, after in zip(found["out", fewer], found["out", more], strict=True):
            assert set(after) < set(before), "what is out stays out"
    assert [tuple(order) for order in found["swaps", 1]] != [tuple(np.arange(20))] * lesions.DRAWS


def test_training_then_lesions_count_to_their_total(trained):
    config = {"depth": 2, "skip": [1, 0], "scale": 0.5, "steps": 4, "batch": 16, "every": 2}
    steps = list(lesions.train(**config))
    totals = {total for _, total, _ in steps}
    assert totals == {4 + 2 + 3 + len(lesions.SWAPS)}
    assert [step for step, _, _ in steps] == list(range(max(totals) + 1))
    rows = [row for _, _, part in steps for row in part]
    assert {tuple(row) for row in rows} == {lesions.COLUMNS}
    assert {row["lesion"] for row in rows} == {"alone", "out", "swaps"}
    # Trained to the end and then measured with no layer out, by torch and by numpy.
    whole = [row["accuracy"] for row in rows if (row["lesion"], row["at"]) == ("out", 0)]
    assert whole[-2:] == pytest.approx(whole[-4:-2], abs=1e-6)


def test_stochastic_depth_leaves_layers_out_in_training_and_shrinks_writes_afterwards():
    config = {"depth": 3, "skip": 1, "scale": 0.5, "steps": 3, "batch": 16, "every": 3}
    _, whole = nets.finish(lesions.train(**config))
    _, thinned = nets.finish(lesions.train(keep=0.5, **config))
    assert float(thinned.scale.item()) == 0.25 == float(whole.scale.item()) / 2
    assert not np.array_equal(whole.W, thinned.W)
    with pytest.raises(ValueError, match="keep is 0; allowed are numbers above 0, up to 1"):
        next(lesions.train(keep=0, **config))


@pytest.mark.parametrize("name, depth", [("lesions_20.npz", 20), ("lesions_8.npz", 8), ("lesions_thinned.npz", 20)])
def test_stored_studies_are_whole(name, depth):
    config, rows, kept = lesions.stored(name)
    assert config["depth"] == depth
    assert (kept is None) == (name == "lesions_thinned.npz")
    count = len(config["seed"])
    assert len(rows["at"]) == count * (2 * depth + 1 + len(lesions.SWAPS))
    keys = {tuple(rows[column][i] for column in lesions.COLUMNS[:-1]) for i in range(len(rows["at"]))}
    assert len(keys) == len(rows["at"])


def test_stored_nets_are_those_of_the_stored_rows():
    _, rows, nets_now = lesions.stored("lesions_20.npz")
    columns = nets_now.columns()
    for *own, now in zip(*columns.values(), lesions.accuracy(nets_now), strict=True):
        same = lesions.rows(rows, lesion="out", at=0, **dict(zip(columns, own, strict=True)))
        assert same["accuracy"] == pytest.approx([now], abs=0.006)  # half precision


def test_rows_are_those_that_were_asked_for():
    table = {"skip": np.array([0, 1, 1]), "scale": np.array([0.2236, 0.2236, 0.5]), "at": np.array([7, 8, 9])}
    assert lesions.rows(table, skip=1, scale=20**-0.5)["at"].tolist() == [8]
    assert lesions.where(table, skip=1).tolist() == [False, True, True]


def test_a_missing_study_gets_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "FOLDER", tmp_path)
    lesions.stored.cache_clear()
    with pytest.raises(store.DataError, match=r"data/lesions_20.npz"):
        lesions.stored("lesions_20.npz")
