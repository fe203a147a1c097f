"""The panel that trains, without a browser: it feeds the view, stops, refuses a second run, says what went wrong."""

import re
import threading
import time

import pytest
import torch

from helpers.maths import nets, results, store
from helpers.views import training
from helpers.widgets import live
from helpers.widgets.live import LivePanel
from tests.every_kind import EveryKind

SOON = 60  # seconds: a bound for a machine under load, not a pace


class Fed(EveryKind):
    """Takes rows and says how many."""

    fed = 0

    def config(self, depth, **_):
        return {"depth": depth}

    def feed(self, rows):
        self.fed = 0 if rows is None else self.fed + len(rows)

    def update(self, **values):
        return f"{super().update(**values)} Fed {self.fed}."


class Gated:
    """An experiment of six steps, three of which wait until they are let through."""

    def __init__(self):
        self.gate, self.started, self.closed = threading.Semaphore(3), 0, 0

    def __call__(self, depth):
        self.started += 1
        try:
            for step in range(7):
                assert self.gate.acquire(timeout=SOON)
                yield step, 6, [depth]
        finally:
            self.closed += 1


def until(condition):
    """Wait until it holds."""
    end = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def ended(panel):
    until(lambda: panel.thread is None)


def test_nothing_runs_before_the_click():
    experiment = Gated()
    panel = LivePanel(Fed(), experiment)
    assert experiment.started == 0 and panel.stop.disabled and not panel.train.disabled


def test_train_stop_train_again():
    experiment = Gated()
    panel = LivePanel(Fed(), experiment)
    panel.train.click()
    until(lambda: panel.view.fed == 3)
    assert panel.train.disabled and not panel.stop.disabled
    panel.stop.click()
    experiment.gate.release()
    ended(panel)
    assert re.search("Stopped after step [23] of 6; what was trained stays", panel.state.value)
    assert re.search("Fed [34]", panel.readout.value)
    assert experiment.closed == 1 and not panel.train.disabled and panel.stop.disabled
    experiment.gate.release(7)
    panel.train.click()
    ended(panel)
    assert "Trained in" in panel.state.value and "Fed 7." in panel.readout.value and panel.bar.value == 1


def test_a_second_click_starts_nothing():
    experiment = Gated()
    panel = LivePanel(Fed(), experiment)
    for _ in range(3):
        panel.train.click()
    experiment.gate.release(7)
    ended(panel)
    assert experiment.started == 1


def test_closing_stops():
    experiment = Gated()
    panel = LivePanel(Fed(), experiment)
    panel.train.click()
    until(lambda: panel.view.fed == 3)
    thread = panel.thread
    panel.close()
    experiment.gate.release()
    thread.join(SOON)
    assert not thread.is_alive() and experiment.closed == 1


@pytest.mark.parametrize(
    "error, said",
    [(RuntimeError("a <b> breaks"), "RuntimeError: a &lt;b&gt; breaks"), (ValueError("depth is 0."), "depth is 0.")],
)
def test_an_error_inside_training_is_said(error, said):
    def broken(depth):
        yield 0, 5, [1]
        raise error

    panel = LivePanel(Fed(), broken)
    panel.train.click()
    ended(panel)
    assert said in panel.state.value and "Fed 1." in panel.readout.value and not panel.train.disabled


def test_an_experiment_that_is_no_generator_is_said():
    panel = LivePanel(Fed(), lambda depth: None)
    panel.train.click()
    ended(panel)
    assert "It broke off" in panel.state.value


def test_a_real_training_leaves_torch_as_it_was():
    torch.manual_seed(3)
    expected, threads = torch.rand(2), torch.get_num_threads()
    torch.manual_seed(3)
    view = training.Curves()
    panel = LivePanel(view, nets.train, "depth=2")
    panel.train.click()
    ended(panel)
    assert "Trained in" in panel.state.value, panel.state.value
    assert "Trained here, 300 steps, three seeds each: plain" in panel.readout.value
    assert len(view.fed) == 6 * 16 and max(row["train_error"] for row in view.fed[-6:]) < 5
    assert torch.equal(torch.rand(2), expected) and torch.get_num_threads() == threads


def test_a_bad_setting_is_refused():
    with pytest.raises(ValueError, match="depth=57"):
        live(training.Curves(), nets.train, "depth=57")


def test_the_default_is_a_stored_picture_and_the_config_the_stored_one():
    view = training.Curves()
    config = view.config(**view.defaults())
    assert config["depth"] == 56 and config["skip"] == [0, 0, 0, 1, 1, 1] and config["seed"] == [0, 1, 2] * 2
    assert {"lr": 1e-3, "steps": 300, "batch": 128, "every": 20}.items() <= config.items()


def test_a_missing_file_is_said_and_the_panel_still_opens(tmp_path, monkeypatch):
    results.stored.cache_clear()
    monkeypatch.setattr(store, "FOLDER", tmp_path)
    panel = LivePanel(training.Curves(), nets.train)
    assert "data/depth_56.npz is missing" in panel.readout.value
    assert "text/plain" in panel._repr_mimebundle_()[0]
    panel.train.click()
    ended(panel)
    assert "data/depth_56.npz is missing" in panel.state.value
