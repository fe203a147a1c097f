"""Gradients through many layers: products of the factors skip * I + scale * J, and the closed forms they follow.

A *table* is the Jacobian J of one layer at gain 1, (width, width); ``gain`` multiplies it. Lengths are kept as
natural logarithms of the squared length, so that a thousand layers neither overflow nor underflow.
"""

from functools import reduce

import numpy as np

from . import blocks

KINDS = ("gaussian", "orthogonal", "minus-identity")
TINY = np.finfo(float).tiny


def nudge(f, x, h=1e-5):
    """Return the Jacobian of ``f`` at ``x`` (n,) by central differences: nudge one input, watch every output.

    The array is (outputs, n); column j is (f(x + h e_j) - f(x - h e_j)) / 2h. ``f`` must take a
    batch (n, n), one nudged x a row. The error is of the order h² (the step) plus 1e-16 / h (rounding).
    """
    steps = h * np.eye(len(x))
    return (f(x + steps) - f(x - steps)).T / (2 * h)


def factor(J, skip=1.0, scale=1.0):
    """Return skip * I + scale * J, the Jacobian of a layer skip * x + scale * F(x); ``J`` is (width, width)."""
    return blocks.add(np.eye(len(J), dtype=J.dtype), J, skip, scale)


def step_back(arrow, J, skip=1.0, scale=1.0):
    """Send a gradient (width,) back through one layer: factor(J).T @ arrow, without building the factor."""
    return blocks.add(arrow, J.T @ arrow, skip, scale)


def tables(depth, width, seed=0, kind="gaussian"):
    """Draw ``depth`` Jacobians of gain 1, (depth, width, width) float32; the first k do not depend on ``depth``.

    gaussian: independent entries of variance 1/width; orthogonal: uniform over rotations and reflections, which
    takes a sign correction after QR (Mezzadri 2007, section 5); minus-identity: -I, the write that undoes x.
    """
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; allowed are {', '.join(KINDS)}.")
    if kind == "minus-identity":
        return np.broadcast_to(-np.eye(width, dtype=np.float32), (depth, width, width))
    drawn = np.random.default_rng(seed).standard_normal((depth, width, width), dtype=np.float32)
    if kind == "gaussian":
        drawn /= np.sqrt(width)  # in place: a thousand tables are 16 MB
        return drawn
    q, r = np.linalg.qr(drawn)
    return q * np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None, :]


def send_back(arrow, jacobians):
    """Send ``arrow`` (n,), a gradient at the output, down a stack; return the L + 1 arrows, the input's first.

    ``jacobians`` are the dy/dx (n, n) of the L blocks, the first block's first.
    The chain rule: g_l = (dy_l/dx_l)ᵀ g_(l+1).
    """
    arrows = [np.asarray(arrow, dtype=float)]
    for J in reversed(list(jacobians)):
        arrows.append(J.T @ arrows[-1])
    return arrows[::-1]


def log_lengths(arrow, tables, gain=1.0, skip=1.0, scale=1.0, step=step_back, chunk=8):
    """Log of the squared length of ``arrow`` (width,) after 0, 1, ..., depth layers, top layer first: (depth + 1,).

    ``tables`` is (depth, width, width), layer 1 first. The arrow is set back to length 1 every ``chunk`` layers.
    """
    start, logs, arrows = 0.0, [], [arrow]
    for done, J in enumerate(tables[::-1], 1):
        arrow = step(arrow, J, skip, scale * gain)  # gain * J would write a whole table for each layer
        arrows.append(arrow)
        if done % chunk == 0 or done == len(tables):
            squares = np.square(arrows, dtype=float).sum(axis=1)
            logs.append(start + log(squares))
            start, arrows = logs[-1][-1], []
            arrow = arrow / arrow.dtype.type(np.sqrt(squares[-1]) or 1)
    return np.concatenate(logs)


def log(x):
    """Natural logarithm with log 0 = -inf and no warning."""
    with np.errstate(divide="ignore"):
        return np.log(x)


# Many draws at once: only the length of the arrow matters to an isotropic J.


def noise(depth, width, draws, seed=0):
    """Random numbers for ``spread``: (z, sqrt(chi²)) / sqrt(width), each (depth, draws) float32."""
    rng = np.random.default_rng(seed)
    z, rest = rng.standard_normal((depth, draws)), rng.chisquare(width - 1, (depth, draws))
    return np.float32(z / np.sqrt(width)), np.float32(np.sqrt(rest / width))


def spread(numbers, gain=1.0, skip=1.0, scale=1.0):
    """Log squared length of many arrows, one draw of all matrices each: (depth + 1, draws); start is 0.

    Exact for independent Gaussian entries of variance gain²/n: Jv has a part gain |v| z / sqrt(n) along v, and the
    length of its part across v is gain |v| sqrt(chi²_(n-1) / n). So |v + Jv|² = |v|² (1 + 2 gain z / sqrt(n) +
    gain² chi²_n / n), and no matrix has to be drawn.
    """
    along, across = blocks.add(1.0, gain * numbers[0], skip, scale), blocks.add(0.0, gain * numbers[1], skip, scale)
    steps = log(along * along + across * across)
    return np.concatenate([np.zeros((1, steps.shape[1])), np.cumsum(steps, axis=0, dtype=float)])


def mean_gain(gain, skip=1.0, scale=1.0):
    """Mean squared length after one layer, skip² + (scale gain)²; per layer, so the mean after L is this to the L.

    Independent zero-mean entries of variance gain²/n: the cross term has mean zero. Plain gain^(2L), residual
    (1 + gain²)^L; the squared Frobenius norm of the product has this times n as its mean.
    """
    return skip**2 + (scale * gain) ** 2


def log_moments(depth, width, gain, skip=1.0, scale=1.0):
    """Mean and variance of the log squared length after ``depth`` layers (Gaussian J), to first order in 1/width.

    With m = mean_gain and v = (4 skip² s² + 2 s⁴) / (n m²), s = scale * gain, the variance of one step over its
    squared mean: log-mean depth (log m - v/2), log-variance depth v. Plain: v = 2/n. Second-order expansion of log.
    """
    s, m = scale * gain, mean_gain(gain, skip, scale)
    if m == 0:
        return -np.inf, 0.0
    v = (4 * skip**2 * s**2 + 2 * s**4) / (width * m**2)
    return depth * (np.log(m) - v / 2), depth * v


# Singular values


def edges(gain, skip=1.0, scale=1.0):
    """Smallest and largest singular value of skip * I + scale * J as width grows, J Gaussian of ``gain``.

    For skip 1, s² = g² (a ± 3)³ / (8 (a ± 1)) with a = sqrt(1 + 8 / g²), g = scale * gain, lower edge 0 from g = 1
    on: the zeros of the discriminant of the cubic in ``density``. For skip 0 the quarter circle, 0 to 2 g.
    """
    g, skip = abs(scale * gain), abs(skip)
    if skip == 0 or g == 0:
        return (0.0, 2 * g) if skip == 0 else (skip, skip)
    a = np.sqrt(1 + 8 * (skip / g) ** 2)
    low = g * np.sqrt((a - 3) ** 3 / (8 * (a - 1))) if g < skip else 0.0
    return low, g * np.sqrt((a + 3) ** 3 / (8 * (a + 1)))


def density(s, gain, skip=1.0, scale=1.0):
    """Density of the singular values ``s`` (k,) of skip * I + scale * J as width grows, J Gaussian of ``gain``.

    With g = scale * gain and z = s², u = 1 + g² m solves z u³ - z u² - (skip² - g²) u + skip² = 0, and m is the
    Stieltjes transform of the squares (Dozier and Silverstein 2007, theorem 1.1, with one atom at skip²).
    """
    g2, z = (scale * gain) ** 2, np.maximum(np.asarray(s, float), 1e-9) ** 2
    companion = np.zeros((len(z), 3, 3))
    companion[:, 1, 0] = companion[:, 2, 1] = 1.0
    companion[:, :, 2] = np.stack([-(skip**2) / z, (skip**2 - g2) / z, np.ones_like(z)], axis=1)
    return 2 * np.sqrt(z) * np.linalg.eigvals(companion).imag.max(axis=1) / (np.pi * g2)


def share_below_one(gain, skip=1.0, scale=1.0, points=2000):
    """Share of the singular values of skip * I + scale * J below 1 as width grows: the integral of ``density``."""
    low, high = edges(gain, skip, scale)
    if low >= 1 or high <= 1:
        return float(high <= 1 and low < 1)
    middle = low + (np.arange(points) + 0.5) * (high - low) / points
    weight = density(middle, gain, skip, scale)
    return float(weight[middle < 1].sum() / weight.sum())


def log_singular_values(factors, chunk=4, sweeps=8):
    """Natural logs of the singular values of factors[-1] @ ... @ factors[0], largest first: (width,).

    The product is kept as Q diag(exp d) T with T of ordinary size, so that values hundreds of decades apart survive
    (Stewart 1995, "On graded QR decompositions of products of matrices"). Values within exp(20) of the largest are
    then exact; the rest come from sweeps of QR, which leave neighbours a few per cent off.
    """
    products = [reduce(lambda right, left: left @ right, factors[k : k + chunk]) for k in range(0, len(factors), chunk)]
    q, d, T = np.eye(len(products[0])), np.zeros(len(products[0])), np.eye(len(products[0]))
    for product in products:
        q, r = np.linalg.qr(product @ q)
        size = log(np.maximum(np.abs(np.diag(r)), TINY))
        T = (r * _ratio(d, d + size)) @ T
        d = d + size
    near = d.max() + log(np.linalg.svd(np.exp(d - d.max())[:, None] * T, compute_uv=False))
    if near[-1] > near[0] - 20:
        return near
    r = np.linalg.qr(T.T)[1]
    for _ in range(sweeps):
        r = np.linalg.qr(r.T * _ratio(d, d).T)[1]
    return np.where(near > near[0] - 20, near, np.sort(d + log(np.abs(np.diag(r))))[::-1])


def _ratio(high, low):
    """exp(high_j - low_i), (width, width), bounded where a triangular factor is zero anyway."""
    return np.exp(np.minimum(high[None, :] - low[:, None], 300.0))


# A ReLU net, with or without batch norm: smooth or shattered, growing or not.


def net(x, weights, skip=1.0, scale=1.0, norm=False):
    """Run x = skip * x + scale * W relu(x) on a batch (batch, width); ``norm``: batch norm before each ReLU.

    Returns the stream before and after every layer, (depth + 1, batch, width), and the slope of every unit,
    (depth, batch, width), with the statistics of the batch frozen. ``skip`` 0 with ``norm``: linear, norm, ReLU.
    """
    if x.shape[-1] != weights.shape[-1]:
        raise ValueError(f"x has width {x.shape[-1]}, the weights {weights.shape[-1]}; they must be equal.")
    streams, slopes = [x], []
    for W in weights:
        deviation = np.sqrt(x.var(axis=0) + 1e-5) if norm else np.ones(x.shape[-1])  # some pixels never change
        h = (x - x.mean(axis=0)) / deviation if norm else x
        slopes.append((h > 0) / deviation)
        x = blocks.add(x, np.maximum(h, 0) @ W.T, skip, scale)
        streams.append(x)
    return np.array(streams), np.array(slopes)


def net_back(arrows, weights, slopes, skip=1.0, scale=1.0):
    """Log of the summed squared length of ``arrows`` (batch, width) after 0, 1, ... layers back: (depth + 1,)."""
    logs = [log(np.sum(arrows**2))]
    for W, slope in zip(weights[::-1], slopes[::-1], strict=True):
        arrows = blocks.add(arrows, slope * (arrows @ W), skip, scale)
        logs.append(log(np.sum(arrows**2)))
    return np.array(logs)


def net_along(direction, weights, slopes, skip=1.0, scale=1.0):
    """Derivative of the last stream along ``direction`` (width,) of the input, at every point: (batch, width)."""
    moved = np.tile(direction, (slopes.shape[1], 1))
    for W, slope in zip(weights, slopes, strict=True):
        moved = blocks.add(moved, (slope * moved) @ W.T, skip, scale)
    return moved


def slope_on_line(start, direction, weights, readout, skip=1.0, scale=1.0, norm=False, points=256):
    """d f / d t at ``points`` t from -2 to 2 on the line start + t * direction, f = relu(x) @ readout: (points,).

    Forward mode with batch statistics (over the line) frozen, as in figure 1 of Balduzzi et al. 2017.
    """
    t = np.linspace(-2, 2, points)
    streams, slopes = net(start + t[:, None] * direction, weights, skip, scale, norm)
    return (net_along(direction, weights, slopes, skip, scale) * (streams[-1] > 0)) @ readout


def autocorrelation(values, lag=1):
    """Correlation of a series (points,) with itself ``lag`` points on, mean removed; 1 smooth, 0 white noise."""
    centred = values - values.mean()
    return float(centred[lag:] @ centred[:-lag] / (centred @ centred))


def batch_norm_growth(depth, skip=1.0):
    """Length of the gradient at the bottom over that at the top, He weights, batch norm, at init.

    Plain (linear, norm, ReLU): sqrt(pi / (pi - 1)) a layer (Yang et al. 2019, "A mean field theory of batch
    normalization", for ReLU). Residual: the product over l < depth of sqrt(1 + 1 / (1 + (1 - 1/pi) l)), because the
    stream's variance grows by 1 - 1/pi a layer and the norm divides by it.
    """
    if skip == 0:
        return np.sqrt(np.pi / (np.pi - 1)) ** depth
    return np.prod(np.sqrt(1 + 1 / (1 + (1 - 1 / np.pi) * np.arange(depth))))


def likeness(rows):
    """Mean cosine between different rows of (..., batch, width): 1 if all point the same way, nan if one is zero."""
    with np.errstate(invalid="ignore"):
        unit = rows / np.abs(rows).max(axis=-1, keepdims=True)  # first, since the square of 1e-200 is 0
        unit /= np.linalg.norm(unit, axis=-1, keepdims=True)
    many = rows.shape[-2]
    return (np.sum(unit.sum(axis=-2) ** 2, axis=-1) - many) / (many * (many - 1))
