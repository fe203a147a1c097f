"""The hands around a toy view that has every kind of control: no browser, no residual connection."""

import threading

import pytest
from ipywidgets.widgets.widget import _instances

from helpers.views import contract, style
from helpers.widgets import registry
from helpers.widgets.explore import Panel

Control = contract.Control


class Toy(contract.View):
    notebook, part = "99", "a"
    controls = (
        Control("depth", "depth", "how many", "integer", 3, 1, 6),
        Control("width", "width", "spaced by factors", "integer", 10, 1, 1000, log=True),
        Control("stored", "stored", "only what is stored", "integer", 20, options=(2, 20, 56)),
        Control("rate", "rate", "a number", "number", 0.5, 0.0, 2.0, 0.25),
        Control("skip", "+ I", "a switch", "switch", True),
        Control("kind", "kind", "a choice", "choice", "one", options=("one", "two")),
        Control("layer", "layer", "never beyond the depth", "integer", 1, 1, 6),
        Control("path", "path", "through layer", "switches", (1, 3), length="depth"),
        Control("order", "order", "place", "sequence", ("copy", "add"), options=("copy", "norm", "add"), length=3),
    )
    presets = {"deep": "depth=6 path=2,5", "nothing": "path=none order=none"}
    answers = ()

    def build(self):
        ground = style.blank(self.figure)
        self.words = style.text(ground, 360, 200)
        self.title = style.text(ground, 360, 380, "still")
        self.moving = [self.words]

    def limits(self, depth, **_):
        return {"layer": (1, depth)}

    def truth(self, rate, **_):
        return 2 * rate

    def update(self, **values):
        if values["kind"] == "two":
            raise ValueError("kind is two; allowed is one.")
        if values["rate"] == 2:
            raise ZeroDivisionError("rate")
        self.drawn = values
        self.words.set_text(self.line(values))
        return f"drawn {self.line(values)}" + (f" guessed {self.guess}" if self.guess else "")


@pytest.fixture
def panel():
    made = Panel(Toy())
    yield made
    made.close()


def test_every_hand_moves_the_picture_and_the_setting(panel):
    moves = {"depth": 5, "width": 1000, "stored": 56, "rate": 1.25, "skip": False, "layer": 4}
    moves |= {"path": (1, 4, 5), "order": ("norm",)}
    for name, value in moves.items():
        before = panel.image.value
        panel.hands[name].set(value)
        assert panel.view.drawn[name] == value and panel.values()[name] == value
        assert panel.image.value != before
        assert panel.view.read(panel.setting.value) == panel.values()


def test_narrower_limits_hold_for_control_and_line(panel):
    panel.hands["layer"].set(3)
    panel.hands["depth"].set(2)
    assert panel.view.drawn["layer"] == 2 and panel.hands["layer"].widget.max == 2
    assert panel.view.drawn["path"] == (1,)
    before = panel.image.value
    panel.setting.value = "depth=2 layer=3"
    assert "layer=3 does not fit; layer takes whole numbers from 1 to 2." in panel.readout.value
    assert panel.image.value == before


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("depth=7", "depth=7 does not fit; depth takes whole numbers from 1 to 6."),
        ("depth=many", "depth=many is not understood"),
        ("deep", "“deep” is not understood; a setting looks like depth=3"),
        ("depth", "“depth” is not understood"),
        ("stored=21", "stored takes one of 2, 20, 56."),
        ("skip=maybe", "skip is on or off."),
        ("kind=three", "kind takes one of one, two."),
        ("path=4", "path=4 does not fit; depth is 3."),
        ("order=copy,glue", "order takes up to 3 of copy, norm, add."),
        ("rate=nan", "rate=nan does not fit; rate takes numbers from 0 to 2."),
    ],
)
def test_a_bad_setting_gets_a_sentence_and_changes_nothing(panel, line, sentence):
    image, values = panel.image.value, panel.values()
    panel.setting.value = line
    assert sentence in panel.readout.value and "drawn depth=3" in panel.readout.value
    assert panel.image.value == image and panel.values() == values
    assert panel.setting.value == line  # what was typed can be mended


def test_a_pasted_setting_moves_every_hand_and_draws_once(panel, monkeypatch):
    drawn = []
    update = panel.view.update
    monkeypatch.setattr(panel.view, "update", lambda **values: drawn.append(values) or update(**values))
    panel.setting.value = "depth=6 layer=6 path=6 order=add,copy,norm rate=1.75 skip=off"
    assert len(drawn) == 1 and drawn[0]["path"] == (6,) and drawn[0]["order"] == ("add", "copy", "norm")
    assert panel.setting.value == panel.view.line(drawn[0])


def test_preset_and_reset(panel):
    panel.hands["rate"].set(1.5)
    panel.preset.value = "deep"
    assert panel.view.drawn["path"] == (2, 5) and panel.view.drawn["rate"] == 0.5
    panel.hands["depth"].set(5)
    assert panel.preset.value == ""
    panel.preset.value = "nothing"
    assert panel.view.drawn["order"] == () and "path=none order=none" in panel.setting.value
    panel.reset.click()
    assert panel.values() == panel.start


def test_a_stop_between_two_snaps_to_the_nearest():
    panel = Panel(Toy(), "width=57")
    assert abs(panel.values()["width"] - 57) <= 3 and f"width={panel.values()['width']}" in panel.setting.value
    panel.close()


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("kind", "two", "kind is two; allowed is one."),
        ("rate", 2.0, "This could not be drawn, ZeroDivisionError: rate."),
    ],
)
def test_an_error_in_the_view_is_a_sentence_and_the_picture_stays(panel, name, value, sentence):
    image = panel.image.value
    panel.hands[name].set(value)
    assert sentence in panel.readout.value and panel.image.value == image
    panel.reset.click()
    assert "could not" not in panel.readout.value


def test_the_first_picture_may_fail_with_a_sentence():
    panel = Panel(Toy(), "kind=two")
    assert "kind is two; allowed is one." in panel.readout.value and panel.image.value == ""
    panel.hands["kind"].set("one")
    assert "<img" in panel.image.value
    panel.close()


def test_only_what_moves_is_drawn_again(panel, monkeypatch):
    draws = []
    draw = panel.picture.canvas.draw
    monkeypatch.setattr(panel.picture.canvas, "draw", lambda: draws.append(1) or draw())
    panel.hands["depth"].set(4)
    assert not draws
    panel.view.title.set_text("changed")
    panel.hands["depth"].set(5)
    assert len(draws) == 1


def test_a_guess_is_drawn_where_it_was_made():
    panel = Panel(Toy(), predict="how many?")
    assert panel.image not in panel.box.children and "guessed" not in panel.readout.value
    panel.answer.value = "lots"
    panel.box.children[2].children[0].click()
    assert "“lots” is not understood; type a number" in panel.complaint.value
    panel.answer.value = "0.3 0,5 2"
    panel.box.children[2].children[0].click()
    assert "guessed (0.3, 0.0, 5.0, 2.0)" in panel.readout.value and panel.image in panel.box.children
    panel.hands["depth"].set(4)
    assert "guessed" not in panel.readout.value
    panel.hands["depth"].set(3)
    assert "guessed" in panel.readout.value
    panel.close()


def test_a_guess_may_be_declined():
    panel = Panel(Toy(), predict="how many?")
    panel.box.children[2].children[1].click()
    assert panel.image in panel.box.children and "guessed" not in panel.readout.value
    panel.close()


def test_a_guess_may_be_a_choice(monkeypatch):
    monkeypatch.setattr(Toy, "answers", ("more", "less"))
    panel = Panel(Toy(), predict="more or less?")
    panel.answer.value = "less"
    panel.box.children[2].children[0].click()
    assert "guessed ('less',)" in panel.alt
    panel.close()


def test_closing_leaves_no_widget_behind():
    Panel(Toy()).close()
    before = len(_instances)
    Panel(Toy())
    assert len(_instances) > before + 30
    before = len(_instances)
    for question in (None, "how many?"):
        Panel(Toy(), predict=question).close()
    revealed = Panel(Toy(), predict="how many?")
    revealed.box.children[2].children[1].click()
    revealed.close()
    assert len(_instances) == before


def test_the_same_cell_run_again_closes_its_predecessor(monkeypatch):
    class Shown:
        closed = False

        def close(self):
            self.closed = True

    class Kernel:
        parent = {"metadata": {"cellId": "a cell of this test"}, "header": {"msg_id": "first"}}

        def get_parent(self):
            return self.parent

    class Shell:
        kernel = Kernel()

    monkeypatch.setattr(registry, "get_ipython", Shell)
    one, two, three = Shown(), Shown(), Shown()
    registry.show_alone(one, "toy")
    registry.show_alone(two, "toy")
    assert not one.closed  # two panels of one run live side by side
    monkeypatch.setitem(Kernel.parent, "header", {"msg_id": "second"})
    registry.show_alone(three, "toy")
    assert one.closed and two.closed and not three.closed


def test_two_threads_end_with_the_newest_picture(panel):
    def drag(values):
        for value in values:
            panel.hands["rate"].set(value)

    threads = [threading.Thread(target=drag, args=([0.25, 0.5, 0.75] * 10,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
    assert panel.alt == panel.view.update(**panel.values()) and panel.alt in panel.readout.value


def test_the_mimebundle_serves_readers_with_and_without_a_kernel(panel):
    data, metadata = panel._repr_mimebundle_()
    assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == panel.box.model_id
    assert data["text/plain"] == metadata["image/png"]["alt"] == panel.alt
    assert data["image/png"] == panel._repr_mimebundle_()[0]["image/png"]
    assert (metadata["image/png"]["width"], metadata["image/png"]["height"]) == (720, 400)


def test_a_classroom_picture_is_larger_and_its_scale_checked(monkeypatch):
    monkeypatch.setenv(style.SCALE_VARIABLE, "1")
    style.classroom(1.5)
    assert Toy().figure.canvas.get_width_height() == (1080, 600)
    with pytest.raises(ValueError, match="picture scale 9 is not understood; allowed are numbers from 1 to 3"):
        style.classroom(9)
    assert Toy().figure.canvas.get_width_height() == (720, 400)
