"""The only room that opens ``data/``, and the only one that words what a missing or damaged file gets."""

import json
import zipfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

FOLDER = Path(__file__).resolve().parents[2] / "data"
TRAIN = 1437  # of 1,797 digits: four fifths, rounded down


class DataError(ValueError):
    """A file in ``data/`` is missing or damaged; the message is one sentence for the learner."""


class Digits(NamedTuple):
    """Handwritten digits, one row of 64 numbers each."""

    x_train: np.ndarray  # (1437, 64) float64
    y_train: np.ndarray  # (1437,) int, 0 to 9
    x_test: np.ndarray  # (360, 64)
    y_test: np.ndarray  # (360,)


def load(name, *keys):
    """Return the arrays of ``data/name`` (an .npz file) as a dict.

    Raises DataError, one sentence, if the file is missing, cannot be read or lacks one of ``keys``.
    """
    path = FOLDER / name
    mend = f"bring it back with `git checkout data/{name}` or make it anew with `make data`"
    try:
        # np.load would leave a damaged file open; this does not.
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as stored:
            found = {key: stored[key] for key in stored.files}
    except FileNotFoundError:
        raise DataError(f"The file data/{name} is missing: {mend}.") from None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(f"The file data/{name} is damaged ({type(error).__name__}): {mend}.") from None
    lacking = [key for key in keys if key not in found]
    if lacking:
        raise DataError(f"The file data/{name} lacks {', '.join(lacking)}: {mend}.")
    return found


@cache
def _pixels():
    stored = load("digits.npz", "pixels", "labels")
    pixels, labels = stored["pixels"].astype(float), stored["labels"].astype(int)
    if pixels.ndim != 2 or pixels.shape[1] != 64 or labels.shape != pixels.shape[:1] or len(labels) <= TRAIN:
        raise DataError(
            f"The file data/digits.npz holds {pixels.shape} pixels for {labels.shape} labels; needed are "
            f"(1797, 64) and (1797,): bring it back with `git checkout data/digits.npz`."
        )
    return pixels, labels


def rows(name, *keys):
    """Return the rows of ``data/name`` (a .json file), a list of dicts. Raises DataError as ``load`` does."""
    mend = f"bring it back with `git checkout data/{name}`"
    try:
        found = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"The file data/{name} is missing: {mend}.") from None
    except ValueError:
        raise DataError(f"The file data/{name} is damaged: {mend}.") from None
    lacking = {key for row in found for key in keys if key not in row}
    if lacking:
        raise DataError(f"The file data/{name} lacks {', '.join(sorted(lacking))}: {mend}.")
    return found


def digits(centred=True):
    """Return the 1,797 digits as ``Digits``: (pixel - mean image) / standard deviation, or pixels from 0 to 1.

    The training set alone decides mean image and standard deviation. The arrays are read-only, since every caller
    shares them. Raises DataError (see ``load``).
    """
    return _digits(bool(centred))


@cache
def _digits(centred):
    pixels, labels = _pixels()
    x = (pixels - pixels[:TRAIN].mean(0)) / pixels[:TRAIN].std() if centred else pixels / 16
    for array in (x, labels):
        array.flags.writeable = False
    return Digits(x[:TRAIN], labels[:TRAIN], x[TRAIN:], labels[TRAIN:])


def digit(which):
    """Return the first test image of the digit ``which`` (0 to 9) as 64 numbers, (pixel - mean pixel) / deviation.

    One mean for all pixels, unlike in ``digits``, where each has its own: so the digit stays legible as a picture,
    and no number is exactly 0, where relu has no derivative. Raises ValueError
    for any other number, DataError as ``load`` does.
    """
    if which not in range(10):
        raise ValueError(f"digit is {which}; allowed are the whole numbers 0 to 9.")
    pixels, labels = _pixels()
    train = pixels[:TRAIN]
    return (pixels[TRAIN + np.argmax(labels[TRAIN:] == which)] - train.mean()) / train.std()
