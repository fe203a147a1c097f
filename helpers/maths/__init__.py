"""Ground floor: numbers in, numbers out. Knows nothing of pictures, widgets or Jupyter."""

from .. import rooms

__getattr__ = rooms(__name__, __path__)
