"""The site as `make site` builds it, once for all processes of a run of the tests."""

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
"""Where the site is to stand, below a host, and where the code is."""


def built() -> Path:
    """The folder of the site."""
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
    """The site with what runs programs in the browser, as pages of the course and the explorer in it need it.

    Raises:
        ExplorerError: Pyodide does not come.
    """
    made, new = built(), pyodide().with_name("explorer")
    with _alone(made):
        if not (made / "explorer" / runtime.FOLDER).exists():
            new.mkdir()
            explorer.write(new, pyodide(), site="..")
            for part in (runtime.FOLDER, "index.html"):  # whoever reads the page meanwhile has a whole one
                (new / part).rename(made / "explorer" / part)
    return made


def pyodide() -> Path:
    """The npm package, unpacked.

    Raises:
        ExplorerError: It does not come.
    """
    folder = Path(os.environ[warm.ROOT]).parent / "npm"
    with _alone(folder):
        if not (folder / "package").exists():
            runtime.fetch(folder)
    return folder / "package"


@contextmanager
def _alone(made: Path) -> Iterator[None]:
    """The other processes wait for the one that makes it."""
    with made.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
