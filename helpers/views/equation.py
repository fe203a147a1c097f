"""The pictures of notebook 01: y = F(x) + x, what F has to learn, and the derivative."""

import numpy as np

from ..maths import blocks, descent, gradients, store
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
        "F writes nothing, residual": "depth=4 skip=on scale=0",
        "F writes nothing, plain": "depth=4 skip=off scale=0",
        "eight residual blocks": "depth=8 skip=on scale=0.15",
        "eight plain blocks": "depth=8 skip=off scale=0.15",
    }
    standard = staticmethod(blocks.block)
    PIXELS = (29, 36)  # row 4, column 6 and row 5, column 5: ink and paper of the 3

    def build(self):
        ground = style.blank(self.figure)
        self.diagram = style.BlockDiagram(ground, 92, 30, 340)
        self.pictures = [style.image(self.figure, (left, 226, 132, 132)) for left in (196, 372, 548)]
        for left, words in zip((262, 438, 614), ("", "scale · F(x)", "y"), strict=True):
            style.text(ground, left, 374, words)
        self.kept_title = style.text(ground, 262, 374)
        self.plus = style.text(ground, 350, 292, "+", fontsize=20)
        style.text(ground, 526, 292, "=", fontsize=20)
        self.grey = style.shades(ground, 438, 208)
        plane = style.axes(self.figure, (196, 34, 150, 150), "pixel 30", "pixel 37")
        plane.set(xlim=(-1, 1), ylim=(-1, 1), xticks=[], yticks=[])
        plane.axhline(0, color="#d0d0d0", linewidth=1, zorder=0)
        plane.axvline(0, color="#d0d0d0", linewidth=1, zorder=0)
        self.trail = plane.plot([], [], color=style.TRUTH, marker=".", linewidth=1)[0]
        colours = (style.IDENTITY, style.TRUTH, style.INK)
        dashes = ("-", (0, (3, 2)), "-")  # green and grey have one shade in greyscale
        looks = zip(colours, dashes, strict=True)
        self.arrows = [style.arrow(plane, hue, linestyle=dash, zorder=3 + k) for k, (hue, dash) in enumerate(looks)]
        for height, colour, dash in zip((152, 124, 96), colours, dashes, strict=True):
            ground.plot([362, 384], [height, height], color=colour, linestyle=dash, linewidth=3)
        self.kept = style.text(ground, 390, 152, ha="left")
        style.text(ground, 390, 124, "scale · F(x), what is written", ha="left")
        style.text(ground, 390, 96, "y, what leaves", ha="left")
        style.text(ground, 640, 180, "length", ha="left")
        self.lengths = [style.text(ground, 640, height, ha="left") for height in (152, 124, 96)]
        moving = (*self.pictures, self.grey, self.trail, *self.arrows, *self.lengths)
        self.moving = [*self.diagram.moving, *moving]

    def update(self, digit, F, depth, skip, scale):
        states = blocks.stack(store.digit(digit), blocks.layers(F, depth), float(skip), scale, self.idea)
        x, y = states[-2:]
        # The copy is what the typed block passes on when F writes nothing; the picture follows it, not the switch.
        kept = self.idea(x, np.zeros_like, float(skip), scale)
        write, skip = y - kept, float(np.round(kept @ x / (x @ x), 6)) if x.any() else float(skip)
        self._show_pictures(x, write, y, skip)
        self._show_arrows(states, write, skip)
        self.diagram.show(F, skip, scale)
        norms = [np.linalg.norm(v) for v in (x, write, y)]
        self.kept_title.set_text("x" if skip else "x, not kept")
        self.kept.set_text("x, the copy that is kept" if skip else "x, not kept")
        for line, norm in zip(self.lengths, norms, strict=True):
            line.set_text(style.number(norm))
        return self._readout(states, norms, F, depth, skip, scale)

    def _show_pictures(self, x, write, y, skip):
        top = max(np.abs(v).max() for v in (x, write, y))
        for picture, values in zip(self.pictures, (x, write, y), strict=True):
            style.paint(picture, values, top)
        self.plus.set_visible(bool(skip))
        self.grey.set_text(style.number(top))

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
        digit, kept = states[0], "what leaves is zero everywhere"
        if norms[2] > 0:
            cosine = round(float(digit @ y / np.linalg.norm(digit) / norms[2]), 2) + 0.0  # no minus before zero
            kept = f"what leaves has length {style.number(norms[2])} and cosine {cosine:.2f} with the digit"
        lengths = f"reads |x| = {style.number(norms[0])}, writes |scale · F(x)| = {style.number(norms[1])}"
        return f"{blocks_named}: the last one {lengths}; {kept}."


class Target(View):
    """01b: the target is (1 - δ) x; what F has to learn with and without the copy, and what a start from zero costs."""

    notebook, part = "01", "b"
    controls = (
        DIGIT,
        Control("delta", "δ, how much must change", "the target is (1 - δ) x", "number", 0.2, 0.0, 2.0, 0.05),
        SKIP,
        Control("steps", "training steps", "steps of gradient descent on a linear layer", "integer", 0, 0, 60),
    )
    presets = {
        "change little": "delta=0.1 skip=on steps=0",
        "even odds": "delta=0.5 skip=on steps=0",
        "replace everything": "delta=1 skip=on steps=0",
        "flip it": "delta=2 skip=on steps=0",
        "change little, trained": "delta=0.1 skip=on steps=60",
    }
    standard = staticmethod(blocks.correction)

    def build(self):
        ground = style.blank(self.figure)
        self.pictures = [style.image(self.figure, (20, bottom, 96, 96)) for bottom in (292, 158, 24)]
        style.text(ground, 130, 340, "x, what the layer reads", ha="left")
        style.text(ground, 130, 206, "target", ha="left")
        self.learns = style.text(ground, 130, 72, ha="left")
        ax = style.axes(
            self.figure, (410, 56, 280, 290), "δ (share of x that must change)", "loss, log scale (|x|² is 1)"
        )
        ax.set(xlim=(0, 2), ylim=(1e-4, 10), yscale="log", xticks=[0, 0.5, 1, 1.5, 2])
        ax.axvline(0.5, color="#d0d0d0", linewidth=1)
        style.text(ax, 0.54, 6, "½: equal", ha="left")
        self.grid = np.linspace(0, 2, 201)
        self.curves = [ax.plot(self.grid, self.grid * 0 + 1, **style.FORM_LINE)[0] for _ in range(2)]
        looks = (style.RESIDUAL_LINE, style.PLAIN_LINE)
        self.dots = [
            ax.plot([1], [1], **{**look, "markersize": 10, "linestyle": "none", "clip_on": False})[0] for look in looks
        ]
        self.labels = [style.text(ax, 1, 1, color=look["color"], weight="bold") for look in looks]
        self.guesses = ax.plot([], [], color=style.TRUTH, marker="D", linestyle="none", markersize=8)[0]
        style.text(ground, 550, 376, "dashed: the formulas; marks: measured")
        self.moving = [*self.pictures, *self.curves, *self.dots, *self.labels, self.guesses]

    def truth(self, delta, **_):
        """How many times larger the plain layer's starting loss is: ((1 - δ) / δ)²."""
        return ((1 - delta) / delta) ** 2 if delta else float("inf")

    def update(self, digit, delta, skip, steps):
        x = store.digit(digit)
        target = (1 - delta) * x
        write = self.idea(target, x, float(skip))
        self._show(x, target, write, skip)
        measured = [descent.loss(descent.descend(delta, on, steps), delta, on) for on in (1.0, 0.0)]
        for curve, on in zip(self.curves, (1.0, 0.0), strict=True):
            curve.set_ydata(descent.loss_form(self.grid, on, steps))
        for dot, label, loss, name in zip(self.dots, self.labels, measured, ("residual", "plain"), strict=True):
            shown = float(np.clip(loss, 1.2e-4, 8))
            dot.set_data([delta], [shown])
            left = delta > 0.9
            label.set(position=(delta - 0.08 if left else delta + 0.08, shown), ha="right" if left else "left")
            label.set_text(name if loss >= 1e-4 else f"{name}: below")
            above = loss < 1e-4 or loss > min(measured) or name == "plain"
            label.set_verticalalignment("bottom" if above else "top")
        self.guesses.set_data(
            [delta] * len(self.guess), [float(np.clip(g * measured[0], 1e-4, 10)) for g in self.guess]
        )
        residual, plain = map(style.number, measured)
        learns = style.number(self.idea(1 - delta, 1.0, float(skip)))
        words = f"δ = {delta:.2f}, {arm(skip)} layer: F must learn {learns} x. After {steps} steps the loss is "
        words += f"{residual} residual and {plain} plain, in units of |x|²."
        return words + self._distance(delta)

    def _distance(self, delta):
        if not self.guess:
            return ""
        truth = self.truth(delta)
        off = ", ".join(style.number(max(g, truth) / min(g, truth)) if g > 0 else "infinite" for g in self.guess)
        return f" It starts {style.number(truth)} times higher; your guess (grey diamond) is off by a factor {off}."

    def _show(self, x, target, write, skip):
        top = np.abs(x).max()  # the same shades whatever δ is; beyond δ = 1 the strongest pixels of F are full
        for picture, values in zip(self.pictures, (x, target, write), strict=True):
            style.paint(picture, values, top)
        self.learns.set_text(f"what F must learn:\n{'target − x' if skip else 'the whole target'}")


class Derivative(View):
    """01c: nudge one pixel, watch every pixel; all nudges make the Jacobian, and the copy of x adds I to it."""

    notebook, part = "01", "c"
    controls = (
        DIGIT,
        Control("F", "F", "what the layer computes", "choice", "feed-forward", options=tuple(blocks.SUBLAYERS)),
        Control("pixel", "nudged pixel", "which of the 64 inputs is nudged, row by row", "integer", 30, 1, 64),
        SKIP,
        SCALE,
    )
    presets = {
        "residual": "F=feed-forward skip=on scale=1",
        "plain": "F=feed-forward skip=off scale=1",
        "F = −x": "F=minus-x skip=on scale=1",
        "F = 0": "F=feed-forward skip=on scale=0",
        "tokens read one another": "F=attention skip=on scale=1",
    }
    standard = staticmethod(gradients.nudge)

    def build(self):
        ground = style.blank(self.figure)
        lefts = (20, 260, 500)
        self.tables = [style.image(self.figure, (left, 176, 190, 190), (64, 64)) for left in lefts]
        self.columns = [style.image(self.figure, (left + 49, 40, 92, 92)) for left in lefts]
        style.text(ground, lefts[0] + 95, 382, "scale · dF/dx")
        style.text(ground, lefts[2] + 95, 382, "dy/dx")
        self.copy = style.text(ground, lefts[1] + 95, 382)
        style.text(ground, 360, 152, "the marked column as a picture: what one nudged pixel moves")
        self.marks = [
            table.axes.plot([0, 0], [-0.5, 63.5], color=style.IDENTITY, linewidth=1.5)[0] for table in self.tables
        ]
        self.plus = style.text(ground, 235, 270, "+", fontsize=20)
        style.text(ground, 475, 270, "=", fontsize=20)
        self.grey = style.shades(ground, 360, 20)
        self.moving = [*self.tables, *self.columns, *self.marks, self.grey]

    def _measure(self, digit, F, skip, scale, **_):
        x, layer = store.digit(digit), blocks.layers(F, 1)[0]
        write = self.idea(lambda v: scale * layer(v), x)
        whole = self.idea(lambda v: blocks.block(v, layer, float(skip), scale), x)
        exact = scale * layer.jacobian(x) + float(skip) * np.eye(len(x))
        return write, float(skip) * np.eye(len(x)), whole, exact

    def update(self, **values):
        write, copy, whole, exact = self._measure(**values)
        column = values["pixel"] - 1
        # The same shades with the copy and without, so that only the diagonal changes.
        top = max(np.abs(write).max(), np.abs(write + np.eye(len(write))).max())
        self.plus.set_visible(bool(values["skip"]))
        self.copy.set_text("I, from the copy" if values["skip"] else "0, no copy")
        for table, picture, mark, matrix in zip(
            self.tables, self.columns, self.marks, (write, copy, whole), strict=True
        ):
            style.paint(table, matrix, top)
            style.paint(picture, matrix[:, column], top)
            mark.set_xdata([column, column])
        self.grey.set_text(style.number(top))
        moved, error = np.linalg.norm(whole[:, column]), np.abs(whole - exact).max()
        name = "dF/dx + I" if values["skip"] else "dF/dx"
        words = (
            f"{values['F']}, {arm(values['skip'])}: nudge pixel {values['pixel']} and y moves {style.number(moved)} "
        )
        words += "times as far. "
        words += f"The nudged table and the exact {name} differ by {style.number(error)} at most."
        return words
