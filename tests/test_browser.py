"""What a learner's hands do, in a real JupyterLab in a real Chromium, by keyboard and mouse."""

import urllib.error
import urllib.request

import pytest
from playwright.sync_api import expect

from tests.lab import TOKEN
from tests.notebooks import paths

SET_UP = """import sys; sys.path.insert(0, "..")
from helpers.widgets import explore
from tests.every_kind import EveryKind"""
BUSY = """import pathlib, time
while not pathlib.Path("go-on").exists(): time.sleep(0.01)"""
HELD = """import gc, ipywidgets, psutil
gc.collect()
print(len(ipywidgets.Widget.get_manager_state()["state"]), len(gc.get_objects()), psutil.Process().memory_info().rss)"""
START = "depth=3 strength=1 rate=0.01 skip=on order=pre layers=1,2 pieces=copy,add layer=1 stored=2"
NAMES = [path.name for path in paths()]
ONE_OF_EACH = [
    ("slider", "depth"),
    ("slider", "strength"),
    ("slider", "rate"),
    ("checkbox", "+ I"),
    ("combobox", "order"),
]
ONE_OF_EACH += [
    ("checkbox", "1"),
    ("combobox", "2"),
    ("combobox", "preset"),
    ("button", "reset"),
    ("textbox", "setting"),
]


@pytest.fixture
def panel(lab):
    """The panel with every kind of control, as it starts; whatever the page complains about fails the test."""
    if not lab.page.url.endswith("every_kind.ipynb"):
        lab.write("every_kind.ipynb", SET_UP, "explore(EveryKind())", BUSY, "explore(EveryKind(), predict='How many?')")
        lab.open("every_kind.ipynb")
        lab.run_cell(0)
        lab.run_cell(1)
    panel = lab.panel()
    panel.type_setting(START)
    panel.shows(START)
    lab.problems.clear()
    yield panel
    assert lab.problems == []


def test_the_server_wants_a_token(lab):
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(f"{lab.address}/api/contents")
    assert urllib.request.urlopen(f"{lab.address}/api/contents?token={TOKEN}").status == 200


@pytest.mark.parametrize(
    "role, name, keys, changed",
    [
        ("slider", "depth", ["ArrowRight", "ArrowRight"], "depth=5"),
        ("slider", "depth", ["End"], "depth=6"),
        ("slider", "depth", ["Home"], "depth=1 layers=1 stored=1"),
        ("slider", "strength", ["ArrowLeft"], "strength=0.9"),
        ("slider", "rate", ["End"], "rate=1"),
        ("checkbox", "+ I", ["Space"], "skip=off"),
        ("combobox", "order", ["ArrowDown"], "order=post"),
        ("checkbox", "3", ["Space"], "layers=1,2,3"),
        ("combobox", "2", ["ArrowUp"], "pieces=copy,norm"),
        ("combobox", "preset", ["ArrowDown"], "depth=2 skip=off"),
    ],
)
def test_keyboard(panel, role, name, keys, changed):
    with panel.new_picture():
        panel.press(role, name, *keys)
    wanted = dict(word.split("=") for word in f"{START} {changed}".split())
    panel.shows(" ".join("=".join(pair) for pair in wanted.items()))


def test_reset(panel):
    with panel.new_picture():
        panel.press("slider", "depth", "End")
    with panel.new_picture():
        panel.press("button", "reset", "Enter")
    panel.shows(START)


def test_setting_can_be_copied(panel):
    with panel.new_picture():
        panel.press("slider", "depth", "End")
    expect(panel.control("textbox", "setting")).to_have_value(START.replace("depth=3", "depth=6"))


def test_pasted_setting_moves_the_controls(panel):
    other = "depth=6 strength=1.5 rate=0.1 skip=off order=none layers=1,5 pieces=norm,copy,add layer=5 stored=6"
    for line in (other, START):
        with panel.new_picture():
            panel.type_setting(line)
        panel.shows(line)
    expect(panel.control("slider", "depth")).to_have_attribute("aria-valuenow", "3.0")
    expect(panel.control("checkbox", "+ I")).to_be_checked()


@pytest.mark.parametrize("line, said", [("depth=9", "depth takes whole numbers from 1 to 6"), ("dpeth=2", "dpeth")])
def test_bad_setting_gets_a_sentence_and_the_picture_stays(panel, line, said):
    before = panel.picture.get_attribute("src")
    panel.type_setting(line)
    expect(panel.readout).to_contain_text(said)
    assert panel.picture.get_attribute("src") == before


def test_dragging_while_a_cell_runs(lab, panel):
    with panel.new_picture():
        panel.press("slider", "depth", "Home")
    (lab.project / "notebooks" / "go-on").unlink(missing_ok=True)
    lab.start_cell(2)
    handle = panel.control("slider", "depth")
    handle.scroll_into_view_if_needed()
    box, track = handle.bounding_box(), panel.box.locator(".noUi-base").first.bounding_box()
    middle = box["y"] + box["height"] / 2
    lab.page.mouse.move(box["x"] + box["width"] / 2, middle)
    lab.page.mouse.down()
    try:
        for share in (0.4, 0.8, 1.0):
            with panel.new_picture():
                lab.page.mouse.move(track["x"] + share * track["width"], middle, steps=5)
        assert lab.is_running(2)
    finally:
        lab.page.mouse.up()
        (lab.project / "notebooks" / "go-on").touch()
        lab.wait_cell()
    expect(panel.control("slider", "depth")).to_have_attribute("aria-valuenow", "6.0")
    panel.shows(START.replace("depth=3", "depth=6").replace("stored=2", "stored=1"))


@pytest.mark.parametrize("role, name", ONE_OF_EACH)
def test_notebook_shortcuts_are_silent(lab, panel, role, name):
    before = lab.cells()
    for keys in ("b", "m", "dd"):  # one by one: together they add a cell, change its type and delete it again
        panel.press(role, name, *keys)
        lab.kernel("pass")
        assert lab.cells() == before
    expect(panel.picture).to_be_visible()


def test_same_cell_twenty_times(lab, panel):
    def held():
        return [int(word) for word in lab.kernel(HELD).split()]

    for _ in range(10):
        lab.run_cell(1)
    widgets, objects, resident = held()
    for _ in range(20):
        lab.run_cell(1)
    more_widgets, more_objects, more_resident = held()
    assert more_widgets == widgets
    assert more_objects - objects < 1000  # a panel is many thousands
    # Bytes. Twenty leaked panels would be seventy million; OpenBLAS may take a buffer of thirty-two million, once.
    assert more_resident - resident < 50_000_000
    expect(lab.page.locator(".explore")).to_have_count(1)


def test_predict_first(lab, panel):
    lab.run_cell(3)
    asked = lab.page.locator(".explore").nth(1)
    expect(asked.locator("img[width='720']")).to_have_count(0)
    assert lab.axe() == []
    asked.get_by_role("textbox", name="your answer").fill("0.3 0.5 2")
    asked.get_by_role("button", name="show the picture").press("Enter")
    expect(asked.locator("img[width='720']")).to_be_visible()


def test_restart_and_run_all(lab, panel):
    (lab.project / "notebooks" / "go-on").touch()
    lab.restart_and_run_all()
    shown = lab.panel()
    with shown.new_picture():
        shown.press("slider", "depth", "End")


def test_dark_theme(lab, panel):
    lab.command("apputils:change-theme", theme="JupyterLab Dark")
    try:
        expect(lab.page.locator("body")).to_have_attribute("data-jp-theme-light", "false")
        assert lab.axe() == []
        assert panel.corner() == [255, 255, 255, 255]
    finally:
        lab.command("apputils:change-theme", theme="JupyterLab Light")


@pytest.mark.parametrize("name", NAMES)
def test_every_notebook(lab, name):
    lab.problems.clear()
    lab.page.set_viewport_size({"width": 900, "height": 900})
    lab.open(name)
    expect(lab.page.locator(".jp-OutputArea img").first).to_be_visible()
    lab.run_all()
    assert lab.axe() == []
    for number in range(lab.page.locator(".explore").count()):
        panel = lab.panel(number)
        assert panel.box.bounding_box()["height"] <= 600
    assert lab.page.locator(".jp-OutputArea").get_by_text("Traceback").count() == 0
    expect(lab.page.get_by_text("official Jupyter news")).to_have_count(0)
    expect(lab.page.locator(".jp-NotebookPanel")).to_have_count(1)
    assert lab.problems == []
