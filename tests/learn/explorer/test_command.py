"""Check the command that writes the explorer, and the stored explanations of its examples."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from branded import cli
from branded.errors import ExplorerError
from branded.explain import html
from branded.learn.explorer import catalog, runtime
from tests.learn.explorer.reading import data

ROOT = Path(__file__).parents[3]

# ---- the stored explanations ----


EXPLAIN_ALL = """
import json, os, sys
from branded.explain import static
from branded.learn.explorer import catalog

files = {e.file for e in catalog.EXAMPLES}
types = static.types_of({file: file.read_text() for file in files})  # one call for all files saves four seconds
static.types_in = types.__getitem__
json.dump({e.name: catalog.text(e) for e in catalog.EXAMPLES}, sys.stdout)
sys.stdout.flush()
os._exit(0)  # otherwise the gigabyte that mypy holds is freed piece by piece
"""


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    """Return the current explanation of each example."""
    done = subprocess.run([sys.executable, "-c", EXPLAIN_ALL], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.browser  # twelve seconds for files that only the site shows
@pytest.mark.parametrize("example", catalog.EXAMPLES, ids=lambda example: example.name)
def test_stored_explanations_are_current(example: catalog.Example, said: dict[str, str]) -> None:
    assert said[example.name] == example.data.read_text(encoding="utf-8")


def test_every_example_file_is_in_the_menu() -> None:
    files = {path.stem for path in catalog.FOLDER.glob("*.py")} - {"__init__"}
    assert files == {example.file.stem for example in catalog.EXAMPLES}
    assert {path.stem for path in catalog.FOLDER.glob("*.json")} == {example.name for example in catalog.EXAMPLES}


# ---- the command ----


def test_command_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "folder"
    assert cli.main(["explorer", str(out), "--no-edit"]) == 0
    assert capsys.readouterr().out == f"{out / 'index.html'}\n"
    assert [path.name for path in out.iterdir()] == ["index.html"]


def test_explorer_without_npm_has_no_editor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(runtime, "npm", lambda: None)
    assert cli.main(["explorer", str(tmp_path)]) == 0
    said = "explorer: without edit, because npm is not installed: pip install 'branded[explorer]'\n"
    assert capsys.readouterr().err == said
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]
    with pytest.raises(ExplorerError, match="npm is not installed"):
        runtime.fetch(tmp_path)


def test_folder_without_pyodide(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["explorer", str(tmp_path / "out"), "--pyodide", str(tmp_path)]
    assert cli.main(words) == 1
    parts = "package.json, pyodide.mjs, pyodide.asm.mjs, pyodide-lock.json, python_stdlib.zip, pyodide.asm.wasm"
    assert capsys.readouterr().err == (
        f"explorer: {tmp_path} is not the npm package pyodide\n"
        f"  missing: {parts}\n"
        f"  try:     npm pack pyodide@{runtime.PYODIDE}, and unpack the archive\n"
        "  why:     python -m branded why explorer\n"
    )
    for name in (*runtime.PARTS, "package.json"):
        (tmp_path / name).write_text('{"version": "0.1.0"}')
    assert cli.main(words) == 1
    assert capsys.readouterr().err == (
        f"explorer: {tmp_path} is pyodide 0.1.0, and the page is tested with {runtime.PYODIDE}\n"
        f"  try: npm pack pyodide@{runtime.PYODIDE}, and unpack the archive\n"
        "  why: python -m branded why explorer\n"
    )


def test_npm_failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "npm", lambda: [sys.executable, "-c", "raise SystemExit('no network')"])
    with pytest.raises(
        ExplorerError, match=r"npm could not fetch pyodide\n  npm said: no network\n  try:      use --pyodide"
    ):
        runtime.fetch(tmp_path)
    (tmp_path / f"pyodide-{runtime.PYODIDE}.tgz").write_bytes(b"something else")
    monkeypatch.setattr(runtime, "npm", lambda: [sys.executable, "-c", ""])
    with pytest.raises(ExplorerError, match="does not have the checksum"):
        runtime.fetch(tmp_path)


def test_python_before_3_11_4_unpacks_pyodide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Older versions of `tarfile` have no filters."""
    with tarfile.open(archive := tmp_path / f"pyodide-{runtime.PYODIDE}.tgz", "w:gz") as tar:
        tar.add(__file__, "package/part")
    digest = hashlib.sha512(archive.read_bytes()).digest()
    monkeypatch.setattr(runtime, "_INTEGRITY", base64.b64encode(digest).decode())
    monkeypatch.setattr(runtime, "npm", lambda: [sys.executable, "-c", ""])
    unpack = tarfile.TarFile.extractall
    monkeypatch.setattr(tarfile.TarFile, "extractall", lambda tar, path: unpack(tar, path))
    monkeypatch.delattr(tarfile, "data_filter", raising=False)
    assert (runtime.fetch(tmp_path) / "part").read_bytes() == Path(__file__).read_bytes()


def test_dagre_checksum_and_licence() -> None:
    """dagre 3.1.3 is the file that npm publishes; its licence is stored next to it and is part of every page."""
    folder = html.ASSETS / "vendor"
    assert hashlib.sha256((folder / "dagre.min.js").read_bytes()).hexdigest() == DAGRE
    assert (folder / "dagre.min.js.LEGAL.txt").read_text() in html.page(data("zip"))


DAGRE = "54a503e346f93ca0bb10abe7999587e037262935687aca45eb4e4b0f64bbb578"
