"""First floor: the pictures. Numbers in, picture and sentence out; nothing here knows of widgets or Jupyter."""

from importlib import import_module
from pkgutil import iter_modules

from .. import rooms

__getattr__ = rooms(__name__, __path__)


def all_views():
    """Yield every view class, notebook by notebook; the modules are imported when the first one is asked for."""
    from .contract import View

    classes = [
        found
        for module in sorted(entry.name for entry in iter_modules(__path__))
        for found in vars(import_module(f"{__name__}.{module}")).values()
        if isinstance(found, type)
        and issubclass(found, View)
        and found.notebook
        and found.__module__ == f"{__name__}.{module}"
    ]
    yield from sorted(classes, key=lambda view: (view.notebook, view.part))
