"""The picture of notebook 05, continued: layers taken out of finished nets."""

import numpy as np
from matplotlib.collections import LineCollection

from ..maths import lesions, results
from . import style
from .contract import Control, View
from .degradation import LOOKS, Band, name_lines
from .ensemble import SEED, STRENGTH, one

PROOF = 35  # percent; nets that get more without any layer do not lean on their layers


class Lesions(View):
    """05c: layers taken out of finished nets, plain and residual; accuracy on the test digits."""

    notebook, part = "05", "c"
    controls = (
        Control("depth", "depth", "layers; it stops where nets are stored", "integer", 20, options=(8, 20)),
        Control("scale", "strength of F", STRENGTH + ", in both nets", "number", 0.5, options=(0.2236, 0.5, 1.0)),
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
    fed = None

    def build(self):
        ground = style.blank(self.figure)
        self.axes = [style.axes(self.figure, (left, 52, width, 258)) for left, width in ((72, 300), (428, 272))]
        self.bands = [Band(self.axes[0], look) for look in LOOKS]
        alone = [{**look, "linestyle": "none"} for look in LOOKS]
        self.alone = [self.axes[1].plot([], [], **look)[0] for look in alone]
        big = {"markersize": 13, "markeredgecolor": style.INK, "markeredgewidth": 2, "zorder": 5, "clip_on": False}
        self.here = [self.axes[0].plot([], [], **{**look, **big})[0] for look in alone]
        self.gone = self.axes[1].add_collection(LineCollection([], colors=style.TRUTH, linewidths=5, alpha=0.4))
        diamond = {"marker": "D", "linestyle": "none", "markersize": 9, "zorder": 6}
        self.guesses = self.axes[0].plot([], [], color=style.INK, **diamond)[0]
        for ax, label in zip(self.axes, ("layers taken out", "the one layer taken out"), strict=True):
            ax.set_xlabel(label, **style.TEXT)
            ax.set(ylim=(0, 102), yticks=[0, 25, 50, 75, 100])
            ax.axhline(10, color=style.INK, linewidth=1, linestyle=(0, (1, 3)))
        self.axes[0].set_ylabel("test digits right, %", **style.TEXT)
        self.title = style.text(ground, 360, 386)
        style.text(ground, 360, 361, "large marks: what is out now; grey bars: these layers; dotted: chance, 10 %")
        style.text(ground, 222, 330, "random layers out: middle, range")
        style.text(ground, 564, 330, "each layer out alone: middle")
        name_lines(ground, 386)
        bands = [part for band in self.bands for part in band.parts]
        self.moving = [self.gone, *bands, *self.alone, *self.here, self.guesses, self.title]

    def limits(self, depth, scale, **_):
        """What is stored: 8 layers at one strength, and three seeds where it is not 0.5."""
        return {"scale": (0.2236, 1.0) if depth == 20 else (0.5, 0.5), "seed": (0, 4 if scale == 0.5 else 2)}

    def config(self, depth, scale, **_):
        """Return the config of the stored study, with the nets of this strength."""
        config, *_ = lesions.stored(f"lesions_{depth}.npz")
        return results.some(config, [i for i, own in enumerate(config["scale"]) if abs(own - scale) < 1e-3])

    def feed(self, rows):
        """Take rows of a study as they come; None forgets what came before."""
        *key, value = lesions.COLUMNS
        new = {tuple(row[name] for name in key): row[value] for row in rows or ()}
        self.fed = {} if rows is None else self.fed | new

    def truth(self, depth, scale, seed, out):
        """The residual net's accuracy in percent."""
        return float(self._now(depth, scale, seed, out)[1])

    def _now(self, depth, scale, seed, out):
        order = [layer for layer in range(depth) if layer + 1 not in out]
        return [100 * lesions.accuracy(one(depth, scale, seed, skip), order, self.idea)[0] for skip in (False, True)]

    def _table(self, depth, scale):
        """Return the rows of these nets as {column: array}, those trained here if there are any."""
        rows = [(*key, value) for key, value in (self.fed or {}).items()]
        here = dict(zip(lesions.COLUMNS, map(np.array, zip(*rows, strict=True)), strict=True)) if rows else None
        for table in (here, lesions.stored(f"lesions_{depth}.npz")[1]):
            if table is not None:
                mine = (table["depth"] == depth) & (abs(table["scale"] - scale) < 1e-3)
                if mine.any():
                    return {name: column[mine] for name, column in table.items()}, table is here

    def update(self, depth, scale, seed, out):
        now = self._now(depth, scale, seed, out)
        table, here = self._table(depth, scale)
        ends = []
        for skip, (band, dots) in enumerate(zip(self.bands, self.alone, strict=True)):
            at, several = by_seed(table, skip, "out")
            band.show(at, *results.spread(several))
            layers, alone = by_seed(table, skip, "alone")
            dots.set_data(layers, np.median(alone, 0) if layers.size else [])
            self.here[skip].set_data([len(out)], [now[skip]])
            ends.append((np.median(several[:, 0]), np.median(several[:, -1]) if at[-1] == depth else 0))
        self.gone.set_segments([[(layer, 0), (layer, 102)] for layer in out])
        self.guesses.set_data([len(out)] * len(self.guess), self.guess)
        for ax, low in zip(self.axes, (-0.5, 0.5), strict=True):
            if ax.get_xlim() != (low, depth + 0.5):
                ax.set_xlim(low, depth + 0.5)
        self.title.set_text("lines: trained here, marks: stored" if here else "stored, several seeds")
        gone = f"layer{'s' * (len(out) > 1)} {', '.join(map(str, out))}" if out else "no layer"
        gone = "every layer" if len(out) == depth else gone
        (plain, _), (residual, none) = ends
        words = f"{depth} layers, strength {scale:.2g} in both, {gone} taken out: residual {now[1]:.1f} %, plain "
        words += f"{now[0]:.1f} % of the test digits right (middle of seeds, none out: {residual:.1f}, {plain:.1f} %)."
        if plain < 20 and not here:
            words += " The plain nets have not learned: at this strength their signal dies out."
        if none > PROOF:
            words += f" Residual nets without any layer still get {none:.0f} %: taking out one proves nothing here."
        if self.guess:
            words += f" Your guess (diamond): {', '.join(map(style.number, self.guess))} %; residual is {now[1]:.1f} %."
        return words


def by_seed(table, skip, lesion):
    """Return where a lesion was measured, (places,), and the accuracies there in percent, (seeds, places)."""
    mine = (table["skip"] == skip) & (table["lesion"] == lesion)
    at, order = np.unique(table["at"][mine]), np.lexsort((table["at"][mine], table["seed"][mine]))
    return at, 100 * table["accuracy"][mine][order].reshape(-1, max(len(at), 1))[:, : len(at)]
