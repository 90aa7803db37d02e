"""Shapes that mypy infers from the data: bench/mapbugs, `require_axes` and `branded check --suggest`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from bench.mapbugs import __main__ as mapbugs
from tests.support.realized import BY_NUMPY
from tests.support.warm import CHECK, MYPY, STRICT, warm

EVERYTHING = [m for path in mapbugs.PROGRAMS for m in mapbugs.mutants(path)]


def test_mistakes_change_the_results() -> None:
    assert mapbugs.run(EVERYTHING, before=BY_NUMPY) == []


@pytest.mark.parametrize(("way", "least"), [("shapes", 122), ("Axes", 120)])
def test_mistakes_are_found_without_false_alarms(
    way: str, least: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warm(tmp_path, MYPY, mapbugs.CONFIG)
    monkeypatch.setenv("MYPY_CACHE_DIR", str(tmp_path))
    assert len(EVERYTHING) >= 140 and len(mapbugs.PROGRAMS) == 20
    errors = mapbugs.check(EVERYTHING, way)
    assert not [errors[m.name] for m in EVERYTHING if m.kind is None and errors[m.name]]
    assert sum(bool(errors[m.name]) for m in EVERYTHING if m.kind) >= least


@pytest.mark.parametrize("name", ["mypy.ini", "pyproject.toml"])
def test_require_axes(name: str, tmp_path: Path) -> None:
    is_toml = name.endswith("toml")
    plugin = '[tool.mypy]\nplugins = ["branded.mypy"]\nenable_error_code = ["truthy-bool"]\n' if is_toml else STRICT
    setting = "[tool.branded]\nrequire_axes = true\n" if is_toml else "\n[branded]\nrequire_axes = true\n"
    (tmp_path / name).write_text(plugin + setting)
    (tmp_path / "app.py").write_text(
        "from tinygrad import Tensor\n"
        "from branded import Brand, as_axes, vmap\n"
        "class Users(Brand): ...\n"
        "class Features(Brand): ...\n"
        "X = as_axes(Tensor.ones(3, 2), Users, Features)\n"
        "a = vmap(lambda x: x.sum())(X)\n"
        "b = vmap(lambda x: x.sum())(Tensor.ones(3, 2))\n"
        "c = vmap(lambda x, w: (x * w).sum(), in_axes=(0, None))(X, Tensor.ones(2))\n"
        "d = vmap(lambda t: t[0].sum())((X, Tensor.ones(3)))\n"
    )
    warm(tmp_path / ".mypy_cache", MYPY, mapbugs.CONFIG if is_toml else STRICT)
    command = [*MYPY, "--output", "json", "--config-file", name, "app.py"]
    out = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    wanted = "argument 1 has no axes, and `require_axes` is set"
    errors = [m for m in map(json.loads, out.splitlines()) if m["severity"] == "error"]
    assert [m["line"] for m in errors if wanted in m["message"]] == [7, 9]
    assert all(m["line"] in (7, 9) for m in errors)


def test_suggestions_leave_out_mistakes_in_sizes(tmp_path: Path) -> None:
    """`branded check` finds these without names."""
    (tmp_path / "app.py").write_text(
        "from tinygrad import Tensor\n"
        "from branded import vmap\n"
        "n_users, n_items = 3, 4\n"
        "U, V = Tensor.rand(n_users, 2), Tensor.rand(n_items, 2)\n"
        "W = Tensor.rand(n_users, 2)\n"
        "print(vmap(lambda u, v: (u * v).sum())(W, V).tolist())\n"
    )
    warm(tmp_path / ".mypy_cache")
    done = subprocess.run([*CHECK, "--suggest", "app.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.endswith("\nwith these names mypy finds no other mistake\n")


def test_edits_of_shapes_reach_importers(tmp_path: Path) -> None:
    (tmp_path / "mypy.ini").write_text(STRICT)
    tensors, base = "from tinygrad import Tensor\n", "def load(n: int = 3) -> Tensor:\n    return Tensor.ones(n, 2)\n"
    lib = (
        "from base import load\n"
        "from branded import vmap\n"
        "def both(a: Tensor) -> Tensor:\n    return vmap(lambda x, y: (x * y).sum())(a, load())\n"
    )
    app = "from branded import vmap\nfrom lib import both\nvmap(lambda x: x)(both(Tensor.ones(3, 2)))\n"
    files = {"base.py": tensors + base, "lib.py": tensors + lib, "app.py": tensors + app}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    warm(tmp_path / ".mypy_cache", MYPY, STRICT)

    def errors() -> list[tuple[str, int]]:
        command = [*MYPY, "--output", "json", "--config-file", "mypy.ini", "app.py"]
        out = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
        found = [m for m in map(json.loads, filter(None, out.splitlines())) if m["severity"] == "error"]
        return [(Path(m["file"]).name, m["line"]) for m in found]

    assert errors() == []
    # another length too: mypy compares times by the second
    (tmp_path / "base.py").write_text(files["base.py"].replace("= 3", "= 14"))
    assert errors() == [("app.py", 4)]
    (tmp_path / "app.py").write_text(files["app.py"].replace("ones(3", "ones(14"))
    assert errors() == []


OWN = """\
from branded import Axes, Brand, vmap
from tinygrad import Tensor
class Users(Brand): ...
n = 2
n += 1
def with_variable(x: Tensor) -> Tensor:
    return x.sum() + Tensor.ones(4, n)
def with_declared(x: Tensor) -> Tensor:
    y: Axes[Users, Users] = x.reshape(4, -1)
    return y
def with_function(x: Tensor) -> Tensor:
    return summed(x) + 1
def summed(x: Tensor) -> Tensor:
    return x.sum(0)
"""
USES = """vmap(lambda r: r)(Tensor.ones(2))
with_variable(Tensor.ones(4, 3)) + Tensor.ones(4, 11)
with_declared(Tensor.ones(4, 3)) + Tensor.ones(4, 11)
with_function(Tensor.ones(4, 3)) + Tensor.ones(4, 11)
summed(Tensor.ones(4, 3)) + Tensor.ones(4, 11)
"""


def test_results_of_own_functions_are_shared_if_importers_find_the_same(tmp_path: Path) -> None:
    """An importer parses the source again, and there are no types of expressions and no values of variables in it."""
    app = f"from branded import vmap\nfrom lib import summed, with_declared, with_function, with_variable\n{USES}"
    (tmp_path / "app.py").write_text(f"from tinygrad import Tensor\n{app}")
    found = list[list[str]]()
    for is_followed in (True, False):
        text = OWN + USES if is_followed else f"{OWN}{USES}# mypy: ignore-errors\n"
        (tmp_path / "lib.py").write_text(text)
        warm(tmp_path / ".mypy_cache", MYPY, STRICT)
        (tmp_path / "mypy.ini").write_text(STRICT)
        command = [*MYPY, "--config-file", "mypy.ini", "lib.py", "app.py"]
        out = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
        found.append([line for line in out.splitlines() if line.startswith("app.py")])
    assert found[0] == found[1]
    assert [line.partition(":")[2].partition(":")[0] for line in found[0] if ": error:" in line] == ["6", "7", "8"]


LIBRARY = """\
from dataclasses import dataclass
from branded import Axes, Brand, vmap
from tinygrad import Tensor
class Users(Brand): ...
class Items(Brand): ...
class Features(Brand): ...
@dataclass(frozen=True)
class Data:
    users: Axes[Users, Features]
    items: Axes[Items, Features]
def load(n: int, m: int) -> Data:
    return Data(Tensor.rand(n, 3), Tensor.rand(m, 3))
def reader(x: Tensor) -> Tensor:
    return x / x.sum() if x.shape[0] > 2 else x
"""
APPLICATION = """\
from branded import vmap
from tinygrad import Tensor
from lib import Data, load, reader

def scores(data: Data) -> list[float]:
    wrong = vmap(lambda u, i: (u * i).sum())(data.users, data.items)
    return vmap(lambda u: vmap(lambda i: (u * i).sum())(data.items).sum())(data.users).tolist()

def main() -> None:
    data = load(4, 5)
    print(scores(data), vmap(reader)(data.users))
    print(vmap(lambda u: u + Tensor.ones(4))(data.users))

main()
"""


def test_file_whose_calls_are_all_in_functions(tmp_path: Path) -> None:
    """mypy asks the plugin nothing in the statements of a file without annotations of tensors."""
    (tmp_path / "lib.py").write_text(LIBRARY)
    (tmp_path / "app.py").write_text(APPLICATION)
    warm(tmp_path / ".mypy_cache")
    command = [*CHECK, "--output", "json", "app.py", "lib.py"]
    out = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    found = [(m["file"], m["line"], m["message"].splitlines()[0]) for m in json.loads(out)["messages"]]
    assert found == [
        ("app.py", 6, "vmap: `Users` is zipped with `Items`"),
        ("app.py", 12, "+: `Features` differs from `4` at axis -1"),
    ]


def test_nested_calls_of_methods(tmp_path: Path) -> None:
    """Each argument is followed once: twice at each level would be too many steps to reach the mistake."""
    nested = "x"
    for _ in range(20):
        nested = f"x.add({nested})"
    (tmp_path / "app.py").write_text(
        "from tinygrad import Tensor\n"
        "from branded import vmap\n\n"
        "def f(x: Tensor) -> Tensor:\n"
        f"    return {nested} + Tensor.ones(4)\n\n"
        "print(vmap(f)(Tensor.ones(2, 3)).shape)\n"
    )
    warm(tmp_path / ".mypy_cache", CHECK)
    command = [*CHECK, "--output", "json", "app.py"]
    out = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    assert [m["line"] for m in json.loads(out)["messages"]] == [5]
