"""The pictures of notebook 03, continued: training curves and inserted layers."""

from dataclasses import replace

import numpy as np
from matplotlib.ticker import MaxNLocator

from ..maths import blocks, results, store
from . import style
from .contract import Control, View
from .degradation import DEPTHS, LEAST, LOOKS, VARIANTS, Band, depths, name_lines
from .equation import DIGIT, SKIP, arm
from .ladder import fit, raised


class Curves(View):
    """03b: training curves at one depth, stored and trained here, and what became of every layer."""

    notebook, part = "03", "b"
    controls = (
        depths(*DEPTHS, 110),
        SKIP,
        Control("curve", "curve", "what is drawn over the steps", "choice", "training", options=("training", "test")),
        Control(
            "layers",
            "by layer",
            "how far each W moved, the norm of its gradient, or |scale F(x)| / |x|",
            "choice",
            "moved",
            options=("moved", "gradient", "share"),
        ),
    )
    presets = {
        "plain 20": "depth=20 skip=off",
        "plain 56": "depth=56 skip=off",
        "residual 56": "depth=56 skip=on",
        "a hundred and ten layers": "depth=110 skip=off",
        "how much a block writes": "depth=20 skip=on layers=share",
    }
    NAMES = {"moved": "distance that W moved", "gradient": "|dloss/dW| (log)", "share": "|scale F(x)| / |x|"}
    SMALL = {"color": style.INK, "linestyle": (0, (1, 2)), "marker": "x", "markersize": 5, "linewidth": 1.5}
    fed = ()

    def build(self):
        ground = style.blank(self.figure)
        left = style.axes(self.figure, (64, 56, 292, 270), "step (128 images each)", "error, %")
        left.set(xlim=(0, 300), ylim=(-2, 100))
        self.right = style.axes(self.figure, (440, 56, 256, 270), "layer")
        self.right.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        looks = (*LOOKS, self.SMALL)
        self.bands = [Band(left, look) for look in looks]
        self.lines = [self.right.plot([], [], **{**look, "markersize": 3})[0] for look in looks]
        dashes = [LOOKS[number > 2]["linestyle"] for number in range(6)]
        self.here = [left.plot([], [], color=style.INK, linewidth=1, linestyle=dash)[0] for dash in dashes]
        self.titles = [style.text(ground, middle, 342) for middle in (206, 568)]
        self.small = style.text(ground, 360, 384, "crosses: plain, started too small")
        name_lines(ground, 384)
        bands = [part for band in self.bands for part in band.parts]
        self.moving = [*bands, *self.lines, *self.here, self.small]

    def config(self, depth, **_):
        """Return the config of the stored training, with three seeds of the plain and the residual nets."""
        config, arms, _ = self._stored(depth)
        kept = results.some(config, [net for nets in arms[:2] for net in nets[:3]])
        return kept | ({"block": self.idea} if self.idea else {})

    def _stored(self, depth):
        config, columns = results.stored(f"depth_{depth}.npz")
        residual = results.arm(config, 1, VARIANTS["scaled"].scale(depth))
        return config, (results.arm(config, 0, 1.0), residual, results.arm(config, 0, 1.0, "small")), columns

    def feed(self, rows):
        """Take rows of an experiment as they come; None forgets what came before."""
        self.fed = [] if rows is None else [*self.fed, *rows]

    def update(self, depth, skip, curve, layers):
        _, arms, columns = self._stored(depth)
        column = "train_error" if curve == "training" else "test_error"
        here = [row for row in self.fed if row["depth"] == depth]
        last = [row for row in here if row["step"] == here[-1]["step"]]
        tops = []
        for index, (nets, band, line) in enumerate(zip(arms, self.bands, self.lines, strict=True)):
            for part in (*band.parts, line):
                part.set_visible(bool(nets))
            if nets:
                band.show(columns["step"][:, 0], *results.spread(columns[column][:, nets].T), strong=index % 2 == skip)
                own = np.median(columns[layers][nets], 0)
                tops.append(own.max())
                if rows := [row[layers] for row in last if row["skip"] == index]:
                    own = np.median(rows, 0)
                    tops.append(own.max())
                line.set_data(range(1, depth + 1), np.maximum(own, LEAST) if layers == "gradient" else own)
                line.set_alpha(1.0 if index % 2 == skip else 0.5)
        for number, line in enumerate(self.here):
            own = here[number :: len(last)] if here else []
            line.set_data([row["step"] for row in own], [row[column] for row in own])
        self._fit(depth, max(filter(np.isfinite, tops)), layers == "gradient")  # a typed block may let a net overflow
        self.titles[0].set_text(f"{curve} error, band: stored seeds{', black: here' * bool(here)}")
        self.titles[1].set_text(f"{self.NAMES[layers]}, {'here' if here else 'stored'}")
        self.small.set_visible(bool(arms[2]))
        return self._words(columns[column], arms, depth, curve, last, column)

    def _fit(self, depth, top, log):
        """Let the axes by layer hold what is drawn; they change by factors of 2 or 100, so the picture seldom jumps."""
        if log != (self.right.get_yscale() == "log"):
            self.right.set_yscale("log" if log else "linear")
        power = max(2, 2 * int(np.ceil(np.log10(top) / 2)))
        top = 10.0**power if log else float(2.0 ** np.ceil(np.log2(1.05 * top)))
        if log and self.right.get_ylim()[1] != top:
            powers = range(-4, power + 1, 2 * max(1, power // 8))
            self.right.set_yticks([LEAST, *(10.0**p for p in powers)], ["≤" + raised(-6), *map(raised, powers)])
            self.right.minorticks_off()
        fit(
            self.right,
            xlim=(0.5, next(end for end in (20, 56, 110) if depth <= end) + 0.5),
            ylim=(LEAST / 2 if log else -0.02 * top, top),
        )

    def _words(self, errors, arms, depth, curve, last, column):
        ends = [np.median(errors[-1, nets]) for nets in arms if nets]
        words = f"{depth} layers, {curve} error after 300 steps of 128 images, stored: plain {ends[0]:.1f} %, residual "
        words += f"{ends[1]:.1f} % (scale 1/sqrt(depth))"
        words += f", plain from a small start {ends[2]:.1f} %." if arms[2] else "."
        if last:
            here = [np.median([row[column] for row in last if row["skip"] == on]) for on in (0, 1)]
            words += f" Trained here, {last[0]['step']} steps, three seeds each: "
            words += f"plain {here[0]:.1f} %, residual {here[1]:.1f} %."
        return words


class Inserted(View):
    """03c: a finished two-layer net, frozen, with layers inserted before its read-out: set by hand, and trained."""

    notebook, part = "03", "c"
    DEPTHS = (6, 18, 54)
    controls = (
        Control("depth", "inserted layers", "how many layers are inserted", "integer", 54, options=DEPTHS),
        SKIP,
        Control("weights", "weights", "of the inserted layers", "choice", "by-hand", options=("by-hand", "usual")),
        replace(DIGIT, default=5),
    )
    presets = {
        "plain, by hand": "depth=54 skip=off weights=by-hand",
        "plain, usual start": "depth=54 skip=off weights=usual",
        "residual, by hand": "depth=54 skip=on weights=by-hand",
        "residual, usual start": "depth=54 skip=on weights=usual",
    }
    standard = staticmethod(results.by_hand)

    def build(self):
        ground = style.blank(self.figure)
        left = style.axes(self.figure, (56, 56, 270, 270), "inserted layers (log scale)", "training error, %")
        left.set(xscale="log", xlim=(4.5, 72), ylim=(-1.5, 50))
        left.set_xticks(self.DEPTHS, map(str, self.DEPTHS))
        left.minorticks_off()
        self.dots = [left.plot([], [], **{**look, "linestyle": "none", "markersize": 7})[0] for look in LOOKS]
        for on, look in enumerate(LOOKS):
            name = ("plain: squares, 5 seeds", "residual: circles, 5 seeds")[on]
            style.text(left, 7, 46 - 4 * on, name, color=look["color"], ha="left")
        self.cursor = left.axvline(0, color=style.TRUTH, linewidth=1, zorder=0)
        self.right = style.axes(self.figure, (400, 56, 296, 270), "class", "score")
        self.right.set(xlim=(-0.7, 9.7), xticks=range(10))
        self.right.axhline(0, color="#d0d0d0", linewidth=1)
        self.before = self.right.plot([], [], color=style.TRUTH, linestyle="none", marker="_", markersize=18, mew=3)[0]
        self.after = self.right.plot([], [], color=style.INK, linestyle="none", marker="x", markersize=9, mew=2)[0]
        self.how = style.text(ground, 546, 338, ha="right", va="baseline")
        self.digit = style.gap(ground, 648, 342, "scores of a")
        style.text(ground, 190, 342, "trained for 300 steps of 128 images")
        style.text(ground, 360, 384, "grey bars: scores of the finished net; black crosses: with the layers inserted")
        self.moving = [*self.dots, self.cursor, self.before, self.after, self.digit]

    def update(self, depth, skip, weights, digit):
        data = store.digits()
        scale = 1.0 if weights == "by-hand" or not skip else depth**-0.5
        if weights == "by-hand":
            layers = [self.idea(blocks.WIDTH, skip)] * depth
        else:
            layers = np.random.default_rng(0).normal(0, np.sqrt(2 / blocks.WIDTH), (depth, blocks.WIDTH, blocks.WIDTH))
        before = results.inserted(data.x_test, [], 0)
        after = results.inserted(data.x_test, layers, float(skip), scale)
        which = int(np.argmax(data.y_test == digit))
        for marks, scores in ((self.before, before), (self.after, after)):
            marks.set_data(range(10), scores[which])
        errors = self._trained()
        for on, dots in enumerate(self.dots):
            dots.set_data(np.repeat(self.DEPTHS, 5) * (0.94, 1.06)[on], errors[on].ravel())
        self.cursor.set_xdata([depth, depth])
        self._fit(max(np.abs(before[which]).max(), np.abs(after[which]).max()))
        change = np.abs(after - before).max()
        how = "set by hand" if weights == "by-hand" else "untrained, from the usual start"
        self.how.set_text(f"layers {how.partition(',')[0]}:")
        self.digit.set_text(str(digit))
        plain, residual = (row[self.DEPTHS.index(depth)] for row in errors)
        wrong = [(scores.argmax(1) != data.y_test).mean() for scores in (before, after)]
        words = f"{depth} {arm(skip)} layers inserted, {how}: on 360 test images the largest change of a score is "
        words += f"{style.number(change)}, {wrong[1]:.1%} are wrong ({wrong[0]:.1%} before). "
        words += f"Trained from the usual start, training error: plain {plain.min():.1f} to {plain.max():.1f} %, "
        return words + f"residual (scale 1/sqrt(inserted)) {residual.min():.1f} to {residual.max():.1f} %."

    def _trained(self):
        """Return the training errors (2, depths, seeds) at the end, plain and residual."""
        found = []
        for depth in self.DEPTHS:
            config, columns = results.stored(f"inserted_{depth}.npz")
            arms = results.arm(config, 0, 1.0), results.arm(config, 1, depth**-0.5)
            found.append([columns["train_error"][-1, nets] for nets in arms])
        return np.swapaxes(found, 0, 1)

    def _fit(self, top):
        top = 20.0 * 2.0 ** max(0, np.ceil(np.log2(top / 20)))  # the picture seldom jumps
        if self.right.get_ylim() != (-top, top):
            self.right.set_ylim(-top, top)
