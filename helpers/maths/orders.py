"""A block as a sequence of pieces: what it is called, whether it is a residual block, and what it does to x.

The same sequence is run here (numpy arrays or torch tensors), drawn by the views and wrapped around every sublayer of
`transformer`. Nothing but Python and the one addition in `blocks`.
"""

from typing import NamedTuple

from . import blocks

PIECES = ("copy", "norm", "activation", "sublayer", "add")
LONGEST = 5

PRE_LN = ("copy", "norm", "sublayer", "add")
POST_LN = ("copy", "sublayer", "add", "norm")
OUTPUT_NORM = ("copy", "sublayer", "norm", "add")
SANDWICH = ("copy", "norm", "sublayer", "norm", "add")
BARE = ("copy", "sublayer", "add")

# He et al. 2016 (1603.05027): CIFAR-10 test error in % of ResNet-110 and ResNet-164. Their F has two
# convolutions, each with its norm and ReLU; here one sublayer stands for the last norm-ReLU-convolution group.
HE_2016 = {
    ("copy", "sublayer", "norm", "add", "activation"): ("original ResNet", 6.61, 5.93),
    ("copy", "sublayer", "add", "norm", "activation"): ("norm after addition", 8.17, 6.50),
    ("copy", "sublayer", "norm", "activation", "add"): ("ReLU before addition", 7.84, 6.14),
    ("copy", "activation", "sublayer", "norm", "add"): ("ReLU-only pre-activation", 6.71, 5.91),
    ("copy", "norm", "activation", "sublayer", "add"): ("full pre-activation", 6.37, 5.46),
}

NAMES = {
    PRE_LN: "pre-LN",
    POST_LN: "post-LN",
    OUTPUT_NORM: "output-norm",
    SANDWICH: "sandwich (Peri-LN)",
    BARE: "bare residual block",
    **{order: name for order, (name, *_) in HE_2016.items()},
}


class Verdict(NamedTuple):
    """What an order is: ``name`` is empty for a residual block without one, ``reason`` for every residual block.

    ``road`` holds the pieces that stand on the main road, outside copy ... add; empty means the road is whole.
    ``errors`` holds the published test errors in % (ResNet-110, ResNet-164), or nothing.
    """

    residual: bool
    name: str
    reason: str
    road: tuple
    errors: tuple


def check(order):
    """Return ``order`` as a tuple. Raises ValueError for an unknown piece or more than five pieces."""
    order = tuple(order)
    unknown = [piece for piece in order if piece not in PIECES]
    if unknown:
        raise ValueError(f"“{unknown[0]}” is not a piece; allowed are {', '.join(PIECES)}.")
    if len(order) > LONGEST:
        raise ValueError(f"The order has {len(order)} pieces; allowed are at most {LONGEST}.")
    return order


def split(order):
    """Return the pieces (before copy, between copy and add, after add); an order without add is all "before"."""
    order = check(order)
    if "copy" not in order or "add" not in order:
        return order, (), ()
    start, end = order.index("copy"), order.index("add")
    return order[:start], order[start + 1 : end], order[end + 1 :]


def refusal(order):
    """Return in words why ``order`` is no residual block, or "" if it is one."""
    order = check(order)
    if "sublayer" not in order:
        return "it has no sublayer, so there is nothing to learn"
    if "add" not in order:
        return "the copy is kept and never added" if "copy" in order else "nothing is added: it is a plain layer"
    if "copy" not in order:
        return "there is no copy to add"
    if order.index("add") < order.index("copy"):
        return "add comes before copy, so there is nothing to add yet"
    for piece in ("copy", "add"):
        if order.count(piece) > 1:
            return f"it has {order.count(piece)} pieces “{piece}”; one copy is kept and added once"
    before, branch, after = split(order)
    if "sublayer" not in branch:
        return "no sublayer stands between copy and add: what is learned replaces x"
    if "sublayer" in before + after:
        return "a sublayer stands on the main road, so no path leads around it"
    return ""


def verdict(order):
    """Return the ``Verdict`` on ``order``, a sequence of at most five of PIECES. Raises ValueError as ``check``."""
    order, reason = check(order), refusal(order)
    before, _, after = split(order)
    road = before + after
    return Verdict(not reason, NAMES.get(order, ""), reason, road, HE_2016.get(order, ())[1:])


def run(order, x, sublayer, norm, activation, skip=1.0, scale=1.0):
    """Return the list of values after each piece of ``order``, from x (..., width); the last one leaves the block.

    ``sublayer``, ``norm`` and ``activation`` are functions that keep the width. Raises ValueError if add has no copy
    to add or finds another shape than the copy's, and as ``check`` does.
    """
    steps, kept, values = {"sublayer": sublayer, "norm": norm, "activation": activation}, None, []
    for piece in check(order):
        if piece == "copy":
            kept = x
        elif piece == "add":
            if kept is None:
                raise ValueError("This order cannot be run: add finds no copy.")
            if kept.shape != x.shape:
                raise ValueError(
                    f"The addition needs equal widths, but the copy has {kept.shape[-1]} and the "
                    f"sublayer wrote {x.shape[-1]}."
                )
            x = blocks.add(kept, x, skip, scale)
        else:
            x = steps[piece](x)
        values.append(x)
    return values
