"""The site that `make site` builds, built once for all processes of a test run."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from branded.learn import explorer
from branded.learn.explorer import runtime
from tests.support import warm

ROOT = Path(__file__).resolve().parents[2]
SITE, REPOSITORY = "https://example.org/docs/branded/", "https://example.org/code/branded"
"""The address of the site, below the root of a host, and the address of the code."""


def built() -> Path:
    """Return the folder of the site."""
    made = Path(os.environ[warm.ROOT]).parent / "site"
    with _alone(made):
        if not (made / "explorer").exists():
            _build(made)
    return made


def _build(out: Path) -> None:
    # not --quiet: it would not count the warnings
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out)]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "BRANDED_SITE": SITE, "BRANDED_REPO": REPOSITORY}
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    (out / "explorer").mkdir()
    explorer.write(out / "explorer", edit=False)


def with_python() -> Path:
    """Return the site with the files that run programs in the browser, for pages of the course and the explorer.

    Raises:
        ExplorerError: Pyodide could not be fetched.
    """
    made, new = built(), pyodide().with_name("explorer")
    with _alone(made):
        if not (made / "explorer" / runtime.FOLDER).exists():
            new.mkdir()
            explorer.write(new, pyodide(), site="..")
            for part in (runtime.FOLDER, "index.html"):  # a concurrent reader of the page gets a complete one
                (new / part).rename(made / "explorer" / part)
    return made


def pyodide() -> Path:
    """Return the unpacked npm package.

    Raises:
        ExplorerError: It could not be fetched.
    """
    folder = Path(os.environ[warm.ROOT]).parent / "npm"
    with _alone(folder):
        if not (folder / "package").exists():
            runtime.fetch(folder)
    return folder / "package"


@contextmanager
def _alone(made: Path) -> Iterator[None]:
    """Let other processes wait for the one that builds it."""
    with made.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
