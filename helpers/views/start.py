"""The picture of notebook 00: two towers, one digit going up, one arrow coming back down."""

import numpy as np

from ..maths import blocks, gradients, store
from . import style
from .contract import Control, View
from .equation import DIGIT, SKIP


class Towers(View):
    """00: the same layers twice, plain on the left, with + I on the right; what goes up and what comes back down."""

    notebook, part = "00", "a"
    controls = (
        DIGIT,
        Control("depth", "depth", "how many layers are stacked", "integer", 8, 2, 32),
        SKIP,
        Control(
            "scale",
            "strength of F",
            "scale, the number that multiplies F(x) in both towers",
            "number",
            0.25,
            0.0,
            1.0,
            0.05,
        ),
    )
    presets = {
        "two layers": "depth=2 skip=on scale=0.25",
        "deep and weak": "depth=32 skip=on scale=0.1",
        "deep and strong": "depth=32 skip=on scale=1",
        "no + I anywhere": "depth=8 skip=off scale=0.25",
        "layers that do nothing": "depth=8 skip=on scale=0",
    }
    standard = staticmethod(blocks.block)
    HEIGHTS = (60, 184, 308)  # of the digit, of half way and of the top, in pixels

    def build(self):
        ground = style.blank(self.figure)
        self.towers = [self._tower(ground, 84, style.PLAIN_LINE), self._tower(ground, 420, style.RESIDUAL_LINE)]
        for height, words in zip(self.HEIGHTS, ("digit", "half way", "top"), strict=True):
            style.text(ground, 74, height, words, ha="right")
        ground.plot([398, 398], [20, 380], color="#d0d0d0", linewidth=1)
        style.text(ground, 84, 388, "plain: y = strength · F(x)", color=style.PLAIN, weight="bold", ha="left")
        self.name = style.text(ground, 420, 388, weight="bold", ha="left")
        for tower in self.towers:
            # Digit and arrow start with length 1, whatever is set: these numbers stand still.
            self.moving += [*tower["pictures"], *tower["lengths"][1:], *tower["arrows"], *tower["returns"][:-1]]

    def _tower(self, ground, left, line):
        tower = {"pictures": [], "lengths": [], "arrows": [], "returns": []}
        for height in self.HEIGHTS:
            tower["pictures"].append(style.image(self.figure, (left, height - 45, 90, 90)))
            tower["lengths"].append(style.text(ground, left + 98, height, ha="left"))
            tower["returns"].append(style.text(ground, left + 206, height, ha="left"))
        for low, high in zip(self.HEIGHTS, self.HEIGHTS[1:], strict=False):
            tower["arrows"].append(style.arrow(ground, line["color"], linestyle=line["linestyle"]))
            tower["arrows"][-1].set_positions((left + 192, high - 8), (left + 192, low + 8))
            climb = style.arrow(ground, style.INK, linewidth=1, mutation_scale=9)
            climb.set_positions((left + 45, low + 47), (left + 45, high - 46))
        style.text(ground, left, 366, "digit up, length", ha="left")
        style.text(ground, left + 156, 366, "arrow back, length", ha="left")
        return tower

    def update(self, digit, depth, skip, scale):
        layers = blocks.layers("feed-forward", depth)
        x = store.digit(digit)
        floors = (0, depth // 2, depth)
        ends = []
        for tower, on in zip(self.towers, (0.0, float(skip)), strict=True):
            states = blocks.stack(x, layers, on, scale, self.idea)
            arrows = gradients.send_back(x / np.linalg.norm(x), self._slopes(states, layers, on, scale))
            self._fill(tower, floors, states, arrows)
            ends += [np.linalg.norm(states[-1]) / np.linalg.norm(x), np.linalg.norm(arrows[0])]
        colour, dash = (style.RESIDUAL, "-") if skip else (style.PLAIN, style.PLAIN_LINE["linestyle"])
        title = "with + I: y = x + strength · F(x)" if skip else "+ I off: y = strength · F(x)"
        if self.name.get_text() != title:  # it stands still: setting it again would redraw the whole picture
            self.name.set(text=title, color=colour)
        for piece in self.towers[1]["arrows"]:
            piece.set(color=colour, linestyle=dash)
        up, back, other_up, other_back = map(style.number, ends)
        name = "the tower with + I" if skip else "the second tower, + I off,"
        return (
            f"{depth} layers, strength {scale:.2g}: the plain tower passes {up} times the digit's "
            f"length and its arrow comes back {back} long; {name} passes {other_up} times, its arrow {other_back}."
        )

    def _slopes(self, states, layers, skip, scale):
        """The Jacobian of each block as typed, by nudges that are small beside what the block reads."""
        for x, F in zip(states[:-1], layers, strict=True):
            nudge = 1e-5 * (np.abs(x).max() or 1.0)
            yield gradients.nudge(lambda v, F=F: self.idea(v, F, skip, scale), x, nudge)

    def _fill(self, tower, floors, states, arrows):
        top = np.abs(states[0]).max()
        for level, floor in enumerate(floors):
            style.paint(tower["pictures"][level], states[floor], top)
            tower["lengths"][level].set_text(style.number(np.linalg.norm(states[floor]) / np.linalg.norm(states[0])))
            tower["returns"][level].set_text(style.number(np.linalg.norm(arrows[floor])))
        for piece, floor in zip(tower["arrows"], floors, strict=False):
            length = np.linalg.norm(arrows[floor])
            # A tenfold longer arrow is drawn 1.5 points thicker: lengths here span many powers of ten.
            piece.set(linewidth=float(np.clip(3 + 1.5 * np.log10(length or 1), 0.5, 8)), visible=length > 0)
