"""One widget for each kind of control, all with ``widget``, ``value``, ``set`` and ``observe``.

Sliders have ``limit`` besides, rows of switches ``resize``.
"""

import math

import ipywidgets as w

WIDE = {"description_width": "initial"}  # labels are never cut


def place(width="auto"):
    """Return the layout of one control, with room to its right so that labels are not taken for the neighbour's."""
    return w.Layout(width=width, margin="2px 24px 2px 2px")


def make(control):
    """Return the hand for ``control`` (kinds: see the contract of the view)."""
    if control.kind == "switches":
        return Switches(control)
    if control.kind == "sequence":
        return Sequence(control)
    if control.stops():
        return Stops(control)
    return Single(control)


class Single:
    """A slider, a switch or a choice: one ipywidget that holds the value itself."""

    def __init__(self, control):
        self.control = control
        common = {
            "description": control.label,
            "style": WIDE,
            "layout": place("auto" if control.kind in ("switch", "choice") else "330px"),
        }
        if control.kind == "integer":
            made = w.IntSlider(control.default, control.low, control.high, control.step or 1, **common)
        elif control.kind == "number":
            step = control.step or (control.high - control.low) / 100
            made = w.FloatSlider(
                control.default,
                min=control.low,
                max=control.high,
                step=step,
                readout_format=f".{max(0, math.ceil(-math.log10(step)))}f",
                **common,
            )
        elif control.kind == "switch":
            made = w.Checkbox(control.default, indent=False, **common)
        else:
            made = w.Dropdown(options=control.options, value=control.default, **common)
        self.widget = explain(made, control.help)

    @property
    def value(self):
        """What the learner has set."""
        return self.widget.value

    def set(self, value):
        """Move the control to ``value``."""
        self.widget.value = value

    def limit(self, low=None, high=None):
        """Narrow the range of a slider, or open all of it; a value outside moves to its edge."""
        low, high = self.control.low if low is None else low, self.control.high if high is None else high
        if (self.widget.min, self.widget.max) != (low, high):
            with self.widget.hold_trait_notifications():
                self.widget.min, self.widget.max = low, high

    def observe(self, callback):
        """Call ``callback(change)`` whenever the value changes."""
        self.widget.observe(callback, "value")


class Stops(Single):
    """A slider that rests only at given values: stored results, or numbers spaced by factors."""

    def __init__(self, control):
        self.control, self.stops = control, control.stops()
        options = [(f"{stop:g}", stop) for stop in self.stops]
        self.widget = explain(
            w.SelectionSlider(
                options=options,
                value=self._nearest(control.default),
                style=WIDE,
                description=control.label,
                layout=place("330px"),
            ),
            control.help,
        )

    def _nearest(self, value):
        return min(self.stops, key=lambda stop: abs(stop - value))

    def set(self, value):
        """Move to the stop nearest to ``value``."""
        self.widget.value = self._nearest(value)

    def limit(self, low=-math.inf, high=math.inf):
        """Leave out the stops beyond ``low`` and ``high``; a value outside moves to the nearest one left."""
        within = tuple(stop for stop in self.control.stops() if low <= stop <= high) or self.control.stops()[:1]
        if within != self.stops:
            value, self.stops = self.value, within
            self.widget.options = [(f"{stop:g}", stop) for stop in within]
            self.set(value)


class Switches:
    """One checkbox a layer; the value is the tuple of layers that are on, counted from 1."""

    def __init__(self, control):
        self.control, self.callbacks, self.boxes = control, [], []
        self.widget = w.HBox([w.HTML(control.label)], layout=w.Layout(flex_flow="row wrap", align_items="center"))
        self.resize(max(control.default, default=1))
        self.set(control.default)

    def resize(self, count):
        """Show ``count`` switches; those that are hidden keep no vote."""
        while len(self.boxes) < count:
            number = len(self.boxes) + 1
            box = w.Checkbox(False, description=f"{number}", indent=False, style=WIDE, layout=w.Layout(width="52px"))
            explain(box, f"{self.control.help} {number}")
            for callback in self.callbacks:
                box.observe(callback, "value")
            self.boxes.append(box)
            self.widget.children = [*self.widget.children, box]
        self.count = count
        for number, box in enumerate(self.boxes, 1):
            box.layout.display = None if number <= count else "none"

    @property
    def value(self):
        """The layers that are on."""
        return tuple(number for number, box in enumerate(self.boxes[: self.count], 1) if box.value)

    def set(self, value):
        """Switch on the layers in ``value`` and no others."""
        self.resize(max(self.count, *value) if value else self.count)
        for number, box in enumerate(self.boxes, 1):
            box.value = number in value

    def observe(self, callback):
        """Call ``callback(change)`` whenever a switch is thrown."""
        self.callbacks.append(callback)
        for box in self.boxes:
            box.observe(callback, "value")


class Sequence:
    """One dropdown a place, read from left to right; empty places are left out."""

    EMPTY = "–"

    def __init__(self, control):
        self.control = control
        self.places = [
            explain(
                w.Dropdown(
                    options=[self.EMPTY, *control.options],
                    value=self.EMPTY,
                    description=f"{number}",
                    style=WIDE,
                    layout=w.Layout(width="auto"),
                ),
                f"{control.help} {number}",
            )
            for number in range(1, control.length + 1)
        ]
        self.widget = w.HBox(
            [w.HTML(control.label), *self.places], layout=w.Layout(flex_flow="row wrap", align_items="center")
        )
        self.set(control.default)

    @property
    def value(self):
        """The pieces in order."""
        return tuple(place.value for place in self.places if place.value != self.EMPTY)

    def set(self, value):
        """Lay ``value`` out from the first place on."""
        for place, piece in zip(self.places, [*value, *[self.EMPTY] * len(self.places)], strict=False):
            place.value = piece

    def observe(self, callback):
        """Call ``callback(change)`` whenever a place changes."""
        for place in self.places:
            place.observe(callback, "value")


def explain(widget, words):
    """Give ``widget`` a tooltip under the name that this version of ipywidgets knows."""
    setattr(widget, "tooltip" if widget.has_trait("tooltip") else "description_tooltip", words)
    return widget
