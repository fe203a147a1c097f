"""Derivatives of blocks and of stacks of blocks. numpy alone."""

import numpy as np

from . import blocks


def nudge(f, x, h=1e-5):
    """Return the Jacobian of ``f`` at ``x`` (n,) by central differences: nudge one input, watch every output.

    The array is (outputs, n); column j is (f(x + h e_j) - f(x - h e_j)) / 2h. ``f`` must take a
    batch (n, n), one nudged x a row. The error is of the order h² (the step) plus 1e-16 / h (rounding).
    """
    steps = h * np.eye(len(x))
    return (f(x + steps) - f(x - steps)).T / (2 * h)


def send_back(arrow, states, layers, skip=1.0, scale=1.0):
    """Send ``arrow`` (n,), a gradient at the output, down a stack; return the L + 1 arrows, the input's first.

    ``states`` are what ``blocks.stack`` returned, and every layer has ``jacobian(x)``. One factor a layer, by the
    chain rule: g_l = (skip I + scale dF/dx)ᵀ g_(l+1).
    """
    arrows = [np.asarray(arrow, dtype=float)]
    for x, F in zip(reversed(states[:-1]), reversed(layers), strict=True):
        arrows.append(blocks.add(arrows[-1], F.jacobian(x).T @ arrows[-1], skip, scale))
    return arrows[::-1]
