"""A claim about residual connections must break when every skip connection is taken out, or forced in."""

import functools
import importlib
import inspect
import sys
import warnings
from pathlib import Path

import pytest

from helpers.maths import blocks

REFUSALS = (AssertionError, pytest.fail.Exception, ValueError)  # anything else would be a broken test


def is_claim(test):
    return any(mark.name == "claim" for mark in getattr(test, "pytestmark", []))


def claim_tests():
    """Return {"01:test_c1_addition": function} over tests/test_claims_*.py."""
    found = {}
    for path in sorted(Path(__file__).parent.glob("test_claims_[0-9]*.py")):
        module = importlib.import_module(f"tests.{path.stem}")
        for name, test in inspect.getmembers(module, inspect.isfunction):
            if name.startswith("test_") and is_claim(test):
                found[f"{path.stem[-2:]}:{name}"] = test
    return found


def clear_caches(module):
    """Forget every cached result in `module` and on the ground floor."""
    floors = [found for name, found in sys.modules.items() if name.startswith("helpers.maths")]
    for place in [module, *floors]:
        for value in vars(place).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()


CLAIMS = claim_tests()


def test_there_are_claims():
    assert CLAIMS


@pytest.mark.parametrize("forced", [0.0, 1.0], ids=["no skip", "always skip"])
@pytest.mark.parametrize("name", CLAIMS)
def test_claim_fails_without_the_choice(name, forced, monkeypatch):
    test = CLAIMS[name]
    assert list(inspect.signature(test).parameters) == ["record"], "a claim test takes `record` and nothing else"
    add = blocks.add

    @functools.wraps(add)
    def forced_add(x, write, skip=1.0, scale=1.0):
        return add(x, write, forced, scale)

    module = sys.modules[test.__module__]
    clear_caches(module)
    monkeypatch.setattr(blocks, "add", forced_add)
    try:
        with warnings.catch_warnings(), pytest.raises(REFUSALS):
            warnings.simplefilter("ignore")
            test(lambda text, number: None)
    finally:
        clear_caches(module)
