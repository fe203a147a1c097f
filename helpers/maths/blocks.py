"""The block, y = skip * x + scale * F(x), the three F of notebook 01, and stacks of blocks."""


def add(x, write, skip=1.0, scale=1.0):
    """Return ``skip * x + scale * write``, the one line that every notebook runs through.

    ``skip`` is 1 for a residual layer and 0 for a plain one (He et al. 2015, eq. 1). The same line adds
    vectors (x and F(x)), Jacobians (I and dF/dx) and batches of nets (``skip`` an array, one entry a net).
    """
    return skip * x + scale * write
