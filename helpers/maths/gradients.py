"""Derivatives of blocks and of stacks of blocks. numpy alone."""

import numpy as np


def nudge(f, x, h=1e-5):
    """Return the Jacobian of ``f`` at ``x`` (n,) by central differences: nudge one input, watch every output.

    The array is (outputs, n); column j is (f(x + h e_j) - f(x - h e_j)) / 2h. ``f`` must take a
    batch (n, n), one nudged x a row. The error is of the order h² (the step) plus 1e-16 / h (rounding).
    """
    steps = h * np.eye(len(x))
    return (f(x + steps) - f(x - steps)).T / (2 * h)
