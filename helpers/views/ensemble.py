"""The pictures of notebook 05: every route of a small stack, and the lengths of routes."""

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.ticker import MaxNLocator

from ..maths import blocks, lesions, paths, store
from . import style
from .contract import Control, View
from .degradation import LOOKS
from .equation import SKIP, arm

STRENGTH = "scale, the number that multiplies F(x)"
FRESH = "off: fresh weights in the layers; read-in and read-out stay trained"
SEED = Control("seed", "seed", "which of the nets, each from a start of its own", "integer", 0, 0, 4)


def stack(x, depth, skip, scale):
    """Return the F of every layer, their switches held as x sets them, and what the stack makes of x."""
    layers = blocks.layers("feed-forward", depth)
    states = blocks.stack(x, layers, skip, scale)
    return paths.frozen([F.W for F in layers], states), states[-1]


def one(depth, scale, seed, skip):
    """Return one stored net, as `lesions.Nets` that hold nothing else."""
    *_, nets = lesions.stored(f"lesions_{depth}.npz")
    return nets.only(lesions.where(nets.columns(), skip=skip, scale=scale, seed=seed))


def percent(share):
    """Return a share as a percentage with one decimal, never "-0.0 %"."""
    return f"{round(100 * share, 1) + 0:.1f} %".replace("-", "−")


def count(depth, skip):
    """Return "1 plain layer", "3 residual layers"."""
    return f"{depth} {arm(skip)} layer{'s' * (depth > 1)}"


class Unravelled(View):
    """05a: all 2^L routes as a tree, the lit one, and each one's share of what leaves the stack."""

    notebook, part = "05", "a"
    controls = (
        Control("depth", "depth", "how many layers are stacked", "integer", 3, 1, paths.DEEPEST),
        SKIP,
        Control("scale", "strength of F", STRENGTH, "number", 0.5, 0.1, 1.5, 0.1),
        Control("path", "through F of layer", "the lit route goes through F", "switches", (2,), length="depth"),
    )
    presets = {
        "around everything": "depth=6 skip=on scale=0.5 path=none",
        "through everything": "depth=6 skip=on scale=0.5 path=1,2,3,4,5,6",
        "through one layer": "depth=6 skip=on scale=0.5 path=4",
        "plain: one route": "depth=6 skip=off scale=1 path=1,2,3,4,5,6",
        "plain: a broken route": "depth=6 skip=off scale=1 path=1,2,3,5,6",
    }
    standard = staticmethod(paths.route)
    LEFT, RIGHT, LOW, HIGH, ZERO, LONG = 40, 344, 44, 336, 424, 96

    def build(self):
        ground = style.blank(self.figure)
        colours = style.IDENTITY, style.INK, "#c8c8c8"
        self.tree = [ground.add_collection(LineCollection([], colors=colour)) for colour in colours]
        self.tree[2].set_linestyle(":")
        self.drawn = ()
        self.lit = ground.plot([], [], linewidth=4)[0]
        self.bars = ground.add_collection(LineCollection([], colors=style.TRUTH))
        self.bar = ground.plot([], [], linewidth=6, solid_capstyle="butt")[0]
        ground.plot([self.ZERO] * 2, [self.LOW - 4, self.HIGH + 4], color=style.INK, linewidth=1)
        style.text(ground, self.LEFT - 16, (self.LOW + self.HIGH) / 2, "x")
        self.names = [style.text(ground, 0, 20) for _ in range(paths.DEEPEST)]
        box = {"weight": "bold", "bbox": {"facecolor": "white", "edgecolor": style.INK, "pad": 2}}
        self.passed = [style.text(ground, 0, 0, "F", **box) for _ in range(paths.DEEPEST)]
        self.stop = style.text(ground, 0, 0, "×", fontsize=24, color=style.PLAIN)
        self.title = style.text(ground, 16, 384, ha="left")
        self.scale = style.gap(ground, self.ZERO + 90, 20, "share of y, longest")
        for words, left, colour in (("up: around F", 16, style.IDENTITY), ("down: through F", 144, style.INK)):
            ground.plot([left, left + 16], [358, 358], color=colour, linewidth=2)
            style.text(ground, left + 22, 358, words, ha="left")
        self.images = [style.image(self.figure, (590, bottom, 92, 92)) for bottom in (262, 142, 22)]
        self.share = style.gap(ground, 640, 365, "lit route, of y:")
        style.text(ground, 636, 245, "sum of all routes")
        style.text(ground, 636, 125, "y, forward pass")
        lines, texts = (*self.tree, self.lit, self.bars, self.bar), (*self.names, self.title, self.scale)
        self.moving = [*lines, *self.passed, self.stop, *texts, *self.images, self.share]

    def update(self, depth, skip, scale, path):
        x = store.digit(3)
        maps, y = stack(x, depth, float(skip), scale)
        taken = paths.routes(depth)
        ends = np.array([self.idea(x, maps, through, float(skip), scale) for through in taken])
        shares = ends @ y / (y @ y)
        chosen = [layer + 1 in path for layer in range(depth)]
        lit = int((taken == chosen).all(1).argmax())
        self._show_tree(depth, skip)
        self._light(depth, skip, chosen)
        self._show_bars(shares, lit, depth, LOOKS[int(skip)]["color"])
        for image, values in zip(self.images, (ends[lit], ends.sum(0), y), strict=True):
            style.paint(image, values, np.abs(y).max())
        share, gap = percent(shares[lit]), np.linalg.norm(ends.sum(0) - y) / np.linalg.norm(y)
        self.share.set_text(share)
        where = f"through F of layer {', '.join(map(str, path))}" if path else "around every F"
        broken = "" if skip or all(chosen) else ": without + I there is no way around a layer"
        words = f"{count(depth, skip)}, strength {scale:.1f}: {len(taken) if skip else 1} of {len(taken)} routes open. "
        words += f"The lit route goes {where} and brings {share} of y{broken}; all routes added up differ from "
        return words + f"the forward pass by {style.number(gap)} of it."

    def _nodes(self, level, depth):
        """Return the x of a level of the tree and the heights of its nodes, from the top down."""
        heights = (np.arange(2**level) + 0.5) / 2**level
        return self.LEFT + (self.RIGHT - self.LEFT) * level / depth, self.HIGH - (self.HIGH - self.LOW) * heights

    def _show_tree(self, depth, skip):
        if self.drawn == (depth, skip):
            return
        self.drawn, edges = (depth, skip), ([], [], [])
        for level in range(depth):
            (left, starts), (right, ends) = self._nodes(level, depth), self._nodes(level + 1, depth)
            for node, end in enumerate(ends):
                # Without + I only the last node of a level is reached: through every F so far.
                kind = node % 2 if skip or node == len(ends) - 1 else 2
                edges[kind].append([(left, starts[node // 2]), (right, end)])
        for lines, found in zip(self.tree, edges, strict=True):
            lines.set_segments(found)
        for level, name in enumerate(self.names):
            words = ("" if level >= depth else f"{level + 1}") if level else "layer 1"
            name.set(x=self.LEFT + (self.RIGHT - self.LEFT) * (level + 0.5) / depth, text=words)
        power, opened = f"2{'⁰¹²³⁴⁵⁶'[depth]} = {2**depth}", 2**depth if skip else 1
        self.title.set_text(f"{power} routes, {opened} open")

    def _light(self, depth, skip, chosen):
        node, walk, broken = 0, [(self.LEFT, self._nodes(0, depth)[1][0])], False
        for level, passed in enumerate(self.passed):
            broken = broken or (level < depth and not skip and not chosen[level])
            passed.set_visible(level < depth and not broken and chosen[level])
            if level < depth and not broken:
                node = 2 * node + chosen[level]
                right, ends = self._nodes(level + 1, depth)
                passed.set_position(np.mean([walk[-1], (right, ends[node])], 0))
                walk.append((right, ends[node]))
        self.stop.set(position=walk[-1], visible=broken)
        self.lit.set_data(*zip(*walk, strict=True))
        self.lit.set(color=LOOKS[int(skip)]["color"], linestyle=LOOKS[int(skip)]["linestyle"])

    def _show_bars(self, shares, lit, depth, colour):
        longest = np.abs(shares).max() or 1.0
        ends, heights = self.ZERO + self.LONG * shares / longest, self._nodes(depth, depth)[1]
        bars = [[(self.ZERO, height), (end, height)] for end, height in zip(ends, heights, strict=True)]
        self.bars.set(segments=bars, linewidths=min(6, 200 / len(shares)))
        self.bar.set_data(*zip(*bars[lit], strict=True))
        self.bar.set_color(colour)
        self.scale.set_text(f"{100 * longest:.0f} %")


class ByLength(View):
    """What the two pictures over the length of a route share: four lines, the last one measured."""

    standard = staticmethod(paths.by_length)
    names = ()

    def build(self):
        self.ax = style.axes(self.figure, (72, 52, 628, 284), "length of a route (number of F on it)", "share, %")
        self.ax.set_autoscale_on(False)
        for axis in (self.ax.xaxis, self.ax.yaxis):
            axis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        number = {"color": style.TRUTH, "linewidth": 5, "alpha": 0.5}
        weighed = {"color": style.INK, "marker": "^", "markersize": 5, "linestyle": (0, (1, 2))}
        looks = number, weighed, style.FORM_LINE, style.RESIDUAL_LINE
        self.lines = [self.ax.plot([], [], **look)[0] for look in looks]
        diamond = {"marker": "D", "linestyle": "none", "markersize": 9, "zorder": 6, "clip_on": False}
        self.guesses = self.ax.plot([], [], color=style.INK, **diamond)[0]
        ground = style.blank(self.figure)
        for place, look in enumerate(looks):
            left, height = 72 + 210 * (place // 2), 384 - 24 * (place % 2)
            key = ground.plot([left, left + 16, left + 32], [height] * 3, **look)[0]
            style.text(ground, left + 40, height, self.names[place], ha="left")
        self.measured = [self.lines[-1], key]
        self.title = style.text(ground, 704, 384, ha="right")
        self.moving = [*self.lines, key, self.guesses, self.title]

    def show(self, depth, skip, ratios, measured, weighed=None):
        """Draw the shares of each length; ``ratios``: what one F more is worth to a route, in norm and in energy.

        Return the shares in the order of the lines, and their mean lengths.
        """
        only = np.eye(depth + 1)[-1]
        forms = [paths.share_by_length(np.full(depth, ratio)) if skip else only for ratio in (1, *ratios)]
        shares = [forms[0], forms[1] if weighed is None else weighed, forms[2], measured]
        for line, share in zip(self.lines, shares, strict=True):
            line.set_data(np.arange(depth + 1), 100 * share)
        for line in self.measured:
            line.set(**LOOKS[int(skip)])
        # Few limits, so that most moves leave the axes as they are.
        most, tallest = (6, 8, 12, 20, 30, 42, 60), 100 * max(share.max() for share in shares)
        limits = (-0.5, min(m for m in most if m >= depth) + 0.5), (0, min(t for t in (20, 40, 102) if t >= tallest))
        if (self.ax.get_xlim(), self.ax.get_ylim()) != limits:
            self.ax.set(xlim=limits[0], ylim=limits[1])
        self.guesses.set_data(np.clip(self.guess, *limits[0]), [0] * len(self.guess))
        self.title.set_text(count(depth, skip))
        return shares, [float(share @ np.arange(depth + 1)) for share in shares]


class Lengths(ByLength):
    """05b: how many routes have each length, and how much of the signal they carry; one stack at its start."""

    notebook, part = "05", "b"
    controls = (
        Control("depth", "depth", "how many layers are stacked", "integer", 54, 1, 60),
        SKIP,
        Control("scale", "strength of F", STRENGTH, "number", 0.5, 0.05, 1.5, 0.05),
    )
    presets = {
        "54 blocks": "depth=54 skip=on scale=0.5",
        "weaker F": "depth=54 skip=on scale=0.25",
        "strong F": "depth=54 skip=on scale=1",
        "six layers": "depth=6 skip=on scale=0.5",
        "plain": "depth=54 skip=off scale=0.5",
    }
    names = "routes by number", "count × magnitude", "energy, closed form", "energy, one stack"

    def truth(self, depth, skip, scale):
        """The mean length by energy, measured."""
        return float(self._measured(depth, skip, scale) @ np.arange(depth + 1))

    def _measured(self, depth, skip, scale):
        x = np.random.default_rng(1).normal(size=blocks.WIDTH)
        maps, _ = stack(x, depth, float(skip), scale)
        return paths.energy_share(np.array(self.idea(x, maps, float(skip), scale)))

    def update(self, depth, skip, scale):
        measured = self._measured(depth, skip, scale)
        shares, (number, weighed, form, energy) = self.show(depth, skip, (scale, scale**2), measured)
        words = f"{count(depth, skip)}, strength {scale:.2f}: mean length {number:.1f} by number of routes, "
        words += f"{weighed:.1f} by count × magnitude, {energy:.1f} by energy (closed form {form:.1f})."
        if depth == 54 and skip:
            inside = [f"{style.number(100 * share[5:18].sum())} %" for share in shares]
            words += f" Lengths 5 to 17 hold {inside[0]} of the routes, {inside[1]} by count × magnitude and "
            words += f"{inside[3]} of the energy."
        if self.guess:
            words += f" Your guess (diamond): {', '.join(map(style.number, self.guess))}; it is {energy:.1f} by energy."
        return words


class Gradient(ByLength):
    """05d: the gradient of a stored net split by length, exactly and by count × magnitude, at the start and trained."""

    notebook, part = "05", "d"
    controls = (
        Control("depth", "depth", "layers; it stops where nets are stored", "integer", 20, options=(8, 20)),
        SKIP,
        Control("trained", "trained", FRESH, "switch", True),
        SEED,
    )
    presets = {
        "trained": "depth=20 skip=on trained=on",
        "at the start": "depth=20 skip=on trained=off",
        "plain": "depth=20 skip=off trained=on",
    }
    names = "routes by number", "count × magnitude", "energy, form at the start", "energy, exact split"

    def build(self):
        self.found = {}  # what was split before: a slider that comes back does not wait again
        super().build()

    def _split(self, depth, skip, trained, seed):
        """Return pieces (lengths, digits, width) of the gradient and count × magnitude (lengths,)."""
        net, rng = one(depth, 0.5, seed, skip), np.random.default_rng(seed)
        if not trained:
            net = net._replace(W=rng.normal(0, np.sqrt(2 / blocks.WIDTH), net.W.shape), b=0 * net.b)
        *_, x, y = store.digits()
        back, maps = lesions.gradients(net, x[:32], y[:32])
        back = back / np.linalg.norm(back, axis=-1, keepdims=True)  # every digit counts alike
        pieces = np.array(self.idea(back, maps, float(skip), 0.5))
        return pieces, paths.count_times_magnitude(back, maps, rng, float(skip), 0.5, draws=4)

    def update(self, depth, skip, trained, seed):
        key = depth, skip, trained, seed
        if key not in self.found:
            self.found[key] = self._split(*key)
        pieces, weighed = self.found[key]
        exact, top = paths.energy_share(pieces), int(weighed.argmax())
        _, (_, veit, form, energy) = self.show(depth, skip, (0.5, 0.25), exact, weighed / weighed.sum())
        over = weighed[top] / np.linalg.norm(pieces[top], axis=-1).mean()
        words = f"{count(depth, skip)}, strength 0.5, {'trained' if trained else 'at the start'}: mean length of the "
        words += f"gradient's routes {energy:.1f} by the exact split (closed form at the start {form:.1f}), {veit:.1f} "
        words += "by count × magnitude"
        words += f", which at its peak, length {top}, is {style.number(over)} times the exact norm. " if skip else ". "
        return words + f"The route around every F carries {percent(exact[0])} of the energy."
