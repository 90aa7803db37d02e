"""Test the static types: the stubs match the package, and each way to run mypy reports the same."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import tinygrad
import tinygrad.nn
import tinygrad.tensor
from mypy import main
from mypy.fscache import FileSystemCache
from tinygrad import Tensor

from branded.mypy.check import parse_message, read_options
from tests.support.pages import PAGES, page_code
from tests.support.warm import CHECK, MYPY, STRICT, warm

ROOT = Path(__file__).resolve().parents[2]
STUBS = ROOT / "stubs" / "tinygrad-stubs"
OLDEST = ROOT / ".venv" / "oldest-mypy" / "bin" / "python"
"""The oldest supported mypy, in a separate environment that `make test` sets up."""
WITH_OLDEST = (str(OLDEST), "-m", "mypy", "--python-executable", sys.executable)


DEEP = ("codegen", "engine", "renderer", "runtime", "schedule")
SKIPPED = (
    f"[mypy-numpy.*,{','.join(f'tinygrad.{name}.*' for name in DEEP)}]\n"
    "follow_imports = skip\nfollow_imports_for_stubs = True\n"
)
"""Options for mypy without a cache, where no numpy types are needed: numpy takes a third of the time."""


def run(*words: str | Path, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(w) for w in words], cwd=cwd, capture_output=True, text=True, check=False, env={**os.environ, **env}
    )


# ---- the stubs; `make check` also compares them with those that the generator writes ----


STUBTEST = """
import gc
import sys
import mypy.build
from mypy import stubtest
built, build = [], mypy.build.build
def once(**given):
    if not built:
        built.append(build(**given))
    return built[0]
mypy.build.build = once
options = ["--concise", "--allowlist", sys.argv[1], "--ignore-unused-allowlist", "--mypy-config-file", sys.argv[2]]
failed = stubtest.test_stubs(stubtest.parse_options(["tinygrad.tensor", "tinygrad.nn", *options]))
assert "branded" not in sys.modules and "branded.vec" in built[0].files
from branded.tinygrad_compat import activation
activation.activate()
failed |= stubtest.test_stubs(stubtest.parse_options(["branded.vec", *options]))
gc.freeze()  # or else all is freed at the end
sys.exit(failed)
"""
"""One mypy build for all modules.  tinygrad is compared before the package changes any of its signatures."""


def test_stubtest(tmp_path: Path) -> None:
    config = tmp_path / "mypy.ini"  # mypy follows imports of the compared modules only
    config.write_text(f"[mypy]\n{SKIPPED}[mypy-branded.*]\nfollow_imports = skip\n[mypy-branded.vec]\n")
    done = run(sys.executable, "-c", STUBTEST, ROOT / "stubs" / "stubtest-allowlist.txt", config, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def names_of(cls: ast.ClassDef) -> Iterator[str]:
    for node in ast.walk(cls):
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


VIEWS = pytest.mark.parametrize("view", ["vec.pyi", "_plain.pyi"])


@VIEWS
def test_vec_has_every_public_name_of_tensor(view: str) -> None:
    module = ast.parse((ROOT / "branded" / view).read_text())
    vec = next(n for n in module.body if isinstance(n, ast.ClassDef) and n.name == "Vec")
    ours = set(names_of(vec))
    public = {n for n in dir(Tensor) if not n.startswith("_")} - {"grad"}  # only plain tensors have it
    assert public - ours == set()
    operators = {n for n in dir(Tensor) if n.startswith("__") and n in [*dir(int), "__matmul__", "__getitem__"]}
    refused = {"__int__", "__float__", "__index__", "__round__", "__trunc__"}
    assert operators - ours - set(dir(object)) - refused == set()


@VIEWS
def test_vec_has_no_number_conversions(view: str) -> None:
    text = (ROOT / "branded" / view).read_text()
    for name in ("__int__", "__float__", "__index__", "__complex__"):
        assert name not in text


MODULES = {m.__name__: m for m in (tinygrad, tinygrad.tensor, tinygrad.nn)}


def exported(module: ModuleType) -> list[str]:
    tree = ast.parse(Path(str(module.__file__)).read_text())
    bound = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    defined = {n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    imported = {
        a.asname or a.name
        for n in tree.body
        if isinstance(n, ast.ImportFrom) and str(n.module).startswith("tinygrad")
        for a in n.names
    }
    wanted = sorted(n for n in (bound | defined | imported) & set(vars(module)) if not n.startswith("_"))
    return [n for n in wanted if n not in ("fn", "name")]  # variables of loops at module level


@pytest.fixture(scope="module")
def imports(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the output of one mypy run over programs that import every exported name."""
    folder = tmp_path_factory.mktemp("imports")
    for name, module in MODULES.items():
        lines = [f"from {name} import {n} as a_{n}\n" for n in exported(module)]
        assert lines
        (folder / f"of_{name.replace('.', '_')}.py").write_text("".join(lines))
    (folder / "mypy.ini").write_text(STRICT)
    warm(folder / ".mypy_cache", MYPY, STRICT)
    done = run(*MYPY, ".", cwd=folder)
    assert f"{len(MODULES)} source files" in done.stdout, done.stdout + done.stderr
    return done.stdout


@pytest.mark.exhaustive  # changes with tinygrad or the generator only
@pytest.mark.parametrize("name", MODULES)
def test_stubs_have_every_exported_name(name: str, imports: str) -> None:
    assert f"of_{name.replace('.', '_')}.py:" not in imports, imports


# ---- each way to run mypy reports the same ----

A = """
from typing import TypeVar
from tinygrad import Tensor
from branded import Brand, Vec, brand, vmap

S = TypeVar("S", bound=Brand)
class Users(Brand): ...

def double(a: Vec[S]) -> Vec[S]:
    return a * 2

later = vmap(double)
lambda_later = vmap(lambda a, b: a + b)
by_key = vmap(lambda p, a: p["w"] * a, in_axes=(None, 0))
decorate = vmap(in_axes=(0, None))
with brand("p", 3) as p:
    v = p.vec(Tensor([1, 2, 3]))
wrong = vmap(double, in_axes=(0, 0))(Tensor([1]))
"""
B = """
from tinygrad import Tensor
from branded import Vec, vmap
from pkg.a import S, by_key, decorate, double, lambda_later, later, p, v

x = Tensor([1.0])
z: Tensor = later(x)
w: Tensor = lambda_later(x, x)
reveal_type(v)
reveal_type(p.unvec(v))

@decorate
def plus(a: Vec[S], b: Tensor) -> Vec[S]:
    return a + b

u: Tensor = plus(x, x)
vmap(lambda a: vmap(lambda b: (a + b).item())(x))(x)
by_key({"w": x}, x)
"""
SAID = """\
pkg/a.py:18: error: in_axes: 2 axes for 1 positional argument  [brand-axes]
pkg/a.py:18: note:   axes:  (0, 0)
pkg/a.py:18: note:   try:   give one entry per positional argument; keyword arguments are always mapped over axis 0
pkg/b.py:9: note: Revealed type is "branded.vec.Vec[p, tinygrad.tensor.Tensor]"
pkg/b.py:10: note: Revealed type is "tinygrad.tensor.Tensor"
pkg/b.py:17: error: item: a value that varies over "a" and "b" has no single value to read  [brand-read]
pkg/b.py:17: note:   value: "Vec[a | b, Tensor]"
pkg/b.py:17: note:   a: opened by vmap at b.py:17
pkg/b.py:17: note:   b: opened by vmap at b.py:17
pkg/b.py:17: note:   try:   leave out .item(), or return it from the mapped function and read the result
pkg/b.py:18: note: lambda: the function at pkg/a.py:14 is checked only in its own file
Found 2 errors in 2 files (checked 3 source files)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").touch()
    (tmp_path / "pkg" / "a.py").write_text(A)
    (tmp_path / "pkg" / "b.py").write_text(B)
    (tmp_path / "mypy.ini").write_text(STRICT)
    warm(tmp_path / ".mypy_cache", MYPY, STRICT)  # the warm cache does not contain these modules
    return tmp_path


@pytest.fixture
def lean(project: Path) -> Path:
    """Copy the modules that `vmap` needs into a folder where mypy finds no others: a cold run takes one second."""
    lean = project / "lean"
    for name in ("__init__.py", "core", "vec.pyi", "tree", "mypy"):
        copy(ROOT / "branded" / name, lean / "branded" / name)
    for name in ("dtype.py", "helpers.py", "device.py", "uop", "mixin"):
        copy(Path(tinygrad.__file__).parent / name, lean / "tinygrad" / name)
    for name in ("__init__.pyi", "tensor.pyi"):
        copy(STUBS / name, lean / "tinygrad" / name)
    libraries = "[mypy-branded.*,tinygrad.*,numpy.*]\nignore_errors = True\nignore_missing_imports = True\n"
    options, *_ = STRICT.split("\n[mypy-")  # no skipped modules: the daemon would search for them forever
    (project / "mypy.ini").write_text(f"{options}\nno_site_packages = True\nmypy_path = lean\n{libraries}")
    return lean


def copy(source: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, to, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, to)


def test_warm_and_cold_runs_agree(project: Path) -> None:
    mypy = (sys.executable, "-m", "mypy", "pkg")
    assert run(*mypy, cwd=project).stdout == SAID  # cold cache
    assert run(*mypy, cwd=project).stdout == SAID  # warm cache
    with (project / "pkg" / "b.py").open("a") as file:
        file.write("\n# one of the two modules is new\n")
    assert run(*mypy, cwd=project).stdout == SAID
    (project / "pkg" / "a.py").write_text(A.replace("a * 2", "a * 3"))
    assert run(*mypy, cwd=project).stdout == SAID


def test_branded_check_shares_cache_of_mypy(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the recommended configuration, `branded check` and mypy have equal options, so they share one cache."""
    monkeypatch.chdir(project)
    _, alone = main.process_options(["pkg"], fscache=FileSystemCache())
    _, ours = read_options(["pkg"], FileSystemCache(), "branded check")
    assert ours.select_options_affecting_cache() == alone.select_options_affecting_cache()


def test_parallel_workers(project: Path) -> None:
    out = run(sys.executable, "-m", "mypy", "--num-workers", "2", "pkg", cwd=project).stdout
    assert sorted(out.splitlines()) == sorted(SAID.splitlines())  # the order of the files is random


def test_daemon(lean: Path) -> None:
    project = lean.parent

    def daemon() -> str:
        out = run(sys.executable, "-m", "mypy.dmypy", "run", "--", "pkg", cwd=project).stdout
        return re.sub("^Daemon started\n", "", out)

    try:
        assert daemon() == SAID
        (project / "pkg" / "b.py").write_text(B.replace("(a + b).item()", "a + b"))
        fixed = daemon()
        assert "item" not in fixed and "in_axes" in fixed
        (project / "pkg" / "b.py").write_text(B)
        assert daemon() == SAID
    finally:
        run(sys.executable, "-m", "mypy.dmypy", "stop", cwd=project)


def test_oldest_mypy(project: Path) -> None:
    if not OLDEST.exists():
        pytest.skip("make test sets up the oldest mypy")
    shutil.rmtree(project / ".mypy_cache")  # the cache of the newest mypy
    warm(project / ".mypy_cache", WITH_OLDEST, STRICT, PYTHONPATH=str(ROOT))
    assert run(*WITH_OLDEST, "pkg", cwd=project, PYTHONPATH=str(ROOT)).stdout == SAID


def test_plugin_edit_invalidates_cache(lean: Path) -> None:
    """An edit of the plugin invalidates the cache, also for modules that the next run does not check."""
    project, rule = lean.parent, lean / "branded" / "mypy" / "transforms" / "in_axes.py"
    mypy, env = (sys.executable, "-m", "mypy"), {"PYTHONPATH": str(lean)}
    assert "in_axes: 2 axes for 1" in run(*mypy, "pkg/a.py", cwd=project, **env).stdout
    rule.write_text(rule.read_text().replace("in_axes: {axes_count}", "new: {axes_count}"))
    run(*mypy, "pkg/__init__.py", cwd=project, **env)
    assert "new: 2 axes" in run(*mypy, "pkg/a.py", cwd=project, **env).stdout


def test_plugin_crash_names_file_and_line(project: Path) -> None:
    broken = (
        "from branded.mypy.hooks import BrandedPlugin\n"
        "before = BrandedPlugin.__init__\n"
        "def wrong(ctx):\n"
        "    raise KeyError('oh')\n"
        "def init(self, *settings):\n"
        "    before(self, *settings)\n"
        "    self.transforms.signature = wrong\n"
        "BrandedPlugin.__init__ = init\n"
        "from mypy.__main__ import console_entry\n"
        "console_entry()\n"
    )
    done = run(sys.executable, "-c", broken, "pkg/a.py", cwd=project)
    assert done.returncode == 2
    assert re.search(r"^pkg/a.py:12: error: INTERNAL ERROR", done.stderr, re.M)


def test_plugin_does_not_import_tinygrad() -> None:
    program = (
        "import sys, mypy.build\n"
        "import importlib; plugin = importlib.import_module('branded.mypy').plugin('2')\n"
        "assert 'tinygrad' not in sys.modules, 'tinygrad'\n"
        "from branded import vmap\n"
        "assert 'tinygrad' in sys.modules and callable(vmap)\n"
    )
    done = run(sys.executable, "-c", program, cwd=ROOT)
    assert done.returncode == 0, done.stderr


# ---- typed code of this project ----

BUILD = """
import gc
import sys
from mypy.fscache import FileSystemCache
from branded.mypy.check import _build, read_options
cache = FileSystemCache()
lines, blocked = _build(*read_options(sys.argv[1:], cache, "pages"), cache, is_strict=False)
print(*lines, sep="\\n", end="")
gc.freeze()  # or else all is freed at the end
sys.exit(bool(blocked or any('"severity": "error"' in line for line in lines)))
"""
"""Run `branded check` with mypy's messages as JSON."""


@pytest.fixture(scope="module")
def page_errors(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Return the errors of each page that contains code, from one mypy run."""
    folder = tmp_path_factory.mktemp("pages")
    names = {f"page{i}.py": page for i, page in enumerate(PAGES) if page_code(page)}
    for name, page in names.items():
        (folder / name).write_text(page_code(page))
    (folder / "examples").symlink_to(ROOT / "examples")  # mypy treats it as an uninstalled package and reads its types
    # for one page with dask and for matplotlib, mypy would read 1,600 modules
    skipped = "[mypy-dask.*,xarray.*,matplotlib.*]\nfollow_imports = skip\n"
    (folder / "mypy.ini").write_text(f"[mypy]\n[mypy-examples.*]\nfollow_imports = silent\n{skipped}")
    warm(folder / ".mypy_cache", CHECK)
    done = run(sys.executable, "-c", BUILD, *names, cwd=folder)
    assert not done.stderr, done.stderr
    errors: dict[str, list[str]] = {page: [] for page in names.values()}
    for line in done.stdout.splitlines():
        if (said := parse_message(json.loads(line))).severity == "error":
            errors[names[said.file]].append(f"{said.line}: {said.raw}")
    assert (done.returncode == 0) == (not any(errors.values())), done.stdout
    return errors


@pytest.mark.parametrize("page", PAGES)
def test_code_of_docs_type_checks(page: str, page_errors: dict[str, list[str]]) -> None:
    if page not in page_errors:
        pytest.skip("no code on this page")
    assert page_errors[page] == []
