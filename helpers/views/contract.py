"""What a view is and what a control is: the contract between pictures and hands.

A view is pure: numbers in, picture and sentence out. The hands (`helpers.widgets`) read only what is named here.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from . import style


@dataclass(frozen=True)
class Control:
    """One thing a learner can set.

    ``kind`` is ``integer``, ``number``, ``switch`` (True or False), ``choice`` (one of ``options``), ``switches``
    (one on/off a layer; the value is the tuple of layers that are on, counted from 1; the control named ``length``
    says how many there are) or ``sequence`` (a tuple of up to ``length`` of ``options``, in order).
    A number with ``options`` moves over these alone; ``log`` spaces a slider by factors.
    """

    name: str
    label: str
    help: str
    kind: str
    default: object
    low: float | None = None
    high: float | None = None
    step: float | None = None
    log: bool = False
    options: tuple = ()
    length: object = None

    def format(self, value):
        """Return ``value`` as the word that stands in a setting line."""
        if self.kind == "switch":
            return "on" if value else "off"
        if self.kind in ("switches", "sequence"):
            return ",".join(map(str, value)) or "none"
        return f"{value:.6g}" if self.kind == "number" else str(value)

    def parse(self, word):
        """Return the value that ``word`` stands for. Raises ValueError, naming what is allowed."""
        try:
            value = self._read(word)
        except (ValueError, KeyError):
            raise ValueError(f"{self.name}={word} is not understood; {self.allowed()}.") from None
        return self.check(value)

    def _read(self, word):
        if self.kind == "integer":
            return int(word)
        if self.kind == "number":
            return float(word)
        if self.kind == "switch":
            return {"on": True, "off": False}[word]
        if self.kind == "switches":
            return () if word == "none" else tuple(sorted({int(w) for w in word.split(",")}))
        if self.kind == "sequence":
            return () if word == "none" else tuple(word.split(","))
        return word

    def check(self, value, low=None, high=None):
        """Return ``value`` if it may be drawn, else raise ValueError; ``low`` and ``high`` narrow the range."""
        low, high = self.low if low is None else low, self.high if high is None else high
        if self.kind in ("integer", "number") and self.options:
            fits = value in self._within(low, high)
        elif self.kind in ("integer", "number"):
            fits = low <= value <= high
        elif self.kind == "choice":
            fits = value in self.options
        elif self.kind == "switches":
            fits = all(layer >= 1 for layer in value)
        elif self.kind == "sequence":
            fits = len(value) <= self.length and set(value) <= set(self.options)
        else:
            fits = value in (True, False)
        if not fits:
            raise ValueError(f"{self.name}={self.format(value)} does not fit; {self.allowed(low, high)}.")
        return value

    def allowed(self, low=None, high=None):
        """Say in words which values fit."""
        low, high = self.low if low is None else low, self.high if high is None else high
        if self.kind in ("integer", "number") and not self.options:
            return f"{self.name} takes {'whole ' if self.kind == 'integer' else ''}numbers from {low:g} to {high:g}"
        if self.kind == "switch":
            return f"{self.name} is on or off"
        if self.kind == "switches":
            return f"{self.name} takes layers such as 1,3 (each at most {self.length}), or none"
        several = f"up to {self.length} of " if self.kind == "sequence" else "one of "
        return f"{self.name} takes {several}{', '.join(map(str, self._within(low, high)))}"

    def _within(self, low, high):
        """Return the options that other values leave open; only numbers can be narrowed."""
        return [option for option in self.options if low is None or low <= option <= high]

    def stops(self):
        """Return the values a slider stops at where it cannot move evenly (stored results, factors), else ()."""
        if self.kind not in ("integer", "number"):
            return ()
        if self.options or not self.log:
            return tuple(self.options)
        spaced = np.geomspace(self.low, self.high, 61)
        return tuple(dict.fromkeys(round(v) if self.kind == "integer" else float(f"{v:.3g}") for v in spaced))


class View:
    """A picture of fixed size that moves. A subclass names its parts and draws in ``build`` and ``update``.

    ``View(idea=f)`` takes the function typed in the notebook; the default, ``standard``, is the one in `maths`.
    """

    notebook: ClassVar[str] = ""
    part: ClassVar[str] = ""
    controls: ClassVar[tuple] = ()
    presets: ClassVar[dict] = {}
    standard: ClassVar[object] = None
    answers: ClassVar[tuple] = ()  # options of a guess; empty: the guess is a number
    guess = ()  # what learners committed to before the picture was shown

    def __init__(self, idea=None):
        self.idea = type(self).standard if idea is None else idea
        self.figure = style.figure()
        self.moving = []
        self.build()
        for artist in self.moving:
            artist.set_animated(True)

    def build(self):
        """Draw what stands still and make the artists that move, once; list the latter in ``self.moving``."""
        raise NotImplementedError

    def update(self, **values):
        """Move the artists; return the readout. Raises ValueError for what cannot be drawn."""
        raise NotImplementedError

    def limits(self, **values):
        """Return {name: (low, high)}: ranges that are narrower given the other values."""
        return {}

    def truth(self, **values):
        """Return what a learner's guess is held against, a number or one of ``answers``; only for views that ask."""
        raise NotImplementedError

    def feed(self, rows):
        """Take new rows of an experiment, stored or live, for the next ``update``; only for views of experiments."""
        raise NotImplementedError

    def defaults(self):
        """Return {name: default} in the order of the controls."""
        return {control.name: control.default for control in self.controls}

    def read(self, line, values=None):
        """Return all values after the setting ``line`` (``depth=6 skip=on``) is laid over ``values``.

        Raises ValueError, one sentence, if a name, a value or their combination does not fit.
        """
        known = {control.name: control for control in self.controls}
        values = dict(values or self.defaults())
        for word in line.split():
            name, equals, text = word.partition("=")
            if name not in known or not equals:
                raise ValueError(f"“{word}” is not understood; a setting looks like {self.line(self.defaults())}.")
            values[name] = known[name].parse(text)
        for name, (low, high) in self.limits(**values).items():
            known[name].check(values[name], low, high)
        for control in self.controls:
            if control.kind == "switches" and max(values[control.name], default=0) > values[control.length]:
                raise ValueError(
                    f"{control.name}={control.format(values[control.name])} does not fit; "
                    f"{control.length} is {values[control.length]}."
                )
        return values

    def line(self, values):
        """Return ``values`` as one setting line that ``read`` understands."""
        return " ".join(f"{control.name}={control.format(values[control.name])}" for control in self.controls)
