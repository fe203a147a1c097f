"""One look for every picture: size, colours, type, digits, block diagrams. Meaning has one colour everywhere."""

import os

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch
from matplotlib.transforms import IdentityTransform

PLAIN, RESIDUAL, IDENTITY, TRUTH, INK = "#D55E00", "#0072B2", "#009E73", "#767676", "#1a1a1a"
# Never colour alone: plain is dashed with squares, residual solid with circles, closed forms black and dashed.
PLAIN_LINE = {"color": PLAIN, "linestyle": (0, (4, 2)), "marker": "s", "markersize": 5, "linewidth": 2}
RESIDUAL_LINE = {"color": RESIDUAL, "linestyle": "-", "marker": "o", "markersize": 5, "linewidth": 2}
FORM_LINE = {"color": "black", "linestyle": (0, (2, 2)), "linewidth": 1.5}
SIZE = (720, 400)  # pixels at scale 1
TEXT = {"fontsize": 11, "color": INK, "family": "DejaVu Sans"}
SCALE_VARIABLE = "RESIDUAL_PICTURE_SCALE"
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value):
    """Return ``value`` in two or three digits as a reader would write it: 0.25, 1,400, 8.6×10⁴, 2×10⁻¹⁶."""
    if not np.isfinite(value):
        return "not a number" if np.isnan(value) else "infinite" if value > 0 else "−infinite"
    value = value + 0.0  # no minus before zero
    if value == 0 or 0.001 <= abs(value) < 9_999.5:
        words = f"{value:.3g}" if abs(value) < 999.5 else f"{value:,.0f}"
        return words.replace("-", "−")
    digits, power = f"{value:.1e}".split("e")
    return f"{float(digits):g}".replace("-", "−") + f"×10{str(int(power)).translate(RAISED)}"


def classroom(scale=1.5):
    """Make every picture shown from now on ``scale`` (1 to 3) times as large, type included, for a projector.

    The number is kept in the environment of the kernel, so ``RESIDUAL_PICTURE_SCALE=1.5 make lab`` does the same.
    Raises ValueError for any other scale.
    """
    os.environ[SCALE_VARIABLE] = str(scale)
    _scale()


def _scale():
    word = os.environ.get(SCALE_VARIABLE, "1")
    try:
        scale = float(word)
    except ValueError:
        scale = 0.0
    if not 1 <= scale <= 3:
        os.environ.pop(SCALE_VARIABLE)
        raise ValueError(f"The picture scale {word} is not understood; allowed are numbers from 1 to 3.")
    return scale


def figure():
    """Return a white Figure of 720 × 400 pixels (times the classroom scale) with an Agg canvas, without pyplot."""
    made = Figure(figsize=(SIZE[0] / 100, SIZE[1] / 100), dpi=100 * _scale(), facecolor="white")
    FigureCanvasAgg(made)
    return made


def axes(figure, box, xlabel="", ylabel="", title=""):
    """Add axes at ``box`` = (left, bottom, width, height) in pixels of the 720 × 400 picture.

    Labels name quantity and unit. Everything is set here, nothing taken from rcParams, so a learner's own style sheet
    changes nothing.
    """
    left, bottom, width, height = box
    ax = figure.add_axes((left / SIZE[0], bottom / SIZE[1], width / SIZE[0], height / SIZE[1]), facecolor="white")
    ax.set_xlabel(xlabel, **TEXT)
    ax.set_ylabel(ylabel, **TEXT)
    ax.set_title(title, pad=6, **TEXT)
    ax.tick_params(which="both", labelsize=11, colors=INK, labelfontfamily="DejaVu Sans")
    for name, spine in ax.spines.items():
        spine.set_color(INK)
        spine.set_visible(name in ("left", "bottom"))
    ax.grid(False)
    return ax


def blank(figure, box=(0, 0, *SIZE)):
    """Add axes without frame or ticks whose data coordinates are the pixels of ``box``."""
    ax = axes(figure, box)
    ax.set_axis_off()
    ax.set(xlim=(box[0], box[0] + box[2]), ylim=(box[1], box[1] + box[3]))
    return ax


def text(ax, x, y, words="", **changes):
    """Add a text of at least 11 points at the data point (x, y) and return it."""
    return ax.text(x, y, words, **{**TEXT, "ha": "center", "va": "center", **changes})


def gap(ax, x, y, before="", after="", room=40, **changes):
    """Write ``before`` up to x and ``after`` from x + ``room`` on; return the text between, the only part that moves.

    A word takes half a millisecond and more at every move of a slider; one that stands still takes nothing.
    """
    for words, left, side in ((before, x - 5, "right"), (after, x + room, "left")):
        text(ax, left, y - 4, words, ha=side, va="baseline", **changes)
    return text(ax, x, y - 4, ha="left", va="baseline", **changes)


class Tiles(AxesImage):
    """An image in flat squares, placed by indexing: matplotlib's resampling takes as long as drawing all the rest."""

    def make_image(self, renderer, magnification=1.0, unsampled=False):
        """Return RGBA bytes, left, bottom and transform, as matplotlib asks of an image."""
        left, bottom, right, top = self.axes.bbox.extents.round()
        sizes = [round(side * magnification) for side in (top - bottom, right - left)]
        rows, columns = (np.arange(size) * cells // size for size, cells in zip(sizes, self.get_size(), strict=True))
        return self.to_rgba(self.get_array(), bytes=True)[::-1][rows][:, columns], left, bottom, IdentityTransform()


def image(figure, box, shape=(8, 8), title=""):
    """Add a picture of signed numbers and return its AxesImage; ``paint`` fills it.

    Grey alone carries the sign, so that greyscale loses nothing: white negative, mid-grey 0, black positive.
    """
    ax = axes(figure, box, title=title)
    ax.set(xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set_visible(True)
    height, width = shape
    ax.set(xlim=(-0.5, width - 0.5), ylim=(height - 0.5, -0.5))
    made = ax.add_image(Tiles(ax, cmap="gray_r"))
    made.set(data=np.zeros(shape), clim=(-1, 1))
    return made


def paint(picture, values, top):
    """Show ``values`` (any shape of the right size) in an ``image``; ±``top`` is black and white."""
    shades = np.reshape(values, picture.get_size()) / (top or 1)
    if not np.array_equal(picture.get_array(), shades):  # a picture that stands still must not redraw the background
        picture.set_data(shades)


def shades(ax, x, y):
    """Say around (x, y) what the greys mean; return the text that takes the number behind black and white."""
    text(ax, x + 130, y, "white negative, grey 0, black positive, full at ±", ha="right")
    return text(ax, x + 132, y, ha="left")


def arrow(ax, color, **changes):
    """Add an arrow and return it; ``set_positions((x, y), (x, y))`` moves it."""
    made = FancyArrowPatch(
        (0, 0),
        (1, 1),
        **{
            "arrowstyle": "-|>",
            "mutation_scale": 14,
            "linewidth": 2,
            "color": color,
            "shrinkA": 0,
            "shrinkB": 0,
            **changes,
        },
    )
    ax.add_patch(made)
    return made


class BlockDiagram:
    """One block from bottom to top: x, the box F, and, only where there is a skip, the shortcut and the “+”.

    It takes what the block takes (F, skip, scale), so the picture cannot differ from what runs.
    """

    def __init__(self, ax, x, bottom, height=300):
        top, mid = bottom + height, bottom + height / 2
        low, plus = bottom + 40, bottom + height - 62
        self.box = FancyBboxPatch(
            (x - 52, mid - 28),
            104,
            44,
            boxstyle="round,pad=0,rounding_size=6",
            facecolor="white",
            edgecolor=INK,
            linewidth=1.5,
        )
        ax.add_patch(self.box)
        self.name = text(ax, x, mid - 6)
        self.output = text(ax, x, top - 8)
        up = [arrow(ax, INK) for _ in range(3)]
        for piece, ends in zip(
            up, ((bottom + 18, mid - 28), (mid + 16, plus - 12), (plus + 12, top - 20)), strict=True
        ):
            piece.set_positions((x, ends[0]), (x, ends[1]))
        self.through = arrow(ax, INK)
        self.through.set_positions((x, mid + 16), (x, top - 20))
        side = x - 68
        self.shortcut = ax.plot([x, side, side, x - 12], [low, low, plus, plus], color=IDENTITY, linewidth=3)[0]
        self.circle = ax.add_patch(Circle((x, plus), 12, facecolor="white", edgecolor=IDENTITY, linewidth=2))
        self.sign = text(ax, x, plus, "+", fontsize=14)
        self.skip_label = text(
            ax, side, mid + 62, color=INK, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1}
        )
        text(ax, x, bottom + 8, "x")
        self.joined = [up[1], up[2], self.shortcut, self.circle, self.sign, self.skip_label]
        self.moving = [self.output]  # the rest changes with a switch or a choice only, and then all is drawn anew

    def show(self, name, skip, scale):
        """Draw the block that computes skip · x + scale · F(x)."""
        for piece in self.joined:
            piece.set_visible(bool(skip))
        self.through.set_visible(not skip)
        self.name.set_text(name)
        self.skip_label.set_text("× 1" if skip == 1 else f"× {skip:.2g}")
        write = "F(x)" if scale == 1 else f"{scale:.2g} F(x)"
        self.output.set_text(
            f"y = x + {write}" if skip == 1 else f"y = {skip:.2g} x + {write}" if skip else f"y = {write}"
        )
