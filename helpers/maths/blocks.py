"""The block, y = skip * x + scale * F(x), the F of notebook 01, and stacks of blocks. numpy alone.

Every F keeps the width of what it reads: an array (..., 64), an 8×8 picture row by row, goes in and comes out.
"""

import numpy as np

SIDE = 8
WIDTH = SIDE * SIDE


def add(x, write, skip=1.0, scale=1.0):
    """Return ``skip * x + scale * write``, the one line that every notebook runs through.

    ``skip`` is 1 for a residual layer and 0 for a plain one (He et al. 2015, eq. 1). The same line adds
    vectors (x and F(x)), Jacobians (I and dF/dx) and batches of nets (``skip`` an array, one entry a net).
    """
    return skip * x + scale * write


def block(x, F, skip=1.0, scale=1.0):
    """Return y = skip * x + scale * F(x), arrays (..., width).

    Raises ValueError, naming both widths, if there is something to add and the widths differ: numpy would
    stretch a width of 1 without a word. A plain layer (skip = 0) may change the width, never the number of rows.
    """
    x = np.asarray(x, dtype=float)
    write = np.asarray(F(x))
    if write.shape == x.shape:
        return add(x, write, skip, scale)
    if write.ndim != x.ndim or write.shape[:-1] != x.shape[:-1]:
        raise ValueError(f"F must give one vector for each vector: x has the shape {x.shape}, F(x) {write.shape}.")
    if np.any(skip):
        raise ValueError(
            f"The addition needs equal widths, but x has {x.shape[-1]} and F(x) has {write.shape[-1]}; "
            f"let F keep the width, or put a projection on the shortcut."
        )
    return scale * write


def stack(x, layers, skip=1.0, scale=1.0, block=block):
    """Return [x_0, ..., x_L], arrays of the shape of x: what enters the first block and what leaves each of L blocks.

    ``layers`` are the L functions F, ``block`` is what a notebook may have typed instead of the one above.
    """
    states = [np.asarray(x, dtype=float)]
    for F in layers:
        states.append(block(states[-1], F, skip, scale))
    return states


def correction(target, x, skip=1.0):
    """Return what scale · F has to learn, target - skip * x: a correction with the copy, a replacement without."""
    return target - skip * x


class FeedForward:
    """F(x) = W relu(x), W (64, 64) with entries of variance 2 / 64 (He et al. 2015, 1502.01852, eq. 10)."""

    name = "feed-forward"

    def __init__(self, rng):
        self.W = rng.normal(0, np.sqrt(2 / WIDTH), (WIDTH, WIDTH))

    def __call__(self, x):
        return np.maximum(x, 0) @ self.W.T

    def jacobian(self, x):
        """dF/dx at one x (64,): row i, column j is dF_i / dx_j."""
        return self.W * (x > 0)


class Convolution:
    """F(x) = K * relu(x): one 3×3 kernel over the 8×8 picture, zeros outside, entries of variance 2 / 9."""

    name = "convolution"

    def __init__(self, rng):
        self.K = rng.normal(0, np.sqrt(2 / 9), (3, 3))
        # A convolution is a matrix with shared entries; writing it so gives F and its Jacobian at once.
        row, column = np.divmod(np.arange(WIDTH), SIDE)
        down, right = row[None] - row[:, None], column[None] - column[:, None]
        near = (abs(down) <= 1) & (abs(right) <= 1)
        self.W = np.where(near, self.K[np.where(near, down + 1, 0), np.where(near, right + 1, 0)], 0.0)

    __call__ = FeedForward.__call__
    jacobian = FeedForward.jacobian


class Attention:
    """Self-attention, one head, over the sixteen 2×2 patches (Vaswani et al. 2017, eq. 1); each patch is a token of 4.

    F(x) = softmax(Q Kᵀ / 2) V W_o with Q, K, V = t W_q, t W_k, t W_v; every entry of a W has the variance 1 / 4.
    """

    name = "attention"

    def __init__(self, rng):
        self.Wq, self.Wk, self.Wv, self.Wo = rng.normal(0, np.sqrt(1 / 4), (4, 4, 4))

    def weights(self, x):
        """Who reads whom: (..., 16, 16), row i is how token i divides its attention."""
        t = patches(x)
        logits = (t @ self.Wq) @ np.swapaxes(t @ self.Wk, -1, -2) / 2
        powers = np.exp(logits - logits.max(-1, keepdims=True))
        return powers / powers.sum(-1, keepdims=True)

    def __call__(self, x):
        return picture(self.weights(x) @ patches(x) @ self.Wv @ self.Wo)

    def jacobian(self, x):
        """dF/dx at one x (64,): the values move, and so does who reads whom."""
        t, A, values = patches(x), self.weights(x), patches(x) @ self.Wv @ self.Wo
        # B[i, j] = values_j - F_i: what token i gains when it reads a little more of token j.
        B = values[None] - (A @ values)[:, None]
        gain = A[:, :, None] * B
        J = np.einsum("ij,dc->icjd", A, self.Wv @ self.Wo)
        J += np.einsum("ijc,id->icjd", gain, (t @ self.Wq) @ self.Wk.T / 2)
        own = np.einsum("ijc,jd->icd", gain, (t @ self.Wk) @ self.Wq.T / 2)
        J[np.arange(16), :, np.arange(16), :] += own
        # Tokens and patches are only another order of the pixels.
        order = patches(np.arange(WIDTH)).ravel().astype(int)
        out = np.empty((WIDTH, WIDTH))
        out[np.ix_(order, order)] = J.reshape(WIDTH, WIDTH)
        return out


class Minus:
    """F(x) = -x, the one F whose Jacobian is -I everywhere: with the + I added nothing is left."""

    name = "minus-x"

    def __init__(self, rng=None):
        pass  # nothing is drawn

    def __call__(self, x):
        return -np.asarray(x, dtype=float)

    def jacobian(self, x):
        """dF/dx = -I."""
        return -np.eye(len(x))


SUBLAYERS = {kind.name: kind for kind in (FeedForward, Convolution, Attention, Minus)}


def layers(kind, depth, seed=2):
    """Return ``depth`` freshly drawn F of one ``kind`` (a name in SUBLAYERS); the first k never depend on ``depth``.

    With some seeds relu kills a plain convolution within eight layers, whatever its strength; with this one it lives.
    Raises ValueError for an unknown ``kind``.
    """
    if kind not in SUBLAYERS:
        raise ValueError(f"F is {kind!r}; allowed are {', '.join(SUBLAYERS)}.")
    rng = np.random.default_rng(seed)
    return [SUBLAYERS[kind](rng) for _ in range(depth)]


def patches(x):
    """Cut a picture (..., 64) into its tokens (..., 16, 4): 2×2 patches, row by row."""
    x = np.asarray(x, dtype=float)
    return x.reshape(*x.shape[:-1], 4, 2, 4, 2).swapaxes(-3, -2).reshape(*x.shape[:-1], 16, 4)


def picture(t):
    """Undo ``patches``: (..., 16, 4) to (..., 64)."""
    return t.reshape(*t.shape[:-2], 4, 4, 2, 2).swapaxes(-3, -2).reshape(*t.shape[:-2], WIDTH)
