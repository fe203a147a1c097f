"""Notebook 04: the numbers in its text are those of its pictures."""

import numpy as np
import pytest

from helpers.maths import tokens
from helpers.views import order, transformer


def test_the_identity_path_of_post_ln_ends_where_the_text_says():
    view = order.AtDepth()
    values = view.read("order=copy,sublayer,add,norm depth=24 skip=on weights=ones")
    assert "0.0111 along the identity path alone" in view.update(**values)
    on_paper = (2 / 3) ** 12
    assert on_paper == pytest.approx(0.008, abs=0.0005)
    assert 1.4 < 0.0111 / on_paper < 1.5, "about one and a half times"


def test_the_exponent_of_the_distance_is_multiplied_from_layer_to_layer():
    exponents = np.log10(tokens.collapse(3, transformer.Alike.DRAWS, skip=0.0).mean(0))[1:]
    assert exponents == pytest.approx([-0.1, -1.5, -5.6], abs=0.05)
    assert exponents[1] > np.log10(1e-3) > exponents[2], "below a thousandth after three layers"


def test_a_closed_form_is_announced_only_where_one_is_drawn():
    view = order.AtDepth()
    for line in view.presets.values():
        view.update(**view.read(line))
        assert view.dashed.get_visible() == any(form.get_visible() for form in view.forms), line


def test_a_block_has_its_line_and_a_norm_on_the_road_breaks_it():
    view = transformer.Wrapped()
    for line, dashed in (("blocks=6 order=pre-LN", False), ("blocks=3 order=post-LN", True)):
        values = view.read(line)
        view.update(**values)
        assert np.isnan(view.brackets.get_xdata()).sum() == values["blocks"], "one line each"
        assert (view.road.get_linestyle() != "-") == dashed
