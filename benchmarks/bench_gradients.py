"""An arrow sent back through a thousand layers: against multiplying the factors, and against twice the half."""

import io

import numpy as np

from benchmarks.rows import Row, median_times
from helpers.maths import gradients
from helpers.views.gradient import Arrow
from helpers.widgets.picture import Picture

WIDTH, DEPTH = 64, 1000


def rows():
    """Yield the arithmetic (the limit is twice the cost of half the depth) and the whole redraw."""
    tables = gradients.tables(DEPTH, WIDTH)
    arrow = np.full(WIDTH, WIDTH**-0.5, dtype=np.float32)

    def send(depth):
        gradients.log_lengths(arrow, tables[:depth], 0.9)

    def multiply():
        whole = np.eye(WIDTH)
        for J in tables:
            whole = gradients.factor(0.9 * J) @ whole
            whole /= np.linalg.norm(whole)

    whole, half, peer = median_times(lambda: send(DEPTH), lambda: send(DEPTH // 2), multiply)
    yield Row(f"arrow through {DEPTH} layers", whole, peer, 2 * half)

    ours, peers = Arrow(), Arrow()
    picture, gains = Picture(ours.figure, ours.moving), iter(np.linspace(0.5, 0.9, 100))

    def move(view):
        view.update(depth=DEPTH, skip=True, gain=float(next(gains)), scale="1/sqrt(depth)")

    def redraw():
        move(ours)
        picture.draw()
        picture.png()

    def everything():
        move(peers)
        peers.figure.savefig(io.BytesIO())

    yield Row(f"redraw 02a Arrow at depth {DEPTH}", *median_times(redraw, everything, picture.png))
