"""Test `explain`: golden texts for a few functions, and laws that its data obey."""

from __future__ import annotations

import ast
import functools
import inspect
import io
import itertools
import json
import linecache
import math
import random
import re
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from mypy import build
from tinygrad import Context, Tensor, dtypes, nn

from branded import Axes, BrandedError, Vec, as_axes, cli, errors, functions, linalg, make_expr, tree, vmap
from branded import random as keys
from branded.core.tracing.operand_names import names_of, record_operand_names
from branded.errors import source
from branded.explain import Growth, explain, html, static
from branded.explain.kernels import kernels
from branded.explain.source_cells import sources
from branded.explain.story import story
from branded.explain.terminal import text
from tests import explained
from tests.explained.laws import FUNCTIONS
from tests.explained.programs import PROGRAMS, outer
from tests.explained.real import MOST, REAL, Items, S, Users
from tests.support.by_numpy import read
from tests.support.warm import warm

HERE = Path(__file__)
ROOT = HERE.parents[2]
each = pytest.mark.parametrize("name", FUNCTIONS)


@pytest.fixture
def in_python() -> Iterator[None]:
    """Use tinygrad's Python device: small inputs need no compiler."""
    with Context(DEV="PYTHON", NOOPT=1, PARALLEL=0):
        yield


def tensors(values: Any) -> Any:
    """Convert nested lists of numbers to tensors, inside of a tuple or dict."""
    if isinstance(values, tuple):
        return tuple(map(tensors, values))
    return {k: tensors(v) for k, v in values.items()} if isinstance(values, dict) else Tensor(values).realize()


@functools.cache
def data_of(name: str) -> dict[str, Any]:
    f, values = FUNCTIONS[name]
    return explain(f, *tensors(values)).data()


def cells(x: Any) -> list[Any]:
    return [c for y in x for c in cells(y)] if isinstance(x, list | tuple) else [x]


def tensor_of(value: dict[str, Any]) -> Tensor:
    names = {
        "f32": dtypes.float32,
        "float": dtypes.float32,
        "i32": dtypes.int32,
        "u32": dtypes.uint32,
        "bool": dtypes.bool,
    }
    return Tensor(value["cells"], dtype=names[value["dtype"]]).reshape(tuple(value["sizes"]))


def check_close(got: Any, wanted: Any, what: str) -> None:
    assert cells(got) == pytest.approx(cells(wanted), rel=1e-4, abs=1e-5), what


# ---- golden texts ----


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_full_text(f: Callable[..., Any]) -> None:
    wanted = explained.path(f).read_text()
    assert explained.text(f) == wanted, "if it is meant so: python -m tests.explained"


@pytest.mark.parametrize("f", REAL, ids=lambda f: f.__name__)
def test_story(f: Callable[..., Any]) -> None:
    story = explained.told(f)
    assert story == explained.path(f).read_text(), "if it is meant so: python -m tests.explained"
    assert len(story.splitlines()) <= MOST.get(f.__name__, 60)


def test_lengths_of_stories() -> None:
    assert explained.LINES.read_text() == explained.lines(), "if it is meant so: python -m tests.explained"


def test_docs_show_output_of_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs/explain.md shows the output of the command."""
    page = (ROOT / "docs" / "explain.md").read_text()
    program = tmp_path / "app.py"
    program.write_text(re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)[0])
    warm(tmp_path / ".mypy_cache")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["explain", "app.py:attention"]) == 0
    printed = capsys.readouterr().out
    shown = re.findall(r"^```text\n(.*?)^```", page, re.M | re.S)
    assert len(shown) == 6
    untimed = re.sub(r", [\d.]+ [mµ]?s$", "", printed, flags=re.M)
    for block in shown[:4]:
        assert re.sub(r", [\d.]+ [mµ]?s$", "", block, flags=re.M) in untimed
    assert cli.main(["explain", "app.py:outer", "--full"]) == 0
    assert shown[5] in capsys.readouterr().out
    assert cli.main(["explain", "app.py:wrong"]) == 1
    # tests leave the line "at:" out of messages
    assert capsys.readouterr().out == re.sub(r" +at: +app.py:\d+\n", "", shown[4])
    given = re.findall(r'--args "(.*)"', page)[0]
    assert cli.main(["explain", "app.py:outer", "--args", given]) == 0
    assert "[[4.0], [5.0]]" in capsys.readouterr().out


# ---- the loops ----


@each
@pytest.mark.usefixtures("in_python")
def test_loop_of_function(name: str) -> None:
    f, values = FUNCTIONS[name]
    args, data = tensors(values), data_of(name)
    wanted = [read(y).tolist() for y in tree.leaves(f(*args))]
    assert data["loop"] is not None
    namespace: dict[str, Any] = {"Tensor": Tensor, "random": keys, "linalg": linalg, "functions": functions}
    exec(data["loop"], namespace)
    loop = namespace[re.findall(r"def (\w+)", data["loop"])[0]]
    got = loop(*map(tensor_of, data["arguments"]))
    check_close([read(y).tolist() for y in tree.leaves(got)], wanted, data["loop"])
    check_close(data["result"], wanted, "the result")


@each
@pytest.mark.usefixtures("in_python")
def test_loop_of_each_step(name: str) -> None:
    for step in data_of(name)["steps"]:
        assert step["loop"] is not None, step["op"]
        namespace: dict[str, Any] = {"Tensor": Tensor, "random": keys, "linalg": linalg, "functions": functions}
        namespace |= {v["name"]: tensor_of(v) for v in step["operands"] if v["bytes"]}
        namespace |= {v["name"]: tensor_of(v).zeros_like().contiguous() for v in step["results"]}
        exec(step["loop"], namespace)
        for v in step["results"]:
            check_close(read(namespace[v["name"]]).tolist(), v["cells"], step["loop"])


# ---- sources of cells ----


def check_sources(f: Callable[..., Tensor], *values: Any) -> list[list[tuple[int, int]]]:
    """Check that changing an input cell changes no output cell that does not name it as a source."""
    args = [Tensor(v).realize() for v in values]
    out = f(*args)
    found = sources(out.uop, [x.uop for x in args])
    assert found is not None
    before = cells(read(out).tolist())
    for i, x in enumerate(args):
        flat = cells(x.tolist())
        for c in range(len(flat)):
            changed = [*flat[:c], (flat[c] + 1) % 3 if dtypes.is_int(x.dtype) else flat[c] + 1.5, *flat[c + 1 :]]
            new = Tensor(changed, dtype=x.dtype).reshape(x.shape).realize()
            after = cells(read(f(*(new if j == i else y for j, y in enumerate(args)))).tolist())
            for k, (was, now) in enumerate(zip(before, after, strict=True)):
                same = was == now or (math.isnan(was) and math.isnan(now))
                assert same or (i, c) in found[k], f"cell {k} comes from cell {c} of {i} too"
    return found


@each
@pytest.mark.usefixtures("in_python")
def test_sources_are_complete(name: str) -> None:
    f, values = FUNCTIONS[name]
    if isinstance(values[0], dict):
        values = (values[0]["w"], values[1])
        f = FUNCTIONS["without a brand"][0]

    def first(*args: Any) -> Tensor:
        out: Tensor = tree.leaves(f(*args))[0]
        return out

    check_sources(first, *values)


def random_program(seed: int) -> Callable[[Tensor], Tensor]:
    """Return a function of a matrix: three operations in sequence, chosen at random."""
    draw = random.Random(seed)
    operations: list[Callable[[Tensor], Tensor]] = [
        lambda x: x + x.flip(0),
        lambda x: x * x.sum(1, keepdim=True),
        lambda x: (x > x.mean()).where(x, x.roll(1, 1)),
        lambda x: x.cumsum(1),
        lambda x: x.softmax(0),
        lambda x: x - x.max(0),
        lambda x: x[Tensor([1, 0, 1])],
        lambda x: x.cat(x[:1] * 2),
        lambda x: x.pad(((0, 0), (1, 0))),
        lambda x: x.triu(),
        lambda x: x.transpose().reshape(x.shape),
        lambda x: x.sort(1)[0],
        lambda x: x.gather(1, x.argmax(1, keepdim=True)) + x,
        lambda x: vmap(lambda r: vmap(lambda s: (r * s).sum())(x))(x),
    ]
    chosen = [draw.choice(operations) for _ in range(3)]

    def program(x: Tensor) -> Tensor:
        for f in chosen:
            x = f(x)
        return x

    return program


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.usefixtures("in_python")
def test_sources_are_complete_for_random_programs(seed: int) -> None:
    check_sources(random_program(seed), [[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]])


@pytest.mark.usefixtures("in_python")
def test_sources_are_minimal() -> None:
    row = [[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]]
    pairs = check_sources(lambda a, b: vmap(lambda x: vmap(lambda y: x + y)(b))(a), [1.0, 2.0], [3.0, 4.0])
    assert pairs == [[(0, i), (1, j)] for i, j in itertools.product(range(2), range(2))]
    assert check_sources(lambda m, i: vmap(lambda r, k: r[k])(m, i), row, [2, 0]) == [
        [(0, 2), (1, 0)],
        [(0, 3), (1, 1)],
    ]
    assert check_sources(lambda m: m.cumsum(1), row)[2] == [(0, 0), (0, 1), (0, 2)]
    scan = FUNCTIONS["scan"][0]
    assert check_sources(scan, row)[1] == [(0, 0), (0, 1)]
    assert check_sources(lambda m: (m > 2).where(m, m.roll(1, 1)), row)[0] == [(0, 0), (0, 2)]
    assert check_sources(FUNCTIONS["write"][0], row)[1] == [(0, 0)]
    assert check_sources(lambda m: m.tril(), row)[2] == []


def test_no_sources_for_large_values() -> None:
    operand, between = Tensor.ones(65, 64).contiguous().realize(), Tensor.ones(512).contiguous().realize()
    assert sources(operand.sum().uop, [operand.uop]) is None
    assert sources((between.reshape(512, 1) * between).sum().uop, [between.uop]) is None


# ---- properties of the data ----


@pytest.mark.usefixtures("in_python")
def test_names_of_arguments() -> None:
    class Unsaid:
        __signature__ = "not one"

        def __call__(self, *xs: Tensor) -> Tensor:
            return xs[0] + xs[1]

    def named(a: Tensor, *rest: Any, by: Tensor | None = None) -> Tensor:
        assert by is not None
        return a + rest[0]["x"] + rest[1] * by

    x = Tensor([1.0, 2.0])

    def paths(f: Any, *args: Any, **kwargs: Any) -> list[str]:
        return [v["path"] for v in explain(f)(*args, **kwargs).data()["arguments"]]

    assert paths(named, x, {"x": x + 1}, x + 2, by=x + 3) == ["a", "rest[0]['x']", "rest[1]", "by"]
    assert paths(Unsaid(), x, x + 1) == ["argument 1", "argument 2"]
    assert paths(lambda a, b: a + b, x, x + 1) == ["a", "b"]


def test_callers_of_the_program_name_no_operands() -> None:
    outside = Tensor([1.0])
    with record_operand_names():
        said = (lambda inside: names_of([inside.uop]))(outside)
    assert said.operands == (("inside",),)


def test_running_expression_of_several_lines(tmp_path: Path) -> None:
    path, found = tmp_path / "app.py", list[str]()

    def g(*args: Any) -> int:
        e = source.expression(sys._getframe(1))
        assert e is not None
        found.append(ast.unparse(e))
        return 1

    path.write_text("def f(é, g):\n    return é + g('ü', g(é,\n        'ä', 1))  # ö\n", encoding="utf-8")
    runpy.run_path(str(path))["f"](1, g)
    assert found == ["g(é, 'ä', 1)", "g('ü', g(é, 'ä', 1))"]


def test_kinds_and_columns() -> None:
    data = explain(outer).data()
    assert [s["kind"] for s in data["steps"]] == ["enter", "enter", "per example", "broadcast", "leave", "leave"]
    assert data["brands"] == [
        {"name": "x", "size": 3, "where": "programs.py:27"},
        {"name": "y", "size": 2, "where": "programs.py:27"},
    ]
    add = data["steps"][3]
    assert add["columns"] == [
        {"brand": "x", "size": 3, "operands": [True, False], "how": "broadcast"},
        {"brand": "y", "size": 2, "operands": [False, True], "how": "broadcast"},
    ]
    assert (add["line"], add["code"], add["bytes"], add["grew"]) == (2, "x + y * 2", 24, 2.0)
    assert [v["path"] for v in data["arguments"]] == ["a", "b"]
    lines = {level: len(text) for level, text in data["programs"].items()}
    for step in data["steps"]:
        assert set(step["primitives"]) <= set(range(lines["primitives"]))
        assert set(step["batched"]) <= set(range(lines["batched"]))


@each
@pytest.mark.usefixtures("in_python")
def test_data_are_json_and_graph_is_valid(name: str) -> None:
    data = data_of(name)
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    told = text(story(data)).splitlines()
    assert told[1].startswith(("broadcasts: ", "nothing broadcasts")) and len(told) <= 70
    nodes, edges = data["graph"]["nodes"], data["graph"]["edges"]
    assert [n["id"] for n in nodes] == list(range(len(nodes)))
    assert all(a < b for a, b in edges)
    assert {n["step"] for n in nodes} - {None} <= {s["number"] for s in data["steps"]}
    assert {v["name"] for s in data["steps"] for v in s["results"]}.isdisjoint(v["name"] for v in data["arguments"])


def test_mypy_and_run_time_agree() -> None:
    """In a function without row variables, the brands that mypy infers are those at run time."""
    data = explain(outer).data()
    assert [s["static"] for s in data["steps"]] == [
        None, None, "Vec[y, Tensor]", "Vec[x | y, Tensor]", "Vec[x, Tensor]", "Tensor",
    ]  # fmt: skip
    for step in data["steps"]:
        if step["static"] is not None:
            row = re.findall(r"Vec\[(.*), Tensor\]", step["static"])
            assert step["results"][0]["row"] == (row[0].split(" | ") if row else [])


def test_mypy_runs_once_per_file() -> None:
    files = [ROOT / "tests" / "explained" / name for name in ("programs.py", "real.py")]
    first = [static.types_in(file) for file in files]
    assert all(static.types_in(file) is types for file, types in zip(files, first, strict=True))
    assert {"Vec[x | y, Tensor]", "Vec[Users | Items, Tensor]"} <= set(first[0].found.values()) and first[1].found


def test_mypy_does_not_check_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading the imports of libraries took mypy half a minute."""
    program = tmp_path / "app.py"
    program.write_text("from tinygrad import Tensor\nimport library\nx = Tensor(library.f())\n")
    (tmp_path / "library.py").write_text("def f() -> int:\n    import colorsys\n    return 1\n")
    (tmp_path / "mypy.ini").write_text("[mypy-library]\nignore_errors = True\n")
    warm(tmp_path / ".mypy_cache")
    read, before = [], build.build
    monkeypatch.setattr(build, "build", lambda *args, **how: read.append(before(*args, **how)) or read[0])
    monkeypatch.chdir(tmp_path)
    assert static.types_in(program).found[3, 4, 3, 23] == "Tensor"
    assert "library" in read[0].files and "colorsys" not in read[0].files


def test_bytes_of_kernels() -> None:
    (kernel,) = explain(outer).data()["kernels"]
    assert (kernel["name"], kernel["reads"], kernel["writes"]) == ("E_3_2", 3 * 4 + 2 * 4, 3 * 2 * 4)


def test_infinity_and_nan_are_strings() -> None:
    data = explain(lambda x: (x - 1).log())(Tensor([1.0, 0.0, 2.0])).data()
    assert data["result"] == ["-inf", "nan", 0.0]


def test_warning_distinguishes_fused_values() -> None:
    x = Tensor.ones(2048).contiguous().realize()
    table = explain(lambda a: vmap(lambda x: vmap(lambda y: x * y)(a))(a), x).data()
    fused = explain(lambda a: vmap(lambda x: (x * a).sum())(a), x).data()
    (kept,) = [s["warning"] for s in table["steps"] if s["warning"]]
    (gone,) = [s["warning"] for s in fused["steps"] if s["warning"]]
    large = "makes b 16 MiB, 2048 times its largest operand"
    assert kept == f"the broadcast over x and y {large}; the kernel E_2048_2048 writes that much to memory"
    assert gone == f"the broadcast over x {large}; it is never in memory: no kernel writes that much"
    assert table["result"] is fused["result"] is None
    assert all(v["cells"] is None for s in table["steps"] for v in s["results"]) and table["steps"][2]["from"] is None
    assert not any(s["warning"] for s in explain(outer).data()["steps"])
    assert any(s["warning"] for s in explain(outer, warn=Growth(2, 1)).data()["steps"])


def test_large_values_are_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    realized: list[int] = []
    before = Tensor.realize
    monkeypatch.setattr(Tensor, "realize", lambda *ts: realized.extend(t.numel() for t in ts) or before(*ts))
    x = Tensor.ones(2048).contiguous()
    data = explain(lambda a: vmap(lambda x: vmap(lambda y: x * y)(a))(a).sum(), x).data()
    assert data["result"] is None and realized == [2048]


def test_data_are_deterministic() -> None:
    assert explain(outer).data() == explain(outer).data()


def test_without_mypy(monkeypatch: pytest.MonkeyPatch) -> None:
    static._types.cache_clear()
    for name in [n for n in sys.modules if n.split(".")[0] == "mypy" or n == "branded.mypy.check"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mypy", None)
    data = explain(outer).data()
    assert {s["static"] for s in data["steps"]} == {None}
    assert data["notes"] == ["mypy is not installed, so there are no static types: pip install 'branded[mypy]'"]


def test_without_a_file() -> None:
    namespace: dict[str, Any] = {}
    exec("def f(x):\n    return x + x", namespace)
    data = explain(namespace["f"], Tensor([1.0])).data()
    assert (data["source"], data["file"], data["steps"][0]["line"]) == ("", "", None)
    assert data["notes"] == ["the function is not in a file, so there are no static types"]


class _Layer:
    def __init__(self) -> None:
        self.steps = Tensor([0.0]).contiguous().realize()


_LAYER, _SUM = _Layer(), Tensor([10.0, 20.0]).contiguous().realize()


def _writes_to_captured(x: Tensor) -> Tensor:
    _LAYER.steps += 1
    _SUM.assign(_SUM + vmap(lambda v: v * 2)(x))
    return _SUM.sum()


def _writes_to_argument(x: Tensor) -> Tensor:
    x.assign(x * 2)
    return x.sum()


@pytest.mark.parametrize(
    ("f", "result", "new"),
    [(_writes_to_captured, 36.0, [[1.0], [12.0, 24.0]]), (_writes_to_argument, 6.0, [[2.0, 4.0]])],
)
def test_writes_into_tensors_from_outside(f: Any, result: float, new: list[list[float]]) -> None:
    """The loop returns the new values of the tensors, which keep their old ones."""
    x = Tensor([1.0, 2.0]).contiguous().realize()
    data = explain(f, x).data()
    assert [r["cells"] for r in data["results"]] == [result, *new] and "from outside" in data["notes"][-1]
    namespace: dict[str, Any] = {"Tensor": Tensor}
    exec(data["loop"], namespace)
    got, values = namespace[f.__name__](*map(tensor_of, data["arguments"]))
    assert (got.item(), [y.tolist() for y in values]) == (result, new)
    assert (x.tolist(), _LAYER.steps.tolist(), _SUM.tolist()) == ([1.0, 2.0], [0.0], [10.0, 20.0])


def test_exec_source_is_not_command_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.13 and later use the name `<string>` for the program of `python -c`."""
    monkeypatch.setitem(linecache.cache, "<string>", (12, None, ["import sys; 1\n", "2\n"], "<string>"))
    test_without_a_file()
    assert (source.lines("<string>"), source.line("<string>", 1)) == ([], "")
    assert source.line(__file__, 1).startswith('"""') and source.line(__file__, 0) == "" == source.line(__file__, 9999)


# ---- output ----


def test_colours_do_not_change_text(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, coloured = io.StringIO(), io.StringIO()
    shown = explain(outer)
    shown.show(plain)
    monkeypatch.setenv("FORCE_COLOR", "1")
    shown.show(coloured)
    assert plain.getvalue() == f"{shown}\n"
    assert "\033[" in coloured.getvalue()
    assert re.sub(r"\033\[[\d;]*m", "", coloured.getvalue()) == plain.getvalue()


def test_without_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in sys.modules if n.split(".")[0] == "rich"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "rich", None)
    out, shown = io.StringIO(), explain(outer)
    shown.show(out)
    assert out.getvalue() == f"{shown}\n"


def test_html_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "outer.html"
    program = ROOT / "tests" / "explained" / "programs.py"
    assert cli.main(["explain", f"{program}:outer", "--html", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}\n"
    page = out.read_text()
    assert page.startswith("<!doctype html>") and "x: only x varies over it" in page
    assert explain(outer)._repr_html_().startswith("<iframe")


def test_options() -> None:
    short, kernels, full = (str(explain(outer, **how)) for how in ({}, {"kernels": True}, {"full": True}))  # type: ignore[arg-type]
    assert re.fullmatch(r"1 kernel, 44 B at most, [\d.]+ µs", short.splitlines()[2])
    assert "void E_3_2" not in short and "void E_3_2" in kernels and "void E_3_2" in full
    assert "the batched graph" not in kernels and "the batched graph" in full
    assert str(explain(outer, full=True)(Tensor([1]), Tensor([2]))).startswith("outer  programs.py:26\n  def outer(")


def test_results_have_names_from_source() -> None:
    class Layer:
        def __init__(self) -> None:
            self.weight = Tensor([2.0, 3.0]).realize()

    layer = Layer()

    def f(p: Any, x: Any) -> Any:
        def one(x: Any) -> Any:
            h = y = x * layer.weight
            total: Any = h.sum() + p["b"]
            total += 1  # adds and assigns
            return y / total

        return vmap(one)(x)

    data = explain(f)({"b": Tensor([1.0]).realize()}, Tensor([[1.0, 2.0]]).realize()).data()
    assert [v["name"] for v in data["arguments"]] == ["p_b", "x", "layer_weight"]
    made = [v["name"] for s in data["steps"] for v in s["results"]]
    assert made == ["x_i", "h", "a", "total", "b", "total2", "c", "out"]


def test_name_belongs_to_whole_layer() -> None:
    layer = nn.Linear(2, 3)

    def f(x: Any) -> Any:
        def one(row: Any) -> Any:
            h = layer(row)
            return h * 2

        return vmap(one)(x)

    shown = explain(f)(Tensor([[1.0, 2.0]]).realize())._explained.outline
    named = {v["name"]: s["op"] for s in shown["steps"] for v in s["results"]}
    assert named["h"] == "linear" and "h2" not in named
    assert not any("`layer(row)`" in line for s in shown["steps"] for line in s["reason"])


def test_mistake_is_shown_at_its_step() -> None:
    def f(x: Tensor) -> Tensor:
        return vmap(lambda row: (row * 2) @ Tensor.ones(3))(x)

    shown = explain(f, Tensor.ones(2, 4))
    first, _, step, ones, wrong, *message = str(shown).splitlines()
    assert re.fullmatch(r"f: a mistake at test_explain.py:\d+, in row:2", first)
    assert re.fullmatch(r"  test_explain.py:\d+  row \* 2   Vec\[row:2, f32\[4\]\]", step)
    assert ones.endswith("Tensor.ones(3)   f32[3]")
    assert wrong.endswith("return vmap(lambda row: (row * 2) @ Tensor.ones(3))(x)")
    assert [line.strip() for line in message] == [line.strip() for line in str(shown.mistake).splitlines()]
    out = io.StringIO()
    shown.show(out)
    assert out.getvalue() == f"{shown}\n"
    assert shown._repr_html_().startswith("<pre>f: a mistake at test_explain.py:")
    with pytest.raises(errors.ShapeError):
        shown.data()


@pytest.mark.usefixtures("in_python")
def test_arguments_are_guessed() -> None:
    def shapes(f: Any) -> list[str]:
        return [v["type"] for v in explain(f)._explained.outline["arguments"]]

    def of_rank(x: Vec[S], n: int, w: Tensor) -> Vec[S]:
        return (x * n).sum(1) @ w

    def told(x: Vec[S], k: Tensor) -> Vec[S]:
        """`x` is f32[n, d], and `k` is i32[n]."""
        return x[k].sum(1)

    def by_name(a: Axes[Users, Items], b: Axes[Items, Users]) -> Tensor:
        return a @ b

    def by_keyword(*, x: Tensor) -> Tensor:
        return x.permute(2, 0, 1)

    def by_name_and_length(a: Axes[Users, Literal[5]], b: Vec[S, Axes[Literal[5], Items]]) -> Tensor:
        return (a @ b).sum()

    assert shapes(by_name_and_length) == ["f32[2, 5]", "f32[5, 3]"]
    assert shapes(of_rank) == ["f32[3, 4]", "f32[3, 4]"]
    assert shapes(told) == ["f32[2, 3]", "i32[2]"]
    assert shapes(by_name) == ["f32[2, 3]", "f32[3, 2]"]
    assert shapes(by_keyword) == ["f32[2, 3, 4]"]
    assert str(explain(by_keyword)).splitlines()[-1].startswith("note: the arguments are guessed")


NAMED_AXES = """
from typing import TypeVar
from branded import Axes, Brand, Vec, vmap
from tinygrad import Tensor

class Users(Brand): ...
class Items(Brand): ...
class Features(Brand): ...
S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)

def affinity(user: Vec[S], item: Vec[S1]) -> Vec[S | S1]:
    return (user * item).sum()

def scores(users: Axes[Users, Features], items: Axes[Items, Features]) -> Tensor:
    return vmap(affinity)(users, items)
"""


@pytest.mark.usefixtures("in_python")
@pytest.mark.parametrize("first", ["", "from __future__ import annotations"])
def test_named_axes_get_different_sizes(first: str, tmp_path: Path) -> None:
    """The axes are only in the annotations; a different size for each shows at run time the mistake that mypy finds."""
    path = tmp_path / "app.py"
    path.write_text(f"{first}\n{NAMED_AXES}")
    names = runpy.run_path(str(path))
    linecache.checkcache(str(path))
    with pytest.raises(errors.SizeError) as info:
        explain(names["scores"]).data()
    assert "left:  f32[2, 3], axis 0" in str(info.value) and "right: f32[4, 3], axis 0" in str(info.value)


@pytest.mark.usefixtures("in_python")
def test_declared_axes_are_shown() -> None:
    x, w = Tensor([[1.0, 2.0], [3.0, 4.0]]).realize(), Tensor([1.0, 2.0]).realize()
    told = as_axes(x, Users, Items)
    f = lambda x, w: vmap(lambda u: (u * w).sum())(x)  # noqa: E731
    assert "  x  f32[2, 2]   Users, Items" in str(explain(f)(told, w)).splitlines()
    expr = make_expr(f)(told, w)
    assert str(expr).splitlines()[0] == "{ lambda ; a:f32[2, 2] b:f32[2] . let  # a: Axes[Users, Items]"
    assert expr.from_text(str(expr)) == expr == make_expr(f)(told, w)
    assert "#" not in str(make_expr(f)(Tensor([[1.0]]), Tensor([1.0])))


@pytest.mark.usefixtures("in_python")
def test_devices_take_one_line() -> None:
    x = Tensor([[1.0, 2.0], [3.0, 4.0]]).realize()
    told = str(explain(lambda x: vmap(lambda r: r.sum(), devices=("PYTHON:0", "PYTHON:1"))(x))(x))
    assert "      shard over r: 1 example on each of PYTHON and PYTHON:1" in told.splitlines()
    assert "        r = x[i]\n" in told and "UNSHARD" not in told and "COPY" not in told


# ---- errors ----

MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "no arguments": (
        lambda: explain(lambda a, b=2, *, c: a)().data(),
        """\
        explain: `<lambda>` has no example arguments
          needs: a, c
          try:   give each a default, call explain(<lambda>, ...), or use --args "Tensor([1.0, 2.0]), ..."
        """,
    ),
    "too many": (
        lambda: explain(outer, Tensor([1]), Tensor([2]), 3).data(),
        """\
        explain: `outer` does not take these arguments: too many positional arguments
          given: i32[1], i32[1], the int 3
        """,
    ),
    "no function": (
        lambda: explain(Tensor([1])).data(),  # type: ignore[arg-type]
        """\
        explain: i32[1] is not a function
          try: explain(f, *args), or explain(f)(*args)
        """,
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    mistake, text = MISTAKES[name]
    with pytest.raises(errors.ExplainError) as info:
        mistake()
    assert isinstance(info.value, BrandedError | TypeError)
    assert str(info.value).splitlines() == [line.removeprefix(" " * 8) for line in text.rstrip().splitlines()]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["FILE"], "which function of FILE? FILE:zipped, FILE:outer, FILE:softmax, "),
        (["FILE:nothing"], "there is no function `nothing` in FILE"),
        (["FILE:outer", "--args", "Tensr([1])"], "--args 'Tensr([1])' cannot be evaluated: NameError: name 'Tensr'"),
        (["FILE:outer", "--html", "/no/such/folder/x.html"], "there is no folder /no/such/folder"),
    ],
)
def test_misuse_is_one_line(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(ROOT / "tests" / "explained" / "programs.py")
    assert cli.main(["explain", *(w.replace("FILE", file) for w in words)]) == 2
    out, err = capsys.readouterr()
    wanted = message.replace("FILE.py", "<>").replace("FILE", file).replace("<>", "FILE.py")
    assert out == "" and err.count("\n") == 1
    assert err.startswith(f"branded explain: {wanted}")


def test_error_in_function_names_line(tmp_path: Path) -> None:
    program = tmp_path / "app.py"
    program.write_text(
        "from tinygrad import Tensor\nfrom branded import vmap\n\n"
        "def f(a=Tensor([1, 2])):\n    return vmap(lambda x: x.item())(a)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "branded", "explain", f"{program}:f"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"{program}:5\nitem: a value that varies over `x` has no single value to read")


def test_kernel_names_its_cpu_implementation() -> None:
    """The description depends on the form of the kernel and a table of costs, not on the machine."""
    a, b = Tensor.empty(6, 48, 32).realize(), Tensor.empty(32, 40).realize()
    (product,) = kernels([vmap(lambda a: a @ b)(a).uop])
    assert product.code.startswith("// on the CPU by BLAS: a product of 288 x 32 by 32 x 40\nvoid r_")
    (each,) = kernels([vmap(lambda a, c: a @ c)(a, Tensor.empty(6, 32, 40)).uop])
    assert each.code.startswith("// on the CPU by BLAS: 6 products of 48 x 32 by 32 x 40\nvoid r_")
    (sums,) = kernels([a.exp().sum(2).uop])
    assert sums.code.startswith("// on the CPU as plain loops, which clang vectorizes\nvoid r_")
    rows, ids = Tensor.empty(5000).realize(), Tensor.empty(5000, dtype="int32").realize()
    (added,) = kernels([functions.segment_sum(rows, ids, 300).uop])
    assert added.code.startswith("// on the CPU as a loop over the entries, which adds each at its index\nvoid r_")
    (small,) = kernels([(Tensor.empty(2, 3) + 1).uop])
    assert small.code.startswith("void E_")


def test_scripts_for_embedded_page() -> None:
    text = html.scripts(*html._PAGE)
    assert all((html.ASSETS / f"{name}.js").read_text(encoding="utf-8") in text for name in html._PAGE)


def test_short_types() -> None:
    assert (
        static.short("branded.vec.Vec[app.Users | app.Items, tinygrad.tensor.Tensor]") == "Vec[Users | Items, Tensor]"
    )
    assert [static.short(t) for t in ("builtins.int", "branded.vec.Vec[Any, tinygrad.tensor.Tensor]")] == [None, None]


def test_guess_with_int_for_range() -> None:
    f: Any = lambda x, n: sum((x for _ in range(n)), x)  # noqa: E731
    parameters = list(inspect.signature(f).parameters.values())
    assert sys.modules["branded.explain.argument_guesses"]._runs(f, parameters, {"x": Tensor.ones(2), "n": 2})
