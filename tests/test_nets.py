"""The batch of nets against nets one by one, the starts against their definitions, and what must stay untouched."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch

from data import make
from helpers.maths import blocks, nets, results, store
from tests.notebooks import ROOT, read

SMALL = {"depth": 3, "skip": [0, 1], "scale": [1.0, 0.5], "seed": [4, 4], "steps": 3, "batch": 16, "every": 1}


def one_by_one(net, images):
    """The scores of every net, with loops and numpy alone; images (images, pixels)."""
    scores = []
    for index in range(net.count):
        W_in, b_in, W_out, b_out = (part[index].detach().numpy().astype(float) for part in net.outer)
        x = images @ W_in + b_in
        for W, b in zip(net.W, net.b, strict=True):
            write = np.maximum(x, 0) @ W[index].detach().numpy() + b[index].detach().numpy()
            x = net.columns["skip"][index] * x + net.columns["scale"][index] * write
        scores.append(np.maximum(x, 0) @ W_out + b_out)
    return np.stack(scores)


def test_a_batch_is_its_nets():
    _, net = nets.finish(nets.train(**SMALL))
    images = store.digits().x_test[:20]
    batch = net.scores(torch.tensor(images, dtype=torch.float32)[None])
    np.testing.assert_allclose(batch.detach().numpy(), one_by_one(net, images), atol=1e-4)


def test_training_one_net_alone_changes_nothing_for_it():
    together, _ = nets.finish(nets.train(**SMALL))
    alone, _ = nets.finish(nets.train(**{**SMALL, "skip": [1], "scale": [0.5], "seed": [4]}))
    for one, other in zip([row for row in together if row["skip"] == 1], alone, strict=True):
        np.testing.assert_allclose(one["loss"], other["loss"], rtol=1e-4)
        np.testing.assert_allclose(one["moved"], other["moved"], rtol=1e-3)


def test_the_pair_starts_from_the_same_draw_and_sees_the_same_images():
    net = nets.Nets(3, skip=[0, 1], seed=[7, 7])
    for part in (*net.W, *net.outer):
        assert torch.equal(part[0], part[1])
    assert not torch.equal(nets.Nets(3, skip=0, seed=8).W[0], net.W[0][:1])


def test_the_gradient_is_the_derivative():
    """One entry of W, nudged: the loss changes as `gradient` says (float64, central differences)."""
    net = nets.Nets(2, skip=[0, 1], scale=[1.0, 0.5])
    for group in (net.W, net.b, net.outer):
        group[:] = [part.double() for part in group]
    net.skip, net.scale = net.skip.double(), net.scale.double()
    x, y, *_ = nets.tensors()
    images, labels = x[:8].double()[None], y[:8].expand(2, -1)
    net.parameters()
    nets.losses(net.scores(images), labels).sum().backward()
    for net_index in range(2):
        losses = []
        for nudge in (1e-6, -2e-6):
            with torch.no_grad():
                net.W[0][net_index, 3, 5] += nudge
                losses.append(nets.losses(net.scores(images), labels)[net_index].item())
        with torch.no_grad():
            net.W[0][net_index, 3, 5] += 1e-6
        measured = (losses[0] - losses[1]) / 2e-6
        assert net.W[0].grad[net_index, 3, 5].item() == pytest.approx(measured, rel=1e-5, abs=1e-9)


def test_the_starts_are_what_their_names_say():
    W = {name: torch.stack(nets.Nets(40, skip=0, init=name).W)[:, 0].double() for name in nets.INITS}
    eye = torch.eye(64, dtype=float)
    assert W["he"].std().item() == pytest.approx(np.sqrt(2 / 64), rel=0.01)
    assert W["small"].std().item() == pytest.approx(0.01, rel=0.01)
    assert not W["zero"].any() and torch.equal(W["identity"], eye.expand(40, -1, -1))
    torch.testing.assert_close(W["orthogonal"] @ W["orthogonal"].mT, (2 * eye).expand(40, -1, -1), atol=1e-5, rtol=0)
    trace = torch.linalg.eigvals(W["orthogonal"] / np.sqrt(2)).real.sum(-1)
    assert abs(trace.mean().item()) < 4 / np.sqrt(40)  # uniformly random: without the sign correction it is far off


def test_looks_linear_is_linear_at_the_start():
    net = nets.Nets(30, skip=0, init="looks-linear")
    x = torch.tensor(store.digits().x_test[:2], dtype=torch.float32)
    both = net.scores(x.sum(0)[None, None])
    torch.testing.assert_close(both[0, 0], net.scores(x[None])[0].sum(0), atol=1e-4, rtol=1e-4)


def test_norms_against_numpy():
    x = torch.tensor(np.random.default_rng(0).normal(2, 3, (2, 50, 8)))
    normed = nets.batch_norm(x).numpy()
    np.testing.assert_allclose(normed, (x - x.mean(1, keepdim=True)) / x.std(1, correction=0, keepdim=True), atol=1e-5)
    np.testing.assert_allclose(np.sqrt((nets.rms_norm(x).numpy() ** 2).mean(-1)), 1, atol=1e-5)


def test_layers_can_be_left_out_and_swapped():
    net = nets.Nets(3, skip=[0, 1])
    x = net.into(torch.tensor(store.digits().x_test[:5], dtype=torch.float32)[None])

    def layer(k):
        return lambda v: net.block(v, lambda u: net.write(k, u), net.skip, net.scale)

    first, second, third = map(layer, range(3))
    assert torch.equal(net.through(x, [0, 2]), third(first(x)))
    assert torch.equal(net.through(x, [1, 0, 2]), third(first(second(x))))
    assert torch.equal(net.through(x, []), x)


def test_a_typed_block_takes_the_place_of_ours():
    seen = []

    def block(x, F, skip, scale):
        seen.append(tuple(x.shape))
        return skip * x + scale * F(x)

    ours, _ = nets.finish(nets.train(**SMALL))
    typed, _ = nets.finish(nets.train(**SMALL, block=block))
    assert [row["loss"] for row in typed] == [row["loss"] for row in ours] and (2, 16, 64) in seen


def test_a_host_stays_as_it_is():
    host = {"depth": 2, "skip": 0, "seed": [0, 1], "steps": 2, "batch": 16}
    _, alone = nets.finish(nets.train(**host))
    rows, net = nets.finish(nets.train(depth=2, skip=[0, 1], seed=[0, 1], steps=2, batch=16, host=host))
    for own, kept in zip([*alone.W, *alone.outer], [*net.host.W, *net.outer], strict=True):
        assert torch.equal(own, kept)
    assert min(row["moved"][0] for row in rows[-2:]) > 0


def test_the_users_torch_is_left_alone():
    torch.manual_seed(5)
    expected, threads = torch.rand(3), torch.get_num_threads()
    torch.manual_seed(5)
    nets.finish(nets.train(**SMALL))
    assert torch.equal(torch.rand(3), expected) and torch.get_num_threads() == threads and torch.is_grad_enabled()


@pytest.mark.parametrize("given", [{"CPU_LIMIT": "1.0"}, {"CPU_LIMIT": "2.5", "OMP_NUM_THREADS": "1"}])
def test_the_share_of_a_hub_is_honoured(given):
    script = "from helpers.maths import nets; import torch; print(torch.get_num_threads())"
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"} | given
    found = subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert found.stdout.strip() == "1", found.stderr


@pytest.mark.parametrize(
    "change, words",
    [
        ({"depth": 0}, "depth is 0; allowed are the whole numbers from 1"),
        ({"steps": 1.5}, "steps is 1.5"),
        ({"init": "xavier"}, "init is 'xavier'; allowed are he, orthogonal, looks-linear, small, zero, identity"),
        ({"norm": "layer"}, "norm is 'layer'; allowed are none, batch, rms"),
        ({"seed": [1, 2, 3]}, "skip has 2 entries; allowed are 1 for all or 3"),
    ],
)
def test_what_cannot_be_trained_gets_a_sentence(change, words):
    with pytest.raises(ValueError, match=words):
        next(nets.train(**{**SMALL, **change}))


def test_stored_results_hold_their_config_and_every_job_is_stored():
    for name, (_, config) in make.jobs().items():
        assert make.same(ROOT / "data" / name, config), f"data/{name} was made from another config: make data"


def test_a_stored_training_is_the_training():
    """The same config, run here: equal at the start, and the first steps agree to rounding."""
    config, columns = results.stored("depth_8.npz")
    rows, _ = nets.finish(nets.train(**results.some(config, results.arm(config, 0, 1.0)[:2]) | {"steps": 20}))
    first = [row["loss"] for row in rows[:2]]
    np.testing.assert_allclose(first, columns["loss"][0, :2], rtol=1e-4)
    np.testing.assert_allclose([row["loss"] for row in rows[2:4]], columns["loss"][1, :2], rtol=0.02)


@pytest.mark.parametrize("damage", [None, b"", b"PK\x03\x04 cut short"])
def test_a_damaged_or_missing_result_gets_a_sentence(damage, tmp_path, monkeypatch):
    results.stored.cache_clear()
    monkeypatch.setattr(store, "FOLDER", tmp_path)
    if damage is not None:
        (tmp_path / "depth_56.npz").write_bytes(damage)
    with pytest.raises(store.DataError, match=r"data/depth_56.npz is (missing|damaged).*make data"):
        results.stored("depth_56.npz")
    results.stored.cache_clear()


def test_layers_by_hand_change_nothing():
    images = store.digits().x_test[:50]
    plain, residual = (results.inserted(images, [results.by_hand(64, on)] * 5, on) for on in (0.0, 1.0))
    assert np.array_equal(plain, results.inserted(images, [], 0.0)) and np.array_equal(plain, residual)


def test_the_functions_typed_in_the_notebook_are_ours():
    typed = {}
    for cell in read(ROOT / "notebooks" / "03_depth_degradation.ipynb").cells:
        if cell.id in ("a-idea", "b-idea", "c-idea"):
            exec(cell.source, typed := {**typed, "np": np})
    x = np.random.default_rng(0).normal(size=(5, 64))
    for mine, ours in zip(typed["band"](x), results.spread(x), strict=True):
        assert np.array_equal(mine, ours)
    assert np.array_equal(typed["block"](x, np.tanh, 1.0, 0.5), blocks.block(x, np.tanh, 1.0, 0.5))
    for skip in (0, 1):
        assert np.array_equal(typed["by_hand"](64, skip), results.by_hand(64, skip))
    mine, ours = (next(train(**SMALL))[2] for train in (typed["train"], nets.train))
    assert mine == ours


def test_the_table_of_rates_and_starts_bears_the_text_out():
    early, late = {}, {}
    for rate in ("0.0001", "0.0003", "0.001", "0.003"):
        config, columns = results.stored(f"rate_{rate}.npz")
        for start in ((0, 1.0, "he"), (0, 1.0, "orthogonal"), (0, 1.0, "looks-linear"), (1, 56**-0.5, "he")):
            for found, step in ((early, 300), (late, 1500)):
                errors = columns["train_error"][columns["step"][:, 0] == step][0]
                found.setdefault(start[0] or start[2], []).append(errors[results.arm(config, *start)])
    assert np.median(early["he"], 1).min() > 5
    assert np.median(early["orthogonal"], 1).min() < np.median(early["he"], 1).min()
    assert np.median(late["he"][:3], 1).max() < 3
    assert np.median(early["looks-linear"][:3], 1).max() < 1 and np.max(early[1]) < 5 and np.max(late[1]) < 1
    assert all(np.max(early[start][3]) > 10 for start in ("he", "orthogonal", "looks-linear"))
