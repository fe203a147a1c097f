"""A view with every kind of control, for the tests of the hands: a bar for each number, a title for each word."""

import numpy as np

from helpers.views import style
from helpers.views.contract import Control, View


class EveryKind(View):
    """Shows its values as they are."""

    notebook, part = "00", "a"
    controls = (
        Control("depth", "depth", "an integer", "integer", 3, 1, 6),
        Control("strength", "strength", "a number", "number", 1.0, 0.0, 2.0, 0.1),
        Control("rate", "rate", "a number spaced by factors", "number", 0.01, 0.001, 1.0, log=True),
        Control("skip", "+ I", "a switch", "switch", True),
        Control("order", "order", "a choice", "choice", "pre", options=("pre", "post", "none")),
        Control("layers", "layers", "a switch a layer", "switches", (1, 2), length="depth"),
        Control(
            "pieces", "pieces", "a sequence", "sequence", ("copy", "add"), options=("copy", "norm", "add"), length=3
        ),
        Control("layer", "layer", "an integer with a narrower range", "integer", 1, 1, 6),
        Control("stored", "stored", "a stored result, in a narrower range", "integer", 2, options=(1, 2, 4, 6)),
    )
    presets = {"shallow": "depth=2 skip=off", "deep": "depth=6 skip=on"}

    def build(self):
        ground = style.axes(self.figure, (60, 60, 600, 280), "control", "value")
        ground.set(xlim=(0, 5), ylim=(0, 7))
        (self.bars,) = ground.plot(np.arange(1, 5), np.zeros(4), **style.RESIDUAL_LINE)
        self.words = style.text(ground, 2.5, 6)
        self.moving = [self.bars, self.words]

    def limits(self, depth, **_):
        return {"layer": (1, depth), "stored": (1, depth)}

    def update(self, **values):
        self.bars.set_ydata([values[name] for name in ("depth", "strength", "rate", "layer")])
        self.words.set_text(self.line(values))
        return f"It shows {self.line(values)}."
