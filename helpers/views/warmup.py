"""The warm-up picture of notebook 04: a learning rate that climbs first, and what else helps."""

import json
from functools import cache

from ..maths import results, store
from . import style
from .contract import Control, View
from .degradation import Band
from .equation import SKIP


class WarmUp(View):
    """04 deeper: post-LN and pre-LN Transformers on the digits, with and without warm-up, stored and trained here."""

    notebook, part = "04", "d"
    RATES, PIXELS, STARTS = ("0.001", "0.003"), ("raw", "centred"), ("even", "small")
    controls = (
        Control("rate", "learning rate", "of AdamW", "choice", "0.003", options=RATES),
        Control("order", "order", "around every sublayer", "choice", "post-LN", options=("post-LN", "pre-LN")),
        Control("warmup", "warm-up, 100 steps", "the rate climbs before it stays", "switch", False),
        Control("pixels", "pixels", "raw: 0 to 1; centred: as in the other notebooks", "choice", "raw", options=PIXELS),
        Control("start", "start", "even: every weight matrix alike; small: F weaker", "choice", "even", options=STARTS),
        SKIP,
        Control("error", "error", "on which images", "choice", "training", options=("training", "test")),
    )
    presets = {
        "post-LN, no warm-up": "rate=0.003 order=post-LN warmup=off pixels=raw start=even skip=on",
        "post-LN, 100 steps": "rate=0.003 order=post-LN warmup=on pixels=raw start=even skip=on",
        "pre-LN, no warm-up": "rate=0.003 order=pre-LN warmup=off pixels=raw start=even skip=on",
        "a third of the rate": "rate=0.001 order=post-LN warmup=off pixels=raw start=even skip=on",
        "centred pixels": "rate=0.003 order=post-LN warmup=off pixels=centred start=even skip=on",
        "centred pixels, small start": "rate=0.003 order=post-LN warmup=off pixels=centred start=small skip=on",
        "small rate, new images": "rate=0.001 order=post-LN warmup=off pixels=centred start=small error=test",
        "no skip, 100 steps": "rate=0.003 order=pre-LN warmup=on pixels=raw start=even skip=off",
    }
    ARMS = (("post-LN", 0), ("post-LN", 100), ("pre-LN", 0), ("pre-LN", 100), ("no-skip", 0), ("no-skip", 100))
    POST = "#CC79A7"
    NAMES = [f"{order}, {f'warm-up {steps}' if steps else 'no warm-up'}" for order, steps in ARMS]
    LOOKS = [
        {"color": color, "linestyle": dash, "marker": mark}
        for color, dash, mark in (
            (POST, (0, (4, 2)), "v"),
            (POST, "-", "^"),
            (style.RESIDUAL, (0, (4, 2)), "o"),
            (style.RESIDUAL, "-", "D"),
            (style.PLAIN, (0, (1, 1)), "s"),
            (style.PLAIN, "-", "X"),
        )
    ]
    fed, trained = (), None

    def build(self):
        ground = style.blank(self.figure)
        self.ax = style.axes(self.figure, (74, 56, 346, 280), "step (64 images each)", "error, %")
        self.ax.set(xlim=(0, 264), ylim=(-2, 100))
        self.ax.axhline(90, color="#d0d0d0", linewidth=1, zorder=0)
        style.text(self.ax, 262, 96.5, "guessing: 90 %", ha="right")
        self.bands = [Band(self.ax, {**look, "markersize": 5, "linewidth": 2}) for look in self.LOOKS]
        self.bands[-2].line.set_zorder(1.5)  # where nothing is learned, the dashes of post-LN stay visible on it
        self.here = [self.ax.plot([], [], color=style.INK, linewidth=1)[0] for _ in range(2)]
        heights = [306 - 46 * at for at in range(len(self.LOOKS))]
        for height, look in zip(heights, self.LOOKS, strict=True):
            ground.plot([440, 462, 484], [height] * 3, **{**look, "markersize": 5, "linewidth": 2, "markevery": [1]})
        self.names = [
            style.text(ground, 494, height + 10, name, ha="left")
            for height, name in zip(heights, self.NAMES, strict=True)
        ]
        self.ends = [style.text(ground, 494, height - 9, ha="left") for height in heights]
        self.setup = style.text(ground, 360, 384)
        self.moving = [*(part for band in self.bands for part in band.parts), *self.here, *self.ends, self.setup]

    @staticmethod
    @cache
    def _stored(pixels, start, rate, name, warmup):
        """Return (config, columns) of a stored training; a column is (measurements, seeds)."""
        file = f"transformer_{pixels}_{start}_{name}_{rate}_{warmup}.npz"
        columns = store.load(file, "config", "step", "train_error", "test_error")
        config = json.loads(columns.pop("config").item())
        return config, {key: values.reshape(-1, len(config["seed"])) for key, values in columns.items()}

    @staticmethod
    def _arm(order, warmup, skip):
        return order if skip else "no-skip", 100 if warmup else 0

    def config(self, rate, order, warmup, pixels, start, skip, **_):
        """Return the config of the stored training of these values, with two of its seeds."""
        self.trained = pixels, start, rate, *self._arm(order, warmup, skip)
        config, _ = self._stored(*self.trained)
        return config | {"seed": config["seed"][:2]}

    def feed(self, rows):
        """Take rows of an experiment as they come; None forgets what came before."""
        self.fed = [] if rows is None else [*self.fed, *rows]

    def update(self, rate, order, warmup, pixels, start, skip, error):
        column = "train_error" if error == "training" else "test_error"
        chosen, middles = self._arm(order, warmup, skip), {}
        for own, name, band, end in zip(self.ARMS, self.names, self.bands, self.ends, strict=True):
            config, columns = self._stored(pixels, start, rate, *own)
            low, middle, high = results.spread(columns[column].T)
            band.show(columns["step"][:, 0], low, middle, high, strong=own == chosen)
            middles[name.get_text()] = middle[-1]
            end.set_text(f"{middle[-1]:.1f} % ({low[-1]:.1f} to {high[-1]:.1f})")
            weight = "bold" if own == chosen else "normal"
            if name.get_weight() != weight:
                name.set_weight(weight)
        here = self.fed if self.trained == (pixels, start, rate, *chosen) else ()
        for seed, line in enumerate(self.here):
            own = [row for row in here if row["seed"] == seed]
            line.set_data([row["step"] for row in own], [row[column] for row in own])
        setup, seeds = f"learning rate {rate}, {pixels} pixels, {start} start", len(config["seed"])
        self.setup.set_text(f"{setup}: {error} error, middle and range of {seeds} seeds")
        words = f"{setup.capitalize()}, {error} error after {columns['step'].max()} steps, middle of {seeds} seeds: "
        words += "; ".join(f"{name} {value:.1f} %" for name, value in middles.items())
        return words + (f". Trained here, two seeds, now at step {here[-1]['step']} (black)." if here else ".")
