"""Start JupyterLab on the first notebook; arguments are those of `jupyter lab`. `make lab` calls this."""

import argparse
import os
import socket
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# A workspace of its own: the page opens on the first notebook, whatever other project was open before.
FIRST_PAGE = "/lab/workspaces/residual-connections/tree/notebooks/00_start_here.ipynb"


def asked_port(arguments):
    """Return the port named in `arguments` of `jupyter lab`, or None."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--port", "--ServerApp.port", type=int)
    return parser.parse_known_args(arguments)[0].port


def why_not(port):
    """Return one sentence if nothing can listen on `port`, else None."""
    advice = "choose another one, for example make lab LAB_ARGS=--port=9321, or leave --port out."
    with socket.socket() as trial:
        if os.name != "nt":  # there it would let two listen on one port
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", port))
        except OverflowError:
            return f"Port {port} does not exist (0 to 65535 do): {advice}"
        except OSError as error:
            return f"Port {port} cannot be used ({error.strerror}): {advice}"


def main(arguments):
    port = asked_port(arguments)
    if port is not None and (sentence := why_not(port)):
        sys.exit(sentence)
    inherited = os.environ.get("JUPYTER_CONFIG_PATH")
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(filter(None, [str(HERE), inherited]))
    # The matrices are small and the browser wants a core too: a second thread of numpy or torch mostly waits for the
    # first, and a training beside a busy page takes twice as long with two.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    command = [f"--ServerApp.root_dir={HERE.parent}", f"--LabApp.default_url={FIRST_PAGE}"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    if port is not None:
        command.append("--ServerApp.port_retries=0")
    # Not earlier: Jupyter looks at JUPYTER_CONFIG_PATH, and a port in use should be told at once.
    from jupyterlab.labapp import LabApp

    LabApp.launch_instance(command + arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
