"""An experiment that runs beside the notebook: `explore` with a button that trains, a bar, and a Stop that keeps."""

import contextlib
import html
import threading
import time

import ipywidgets as w
from IPython.display import display

from . import registry
from .explore import Panel
from .picture import LOCK

EVERY = 0.1  # seconds between two movements of the bar


def live(view, experiment, setting=""):
    """Show ``view`` as ``explore`` does, with a button that runs ``experiment`` and feeds the view what comes.

    ``experiment(**view.config(**values))`` yields (step, total, rows); it runs in a thread of its own, and rows go to
    ``view.feed``. Nothing runs before the click. Raises ValueError, one sentence, if ``setting`` is not understood.
    """
    panel = LivePanel(view, experiment, setting)
    registry.show_alone(panel, f"{view.notebook}{view.part}{type(view).__name__}")
    display(panel)


class LivePanel(Panel):
    """The hands around one view and one experiment."""

    def __init__(self, view, experiment, setting=""):
        self.experiment, self.thread, self.halt = experiment, None, threading.Event()
        self.train = w.Button(description="train it here", layout=w.Layout(width="auto"))
        self.stop = w.Button(description="stop", disabled=True, layout=w.Layout(width="auto"))
        self.bar = w.FloatProgress(min=0, max=1, layout=w.Layout(width="120px"))
        self.state = w.HTML("Nothing runs: the picture is stored.", layout=w.Layout(flex="1 1 340px"))
        super().__init__(view, setting)
        self.train.on_click(self._start)
        self.stop.on_click(self._halt)
        row = w.HBox([self.train, self.stop, self.bar, self.state], layout=w.Layout(flex_flow="row wrap"))
        self._parts.insert(1, row)
        self.box.children = self._parts

    def _start(self, _):
        # Start and Stop are switched here and not by the thread: beside a running cell only a callback gets through.
        with LOCK:
            if self.thread is not None:
                return
            self.train.disabled, self.stop.disabled = True, False
            self.halt.clear()
            self.view.feed(None)
            self.bar.value, self.state.value = 0, "Starting: loading torch takes seconds, once."
            self.thread = threading.Thread(target=self._run, args=(self.values(),), daemon=True)
            self.thread.start()

    def _halt(self, _):
        self.halt.set()
        self.stop.disabled = True

    def _run(self, values):
        try:
            said = self._train(values)
        except Exception as error:  # an experiment typed by a learner may raise anything; the panel says so
            said = str(error) if isinstance(error, ValueError) else f"It broke off, {type(error).__name__}: {error}"
        with LOCK:
            self.state.value = html.escape(said)
            self.train.disabled, self.stop.disabled, self.thread = False, True, None

    def _train(self, values):
        """Run the experiment to its end or to Stop, feed the view, and return how it ended."""
        began = shown = time.monotonic()
        with contextlib.closing(self.experiment(**self.view.config(**values))) as steps:
            for step, total, rows in steps:
                if rows:
                    with LOCK:
                        self.view.feed(rows)
                        self._draw(preset=self.preset.value)
                if self.halt.is_set():
                    return f"Stopped after step {step} of {total}; what was trained stays."
                now = time.monotonic()
                if step and now - shown > EVERY:
                    shown, left = now, (now - began) * (total - step) / step
                    self.bar.value, self.state.value = step / total, f"step {step} of {total}, {left:.0f} s left"
                elif not step:
                    began = now
        self.bar.value = 1
        return f"Trained in {time.monotonic() - began:.0f} s."

    def close(self):
        """Stop what runs, then go as every panel goes."""
        self.halt.set()
        super().close()
