"""What pictures say must follow the function that runs, not the switch beside it."""

import numpy as np
import pytest

from helpers.views import equation, start, style


def test_a_typed_block_without_a_copy_shows_no_plus():
    view = equation.Stack(idea=lambda x, F, skip=1.0, scale=1.0: scale * F(x))
    readout = view.update(**view.read("skip=on"))
    assert "plain" in readout and not view.plus.get_visible() and not view.diagram.sign.get_visible()
    assert view.diagram.output.get_text() == "y = F(x)"


def test_a_typed_block_that_halves_its_copy_says_so():
    view = equation.Stack(idea=lambda x, F, skip=1.0, scale=1.0: 0.5 * skip * x + scale * F(x))
    view.update(**view.read("skip=on scale=0.5"))
    assert view.diagram.output.get_text() == "y = 0.5 x + 0.5 F(x)" and view.diagram.skip_label.get_text() == "× 0.5"


@pytest.mark.parametrize("line", ["skip=on", "skip=off"])
def test_the_plus_is_there_exactly_with_the_copy(line):
    for view in (equation.Stack(), equation.Derivative()):
        view.update(**view.read(line))
        assert view.plus.get_visible() == (line == "skip=on")


def test_an_arrow_comes_back_through_the_block_that_was_typed():
    view = start.Towers(idea=lambda x, F, skip=1.0, scale=1.0: x + scale * F(x))
    readout = view.update(**view.read("skip=off"))
    lengths = [[words.get_text() for words in tower["returns"]] for tower in view.towers]
    assert lengths[0] == lengths[1] and float(lengths[0][0]) > 1, readout


def test_a_typed_correction_is_the_one_shown():
    view = equation.Target(idea=lambda target, x, skip=1.0: target + 0 * x)
    assert "F must learn 0.8 x" in view.update(**view.read("skip=on delta=0.2"))


def test_a_typed_nudge_is_the_one_shown():
    view = equation.Derivative(idea=lambda f, x, h=1e-5: np.zeros((64, 64)))
    assert "y moves 0 times as far" in view.update(**view.defaults())


def test_a_guess_is_told_how_far_it_is_off():
    view = equation.Target()
    view.guess = (4.0, 32.0, -1.0)
    assert "16 times higher; your guess (grey diamond) is off by a factor 4, 2, infinite." in view.update(
        **view.defaults()
    )
    assert "infinite times higher" in view.update(**view.read("delta=0"))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.25, "0.25"),
        (-0.0, "0"),
        (-2.5, "−2.5"),
        (999.7, "1,000"),
        (1400, "1,400"),
        (9999.7, "1×10⁴"),
        (8.6e4, "8.6×10⁴"),
        (2.2e-16, "2.2×10⁻¹⁶"),
        (-3e-7, "−3×10⁻⁷"),
        (np.inf, "infinite"),
        (np.nan, "not a number"),
    ],
)
def test_numbers_are_written_as_a_reader_would(value, words):
    assert style.number(value) == words
