"""Derivatives of blocks and of stacks of blocks. numpy alone."""

import numpy as np


def nudge(f, x, h=1e-5):
    """Return the Jacobian of ``f`` at ``x`` (n,) by central differences: nudge one input, watch every output.

    The array is (outputs, n); column j is (f(x + h e_j) - f(x - h e_j)) / 2h. ``f`` must take a
    batch (n, n), one nudged x a row. The error is of the order h² (the step) plus 1e-16 / h (rounding).
    """
    steps = h * np.eye(len(x))
    return (f(x + steps) - f(x - steps)).T / (2 * h)


def send_back(arrow, jacobians):
    """Send ``arrow`` (n,), a gradient at the output, down a stack; return the L + 1 arrows, the input's first.

    ``jacobians`` are the dy/dx (n, n) of the L blocks, the first block's first.
    The chain rule: g_l = (dy_l/dx_l)ᵀ g_(l+1).
    """
    arrows = [np.asarray(arrow, dtype=float)]
    for J in reversed(list(jacobians)):
        arrows.append(J.T @ arrows[-1])
    return arrows[::-1]
