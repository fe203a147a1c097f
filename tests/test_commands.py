"""The ways in: environment.yml for conda and Binder, the pins of pip, `make lab`."""

import re
import socket
import subprocess
import sys
import tomllib
from unittest.mock import Mock

import pytest
import yaml
from jupyter_server.services.kernels.connection.channels import ZMQChannelsWebsocketConnection
from jupyter_server.services.kernels.websocket import KernelWebsocketHandler
from packaging.requirements import Requirement
from traitlets.config import PyFileConfigLoader

from tests.notebooks import ROOT

CONDA_NAMES = {"matplotlib": "matplotlib-base", "torch": "pytorch-cpu"}
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text())


def pins():
    """Return {name on conda-forge: version} of the pinned run-time packages."""
    found = {}
    for line in PYPROJECT["dependency-groups"]["lab"]:
        name, version = line.split("==")
        found[CONDA_NAMES.get(name, name)] = version
    return found


def test_conda_takes_one_channel_and_a_literal_python():
    assert ENVIRONMENT["channels"] == ["conda-forge", "nodefaults"]
    (python,) = [line for line in ENVIRONMENT["dependencies"] if line.startswith("python")]
    version = re.fullmatch(r"python=(3\.\d+)", python).group(1)
    assert Requirement(f"python{PYPROJECT['project']['requires-python']}").specifier.contains(version)


def test_conda_and_pip_agree():
    asked = [Requirement(line) for line in ENVIRONMENT["dependencies"] if not line.startswith("python=")]
    assert {requirement.name for requirement in asked} == set(pins())
    for requirement in asked:
        assert requirement.specifier.contains(pins()[requirement.name]), f"the pin is outside of {requirement}"
        assert {clause.operator for clause in requirement.specifier} == {">="}, f"{requirement} is no lower bound"


def test_binder_builds_with_conda():
    found = subprocess.run(
        [sys.executable, "-m", "repo2docker", "--no-build", "--debug", "."], cwd=ROOT, capture_output=True, text=True
    )
    log = found.stdout + found.stderr
    assert found.returncode == 0, log
    assert "Building conda environment for python=3.12" in log
    assert re.search(r'env update .*--file "environment.yml"', log)


@pytest.mark.parametrize("form", ["--port={}", "--port {}", "--ServerApp.port={}"])
def test_port_in_use_gets_one_sentence(form):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        command = [sys.executable, ".jupyter/lab.py", "--no-browser", *form.format(port).split()]
        found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert found.returncode == 1
    assert found.stderr.startswith(f"Port {port} cannot be used") and found.stderr.count("\n") == 1


def test_the_lab_passes_messages_of_the_kernel_on_at_once(monkeypatch):
    config = PyFileConfigLoader("jupyter_server_config.py", path=str(ROOT / ".jupyter")).load_config()
    connection = config.ServerApp.kernel_websocket_connection_class
    handler = Mock(spec=KernelWebsocketHandler)
    monkeypatch.setattr(ZMQChannelsWebsocketConnection, "connect", lambda self: "connected")
    assert connection(websocket_handler=handler).connect() == "connected"
    handler.set_nodelay.assert_called_once_with(True)
    command = [sys.executable, ".jupyter/lab.py", "--show-config"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert connection.__name__ in found.stdout, "make lab does not read the setting"
