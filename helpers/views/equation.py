"""The pictures of notebook 01: y = F(x) + x, what F has to learn, and the derivative."""

import numpy as np

from ..maths import blocks, store
from . import style
from .contract import Control, View

DIGIT = Control("digit", "digit", "which handwritten digit goes in", "integer", 3, 0, 9)
SUBLAYER = Control(
    "F", "F", "what the layer computes", "choice", "feed-forward", options=("feed-forward", "convolution", "attention")
)
SKIP = Control("skip", "+ I", "add x to F(x): on is a residual layer, off a plain one", "switch", True)
SCALE = Control("scale", "strength of F", "scale, the number that multiplies F(x)", "number", 1.0, 0.0, 2.0, 0.05)


def arm(skip):
    """Return the word for a layer with this ``skip``."""
    return "residual" if skip else "plain"


class Stack(View):
    """01a: a digit x, what the layer writes, F(x), and what leaves, y, as pictures and as arrows for two pixels."""

    notebook, part = "01", "a"
    depth = Control("depth", "depth", "how many blocks are stacked; the picture shows the last one", "integer", 1, 1, 8)
    controls = (DIGIT, SUBLAYER, depth, SKIP, SCALE)
    presets = {
        "residual block": "depth=1 skip=on scale=1",
        "plain block": "depth=1 skip=off scale=1",
        "nothing learned, residual": "depth=4 skip=on scale=0",
        "nothing learned, plain": "depth=4 skip=off scale=0",
        "eight residual blocks": "depth=8 skip=on scale=0.3",
        "eight plain blocks": "depth=8 skip=off scale=0.3",
    }
    standard = staticmethod(blocks.block)
    PIXELS = (27, 36)  # row 4, column 4 and row 5, column 5

    def build(self):
        ground = style.blank(self.figure)
        self.diagram = style.BlockDiagram(ground, 92, 30, 340)
        self.pictures = [style.image(self.figure, (left, 226, 132, 132)) for left in (196, 372, 548)]
        self.titles = [style.text(ground, left + 66, 374) for left in (196, 372, 548)]
        self.plus = style.text(ground, 350, 292, "+", fontsize=20)
        style.text(ground, 526, 292, "=", fontsize=20)
        self.grey = style.text(ground, 438, 208)
        plane = style.axes(self.figure, (196, 34, 150, 150), "pixel 28", "pixel 37")
        plane.set(xlim=(-1, 1), ylim=(-1, 1), xticks=[], yticks=[])
        plane.axhline(0, color="#d0d0d0", linewidth=1, zorder=0)
        plane.axvline(0, color="#d0d0d0", linewidth=1, zorder=0)
        self.trail = plane.plot([], [], color=style.TRUTH, marker=".", linewidth=1)[0]
        colours = (style.IDENTITY, style.TRUTH, style.INK)
        self.arrows = [style.arrow(plane, colour, zorder=3 + k) for k, colour in enumerate(colours)]
        self.lengths = [style.text(ground, 372, height, ha="left") for height in (152, 124, 96)]
        for height, colour in zip((152, 124, 96), colours, strict=True):
            ground.plot([356, 366], [height, height], color=colour, linewidth=4)
        self.check = style.text(ground, 356, 56, ha="left")
        self.moving = [
            *self.diagram.moving,
            *self.pictures,
            *self.titles,
            self.plus,
            self.grey,
            self.trail,
            *self.arrows,
            *self.lengths,
            self.check,
        ]

    def update(self, digit, F, depth, skip, scale):
        layers = blocks.layers(F, depth)
        states = [store.digit(digit)]
        for layer in layers:
            states.append(self.idea(states[-1], layer, float(skip), scale))
        x, y = states[-2:]
        write = scale * layers[-1](x)
        self._show_pictures(x, write, y, depth, skip)
        self._show_arrows(states, write, skip)
        self.diagram.show(F, float(skip), scale)
        norms = [np.linalg.norm(v) for v in (x, write, y)]
        for line, name, norm in zip(
            self.lengths,
            ("x, the copy that is kept" if skip else "x, not kept", "F(x), what the layer writes", "y, what leaves"),
            norms,
            strict=True,
        ):
            line.set_text(f"{name}: length {norm:.3g}")
        return self._readout(states, norms, F, depth, skip, scale)

    def _show_pictures(self, x, write, y, depth, skip):
        top = max(np.abs(v).max() for v in (x, write, y))
        for picture, values in zip(self.pictures, (x, write, y), strict=True):
            style.paint(picture, values, top)
        self.pictures[0].set_alpha(1.0 if skip else 0.25)
        self.plus.set_visible(bool(skip))
        where = "" if depth == 1 else f", block {depth}"
        for title, words in zip(self.titles, (f"x{where}", "F(x)", f"y{where}"), strict=True):
            title.set_text(words)
        self.grey.set_text(f"white −{top:.2g}, grey 0, black +{top:.2g}")

    def _show_arrows(self, states, write, skip):
        x, w, y = (v[list(self.PIXELS)] for v in (states[-2], write, states[-1]))
        trail = np.array([s[list(self.PIXELS)] for s in states[:-1]])
        top = 1.1 * max(np.abs(trail).max(), np.abs(y).max(), np.abs(w).max(), 1e-300)
        start = x if skip else 0 * x
        for piece, (tail, tip) in zip(self.arrows, ((0 * x, x), (start, start + w), (0 * x, y)), strict=True):
            piece.set_positions(tuple(tail / top), tuple(tip / top))
        self.arrows[0].set_alpha(1.0 if skip else 0.25)
        self.trail.set_data(*(trail / top).T)

    def _readout(self, states, norms, F, depth, skip, scale):
        y = states[-1]
        blocks_named = f"{depth} {arm(skip)} {F} block{'s' * (depth > 1)}, strength {scale:.2g}"
        digit, kept = states[0], "nothing: it is zero everywhere"
        if norms[2] > 0:
            kept = f"length {norms[2]:.3g} and cosine {digit @ y / np.linalg.norm(digit) / norms[2]:.2f} with the digit"
        lengths = f"reads |x| = {norms[0]:.3g}, writes |F(x)| = {norms[1]:.3g}"
        return f"{blocks_named}: the last one {lengths}; what leaves has {kept}."
