"""What a missing or damaged file in data/ gets: one sentence that names it and says what to do."""

import numpy as np
import pytest

from helpers.maths import store


def test_digits_are_normalised_by_the_training_set_alone():
    d = store.digits()
    assert [a.shape for a in d] == [(1437, 64), (1437,), (360, 64), (360,)]
    assert np.abs(d.x_train.mean(0)).max() < 1e-12
    stored = np.load(store.FOLDER / "digits.npz")
    assert d.x_test[7] * stored["pixels"][:1437].std() + stored["pixels"][:1437].mean(0) == pytest.approx(
        stored["pixels"][1444].astype(float)
    )
    with pytest.raises(ValueError, match="read-only"):
        d.x_train[0] = 0


def test_every_digit_can_be_shown_and_has_no_pixel_at_the_kink():
    assert all(np.abs(store.digit(which)).min() > 0.01 for which in range(10))
    with pytest.raises(ValueError, match="digit is 10; allowed are the whole numbers 0 to 9"):
        store.digit(10)


@pytest.mark.parametrize("damage", ["missing", "empty", "truncated", "nonsense", "lacking"])
def test_bad_files_get_one_sentence(tmp_path, monkeypatch, damage):
    monkeypatch.setattr(store, "FOLDER", tmp_path)
    whole = (store.Path(__file__).parents[1] / "data" / "digits.npz").read_bytes()
    path = tmp_path / "digits.npz"
    if damage == "lacking":
        np.savez(path, pixels=np.zeros(3))
    elif damage != "missing":
        path.write_bytes({"empty": b"", "truncated": whole[:9000], "nonsense": b"no archive at all"}[damage])
    with pytest.raises(store.DataError, match=r"^The file data/digits.npz .*`make data`\.$") as refusal:
        store.load("digits.npz", "pixels", "labels")
    assert "\n" not in str(refusal.value)


def test_wrong_shapes_get_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "FOLDER", tmp_path)
    np.savez(tmp_path / "digits.npz", pixels=np.zeros((5, 63)), labels=np.zeros(5))
    store._pixels.cache_clear()
    with pytest.raises(store.DataError, match=r"holds \(5, 63\) pixels"):
        store._pixels()
    store._pixels.cache_clear()
