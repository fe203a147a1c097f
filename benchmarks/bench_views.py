"""One step of a slider, from the values to the PNG: redrawing what moves, against drawing the whole figure anew."""

import io
import itertools

from benchmarks.rows import Row, median_times
from helpers.views import all_views
from helpers.widgets.picture import Picture


def neighbours(view):
    """Return two settings, one step of a slider apart."""
    start = view.defaults()
    for control in view.controls:
        if control.kind in ("integer", "number"):
            stops = control.stops() or (control.low, control.low + (control.step or 1), control.high)
            moved = {**start, control.name: next(stop for stop in stops if stop != start[control.name])}
            if all(low <= moved[name] <= high for name, (low, high) in view.limits(**moved).items()):
                return start, moved
    return start, {**start, "skip": not start["skip"]}


def rows():
    """Yield a row for each view; the limit is encoding the finished picture."""
    for kind in all_views():
        view = kind()
        picture = Picture(view.figure, view.moving)
        settings = itertools.cycle(neighbours(view))

        def ours(view=view, picture=picture, settings=settings):
            view.update(**next(settings))
            picture.draw()
            picture.png()

        def peer(kind=kind, settings=settings):
            anew = kind()
            anew.update(**next(settings))
            anew.figure.savefig(io.BytesIO())

        yield Row(f"redraw {kind.notebook}{kind.part} {kind.__name__}", *median_times(ours, peer, picture.png))
