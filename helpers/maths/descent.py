"""Gradient descent written out in numpy: what F has to learn, where it starts and what it costs."""

from functools import cache

import numpy as np

from . import blocks, store


@cache
def second_moment():
    """Return Σ (64, 64), the second moment of the training digits, scaled so that its trace, the mean |x|², is 1."""
    x = store.digits().x_train
    moment = x.T @ x / len(x)
    moment /= np.trace(moment)
    moment.flags.writeable = False  # every caller shares it
    return moment


def descend(delta, skip, steps, rate=2.0):
    """Return the W (64, 64) that a linear layer has learned after ``steps`` of gradient descent from W = 0.

    The layer is y = W x + skip x, the target (1 - ``delta``) x, the data are the training digits. With E the error
    matrix W + skip I - (1 - delta) I, the gradient of the ``loss`` is 2 E Σ. ``rate`` is η, stable below
    1 / λ_max(Σ) = 6.7.
    """
    moment, eye = second_moment(), np.eye(blocks.WIDTH)
    W = np.zeros_like(eye)
    for _ in range(steps):
        W = W - 2 * rate * (blocks.add(eye, W, skip) - (1 - delta) * eye) @ moment
    return W


def loss(W, delta, skip):
    """Return tr(E Σ Eᵀ), the mean |y - target|² of a linear layer in units of the mean |x|² (E as in ``descend``)."""
    eye = np.eye(blocks.WIDTH)
    error = blocks.add(eye, W, skip) - (1 - delta) * eye
    return float(np.sum(error @ second_moment() * error))


def loss_form(delta, skip, steps, rate=2.0):
    """Return the loss after ``descend``: (skip - 1 + delta)² Σ λ (1 - 2 η λ)^(2 steps), λ the eigenvalues of Σ.

    ``delta`` may be an array. Both layers contract alike, E ← E (I - 2 η Σ); only where they start differs.
    """
    spectrum = np.linalg.eigvalsh(second_moment())
    return (skip - 1 + delta) ** 2 * float(spectrum @ (1 - 2 * rate * spectrum) ** (2 * steps))


def stack_gradient(weights, x, target, skip):
    """Return the loss, mean |y - target|² / mean |x|², of blocks with F(x) = B relu(A x), and its gradient.

    ``weights`` (depth, 2, n, n) holds A and B of every block, as the gradient does; ``x`` and ``target`` (examples, n).
    """
    states, hidden = [x], []
    for A, B in weights:
        hidden.append(np.maximum(states[-1] @ A.T, 0))
        states.append(blocks.add(states[-1], hidden[-1] @ B.T, skip))
    unit, error = np.sum(x**2), states[-1] - target
    arrow, gradient = 2 * error / unit, np.empty_like(weights)
    for layer in reversed(range(len(weights))):
        A, B = weights[layer]
        inner = (arrow @ B) * (hidden[layer] > 0)
        gradient[layer] = inner.T @ states[layer], arrow.T @ hidden[layer]
        arrow = blocks.add(arrow, inner @ A, skip)
    return np.sum(error**2) / unit, gradient


def descend_stack(delta, skip, depth, steps=200, rate=1.0, spread=0.05, seed=0):
    """Return the losses, (steps + 1,), of ``depth`` blocks with F(x) = B relu(A x) under gradient descent.

    Target and data as in ``descend``, the first 128 digits; A and B (64, 64) start as Gaussian noise of standard
    deviation ``spread``, close to the F = 0 where a block does nothing.
    """
    x = store.digits().x_train[:128]
    weights = np.random.default_rng(seed).normal(0, spread, (depth, 2, blocks.WIDTH, blocks.WIDTH))
    losses = []
    for _ in range(steps + 1):
        value, gradient = stack_gradient(weights, x, (1 - delta) * x, skip)
        losses.append(value)
        weights = weights - rate * gradient
    return np.array(losses)
