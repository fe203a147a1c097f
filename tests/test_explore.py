"""The hands around a toy view that has every kind of control: no browser, no residual connection."""

import io
import sys
import threading

import numpy as np
import pytest
from ipywidgets.widgets.widget import _instances
from PIL import Image

from helpers.views import style
from helpers.widgets import registry
from helpers.widgets.explore import Panel
from tests.every_kind import EveryKind


class Toy(EveryKind):
    """Every kind of control, and a view that refuses one choice and breaks at one number."""

    presets = {"deep": "depth=6 layers=2,5", "nothing": "layers=none pieces=none"}

    def truth(self, strength, **_):
        return 2 * strength

    def update(self, **values):
        if values["order"] == "none":
            raise ValueError("order is none; allowed are pre and post.")
        if values["strength"] == 2:
            raise ZeroDivisionError("strength")
        self.drawn = values
        return super().update(**values) + (f" Guessed {self.guess}." if self.guess else "")


@pytest.fixture
def panel():
    made = Panel(Toy())
    yield made
    made.close()


def test_every_hand_moves_the_picture_and_the_setting(panel):
    moves = {"depth": 5, "rate": 1.0, "stored": 4, "strength": 1.2, "skip": False, "layer": 4, "order": "post"}
    moves |= {"layers": (1, 4, 5), "pieces": ("norm",)}
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
    assert panel.view.drawn["layers"] == (1, 2)
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
        ("stored=3", "stored takes one of 1, 2, 4, 6."),
        ("skip=maybe", "skip is on or off."),
        ("order=three", "order takes one of pre, post, none."),
        ("layers=4", "layers=4 does not fit; depth is 3."),
        ("pieces=copy,glue", "pieces takes up to 3 of copy, norm, add."),
        ("strength=nan", "strength=nan does not fit; strength takes numbers from 0 to 2."),
    ],
)
def test_a_bad_setting_gets_a_sentence_and_changes_nothing(panel, line, sentence):
    image, values = panel.image.value, panel.values()
    panel.setting.value = line
    assert sentence in panel.readout.value and "It shows depth=3" in panel.readout.value
    assert panel.image.value == image and panel.values() == values
    assert panel.setting.value == line  # what was typed can be mended


def test_a_pasted_setting_moves_every_hand_and_draws_once(panel, monkeypatch):
    drawn = []
    update = panel.view.update
    monkeypatch.setattr(panel.view, "update", lambda **values: drawn.append(values) or update(**values))
    panel.setting.value = "depth=6 layer=6 layers=6 pieces=add,copy,norm strength=1.7 skip=off"
    assert len(drawn) == 1 and drawn[0]["layers"] == (6,) and drawn[0]["pieces"] == ("add", "copy", "norm")
    assert panel.setting.value == panel.view.line(drawn[0])


def test_preset_and_reset(panel):
    panel.hands["strength"].set(1.5)
    panel.preset.value = "deep"
    assert panel.view.drawn["layers"] == (2, 5) and panel.view.drawn["strength"] == 1
    panel.hands["depth"].set(5)
    assert panel.preset.value == ""
    panel.preset.value = "nothing"
    assert panel.view.drawn["pieces"] == () and "layers=none pieces=none" in panel.setting.value
    panel.reset.click()
    assert panel.values() == panel.start


def test_a_stop_between_two_snaps_to_the_nearest():
    panel = Panel(Toy(), "rate=0.057")
    assert abs(panel.values()["rate"] - 0.057) <= 0.006 and f"rate={panel.values()['rate']:g}" in panel.setting.value
    panel.close()


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("order", "none", "order is none; allowed are pre and post."),
        ("strength", 2.0, "This could not be drawn, ZeroDivisionError: strength."),
    ],
)
def test_an_error_in_the_view_is_a_sentence_and_the_picture_stays(panel, name, value, sentence):
    image = panel.image.value
    panel.hands[name].set(value)
    assert sentence in panel.readout.value and panel.image.value == image
    panel.reset.click()
    assert "could not" not in panel.readout.value


def test_the_first_picture_may_fail_with_a_sentence():
    panel = Panel(Toy(), "order=none")
    assert "order is none; allowed are pre and post." in panel.readout.value and panel.image.value == ""
    assert "still the last" not in panel.readout.value
    assert "image/png" not in panel._repr_mimebundle_()[0]
    panel.hands["order"].set("pre")
    assert "<img" in panel.image.value
    panel.close()


def test_what_a_library_says_is_named_and_so_is_an_error_while_drawing(panel, monkeypatch):
    def reshape(**values):
        raise ValueError("cannot reshape array of size 32 into shape (8,8)")

    with monkeypatch.context() as patch:
        patch.setattr(panel.view, "update", reshape)
        panel.hands["depth"].set(4)
        assert "could not be drawn, ValueError: cannot reshape array" in panel.readout.value
    with monkeypatch.context() as patch:
        patch.setattr(panel.view, "limits", lambda **values: 1 / 0)
        panel.hands["depth"].set(5)
        assert "could not be drawn, ZeroDivisionError: division by zero." in panel.readout.value
    monkeypatch.setattr(panel.picture, "draw", lambda: [][0])
    panel.hands["depth"].set(6)
    assert "could not be drawn, IndexError" in panel.readout.value


def test_a_range_opens_again_when_nothing_narrows_it(panel, monkeypatch):
    panel.hands["depth"].set(2)
    assert panel.hands["layer"].widget.max == 2
    monkeypatch.setattr(panel.view, "limits", lambda **values: {})
    panel.hands["strength"].set(1.3)
    assert panel.hands["layer"].widget.max == 6


def test_slow_pictures_move_on_release(panel, monkeypatch):
    monkeypatch.setattr(sys.modules[Panel.__module__], "SLOW", 0)
    panel.hands["strength"].set(1.3)
    assert not panel.hands["depth"].widget.continuous_update
    monkeypatch.setattr(sys.modules[Panel.__module__], "SLOW", 1e9)
    panel.hands["strength"].set(1.4)
    assert panel.hands["depth"].widget.continuous_update and panel.hands["rate"].widget.continuous_update


def test_only_what_moves_is_drawn_again(panel, monkeypatch):
    draws = []
    draw = panel.picture.canvas.draw
    monkeypatch.setattr(panel.picture.canvas, "draw", lambda: draws.append(1) or draw())
    panel.hands["depth"].set(4)
    assert not draws
    panel.view.figure.axes[0].set_title("changed")
    panel.hands["depth"].set(5)
    assert len(draws) == 1


def test_a_guess_is_drawn_where_it_was_made():
    panel = Panel(Toy(), predict="how many?")
    assert panel.image not in panel.box.children and "Guessed" not in panel.readout.value
    for word in ("lots", "", "inf", "1 nan"):
        panel.answer.value = word
        panel.box.children[2].children[0].click()
        assert f"“{word}” is not understood; type a number" in panel.complaint.value
    panel.answer.value = "0.3 0,5 2"
    panel.box.children[2].children[0].click()
    assert "Guessed (0.3, 0.5, 2.0)" in panel.readout.value and panel.image in panel.box.children
    panel.hands["depth"].set(4)
    assert "Guessed" not in panel.readout.value
    panel.hands["depth"].set(3)
    assert "Guessed" in panel.readout.value
    panel.close()


def test_a_guess_may_be_declined():
    panel = Panel(Toy(), predict="how many?")
    panel.box.children[2].children[1].click()
    assert panel.image in panel.box.children and "Guessed" not in panel.readout.value
    panel.close()


def test_a_guess_may_be_a_choice(monkeypatch):
    monkeypatch.setattr(Toy, "answers", ("more", "less"))
    panel = Panel(Toy(), predict="more or less?")
    panel.answer.value = "less"
    panel.box.children[2].children[0].click()
    assert "Guessed ('less',)" in panel.alt
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
            panel.hands["strength"].set(value)

    threads = [threading.Thread(target=drag, args=([0.2, 0.5, 0.7] * 10,)) for _ in range(2)]
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


def test_the_png_holds_the_pixels_of_the_canvas(panel):
    seen = []
    for level, depth in ((1, 2), (6, 3), (1, 1)):
        panel.hands["depth"].widget.value = depth
        shown = np.array(panel.picture.canvas.buffer_rgba())[..., :3]
        assert not any(np.array_equal(shown, before) for before in seen), "a new picture each time"
        seen.append(shown)
        decoded = Image.open(io.BytesIO(panel.picture.png(level)))
        decoded.verify()  # checksums
        assert np.array_equal(np.asarray(Image.open(io.BytesIO(panel.picture.png(level)))), shown)


def test_a_classroom_picture_is_larger_and_its_scale_checked(monkeypatch):
    monkeypatch.setenv(style.SCALE_VARIABLE, "1")
    style.classroom(1.5)
    assert Toy().figure.canvas.get_width_height() == (1080, 600)
    with pytest.raises(ValueError, match="picture scale 9 is not understood; allowed are numbers from 1 to 3"):
        style.classroom(9)
    assert Toy().figure.canvas.get_width_height() == (720, 400)
