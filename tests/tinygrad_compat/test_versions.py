"""Check the requirements of branded on other versions of tinygrad, and its behavior if some are missing."""

from __future__ import annotations

import ast
import functools
import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

import pytest
import tinygrad

from branded import cli, errors, tinygrad_compat
from branded.tinygrad_compat import private_api
from branded.tools import doctor
from tests.tinygrad_compat import door, renamed

ROOT = Path(__file__).parents[2]
PATCHES = {**tinygrad_compat.PATCHES, **tinygrad_compat.FASTER}

# ---- the features that need a name ----

FOLDERS = {
    "tools/disk_cache.py": "cache",
    "backends/cpu/runtime/native.py": "native",
    "backends": "backend",
    "callbacks": "callbacks",
    "chunking/footprint.py": "memory",
    "compile/executable.py": "jit",
    "compile/inputs.py": "jit",
    "compile/jit.py": "jit",
    "compile/kernel_times.py": "profile",
    "compile/output_pool.py": "jit",
    "dask": "dask",
    "explain": "explain",
    "functions": "functions",
    "hooks/error_translation": "errors",
    "learn": "explain",
    "linalg": "linalg",
    "random": "random",
    "tinygrad_compat/c_compiler.py": "compiler",
    "tinygrad_compat/fixes/runtime/realized_writes.py": "whole",
    "tinygrad_compat/speed/compile_worker_start.py": "workers",
    "tinygrad_compat/speed/program_cache.py": "disk",
    "tinygrad_compat/speed/schedule_cache.py": "disk",
    "tinygrad_compat/speed/threaded_compile.py": "workers",
    "tinygrad_compat/zig_clang.py": "compiler",
    **{f"{module.replace('.', '/')}.py": name for name, module in PATCHES.items()},
}
"""The files and folders of the features that can be disabled. All other files belong to the core."""


def feature_of(file: str) -> str:
    return next((name for place, name in FOLDERS.items() if file == place or file.startswith(f"{place}/")), "core")


def is_of(node: ast.AST, name: str) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name


def uses(tree: ast.AST) -> Iterator[str]:
    """Yield the private names and the operations that a file uses."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module="branded.tinygrad_compat.private_api", names=names):
                yield from (a.name for a in names)
            case ast.Attribute(value=ast.Name(id="private_api"), attr=name):
                yield name
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="private_api"), attr=module), attr=name):
                yield f"{module}.{name}"
            case ast.Tuple(elts=[ast.Attribute(value=ast.Name(id="private_api"), attr=module), *others]):
                words = (x for other in others for x in ast.walk(other) if isinstance(x, ast.Constant))
                yield from (f"{module}.{x.value}" for x in words)  # a list of replaced names
            case ast.For(target=ast.Name(id=variable), iter=ast.Tuple(elts=modules), body=body):
                names = [x.attr for s in body for x in ast.walk(s) if is_of(x, variable)]
                yield from (f"{m.attr}.{name}" for m in modules if is_of(m, "private_api") for name in names)
            case ast.Attribute(value=ast.Name(id="Ops" | "GroupOp" | "AxisType" as group), attr=name):
                yield f"{group}.{name}"


INDIRECT = {"helpers.diskcache_get": "cache", "helpers.diskcache_put": "cache"}
"""Features that replace names through a list."""


@functools.cache
def trees() -> dict[str, ast.Module]:
    """Return the syntax trees of the package by file."""
    folder = ROOT / "branded"
    return {str(path.relative_to(folder)): ast.parse(path.read_text()) for path in sorted(folder.rglob("*.py"))}


def needed() -> Iterator[tuple[str, str, set[str]]]:
    """Yield the file, the name, and its features in the table, for each use of a name."""
    operations = {x: {*key.split()} for key, names in private_api.OPERATIONS.items() for x in names.split()}
    rows = {**{name: {*row.features.split()} for name, row in private_api.NAMES.items()}, **operations}
    for file, tree in trees().items():
        if not file.startswith(("mypy/", "tinygrad_compat/private_api.py")):
            yield from ((file, name, rows[name]) for name in {*uses(tree)} if name in rows)


def test_table_names_the_features_of_each_use() -> None:
    wrong = [(file, name) for file, name, named in needed() if not {"core", feature_of(file)} & named]
    assert wrong == []


def test_table_names_no_unused_features() -> None:
    """An optional feature of a name belongs to a file that uses it; the core may need an operation in any file."""
    known = {*private_api.FEATURES, *PATCHES}
    of_rows = {name: {*row.features.split()} for name, row in private_api.NAMES.items()}
    assert {x for named in of_rows.values() for x in named} <= known
    assert {x for key in private_api.OPERATIONS for x in key.split()} <= known
    used: dict[str, set[str]] = {}
    for file, name, _ in needed():
        used.setdefault(name, set()).add(feature_of(file))
    assert {
        name: row for name, row in of_rows.items() if name in used and not row <= {*used[name], INDIRECT.get(name)}
    } == {}
    assert {feature for feature in private_api.FEATURES if feature not in {*FOLDERS.values(), "core"}} == set()


def test_listed_public_names_are_used() -> None:
    used: dict[str, set[str]] = {}
    for tree in trees().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and str(node.module) in private_api.PUBLIC:
                used.setdefault(str(node.module), set()).update(a.name for a in node.names)
    assert {module: names - used.get(module, set()) for module, names in private_api.PUBLIC.items()} == {
        module: {"Device"} if module == "tinygrad.device" else set() for module in private_api.PUBLIC
    }


HOOKED = """
from tinygrad import Tensor
before = {}
for cls in reversed(Tensor.__mro__[:-1]):
    before |= vars(cls)
from branded.tinygrad_compat import activation
activation.activate()
print(*sorted(x for x, method in vars(Tensor).items() if x in before and before[x] is not method))
"""


def test_core_requires_the_hooked_methods() -> None:
    env = {**os.environ, "BRANDED_PATCHES": "0"}
    run = subprocess.run([sys.executable, "-c", HOOKED], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    of_object, private = {"__hash__", "__repr__"}, {"_buffer"}
    assert {*run.stdout.split()} - of_object - private == {*private_api.METHODS.split()}


# ---- a tinygrad without some names ----

CORE = ("vmap", "grad", "loops")
WORKS = ["works", ""]


def test_missing_name_disables_its_features() -> None:
    lacking = ("codegen.memory_coalescing", "codegen.linearize", "upat.upat_compile", "exec_alu")
    found = renamed.outcome(*lacking, only=(*CORE, "backend", "explain", "fixes", "speed"))
    assert found["warned"] == [
        "branded: tinygrad 0.14.0 differs from the tested versions in 4 private names. Off: backend, explain, "
        "ordering, matching. `python -m branded doctor` shows what works"
    ]
    fixes, speed = (
        f"{len(x) - 1} of {len(x)} are installed" for x in (tinygrad_compat.PATCHES, tinygrad_compat.FASTER)
    )
    assert found["found"] == {
        **dict.fromkeys(CORE, WORKS),
        "backend": ["off", "tinygrad.codegen.memory_coalescing is missing"],
        "explain": ["off", "tinygrad.uop.ops.exec_alu is missing"],
        "fixes": ["partly", f"{fixes}; ordering is off: tinygrad.codegen.linearize is missing"],
        "speed": ["partly", f"{speed}; matching is off: tinygrad.uop.upat.upat_compile is missing"],
    }


def test_one_error_lists_missing_core_names() -> None:
    assert renamed.outcome("_function", "gradient.pm_gradient", "codegen.linearize", "UNSHARD") == {
        "raised": "TinygradError",
        "message": f"""\
tinygrad: vmap, derivatives, loops and collectives cannot work with the installed tinygrad 0.14.0
  tinygrad.function._function:         missing
  tinygrad.mixin.gradient.pm_gradient: missing
  tinygrad.uop.ops.Ops.UNSHARD:        missing
  try:                                 {TRY}""",
    }


TRY = "pip install 'tinygrad>=0.14.0,<0.15'"


def test_error_names_the_supported_versions() -> None:
    (needed,) = [x for x in importlib.metadata.requires("branded") or () if x.startswith("tinygrad")]
    parts = {*needed.removeprefix("tinygrad").split(",")}
    assert {*TRY.removeprefix("pip install 'tinygrad").removesuffix("'").split(",")} == parts


def test_core_runs_on_an_untested_version(tmp_path: Path) -> None:
    """The installed version under another version number."""
    (tmp_path / "tinygrad").symlink_to(Path(tinygrad.__file__).parent)
    (tmp_path / "tinygrad-0.15.1.dist-info").mkdir()
    only = (*CORE, "jit", "native", "callbacks", "backend", "fixes", "speed")
    found = renamed.outcome("exec_alu", only=only, PYTHONPATH=f"{tmp_path}:{ROOT}")
    assert found["warned"] == [
        "branded: tinygrad 0.15.1 is untested; the tests passed with 0.14.x, and it differs from the tested versions "
        "in 1 private name. Off: backend, native, fixes, speed, explain. `python -m branded doctor` shows what works"
    ]
    off = ["off", "the tests passed with tinygrad 0.14.x"]
    assert found["found"] == {
        **dict.fromkeys(CORE, WORKS),
        "jit": ["works", "compiled functions"],
        "callbacks": ["works", "host callbacks"],
        **dict.fromkeys(("backend", "native", "fixes", "speed"), off),
    }


def lacks(monkeypatch: pytest.MonkeyPatch, **problems: str) -> None:
    """Let features lack a name in this process, although its patches are installed."""
    found = {feature: {name: "missing"} for feature, name in problems.items()}
    monkeypatch.setattr(private_api, "problems", lambda: found)


def test_use_of_a_missing_name_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    row = private_api.Name("tinygrad.uop.ops", "explain", "computes", elsewhere="tinygrad.uop.ops:still_nothing")
    monkeypatch.setitem(private_api.TAKEN, "nothing_like_it", row)
    monkeypatch.setitem(private_api.NAMES, "nothing_like_it", row)
    absent = private_api.nothing_like_it
    assert not isinstance(1, absent) and not hasattr(absent, "__name_of_nothing__")
    for use in (lambda: absent(1), lambda: absent.value):
        with pytest.raises(errors.TinygradError) as info:
            use()
        assert str(info.value).startswith(
            "tinygrad: the installed tinygrad has no tinygrad.uop.ops.nothing_like_it\n  for: explain\n"
        )
    monkeypatch.setitem(private_api.NAMES, "nothing_like_it", row._replace(elsewhere="tinygrad.uop.ops:UOp"))
    assert private_api.nothing_like_it is tinygrad.UOp


def test_door_prints_all_names(monkeypatch: pytest.MonkeyPatch) -> None:
    lacks(monkeypatch, core="tinygrad.function._function", explain="tinygrad.uop.ops.exec_alu")
    assert list(door.names(private_api)) == [
        "tinygrad.function._function is missing: core",
        "tinygrad.uop.ops.exec_alu is missing: explain",
    ]

    def wrong() -> None:
        raise ValueError("no")

    checks = {"a": wrong, "b": wrong, "c": lambda: None, "_function": wrong}
    assert list(door.failures({**checks, "exec_alu": lambda: wrong()}, {"_function"})) == ["exec_alu: ValueError: no"]
    assert list(door.failures(checks, set())) == ["a, b, _function: ValueError: no"]


NO_CLOSURES = """
import tinygrad.uop.ops as ops
init, found = ops.PatternMatcher.__init__, set()
def noting(self, patterns, *args, **kwargs):
    found.update(f"{f.__module__}.{f.__qualname__}" for _, f in patterns if getattr(f, "__closure__", None))
    init(self, patterns, *args, **kwargs)
ops.PatternMatcher.__init__ = noting
import branded
from branded.tools import doctor
del doctor.PROBES["explain"]  # it makes no matcher, and takes five seconds with tinygrad's own
print(*found, *(x for x in doctor.findings() if x.feature == "backend" and x.state != "works"))
"""


def test_rules_need_no_matcher_of_ours() -> None:
    """tinygrad's pattern matcher rejects closures. It runs if the patch `matching` is disabled."""
    env = {**os.environ, "BRANDED_PATCHES": "-matching"}
    run = subprocess.run([sys.executable, "-c", NO_CLOSURES], cwd=ROOT, env=env, capture_output=True, text=True)
    assert (run.stdout, run.returncode) == ("\n", 0), run.stderr


# ---- the doctor ----


def test_doctor_has_a_program_for_each_feature() -> None:
    tried = {*doctor.PROBES} - {"vmap", "grad", "loops", "fixes", "speed"}
    assert tried | {"core", "dask"} == {*private_api.FEATURES}


def test_doctor_prints_working_features(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def wrong() -> None:
        raise ValueError("3 instead of 4\nand more")

    for feature in {*doctor.PROBES} - {"vmap", "jit", "backend", "fixes"}:
        monkeypatch.delitem(doctor.PROBES, feature)
    assert cli.main(["doctor"]) == 0
    first, *rest = capsys.readouterr().out.splitlines()
    assert first.startswith("branded ") and "tinygrad 0.14.0 (tested), Python 3." in first
    fixes = len(tinygrad_compat.PATCHES)
    shown = "vmap works", "jit works compiled functions", "backend works fast CPU kernels"
    assert [" ".join(line.split()) for line in rest] == [*shown, f"fixes works {fixes} of {fixes} are installed"]

    lacks(monkeypatch, backend="tinygrad.codegen.linearize", ordering="tinygrad.codegen.linearize")
    monkeypatch.setitem(doctor.PROBES, "jit", wrong)
    assert cli.main(["doctor"]) == 1
    missing = "off: tinygrad.codegen.linearize is missing"
    assert [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()[1:]] == [
        "vmap works",
        "jit fails ValueError: 3 instead of 4",
        "backend off tinygrad.codegen.linearize is missing",
        f"fixes partly {fixes} of {fixes} are installed; ordering is {missing}",
    ]


def test_disabled_patches_are_not_a_problem(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tinygrad_compat, "installed", ())
    monkeypatch.setenv("BRANDED_PATCHES", "0")
    for feature in {*doctor.PROBES} - {"fixes"}:
        monkeypatch.delitem(doctor.PROBES, feature)
    assert cli.main(["doctor"]) == 0 and capsys.readouterr().out.splitlines()[1].split() == [
        *("fixes", "off", "BRANDED_PATCHES")
    ]
    monkeypatch.setattr(tinygrad_compat, "is_tested", lambda: False)
    assert cli.main(["doctor"]) == 1 and capsys.readouterr().out.splitlines()[1].endswith("tinygrad 0.14.x")
