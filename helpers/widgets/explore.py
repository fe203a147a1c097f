"""Controls above, picture below, one sentence under it: what a learner touches, the same in every notebook."""

import html
import math
import time
from collections import deque
from contextlib import contextmanager

import ipywidgets as w
from IPython.display import display

from . import controls, registry
from .picture import LOCK, WIRE_ONLY, Picture, encode

SLOW = 0.25  # seconds; while pictures cost more than this, they move when the handle is released
READOUT = "font-size:13px;line-height:17px;min-height:51px;max-width:720px"


def explore(view, setting="", predict=None):
    """Show ``view`` with its controls, starting at the ``setting`` line (``depth=8 skip=off``).

    With ``predict="question"`` the learner commits to an answer before the picture is shown. Running the cell again
    closes what it had shown. Raises ValueError, one sentence, if ``setting`` is not understood.
    """
    panel = Panel(view, setting, predict)
    registry.show_alone(panel, f"{view.notebook}{view.part}{type(view).__name__}")
    display(panel)


class Panel:
    """The hands around one view: ``explore`` makes it, the notebook shows it."""

    def __init__(self, view, setting="", predict=None):
        self.view, self.start = view, view.read(setting)
        self.picture = Picture(view.figure, view.moving)
        self.alt, self._quiet, self._guessed_at, self._asked = "", False, None, []
        self.image = w.HTML()
        self.readout = w.HTML()
        self.readout.add_class("explore-readout")
        self._seconds = deque(maxlen=3)
        self.hands = {c.name: controls.make(c) for c in view.controls}
        self._set(self.start)
        for hand in self.hands.values():
            hand.observe(self._moved)
        row = self._row()
        self._parts = [
            w.Box([hand.widget for hand in self.hands.values()], layout=w.Layout(flex_flow="row wrap")),
            row,
            self.image,
            self.readout,
        ]
        self.box = w.VBox(self._question(predict) if predict else self._parts)
        self.box.add_class("explore")
        self._draw()

    # Making it

    def _row(self):
        self.preset = w.Dropdown(
            options=[("choose …", "")] + [(name, name) for name in self.view.presets],
            value="",
            description="preset",
            style=controls.WIDE,
            layout=w.Layout(width="auto"),
        )
        self.reset = w.Button(description="reset", layout=w.Layout(width="auto"))
        self.setting = w.Text(
            self.view.line(self.start),
            description="setting",
            style=controls.WIDE,
            continuous_update=False,
            layout=w.Layout(flex="1 1 260px", max_width="520px"),
        )
        controls.explain(self.setting, "Copy this line to share the picture; paste one and press Enter to see it.")
        self.preset.observe(self._chosen, "value")
        self.reset.on_click(lambda _: self._apply(self.start))
        self.setting.observe(self._typed, "value")
        return w.HBox([self.preset, self.reset, self.setting], layout=w.Layout(flex_flow="row wrap", max_width="720px"))

    # What a learner does

    def _moved(self, change):
        with LOCK:
            if not self._quiet:
                self._draw()

    def _chosen(self, change):
        with LOCK:
            if not self._quiet and change["new"]:
                self._apply(self.view.read(self.view.presets[change["new"]], self.start), change["new"])

    def _typed(self, change):
        with LOCK:
            if self._quiet:
                return
            try:
                values = self.view.read(change["new"], self.values())
            except ValueError as error:
                self._say(error)
            else:
                self._apply(values)

    def _apply(self, values, preset=""):
        """Move every control to ``values`` and draw once."""
        with LOCK:
            self._set(values)
            self._draw(preset=preset)

    @contextmanager
    def _quietly(self):
        """Let controls be moved from here without each one drawing."""
        before, self._quiet = self._quiet, True
        try:
            yield
        finally:
            self._quiet = before

    def _set(self, values):
        with self._quietly():
            # Values move in the whole range, then ranges narrow: a page that clips a value sends the clipped one back.
            self._narrow(values, {})
            for name, hand in self.hands.items():
                hand.set(values[name])
            self._narrow(values, self.view.limits(**values))

    def _narrow(self, values, limits):
        """Fit ranges to the other values. No control is set here: it may have moved on since ``values`` were read."""
        with self._quietly():
            for control in self.view.controls:
                if control.kind in ("integer", "number"):
                    self.hands[control.name].limit(*limits.get(control.name, ()))
                elif control.kind == "switches":
                    self.hands[control.name].resize(values[control.length])

    def values(self):
        """Return {name: value} as the controls stand."""
        return {name: hand.value for name, hand in self.hands.items()}

    # What is shown

    def _draw(self, preset=""):
        """Draw the present values. The lock is held from reading them to showing them: a late draw never wins."""
        with LOCK:
            began = time.perf_counter()
            try:
                self._narrow(self.values(), self.view.limits(**self.values()))
                values = self.values()
                self._show_setting(values, preset)
                if self._guessed_at:
                    self.view.guess = self._guessed_at[1] if values == self._guessed_at[0] else ()
                alt = self.view.update(**values)
                self.picture.draw()
            except Exception as error:  # a learner's own function may raise anything; the panel says so
                self._say(error)
            else:
                self.alt = alt
                self.image.value = self.picture.element(alt)
                self.readout.value = f'<div style="{READOUT}">{html.escape(alt)}</div>'
            self._pace(time.perf_counter() - began)

    def _pace(self, seconds):
        """Let sliders answer while they move, or on release while pictures are slow (the median of three draws)."""
        self._seconds.append(seconds)
        for hand in self.hands.values():
            if hand.widget.has_trait("continuous_update"):
                hand.widget.continuous_update = sorted(self._seconds)[len(self._seconds) // 2] < SLOW

    def _show_setting(self, values, preset):
        with self._quietly():
            self.setting.value, self.preset.value = self.view.line(values), preset

    def _say(self, error):
        words = str(error)
        if not (
            isinstance(error, ValueError) and words.endswith(".")
        ):  # ours are sentences, those of libraries are not
            words = f"This could not be drawn, {type(error).__name__}: {words}."
        last = f"<br>The picture is still the last one: {html.escape(self.alt)}" if self.alt else ""
        self.readout.value = f'<div style="{READOUT}"><strong>{html.escape(words)}</strong>{last}</div>'

    # Predict first

    def _question(self, question):
        if self.view.answers:
            self.answer = w.Dropdown(options=self.view.answers, description="your answer", style=controls.WIDE)
        else:
            self.answer = w.Text(
                description="your answer", placeholder="a number, or several: 0.3 0.5 2", style=controls.WIDE
            )
        show, skip = w.Button(description="show the picture"), w.Button(description="show me without guessing")
        skip.layout.width = "auto"
        self.complaint = w.HTML()
        show.on_click(lambda _: self._answered())
        skip.on_click(lambda _: self._reveal())
        words = w.HTML(f"<p>{html.escape(question)}</p>{WIRE_ONLY}")
        self._asked = [words, self.answer, w.HBox([show, skip]), self.complaint]
        return self._asked

    def _answered(self):
        word = self.answer.value
        try:
            guess = (word,) if self.view.answers else tuple(float(part.replace(",", ".")) for part in word.split())
            if not guess or not all(isinstance(part, str) or math.isfinite(part) for part in guess):
                raise ValueError
        except ValueError:
            sentence = f"“{word}” is not understood; type a number, or several with spaces between."
            self.complaint.value = html.escape(sentence)
            return
        self._guessed_at = (self.values(), guess)
        self._reveal()

    def _reveal(self):
        self._draw()
        self.box.children = self._parts
        for part in self._asked:
            registry.close_all(part)

    # Where it goes

    def close(self):
        """Take the panel off the screen and out of the kernel's memory."""
        with LOCK:
            for part in (*self._parts, *self._asked, self.box):
                registry.close_all(part)

    def _repr_mimebundle_(self, **_):
        """The widget for a live notebook and, for a reader without a kernel, the picture with its alt text."""
        data = {
            "application/vnd.jupyter.widget-view+json": {
                "version_major": 2,
                "version_minor": 0,
                "model_id": self.box.model_id,
            },
            "text/plain": self.alt,
        }
        if not self.alt:  # nothing could be drawn; the panel says why
            return data, {}
        with LOCK:
            data["image/png"] = encode(self.picture.png(level=6))
        width, height = self.picture.size
        return data, {"image/png": {"alt": self.alt, "width": width, "height": height}}
