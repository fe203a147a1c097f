"""The house keeps its shape: imports go down, files stay short, every view can be driven over all of its controls."""

import ast
import gc
import subprocess
import sys

import numpy as np
import psutil
import pytest
from matplotlib.text import Text

from helpers.views import all_views
from helpers.widgets.picture import Picture
from tests.notebooks import ROOT, paths

MODULES = sorted((ROOT / "helpers").rglob("*.py"))
PACKAGES = {
    "helpers": set(),
    "maths": {"numpy"},
    "views": {"numpy", "matplotlib"},
    "widgets": {"ipywidgets", "IPython", "matplotlib", "numpy"},
}
BELOW = {"maths": {"maths"}, "views": {"maths", "views"}, "widgets": {"widgets"}}
TRAINS = {"nets.py", "transformer.py"}
FOLDERS = {"notebooks", "helpers", "data", "tests", "benchmarks"}
FILES = {"environment.yml", "README.md", "Makefile", "pyproject.toml", "LICENSE"}
VIEWS = list(all_views())
NAMES = [f"{view.notebook}{view.part}-{view.__name__}" for view in VIEWS]


def imported(path):
    """Yield ("package", name) and ("floor", name) for every import in the module at `path`, wherever it stands."""
    floors = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (("package", alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield "package", node.module
        elif isinstance(node, ast.ImportFrom):
            place = [*floors[: len(floors) - node.level + 1], *(node.module or "").split(".")]
            yield "floor", place[1] or "helpers"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_only_go_down(path):
    floor = path.parent.name
    packages = PACKAGES[floor] | set(sys.stdlib_module_names) | ({"torch"} if path.name in TRAINS else set())
    for kind, name in imported(path):
        assert "pyplot" not in name
        if kind == "package":
            assert name.split(".")[0] in packages, f"{floor} imports {name}"
        else:
            assert name in BELOW.get(floor, set()) | {"helpers"}, f"{floor} imports from {name}"


def lines_of_code(path):
    """Count the lines that are neither blank nor comment nor docstring: words explain, code has to be kept."""
    source = path.read_text()
    told = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            told |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    lines = enumerate(source.splitlines(), 1)
    return sum(number not in told and line.strip()[:1] not in ("", "#") for number, line in lines)


def test_helpers_stay_small():
    """A file stays below 300 lines; all of it, 21 pictures at about 80 lines of code each included, below 3,600."""
    assert max(len(path.read_text().splitlines()) for path in MODULES) <= 300
    rooms = {str(path.relative_to(ROOT)): lines_of_code(path) for path in MODULES}
    assert sum(rooms.values()) <= 3600, rooms


def test_looking_at_every_view_loads_neither_torch_nor_pyplot():
    script = (
        "import helpers, helpers.widgets, sys; from helpers.views import all_views; [view() for view in all_views()]"
    )
    check = "; print([name for name in ('torch', 'matplotlib.pyplot') if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", script + check], cwd=ROOT, capture_output=True, text=True)
    assert found.stdout.strip() == "[]", found


def test_importing_helpers_loads_nothing():
    script = (
        "import sys, helpers; print([name for name in ('numpy', 'matplotlib', 'ipywidgets') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert found.stdout.strip() == "[]", found


def test_top_level_holds_only_what_a_visitor_needs():
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = {line.split("/")[0] for line in files.splitlines()}
    assert {name for name in names if not name.startswith(".")} <= FOLDERS | FILES


@pytest.mark.parametrize("notebook", [path.name[:2] for path in paths() if path.name < "07"])
def test_depth_and_skip_are_controls_of_every_notebook(notebook):
    views = [{control.name for control in view.controls} for view in VIEWS if view.notebook == notebook]
    assert any({"depth", "skip"} <= names for names in views)


def settings_of(control, most=24):
    """Return values over the whole range of `control`, both ends included."""
    if control.kind == "switch":
        return [False, True]
    if control.kind == "switches":
        most_layers = control.length if isinstance(control.length, int) else 8
        return [(), *((layer,) for layer in range(1, most_layers + 1)), tuple(range(1, most_layers + 1))]
    if control.kind == "sequence":
        singles = [(option,) for option in control.options]
        return [(), *singles, control.options[: control.length], control.options[::-1][: control.length]]
    if control.kind == "choice" or control.options:
        return list(control.options)
    spaced = control.stops() or np.linspace(control.low, control.high, most)
    kept = [spaced[round(index)] for index in np.linspace(0, len(spaced) - 1, min(most, len(spaced)))]
    return sorted({round(value) if control.kind == "integer" else float(value) for value in kept})


def settled(view, values):
    """Return `values` moved into the ranges that the other values leave, as the controls on the screen do."""
    values = dict(values)
    for name, (low, high) in view.limits(**values).items():
        values[name] = type(values[name])(min(max(values[name], low), high))
    for control in view.controls:
        if control.kind == "switches":
            count = values.get(control.length, control.length)
            values[control.name] = tuple(layer for layer in values[control.name] if layer <= count)
    return values


def all_settings(view):
    """Yield every control over its whole range, the others at their defaults, both with the skip and without."""
    for skip in (True, False):
        base = {name: skip if name == "skip" else value for name, value in view.defaults().items()}
        for control in view.controls:
            for value in settings_of(control):
                yield settled(view, {**base, control.name: value})


@pytest.fixture(scope="module", params=VIEWS, ids=NAMES)
def view(request):
    return request.param()


def test_every_control_over_its_whole_range(view):
    picture = Picture(view.figure, view.moving)
    for values in all_settings(view):
        readout = view.update(**values)
        assert isinstance(readout, str) and readout.strip() and "$" not in readout, values
        picture.draw()
        for artist in view.moving:
            assert artist.get_animated()
            assert not isinstance(artist, Text) or "$" not in artist.get_text(), values
        line = view.line(values)
        assert view.line(view.read(line)) == line
    assert tuple(view.figure.canvas.get_width_height()) == (720, 400)


def test_a_slider_rarely_draws_all_anew(view):
    """A word or a line that depends on a slider and was left out of ``moving`` would cost 30 ms at every move."""
    picture, base = Picture(view.figure, view.moving), view.defaults()
    for control in view.controls:
        if control.kind not in ("integer", "number") or control.options:
            continue
        anew, values = [], settings_of(control)
        for value in values:
            view.update(**settled(view, {**base, control.name: value}))
            anew.append(bool(view.figure.stale))
            picture.draw()
        assert sum(anew) <= 0.6 * len(values), control.name


def test_every_preset(view):
    lines = [view.line(view.read(preset)) for preset in view.presets.values()]
    assert len(set(lines)) == len(lines), "two presets are the same"
    for preset in view.presets.values():
        assert view.update(**view.read(preset))


def test_words_are_large_enough_and_controls_explained(view):
    assert view.notebook and view.part
    view.update(**view.defaults())
    small = {words.get_text() for words in view.figure.findobj(Text) if words.get_text() and words.get_fontsize() < 11}
    assert not small
    for control in view.controls:
        assert control.label and control.help
        assert all(" " not in str(option) for option in control.options)


@pytest.mark.parametrize("word", ["nonsense", "nonsense=1", "{}=nonsense", "{}"])
def test_bad_settings_get_a_sentence(view, word):
    for control in view.controls:
        with pytest.raises(ValueError, match=r"\w+ .*\.$") as refusal:
            view.read(word.format(control.name))
        assert "\n" not in str(refusal.value)


def test_values_out_of_range_are_refused_by_name(view):
    for control in view.controls:
        if control.kind in ("integer", "number"):
            highest = max(control.options) if control.options else control.high
            with pytest.raises(ValueError, match=control.name):
                view.read(f"{control.name}={highest + 1:g}")


def test_a_hundred_redraws_leave_memory_flat(view):
    picture = Picture(view.figure, view.moving)
    settings = list(all_settings(view))
    settings = settings[:: -(-len(settings) // 20)]

    def redraw(times):
        for count in range(times):
            view.update(**settings[count % len(settings)])
            picture.draw()
            picture.png()

    def held():
        gc.collect()
        return len(gc.get_objects()), psutil.Process().memory_info().rss

    redraw(2 * len(settings))
    objects, resident = held()
    redraw(100)
    more_objects, more_resident = held()
    assert more_objects - objects < 100  # one artist a redraw would be thousands
    assert more_resident - resident < 8_000_000  # bytes; one canvas a redraw would be over a hundred million
