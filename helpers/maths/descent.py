"""Gradient descent written out in numpy: what F has to learn, where it starts and what it costs."""

from functools import cache

import numpy as np

from . import blocks, store


@cache
def second_moment():
    """Return Σ (64, 64), the second moment of the training digits, scaled so that its trace, the mean |x|², is 1."""
    x = store.digits().x_train
    moment = x.T @ x / len(x)
    return moment / np.trace(moment)


def descend(delta, skip, steps, rate=2.0):
    """Return the loss, in units of the mean |x|², of a linear layer after ``steps`` of gradient descent from W = 0.

    The layer is y = W x + skip x, the target (1 - ``delta``) x, the data are the training digits. With E the error
    matrix W + skip I - (1 - delta) I, the loss is tr(E Σ Eᵀ), its gradient 2 E Σ. ``rate`` is η, stable below
    1 / λ_max(Σ) = 6.7.
    """
    moment, eye = second_moment(), np.eye(blocks.WIDTH)
    W = np.zeros((blocks.WIDTH, blocks.WIDTH))
    for _ in range(steps):
        W = W - 2 * rate * (blocks.add(eye, W, skip) - (1 - delta) * eye) @ moment
    error = blocks.add(eye, W, skip) - (1 - delta) * eye
    return float(np.sum(error @ moment * error))


def descend_form(delta, skip, steps, rate=2.0):
    """Return what ``descend`` must find: (skip - 1 + delta)² Σ λ (1 - 2 η λ)^(2 steps) over the eigenvalues λ of Σ.

    Both layers contract alike, E ← E (I - 2 η Σ); only where they start differs.
    """
    spectrum = np.linalg.eigvalsh(second_moment())
    return (skip - 1 + delta) ** 2 * float(spectrum @ (1 - 2 * rate * spectrum) ** (2 * steps))


def descend_stack(delta, skip, depth, steps=300, rate=0.01, spread=0.01, seed=0):
    """Return the losses, (steps + 1,), of ``depth`` blocks with F(x) = B relu(A x) under gradient descent.

    Target, data and unit as in ``descend``, on the first 128 digits; A and B (64, 64) start as Gaussian noise of
    standard deviation ``spread``, close to the F = 0 where a block does nothing.
    """
    x = store.digits().x_train[:128]
    unit = np.sum(x**2) / len(x)
    weights = np.random.default_rng(seed).normal(0, spread, (depth, 2, blocks.WIDTH, blocks.WIDTH))
    losses = []
    for _ in range(steps + 1):
        states, hidden = [x], []
        for A, B in weights:
            hidden.append(np.maximum(states[-1] @ A.T, 0))
            states.append(blocks.add(states[-1], hidden[-1] @ B.T, skip))
        error = states[-1] - (1 - delta) * x
        losses.append(np.sum(error**2) / len(x) / unit)
        arrow = 2 * error / len(x)
        for layer in reversed(range(depth)):
            A, B = weights[layer].copy()
            inner = (arrow @ B) * (hidden[layer] > 0)
            weights[layer, 0] -= rate * inner.T @ states[layer]
            weights[layer, 1] -= rate * arrow.T @ hidden[layer]
            arrow = blocks.add(arrow, inner @ A, skip)
    return np.array(losses)
