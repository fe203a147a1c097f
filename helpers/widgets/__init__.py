"""Second floor: the hands. Controls, picture, readout. They know nothing of residual connections."""

from .explore import explore as explore
from .live import live as live
