"""The pictures of notebook 02: a digit on its way up, an arrow on its way back, the factors and their product."""

from dataclasses import replace
from itertools import product

import numpy as np
from matplotlib.patches import Rectangle

from ..maths import blocks, gradients, store
from . import style
from .contract import Control, View
from .equation import DIGIT, SKIP, arm
from .ladder import apart, decades, fit, powers_of_ten, restyle, rung, ten, whole_numbers

WIDTH = blocks.WIDTH
GAIN = Control("gain", "gain of F", "how much F alone stretches, root mean square", "number", 0.9, 0.1, 2.0, 0.05)
DEPTH = Control("depth", "depth", "how many layers", "integer", 20, 1, 100, log=True)
SCALES = {"1": lambda depth: 1.0, "1/sqrt(depth)": lambda depth: depth**-0.5, "0": lambda depth: 0.0}
SCALE = Control("scale", "scale", "the number that multiplies F", "choice", "1", options=tuple(SCALES))
ROOT_SCALE = replace(SCALE, default="1/sqrt(depth)")


def many(depth, skip):
    """Return words such as “20 residual layers”."""
    return f"{depth} {arm(skip)} layer{'s' * (depth > 1)}"


class Forward(View):
    """02a: two digits on their way up through ReLU layers, and how alike all ten digits become."""

    notebook, part = "02", "a"
    controls = (replace(DEPTH, low=4), SKIP, GAIN, ROOT_SCALE, DIGIT)
    presets = {
        "plain 56": "depth=56 skip=off gain=1 scale=1",
        "residual 56, scaled": "depth=56 skip=on gain=1 scale=1/sqrt(depth)",
        "residual 56, unscaled": "depth=56 skip=on gain=1 scale=1",
    }
    standard = staticmethod(blocks.block)
    CELL = 8  # pixels of the picture a pixel of a digit; a digit begins every 14 columns and every 9 rows

    def build(self):
        self.digits = np.array([store.digit(which) for which in range(10)])
        self.layers = blocks.layers("feed-forward", 100, seed=2)
        ground = style.blank(self.figure)
        self.picture = style.image(self.figure, (150, 230, 64 * self.CELL, 17 * self.CELL), (17, 64))
        self.picture.axes.set_axis_off()
        lefts = range(150, 600, 14 * self.CELL)
        self.titles = [style.gap(ground, left + 5 * self.CELL, 380, "layer") for left in lefts]
        for left, low in product(lefts, (230, 302)):  # frames, for the white pixels at the edge
            ground.add_patch(Rectangle((left, low), 8 * self.CELL, 8 * self.CELL, fill=False, color=style.TRUTH))
        self.names = [style.text(ground, 140, y + 6, ha="right", va="baseline") for y in (334, 262)]
        self.which = [style.gap(ground, 130, y - 10, "digit") for y in (334, 262)]
        self.ax = style.axes(self.figure, (80, 52, 520, 150), "layer", "cosine between\ndifferent digits")
        self.ax.set(ylim=(0, 1.05), yticks=[0, 0.5, 1])
        whole_numbers(self.ax.xaxis)
        self.curves = [self.ax.plot([], [], **look)[0] for look in (style.PLAIN_LINE, style.RESIDUAL_LINE)]
        self.labels = [style.text(ground, 0, 0, name, ha="left") for name in ("plain", "residual")]
        self.moving = [self.picture, *self.titles, *self.which, *self.curves, *self.labels]

    def update(self, depth, skip, gain, scale, digit):
        layers, s = self.layers[:depth], gain * SCALES[scale](depth)
        arms = [np.array(blocks.stack(self.digits, layers, on, s, self.idea)) for on in (0.0, 1.0)]
        alike = [gradients.likeness(states) for states in arms]
        fit(self.ax, xlim=(0.0, rung(depth)))
        for curve, values in zip(self.curves, alike, strict=True):
            curve.set(data=(range(depth + 1), values), markevery=max(1, depth // 10))
        heights = apart(52 + 150 / 1.05 * np.nan_to_num([values[-1] for values in alike]))
        for label, height, values in zip(self.labels, heights, alike, strict=True):
            label.set(x=90 + 520 * depth / rung(depth), y=height, visible=np.isfinite(values[-1]))
        self._show_digits(arms[skip], depth, skip, (digit, (digit + 5) % 10))
        start, top = arms[skip][[0, -1], digit]
        if not top.any():
            return f"After {many(depth, skip)} nothing is left of the digit {digit}: every number is 0."
        peak = np.abs(top).max()  # the square of 1e-200 is 0
        length, kept = np.linalg.norm(top / peak) / np.linalg.norm(start), gradients.likeness(np.array([start, top]))
        ends = [f"{values[-1]:.3f} {arm(on)}" for on, values in enumerate(alike) if np.isfinite(values[-1])]
        return (
            f"After {many(depth, skip)} the digit {digit} has cosine {kept:.2f} with itself at the start and "
            f"{ten(np.log10(length) + np.log10(peak))} times its length. The mean cosine between different digits "
            f"goes from {alike[0][0]:.2f} to {', '.join(ends)}."
        )

    def _show_digits(self, states, depth, skip, pair):
        shown = np.linspace(0, depth, 5).round().astype(int)
        sheet = np.full((17, 64), np.nan)  # one image is drawn several times faster than ten
        for column, (title, layer) in enumerate(zip(self.titles, shown, strict=True)):
            title.set_text(str(layer))
            for row, which in enumerate(pair):
                tile = states[layer, which].reshape(8, 8) / (np.abs(states[layer, which]).max() or 1)
                sheet[9 * row : 9 * row + 8, 14 * column : 14 * column + 8] = tile
        for name, which, digit in zip(self.names, self.which, pair, strict=True):
            name.set_text(f"{arm(skip)},")
            which.set_text(str(digit))
        style.paint(self.picture, sheet, 1)


class Arrow(View):
    """02a: one arrow sent back through real matrices, the band of 200 draws, and the two closed forms."""

    notebook, part = "02", "a"
    controls = (replace(DEPTH, default=56, high=1000), SKIP, GAIN, SCALE)
    presets = {
        "plain 56, vanishing": "depth=56 skip=off gain=0.9 scale=1",
        "plain 56, exploding": "depth=56 skip=off gain=1.2 scale=1",
        "residual 1000, exploding": "depth=1000 skip=on gain=0.9 scale=1",
        "plain 1000, mean and typical": "depth=1000 skip=off gain=1 scale=1",
        "residual 1000, scaled": "depth=1000 skip=on gain=0.9 scale=1/sqrt(depth)",
    }
    standard = staticmethod(gradients.step_back)
    DRAWS = 200

    def build(self):
        self.tables = gradients.tables(1000, WIDTH, seed=2)  # the top layer is the last one, whatever the depth
        self.noise = gradients.noise(1000, WIDTH, self.DRAWS, seed=1)
        self.known, self.reach = None, 0
        self.start = np.full(WIDTH, WIDTH**-0.5, dtype=np.float32)
        ground = style.blank(self.figure)
        where = "layer: the arrow starts above the last one, on the right, and travels left to the input"
        self.ax = style.axes(self.figure, (30, 54, 594, 296), where, "length of the arrow (log axis)")
        self.ax.yaxis.tick_right()
        self.ax.yaxis.set_label_position("right")
        self.ax.spines[["left", "right"]].set_visible(True)
        powers_of_ten(self.ax)
        whole_numbers(self.ax.xaxis)
        self.band = self.ax.fill_between([0, 1], 0, 0, color="#d4d4d4", linewidth=0, zorder=1)
        looks = ({"color": "black", "linestyle": ":", "linewidth": 2}, style.FORM_LINE, style.RESIDUAL_LINE)
        self.mean, self.typical, self.curve = (self.ax.plot([], [], **look)[0] for look in looks)
        self.curve.set_markevery(4)
        looks = (*looks, {"color": "#d4d4d4", "linewidth": 12, "solid_capstyle": "butt"})
        names = "root mean square", "typical", "", "8 of 10 draws"
        places = tuple(zip((36, 232, 344, 546), looks, names, strict=True))
        self.key = [ground.plot([x, x + 36], [376, 376], **look)[0] for x, look, _ in places][2]
        self.name = [style.text(ground, x + 46, 376, word, ha="left") for x, _, word in places][2]
        self.guesses = self.ax.plot([], [], "D", color=style.TRUTH, markersize=8, clip_on=False)[0]
        self.moving = [self.band, self.mean, self.typical, self.curve, self.guesses, self.key]

    def curves(self, depth, skip, gain, scale):
        """Return log10 lengths 0, ..., depth layers back: one arrow, all draws, typical and mean closed form."""
        s, back = SCALES[scale](depth), np.arange(1, depth + 1)
        if self.known != (skip, gain, s) or depth > self.reach:
            # On its way back the arrow does not know how deep the stack is: further layers only go on.
            self.known, self.reach = (skip, gain, s), int(rung(depth))
            self.one = gradients.log_lengths(self.start, self.tables[-self.reach :], gain, float(skip), s, self.idea)
            self.draws = gradients.spread([part[: self.reach] for part in self.noise], gain, float(skip), s)
        one, draws = self.one[: depth + 1], self.draws[: depth + 1]
        steps = gradients.log_moments(1, WIDTH, gain, skip, s)[0], gradients.log(gradients.mean_gain(gain, skip, s))
        return [log / (2 * np.log(10)) for log in (one, draws, *(np.append(0.0, back * step) for step in steps))]

    def truth(self, **values):
        """Return the length with which the one arrow arrives; 1 is the start."""
        return 10 ** self.curves(**values)[0][-1]

    def update(self, depth, skip, gain, scale):
        one, draws, typical, mean = self.curves(depth, skip, gain, scale)
        shown = np.unique(np.linspace(0, depth, 41).round().astype(int))
        low, high = np.quantile(draws[shown], (0.1, 0.9), axis=1, method="nearest")
        limits = decades(one, low, high, mean)
        fit(self.ax, xlim=(0.0, rung(depth)), ylim=limits)
        outline = np.concatenate([np.stack([depth - shown, edge], 1)[::way] for edge, way in ((low, 1), (high, -1))])
        self.band.set_verts([outline[np.isfinite(outline).all(axis=1)]])
        for line, values in ((self.mean, mean), (self.typical, typical), (self.curve, one)):
            line.set_data(depth - shown, values[shown])
        restyle(self.curve, skip)
        restyle(self.key, skip)
        self.name.set_text(f"one {arm(skip)} arrow")
        guessed = [np.log10(guess) for guess in self.guess if guess > 0]
        self.guesses.set_data([0] * len(guessed), np.clip(guessed, *limits))
        words = f"Back through {many(depth, skip)}, gain {gain:.2g}, scale {scale}"
        if one[-1] == -np.inf:
            return f"{words}: nothing arrives, the arrow is exactly 0 below the top layer."
        far = [f"{ten(g)} is {ten(abs(g - one[-1]))} times too {'long' if g > one[-1] else 'short'}" for g in guessed]
        judged = f" Your guess (grey diamond): {', '.join(far)}." * bool(far)
        return (
            f"{words}: the arrow arrives with {ten(one[-1])} of its length; typical {ten(typical[-1])}, root mean "
            f"square {ten(mean[-1])}; {np.sum(draws[-1] > mean[-1])} of {self.DRAWS} draws lie above it.{judged}"
        )


class Spectrum(View):
    """02b: how much one factor, and the product of all, stretches each direction: the singular values."""

    notebook, part = "02", "b"
    controls = (DEPTH, SKIP, GAIN, SCALE)
    presets = {
        "residual, gain 0.5": "depth=20 skip=on gain=0.5 scale=1",
        "plain, gain 1": "depth=20 skip=off gain=1 scale=1",
        "residual, scaled": "depth=20 skip=on gain=0.9 scale=1/sqrt(depth)",
    }
    standard = staticmethod(gradients.factor)

    def build(self):
        self.tables = gradients.tables(100, WIDTH, seed=1)
        ground, left, right = style.blank(self.figure), (78, 52, 270, 290), (446, 52, 256, 290)
        self.one = style.axes(self.figure, left, "singular value of one factor", "share of the values in each bar")
        self.all = style.axes(self.figure, right, "direction, most stretched first", "stretched by (log axis)")
        self.all.set(xlim=(0, WIDTH + 1), xticks=[1, 16, 32, 48, 64])
        powers_of_ten(self.all)
        self.one.axvline(1, color="#c0c0c0", linewidth=1, zorder=0)
        self.bars = self.one.stairs([0], [0, 1], fill=True, alpha=0.5)
        self.form = self.one.plot([], [], **style.FORM_LINE)[0]
        self.edges = self.one.plot([], [], "k|", markersize=24, markeredgewidth=2)[0]
        self.curve = self.all.plot([], [], markevery=3, **style.RESIDUAL_LINE)[0]
        self.name = style.text(ground, 78, 372, ha="left")
        for x in (266, 594):
            style.text(ground, x, 372, "% below 1", ha="left")
        self.below = [style.text(ground, x, 372, ha="right") for x in (264, 592)]
        style.text(ground, 446, 372, "product of all:", ha="left")
        self.moving = [self.bars, self.form, self.edges, self.curve, *self.below]

    def update(self, depth, skip, gain, scale):
        s = SCALES[scale](depth)
        factors = [self.idea(gain * J.astype(float), float(skip), s) for J in self.tables[: max(depth, 8)]]
        values = np.linalg.svd(factors[:8], compute_uv=False)
        product = gradients.log_singular_values(factors[:depth]) / np.log(10)
        low, high = gradients.edges(gain, skip, s)
        bins = np.linspace(0, 3.0 if max(high, values.max()) <= 3 else 5.0, 41)
        share, points = np.histogram(values, bins)[0] / values.size, np.linspace(low, high, 200)
        form = gradients.density(points, gain, skip, s) * bins[1] if high > low else 0 * points
        self.bars.set_data(share, bins)
        self.bars.set_color(style.RESIDUAL if skip else style.PLAIN)
        self.form.set_data(points, form)
        self.edges.set_data((low, high), (0, 0))
        fit(self.one, xlim=(0.0, bins[-1]), ylim=(0.0, next(top for top in (0.06, 0.25, 1.0) if share.max() <= top)))
        limits = decades(product)
        fit(self.all, ylim=limits)
        self.curve.set_data(range(1, WIDTH + 1), product)
        restyle(self.curve, skip)
        below, expected = (values < 1).mean(), gradients.share_below_one(gain, skip, s, points=300)
        self.name.set_text(f"one {arm(skip)} factor:")
        for words, part in zip(self.below, (below, (product < 0).mean()), strict=True):
            words.set_text(f"{100 * part:.0f}")
        return (
            f"One {arm(skip)} factor, gain {gain:.2g}, scale {scale}: singular values {values.min():.2f} to "
            f"{values.max():.2f} (edges {low:.2f} and {high:.2f}), {below:.0%} below 1 (closed form {expected:.0%}). "
            f"The product of {depth} stretches by {ten(product[0])} at most and {ten(product[-1])} at least."
        )


class Route(View):
    """02c: the product as the direct route, which takes the I of every factor, plus all other routes."""

    notebook, part = "02", "c"
    skip = Control("skip", "+ I, times", "the number that multiplies I in every factor", "number", 1.0, 0.0, 1.0, 0.05)
    kind = Control("J", "J", "the Jacobian of F in every layer", "choice", "gaussian", options=gradients.KINDS)
    controls = (DEPTH, skip, replace(GAIN, default=1.0), ROOT_SCALE, kind)
    presets = {
        "residual, unscaled": "depth=20 skip=1 gain=0.9 scale=1 J=gaussian",
        "plain": "depth=20 skip=0 gain=0.9 scale=1 J=gaussian",
        "shortcut halved": "depth=54 skip=0.5 gain=0.5 scale=1 J=gaussian",
        "cancelled": "depth=20 skip=1 gain=1 scale=1 J=minus-identity",
    }
    standard = staticmethod(gradients.factor)
    CORNER = 16  # so many rows and columns of the matrices are shown

    def build(self):
        self.tables = {kind: gradients.tables(100, WIDTH, 1, kind) for kind in gradients.KINDS}
        ground, left = style.blank(self.figure), (20, 262, 504)
        self.pictures = [style.image(self.figure, (x, 120, 196, 196), (self.CORNER,) * 2) for x in left]
        for x, name in zip(
            left, ("whole product", "direct route: around every layer", "all other routes"), strict=True
        ):
            style.text(ground, x + 98, 334, name)
        self.pictures[1].axes.spines[:].set(color=style.IDENTITY, linewidth=3)
        style.text(ground, 239, 218, "=", fontsize=20)
        style.text(ground, 481, 218, "+", fontsize=20)
        self.title = style.text(ground, 360, 372, fontsize=13)
        self.sizes = [style.gap(ground, x + 92, 96, "size") for x in left]
        self.grey = style.shades(ground, 400, 56)
        style.text(ground, 360, 30, "size: root mean square factor of a length; shown: 16 of 64 rows and columns")
        self.moving = [*self.pictures, self.title, *self.sizes, self.grey]

    def update(self, depth, skip, gain, scale, J):
        s, whole = SCALES[scale](depth), np.eye(WIDTH)
        for table in self.tables[J][:depth]:
            whole = self.idea(gain * table.astype(float), skip, s) @ whole
        direct = np.linalg.matrix_power(self.idea(np.zeros((WIDTH, WIDTH)), skip, s), depth)
        parts = (whole, direct, whole - direct)
        corners = [part[: self.CORNER, : self.CORNER] for part in parts]
        top = max(np.abs(corner).max() for corner in corners)
        sizes = [ten(gradients.log(np.sum(part**2) / WIDTH) / (2 * np.log(10))) for part in parts]
        for picture, corner, words, size in zip(self.pictures, corners, self.sizes, sizes, strict=True):
            style.paint(picture, corner, top)
            words.set_text(size)
        terms = [f"{number:.2g} {name}" for number, name in ((skip, "I"), (s * gain, "J")) if number]
        factors = f"{depth} factor{'s' * (depth > 1)} {' + '.join(terms) or '0'}".replace(" 1 ", " ")
        self.title.set_text(factors)
        self.grey.set_text(style.number(top))
        others = f"2 to the {depth}, less one" if skip else "one alone, through every J"
        return (
            f"{factors}, J {J}: the direct route is {sizes[1]} times I, the other routes ({others}) have size "
            f"{sizes[2]}, and the whole product has size {sizes[0]}."
        )
