"""The pictures of notebook 04: a block built from pieces in any order, and what the order does at depth."""

import numpy as np
from matplotlib.ticker import MaxNLocator

from ..maths import blocks, orders, signals, store, tokens
from . import style
from .contract import Control, View
from .degradation import Band
from .equation import SKIP, arm

ORDER = Control("order", "order", "the pieces, first to last; at most five", "sequence", orders.PRE_LN,
                options=orders.PIECES, length=orders.LONGEST)  # fmt: skip
LINES = {name: "order=" + ",".join(order) for order, name in orders.NAMES.items()}
NO_BLOCK = {"a plain layer": "order=norm,sublayer", "no residual block": "order=copy,norm,add,sublayer"}


def title(order, skip=1.0, scale=1.0):
    """Return in a few words what an order with these weights is called."""
    found = orders.verdict(order)
    if not found.residual:
        return "not a residual block"
    name = found.name or "a residual block without a name"
    if not skip:
        return f"{name}, + I off: a plain layer"
    if name == "post-LN" and skip > 1:
        return f"{name} with a heavier copy, as in DeepNorm"
    if not scale:
        return f"{name}, silent{', as ReZero starts' * (found.name == 'bare residual block')}"
    return name


class Builder(View):
    """04a: a block of up to five pieces: its name, its main road from bottom to top, what each piece does to x."""

    notebook, part = "04", "a"
    controls = (
        ORDER,
        Control("skip", "+ I, times", "skip, what multiplies the copy; 0 is plain", "number", 1.0, 0, 3, 0.01),
        Control("scale", "strength of F", "scale, the number that multiplies what is added", "number", 1.0, 0, 2, 0.01),
    )
    presets = {
        **{name: line + " skip=1 scale=1" for name, line in LINES.items()},
        **{name: line + " skip=1 scale=1" for name, line in NO_BLOCK.items()},
        "DeepNorm, 6 blocks": LINES["post-LN"] + " skip=1.86 scale=0.14",
        "ReZero at the start": LINES["bare residual block"] + " skip=1 scale=0",
        "pre-LN, + I off": LINES["pre-LN"] + " skip=0 scale=1",
    }
    standard = staticmethod(orders.run)
    HEIGHTS = 30 + 54 * np.arange(orders.LONGEST + 1)
    ROAD, BRANCH, TOP = 70, 170, 352
    PUBLISHED = "published test error\non CIFAR-10\nResNet-110: {:.2f} %\nResNet-164: {:.2f} %\nHe et al. 2016"
    F = blocks.FeedForward(np.random.default_rng(0))

    def build(self):
        ground = style.blank(self.figure)
        self.road = ground.plot([], [], color=style.IDENTITY, linewidth=4, solid_capstyle="butt")[0]
        self.way = ground.plot([], [], color=style.INK, linewidth=1.5)[0]
        self.tip = style.arrow(ground, style.INK)
        box = {"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": style.INK}
        self.boxes = [style.text(ground, 0, height, bbox=box, zorder=5) for height in self.HEIGHTS[1:]]
        bare = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        self.times = [style.text(ground, 0, 0, zorder=6, bbox=bare) for _ in range(2)]
        self.pictures = [style.image(self.figure, (262, height - 23, 46, 46)) for height in self.HEIGHTS]
        self.after = [style.text(ground, 320, height - 4, ha="left", va="baseline") for height in self.HEIGHTS]
        self.lengths = [style.gap(ground, 502, height) for height in self.HEIGHTS]
        self.name = style.text(ground, 16, 386, ha="left", weight="bold")
        self.state = style.text(ground, 16, 364, ha="left")
        self.facts = style.text(ground, 704, 200, ha="right", linespacing=1.5)
        # Everything else changes with the order alone, so a slider need not wait for it.
        self.moving, self.shown = [*self.times, *self.pictures, *self.lengths], None

    def update(self, order, skip, scale):
        found = orders.verdict(order)
        x = store.digit(3)
        runs = "add" not in order or "copy" in order[: order.index("add")]
        values = [x, *(self.idea(order, x, self.F, signals.layer_norm, tokens.relu, skip, scale) if runs else [])]
        if found.residual:  # what is drawn is the copy that arrives, whatever the typed function does with `skip`
            kept, (write, total) = values[order.index("copy")], values[order.index("add") :][:2]
            skip = round(float((total - scale * write) @ kept / (kept @ kept)), 9)
        self._show_values(order, values)
        self._show_numbers(order, found, skip, scale)
        if (order, bool(skip)) != self.shown:
            self.shown = order, bool(skip)
            self._show_way(order, found, skip)
        name, state = title(order, skip, scale), self._state(found, skip)
        self.name.set_text(name)
        self.state.set_text(state)
        self.facts.set_text(self.PUBLISHED.format(*found.errors) if found.errors else "")
        if not found.residual:
            return f"{', '.join(order) or 'No pieces'}: {name}, because {state}."
        lengths = [style.number(np.linalg.norm(value)) for value in (x, values[-1])]
        return (f"{', '.join(order)}: {name}. {state[0].upper()}{state[1:]}. "
                f"The digit enters with length {lengths[0]} and leaves with length {lengths[1]}.")  # fmt: skip

    @staticmethod
    def _state(found, skip):
        if not found.residual:
            return found.reason
        if not skip:
            return "with + I switched off there is no main road"
        return f"the main road is crossed by {' and '.join(found.road)}" if found.road else "the main road is whole"

    def _show_values(self, order, values):
        top = max(np.abs(value).max() for value in values)
        for at, (picture, after, length) in enumerate(zip(self.pictures, self.after, self.lengths, strict=True)):
            shown = at < len(values)
            picture.set_visible(shown)
            picture.axes.set_visible(shown)
            style.paint(picture, values[at] if shown else values[0], top)
            after.set_text(f"{'x' if at == 0 else f'after {order[at - 1]}'}: length" if shown else "")
            length.set_text(style.number(np.linalg.norm(values[at])) if shown else "")

    def _show_numbers(self, order, found, skip, scale):
        height = self.HEIGHTS[1:][order.index("add")] if found.residual else 0
        places = (self.ROAD, height - 27), (self.BRANCH - 42, height)
        for label, place, number in zip(self.times, places, (skip, scale), strict=True):
            label.set(text=f"× {number:.3g}", position=place, visible=found.residual)
        self.times[0].set_visible(found.residual and skip != 0)

    def _show_way(self, order, found, skip):
        """Draw the road and the way around it. There is a "+" only where a copy is added."""
        joined = found.residual and skip != 0
        start, end = (order.index("copy"), order.index("add")) if found.residual else (0, -1)
        places = [self.BRANCH if start < at < end else self.ROAD for at in range(len(order))]
        for at, box in enumerate(self.boxes):
            piece = order[at] if at < len(order) else ""
            on_branch_ends = found.residual and at in (start, end)
            words = {start: "copy", end: "+"}[at] if on_branch_ends and joined else "" if on_branch_ends else piece
            box.set(text=words, x=places[at] if words else 0, visible=bool(words))
            box.get_bbox_patch().set_linestyle("--" if not found.residual and piece in ("copy", "add") else "-")
            box.get_bbox_patch().set_edgecolor(style.IDENTITY if on_branch_ends else style.INK)
        heights = self.HEIGHTS[1:]
        top = self.TOP if len(order) == orders.LONGEST else heights[len(order)] if order else heights[0]
        self.road.set_visible(joined)
        self.road.set_data([self.ROAD] * 2, [14, top - 14])
        self.road.set_linestyle((0, (2, 1)) if found.road else "-")
        self.way.set_data([self.ROAD, self.ROAD], [14, top - 14])
        if found.residual:
            low, high = heights[start], heights[end]
            x = [self.ROAD, self.ROAD, self.BRANCH, self.BRANCH, self.ROAD, self.ROAD]
            y = [14, low, low, high, high, top - 14]
            self.way.set_data((x[1:5], y[1:5]) if joined else (x, y))
        self.tip.set_positions((self.ROAD, top - 16), (self.ROAD, top))


WEIGHTS = {
    "ones": lambda depth: (1.0, 1.0),
    "deepnorm": signals.deepnorm,
    "1/sqrt(depth)": lambda depth: (1.0, depth**-0.5),
    "zero": lambda depth: (1.0, 0.0),
}


class AtDepth(View):
    """04b: a stack of layers in the chosen order: how the stream grows, and how long an arrow comes back."""

    notebook, part = "04", "b"
    controls = (
        ORDER,
        Control("depth", "depth", "layers, two to a Transformer block", "integer", 24, 2, 48),
        SKIP,
        Control("weights", "weights", "skip and scale: both 1, DeepNorm's, scale 1/sqrt(depth), or scale 0", "choice",
                "ones", options=tuple(WEIGHTS)),
    )  # fmt: skip
    presets = {**{f"{name}, 12 blocks": f"{LINES[name]} depth=24 skip=on weights=ones"
               for name in ("pre-LN", "post-LN", "output-norm", "bare residual block", "original ResNet")},
               "post-LN, + I off": f"{LINES['post-LN']} depth=24 skip=off weights=ones",
               "DeepNorm, 12 blocks": f"{LINES['post-LN']} depth=24 skip=on weights=deepnorm",
               "ReZero at the start": f"{LINES['bare residual block']} depth=24 skip=on weights=zero"}  # fmt: skip
    standard = staticmethod(signals.passed)
    WIDTH, DRAWS = 64, 8

    def build(self):
        ground = style.blank(self.figure)
        rng = np.random.default_rng(1)
        self.layers = signals.draw_layers(24, self.WIDTH, draws=(self.DRAWS,))
        self.x, self.arrow = signals.layer_norm(rng.normal(size=(2, self.DRAWS, self.WIDTH)))
        boxes = {
            (84, 56, 256, 262): "root mean square of x, log scale",
            (436, 56, 270, 262): "length of the arrow, log scale",
        }
        self.axes = [style.axes(self.figure, box, "layer", label) for box, label in boxes.items()]
        self.axes[1].set_xlabel("layer; the arrow travels left")
        for ax in self.axes:
            ax.set(yscale="log", xlim=(0, 1), ylim=(0.1, 10))
            ax.minorticks_off()
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
            ax.yaxis.set_major_formatter(lambda value, _: style.number(value).removeprefix("1×"))
        small = {"markersize": 3}
        looks = [{**look, **small} for look in (style.PLAIN_LINE, style.RESIDUAL_LINE)]
        self.bands = [[Band(ax, look) for look in looks] for ax in self.axes]
        self.road = Band(self.axes[1], {"color": style.IDENTITY, "linewidth": 2, "marker": "^", **small})
        self.forms = [ax.plot([], [], **style.FORM_LINE, zorder=5)[0] for ax in (*self.axes, self.axes[1])]
        diamond = {"color": style.TRUTH, "marker": "D", "linestyle": "none", "markersize": 8, "clip_on": False}
        self.guesses = self.axes[1].plot([], [], **diamond)[0]
        style.text(ground, 212, 334, "going up: the stream")
        style.text(ground, 571, 334, "coming back: the arrow, from 1")
        self.name = style.text(ground, 16, 386, ha="left", weight="bold")
        self.dashed = style.text(ground, 704, 386, "dashed black: closed form", ha="right")
        self.keys = style.text(ground, 704, 362, ha="right")
        bands = [part for pair in self.bands for band in pair for part in band.parts]
        self.moving = [*bands, *self.road.parts, *self.forms, self.guesses]

    @staticmethod
    def _numbers(depth, skip, weights):
        on, scale = WEIGHTS[weights](depth)
        return (on, scale) if skip else (0.0, scale)

    def _measure(self, order, depth, skip, weights):
        if depth > len(self.layers):  # the first ones stay the same
            self.layers = signals.draw_layers(48, self.WIDTH, draws=(self.DRAWS,))
        return signals.measure(order, self.layers[:depth], self.x, self.arrow, *self._numbers(depth, skip, weights))

    def update(self, order, depth, skip, weights):
        why = orders.refusal(order)
        runs = not why or (set(order) <= {"norm", "activation", "sublayer"} and "sublayer" in order)
        if not why and not skip and weights == "zero":
            why, runs = "with + I off and scale 0 it passes on nothing", False
        plain = bool(why) or not skip
        self.name.set_text(title(order, *self._numbers(depth, skip, weights)))
        found = self._measure(order, depth, skip, weights) if runs else None
        form = signals.expected(order, depth, *self._numbers(depth, skip, weights), self.idea) if runs else None
        for pair, values in zip(self.bands, found[:2] if runs else (None, None), strict=True):
            self._band(pair[plain], None)
            self._band(pair[not plain], values)
        self._band(self.road, found.road if runs and not plain else None)
        for line, values in zip(self.forms, form or (None,) * 3, strict=True):
            line.set_visible(values is not None and (line is not self.forms[2] or not plain))
            if values is not None:
                line.set_data(range(depth + 1), np.maximum(values, 1e-30))
        if self.dashed.get_visible() != bool(form):  # changes with the order alone
            self.dashed.set_visible(bool(form))
        self._fit(depth, found, plain)
        self.guesses.set_data([0] * len(self.guess), np.maximum(self.guess, 1e-30))
        key = "squares: all paths" if plain else "circles: all paths; triangles: identity path alone"
        self.keys.set_text(key if runs else why)
        if not runs:
            return f"{', '.join(order) or 'No pieces'}: not a residual block, because {why}. There is nothing to stack."
        return self._words(order, depth, plain, found, form)

    def _band(self, band, values):
        for part in band.parts:
            part.set_visible(values is not None)
        if values is not None:
            values = np.maximum(values, 1e-30)
            band.show(np.arange(values.shape[-1]), values.min(0), np.exp(np.log(values).mean(0)), values.max(0))

    def _fit(self, depth, found, plain):
        """Let both axes hold what is drawn, from one power of ten to another."""
        shown = (found.stream, found.total if plain else np.concatenate(found[1:])) if found else (1.0, 1.0)
        for ax, values in zip(self.axes, map(np.asarray, shown), strict=True):
            powers = np.log10(np.maximum([values.min(), values.max()], 1e-30))
            low, high = np.floor(powers[0] - 0.1), np.ceil(powers[1] + 0.1)
            wide = 24 if depth <= 24 else 48  # one step: new ticks are slow, and a curve that grows shows the depth
            limits = (-0.02 * wide, 1.02 * wide), (float(10.0**low), float(10.0**high))
            if (ax.get_xlim(), ax.get_ylim()) != limits:
                ax.set(xlim=limits[0], ylim=limits[1])

    def _words(self, order, depth, plain, found, form):
        middle = [
            float(np.exp(np.log(np.maximum(part, 1e-300)).mean(0))[at])
            for part, at in zip(found, (-1, 0, 0), strict=True)
        ]
        words = f"{depth} {arm(not plain)} layers, {self.name.get_text()}: the stream "
        words += f"leaves with root mean square {style.number(middle[0])}; "
        words += f"the arrow comes back {style.number(middle[1])} long in all"
        words += "." if plain else f", {style.number(middle[2])} along the identity path alone."
        words += "" if form else " No closed form here: a ReLU leaves a mean behind."
        if self.guess and not plain:
            off = [style.number(max(g, middle[2]) / min(g, middle[2])) if g > 0 else "infinite" for g in self.guess]
            words += f" Your guess for the identity path (grey diamond) is off by a factor {', '.join(off)}."
        return words
