"""A real JupyterLab in a real Chromium, driven by the keyboard as a learner would: `Lab` and its `Panel`."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import nbformat
from playwright.sync_api import expect, sync_playwright

from tests.get_browser import find
from tests.notebooks import METADATA, ROOT

TOKEN = "browser-tests"
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update"]
AXE = ROOT / ".venv" / "node_modules" / "axe-core" / "axe.min.js"
WAIT = 60_000  # milliseconds: a bound for a machine under load, not a pace
expect.set_options(timeout=WAIT)

RUN_IN_KERNEL = """async code => {
  const kernel = jupyterapp.shell.currentWidget.sessionContext.session.kernel;
  const future = kernel.requestExecute({code, store_history: false});
  let printed = '';
  future.onIOPub = ({content}) => { printed += content.text ?? content.evalue ?? '' };
  await future.done;
  return printed;
}"""
CORNER = """image => {
  const canvas = new OffscreenCanvas(1, 1).getContext('2d');
  canvas.drawImage(image, 0, 0);
  return [...canvas.getImageData(0, 0, 1, 1).data];
}"""
RUN_AXE = """async () => {
  const found = await axe.run({include: [['.jp-Cell-outputArea']]}, {resultTypes: ['violations']});
  return found.violations.map(v => `${v.id}: ${v.help}: ${v.nodes.map(n => n.html).join(' ; ')}`);
}"""


def copy_project(folder):
    """Copy what git keeps and what is about to be added into `folder`; return the copy."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    files = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    for name in files:
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


def free_port():
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return trial.getsockname()[1]


@contextlib.contextmanager
def server(project, own):
    """Serve `project` as `make lab` does, with settings of its own in the folder `own`; yield the address."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    command = [sys.executable, ".jupyter/lab.py", "--no-browser", f"--port={port}", f"--IdentityProvider.token={TOKEN}"]
    folders = {
        name: str(own / name) for name in ("JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR", "JUPYTER_CONFIG_DIR")
    }
    with open(own / "server.log", "w") as log:
        process = subprocess.Popen(
            [*command, "--LabApp.expose_app_in_browser=True"],
            cwd=project,
            stdout=log,
            stderr=log,
            env={**os.environ, **folders, "JUPYTER_PREFER_ENV_PATH": "1"},
        )
        try:
            for _ in range(120):
                with contextlib.suppress(OSError), urllib.request.urlopen(f"{address}/login", timeout=5):
                    break
                time.sleep(0.25)
            else:
                raise RuntimeError((own / "server.log").read_text())
            yield address
        finally:
            process.terminate()
            process.wait(30)


@contextlib.contextmanager
def browser(folder):
    """Open a copy of the project, laid into `folder`, in JupyterLab in Chromium; yield the Lab."""
    path, project, own = find(), copy_project(folder / "project"), folder / "own"
    own.mkdir()
    with server(project, own) as address, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield Lab(chromium.new_page(viewport={"width": 1280, "height": 900}), address, project)
        chromium.close()


class Lab:
    """One page with JupyterLab in it. `problems` collects what the page and its console complain about."""

    def __init__(self, page, address, project):
        self.page, self.address, self.project, self.problems = page, address, project, []
        page.set_default_timeout(WAIT)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("dialog", lambda dialog: dialog.accept())  # leaving a notebook that was not saved
        page.on("console", lambda message: message.type == "error" and self.problems.append(message.text))

    def write(self, name, *sources):
        """Put a notebook with these code cells into the copy of the project."""
        cells = [nbformat.v4.new_code_cell(source, id=f"cell-{index}") for index, source in enumerate(sources)]
        path = self.project / "notebooks" / name
        path.parent.mkdir(exist_ok=True)
        nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=METADATA), path)

    def open(self, name):
        """Open a notebook of the project, alone, and wait for its kernel."""
        workspace = f"lab/workspaces/{name.partition('.')[0]}/tree/notebooks/{name}"
        self.page.goto(f"{self.address}/{workspace}?reset&token={TOKEN}", wait_until="domcontentloaded")
        self.page.locator(".jp-Notebook .jp-Cell").first.wait_for()
        self.page.locator("#jp-main-statusbar >> text=Idle").wait_for()

    def command(self, name, **arguments):
        """Carry out a command of JupyterLab and wait for its end."""
        self.page.evaluate(
            "([name, given]) => jupyterapp.commands.execute(name, given).then(() => null)", [name, arguments]
        )

    def run_all(self):
        self.command("notebook:run-all-cells")

    def start_cell(self, index):
        """Select the cell and start it, without waiting."""
        self.page.evaluate("index => { jupyterapp.shell.currentWidget.content.activeCellIndex = index }", index)
        self.page.evaluate("() => { window.running = jupyterapp.commands.execute('notebook:run-cell') }")

    def wait_cell(self):
        """Wait for the end of what `start_cell` started."""
        self.page.evaluate("() => running.then(() => null)")

    def run_cell(self, index):
        self.start_cell(index)
        self.wait_cell()

    def is_running(self, index):
        """Tell whether the cell still runs."""
        return self.page.locator(".jp-Notebook .jp-CodeCell .jp-InputPrompt").nth(index).inner_text() == "[*]:"

    def restart_and_run_all(self):
        """Do as the menu does, the dialog confirmed."""
        self.page.evaluate("() => { window.running = jupyterapp.commands.execute('notebook:restart-run-all') }")
        self.page.locator(".jp-Dialog .jp-mod-accept").click()
        self.wait_cell()

    def kernel(self, code):
        """Run code in the notebook's kernel, outside of its cells; return what it printed."""
        return self.page.evaluate(RUN_IN_KERNEL, code)

    def cells(self):
        """Return [(type, source)] of all cells as they stand."""
        kinds = "() => [...jupyterapp.shell.currentWidget.content.model.cells].map(c => [c.type, c.sharedModel.source])"
        return self.page.evaluate(kinds)

    def panel(self, number=0):
        """Return the panel shown as number `number` of the page."""
        return Panel(self.page, self.page.locator(".explore").nth(number))

    def axe(self):
        """Return what axe-core finds wrong in the outputs."""
        if not self.page.evaluate("() => 'axe' in window"):
            self.page.add_script_tag(path=AXE)
        return self.page.evaluate(RUN_AXE)


class Panel:
    """Controls, picture and readout of one `explore`, found as a screen reader finds them: by role and name."""

    def __init__(self, page, box):
        self.page, self.box = page, box
        box.wait_for()
        self.picture = box.locator("img")
        self.readout = box.locator(".explore-readout")

    def control(self, role, name):
        return self.box.get_by_role(role, name=name, exact=True)

    def corner(self):
        """Return the red, green, blue and opacity (0 to 255) of the first pixel of the picture."""
        return self.picture.evaluate(CORNER)

    def press(self, role, name, *keys):
        """Focus a control and press keys on it."""
        self.control(role, name).focus()
        for key in keys:
            self.page.keyboard.press(key)

    def type_setting(self, line):
        """Replace the setting line and press Enter."""
        self.control("textbox", "setting").fill(line)
        self.page.keyboard.press("Enter")

    def shows(self, words):
        """Wait until the readout contains `words` and the picture, whose alt text it is, is there."""
        expect(self.readout).to_contain_text(words)
        expect(self.readout).to_have_text(self.picture.get_attribute("alt"))

    @contextlib.contextmanager
    def new_picture(self):
        """Wait, on leaving, until the picture differs from the one on entering and is complete."""
        before = self.picture.get_attribute("src")
        yield
        expect(self.picture).not_to_have_attribute("src", before)
        self.page.wait_for_function("image => image.complete && image.naturalWidth", arg=self.picture.element_handle())
