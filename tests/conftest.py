"""The ledger of claims: every claim test records what it measured, and `--ledger` prints all of them.

@pytest.mark.claim("C6", notebook="02", part="a", reference="(1 + σ²)^L", source="closed form")
def test_c6_mean_gain(record):
    record("mean squared length after 20 layers", gain)
    assert ...
"""

import inspect
import os

# The matrices here are small: a second thread only waits for the first. Set before numpy reads it.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest

LEDGER = pytest.StashKey()


def describe(id, *, notebook, part, reference, source):
    """Return the two lines that introduce a claim in the ledger; the marker takes exactly these arguments."""
    return f"{id:<4} notebook {notebook}, part {part}", f"reference: {reference} ({source})"


def number_text(number):
    """Write a measured number, or several, to four digits."""
    return " ".join(f"{entry:.4g}" for entry in np.ravel(number))


def pytest_addoption(parser):
    parser.addoption("--ledger", action="store_true", help="print the ledger of claims, and nothing else but failures")


def pytest_configure(config):
    config.stash[LEDGER] = []
    if config.option.ledger:
        config.option.verbose = -2


def pytest_collection_modifyitems(items):
    for item in items:
        for marker in item.iter_markers("claim"):
            try:
                inspect.signature(describe).bind(*marker.args, **marker.kwargs)
            except TypeError as error:
                raise pytest.UsageError(f"{item.nodeid}: the claim marker: {error}") from None


@pytest.fixture
def record(request):
    """Return `record(text, number)`, which writes a measured number (or several) into the ledger."""
    return lambda text, number: request.node.user_properties.append((text, number_text(number)))


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """One server, one browser, one page for all tests of a file (no longer: other files run event loops)."""
    from tests.lab import browser

    with browser(tmp_path_factory.mktemp("lab")) as lab:
        yield lab


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    result = yield
    for marker in item.iter_markers("claim"):
        assert item.user_properties, "a claim test records what it measured"
        claim, reference = describe(*marker.args, **marker.kwargs)
        measured = [f"{text}: {number}" for text, number in item.user_properties]
        item.config.stash[LEDGER].append((claim, item.nodeid, *measured, reference))
    return result


def pytest_report_teststatus(report, config):
    if config.option.ledger and report.passed:
        return "passed" if report.when == "call" else "", "", ""


def pytest_terminal_summary(terminalreporter, config):
    if not config.option.ledger:
        return
    for claim, test, *lines in config.stash[LEDGER]:
        terminalreporter.write_line(f"{claim:<28} {test}", bold=True)
        for line in lines:
            terminalreporter.write_line(f"     {line}")
