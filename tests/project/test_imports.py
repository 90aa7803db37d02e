"""Imports in the package have no cycles, including imports inside functions and imports for types only."""

from __future__ import annotations

import ast
import functools
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

Graph = Mapping[str, Mapping[str, str]]
"""For each module its imports, and their places: `brand.py:12`."""


@functools.cache
def statements(source: str) -> list[ast.Import | ast.ImportFrom | ast.ClassDef]:
    """Return the imports and class definitions of a source, at any depth."""
    return [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Import | ast.ImportFrom | ast.ClassDef)]


def graph(root: Path, package: str) -> Graph:
    """Return the imports between modules of a package, from its sources."""
    names = {}
    for path in sorted((root / package).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    edges: dict[str, dict[str, str]] = {name: {} for name in names}
    for name, path in names.items():
        for target, line in _imported(name, path):
            module = target if target in names else target.rpartition(".")[0]
            if module in names and module != name:
                edges[name].setdefault(module, f"{path.relative_to(root)}:{line}")
    return edges


def _imported(name: str, path: Path) -> Iterator[tuple[str, int]]:
    """Yield the imports of a module at any depth: modules, or names in modules."""
    inside = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in statements(path.read_text()):
        if isinstance(node, ast.Import):
            yield from ((a.name, node.lineno) for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = inside.split(".")[: len(inside.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((f"{base}.{a.name}", node.lineno) for a in node.names)


READ = {"branded", "mypy", "numpy", "tinygrad", "typing_extensions"}


def test_packages_read_by_mypy() -> None:
    """rich, for example, would make mypy read IPython and matplotlib, with 600 modules, for each user."""
    edges = graph(ROOT, "branded")
    read = ["branded", *_reached(edges, "branded")]
    files = [next(f for f in (p.with_suffix(".py"), p / "__init__.py") if f.exists()) for p in map(_path, read)]
    found = {x.split(".")[0] for name, f in zip(read, files, strict=True) for x, _ in _imported(name, f)}
    assert (found - sys.stdlib_module_names) - READ == set()


def _path(module: str) -> Path:
    return ROOT.joinpath(*module.split("."))


def cycles(edges: Graph) -> list[set[str]]:
    """Return the sets of two or more modules that import each other, directly or indirectly."""
    reached = {name: _reached(edges, name) for name in edges}
    found = {frozenset(m for m in reached[name] if name in reached[m]) for name in edges}
    return [{*modules} for modules in found if modules]


def _reached(edges: Graph, start: str) -> set[str]:
    seen: set[str] = set()
    todo = [start]
    while todo:
        new = edges[todo.pop()].keys() - seen
        seen |= new
        todo += new
    return seen


def shortest_cycle(edges: Graph, modules: set[str]) -> str:
    """Return the shortest cycle within some modules, one import per line."""
    ways = [way for start in sorted(modules) if (way := _way_back(edges, start))]
    return "\n".join(f"  {edges[a][b]}: {a} imports {b}" for a, b in min(ways, key=len))


def _way_back(edges: Graph, start: str) -> list[tuple[str, str]]:
    ways: dict[str, list[tuple[str, str]]] = {start: []}
    todo = [start]
    for name in todo:
        for other in edges[name]:
            if other == start:
                return [*ways[name], (name, start)]
            if other not in ways:
                ways[other] = [*ways[name], (name, other)]
                todo.append(other)
    return []


def test_no_import_cycles() -> None:
    edges = graph(ROOT, "branded")
    assert not (found := cycles(edges)), "these imports go round:\n" + "\n\n".join(
        shortest_cycle(edges, c) for c in found
    )


def test_imports_between_folders_go_down() -> None:
    """The layers are in `pyproject.toml`; import-linter also checks late imports and imports for types."""
    done = subprocess.run(["lint-imports"], cwd=ROOT, capture_output=True, text=True, env=WITH_SCRIPTS)
    assert done.returncode == 0, done.stdout


WITH_SCRIPTS = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"}


def folders() -> list[Path]:
    return [p.parent for p in sorted((ROOT / "branded").rglob("__init__.py"))]


def test_number_of_folders_and_modules() -> None:
    """One list shows a reader the whole system: neither the top level nor a folder grows."""
    top = [p for p in (ROOT / "branded").iterdir() if p.suffix == ".py" or any(p.glob("*.py"))]
    assert len(top) <= 31, sorted(p.name for p in top)
    fullest = {str(f.relative_to(ROOT)): len([*f.glob("*.py")]) for f in folders() if "learn" not in f.parts}
    assert {folder: n for folder, n in fullest.items() if n > 18} == {}


@pytest.mark.parametrize("folder", folders(), ids=lambda p: p.relative_to(ROOT).as_posix())
def test_folder_docstring_is_short(folder: Path) -> None:
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text()))
    assert text
    sentence = re.split(r"\.(?:\s|$)", text, maxsplit=1)[0]
    assert len(sentence.split()) <= 12, sentence


def test_class_names_are_unique() -> None:
    """Also classes inside functions and classes: a reader can look up a class by its name alone."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "branded").rglob("*.py")):
        for node in statements(path.read_text()):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert {name: places for name, places in found.items() if len(places) > 1} == {}


def test_every_kind_of_import_is_found(tmp_path: Path) -> None:
    """Imports may be late, for types only, relative, of a module from its package, or of a name from a module."""
    sources = {
        "__init__": "from .top import f",
        "top": "def f():\n    import p.late",
        "late": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.types import T",
        "types": "from p import by_package\nfrom p import __version__",
        "by_package": "from .sub.name import g",
        "sub/__init__": "",
        "sub/name": "from .. import top",
        "sub/alone": "from p.sub import name",
    }
    for name, text in sources.items():
        path = tmp_path / "p" / f"{name}.py"
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)
    edges = graph(tmp_path, "p")
    assert {a: [*b] for a, b in edges.items()} == {
        "p": ["p.top"],
        "p.by_package": ["p.sub.name"],
        "p.late": ["p.types"],
        "p.sub": [],
        "p.sub.alone": ["p.sub.name"],
        "p.sub.name": ["p.top"],
        "p.top": ["p.late"],
        "p.types": ["p.by_package", "p"],
    }
    (circle,) = cycles(edges)
    assert circle == edges.keys() - {"p.sub", "p.sub.alone"}
    assert shortest_cycle(edges, circle).splitlines() == [
        "  p/__init__.py:1: p imports p.top",
        "  p/top.py:2: p.top imports p.late",
        "  p/late.py:3: p.late imports p.types",
        "  p/types.py:2: p.types imports p",
    ]


_FRESH = """
import gc, sys
import tinygrad
searches = []
gc.callbacks.append(lambda phase, info: searches.append(info))
import branded
assert gc.isenabled() and not searches, searches
del gc.callbacks[:]
assert "numpy" not in sys.modules
from tinygrad import Tensor
assert branded.vmap(lambda x: x + 1)(Tensor([1, 2])).numpy().tolist() == [2, 3]
assert "numpy" in sys.modules and branded.tinygrad_compat.lazy_numpy.np.ndarray is sys.modules["numpy"].ndarray
"""


def test_import_loads_no_numpy_and_runs_no_gc() -> None:
    """The import waits neither for numpy, which doubles its time, nor for a garbage collection of tinygrad objects."""
    subprocess.run([sys.executable, "-c", _FRESH], check=True)
    kept = "import gc; gc.disable(); import branded; assert not gc.isenabled()"
    subprocess.run([sys.executable, "-c", kept], check=True)
