"""Makes the files of this folder: ``python data/make.py`` (needs the test tools, see README.md here)."""

from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parent


def make_digits():
    """Write digits.npz: pixels (1797, 64) uint8 from 0 to 16 and labels, shuffled once so that any cut is fair."""
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    np.savez_compressed(
        FOLDER / "digits.npz", pixels=pixels[order].astype(np.uint8), labels=labels[order].astype(np.uint8)
    )


if __name__ == "__main__":
    make_digits()
