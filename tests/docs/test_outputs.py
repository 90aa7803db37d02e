"""Test that the pages show the current output of their programs.

A `text` block directly after a `python` block shows its output: sybil runs the program, and tests/support/documents.py
compares the output.  A `text` block after a `py` block shows the output of `python -m branded check app.py`, or of the
program itself if it imports torch or jax.  A `console` block that starts with `$ cat app.py` shows a session.  `OTHER`
lists all other `text` blocks and sessions.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.documents import OUTPUT
from tests.support.pages import ROOT
from tests.support.warm import CHECK, warm

OTHER = {
    "README.md": (1, "a picture"),
    "docs/benchmarks.md": (1, "ages of measurements"),
    "docs/cli.md": (1, "times"),
    "docs/errors.md": (2, "one line of a traceback and one of mypy; `python -m tests.pages.why` writes the page"),
    "docs/explain.md": (8, "tests/explain/test_explain.py runs the commands"),
    "docs/explorer.md": (1, "the command writes files"),
    "docs/follow-one-example.md": (1, "tests/docs/test_walk.py"),
    "docs/how-it-works.md": (1, "a loop with a function that is not defined"),
    "docs/programs.md": (1, "a grammar"),
    "docs/puzzles.md": (7, "questions, without their answers; `python -m tests.pages.puzzles` writes the page"),
    "docs/reference/from-haskell.md": (1, "a signature"),
    "docs/speed.md": (1, "times"),
    "docs/tinygrad.md": (1, "another version of tinygrad"),
}
"""The number of blocks of each page that no test of this module runs, and the reason."""
PAGES = {
    page.relative_to(ROOT).as_posix(): page.read_text()
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if page.parent.name not in ("gallery", "upstream")  # test_gallery.py, tests/tinygrad_compat/upstream.py
}
PEERS = re.compile(r"^import (torch|jax)\b", re.M)
CHECKED = re.compile(r"^```py\n(.*?)^```\n(?:(?!^```).)*^```text\n(.*?)^```", re.M | re.S)
SESSION = re.compile(r"^```console\n\$ cat app\.py\n(.*?)^\$ python -m (branded .*)\n(.*?)^```", re.M | re.S)
SUMMARY = re.compile(r"\n(?:no errors|(\d+) brand errors?) \(checked 1 file\)\n$")
PROGRAMS = {
    f"{re.sub(r'[^a-z0-9]+', '_', page)}_{i}": pair
    for page, text in PAGES.items()
    for i, pair in enumerate(CHECKED.findall(text))
}
OURS = {name: pair for name, pair in PROGRAMS.items() if not PEERS.search(pair[0])}


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the output of one run of `branded check` over all programs."""
    folder = tmp_path_factory.mktemp("programs")
    for name, (program, _) in OURS.items():
        (folder / f"{name}.py").write_text(program)
    warm(folder / ".mypy_cache", CHECK, config := "[mypy]\npython_version = 3.12\n")
    (folder / "mypy.ini").write_text(config)
    return subprocess.run([*CHECK, "."], cwd=folder, capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize("name", OURS)
def test_check_prints_the_output_of_the_page(name: str, output: str) -> None:
    found = re.findall(rf"^{name}\.py:.*\n(?:  .*\n)*", output, re.M)
    shown = OURS[name][1]
    assert re.sub(rf"\b{name}\b", "app", "".join(found)) == SUMMARY.sub("", shown)
    if summary := SUMMARY.search(shown):
        assert sum(": note: " not in text.partition("\n")[0] for text in found) == int(summary[1] or 0)


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - OURS.keys()))
def test_program_of_another_library_prints_the_output_of_the_page(name: str) -> None:
    program, shown = PROGRAMS[name]
    if (peer := PEERS.search(program)) and importlib.util.find_spec(peer[1]) is None:
        pytest.skip(f"{peer[1]} is not installed: the output was recorded")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == shown


@pytest.mark.parametrize("session", dict.fromkeys(s for text in PAGES.values() for s in SESSION.findall(text)))
def test_session_on_the_page_is_current(session: tuple[str, str, str], tmp_path: Path) -> None:
    program, command, shown = session
    (tmp_path / "app.py").write_text(program)
    warm(tmp_path / ".mypy_cache")
    words = [sys.executable, "-m", *command.split()]
    assert subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False).stdout == shown


@pytest.mark.parametrize("page", PAGES)
def test_every_output_has_a_program(page: str) -> None:
    text = PAGES[page]
    blocks = re.findall(r"^```text\n|^```console\n(?:[$#].*\n|\n)*+(?!```)", text, re.M)
    checked = [found for shown in (OUTPUT, CHECKED, SESSION) for found in shown.finditer(text)]
    assert len(blocks) - len(checked) == OTHER.get(page, (0, ""))[0], "run it here, or list it in OTHER"
