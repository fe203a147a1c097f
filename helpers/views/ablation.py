"""The pictures of notebook 05, continued: layers taken out of finished nets."""

import numpy as np
from matplotlib.collections import LineCollection

from ..maths import lesions, results
from . import style
from .contract import Control, View
from .degradation import LOOKS, Band, name_lines
from .ensemble import SEED, STRENGTH, one


class Study(View):
    """05c: the accuracy of plain and residual nets against the layers taken out, stored and trained here."""

    notebook, part = "05", "c"
    controls = (
        Control("depth", "depth", "layers; it stops where nets are stored", "integer", 20, options=(8, 20)),
        Control("scale", "strength of F", STRENGTH + ", in both nets", "number", 0.5, options=(0.2236, 0.5, 1.0)),
    )
    presets = {"20 layers": "depth=20 scale=0.5", "8 layers": "depth=8 scale=0.5", "strong F": "depth=20 scale=1"}
    legend = "dotted: chance, 10 %"
    fed = None

    def build(self):
        ground = style.blank(self.figure)
        self.axes = [style.axes(self.figure, (left, 52, width, 258)) for left, width in ((72, 300), (428, 272))]
        labels = ("layers taken out", -0.5), ("the one layer taken out", 0.5)
        for ax, (label, low) in zip(self.axes, labels, strict=True):
            ax.set_xlabel(label, **style.TEXT)
            ax.set(xlim=(low, 20.5), ylim=(0, 102), yticks=[0, 25, 50, 75, 100])  # also for 8: one scale for both
            ax.axhline(10, color=style.INK, linewidth=1, linestyle=(0, (1, 3)))
        self.axes[0].set_ylabel("test digits right, %", **style.TEXT)
        self.bands = [Band(self.axes[0], look) for look in LOOKS]
        self.alone = [self.axes[1].plot([], [], **{**look, "linestyle": "none"})[0] for look in LOOKS]
        self.title = style.text(ground, 360, 386)
        titles = (360, 361, self.legend), (222, 330, "random layers out: middle, range")
        for x, y, words in (*titles, (564, 330, "each layer out alone: middle")):
            style.text(ground, x, y, words)
        name_lines(ground, 386)
        self.moving = [*(part for band in self.bands for part in band.parts), *self.alone, self.title]

    def limits(self, depth, **_):
        """Of 8 layers, one strength is stored."""
        return {"scale": (0.2236, 1.0) if depth == 20 else (0.5, 0.5)}

    def config(self, depth, scale, **_):
        """Return the config of the stored study, with the nets of this strength."""
        config, *_ = lesions.stored(f"lesions_{depth}.npz")
        return results.some(config, np.flatnonzero(lesions.where({"scale": np.array(config["scale"])}, scale=scale)))

    def feed(self, rows):
        """Take rows of a study as they come; None forgets what came before."""
        *key, value = lesions.COLUMNS
        new = {tuple(row[name] for name in key): row[value] for row in rows or ()}
        self.fed = {} if rows is None else self.fed | new

    def _table(self, depth, scale):
        """Return the rows of these nets as {column: array}, and whether they were trained here."""
        rows = [(*key, value) for key, value in (self.fed or {}).items()]
        here = dict(zip(lesions.COLUMNS, map(np.array, zip(*rows, strict=True)), strict=True)) if rows else None
        for table in (here, lesions.stored(f"lesions_{depth}.npz")[1]):
            if table is not None:
                mine = lesions.rows(table, depth=depth, scale=scale)
                if mine["at"].size:
                    return mine, table is here

    def show(self, depth, scale):
        """Draw the lines; return the middle of the seeds in percent by layers out, a dict for each kind of net."""
        table, here = self._table(depth, scale)
        middles = []
        for skip, (band, dots) in enumerate(zip(self.bands, self.alone, strict=True)):
            at, several = by_seed(table, skip, "out")
            low, middle, high = results.spread(several)
            band.show(at, low, middle, high)
            layers, alone = by_seed(table, skip, "alone")
            dots.set_data(layers, np.median(alone, 0) if layers.size else [])
            middles.append(dict(zip(at.tolist(), middle, strict=True)))
        self.title.set_text("trained here" if here else "stored, several seeds")
        return middles

    def update(self, depth, scale):
        plain, residual = self.show(depth, scale)
        measured = [count for count in (0, 1, 4, depth) if count in residual]
        out = ", ".join(map(str, measured))
        words = f"{depth} layers, strength {scale:.2g} in both, middle of the seeds with {out} layers out: "
        names = ("residual", residual), ("plain", plain)
        each = (f"{name} {', '.join(f'{middles[count]:.1f}' for count in measured)}" for name, middles in names)
        return f"{words}{'; '.join(each)} % of the test digits right.{verdict(residual, depth)}"


class Lesions(Study):
    """05c: layers taken out of one plain and one residual net by switches, before the lines of the whole study."""

    controls = (
        *Study.controls,
        SEED,
        Control("out", "taken out: layer", "taken out: layer", "switches", (), length="depth"),
    )
    EVERY = {depth: ",".join(map(str, range(1, depth + 1))) for depth in (8, 20)}
    presets = {
        "nothing out": "depth=20 scale=0.5 out=none",
        "one out": "depth=20 scale=0.5 out=8",
        "four out": "depth=20 scale=0.5 out=3,8,12,17",
        "all out: the control": f"depth=20 scale=0.5 out={EVERY[20]}",
        "proves nothing: weak F": f"depth=20 scale=0.2236 out={EVERY[20]}",
        "proves nothing: few layers": f"depth=8 scale=0.5 out={EVERY[8]}",
        "strong F, one out": "depth=20 scale=1 out=8",
    }
    standard = staticmethod(lesions.run)
    legend = "large marks: what is out now; grey bars: these layers; dotted: chance, 10 %"

    def build(self):
        super().build()
        big = {"markersize": 13, "markeredgecolor": style.INK, "markeredgewidth": 2, "zorder": 5, "clip_on": False}
        self.here = [self.axes[0].plot([], [], **{**look, "linestyle": "none", **big})[0] for look in LOOKS]
        self.gone = self.axes[1].add_collection(LineCollection([], colors=style.TRUTH, linewidths=5, alpha=0.4))
        diamond = {"marker": "D", "linestyle": "none", "markersize": 9, "zorder": 6, "clip_on": False}
        self.guesses = self.axes[0].plot([], [], color=style.INK, **diamond)[0]
        self.moving = [self.gone, *self.moving, *self.here, self.guesses]

    def limits(self, depth, scale, **_):
        """Three seeds are stored where the strength is not 0.5."""
        return {**super().limits(depth), "seed": (0, 4 if scale == 0.5 else 2)}

    def truth(self, depth, scale, seed, out):
        """The residual net's accuracy in percent."""
        return float(self._now(depth, scale, seed, out)[1])

    def _now(self, depth, scale, seed, out):
        order = [layer for layer in range(depth) if layer + 1 not in out]
        return [100 * lesions.accuracy(one(depth, scale, seed, skip), order, self.idea)[0] for skip in (False, True)]

    def update(self, depth, scale, seed, out):
        now, whole = self._now(depth, scale, seed, out), self._now(depth, scale, seed, ())
        plain, residual = self.show(depth, scale)
        for mark, height in zip(self.here, now, strict=True):
            mark.set_data([len(out)], [height])
        self.gone.set_segments([[(layer, 0), (layer, 102)] for layer in out if len(out) < depth])
        self.guesses.set_data([len(out)] * len(self.guess), np.clip(self.guess, 0, 100))
        gone = f"layer{'s' * (len(out) > 1)} {', '.join(map(str, out))}" if out else "no layer"
        gone = "every layer" if len(out) == depth else gone
        words = f"{depth} layers, strength {scale:.2g} in both, {gone} taken out: residual {now[1]:.1f} %, plain "
        words += f"{now[0]:.1f} % of the test digits right (the same nets with none out: {whole[1]:.1f} "
        words += f"and {whole[0]:.1f} %)."
        if plain[0] < 20:
            words += " The plain nets have not learned: at this strength their signal dies out."
        words += verdict(residual, depth)
        if self.guess:
            words += f" Your guess (diamond): {', '.join(map(style.number, self.guess))} %; residual is {now[1]:.1f} %."
        return words


def verdict(middle, depth):
    """Return what to say if the nets keep more than a third without any layer; ``middle``: percent by layers out."""
    if depth not in middle or middle[depth] <= middle[0] / 3:
        return ""
    left = f" Residual nets without any layer still get {middle[depth]:.0f} %, more than a third of {middle[0]:.0f} %"
    return left + ": the study proves nothing."


def by_seed(table, skip, lesion):
    """Return where a lesion was measured, (places,), and the accuracies there in percent, (seeds, places)."""
    mine = lesions.rows(table, skip=skip, lesion=lesion)
    at, order = np.unique(mine["at"]), np.lexsort((mine["at"], mine["seed"]))
    return at, 100 * mine["accuracy"][order].reshape(-1, max(len(at), 1))[:, : len(at)]
