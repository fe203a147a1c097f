"""Who was shown by which cell: running a cell again stops and closes what it had shown before."""

import ipywidgets
from IPython import get_ipython

_shown = {}  # cell → (the request that ran it, what it showed); one register for every kind of panel


def show_alone(panel, name):
    """Register ``panel`` (it has ``close()``) for the running cell and close what an earlier run of that cell showed.

    Where the front end sends no cell id, ``name`` stands in for the cell. Several panels of one run live side by side.
    """
    parent = getattr(getattr(get_ipython(), "kernel", None), "get_parent", dict)() or {}
    cell = parent.get("metadata", {}).get("cellId", name)
    request = parent.get("header", {}).get("msg_id")
    earlier, panels = _shown.get(cell, (request, []))
    if earlier != request or request is None:
        for old in panels:
            old.close()
        panels = []
    _shown[cell] = (request, [*panels, panel])


def close_all(widget):
    """Close ``widget``, its children, and the layouts and styles that ``Widget.close`` leaves behind."""
    for child in getattr(widget, "children", ()):
        close_all(child)
    for part in (widget, getattr(widget, "layout", None), getattr(widget, "style", None)):
        if isinstance(part, ipywidgets.Widget):
            part.close()
