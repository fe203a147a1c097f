"""Axes over many powers of ten that rarely change, and the words and labels that go with them."""

from itertools import pairwise

import numpy as np

from . import style

RUNGS = np.array([a * 10**b for b in range(4) for a in (1, 2, 5)])


def rung(value):
    """Return the first of 1, 2, 5, 10, 20, ... 5000 that is at least ``value``: the end of an axis."""
    return float(RUNGS[np.searchsorted(RUNGS, min(value, RUNGS[-1]))])


def decades(*curves):
    """Return rungs (low, high) that hold all finite values of ``curves``, arrays of exponents of ten, and 0."""
    values = np.concatenate([curve[np.isfinite(curve)] for curve in curves])
    return -rung(-values.min(initial=0.0)), rung(values.max(initial=0.0))


def fit(ax, **limits):
    """Set ``xlim`` and ``ylim`` of ``ax``, but only where they differ: each change draws the background anew."""
    ax.set(**{name: new for name, new in limits.items() if getattr(ax, f"get_{name}")() != new})


def ten(power):
    """Return 10 to the ``power`` in words, also where it is no float any more: 0.25, 8.6×10⁴, 10⁻²⁵⁰⁰; -inf is 0."""
    if abs(power) < 300 or power == -np.inf:
        return style.number(10.0**power)
    return raised(power)


def raised(power):
    """Return 10ⁿ for a whole ``power``."""
    return "10" + f"{power:.0f}".translate(style.RAISED)


def whole_numbers(axis):
    """Let ticks stand at whole numbers only."""
    axis.get_major_locator().set_params(nbins=7, integer=True)


def powers_of_ten(ax):
    """Label the vertical axis of ``ax``, which holds exponents, with powers of ten."""
    ax.yaxis.set_major_formatter(lambda power, _: raised(power))
    whole_numbers(ax.yaxis)
    ax.axhline(0, color="#c0c0c0", linewidth=1, zorder=0)


def apart(heights, gap=17):
    """Return ``heights`` (pixels) moved so far that labels there do not touch."""
    placed = np.array(heights, float)
    for below, above in pairwise(np.argsort(placed)):
        placed[above] = max(placed[above], placed[below] + gap)
    return placed - (placed - heights).mean()


def restyle(line, skip):
    """Give ``line`` the colour, dash and marker of a residual or a plain net."""
    look = style.RESIDUAL_LINE if skip else style.PLAIN_LINE
    line.set(**{name: look[name] for name in ("color", "linestyle", "marker")})
