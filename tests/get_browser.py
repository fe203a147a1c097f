"""Find a Chromium for the browser tests, or get one: `python -m tests.get_browser` prints where it is."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
NAMES += ("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",)


def find():
    """Return the path of a browser that is already here ($CHROMIUM, the system's, Playwright's), or None."""
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path:
        return path
    from playwright.sync_api import sync_playwright

    with sync_playwright() as p:
        return shutil.which(p.chromium.executable_path)


def get():
    """Install a browser, from Debian's packages where that is allowed, else by Playwright; return its path or None."""
    if shutil.which("apt-get") and os.geteuid() == 0:
        subprocess.run(["apt-get", "update", "-qq"], check=False)
        subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"], check=False)
    if not find():
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=False)
    return find()


if __name__ == "__main__":
    path = find() or get()
    if not path or not Path(path).exists():
        sys.exit("No Chromium or Chrome, and none could be installed: install one or set CHROMIUM=/its/path.")
    print(f"Browser: {path}")
