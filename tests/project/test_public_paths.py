"""Documented names and dotted paths of earlier versions still import, and are the same objects."""

from __future__ import annotations

import importlib
import subprocess
import sys
from types import ModuleType

import pytest

import branded

PATHS = [
    "branded.callbacks.debug:print",
    "branded.cpu:plain",
    "branded.dask:vmap",
    "branded.derivatives.forward:tangent",
    "branded.dispatch:resolve",
    "branded.dispatch:rule",
    "branded.dispatch:close",
    "branded.errors:BrandedError",
    "branded.explain:explain",
    "branded.functions:median",
    "branded.learn.demo:digits",
    "branded.learn.explorer:runtime",
    "branded.learn.picture:cells",
    "branded.learn.puzzles.expected:key",
    "branded.linalg:solve",
    "branded.linalg.primitive:MatrixOperation",
    "branded.mypy:plugin",
    "branded.optim:adam",
    "branded.optim.base:identity",
    "branded.optim.implicit:root",
    "branded.optim.minimize:minimize",
    "branded.patches.arrays:np",
    "branded.picture:cells",
    "branded.planning.report:memory",
    "branded.primitive:Primitive",
    "branded.profiling:profile",
    "branded.program:make_expr",
    "branded.program.expr:make_expr",
    "branded.puzzles:check",
    "branded.random:key",
    "branded.rows:row_of",
    "branded.transforms.collectives:psum",
    "branded.transforms.exchanges:ppermute",
    "branded.transforms.jit:jit",
    "branded.transforms.modules:functional_call",
    "branded.tree:map",
    "branded.tree.paths:keystr",
    "branded.tree.ravel:ravel",
    "branded.tree.structures:structure",
    "branded.values:vec_type",
    "branded.vec:Vec",
]


@pytest.mark.parametrize("path", PATHS)
def test_each_documented_path_imports(path: str) -> None:
    module, _, name = path.partition(":")
    assert getattr(importlib.import_module(module), name) is not None


@pytest.mark.parametrize(("earlier", "now"), branded._MOVED.items())
def test_moved_module_has_one_object(earlier: str, now: str) -> None:
    module = importlib.import_module(earlier)
    assert module is importlib.import_module(now) and module.__name__ == now


def test_moved_modules_keep_public_names() -> None:
    code = "import branded; [__import__(name) for name in branded._MOVED]; print(branded.memory, branded.vmap)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.count("<function ") == 2


def test_every_public_name_imports() -> None:
    modules = {name for name in branded.__all__ if isinstance(getattr(branded, name), ModuleType)}
    assert modules == {"debug", "functions", "linalg", "optim", "program", "random", "tree"} & {*branded.__all__}
