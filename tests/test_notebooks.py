"""Every notebook runs from its own folder in a fresh kernel, and what is committed is what it shows."""

import difflib
import functools
import os
import re

import pytest

from tests.notebooks import README_PICTURE, ROOT, WIDGET, execute, paths, pictures, read, readme_picture, text

NAMES = [path.name for path in paths()]
WITHOUT_TORCH = [name for name in NAMES if name[:2] in ("00", "01", "02")]
# Everything in a cell that is not prose: code, formulas, pictures, tags.
NOT_PROSE = re.compile(r"```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$]*\$|!\[|<[^>]*>", re.DOTALL)

notebook = functools.cache(lambda name: read(ROOT / "notebooks" / name))


def code_cells(name):
    return [cell for cell in notebook(name).cells if cell.cell_type == "code"]


@pytest.mark.parametrize("name", NAMES)
def test_committed_is_what_a_fresh_kernel_shows(name):
    path = ROOT / "notebooks" / name
    committed = path.read_text(encoding="utf-8")
    fresh = text(path, execute(path))
    if fresh != committed:
        lines = difflib.unified_diff(committed.splitlines(), fresh.splitlines(), "committed", "fresh", n=1, lineterm="")
        pytest.fail("make notebooks would change it:\n" + "\n".join(line[:160] for line in lines), pytrace=False)


@pytest.mark.parametrize("name", WITHOUT_TORCH)
def test_runs_where_torch_cannot_be_imported(name):
    blocked = os.pathsep.join(filter(None, [str(ROOT / "tests" / "without_torch"), os.environ.get("PYTHONPATH")]))
    execute(ROOT / "notebooks" / name, {"PYTHONPATH": blocked})


@pytest.mark.parametrize("name", NAMES)
def test_twin_is_for_everyone(name):
    assert "widgets" not in notebook(name).metadata
    kept = [output for cell in code_cells(name) for output in cell.outputs]
    assert all(WIDGET not in output.get("data", {}) for output in kept)
    assert pictures(notebook(name))
    for output in pictures(notebook(name)).values():
        assert output.metadata["image/png"]["alt"] == output.data["text/plain"]


def test_set_up_is_the_same_everywhere():
    first = [code_cells(name)[0].source.partition("from helpers")[0] for name in NAMES]
    assert 'sys.path.insert(0, "..")' in first[0]
    assert len(set(first)) == 1


@pytest.mark.parametrize("name", NAMES)
def test_cells_are_few_and_short(name):
    assert 20 <= len(notebook(name).cells) <= 35
    for cell in code_cells(name):
        assert len(cell.source.splitlines()) <= 15, cell.source
        assert "pyplot" not in cell.source
    assert len({cell.id for cell in notebook(name).cells}) == len(notebook(name).cells)


@pytest.mark.parametrize("name", NAMES)
def test_prose_is_calm(name):
    for cell in notebook(name).cells:
        if cell.cell_type == "markdown":
            assert "!" not in NOT_PROSE.sub("", cell.source), cell.source


def test_readme_shows_the_first_picture():
    assert README_PICTURE.read_bytes() == readme_picture()


def test_links_lead_somewhere():
    pages = {path: path.read_text(encoding="utf-8") for path in (ROOT / "README.md", ROOT / "data" / "README.md")}
    for path in paths():
        pages[path] = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")
    for path, prose in pages.items():
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", prose):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"
