"""Ground floor: numbers in, numbers out. Knows nothing of pictures, widgets or Jupyter."""
