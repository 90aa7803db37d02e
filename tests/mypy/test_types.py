"""Check mypy with the plugin on tests/types against the comments in its programs.

A program is a section that begins with `# --- title`.  `# E: text` on a line expects an error that contains the text,
`# N: text` a note; any other error or note is a failure.  The notes under an error belong to it.  The newest and the
oldest supported mypy each check all files in one run.  The output of `branded check` for the rejected programs is
stored verbatim in tests/types/messages.txt; `python -m tests.mypy.test_types` regenerates it.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import tinygrad
from mypy.options import Options
from tinygrad import Context

import branded
from branded.mypy.check import parse_message
from branded.mypy.output import Message, format_report
from branded.mypy.settings import Settings, read_settings
from tests.explain.test_static import OLDEST, WITH_OLDEST
from tests.support.warm import MYPY, STRICT, warm

HERE = Path(__file__).parents[1] / "types"
NAIVE = sorted(HERE.glob("naive/*.py"))
"""Programs of users who do not know `Vec`: every signature has plain `Tensor`."""
FILES = [*sorted(HERE.glob("accepted/*.py")), *NAIVE, *sorted(HERE.glob("rejected/*.py"))]
NEWER = {HERE / "pep695.py": (3, 12), HERE / "pep696.py": (3, 13)}
"""Programs in the syntax of a newer Python, which the newest mypy parses on any Python."""
MESSAGES = HERE / "messages.txt"
WANTED = re.compile(r"([EN]): (.*?)(?=  [EN]: |$)")


class Program(NamedTuple):
    file: Path
    title: str
    first: int
    last: int


def programs() -> Iterator[Program]:
    for file in [*FILES, *NEWER]:
        lines = file.read_text().splitlines()
        starts = [i for i, line in enumerate(lines, 1) if line.startswith("# --- ")]
        for start, end in zip(starts, [*starts[1:], len(lines) + 1], strict=True):
            yield Program(file, lines[start - 1].removeprefix("# --- "), start, end - 1)


PROGRAMS = list(programs())


@functools.cache
def messages(which: str) -> list[Message]:
    """Run mypy with the plugin and return its messages."""
    python = {"newest": sys.executable, "oldest": str(OLDEST)}[which]
    out = _mypy(python, *FILES, *(file for file in NEWER if can_read(file, which)))
    return [parse_message(json.loads(line)) for line in out]


def can_read(file: Path, which: str) -> bool:
    return which == "newest" or sys.version_info >= NEWER.get(file, (3, 11))


def _mypy(python: str, *words: str | Path) -> list[str]:
    mypy, env = WITH_OLDEST if python == str(OLDEST) else MYPY, {"PYTHONPATH": str(HERE.parent.parent)}
    with tempfile.TemporaryDirectory() as cache:
        warm(Path(cache), mypy, STRICT, **(env if mypy is WITH_OLDEST else {}))
        config = ["--config-file", str(HERE / "mypy.ini"), "--cache-dir", cache, "--output", "json"]
        command = [*mypy, *config, "--python-executable", sys.executable, "--show-traceback"]
        env = {**os.environ, **env}
        done = subprocess.run([*command, *map(str, words)], capture_output=True, text=True, check=False, env=env)
    assert done.returncode in (0, 1) and not done.stderr, done.stdout + done.stderr
    return done.stdout.splitlines()


@functools.cache
def said(which: str) -> dict[tuple[str, int], list[Message]]:
    found: dict[tuple[str, int], list[Message]] = {}
    for m in messages(which):
        found.setdefault((str(Path(m.file).resolve()), m.line), []).append(m)
    return found


@pytest.mark.parametrize("which", ["newest", "oldest"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: f"{p.file.parent.name}/{p.file.stem}: {p.title}")
def test_program(program: Program, which: str) -> None:
    if which == "oldest" and not OLDEST.exists():
        pytest.skip("make test sets up the oldest mypy")
    if not can_read(program.file, which):
        pytest.skip("this mypy reads the syntax of a newer Python on that Python alone")
    lines = program.file.read_text().splitlines()
    errors = 0
    for n in range(program.first, program.last + 1):
        wanted = WANTED.findall(lines[n - 1].partition("  # ")[2])
        here = said(which).get((str(program.file), n), [])
        got = [(m.severity[0].upper(), "\n".join([m.raw, *m.notes])) for m in here]
        errors += sum(kind == "E" for kind, _ in wanted)
        for kind, text in wanted:
            match = next((g for g in got if g[0] == kind and text in g[1]), None)
            assert match, f"{program.file.name}:{n}: wanted {kind}: {text}\nmypy said {got}"
            got.remove(match)
        assert not got, f"{program.file.name}:{n}: {got}"
    if program.file.parent != HERE:
        is_rejected = program.file.parent.name == "rejected"
        assert (errors > 0) == is_rejected, "rejected programs have errors, others none"


@pytest.mark.by_numpy
@pytest.mark.parametrize("file", [*sorted(HERE.glob("accepted/*.py")), *NAIVE], ids=lambda f: f.stem)
def test_accepted_programs_run(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Accepted programs are correct, so they run."""
    monkeypatch.chdir(tmp_path)  # one program saves its results
    with Context(NOOPT=1):
        exec(compile(file.read_text(), str(file), "exec", dont_inherit=True), {"__name__": file.stem})


def newer_python(version: tuple[int, int]) -> str:
    """Return a Python of this version that has numpy, or skip the test."""
    name = "python{}.{}".format(*version)
    found = [shutil.which(name), *map(str, Path.home().glob(f".pyenv/versions/{version[0]}.{version[1]}.*/bin/python"))]
    own = sys.executable if sys.version_info[:2] == version else None
    for python in filter(None, [own, *found]):
        if subprocess.run([python, "-c", "import numpy, typing_extensions"], capture_output=True).returncode == 0:
            return python
    pytest.skip(f"there is no {name} with numpy here")


@pytest.mark.parametrize("version", [(3, 12), (3, 13)])
@pytest.mark.parametrize("file", NEWER, ids=lambda f: f.stem)
def test_programs_in_newer_syntax_run(file: Path, version: tuple[int, int], tmp_path: Path) -> None:
    if version < NEWER[file]:
        pytest.skip("this Python does not have the syntax")
    for package in (branded, tinygrad):
        folder = Path(package.__file__).parent
        (tmp_path / folder.name).symlink_to(folder)
    lines = file.read_text().splitlines()
    first = next(p.first for p in programs() if p.file == file and any("  # E: " in x for x in lines[p.first : p.last]))
    (tmp_path / "accepted.py").write_text("\n".join(lines[: first - 1]))  # the rejected programs are at the end
    call = [newer_python(version), "accepted.py"]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("a.ini", "[mypy]\n[branded]\nunvaried = error\n", Settings("error")),
        ("a.ini", "[mypy]\n[branded]\nrequire_axes = yes\n", Settings(require_axes=True)),
        ("a.ini", "[mypy]\n", Settings()),
        ("b.toml", '[tool.branded]\nunvaried = "off"\nrequire_axes = true\n', Settings("off", True)),
        ("pyproject.toml", '[tool.branded]\nunvaried = "off"\n', Settings("off")),
        ("pyproject.toml", "[tool", Settings()),
    ],
)
def test_settings(name: str, text: str, wanted: Settings, tmp_path: Path) -> None:
    assert _settings(name, text, tmp_path) == wanted


def test_invalid_settings_are_reported(tmp_path: Path) -> None:
    text = "[mypy]\n[branded]\nunvaried = loud\nrequire_axes = 7\nrequire_axis = true\n"
    assert [error.partition("a.ini: ")[2] for error in _settings("a.ini", text, tmp_path).errors] == [
        "[branded]: unrecognized option: require_axis = 'true'",
        "[branded]: unvaried must be note, error or off, not 'loud'",
        "[branded]: require_axes must be true or false, not '7'",
    ]


def test_a_section_of_pyproject_applies_to_mypy_ini(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.branded]\nrequire_axes = true\n")
    assert _settings("mypy.ini", "[mypy]\n", tmp_path) == Settings(require_axes=True)
    assert _settings("mypy.ini", "[mypy]\n[branded]\nunvaried = off\n", tmp_path) == Settings("off")


def _settings(name: str, text: str, folder: Path) -> Settings:
    (folder / name).write_text(text)
    options = Options()
    options.config_file = str(folder / name)
    return read_settings(options)


def test_number_of_programs() -> None:
    kinds = [p.file.parent.name for p in PROGRAMS]
    assert kinds.count("accepted") >= 60
    assert kinds.count("rejected") >= 80
    titles = [(p.file, p.title) for p in PROGRAMS]
    assert len(set(titles)) == len(titles)


def golden() -> str:
    """Format the rejected programs as `branded check` does."""
    rejected = [m._replace(file=Path(m.file).name) for m in messages("newest") if "rejected" in m.file]
    rejected.sort(key=lambda m: (m.file, m.line))
    return "\n".join(format_report(rejected, len({m.file for m in rejected}))) + "\n"


def test_exact_messages() -> None:
    assert golden() == MESSAGES.read_text(), "python -m tests.mypy.test_types"


if __name__ == "__main__":
    MESSAGES.write_text(golden())
