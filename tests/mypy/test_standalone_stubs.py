"""The package tinygrad-stubs: its examples run, and type checkers accept them where branded is not installed."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path

import pytest
from tinygrad import Context

import branded  # noqa: F401  chooses the compiler
from branded.mypy import plugin
from branded.tools import info
from tests.explain.test_static import SKIPPED
from tests.support.profiles import amount

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "stubs" / "standalone"
EXAMPLES = sorted((PACKAGE / "examples").glob("*.py"))
MISTAKES = PACKAGE / "examples" / "mistakes.py"
NOT_RUN = {MISTAKES.stem, *amount(("classifier",), ())}  # its training compiles kernels for six seconds
MARKED = {n for n, line in enumerate(MISTAKES.read_text().splitlines(), 1) if "  # error: " in line}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that has the stubs, tinygrad and numpy.

    It reads our site-packages, but not the .pth file there that leads to branded and its stubs.
    """
    folder = tmp_path_factory.mktemp("alone")
    venv.create(folder, with_pip=False)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    paths = {"base": str(folder), "platbase": str(folder)}
    site = Path(sysconfig.get_path("purelib", "venv", vars=paths))
    site.joinpath("alone.pth").write_text(f"{PACKAGE}\n{sysconfig.get_path('purelib')}\n")
    return python


@pytest.mark.by_numpy
@pytest.mark.parametrize("path", [p for p in EXAMPLES if p.stem not in NOT_RUN], ids=lambda p: p.stem)
def test_example_runs(path: Path) -> None:
    with Context(NOOPT=1):
        runpy.run_path(str(path))


@pytest.mark.exhaustive  # `make packages` checks the same programs with the built package
def test_mypy_accepts_the_examples(python: Path, tmp_path: Path) -> None:
    words = ("--strict", "--config-file", "", "--output", "json", "--python-executable", python)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *words, *EXAMPLES], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1, done.stdout + done.stderr
    errors = [m for line in done.stdout.splitlines() if (m := json.loads(line))["severity"] == "error"]
    assert {(Path(m["file"]).name, m["line"]) for m in errors} == {(MISTAKES.name, n) for n in MARKED}


@pytest.mark.exhaustive  # `make packages` checks the same programs with the built package
def test_pyright_accepts_the_examples(python: Path, tmp_path: Path) -> None:
    for path in EXAMPLES:
        shutil.copy(path, tmp_path)
    words = ("--pythonpath", str(python), "--outputjson", ".")
    pyright = [str(Path(sys.executable).with_name("pyright")), *words]
    done = subprocess.run(pyright, cwd=tmp_path, capture_output=True, text=True)
    errors = [m for m in json.loads(done.stdout)["generalDiagnostics"] if m["severity"] == "error"]
    found = {(Path(m["file"]).name, m["range"]["start"]["line"] + 1) for m in errors}
    assert found == {(MISTAKES.name, n) for n in MARKED}


def test_stubs_are_what_runs(python: Path, tmp_path: Path) -> None:
    (tmp_path / "mypy.ini").write_text(f"[mypy]\n{SKIPPED}")
    words = ("--concise", "--mypy-config-file", "mypy.ini", "--ignore-unused-allowlist", "--allowlist")
    modules = ("tinygrad.tensor", "tinygrad.helpers", "tinygrad.nn")
    command = [python, "-m", "mypy.stubtest", *words, ROOT / "stubs" / "stubtest-allowlist.txt", *modules]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_stubs_are_partial_and_need_no_branded() -> None:
    assert (PACKAGE / "tinygrad-stubs" / "py.typed").read_text() == "partial\n"
    for path in (PACKAGE / "tinygrad-stubs").rglob("*.pyi"):
        assert not re.search(r"\bbranded\b|\bVec\b", path.read_text()), path


def test_plugin_reports_the_package(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Both packages own files of one folder: those that were installed last are there."""
    (folder := tmp_path / "tinygrad_stubs-0.14.0.dist-info").mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: tinygrad-stubs\nVersion: 0.14.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    plugin("2.4")
    assert capsys.readouterr().err == (
        "branded: the package tinygrad-stubs 0.14.0 has replaced the stubs of branded, so brands are not checked\n"
        "  try:   pip uninstall tinygrad-stubs, then pip install --force-reinstall --no-deps branded\n"
    )
    assert dict(info.facts("1"))["stubs"].startswith("tinygrad-stubs 0.14.0 has replaced the stubs of branded")


def test_metadata_agrees_with_branded() -> None:
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    alone = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    assert alone["dependencies"] == ours["dependencies"] and alone["requires-python"] == ours["requires-python"]
    (needed,) = [x for x in ours["dependencies"] if x.startswith("tinygrad")]
    assert needed.startswith("tinygrad>=" + ".".join(alone["version"].split(".")[:3]))
    assert (PACKAGE / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
