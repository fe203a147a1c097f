"""The pictures of notebook 03: error, gradient and signals against depth."""

from typing import NamedTuple

import numpy as np
from matplotlib.patches import Polygon

from ..maths import results
from . import style
from .contract import Control, View
from .equation import SKIP, arm

DEPTHS = (2, 4, 8, 14, 20, 32, 44, 56)
LOOKS = (style.PLAIN_LINE, style.RESIDUAL_LINE)
LEAST = 1e-6  # what a logarithmic axis shows for zero


class Variant(NamedTuple):
    """What the residual layers of a stored pair are, besides having + I."""

    file: str
    scaled: bool
    init: str
    words: str

    def scale(self, depth):
        """Return the number that multiplies F in a residual layer."""
        return depth**-0.5 if self.scaled else 1.0


VARIANTS = {
    "scaled": Variant("depth", True, "he", "Besides + I, the residual F is multiplied by 1/sqrt(depth)."),
    "unscaled": Variant("depth", False, "he", "Nothing but + I differs."),
    "zero-start": Variant("depth", False, "zero", "Besides + I, the residual F starts at zero."),
    "batch-norm": Variant("batch_norm", False, "he", "Nothing but + I differs; batch norm stands in every F."),
}


def depths(*options):
    """Return the control over the depths that are stored."""
    return Control("depth", "depth", "layers; it stops where a training is stored", "integer", 56, options=options)


def pair(name, depth):
    """Return (columns, (plain nets, residual nets)) of the stored training of one variant and depth."""
    kind = VARIANTS[name]
    config, columns = results.stored(f"{kind.file}_{depth}.npz")
    return columns, (results.arm(config, 0, 1.0), results.arm(config, 1, kind.scale(depth), kind.init))


def name_lines(ground, height):
    """Write at this height of the picture what the two kinds of line are."""
    style.text(ground, 16, height, "plain: dashed, squares", color=style.PLAIN, ha="left")
    style.text(ground, 704, height, "residual: solid, circles", color=style.RESIDUAL, ha="right")


class Band:
    """A line with a band, plain or residual: the middle of several seeds, and how far they reach."""

    def __init__(self, ax, look):
        self.area = ax.add_patch(Polygon(np.zeros((3, 2)), facecolor=look["color"], linewidth=0))
        self.line = ax.plot([], [], **look)[0]
        self.parts = [self.area, self.line]

    def show(self, x, low, middle, high, strong=True):
        """Move to these heights over x; pale unless ``strong``."""
        self.area.set_xy(np.column_stack([[*x, *x[::-1]], [*low, *high[::-1]]]))
        self.line.set_data(x, middle)
        self.area.set_alpha(0.25 if strong else 0.1)
        self.line.set_alpha(1.0 if strong else 0.5)


BESIDE = {"gradient": "first_gradient", "cosine": "cosine"}
BESIDE_WORDS = "the gradient at the first layer, or how alike different digits look to the read-out"


class Degradation(View):
    """03a: training error, test error and the gradient at the first layer against depth, ten seeds as a band."""

    notebook, part = "03", "a"
    controls = (
        depths(*DEPTHS),
        SKIP,
        Control("variant", "residual F", "what they have besides + I", "choice", "scaled", options=(*VARIANTS,)),
        Control("steps", "training steps", "of 128 images each", "integer", 300, options=(*range(0, 301, 20),)),
        Control("beside", "beside it", BESIDE_WORDS, "choice", "gradient", options=(*BESIDE,)),
    )
    presets = {
        "plain 56": "depth=56 skip=off variant=scaled steps=300",
        "residual 56": "depth=56 skip=on variant=scaled steps=300",
        "before training, gradients": "depth=56 skip=off variant=scaled steps=0 beside=gradient",
        "before training, signals": "depth=56 skip=off variant=scaled steps=0 beside=cosine",
        "no scale, no norm": "depth=56 skip=on variant=unscaled steps=300",
        "unscaled, started at zero": "depth=56 skip=on variant=zero-start steps=300",
        "batch norm in both": "depth=56 skip=off variant=batch-norm steps=300",
    }
    standard = staticmethod(results.spread)

    def build(self):
        ground = style.blank(self.figure)
        self.axes = [style.axes(self.figure, (left, 52, 172, 260), "depth (layers)") for left in (48, 272, 526)]
        for ax, name in zip(self.axes, ("training error, %", "test error, %"), strict=False):
            ax.set_title(name, pad=6, **style.TEXT)
            ax.set(xlim=(0, 58), ylim=(-2, 100), xticks=[2, 20, 32, 56])
        self.axes[2].set_autoscale_on(False)
        self.bands = [[Band(ax, look) for look in LOOKS] for ax in self.axes]
        self.cursors = [ax.axvline(0, color=style.TRUTH, linewidth=1) for ax in self.axes]
        self.guesses = self.axes[0].plot([], [], color=style.INK, marker="D", linestyle="none", markersize=8)[0]
        words = "steps of 128 images; line: middle of the seeds, band: lowest to highest"
        self.steps = style.gap(ground, 88, 386, "after", words, room=34)
        name_lines(ground, 358)
        bands = [part for row in self.bands for band in row for part in band.parts]
        self.moving = [*bands, *self.cursors, self.guesses, self.steps]

    def truth(self, depth, skip, variant, steps, **_):
        """The training error in percent, the middle of the seeds."""
        return float(self._at(variant, depth, steps)[int(skip)]["train_error"][1])

    def _at(self, variant, depth, steps):
        columns, arms = pair(variant, depth)
        when = list(columns["step"][:, 0]).index(steps)
        names = "train_error", "test_error", "first_gradient", "last_gradient", "cosine"
        return [{name: self.idea(columns[name][when, nets]) for name in names} for nets in arms]

    def update(self, depth, skip, variant, steps, beside):
        table = {d: self._at(variant, d, steps) for d in DEPTHS}
        self._beside(beside)
        for name, bands in zip(("train_error", "test_error", BESIDE[beside]), self.bands, strict=True):
            for on, band in enumerate(bands):
                heights = np.array([table[d][on][name] for d in DEPTHS]).T
                band.show(DEPTHS, *np.maximum(heights, LEAST), strong=on == skip)
        for cursor in self.cursors:
            cursor.set_xdata([depth, depth])
        self.guesses.set_data([depth] * len(self.guess), np.clip(self.guess, 0, 100))
        self.steps.set_text(str(steps))
        return self._words(table[depth], depth, skip, variant, steps)

    def _beside(self, beside):
        ax = self.axes[2]
        name = "|gradient| at layer 1 (log)" if beside == "gradient" else "mean cosine of digits"
        if ax.get_title() != name:
            log = {"yscale": "log", "ylim": (LEAST, 1e9), "yticks": [1e-6, 1e-3, 1, 1e3, 1e6]}
            linear = {"yscale": "linear", "ylim": (-0.02, 1.02), "yticks": [0, 0.5, 1]}
            ax.set(xlim=(0, 58), xticks=[2, 20, 32, 56], **log if beside == "gradient" else linear)
            ax.set_title(name, pad=6, **style.TEXT)

    def _words(self, ends, depth, skip, variant, steps):
        own, other = ends[int(skip)], ends[1 - int(skip)]
        low, middle, high = own["train_error"]
        words = f"{depth} {arm(skip)} layers after {steps} steps of 128 images: training error {middle:.1f} % "
        words += f"({low:.1f} to {high:.1f}), test error {own['test_error'][1]:.1f} %, gradient at the first layer "
        words += f"{style.number(own['first_gradient'][1])}, at the last {style.number(own['last_gradient'][1])}, "
        words += f"cosine {own['cosine'][1]:.2f}; {arm(not skip)}: {other['train_error'][1]:.1f} % and "
        words += f"{other['test_error'][1]:.1f} %. {VARIANTS[variant].words}"
        if self.guess:
            off = ", ".join(f"{abs(guess - middle):.1f}" for guess in self.guess)
            words += f" Your guess (diamond) is off by {off} points."
        return words
