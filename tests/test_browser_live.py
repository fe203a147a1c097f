"""Training from the panel in a real JupyterLab in a real Chromium: Train, Stop, again, and what comes in between."""

import pytest
from playwright.sync_api import expect

SET_UP = """import sys; sys.path.insert(0, "..")
import time
from helpers.widgets import live
from tests.every_kind import EveryKind

class Fed(EveryKind):
    fed = 0
    def config(self, **_): return {}
    def feed(self, rows): self.fed = 0 if rows is None else self.fed + len(rows)
    def update(self, **values):
        said = f"{super().update(**values)} Fed {self.fed}."
        self.words.set_text(said)
        return said

running = []
def count():
    running.append(1)
    try:
        for step in range(20_001):
            time.sleep(0.005)
            yield step, 20_000, [step] * (step % 20 == 0)
    finally:
        running.pop()

def broken():
    yield 0, 10, [0]
    raise RuntimeError("no such weights")"""
BUSY = """import pathlib
while not pathlib.Path("go-on").exists(): time.sleep(0.01)"""
REAL = """import torch
torch.manual_seed(3); threads = torch.get_num_threads()
from helpers import views
from helpers.maths import nets
live(views.training.Curves(), nets.train, "depth=20")"""
CELLS = [SET_UP, "live(Fed(), count)", BUSY, "live(Fed(), broken)", REAL]
UNTOUCHED = """drawn = torch.rand(2); torch.manual_seed(3)
print(torch.equal(drawn, torch.rand(2)) and torch.get_num_threads() == threads)"""


@pytest.fixture
def panel(lab):
    """The panel of cell 1, freshly shown; whatever the page complains about fails the test."""
    if not lab.page.url.endswith("live.ipynb"):
        lab.write("live.ipynb", *CELLS)
        lab.open("live.ipynb")
        lab.run_cell(0)
    lab.run_cell(1)
    lab.problems.clear()
    yield lab.panel()
    assert lab.problems == []


def start(panel):
    """Press Train and wait until the training says where it is."""
    panel.press("button", "train it here", "Enter")
    expect(panel.box.get_by_text("s left")).to_be_visible()


def stop(panel):
    panel.press("button", "stop", "Enter")
    expect(panel.box.get_by_text("Stopped after step")).to_be_visible()


def runs(lab):
    return lab.kernel("print(len(running))").strip()


def test_nothing_runs_before_the_click(lab, panel):
    expect(panel.box.get_by_text("Nothing runs")).to_be_visible()
    expect(panel.control("button", "stop")).to_be_disabled()
    assert runs(lab) == "0"


def test_train_stop_train_again(lab, panel):
    with panel.new_picture():
        start(panel)
    expect(panel.control("button", "train it here")).to_be_disabled()
    stop(panel)
    assert runs(lab) == "0"
    expect(panel.readout).to_contain_text("Fed")
    start(panel)
    expect(panel.box.get_by_text("Stopped after step")).to_have_count(0)
    stop(panel)
    assert runs(lab) == "0"


def test_a_second_click(lab, panel):
    panel.control("button", "train it here").dblclick()
    expect(panel.box.get_by_text("s left")).to_be_visible()
    assert runs(lab) == "1"
    stop(panel)


def test_dragging_meanwhile(lab, panel):
    start(panel)
    with panel.new_picture():
        panel.press("slider", "depth", "End")
    expect(panel.readout).to_contain_text("depth=6")
    with panel.new_picture():
        panel.press("checkbox", "+ I", "Space")
    expect(panel.readout).to_contain_text("skip=off")
    assert runs(lab) == "1"
    stop(panel)


def test_stop_beside_a_running_cell(lab, panel):
    (lab.project / "notebooks" / "go-on").unlink(missing_ok=True)
    start(panel)
    lab.start_cell(2)
    try:
        stop(panel)
        assert lab.is_running(2)
    finally:
        (lab.project / "notebooks" / "go-on").touch()
        lab.wait_cell()
    assert runs(lab) == "0"


def test_running_the_cell_again_stops_what_ran(lab, panel):
    start(panel)
    lab.run_cell(1)
    expect(lab.page.locator(".explore")).to_have_count(1)
    expect(lab.panel().box.get_by_text("Nothing runs")).to_be_visible()
    assert runs(lab) == "0"


def test_an_error_inside_training(lab, panel):
    lab.run_cell(3)
    broken = lab.panel(1)
    broken.press("button", "train it here", "Enter")
    expect(broken.box.get_by_text("RuntimeError: no such weights")).to_be_visible()
    expect(broken.control("button", "train it here")).to_be_enabled()
    expect(broken.readout).to_contain_text("Fed 1.")


def test_nothing_is_wrong_for_a_screen_reader(lab, panel):
    start(panel)
    assert lab.axe() == []
    stop(panel)


def test_restart_in_the_middle(lab, panel):
    start(panel)
    (lab.project / "notebooks" / "go-on").touch()
    lab.restart_and_run_all()
    assert runs(lab) == "0"
    again = lab.panel()
    start(again)
    stop(again)


def test_the_real_training_leaves_torch_as_it_was(lab, panel):
    lab.run_cell(4)
    real = lab.panel(lab.page.locator(".explore").count() - 1)
    with real.new_picture():
        real.press("button", "train it here", "Enter")
    expect(real.readout).to_contain_text("Trained here")
    stop(real)
    assert lab.kernel(UNTOUCHED).strip() == "True"
