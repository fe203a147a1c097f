"""The claims of notebook 04: the order of the pieces, the Transformer block, and what an order does at depth."""

from functools import cache

import numpy as np
import pytest

from helpers.maths import blocks, orders, signals, store, tokens
from helpers.maths.orders import HE_2016, OUTPUT_NORM, POST_LN, PRE_LN, SANDWICH
from tests.test_orders import RESIDUAL, SEQUENCES, pieces

WIDTH, DEPTH = 256, 24


def norm(x):
    """LayerNorm once more, written differently."""
    return (x - np.mean(x)) / np.std(x)


@cache
def at_depth(order, skip, scale, draws, depth=DEPTH, width=WIDTH):
    """Return the `Signals` of ``draws`` stacks of ``depth`` layers, each with its own weights, start and arrow."""
    found = []
    for draw in range(draws):
        rng = np.random.default_rng(1000 + draw)
        x, arrow = rng.normal(size=(2, width))
        layers = signals.draw_layers(depth, width, seed=draw)
        found.append(signals.measure(order, layers, norm(x), arrow, skip, scale))
    return signals.Signals(*map(np.array, zip(*found, strict=True)))


@pytest.mark.claim(
    "C10",
    notebook="04",
    part="a",
    reference="x + F(norm x), norm(x + F x), ...; 61 of 3,906 sequences",
    source="written out; counted by a regular expression",
)
def test_c10_the_builder_names_an_order_and_it_does_what_its_name_says(record):
    W1, W2 = signals.draw_layers(1, 64, seed=2)[0]
    x = np.random.default_rng(0).normal(size=64)

    def F(x):
        return W2 @ np.clip(W1 @ x, 0, None)

    written_out = {
        PRE_LN: (x + F(norm(x)), F(norm(x))),
        POST_LN: (norm(x + F(x)), norm(F(x))),
        OUTPUT_NORM: (x + norm(F(x)), norm(F(x))),
        SANDWICH: (x + norm(F(norm(x))), norm(F(norm(x)))),
    }
    worst = 0.0
    for order, expected in written_out.items():
        for skip, y in zip((1.0, 0.0), expected, strict=True):
            found = orders.run(order, x, F, signals.layer_norm, tokens.relu, skip)[-1]
            worst = max(worst, np.abs(found - y).max())
    residual = [letters for letters in SEQUENCES if orders.verdict(pieces(letters)).residual]
    record("largest difference from the formula written out", worst)
    record("sequences that are residual blocks", len(residual))
    assert worst < 1e-12
    assert residual == list(filter(RESIDUAL.fullmatch, SEQUENCES))
    assert [orders.verdict(order).name for order in written_out] == [
        "pre-LN",
        "post-LN",
        "output-norm",
        "sandwich (Peri-LN)",
    ]


def added(states, layers):
    """Count the layers whose output minus their input is exactly what the sublayer wrote."""
    writes = [layer.sublayer(signals.layer_norm(x)) for x, layer in zip(states, layers, strict=False)]
    return sum(
        np.allclose(after - x, write, atol=1e-9) for x, after, write in zip(states, states[1:], writes, strict=False)
    )


@pytest.mark.claim(
    "C11",
    notebook="04",
    part="c",
    reference="2 N additions; 3 N with cross-attention; N with parallel sublayers",
    source="Vaswani et al. 2017, section 3.1; counted",
)
def test_c11_every_sublayer_of_a_transformer_is_wrapped(record):
    rng = np.random.default_rng(1)
    x, N = rng.normal(size=(17, 48)), 6
    for kind, each in zip(tokens.KINDS, (2, 3, 1), strict=True):
        layers = tokens.transformer([tokens.sublayers(kind, 48, rng, memory=x) for _ in range(N)], PRE_LN)
        seen = added(tokens.stream(layers, x), layers)
        record(f"additions of a copy in {N} blocks, {kind}", seen)
        assert seen == tokens.additions(layers) == each * N
        assert added(tokens.stream(layers, x, skip=0.0), layers) == 0
        assert {(layer.sublayer.reads, layer.sublayer.writes) for layer in layers} == {(48, 48)}


@pytest.mark.claim(
    "C11", notebook="04", part="c", reference="12 additions in 6 blocks", source="counted in the torch module"
)
def test_c11_the_torch_transformer_is_wrapped_too(record):
    import torch

    from helpers.maths.transformer import Transformer

    images = torch.randn(1, 3, 64, generator=torch.Generator().manual_seed(0))
    counts = []
    with torch.no_grad():
        for skip in (1.0, 0.0):
            net = Transformer(PRE_LN, 6, skip)
            states = list(net.stream(images))
            writes = [layer.sublayer(layer.norms[0](x)) for x, layer in zip(states, net.layers, strict=False)]
            steps = zip(states, states[1:], writes, strict=False)
            counts.append(sum(torch.allclose(after - x, write, atol=1e-4) for x, after, write in steps))
    record("additions of a copy, with and without the skip", counts)
    assert counts == [12, 0] and net.additions() == 12


@pytest.mark.claim(
    "C17",
    notebook="04",
    part="a",
    reference="one addition, x + F(x); the road behind it changed",
    source="He et al. 2015, eq. 1; Vaswani et al. 2017, section 3.1",
)
def test_c17_resnet_and_transformer_share_the_addition(record):
    rng = np.random.default_rng(4)
    W, x = rng.normal(0, 1 / 8, (64, 64)), rng.normal(size=64)
    resnet, first_transformer, later = next(iter(HE_2016)), POST_LN, PRE_LN
    for order in (resnet, first_transformer, later):
        for skip in (1.0, 0.0):
            values = orders.run(order, x, lambda v: W @ v, signals.layer_norm, tokens.relu, skip)
            at = order.index("add")
            np.testing.assert_allclose(values[at], (x if skip else 0) + values[at - 1], atol=1e-12)
    rows = store.rows("orders.json", "order", "skip")
    for row in rows:
        for skip in (1.0, 0.0):
            values = orders.run(row["order"], x, lambda v: W @ v, signals.layer_norm, tokens.relu, skip)
            before = values[row["order"].index("add") - 1] if row["skip"] else None
            gained = None if before is None else values[row["order"].index("add")] - before
            assert gained is None or np.allclose(gained, x if skip else 0 * x)
    record(
        "networks in the table with a skip, and without",
        [sum(row["skip"] for row in rows), sum(not row["skip"] for row in rows)],
    )
    roads = [orders.verdict(order).road for order in (resnet, first_transformer, later)]
    record("pieces on the main road: original ResNet, first Transformer, pre-LN", [len(road) for road in roads])
    assert roads == [("activation",), ("norm",), ()]


@pytest.mark.claim(
    "pre-LN",
    notebook="04",
    part="b",
    reference="|x_l|² = (1 + l/2) d; gradient ∝ 1/sqrt(1 + l/2)",
    source="closed form, after Xiong et al. 2020",
)
def test_pre_ln_stream_grows_and_gradient_falls(record):
    found, layers = at_depth(PRE_LN, 1.0, 1.0, draws=10), np.arange(DEPTH + 1)
    squares, gradient = np.mean(found.stream**2, 0), np.mean(found.total, 0)
    off_norm = np.abs(squares / (1 + layers / 2) - 1).max()
    fall = np.sqrt(1 + DEPTH / 2) / np.sqrt(1 + layers / 2)
    off_gradient = np.abs(gradient / fall - 1).max()
    plain = at_depth(PRE_LN, 0.0, 1.0, draws=10)
    record("largest deviation of the squared norm, and of the gradient", [off_norm, off_gradient])
    record(
        "squared norm per entry after 24 layers, residual and plain", [squares[-1], np.mean(plain.stream[:, -1] ** 2)]
    )
    assert off_norm < 0.12 and off_gradient < 0.06
    np.testing.assert_array_equal(found.road, 1.0)
    assert np.mean(plain.stream[:, -1] ** 2) == pytest.approx(0.5, rel=0.12)
    np.testing.assert_array_equal(plain.road[:, :-1], 0.0)


@pytest.mark.claim(
    "post-LN",
    notebook="04",
    part="b",
    reference="log of the road's gain = log (2/3)^(L/2); total gradient flat",
    source="closed form, after Xiong et al. 2020",
)
def test_post_ln_closes_the_road_and_keeps_the_total_gradient(record):
    found = at_depth(POST_LN, 1.0, 1.0, draws=12)
    road = np.log(found.road[:, 0]).mean() / np.log((2 / 3) ** (DEPTH / 2))
    total = np.exp(np.log(found.total[:, 0] / found.total[:, -1]).mean())
    plain = at_depth(POST_LN, 0.0, 1.0, draws=12)
    record("log of the road's gain, measured / closed form", road)
    record("total gradient, bottom / top, geometric mean", total)
    assert road == pytest.approx(1, abs=0.05)
    assert 0.8 < total < 1.25
    np.testing.assert_array_equal(plain.road[:, 0], 0.0)


@pytest.mark.claim(
    "DeepNorm",
    notebook="04",
    part="b",
    reference="road's gain (1 + β⁴/(2α²))^-N = .982 .987 .991 .9955",
    source="closed form; α and β: Wang et al. 2022 (2203.00555)",
)
def test_deepnorm_keeps_the_road_open(record):
    gains = []
    for N in (6, 12, 24, 96):
        alpha, beta = (2 * N) ** 0.25, (8 * N) ** -0.25
        assert signals.deepnorm(2 * N) == pytest.approx((alpha, beta**2))
        gains.append(signals.expected(POST_LN, 2 * N, alpha, beta**2).road[0])
        assert gains[-1] == pytest.approx((1 + beta**4 / (2 * alpha**2)) ** -N)
    record("closed form at N = 6, 12, 24, 96", gains)
    assert gains == pytest.approx([0.982, 0.987, 0.991, 0.9955], abs=5e-4)
    found = at_depth(POST_LN, *signals.deepnorm(DEPTH), draws=12)
    measured = np.exp(np.log(found.road[:, 0]).mean())
    record("measured at N = 12, geometric mean of 12 draws", measured)
    assert measured == pytest.approx(gains[1], rel=0.02)
    assert at_depth(POST_LN, 0.0, 1.0, draws=12).road[:, 0].max() == 0


@pytest.mark.claim(
    "recursion", notebook="04", part="b", reference="mean squares piece by piece", source="closed form, own derivation"
)
def test_the_recursion_holds_for_every_order_it_speaks_about(record):
    worst = 0.0
    named = [order for order in orders.NAMES if signals.expected(order, 8)]
    for order in named:
        for scale in (1.0, 0.5):
            found = at_depth(order, 1.0, scale, draws=20, depth=8, width=128)
            form = signals.expected(order, 8, 1.0, scale)
            squares = np.mean(found.stream**2, 0) / form.stream**2
            gradient = np.mean(found.total**2, 0) / form.total**2
            worst = max(worst, np.abs(squares - 1).max(), np.abs(gradient - 1).max())
        plain = at_depth(order, 0.0, 1.0, draws=20, depth=8, width=128)
        assert found.road[:, 0].min() > 0 and plain.road[:, 0].max() == 0
    record("orders with a closed form", len(named))
    record("largest deviation in mean square, 8 layers, 20 draws", worst)
    assert worst < 0.2


@pytest.mark.claim(
    "rank",
    notebook="04",
    part="deeper",
    reference="without skips < 1e-5 after 3 layers; with skips > .2 after 12",
    source="measured; the effect: Dong et al. 2021 (2103.03404)",
)
def test_attention_alone_makes_all_tokens_alike(record):
    plain = np.mean(tokens.collapse(3, 20, skip=0.0)[:, -1])
    residual = tokens.collapse(12, 20)[:, -1]
    record("distance from rank one, no skip, after 3 layers", plain)
    record("with skips, after 12 layers: mean, standard error", [np.mean(residual), np.std(residual) / np.sqrt(20)])
    assert plain < 1e-5
    assert np.mean(residual) > 0.2


@cache
def two_epochs(order, skips):
    """Return the training errors in percent after 44 steps, one net of six blocks for each of ``skips``."""
    from helpers.maths import nets, transformer

    rows, _ = nets.finish(transformer.train(order, skip=list(skips), epochs=2, every=44))
    return [row["train_error"] for row in rows if row["step"] == 44]


@pytest.mark.claim("C11", notebook="04", part="deeper", reference="below 25 % with the skip, above 50 % without",
                   source="measured: pre-LN, learning rate 1e-3, 44 steps of 64 images")  # fmt: skip
def test_c11_a_transformer_trains_faster_with_its_skips(record):
    residual, plain = two_epochs(PRE_LN, (1.0, 0.0))
    record("training error in %, with and without skips", [residual, plain])
    assert residual < 25
    assert plain > 50


@pytest.mark.claim(
    "no skip", notebook="04", part="b", reference="gradient of the plain block: the write alone", source="explicit loop"
)
def test_blocks_add_is_the_only_difference(record):
    layers = signals.draw_layers(4, 32, seed=5)
    x, arrow = np.random.default_rng(6).normal(size=(2, 32))
    for skip in (1.0, 0.0):
        jacobian, state = np.eye(32), x
        for W1, W2 in layers:
            hidden = W1 @ state
            J = W2 @ np.diag((hidden > 0).astype(float)) @ W1
            jacobian = (J + np.eye(32) if skip else J) @ jacobian
            state = W2 @ np.maximum(hidden, 0) + (state if skip else 0)
        found = signals.measure(orders.BARE, layers, x, arrow, skip)
        np.testing.assert_allclose(
            found.total[0], np.linalg.norm(jacobian.T @ arrow) / np.linalg.norm(arrow), rtol=1e-10
        )
    record("root mean square after four plain layers", found.stream[-1])
    assert blocks.add(1.0, 2.0) == 3.0
