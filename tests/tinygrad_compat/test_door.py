"""All private access to tinygrad goes through one file; each of its names exists and behaves as we require."""

from __future__ import annotations

import ast
import functools
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType

import pytest
import tinygrad
from tinygrad import Tensor, TinyJit, dtypes
from tinygrad.device import Buffer
from tinygrad.uop.ops import PatternMatcher, UOp

from branded.tinygrad_compat import private_api
from tests.project.packages import compiler
from tests.tinygrad_compat.door_checks import CHECKS

ROOT = Path(__file__).parents[2]
DOOR = "branded/tinygrad_compat/private_api.py"

KEYS_IN_TWO_PLACES = {
    "KNOWN": "a compiled function asks each argument at each call, where a function would take longer"
}
"""Keys of ours that are also read in another file, and the reason."""

OF_PYTHON = {"_asdict", "_fields", "_getframe", "_replace"}
"""Private names that Python documents."""

# ---- the sources ----


@functools.cache
def private_names() -> frozenset[str]:
    """Return the names with a leading `_` in the parts of tinygrad that build and run graphs."""
    root = Path(tinygrad.__file__).parent
    parts = ("*.py", "uop/*.py", "mixin/*.py", "engine/*.py", "schedule/*.py", "codegen/**/*.py", "nn/*.py")
    files = [path for part in parts for path in root.glob(part)]
    files += [root / "runtime" / "ops_cpu.py", root / "runtime" / "support" / "compiler_cpu.py"]
    found = {name for path in files for name in re.findall(r"\b_[A-Za-z]\w*", path.read_text())}
    return frozenset(found - OF_PYTHON | {"_RECURSIVE_PROPERTY__shape"})


def of_its_classes() -> set[str]:
    """Return the private attributes of the classes that we use most: no class of ours may have the same."""
    classes = (Tensor, UOp, Buffer, TinyJit, dtypes, PatternMatcher)
    return {name for cls in classes for name in dir(cls) if re.match("_[A-Za-z]", name)}


def own_names(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the private names that sources define: functions, variables, attributes of self."""
    found = set()
    for node in nodes:
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                found.add(node.name)
            case (
                ast.Name(id=name, ctx=ast.Store())
                | ast.Attribute(attr=name, value=ast.Name(id="self"), ctx=ast.Store())
            ):
                found.add(name)
    return found


def chain(node: ast.expr) -> list[str]:
    """Return the names of `a.b.c`, or an empty list for other expressions."""
    if isinstance(node, ast.Attribute):
        return [*before, node.attr] if (before := chain(node.value)) else []
    return [node.id] if isinstance(node, ast.Name) else []


def docstrings(nodes: Iterable[ast.AST]) -> set[ast.AST]:
    return {n.value for n in nodes if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)}


def dict_key(node: ast.AST) -> ast.expr | None:
    """Return the key of `u.__dict__[key]`, `u.__dict__.get(key)` and `key in u.__dict__`."""

    def is_dict(x: ast.expr) -> bool:
        return isinstance(x, ast.Attribute) and x.attr == "__dict__"

    match node:
        case ast.Subscript(value=holder, slice=key) if is_dict(holder):
            return key
        case ast.Call(func=ast.Attribute(value=holder), args=[key, *_]) if is_dict(holder):
            return key
        case ast.Compare(left=key, ops=[ast.In() | ast.NotIn()], comparators=[holder]) if is_dict(holder):
            return key
    return None


COMPAT = ("branded/tinygrad_compat/", "branded/hooks/")
"""The folders that replace names of tinygrad."""


def breaches(sources: dict[str, str]) -> list[str]:
    """Return the places where sources access tinygrad without its public names or the door."""
    files = {file: [*ast.walk(ast.parse(text))] for file, text in sources.items()}
    private = (private_names() - own_names(node for nodes in files.values() for node in nodes)) | of_its_classes()
    return [
        f"{file}:{what}"
        for file, nodes in files.items()
        for what in (
            *_imports(nodes),
            *_uses(nodes, private, file.startswith(("branded/tinygrad_compat/", "branded/hooks/"))),
        )
    ]


def _imports(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        match node:
            case ast.Import(names=names):
                for a in names:
                    if a.name.partition(".")[0] == "tinygrad" and a.name not in private_api.PUBLIC:
                        yield f"{node.lineno}: import {a.name}"
            case ast.ImportFrom(module=str(module), names=names) if module.partition(".")[0] == "tinygrad":
                allowed = private_api.PUBLIC.get(module, frozenset())
                for a in names:
                    if a.name not in allowed:
                        yield f"{node.lineno}: from {module} import {a.name}"
            case ast.ImportFrom(module="branded.tinygrad_compat.private_api", names=names):
                for a in names:
                    if not at_the_door(a.name):
                        yield f"{node.lineno}: {a.name} is not in {DOOR}"


def at_the_door(name: str) -> bool:
    return (
        name in private_api.TAKEN
        or name in private_api.MODULES
        or (name in vars(private_api) and not name.startswith("_"))
    )


def _uses(nodes: Sequence[ast.AST], private: frozenset[str], in_compat: bool) -> Iterator[str]:
    replaced = {name.partition(".")[2] for name in private_api.REPLACED}
    texts = docstrings(nodes)
    whole = nodes[0]
    assert isinstance(whole, ast.Module)
    assigned = (t for n in whole.body if isinstance(n, ast.Assign) for t in n.targets)
    named = {t.id for t in assigned if isinstance(t, ast.Name)}
    for node in nodes:
        if isinstance(node, ast.Attribute):
            match chain(node):
                case ["private_api", name] if not at_the_door(name):
                    yield f"{node.lineno}: private_api.{name} is not in {DOOR}"
                case ["private_api", module, name] if (
                    module in private_api.MODULES and f"{module}.{name}" not in private_api.REPLACED
                ):
                    yield f"{node.lineno}: private_api.{module}.{name} is not in {DOOR}"
                case ["tinygrad", module] if isinstance(getattr(tinygrad, module, None), ModuleType) and module != "nn":
                    yield f"{node.lineno}: tinygrad.{module}"
                case ["private_api", *_]:
                    pass
                case ["self" | "cls", _]:
                    pass
                case _ if node.attr in private:
                    yield f"{node.lineno}: .{node.attr}"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in texts:
            if node.value in private and not (in_compat and node.value in replaced):
                yield f"{node.lineno}: {node.value!r}"
            if re.fullmatch(r"tinygrad(\.\w+)+", node.value) and node.value not in private_api.PUBLIC:
                yield f"{node.lineno}: {node.value!r}"
        if (key := dict_key(node)) is not None:
            name = ast.unparse(key)
            if isinstance(key, ast.Constant) and not str(key.value).startswith("__"):
                yield f"{key.lineno}: the key {name} has no name"
            if name.isupper() and name not in named and name not in KEYS_IN_TWO_PLACES:
                yield f"{key.lineno}: the key {name} is another file's"


def package() -> dict[str, str]:
    """Return all sources except the door and the mypy plugin, which does not use tinygrad."""
    files = {str(p.relative_to(ROOT)): p.read_text() for p in sorted((ROOT / "branded").rglob("*.py"))}
    return {file: text for file, text in files.items() if file != DOOR and not file.startswith("branded/mypy/")}


def test_no_access_past_the_door() -> None:
    assert not (found := breaches(package())), "\n".join(["these go to tinygrad past its door:", *found])


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("import tinygrad.engine.jit", "import tinygrad.engine.jit"),
        ("from tinygrad.tensor import all_tensors", "from tinygrad.tensor import all_tensors"),
        ("from tinygrad.nn import _x", "from tinygrad.nn import _x"),
        ("def f():\n    from tinygrad.dtype import truncate", "from tinygrad.dtype import truncate"),
        (
            "from branded.tinygrad_compat.private_api import nothing",
            "nothing is not in branded/tinygrad_compat/private_api.py",
        ),
        ("private_api.nothing()", "private_api.nothing is not in branded/tinygrad_compat/private_api.py"),
        (
            "private_api.codegen.nothing = 1",
            "private_api.codegen.nothing is not in branded/tinygrad_compat/private_api.py",
        ),
        ("tinygrad.engine.realize.capturing", "tinygrad.engine"),
        ("f(x)._shape", "._shape"),
        ("x.uop._rop(1)", "._rop"),
        ("setattr(Tensor, '_next_counter', f)", "'_next_counter'"),
        ("importlib.import_module('tinygrad.tensor')", "'tinygrad.tensor'"),
        ("u.__dict__['_RECURSIVE_PROPERTY__shape']", "'_RECURSIVE_PROPERTY__shape'"),
        ("u.__dict__.get('axis')", "the key 'axis' has no name"),
        ("if _KEY in u.__dict__: pass", "the key _KEY is another file's"),
    ],
)
def test_each_way_past_the_door_is_found(line: str, found: str) -> None:
    seen = breaches({"branded/x.py": line})
    assert seen and any(said.partition(": ")[2] == found for said in seen), seen


def test_allowed_access_is_not_reported() -> None:
    text = """
from tinygrad import Tensor, nn
from tinygrad.uop.ops import Ops, UOp
from branded.tinygrad_compat.private_api import all_tensors
KEY = "_branded_key"
def f(self, u):
    '_shape is a name of tinygrad.tensor'
    u.__dict__[KEY] = private_api.codegen.pm_number_params
    return self._shape, private_api.run_linear, private_api.known_shape(u)
"""
    assert breaches({"branded/x.py": text}) == []


def test_keys_are_defined_once() -> None:
    keys = re.findall(r'"(_branded_\w+)"', "\n".join(package().values()))
    assert keys and len(keys) == len(set(keys))


# ---- the names ----


def test_door_has_no_unused_names() -> None:
    words = {word for text in package().values() for word in re.findall(r"\w+", text)}
    assert [name for name in private_api.TAKEN if name not in words] == []
    assert [name for name in private_api.REPLACED if name.partition(".")[2] not in words] == []
    assert {name.partition(".")[0] for name in private_api.REPLACED} == private_api.MODULES.keys()


def test_names_behave_as_required(tmp_path: Path) -> None:
    """In a tinygrad without patches."""
    assert CHECKS.keys() - {"functions"} == private_api.TAKEN.keys()
    words, env = [sys.executable, "-m", "tests.tinygrad_compat.door"], {**os.environ, **compiler(tmp_path)}
    run = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True)
    assert (run.stdout, run.returncode) == ("", 0), run.stderr


def test_unknown_name_is_not_an_attribute() -> None:
    assert not hasattr(private_api, "nothing") and private_api.codegen is private_api.codegen
    assert private_api.all_tensors is private_api.tensor.all_tensors
