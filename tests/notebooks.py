"""Execute the notebooks and write their static twins: what a reader sees where no kernel runs.

`python -m tests.notebooks` does it for all of them, in place. A twin holds the picture of every widget, its text
and no widget state; the same input gives the same bytes.
"""

import base64
import io
import os
import re
import sys
from pathlib import Path

import nbformat
import numpy as np
from matplotlib.image import imread
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).resolve().parent.parent
README_PICTURE = ROOT / ".readme" / "start.png"
WIDGET = "application/vnd.jupyter.widget-view+json"
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


class NotebookError(Exception):
    """A cell of a notebook raised, wrote to stderr, or showed a widget that has no picture."""


def paths():
    """Return the paths of all notebooks, in the order of reading."""
    return sorted((ROOT / "notebooks").glob("*.ipynb"))


def read(path):
    """Read a notebook without converting it."""
    return nbformat.read(path, as_version=nbformat.NO_CONVERT)


def execute(path, environment=None):
    """Return the notebook at `path`, executed in a fresh kernel in its own folder, as its static twin.

    `environment` holds environment variables for the kernel. Raises NotebookError, which names the notebook.
    """
    notebook = read(path)
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
    )
    try:
        client.execute(env={**os.environ, "JUPYTER_PREFER_ENV_PATH": "1", **(environment or {})})
    except CellExecutionError as error:
        raise NotebookError(f"{path.name}: {error}") from None
    return twin(notebook, path.name)


def twin(notebook, name):
    """Return `notebook` with its outputs made static and everything that varies from run to run taken out."""
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.execution_count = None
            cell.outputs = [kept for output in cell.outputs for kept in static(output, f"{name}, cell {cell.id}")]
    return notebook


def static(output, where):
    """Return what is kept of one output: a picture stays with its text, which is repeated below it, in sight."""
    if output.output_type == "stream":
        if output.name == "stderr":
            raise NotebookError(f"{where} wrote to stderr: {output.text}")
        return [output]
    output.pop("execution_count", None)
    data = output.data
    if data.pop(WIDGET, None) and not {"image/png", "text/markdown"} & set(data):
        raise NotebookError(f"{where} shows a widget and neither a picture nor a text for readers without a kernel")
    if "image/png" not in data:
        return [nbformat.v4.new_output("display_data", data, metadata=output.metadata)]
    alt = output.metadata.get("image/png", {}).get("alt")
    if not alt:
        raise NotebookError(f"{where} shows a picture without alt text")
    picture = {"image/png": data["image/png"].strip(), "text/plain": alt}
    sentence = {"text/markdown": re.sub(r"([\\`*_<>$~\[\]|#])", r"\\\1", alt)}
    return [
        nbformat.v4.new_output("display_data", picture, metadata=output.metadata),
        nbformat.v4.new_output("display_data", sentence),
    ]


def pixels(png):
    """Return a base64 picture as an array (height, width, channels) of numbers between 0 and 1."""
    return imread(io.BytesIO(base64.b64decode(png)), format="png")


def alike(old, new):
    """Tell whether two base64 pictures look the same: another processor may round a few pixels differently."""
    old, new = pixels(old), pixels(new)
    return old.shape == new.shape and (np.abs(old - new) > 0.05).mean() < 1e-4


def pictures(notebook):
    """Return {(cell id, index of the output): output} of the outputs that hold a picture."""
    return {
        (cell.id, index): output
        for cell in notebook.cells
        for index, output in enumerate(cell.get("outputs", []))
        if "image/png" in output.get("data", {})
    }


def text(path, executed):
    """Return what belongs into `path`: the twin `executed`, with the old pictures where the new ones look the same."""
    old = pictures(read(path))
    for place, output in pictures(executed).items():
        if place in old and alike(old[place].data["image/png"], output.data["image/png"]):
            output.data["image/png"] = old[place].data["image/png"]
    return nbformat.writes(executed) + "\n"


def readme_picture():
    """Return the first picture of the first notebook as PNG bytes: the README shows what a visitor will see."""
    return base64.b64decode(next(iter(pictures(read(paths()[0])).values())).data["image/png"])


def main():
    for path in paths():
        print(path.relative_to(ROOT), flush=True)
        path.write_text(text(path, execute(path)), encoding="utf-8")
    README_PICTURE.parent.mkdir(exist_ok=True)
    README_PICTURE.write_bytes(readme_picture())


if __name__ == "__main__":
    try:
        main()
    except NotebookError as error:
        sys.exit(str(error))
