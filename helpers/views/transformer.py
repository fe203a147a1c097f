"""The pictures of notebook 04, continued: the Transformer block, and tokens that become alike."""

import numpy as np
from matplotlib.ticker import MaxNLocator

from ..maths import orders, tokens
from . import style
from .contract import Control, View
from .degradation import Band
from .equation import SKIP
from .ladder import apart

CHOICES = {"pre-LN": orders.PRE_LN, "post-LN": orders.POST_LN, "output-norm": orders.OUTPUT_NORM,
           "sandwich": orders.SANDWICH, "none": ("norm", "sublayer")}  # fmt: skip
WRAP = Control(
    "order", "order", "the order of pieces around every sublayer", "choice", "pre-LN", options=tuple(CHOICES)
)


class Wrapped(View):
    """04c: a Transformer as the list of its layers, drawn from that list and run: every sublayer in its order."""

    notebook, part = "04", "c"
    controls = (
        Control("blocks", "blocks, N", "how many Transformer blocks", "integer", 6, 1, 12),
        Control("kind", "block", "which sublayers one block has", "choice", tokens.KINDS[0], options=tokens.KINDS),
        WRAP,
        Control("width", "width, d_model", "how many numbers a token has", "integer", 48, options=(16, 32, 48, 64)),
        SKIP,
    )
    presets = {
        "GPT-2 order": "blocks=12 kind=attention+feed-forward order=pre-LN skip=on",
        "first Transformer, encoder": "blocks=6 kind=attention+feed-forward order=post-LN skip=on",
        "first Transformer, decoder": "blocks=6 kind=with-cross-attention order=post-LN skip=on",
        "parallel sublayers": "blocks=6 kind=parallel order=pre-LN skip=on",
        "one block": "blocks=1 kind=attention+feed-forward order=pre-LN skip=on",
        "+ I off": "blocks=6 kind=attention+feed-forward order=pre-LN skip=off",
    }
    standard = staticmethod(tokens.transformer)
    MARKS = {"attention": "o", "cross-attention": "D", "feed-forward": "s", "attention + feed-forward": "h"}
    LEFT, RIGHT, LOW, HIGH = 24, 690, 262, 324
    ROWS = (180, 150, 120)

    def build(self):
        ground = style.blank(self.figure)
        self.road = ground.plot([], [], color=style.IDENTITY, linewidth=4, solid_capstyle="butt")[0]
        self.way = ground.plot([], [], color=style.INK, linewidth=1.5)[0]
        self.tip = style.arrow(ground, style.INK)
        bar = {"color": style.INK, "mew": 4, "linestyle": "none"}
        cross = {"color": style.IDENTITY, "marker": "P", "linestyle": "none"}
        self.norms = [ground.plot([], [], **bar, marker=mark, markersize=13, zorder=4)[0] for mark in "_|"]
        self.plus = ground.plot([], [], **cross, zorder=5)[0]
        face = {"color": style.INK, "markerfacecolor": "white", "linestyle": "none", "zorder": 4}
        self.marks = [ground.plot([], [], marker=mark, **face)[0] for mark in self.MARKS.values()]
        for x, mark in ((22, "_"), (44, "|")):
            ground.plot([x], [214], **bar, marker=mark, markersize=13)
        self.brackets = ground.plot([], [], color=style.TRUTH, linewidth=1.5)[0]
        ground.plot([272, 296], [214, 214], color=style.TRUTH, linewidth=1.5)
        style.text(ground, 304, 214, "one block", ha="left")
        self.legend = [
            ground.plot([120], [214], **cross, markersize=11)[0],
            style.text(ground, 134, 214, "a copy is added", ha="left"),
        ]
        style.text(ground, 54, 214, "norm", ha="left")
        self.keys = [ground.plot([], [], marker=mark, markersize=11, **face)[0] for mark in self.MARKS.values()]
        self.lines = [style.text(ground, 128, height - 4, ha="left", va="baseline") for height in self.ROWS]
        self.widths = [style.gap(ground, 54, height) for height in self.ROWS]
        style.text(ground, 54, 84, "read → written, numbers a token", ha="left")
        self.count = style.gap(ground, 196, 386, "additions of a copy:", weight="bold")
        self.ax = style.axes(self.figure, (470, 50, 230, 130), "layer", "root mean square of x")
        self.ax.set(ylim=(0, 8))
        self.ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        looks = ({**look, "markersize": 3} for look in (style.PLAIN_LINE, style.RESIDUAL_LINE))
        self.curves = [self.ax.plot([], [], **look)[0] for look in looks]
        self.drawn = {}
        ways = (self.brackets, self.road, self.way, self.tip, *self.norms, self.plus, *self.marks)
        self.moving = [*ways, self.count, *self.widths, *self.curves]

    def _sublayers(self, kind, width):
        """Return 17 tokens and the sublayers of as many blocks as there can be; fewer blocks are the first of them."""
        if (kind, width) not in self.drawn:
            rng = np.random.default_rng(0)
            x = rng.normal(size=(17, width))
            blocks = range(self.controls[0].high)
            self.drawn[kind, width] = x, [tokens.sublayers(kind, width, rng, memory=x) for _ in blocks]
        return self.drawn[kind, width]

    def update(self, blocks, kind, order, width, skip):
        x, parts = self._sublayers(kind, width)
        parts = parts[:blocks]
        layers = self.idea(parts, CHOICES[order])
        joined = [skip and orders.verdict(layer.order).residual for layer in layers]
        self._draw(layers, joined)
        self._bracket(len(layers), blocks)
        each = layers[: len(parts[0])]
        names = [layer.sublayer.name for layer in each]
        for key, name in zip(self.keys, self.MARKS, strict=True):
            place = [self.ROWS[names.index(name)]] if name in names else []
            if list(key.get_ydata()) != place:
                key.set_data([36][: len(place)], place)
        for at, (line, width_of) in enumerate(zip(self.lines, self.widths, strict=True)):
            part = each[at].sublayer if at < len(each) else None
            line.set_text(part.name if part else "")
            width_of.set_text(f"{part.reads} → {part.writes}" if part else "")
        count = tokens.additions(layers) if skip else 0
        for artist in self.legend:
            artist.set_visible(any(joined))
        counted = f"{count} addition{'s' * (count != 1)} of a copy"
        self.count.set_text(str(count))
        lengths = [np.sqrt(np.mean(state**2)) for state in tokens.stream(layers, x, float(skip))]
        for curve, on in zip(self.curves, (False, True), strict=True):
            curve.set_data((range(len(lengths)), lengths) if on == all(joined) else ([], []))
        wide = 12 if len(layers) <= 12 else 36
        if self.ax.get_xlim()[1] != 1.02 * wide:
            self.ax.set_xlim(-0.02 * wide, 1.02 * wide)
        words = f"{blocks} block{'s' * (blocks > 1)} of {' and '.join(names)}, that is {len(layers)} "
        words += f"layer{'s' * (len(layers) > 1)}, order {order}{'' if skip else ', + I off'}: {counted}. "
        words += f"Every sublayer reads and writes {width} numbers a token. "
        return (
            words
            + f"The stream's root mean square goes from {style.number(lengths[0])} to {style.number(lengths[-1])}."
        )

    def _draw(self, layers, joined):
        """Draw the layers from left to right; a way around a sublayer only where the copy is kept and added."""
        step = (self.RIGHT - self.LEFT) / max(len(layers), 3)
        way, road, plus, norms, places = [], [(self.LEFT, self.LOW)], [], ([], []), {name: [] for name in self.MARKS}
        for at, (layer, whole) in enumerate(zip(layers, joined, strict=True)):
            left = self.LEFT + at * step
            start, end = left + 0.16 * step, left + 0.72 * step
            road += [(start, self.LOW)] if whole else [(start, self.LOW), (np.nan, np.nan), (end, self.LOW)]
            way += [(start, self.LOW), (start, self.HIGH), (end, self.HIGH), (end, self.LOW), (np.nan, np.nan)]
            plus += [(end, self.LOW)] if whole else []
            places[layer.sublayer.name].append(((start + end) / 2, self.HIGH))
            before, branch, after = orders.split(layer.order)
            if not branch:
                before, branch = (), before
            inner, half = branch.index("sublayer"), (self.LOW + self.HIGH) / 2
            legs, ends = (
                ((branch[:inner], start), (branch[inner:], end)),
                ((before, left + 0.05 * step), (after, left + 0.95 * step)),
            )
            norms[0].extend((x, half) for pieces, x in legs if "norm" in pieces)
            norms[1].extend((x, self.LOW) for pieces, x in ends if "norm" in pieces)
        road.append((self.LEFT + len(layers) * step, self.LOW))
        lines = (self.road, road), (self.way, way), (self.plus, plus), *zip(self.norms, norms, strict=True)
        for artist, points in (*lines, *zip(self.marks, places.values(), strict=True)):
            artist.set_data(*np.reshape(points, (-1, 2)).T)
        for artist in (self.plus, *self.marks):
            artist.set_markersize(min(11, 0.45 * step))
        self.norms[0].set_markersize(min(13, 0.35 * step))
        self.norms[1].set_markeredgewidth(min(4, 0.15 * step))
        self.road.set(color=style.IDENTITY if all(joined) else style.INK, linewidth=4 if all(joined) else 1.5)
        self.road.set_linestyle((0, (3, 1)) if norms[1] and all(joined) else "-")  # as in part a: a norm on the road
        self.tip.set_positions((road[-1][0], self.LOW), (road[-1][0] + 16, self.LOW))

    def _bracket(self, layers, blocks):
        """Draw a line under each block."""
        wide = (self.RIGHT - self.LEFT) / max(layers, 3) * layers / blocks
        ends = [(self.LEFT + at * wide + 4, self.LEFT + (at + 1) * wide - 4, np.nan) for at in range(blocks)]
        self.brackets.set_data(np.ravel(ends), np.full(3 * blocks, self.LOW - 18.0))


class Alike(View):
    """04 deeper: attention alone makes all tokens alike; skips hold them apart."""

    notebook, part = "04", "e"
    ORDERS = {"bare": orders.BARE, "pre-LN": orders.PRE_LN, "post-LN": orders.POST_LN}
    controls = (
        Control("depth", "depth", "layers of attention, nothing else", "integer", 12, 1, 12),
        SKIP,
        Control(
            "order", "order", "of pieces around every layer; bare has no norm", "choice", "bare", options=tuple(ORDERS)
        ),
    )
    presets = {
        "no skip, three layers": "depth=3 skip=off order=bare",
        "with skips": "depth=12 skip=on order=bare",
        "a norm alone only delays it": "depth=12 skip=off order=pre-LN",
        "with skips, pre-LN": "depth=12 skip=on order=pre-LN",
        "with skips, post-LN": "depth=12 skip=on order=post-LN",
    }
    DRAWS, FLOOR = 20, 1e-12

    def build(self):
        ground = style.blank(self.figure)
        ax = style.axes(self.figure, (96, 56, 470, 280), "layer", "distance from all alike, log scale")
        ax.set(yscale="log", xlim=(-0.3, 12.3), ylim=(self.FLOOR, 3))
        ax.yaxis.set_major_formatter(lambda value, _: style.number(value).removeprefix("1×"))
        self.bands = [Band(ax, look) for look in (style.PLAIN_LINE, style.RESIDUAL_LINE)]
        self.labels = [style.text(ground, 576, 0, ha="left", color=color) for color in (style.PLAIN, style.RESIDUAL)]
        style.text(ground, 360, 384, f"32 tokens of 64 numbers, attention with random weights, {self.DRAWS} draws")
        self.found = {}
        self.moving = [*(part for band in self.bands for part in band.parts), *self.labels]

    def _draws(self, order):
        """Return the distances (no skip and skip, draws, 13); the draws differ in the skip alone."""
        if order not in self.found:
            runs = tokens.collapse(12, self.DRAWS, self.ORDERS[order], np.array([0.0, 1.0]).reshape(2, 1, 1, 1))
            self.found[order] = np.maximum(runs, self.FLOOR)
        return self.found[order]

    def update(self, depth, skip, order):
        runs = self._draws(order)[:, :, : depth + 1]
        ends = runs[:, :, -1].mean(1)
        heights = apart(np.maximum(56 + 280 * np.log(ends / self.FLOOR) / np.log(3 / self.FLOOR), 76), gap=36)
        ends = ["below 10⁻¹¹" if end < 1e-11 else style.number(end) for end in ends]
        for on, (values, band, label) in enumerate(zip(runs, self.bands, self.labels, strict=True)):
            band.show(np.arange(depth + 1), values.min(0), values.mean(0), values.max(0), strong=on == bool(skip))
            label.set(text=f"{('no skip', 'with skips')[on]}\n{ends[on]}", y=heights[on])
        words = f"Attention alone, {depth} layer{'s' * (depth > 1)}, order {order}, mean of {self.DRAWS} draws: the "
        return words + f"tokens' distance from all alike is {ends[0]} without skips and {ends[1]} with skips."
