"""Notebook 02: what is typed there, and the half-truths that its pictures refute within two moves."""

import subprocess
import sys

import numpy as np
import pytest

from helpers.maths import blocks, gradients, store
from helpers.views import gradient, ladder
from tests.notebooks import ROOT
from tests.test_blocks import typed

NAME = "02_gradient_product.ipynb"


@pytest.mark.parametrize("skip", [0.0, 0.5, 1.0])
def test_typed_functions_are_those_of_the_house(skip):
    rng = np.random.default_rng(0)
    J, arrow, F = rng.standard_normal((64, 64)), rng.standard_normal(64), blocks.layers("feed-forward", 1)[0]
    block, step_back = typed(NAME, "a-forward-idea", "block"), typed(NAME, "a-idea", "step_back")
    assert np.array_equal(block(arrow, F, skip, 0.3), blocks.block(arrow, F, skip, 0.3))
    assert np.array_equal(step_back(arrow, J, skip, 0.3), gradients.step_back(arrow, J, skip, 0.3))
    factor = typed(NAME, "b-idea", "factor")(J, skip, 0.3)
    assert np.array_equal(factor, gradients.factor(J, skip, 0.3))
    assert np.allclose(factor.T @ arrow, step_back(arrow, J, skip, 0.3))


@pytest.mark.parametrize(
    ("view", "standard"), [(gradient.Arrow, "step_back"), (gradient.Spectrum, "factor"), (gradient.Route, "factor")]
)
def test_an_edited_function_changes_the_picture(view, standard):
    house = getattr(gradients, standard)
    usual, edited = view(idea=house), view(idea=lambda *arguments: 2 * house(*arguments))
    values = usual.defaults()
    assert usual.update(**values) == view().update(**values)
    assert usual.update(**values) != edited.update(**values)


def after(view, *moves):
    """Return a fresh ``view`` and its values after each of at most two ``moves`` of one control from the defaults."""
    assert len(moves) <= 2 and all(" " not in move for move in moves)
    made = view()
    return made, made.read(" ".join(moves))


def test_half_truth_1_the_identity_can_be_cancelled():
    view, values = after(gradient.Route, "J=minus-identity", "scale=1")
    assert values["skip"] == 1 and values["depth"] > 1
    assert "the direct route is 1 times I" in view.update(**values)
    assert "the whole product has size 0." in view.update(**values)
    assert [words.get_text() for words in view.sizes] == ["0", "1", "1"]
    assert view.pictures[2].get_array()[0, 0] == -1  # white: the other routes are -I


def test_half_truth_2_plain_layers_need_not_shrink():
    view, values = after(gradient.Arrow, "skip=off")
    assert view.curves(**values)[0][-1] < -2
    view, values = after(gradient.Arrow, "skip=off", "gain=1.2")
    assert view.curves(**values)[0][-1] > 3
    view, values = after(gradient.Spectrum, "skip=off")
    view.update(**values)
    shares, edges, _ = view.bars.get_data()
    assert shares[edges[:-1] > 1].sum() > 0.2


def test_half_truth_3_residual_stacks_explode():
    view, values = after(gradient.Arrow, "depth=1000")
    one, draws, typical, mean = view.curves(**values)
    assert min(one[-1], draws[-1].min(), typical[-1], mean[-1]) > 100  # powers of ten
    view, values = after(gradient.Arrow, "depth=1000", "scale=1/sqrt(depth)")
    assert abs(view.curves(**values)[0][-1]) < 1


@pytest.mark.parametrize(("skip", "scale"), [(True, "1"), (False, "1"), (True, "1/sqrt(depth)"), (False, "0")])
def test_the_arrow_shows_its_closed_forms(skip, scale):
    view = gradient.Arrow()
    one, draws, typical, mean = view.curves(depth=200, skip=skip, gain=0.9, scale=scale)
    s = {"1": 1.0, "1/sqrt(depth)": 200**-0.5, "0": 0.0}[scale]
    assert len(one) == 201 and one[0] == mean[0] == typical[0] == 0
    if scale == "0":
        assert one[-1] == draws[-1].max() == mean[-1] == typical[-1] == -np.inf
    else:
        assert np.isclose(mean[-1], 100 * np.log10(skip + (0.9 * s) ** 2))
        assert abs(np.median(draws[-1]) - typical[-1]) < draws[-1].std() / 4


def test_a_guess_is_drawn_and_judged():
    view = gradient.Arrow()
    view.guess = (0.5, 1e20)
    words, truth = view.update(**view.defaults()), view.truth(**view.defaults())
    assert 1e6 < truth < 1e8
    assert "times too short" in words and "times too long" in words
    assert list(view.guesses.get_ydata()) == [np.log10(0.5), view.ax.get_ylim()[1]]


def test_axes_change_by_rungs_only():
    assert [ladder.rung(value) for value in (0, 1, 1.1, 56, 1000, 9e9)] == [1, 1, 2, 100, 1000, 5000]
    assert ladder.decades(np.array([-0.2, -np.inf, 3.3])) == (-1, 5)
    view = gradient.Arrow()
    view.update(**view.defaults())
    view.figure.canvas.draw()
    view.update(**view.read("depth=57"))
    assert not view.figure.stale  # the background stays


def test_numbers_beyond_every_float_have_words():
    assert [ladder.ten(power) for power in (-np.inf, 0, -2500, 400.2)] == ["0", "1", "10⁻²⁵⁰⁰", "10⁴⁰⁰"]


def test_labels_do_not_touch():
    placed = ladder.apart(np.array([10.0, 10.0, 12.0, 90.0]), gap=17)
    assert (np.diff(np.sort(placed)) >= 17 - 1e-9).all()


def test_a_thousand_layers_fit_into_a_small_kernel():
    script = (
        "import psutil; from helpers.views.gradient import Arrow; from helpers.widgets.explore import Panel;"
        "panel = Panel(Arrow(), 'depth=1000');"
        "[panel.hands['gain'].set(gain) for gain in (0.1, 0.5, 1.0, 2.0)];"
        "print(panel.alt.split(',')[0], psutil.Process().memory_info().rss)"
    )
    ran = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    words, _, resident = ran.stdout.rpartition(" ")
    assert words == "Back through 1000 residual layers" and int(resident) < 150e6, ran.stdout


def test_the_digit_fades_as_the_text_says():
    view = gradient.Forward()
    assert "cosine -0.12 with itself" in view.update(**view.read("depth=4 skip=off"))
    assert "cosine 0.63 with itself" in view.update(**view.read("depth=4 skip=on"))
    assert "cosine 0.20 with itself" in view.update(**view.read("depth=4 skip=on scale=1"))


def test_digits_grow_by_up_to_half_as_much_again_in_the_first_layer():
    digits = np.array([store.digit(which) for which in range(10)])
    above = np.square(np.maximum(digits, 0)).sum(1) / np.square(digits).sum(1)
    assert 2 * above.min() > 1.0 and 1.45 < 2 * above.max() < 1.6
