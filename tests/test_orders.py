"""The builder of notebook 04: every sequence of up to five pieces, against rules that share no code with it."""

import itertools
import re

import numpy as np
import pytest

from helpers.maths import orders, signals, store, tokens
from helpers.views.order import Builder
from helpers.views.transformer import Wrapped
from tests.test_blocks import typed

LETTERS = dict(zip("cnas+", orders.PIECES, strict=True))
SEQUENCES = ["".join(letters) for count in range(6) for letters in itertools.product(LETTERS, repeat=count)]
RESIDUAL = re.compile(r"([na]*)c([na]*s[nas]*)\+([na]*)")
NAMED = {
    "cns+": "pre-LN", "cs+n": "post-LN", "csn+": "output-norm", "cnsn+": "sandwich (Peri-LN)",
    "cs+": "bare residual block",
    "csn+a": "original ResNet", "cs+na": "norm after addition", "csna+": "ReLU before addition",
    "casn+": "ReLU-only pre-activation", "cnas+": "full pre-activation",
}  # fmt: skip
PUBLISHED = {
    "csn+a": (6.61, 5.93),
    "cs+na": (8.17, 6.50),
    "csna+": (7.84, 6.14),
    "casn+": (6.71, 5.91),
    "cnas+": (6.37, 5.46),
}
X = np.array([1.5, -0.5, 2.0])
STEPS = {"s": lambda x: x[::-1] * 3 - 1, "n": lambda x: x / np.abs(x).max(), "a": lambda x: np.where(x > 0, x, 0)}


def pieces(letters):
    return tuple(LETTERS[letter] for letter in letters)


def run(order, x=X, skip=1.0, scale=1.0):
    return orders.run(order, x, STEPS["s"], STEPS["n"], STEPS["a"], skip, scale)


def composed(letters, x):
    for letter in letters:
        x = STEPS[letter](x)
    return x


def test_there_are_3906_sequences():
    assert len(SEQUENCES) == len(set(SEQUENCES)) == 3906


def test_every_sequence_gets_the_right_verdict():
    for letters in SEQUENCES:
        found, match = orders.verdict(pieces(letters)), RESIDUAL.fullmatch(letters)
        assert found.residual == bool(match), letters
        assert bool(found.reason) != found.residual, letters
        assert found.name == NAMED.get(letters, ""), letters
        assert found.errors == PUBLISHED.get(letters, ()), letters
        if match:
            assert found.road == pieces(match[1] + match[3]), letters


def test_every_residual_sequence_adds_the_copy_to_what_the_branch_makes_of_it():
    for letters in filter(RESIDUAL.fullmatch, SEQUENCES):
        before, branch, after = RESIDUAL.fullmatch(letters).groups()
        for skip, scale in [(1.0, 1.0), (0.0, 1.0), (1.7, 0.3), (1.0, 0.0)]:
            kept = composed(before, X)
            expected = composed(after, skip * kept + scale * composed(branch, kept))
            values = run(pieces(letters), X, skip, scale)
            assert len(values) == len(letters)
            np.testing.assert_array_equal(values[-1], expected, letters)


def test_every_sequence_runs_piece_by_piece_or_says_why_not():
    for letters in SEQUENCES:
        if "+" in letters and "c" not in letters[: letters.index("+")]:
            with pytest.raises(ValueError, match=r"^This order cannot be run: add finds no copy\.$"):
                run(pieces(letters))
            continue
        now, kept = X, None
        for letter, value in zip(letters, run(pieces(letters)), strict=True):
            if letter == "c":
                kept = now
            now = kept + now if letter == "+" else now if letter == "c" else STEPS[letter](now)
            np.testing.assert_array_equal(value, now, letters)


REASONS = {
    "": "no sublayer", "cn+": "no sublayer", "s": "plain layer", "cs": "never added", "s+": "no copy",
    "s+c": "before copy",
    "ccs+": "2 pieces “copy”", "cs++": "2 pieces “add”", "scn+": "between copy and add", "cs+s": "on the main road",
    "scs+": "on the main road",
}  # fmt: skip


@pytest.mark.parametrize("letters", REASONS)
def test_a_refusal_names_what_is_wrong(letters):
    assert REASONS[letters] in orders.refusal(pieces(letters))


def test_bad_orders_get_a_sentence():
    with pytest.raises(ValueError, match=r"“dropout” is not a piece; allowed are copy, .*\.$"):
        orders.verdict(["copy", "dropout"])
    with pytest.raises(ValueError, match=r"has 6 pieces; allowed are at most 5\.$"):
        orders.verdict(["copy"] * 6)
    with pytest.raises(ValueError, match=r"equal widths, but the copy has 3 and the sublayer wrote 1\.$"):
        orders.run(orders.BARE, X, lambda x: x[:1], None, None)


@pytest.mark.parametrize(
    "order", [*orders.NAMES, ("sublayer", "norm", "activation"), ("norm", "copy", "sublayer", "add")]
)
@pytest.mark.parametrize(("skip", "scale"), [(1.0, 1.0), (0.0, 1.0), (1.3, 0.4)])
def test_the_arrow_sent_back_is_the_slope_by_nudging(order, skip, scale):
    rng = np.random.default_rng(3)
    layers, x, arrow = signals.draw_layers(3, 12, seed=1), rng.normal(size=12), rng.normal(size=12)

    def top(x, road_only=False):
        for W in layers:
            write = lambda v, W=W: signals.forward("sublayer", v, W)[0]  # noqa: E731
            x = orders.run(order, x, write, signals.layer_norm, tokens.relu, skip, scale)[-1]
        return x

    found = signals.measure(order, layers, x, arrow, skip, scale)
    nudges = 1e-5 * np.eye(12)
    slope = [(top(x + nudge) - top(x - nudge)) @ arrow / 2e-5 for nudge in nudges]
    assert found.total[0] == pytest.approx(np.linalg.norm(slope) / np.linalg.norm(arrow), rel=1e-6)
    assert found.stream[-1] == pytest.approx(np.sqrt(np.mean(top(x) ** 2)), rel=1e-12)


def test_closed_forms_are_refused_where_a_relu_leaves_a_mean():
    assert signals.expected(("copy", "sublayer", "norm", "add", "activation"), 4) is None
    assert signals.expected(("copy", "sublayer", "norm", "activation", "add"), 4) is None
    assert signals.expected(("copy", "norm", "activation", "sublayer", "add"), 4) is not None
    with pytest.raises(ValueError, match=r"no residual block: there is no copy to add\.$"):
        signals.measure(("sublayer", "add"), signals.draw_layers(1, 4), np.ones(4), np.ones(4))


@pytest.mark.parametrize("kind", tokens.KINDS)
def test_sublayers_keep_the_shape_and_know_their_widths(kind):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 5, 16))
    for part in tokens.sublayers(kind, 16, rng, memory=x):
        assert part(x).shape == x.shape
        assert (part.reads, part.writes) == (16, 16)
    with pytest.raises(ValueError, match="allowed are"):
        tokens.sublayers("convolution", 16, rng)


def test_the_notebook_types_what_the_house_runs():
    run_typed = typed("04_block_order.ipynb", "a-idea", "run")
    for letters in filter(RESIDUAL.fullmatch, SEQUENCES):
        steps = STEPS["s"], STEPS["n"], STEPS["a"], 1.2, 0.7
        both = run_typed(pieces(letters), X, *steps), orders.run(pieces(letters), X, *steps)
        np.testing.assert_array_equal(*both, letters)
    passed = typed("04_block_order.ipynb", "b-idea", "passed")
    for order in orders.NAMES:
        assert passed(order[1:-1], 1.7) == pytest.approx(signals.passed(order[1:-1], 1.7))
    blocks = [tokens.sublayers(kind, 16, np.random.default_rng(0), np.ones((5, 16))) for kind in tokens.KINDS]
    assert typed("04_block_order.ipynb", "c-idea", "transformer")(blocks, orders.PRE_LN) == tokens.transformer(
        blocks, orders.PRE_LN
    )


def test_every_row_of_the_table_has_a_source_and_the_right_verdict():
    rows = store.rows("orders.json", "name", "year", "order", "skip", "how", "source")
    assert len({row["name"] for row in rows}) == len(rows) >= 12
    assert sum(not row["skip"] for row in rows) >= 3
    for row in rows:
        assert re.search(
            r"arXiv \d{4}\.\d{5}|arXiv 170\d\.\d{5}|github\.com/\S+, \S+\.py|report 20\d\d, section \d", row["source"]
        ), row
        verdict = orders.verdict(row["order"])
        assert verdict.residual == row["skip"], row["name"]
        assert bool(verdict.name) == row["skip"], row["name"]


def test_a_damaged_table_gets_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "FOLDER", tmp_path)
    for content, words in ((None, "is missing"), ("[{", "is damaged"), ('[{"name": "x"}]', "lacks source")):
        if content:
            (tmp_path / "orders.json").write_text(content)
        with pytest.raises(store.DataError, match=f"data/orders.json {words}.*git checkout"):
            store.rows("orders.json", "name", "source")


def test_a_plus_is_drawn_only_where_a_copy_is_added():
    view = Builder()
    for letters in SEQUENCES:
        for skip in (1.0, 0.0) if RESIDUAL.fullmatch(letters) else (1.0,):
            view.update(pieces(letters), skip, 1.0)
            drawn = [box.get_text() for box in view.boxes if box.get_visible()]
            joined = bool(RESIDUAL.fullmatch(letters)) and skip != 0
            assert ("+" in drawn) == joined == view.road.get_visible(), letters


def test_the_road_is_the_copy_that_arrives_in_what_is_typed():
    for share in (0.0, 0.5):
        view = Builder(lambda *given, share=share: orders.run(*given[:5], share))
        view.update(orders.PRE_LN, 1.0, 1.0)
        assert view.road.get_visible() == bool(share)
        assert view.times[0].get_text() == f"× {share:g}"


def test_the_picture_of_the_transformer_follows_what_is_typed():
    def half_wrapped(blocks, order):
        kinds = {"attention": order, "feed-forward": ("norm", "sublayer")}
        return [tokens.Layer(kinds[part.name], part) for block in blocks for part in block]

    for idea, additions in ((None, 12), (half_wrapped, 6)):
        view = Wrapped(idea)
        words = view.update(**view.defaults())
        assert f"{additions} additions" in words
        assert len(view.plus.get_xdata()) == additions
        view.update(**{**view.defaults(), "skip": False})
        assert len(view.plus.get_xdata()) == 0
