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
        Control("depth", "depth", "how many layers are stacked", "integer", 8, 1, 32),
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
    HEIGHTS = (44, 132, 220, 308)

    def build(self):
        ground = style.blank(self.figure)
        self.towers = [self._tower(ground, 84, style.PLAIN_LINE), self._tower(ground, 420, style.RESIDUAL_LINE)]
        self.floors = [style.text(ground, 74, height, ha="right") for height in self.HEIGHTS]
        ground.plot([378, 378], [20, 380], color="#d0d0d0", linewidth=1)
        style.text(ground, 84, 388, "plain: y = F(x)", color=style.PLAIN, weight="bold", ha="left")
        self.name = style.text(ground, 420, 388, weight="bold", ha="left")
        towers = [
            piece
            for tower in self.towers
            for name in ("pictures", "lengths", "arrows", "returns")
            for piece in tower[name]
        ]
        self.moving = [*self.floors, *towers]

    def _tower(self, ground, left, line):
        tower = {"pictures": [], "lengths": [], "arrows": [], "returns": [], "climbs": []}
        for height in self.HEIGHTS:
            tower["pictures"].append(style.image(self.figure, (left, height - 32, 64, 64)))
            tower["lengths"].append(style.text(ground, left + 72, height, ha="left"))
            tower["returns"].append(style.text(ground, left + 190, height, ha="left"))
        for low, high in zip(self.HEIGHTS, self.HEIGHTS[1:], strict=False):
            tower["arrows"].append(style.arrow(ground, line["color"], linestyle=line["linestyle"]))
            tower["arrows"][-1].set_positions((left + 176, high - 8), (left + 176, low + 8))
            tower["climbs"].append(style.arrow(ground, style.INK, linewidth=1, mutation_scale=9))
            tower["climbs"][-1].set_positions((left + 32, low + 34), (left + 32, high - 33))
        style.text(ground, left, 358, "digit up, length", ha="left")
        style.text(ground, left + 150, 358, "arrow back, length", ha="left")
        return tower

    def update(self, digit, depth, skip, scale):
        layers = blocks.layers("feed-forward", depth)
        x = store.digit(digit)
        floors = sorted(set(np.linspace(0, depth, len(self.HEIGHTS)).round().astype(int)))
        ends = []
        for tower, on in zip(self.towers, (0.0, float(skip)), strict=True):
            states = [x]
            for F in layers:
                states.append(self.idea(states[-1], F, on, scale))
            arrows = gradients.send_back(x / np.linalg.norm(x), states, layers, on, scale)
            self._fill(tower, floors, states, arrows)
            ends += [np.linalg.norm(states[-1]) / np.linalg.norm(x), np.linalg.norm(arrows[0])]
        for label, floor in zip(self.floors, (*floors, *[None] * 3), strict=False):
            label.set_text("" if floor is None else f"after {floor}" if floor else "digit")
        colour, dash = (style.RESIDUAL, "-") if skip else (style.PLAIN, style.PLAIN_LINE["linestyle"])
        title = "with + I: y = x + F(x)" if skip else "+ I switched off: y = F(x)"
        if self.name.get_text() != title:
            self.name.set(text=title, color=colour)
        for piece in self.towers[1]["arrows"]:
            piece.set(color=colour, linestyle=dash)
        up, back, other_up, other_back = map(style.number, ends)
        name = "the tower with + I" if skip else "the second tower, + I off,"
        return (
            f"{depth} layer{'s' * (depth > 1)}, strength {scale:.2g}: the plain tower passes {up} times the digit's "
            f"length and its arrow comes back {back} long; {name} passes {other_up} times, its arrow {other_back}."
        )

    def _fill(self, tower, floors, states, arrows):
        top = np.abs(states[0]).max()
        for level in range(len(self.HEIGHTS)):
            shown = level < len(floors)
            state, arrow = (states[floors[level]], arrows[floors[level]]) if shown else (states[0], arrows[0])
            tower["pictures"][level].axes.set_visible(shown)
            tower["pictures"][level].set_visible(shown)
            style.paint(tower["pictures"][level], state, top)
            tower["lengths"][level].set_text(style.number(np.linalg.norm(state)) if shown else "")
            tower["returns"][level].set_text(style.number(np.linalg.norm(arrow)) if shown else "")
        for level, (back, climb) in enumerate(zip(tower["arrows"], tower["climbs"], strict=True)):
            shown = level + 1 < len(floors)
            length = np.linalg.norm(arrows[floors[level]]) if shown else 0
            # A tenfold longer arrow is drawn 1.5 points thicker: lengths here span many powers of ten.
            back.set(linewidth=float(np.clip(3 + 1.5 * np.log10(length or 1), 0.5, 8)), visible=length > 0)
            climb.set_visible(shown)
