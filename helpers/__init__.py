"""The house behind the notebooks: `maths` (ground floor), `views` (pictures), `widgets` (the hands).

Imports only go down. Importing this package loads nothing else.
"""

from importlib import import_module
from pkgutil import iter_modules


def rooms(package, path):
    """Return a module ``__getattr__`` that imports a room of ``package`` when it is first named.

    A notebook then pays only for what it opens: ``maths.nets`` loads torch, ``maths`` does not.
    """

    def open_room(name):
        if name not in {entry.name for entry in iter_modules(path)}:
            raise AttributeError(f"{package} has no room {name!r}.")
        return import_module(f"{package}.{name}")

    return open_room
