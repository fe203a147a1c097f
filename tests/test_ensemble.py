"""The pictures of notebook 05: what is drawn is what was computed, and what would mislead is said."""

import numpy as np
import pytest

from helpers.maths import lesions, paths
from helpers.views import ablation, ensemble

NET = {"depth": 20, "scale": 0.5, "seed": 0}


def test_the_tree_draws_every_route_and_the_bars_add_up():
    view = ensemble.Unravelled()
    view.update(depth=5, skip=True, scale=0.5, path=(2, 3))
    around, through, lost = (len(lines.get_segments()) for lines in view.tree)
    assert (around, through, lost) == (31, 31, 0)
    ends = np.array([bar[1, 0] - bar[0, 0] for bar in view.bars.get_segments()])
    assert len(ends) == 32
    assert float(view.share.get_text().split()[0]) / 100 == pytest.approx(ends[0b01100] / ends.sum(), abs=1e-3), (
        "around 1, through 2 and 3, around 4 and 5"
    )


def test_a_plain_stack_has_one_route_and_a_broken_one_ends_at_its_gap():
    view = ensemble.Unravelled()
    assert "1 of 64 routes open" in view.update(depth=6, skip=False, scale=1.0, path=(1, 2, 3, 4, 5, 6))
    around, through, lost = (len(lines.get_segments()) for lines in view.tree)
    assert (around, through, lost) == (0, 6, 120)
    assert not view.stop.get_visible()
    assert "no way around" in view.update(depth=6, skip=False, scale=1.0, path=(1, 2, 3, 5, 6))
    assert view.stop.get_visible()
    assert len(view.lit.get_xdata()) == 4, "x and what three layers leave"


@pytest.mark.parametrize("skip", [True, False])
def test_a_function_typed_wrong_shows(skip):
    view = ensemble.Unravelled(idea=lambda v, layers, through, skip, scale: 0 * v)
    assert "differ from the forward pass by 1 of it." in view.update(depth=3, skip=skip, scale=0.5, path=())


def test_lengths_hold_the_guess_against_what_is_measured():
    view = ensemble.Lengths()
    view.guess = (27.0,)
    words = view.update(depth=54, skip=True, scale=0.5)
    assert f"Your guess (diamond): 27; it is {view.truth(depth=54, skip=True, scale=0.5):.1f} by energy." in words
    assert "0.454 % of the routes" in words


def test_guesses_stay_in_the_picture():
    lengths, lost = ensemble.Lengths(), ablation.Lesions()
    lengths.guess, lost.guess = (-3.0, 500.0), (-5.0, 150.0)
    lengths.update(depth=20, skip=True, scale=0.5)
    assert list(lengths.guesses.get_xdata()) == list(lengths.ax.get_xlim())
    lost.update(**NET, out=())
    assert list(lost.guesses.get_ydata()) == [0, 100]


def test_the_gradient_of_a_plain_net_is_all_of_one_length():
    words = ensemble.Gradient().update(depth=20, skip=False, trained=True, seed=0)
    assert "20.0 by the exact split" in words
    assert "times the exact norm" not in words


def test_every_digit_counts_alike_in_the_split_of_the_gradient():
    seen = []
    view = ensemble.Gradient(idea=lambda back, *rest: seen.append(back) or paths.by_length(back, *rest))
    view.update(depth=20, skip=True, trained=True, seed=0)
    np.testing.assert_allclose(np.linalg.norm(seen[0], axis=-1), np.ones(32))


def test_lesions_take_out_what_the_switches_say():
    view = ablation.Lesions()
    view.update(**NET, out=(3, 8))
    order = [layer for layer in range(20) if layer not in (2, 7)]
    nets = lesions.stored("lesions_20.npz")[2]
    everyone = lesions.accuracy(nets, order)
    for skip, mark in enumerate(view.here):
        mine = lesions.where(nets.columns(), skip=skip, scale=0.5, seed=0)
        assert mine.sum() == 1
        assert mark.get_data()[0] == [2]
        assert mark.get_data()[1] == pytest.approx(100 * everyone[mine])
    assert len(view.gone.get_segments()) == 2
    whole = 100 * lesions.accuracy(nets.only(lesions.where(nets.columns(), scale=0.5, seed=0)))
    assert "the same nets with none out: {:.1f} and {:.1f} %".format(*whole) in view.update(**NET, out=(3, 8))
    view.update(**NET, out=tuple(range(1, 21)))
    assert len(view.gone.get_segments()) == 0, "under everything a bar marks nothing"


@pytest.mark.parametrize("line, proves", [("depth=20", True), ("depth=8", False), ("depth=20 scale=0.2236", False)])
def test_a_study_without_its_control_is_called_out(line, proves):
    view = ablation.Lesions()
    assert ("proves nothing" in view.update(**view.read(line))) != proves


def test_only_what_is_stored_can_be_asked_for():
    view = ablation.Lesions()
    for line in ("depth=8 scale=1", "scale=1 seed=3", "depth=8 out=9"):
        with pytest.raises(ValueError, match="does not fit"):
            view.read(line)


def test_what_is_trained_here_is_drawn_and_forgotten():
    view, shown = ablation.Study(), {"depth": 8, "scale": 0.5}
    config = view.config(**shown) | {"steps": 2, "batch": 16, "every": 1}
    assert set(config["scale"]) == {0.5} and len(config["seed"]) == 10
    stored = view.update(**shown)
    view.feed(None)
    for _, _, rows in lesions.train(**config):
        view.feed(rows)
        words = view.update(**shown)
        assert view.title.get_text() == "trained here"
    assert len(view.bands[1].line.get_xdata()) == 9
    assert words != stored
    view.update(depth=20, scale=0.5)
    assert view.title.get_text().startswith("stored"), "other nets than those trained here"
    view.feed(None)
    assert view.update(**shown) == stored
