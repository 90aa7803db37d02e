"""Run the plugin in mypy.

Caches and the daemon do not change its answers, its work grows linearly, and its failures are reported as errors.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mypy import main

from branded.mypy.analysis import dependence, function_source, plain_functions
from branded.mypy.analysis.source import computed_bodies
from branded.mypy.axes import calls as axis_calls
from tests.fuzz import calls, classes, edits
from tests.support.profiles import amount
from tests.support.warm import MYPY, STRICT, apart, warm

HEADER = "from tinygrad import Tensor\nfrom branded import vmap\nX = Tensor.ones(3, 4)\n"


def project(folder: Path, text: str, config: str = STRICT) -> Path:
    """Write a project with one file; return the file."""
    warm(folder / "cache", MYPY, config)
    (folder / "mypy.ini").write_text(config)
    (folder / "app.py").write_text(HEADER + text)
    return folder / "app.py"


# ---- caches ----


def test_runs_agree_after_any_edit() -> None:
    assert [str(w) for w in edits.wrong(5, 14, every=amount(14, 1))] == []


def test_changed_body_rechecks_its_callers(tmp_path: Path) -> None:
    """mypy loads `low.half` from its cache without its line, and a changed body does not change the interface."""
    low = "from tinygrad import Tensor\ndef half(x: Tensor) -> Tensor:\n    return x / 2\n"
    app = project(tmp_path, "from low import half\ny = vmap(lambda a: half(a))(X)\n", edits.CONFIG)
    cache = tmp_path / "cache"
    (tmp_path / "low.py").write_text(low)
    assert edits.by_mypy(tmp_path, cache) == ["Success: no issues found in 2 source files"]
    app.write_text(app.read_text() + "# a comment\n")
    assert edits.by_mypy(tmp_path, cache) == ["Success: no issues found in 2 source files"]
    (tmp_path / "low.py").write_text(low.replace("2", "x.item()"))
    assert "app.py:5: error" in "\n".join(edits.by_mypy(tmp_path, cache))
    (tmp_path / "low.py").write_text(low)
    assert edits.by_mypy(tmp_path, cache) == ["Success: no issues found in 2 source files"]


@pytest.mark.parametrize("head", ["", HEADER])
def test_hooks_are_imported_for_tensors_only(head: str, tmp_path: Path) -> None:
    """A program without branded and tinygrad costs no more than its digests."""
    app = project(tmp_path, "")
    app.write_text(f"{head}n = len([1, 2])\n")
    program = "import sys; from mypy import api; api.run(['app.py', '--cache-dir=cache']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    modules = done.stdout.split()
    assert "branded.mypy.analysis.source_digest" in modules, done.stderr
    assert ("branded.mypy.hooks" in modules) == bool(head)


LAYER = """from dataclasses import dataclass
from typing import Annotated
from branded import static
from low import half
@dataclass
class Layer:
    w: Tensor
    name: Annotated[str, static]
    def __call__(self, x: Tensor) -> Tensor:
        return half(x) * self.w
y = vmap(lambda layer: layer.w * 2)(Layer(X, "first"))
"""


def test_files_checked_for_their_imports_keep_static_fields(tmp_path: Path) -> None:
    """mypy parses an unchanged file again if its imports have changed, and calls no hook for the parsed file."""
    low = "from tinygrad import Tensor\ndef half(x: Tensor) -> Tensor:\n    return x / 2\n"
    warm(cache := tmp_path / "warm", MYPY, edits.CONFIG)
    (tmp_path / "mypy.ini").write_text(edits.CONFIG)
    (tmp_path / "mid.py").write_text(HEADER + LAYER)
    (tmp_path / "app.py").write_text(f"{HEADER}from mid import Layer\ny = vmap(lambda a, x: a(x))(Layer(X, 'a'), X)\n")
    for text in (low, low.replace("half", "other") + low, low):
        (tmp_path / "low.py").write_text(text)
        assert [line for line in edits.by_mypy(tmp_path, cache) if "error" in line] == []


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[edits.Daemon]:
    """Share a daemon, whose first check takes five seconds; tests write files into its folder."""
    folder = tmp_path_factory.mktemp("daemon")
    project(folder, "", edits.CONFIG)
    with closing(edits.Daemon(folder)) as daemon:
        yield daemon


def test_notes_are_the_same_in_all_runs(daemon: edits.Daemon) -> None:
    plain = "from tinygrad import Tensor\nfrom branded import Vec\ndef low(x: Tensor) -> Tensor:\n    return x\n"
    rows = "from branded import Vec\nfrom branded.typing import S\ndef low(x: Vec[S]) -> Vec[S]:\n    return x\n"
    folder = daemon.folder
    app = project(
        folder,
        "from branded import Vec\nfrom branded.typing import S\nfrom lib import low\n"
        "def f(a: Vec[S]) -> Vec[S]:\n    return low(a)\ndef g(a: Vec[S]) -> Tensor:\n    return a\n",
        edits.CONFIG,
    )
    lifted = "app.py:8: note:   try:   annotate the parameter as Vec[S], or call lift(low)(...)"
    declared = "app.py:10: note:   try:   declare Vec[S, Tensor]"
    for text, hints in ((plain, [lifted, declared]), (rows, [declared]), (plain, [lifted, declared])):
        (folder / "lib.py").write_text(text)
        for said in (edits.by_mypy(folder, folder / "cache"), daemon()):
            assert sorted(hints) == [line for line in said if "try:" in line], said
    app.write_text(app.read_text().replace("low(a)", "low(a)  # type: ignore[arg-type]"))
    for said in (edits.by_mypy(folder, folder / "cache"), daemon()):
        assert [declared] == [line for line in said if "try:" in line], said


def test_daemon_shows_an_error_again_that_another_error_has_hidden(daemon: edits.Daemon) -> None:
    rows = "from tinygrad import Tensor\nfrom branded import Vec\nfrom branded.typing import S\n"
    folder = daemon.folder
    text = "from lib import low\ndef f(x: Tensor) -> float:\n    return float(x)\ny = vmap(lambda a: f(low(a)))(X)\n"
    app = project(folder, text, edits.CONFIG)
    read, number = "float: a value that varies over", 'Argument 1 to "float" has incompatible type "Tensor"'
    varies, same = "def low(x: Vec[S]) -> Vec[S]:\n    return x\n", "def low(x: Vec[S]) -> Tensor:\n    return X + 1\n"
    for lib, wanted in ((varies, [read]), (same, [number]), (varies, [read])):
        (folder / "lib.py").write_text(f"{rows}X = Tensor(1.0)\n{lib}")
        for said in (edits.by_mypy(folder, folder / "cache"), daemon()):
            errors = [line for line in said if line.startswith("app.py") and ": error: " in line]
            assert [next(w for w in (read, number) if w in e) for e in errors] == wanted, (said, app.read_text())


def test_daemon_shows_a_read_until_no_function_maps_it(daemon: edits.Daemon) -> None:
    unit = "def unit(x: Tensor) -> Tensor:\n    return x / x.sum().item()\n"
    one, two = "vmap(unit)(X)", "vmap(lambda x: vmap(unit)(x))(X)"
    for first, second, count in ((one, two, 1), ("X", two, 1), (one, "X", 1), ("X", "X", 0), (two, one, 1)):
        functions = (
            f"def f(X: Tensor) -> Tensor:\n    return {first}\ndef g(X: Tensor) -> Tensor:\n    return {second}\n"
        )
        project(daemon.folder, unit + functions, edits.CONFIG)
        for said in (edits.by_mypy(daemon.folder, daemon.folder / "cache"), daemon()):
            errors = [line for line in said if line.startswith("app.py") and ": error: " in line]
            assert len(errors) == count, (said, functions)


def test_one_error_per_item_of_a_list(tmp_path: Path) -> None:
    total = "from branded import Vec\ndef total(xs: list[Tensor]) -> Tensor:\n    return xs[0]\n"
    text = f"xs: list[Tensor] = [X, 1, 'a']\n{total}vmap(lambda a: total([a, a]))(X)\n"
    said = classes.said_of(project(tmp_path, text), tmp_path / "cache")
    errors = [line for line in said.splitlines() if ": error: " in line]
    assert [e.split(" has ")[0] for e in errors] == [
        "app.py:4: error: List item 1",
        "app.py:4: error: List item 2",
        "app.py:8: error: List item 0",
    ]


def test_daemon_shows_types_in_lambdas(daemon: edits.Daemon) -> None:
    text = "y = vmap(lambda a: (a * 2).sum())(X)\nf = vmap(lambda p: p['w'] * 2)\nf({'w': X})\n"
    project(daemon.folder, text, edits.CONFIG)
    daemon(export_types=True)
    assert [daemon.type_at("app.py:4:21"), daemon.type_at("app.py:5:20")] == [
        '"Vec[a, Tensor]"',
        '"dict[str, Vec[p, Tensor]]"',
    ]


OBJECTS = """class Stats:
    def __init__(self, x: Tensor) -> None:
        self.x = x
    @property
    def total(self) -> Tensor:
        return self.x.sum()
    @property
    def mean(self) -> float:
        return float(self.x.mean().item())
def f(x: Tensor) -> Tensor:
    return x / Stats(x).{}
y = vmap(f)(X)
"""


def test_reads_of_local_objects(tmp_path: Path) -> None:
    right = classes.said_of(project(tmp_path, OBJECTS.format("total")), tmp_path / "cache")
    wrong = classes.said_of(project(tmp_path, OBJECTS.format("mean")), tmp_path / "cache")
    assert right == "Success: no issues found in 1 source file\n"
    assert 'item: a value that varies over "x" has no single value to read' in wrong


# ---- work ----


@apart
def work(file: Path, cache: Path) -> Counter[str]:
    """Count the calls of the functions that look into bodies while a file is checked."""
    counts: Counter[str] = Counter()

    def counted(f: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **kwargs: Any) -> Any:
            counts[f.__name__] += 1
            return f(*args, **kwargs)

        return called

    plain_functions.recheck_function = counted(plain_functions.recheck_function)  # type: ignore[assignment]
    computed_bodies._follow_body = counted(computed_bodies._follow_body)  # type: ignore[assignment]
    function_source._find_unused = counted(function_source._find_unused)
    dependence._Follower.result = counted(dependence._Follower.result)  # type: ignore[method-assign]
    os.chdir(file.parent)
    said = io.StringIO()
    with contextlib.suppress(SystemExit):
        main.main(stdout=said, stderr=said, args=["--cache-dir", str(cache), file.name], clean_exit=True)
    counts["errors"] = said.getvalue().count(": error: ")
    return counts


@pytest.mark.parametrize("first", ["x * 2", "x[0]", "x * x.item()"])
def test_work_is_linear_in_the_call_graph(first: str, tmp_path: Path) -> None:
    counts = []
    for n in (40, 80):
        calls = [f"f{i - 1}(x) + f{i - 2}(x * 2)" if i > 1 else first for i in range(n)]
        functions = [f"def f{i}(x: Tensor) -> Tensor:\n    return {call}\n" for i, call in enumerate(calls)]
        uses = [f"y{i} = vmap(f{n - 1 - i})(X)\n" for i in range(5)]
        file = project(tmp_path, "".join([*functions, *uses]))
        counts.append(work(file, tmp_path / "cache"))
    few, many = counts
    assert few["_follow_body" if first == "x * 2" else "recheck_function"] >= 40 and few["result"] >= 40
    assert few["errors"] == many["errors"] == (2 if "item" in first else 0)
    for name in few:
        assert many[name] <= 2.2 * few[name], name
    assert many["_follow_body"] <= 80  # each function once, for all five brands


def test_work_is_linear_in_mutual_recursion(tmp_path: Path) -> None:
    counts = []
    for n in (20, 40):
        functions = [
            f"def f{i}(x: Tensor) -> Tensor:\n    return f{(i + 1) % n}(x) + f{(7 * i + 3) % n}(x * 2)\n"
            for i in range(n)
        ]
        counts.append(work(project(tmp_path, "".join([*functions, "y = vmap(f0)(X)\n"])), tmp_path / "cache"))
    few, many = counts
    assert few["result"] >= 20 and many["result"] <= 2.2 * few["result"]


COMPUTED = """
def norm(x: Tensor, k: float) -> Tensor:
    y = x.square().sum() + k
    return x / y.sqrt()
def first(a: Tensor, b: Tensor) -> Tensor:
    return a * 2
def chain(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    return first(norm(a, 2), b) - first(c, a).softmax(0)
def shared(a: Tensor, b: Tensor) -> Tensor:
    return norm(b, 1.0)
def away(a: Tensor, b: Tensor) -> Tensor:
    return half(a) * -half(b) + 1
def read(a: Tensor, b: Tensor) -> Tensor:
    return loud(a) + b
def rebound(a: Tensor, b: Tensor) -> Tensor:
    c = a + 1
    c = c + b
    return c
def late(a: Tensor) -> Tensor:
    return a.sum() * loop(a)
def loop(a: Tensor) -> Tensor:
    return late(a) + 1
x1 = vmap(lambda a: reveal_type(vmap(lambda b: reveal_type(chain(a, X[0], b)))(X)))(X)
x2 = vmap(lambda a: reveal_type(vmap(lambda b: reveal_type(shared(a, b)))(X)))(X)
x3 = vmap(lambda a: reveal_type(vmap(lambda b: reveal_type(away(a, b)))(X)))(X)
x4 = vmap(lambda a: reveal_type(vmap(lambda b: reveal_type(read(b, a)))(X)))(X)
x5 = vmap(lambda a: reveal_type(vmap(lambda b: reveal_type(rebound(b, a)))(X)))(X)
x6 = vmap(late)(X), vmap(norm, in_axes=(0, None))(X, 2.0), vmap(shared, in_axes=(0, None))(X, X[0])
"""


def test_bodies_that_only_compute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The brands of their results are those that a second check of the body finds."""
    half = "from tinygrad import Tensor\ndef half(x: Tensor) -> Tensor:\n    return x / 2\n"
    loud = "def loud(x: Tensor) -> Tensor:\n    return x / x.item()\n"
    (tmp_path / "low.py").write_text(half + loud)
    project(tmp_path, f"from low import half, loud\n{COMPUTED}", edits.CONFIG)
    shutil.copytree(tmp_path / "cache", tmp_path / "other", dirs_exist_ok=True)
    computed = edits.by_mypy(tmp_path, tmp_path / "cache")
    monkeypatch.setattr(plain_functions, "brands_of_result", lambda f, types, api: None)
    assert computed == edits.by_mypy(tmp_path, tmp_path / "other") and len(computed) > 15


# ---- failures ----


def test_random_classes() -> None:
    assert list(classes.wrong(amount(15, 40), 1)) == []


def test_random_calls() -> None:
    assert list(calls.wrong(amount(50, 400), 2)) == []


STORED = """from typing import Any
from tinygrad import Tensor
from branded import grad, jit, vmap
def at(p: Any) -> Any:
    return p["w"]
f = vmap(lambda p, a: at(p) * a)
g = grad(lambda p, a: (at(p) * a).sum())
h = jit(lambda p, a: at(p) * a)
"""


def test_stored_lambdas_of_other_files(tmp_path: Path) -> None:
    """mypy removes the bodies of a file that it has checked; from its cache, a file has none."""
    app = project(tmp_path, "from low import f, g, h\nP = {'w': X}\nprint(f(P, X), g(P, X), h(P, X), vmap()(X))\n")
    (tmp_path / "low.py").write_text(STORED)
    for _ in range(2):
        said = classes.said_of(app, tmp_path / "cache")
        assert said.count("is checked only in its own file") == 3 and "failed" not in said
        app.write_text(app.read_text() + "# a comment\n")


CONTAINERS = """from branded import Vec
from low import BOTH, TWO
vmap(BOTH["first"])(X)
g = BOTH["first"]
vmap(g)(X)
for f in TWO:
    vmap(f)(X)
for name, e in BOTH.items():
    vmap(e)(X)
a, b = TWO
vmap(a)(X)
vmap(BOTH.get("first", b))(X)
ys = [vmap(k)(X) for k in TWO]
def apply() -> Tensor:
    h = TWO[0]
    return vmap(h)(X)
def first[T](items: list[T]) -> T:
    return items[0]
vmap(first(TWO))(X)
"""


def test_decorated_functions_of_other_files(tmp_path: Path) -> None:
    """mypy's cache keeps no lines, so the place of a decorator comes from the source."""
    app = project(tmp_path, "from low import mapped\nvmap(mapped)(Tensor.ones(4, 3, 2))\n")
    low = "from tinygrad import Tensor\nfrom branded import vmap\n@vmap\ndef mapped(x: Tensor) -> Tensor:\n"
    (tmp_path / "low.py").write_text(f"{low}    return x if x.sum() > 0 else -x\n")
    for _ in range(2):
        said = classes.said_of(app, tmp_path / "cache")
        assert "opened by vmap at low.py:3" in said and "app.py: error" not in said
        app.write_text(app.read_text() + "# a comment\n")


def test_functions_in_containers_of_other_files(tmp_path: Path) -> None:
    """mypy loads the type of a container from its cache without the functions in it."""
    app = project(tmp_path, CONTAINERS)
    loud = "from tinygrad import Tensor\ndef loud(x: Tensor) -> Tensor:\n    return x / x.item()\n"
    (tmp_path / "low.py").write_text(f"{loud}BOTH = {{'first': loud, 'second': loud}}\nTWO = [loud, loud]\n")
    for _ in range(2):
        said = classes.said_of(app, tmp_path / "cache")  # the function is unknown, and only `first` takes any function
        assert said.count("error: ") == 1 and "app.py:22: error: vmap: argument 1 is mapped" in said
        app.write_text(app.read_text() + "# a comment\n")


def test_match_of_a_variable_without_a_type(tmp_path: Path) -> None:
    """mypy gives the patterns the type Any in a function that it checks again later."""
    body = "    match last:\n        case Tensor() as y:\n            last = y\n    return x\n"
    file = project(tmp_path, f"from typing import Any\ndef f(x: Tensor) -> Any:\n{body}vmap(f)(X)\n")
    said = classes.said_of(file, tmp_path / "cache")
    assert 'Name "last" is used before definition' in said and "plugin failed" not in said


@pytest.mark.parametrize(
    "body",
    [
        "self.size = 3\n        return x * 2",  # the first assignment: mypy asks for the enclosing class
        "self.w = x\n        return vmap(self)(x)",  # a store in a function that maps itself
    ],
)
def test_methods_setting_attributes(body: str, tmp_path: Path) -> None:
    text = f"class Net:\n    def __call__(self, x: Tensor) -> Tensor:\n        {body}\ny = vmap(Net())(X)\n"
    said = classes.said_of(project(tmp_path, text), tmp_path / "cache")
    assert "self.w" in body or said == "Success: no issues found in 1 source file\n"
    assert "plugin failed" not in said and "INTERNAL" not in said


@apart
def output_of_failing_plugin(file: Path, cache: Path, message: str) -> str:
    recheck = plain_functions.recheck_function

    def failing(f: Any, *args: Any) -> Any:
        def fail(copy: Any) -> None:
            raise AssertionError(message)

        return recheck(f, *args[:3], fail)  # inside mypy, which reports an exception as an internal error and exits

    plain_functions.recheck_function = failing
    return classes.said(file, cache)


@apart
def output_without_axes(file: Path, cache: Path) -> str:
    def fail(ctx: Any) -> bool:
        raise AssertionError("no axes")

    axis_calls.has_operand_axes = fail  # in the hook, and in the answer that needs no hook
    return classes.said(file, cache)


def test_failure_of_an_answer_without_a_hook_is_an_error(tmp_path: Path) -> None:
    file = project(
        tmp_path,
        "from typing import TypeVar\n"
        "from branded import Brand, Vec\n"
        'S = TypeVar("S", bound=Brand)\n'
        "def exponential(a: Vec[S]) -> Vec[S]:\n    return a.exp()\n"
        "n: str = 1\n",
    )
    errors = [line for line in output_without_axes(file, tmp_path / "cache").splitlines() if ": error: " in line]
    assert errors[0].startswith("app.py:8: error: branded: the plugin failed here")
    assert [line.split(": ")[0] for line in errors] == ["app.py:8", "app.py:9"]


def test_plugin_failure_is_an_error(tmp_path: Path) -> None:
    file = project(
        tmp_path,
        "def half(x: Tensor) -> Tensor:\n    return x.reshape(-1) / 2\n"
        "def twice(x: Tensor) -> Tensor:\n    return half(half(x))\n"
        "y = vmap(twice)(X)\n"
        "vmap(lambda a: a.numpy())(X)\n"
        "n: str = 1\n",
    )
    said = output_of_failing_plugin(file, tmp_path / "cache", "no class")
    assert said.splitlines()[0] == (
        "app.py:8: error: branded: the plugin failed here, so this call is not checked: "
        "AssertionError: no class  [brand]"
    )
    assert said.splitlines()[1].startswith("app.py:8: note:   in:    ")
    assert said.splitlines()[2] == (
        "app.py:8: note:   try:   report this line and the functions that it calls as a bug of branded"
    )
    assert [line.split(": ")[0] for line in said.splitlines() if ": error: " in line] == [
        "app.py:8",
        "app.py:9",
        "app.py:10",
    ]
