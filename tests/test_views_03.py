"""What the pictures of notebook 03 say follows the functions and the rows they are given."""

import numpy as np
import pytest

from helpers.views import degradation, training


def rows(step, depth, error):
    """Two nets, plain and residual, as an experiment yields them."""
    layers = {"moved": [step / 100] * depth, "gradient": [1.0] * depth, "share": [1.0] * depth}
    both = [{"depth": depth, "skip": skip, "step": step, **layers} for skip in (0, 1)]
    return [row | {"train_error": error + row["skip"], "test_error": 50.0} for row in both]


def test_what_is_fed_is_drawn_and_said():
    view = training.Curves()
    for step, error in ((0, 90.0), (20, 40.0)):
        view.feed(rows(step, 8, error))
    said = view.update(**view.read("depth=8"))
    assert "Trained here, 20 steps, three seeds each: plain 40.0 %, residual 41.0 %." in said
    assert view.here[0].get_xydata().tolist() == [[0, 90], [20, 40]]
    assert view.here[1].get_xydata().tolist() == [[0, 91], [20, 41]]
    assert set(view.lines[0].get_ydata()) == {0.2}


def test_a_net_that_overflows_is_drawn_as_far_as_it_goes():
    view = training.Curves()
    view.feed([row | {"moved": [float("nan")] * 8} for row in rows(20, 8, 90.0)])
    assert "plain 90.0 %" in view.update(**view.read("depth=8"))
    assert np.isfinite(view.right.get_ylim()).all()


def test_rows_of_another_depth_are_kept_for_it():
    view = training.Curves()
    view.feed(rows(0, 8, 90.0))
    assert "Trained here" not in view.update(**view.read("depth=20"))
    assert "Trained here" in view.update(**view.read("depth=8"))
    view.feed(None)
    assert "Trained here" not in view.update(**view.read("depth=8"))


def test_a_typed_band_is_the_one_drawn():
    view = degradation.Degradation(idea=lambda errors: (np.min(errors, 0), np.max(errors, 0), np.max(errors, 0)))
    worst = view.truth(**view.read("skip=off"))
    assert worst > degradation.Degradation().truth(**view.read("skip=off"))
    assert f"training error {worst:.1f} %" in view.update(**view.read("skip=off"))


def test_a_guess_is_drawn_and_told_how_far_it_is_off():
    view = degradation.Degradation()
    values = view.read("skip=off")
    view.guess = (view.truth(**values) + 5, 0.0)
    assert f"is off by 5.0, {view.truth(**values):.1f} points" in view.update(**values)
    assert view.guesses.get_xydata().tolist() == [[56, view.guess[0]], [56, 0]]


def test_layers_that_are_not_the_identity_change_the_scores():
    view = training.Inserted(idea=lambda width, skip: 0.9 * np.eye(width))
    assert "largest change of a score is 0," not in view.update(**view.read("skip=off"))
    assert "largest change of a score is 0," in training.Inserted().update(**view.read("skip=off"))


@pytest.mark.parametrize("name", degradation.VARIANTS)
def test_the_second_difference_is_named(name):
    view = degradation.Degradation()
    said = view.update(**view.read(f"variant={name}"))
    assert ("Nothing but + I differs" in said) == (name in ("unscaled", "batch-norm"))
