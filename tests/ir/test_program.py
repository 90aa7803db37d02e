"""Test the IR: its text, its value and its levels.

`python -m tests.ir.test_program` regenerates tests/ir/program/golden.txt.
"""

from __future__ import annotations

import functools
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tinygrad import Context, Tensor, Variable, dtypes

from branded import brand, cond, fori_loop, grad, jit, make_expr, psum, scan, switch, tree, vec_type, vmap
from branded.errors import BrandedError
from branded.ir import Expr, read
from tests.golden import make, registry, with_branded
from tests.ir.program import ALL, CASES, some
from tests.support import by_numpy
from tests.support.examples import in_memory
from tests.support.profiles import check
from tests.support.programs import Nest, nests

GOLDEN = Path(__file__).parent / "program" / "golden.txt"


def expr_of(name: str) -> Expr:
    return make_expr(CASES[name].f)(*CASES[name].args())


def texts() -> dict[str, str]:
    return {f"{name}, {level}": text for name in CASES for level, text in texts_of(name).items()}


def texts_of(name: str) -> dict[str, str]:
    expr = expr_of(name)
    return {level: str(expr.at(level)) for level in CASES[name].levels}  # type: ignore[arg-type]


@functools.cache
def golden() -> dict[str, str]:
    parts = re.split(r"^== (.*)\n", GOLDEN.read_text(), flags=re.M)[1:]
    return dict(zip(parts[::2], (p.rstrip("\n") for p in parts[1::2]), strict=True))


def same(wanted: Any, *results: Any) -> None:
    """Compare the results with one evaluation for all of them, so that shared parts are computed once."""
    assert all(tree.outline(x) == tree.outline(wanted) for x in results)
    found = tree.leaves([wanted, *results])
    read = iter(by_numpy.reads([x for x in found if isinstance(x, Tensor)]))
    numbers = [next(read) if isinstance(x, Tensor) else np.array(x) for x in found]
    n = len(tree.leaves(wanted))
    for i, x in enumerate(numbers[n:]):
        np.testing.assert_allclose(x, numbers[i % n], rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("name", CASES)
def test_text(name: str) -> None:
    wanted = golden()
    for level, text in texts_of(name).items():
        assert text == wanted[f"{name}, {level}"]


def test_golden_file_is_complete() -> None:
    assert golden().keys() == {f"{name}, {level}" for name, case in CASES.items() for level in case.levels}


@pytest.mark.parametrize("name", CASES)
def test_levels_and_texts_have_same_value(name: str) -> None:
    """Sort by operations of tinygrad here: on the CPU, sort is a call of numpy, which the text cannot express."""
    f, args = CASES[name].f, CASES[name].args()
    with Context(NOOPT=1, PARALLEL=0, BRANDED_CPU=0):
        wanted, expr, results = f(*args), expr_of(name), []
        for level in ALL:
            at = expr.at(level)  # type: ignore[arg-type]
            again = at.from_text(str(at))
            assert again == at
            assert str(again) == str(at)
            results += [at(*args), again(*args)]
        same(wanted, *results)


@pytest.mark.parametrize("name", CASES)
def test_links_between_levels(name: str) -> None:
    expr = expr_of(name)
    for level in ALL[:2]:
        at = expr.at(level)  # type: ignore[arg-type]
        assert len(at.links()) == len(at.program.eqns)
        assert sorted(n for numbers in at.links() for n in numbers) == list(range(len(at.below().program.eqns)))


@pytest.mark.parametrize("part", range(2))
def test_generated_programs(part: int) -> None:
    """Printing, parsing and evaluating the IR returns the function's result, under any nest of vmaps."""

    def law(nest: Nest) -> None:
        args = [in_memory(x) if x.ndim else Tensor(x) for x in nest.arguments(nest.data())]
        f = nest.mapped()
        expr = make_expr(f)(*args)
        wanted, results = f(*args), []
        for level in ALL:
            at = expr.at(level)  # type: ignore[arg-type]
            again = at.from_text(str(at))
            assert str(again) == str(at)
            results.append(again(*args))
            for x, y in zip(results[-1], wanted, strict=True):
                assert (x.shape, x.dtype) == (y.shape, y.dtype)
        same(wanted, *results)

    with Context(DEV="PYTHON", NOOPT=1):
        check(law, nests(max_depth=3, max_steps=8), examples=60, part=part)


PROGRAMS = registry.load()
JAX: dict[str, Any] = json.loads(make.PATH.read_text())


@pytest.mark.parametrize("name", list(PROGRAMS)[::23])
def test_golden_programs(name: str) -> None:
    """The IR of a program with golden values from JAX returns these values."""
    with Context(DEV="PYTHON", NOOPT=1, PARALLEL=0):
        expr = make_expr(lambda: PROGRAMS[name].run(with_branded))()
        for level in ALL:
            at = expr.at(level)  # type: ignore[arg-type]
            got = with_branded.results(at.from_text(str(at))())
            for path, (_, shape, values) in JAX[name].items():
                wanted = np.array([float(x) for x in values]).reshape(shape)
                np.testing.assert_allclose(got[path], wanted, rtol=2e-4, atol=1e-5)


# ---- equality and values ----


def test_equal_up_to_names() -> None:
    x, y = some(3), some(2)
    a = make_expr(lambda p, q: vmap(lambda u: vmap(lambda v: u + v)(q))(p))(x, y)
    b = make_expr(lambda r, s: vmap(lambda row: vmap(lambda col: row + col)(s))(r))(x, y)
    assert a == b
    assert hash(a) == hash(b)
    assert str(a) != str(b)  # the brands are named after the parameters
    assert a != make_expr(lambda p, q: vmap(lambda u: vmap(lambda v: v + u)(q))(p))(x, y)
    assert a != a.at("batched")
    assert a != "text"


def test_constants_are_compared_by_value() -> None:
    def of(c: Tensor) -> Expr:
        return make_expr(lambda x: x + c)(some(2))

    assert of(Tensor([1.0, 2.0])) == of(Tensor([1.0, 2.0]))
    assert of(Tensor([1.0, 2.0])) != of(Tensor([1.0, 3.0]))
    assert [c.tolist() for c in of(Tensor([1.0, 2.0])).consts] == [[1.0, 2.0]]


def test_values_of_all_examples() -> None:
    expr = expr_of("outer")
    x, y = Tensor([1.0, 2.0, 3.0]), Tensor([10.0, 20.0])
    values = expr.values(x, y)
    assert [v.tolist() for (v,) in values] == [
        [1.0, 2.0, 3.0],
        [10.0, 20.0],
        (table := [[11.0, 21.0], [12.0, 22.0], [13.0, 23.0]]),
        table,
        table,
    ]


def test_values_have_the_axes_of_their_types() -> None:
    """The brands are entered in another order than they were opened."""

    def f(a: Tensor, b: Tensor) -> Tensor:
        with brand("p", 3) as p, brand("q", 2) as q:
            y = q.vec(b)
            x = p.vec(a)
            return q.unvec(p.unvec(x * y))

    a, b = Tensor([1.0, 2.0, 3.0]), Tensor([1.0, 10.0])
    expr = make_expr(f)(a, b)
    sizes = {v: tuple(name.size for name in v.type.row) + v.type.shape for e in expr.program.eqns for v in e.results}
    for e, values in zip(expr.program.eqns, expr.values(a, b), strict=True):
        assert [sizes[v] for v in e.results] == [x.shape for x in values]
    assert expr(a, b).tolist() == f(a, b).tolist()


def test_samples_are_constants() -> None:
    def f(rows: Tensor) -> Tensor:
        return vmap(lambda row: row + Tensor.rand(3), randomness="different")(rows)

    x = Tensor.ones(2, 3)
    expr = make_expr(f)(x)
    first, *_ = str(expr).splitlines()
    assert first == "{ lambda a:f32[2, 3] ; b:f32[2, 3] . let"
    once = expr(x).tolist()
    assert all(expr.at(level)(x).tolist() == once for level in ALL)  # type: ignore[arg-type]
    assert expr != make_expr(f)(x)


def test_source_of_each_operation() -> None:
    def f(x: Tensor) -> Tensor:
        return x.sin() + 2 * x

    lines = Path(__file__).read_text().splitlines()
    for eqn in make_expr(f)(some(2)).program.eqns:
        assert eqn.where is not None
        assert Path(eqn.where.file) == Path(__file__)
        text = lines[eqn.where.line - 1].encode()[eqn.where.column : eqn.where.end_column].decode()
        assert text == {"sin": "x.sin()", "mul": "2 * x", "add": "x.sin() + 2 * x"}[eqn.op]


def test_derivatives_of_evaluated_ir() -> None:
    args = CASES["own_rule"].args()
    for level in ("operations", "primitives"):
        run = expr_of("own_rule").at(level)  # type: ignore[arg-type]
        same(grad(lambda x: run(x).sum())(*args), grad(lambda x: CASES["own_rule"].f(x).sum())(*args))


def test_tracing_inside_vmap() -> None:
    """The arguments may be batched values of open brands."""
    seen: list[str] = []

    def f(x: Tensor) -> Tensor:
        expr = make_expr(lambda v: (v * 2).sum())(x)
        seen.append(str(expr))
        return expr(x)

    assert vmap(f)(Tensor([[1.0, 2.0], [3.0, 4.0]])).tolist() == [6.0, 14.0]
    assert "{ lambda ; a:Vec[x:2, f32[2]] . let" in seen[0]


def test_static_arguments() -> None:
    expr = make_expr(lambda x, n, how: x.sum(axis=n) if how == "sum" else x, static_argnums=1)(some(2, 3), 1, "sum")
    assert str(expr).splitlines()[1] == "    b:f32[2] = sum[axis=1] a"
    assert expr(Tensor.ones(2, 3), 1, "sum").tolist() == [3.0, 3.0]


def test_positional_and_keyword_arguments() -> None:
    x = some(2)
    expr = make_expr(lambda d, *, k: d["a"] - d["b"] * k)({"a": x, "b": x * 2}, k=x)
    same(expr({"b": x * 2, "a": x}, k=x), x - x * 2 * x)
    static = make_expr(lambda x, n=2: x * n, static_argnums=1)
    assert static(x)(x).tolist() == (x * 2).tolist()
    assert static(x, n=3)(x, n=3).tolist() == (x * 3).tolist()


def test_numbers_are_weakly_typed() -> None:
    for dtype in (dtypes.int8, dtypes.half, dtypes.float64):
        expr = make_expr(lambda x, n: x * n)(Tensor([1, 2], dtype=dtype), 2)
        assert str(expr).splitlines()[1].split(" = ")[0].split(":")[1] == str(expr.program.invars[0].type)
    wide = make_expr(lambda x, n: x + n)(Tensor([1, 2], dtype=dtypes.int64), 2**40)
    assert wide(Tensor([1, 2], dtype=dtypes.int64), 2**40).tolist() == [2**40 + 1, 2**40 + 2]


BRANCHES: dict[str, Any] = {
    "a tensor with a number, and a float": lambda p: cond(p > 0, lambda: Tensor([1]) + 2.0, lambda: p.reshape(1)),
    "a number, and a float": lambda p: cond(p > 0, lambda: 2, lambda: p),
    "numbers": lambda p: cond(p > 0, lambda: 1, lambda: 2.5),
    "a bool, and a number": lambda p: cond(p > 0, lambda: True, lambda: 2),
    "switch": lambda p: switch((p > 0) * 1, [lambda: 1, lambda: p, lambda: 1.5]),
    "a loop": lambda p: cond(p > 0, lambda: fori_loop(0, 3, lambda i, c: c + i, 0), lambda: p),
}


@pytest.mark.parametrize("name", BRANCHES)
def test_branches_with_different_dtypes(name: str) -> None:
    """If the predicate is known, one branch runs: its value has the common dtype of all branches."""
    f = BRANCHES[name]
    for p in (Tensor([2.0])[0], Tensor([-2.0])[0]):
        expr = make_expr(f)(p)
        assert f(p).tolist() == expr(p).tolist() == jit(expr)(p).tolist()
    ps = Tensor([2.0, -2.0])
    same(vmap(f)(ps), vmap(make_expr(f)(ps[0]))(ps))


def test_jax_example_with_number_in_branch() -> None:
    def func8(p: Any, t: Any) -> Any:
        return cond(p >= 0.0, lambda t: t[0], lambda t: Tensor([1]) + t[1], t)

    args = (Tensor.zeros(1), 2.0)
    expr = make_expr(func8)(5.0, args)
    assert [expr(p, args).tolist() for p in (5.0, -5.0)] == [[0.0], [3.0]]


def test_captured_values_are_constants() -> None:
    x = Tensor([1.0, 2.0, 3.0])

    def product(r: Tensor) -> Tensor:
        return make_expr(lambda v: v * r)(r)(r)

    squares = [1.0, 4.0, 9.0]
    assert vmap(product)(x).tolist() == make_expr(product)(x)(x).tolist() == jit(product)(x).tolist() == squares
    assert scan(lambda c, v: (c + product(v), None), 0.0, x)[0].item() == 14.0
    assert grad(lambda x: make_expr(lambda v: (v * x).sum())(x)(x))(x).tolist() == [2.0, 4.0, 6.0]
    sums = vmap(lambda r: make_expr(lambda v: psum(v, "i"))(r)(r), axis_name="i")(x)
    assert sums.tolist() == [6.0, 6.0, 6.0]


def test_vmap_of_evaluated_ir() -> None:
    expr = make_expr(lambda v: v.sum())(some(3))
    assert vmap(expr)(Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])).tolist() == [6.0, 15.0]


def test_opaque_arguments_need_the_program() -> None:
    x = some(3, 2)
    f = lambda x: x.shard(("CPU:0", "CPU:1", "CPU:2"), axis=0).sum(1)  # noqa: E731
    expr = make_expr(f)(x)
    for level in ALL:
        at = expr.at(level)  # type: ignore[arg-type]
        same(at(x), f(x))
        same(at.from_text(str(at))(x), f(x))
    with pytest.raises(BrandedError, match="the text of SHRINK is incomplete"):
        expr.from_text(str(expr).replace("<None>", "<another>"))(x)


def test_equality_compares_trees_and_constants() -> None:
    x = some(2)
    of = make_expr
    assert of(lambda x: {"p": x * 2})(x) != of(lambda x: {"q": x * 2})(x)
    assert of(lambda t: t[0] + t[1])((x, x)) != of(lambda t, u: t + u)(x, x)
    plus = lambda c: of(lambda x: x + Tensor([c, 1.0]))(x)  # noqa: E731
    assert plus(float("nan")) == plus(float("nan"))
    assert plus(0.0) != plus(-0.0)
    one, other = jit(lambda x: x + 1), jit(lambda y: y + 1)
    other.__wrapped__.__name__ = "another"  # type: ignore[attr-defined]
    assert of(lambda x: one(x))(x) == of(lambda x: other(x))(x)


def test_html_of_long_program() -> None:
    """The page repeats a line for each line of the level above."""

    def f(x: Tensor) -> Tensor:
        for _ in range(200):
            x = x + 1
        return x

    html = make_expr(f)(some(2))._repr_html_()
    assert html.count(" add ") == 200
    assert html.count(" ADD ") == 400


def test_tensor_methods_are_restored() -> None:
    before = {name: getattr(Tensor, name) for name in ("sin", "__add__", "zeros")}
    with pytest.raises(ZeroDivisionError):
        make_expr(lambda x: 1 / 0)(some(2))
    assert before == {name: getattr(Tensor, name) for name in before}
    assert (Tensor([1.0]).sin() + 1).shape == (1,)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.summaries = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.summaries += tag == "summary"

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_html() -> None:
    html = expr_of("softmax")._repr_html_()
    tags = _Tags()
    tags.feed(html)
    assert not tags.open
    assert tags.summaries > 3
    assert "softmax b" in html
    assert "EXP2" in html
    assert "<lambda>" not in expr_of("func12")._repr_html_()


# ---- mistakes ----


def test_mistakes() -> None:
    x = some(2)
    expr = make_expr(lambda v: v + 1)(x)
    mistakes = {
        "a read": lambda: make_expr(lambda v: v.item())(some()),
        "a result": lambda: make_expr(lambda v: (v, "text"))(x),
        "a write": lambda: make_expr(lambda v: x.assign(x + 1))(x),
        "another type": lambda: expr(some(3)),
        "other arguments": lambda: expr(x, x),
        "no level": lambda: expr.at("kernels"),  # type: ignore[arg-type]
        "nothing below": lambda: expr.at("batched").links(),
        "no program": lambda: read("{ lambda ; a:f32[2] . let b:f32[2] = add a 1 } in (b,)"),
        "no token": lambda: read("{ lambda ; a:f32[2] ? }"),
        "another program": lambda: expr.from_text("{ lambda ; a:f32[3] . let in (a,) }"),
        "no operation": lambda: expr.from_text("{ lambda ; a:f32[2] . let b:f32[2] = nothing a in (b,) }")(x),
        "a symbolic size": lambda: make_expr(lambda v: v[: Variable("n", 1, 2).bind(1)])(x),
        "another constant": lambda: make_expr(lambda v, how: v, static_argnums=1)(x, "sin")(x, "cos"),
        "too few results": lambda: expr.from_text("{ lambda ; a:f32[2] . let b:f32[2] c:f32[2] = sin a in (b,) }")(x),
        "no dtype": lambda: expr.from_text("{ lambda ; a:f32[2] . let b:f9[2] = CAST[dtype=f9] a in (b,) }")(x),
    }
    said = {}
    for name, f in mistakes.items():
        with pytest.raises(BrandedError) as caught:
            f()
        said[name] = f"{type(caught.value).__name__}\n{caught.value}"
    assert said == MESSAGES


MESSAGES = {
    "a read": """\
ReadError
item: in the body of make_expr there is no value to read: it is traced once, for all calls
  value: f32[]
  try:   use cond, where or while_loop instead of `if` and `while`, or return the value and read it outside""",
    "a result": """\
ProgramTypeError
make_expr: the result[1] is the str 'text'
  try: return tensors, numbers, or trees of them""",
    "a write": """\
WriteError
assign: make_expr traces the function without values, so it cannot write into a tensor from outside
  tensor: f32[2]
  try:    return the new value from the function, and write it outside""",
    "another type": """\
ProgramTypeError
program: argument 1 has another type
  takes: f32[2]
  given: f32[3]
  try:   call make_expr with this argument: a program is for one type""",
    "other arguments": """\
ProgramTypeError
program: the arguments have another structure than its parameters
  takes: f32[2]
  given: f32[2], f32[2]
  try:   pass arguments with the structure of its example arguments""",
    "no level": """\
OptionError
at: 'kernels' is not a level
  try: 'operations', 'primitives', 'batched'""",
    "nothing below": """\
OptionError
links: there is no level below 'batched'""",
    "no program": """\
ProgramError
read: syntax error: '} in (b,)' at line 1, column 46
  wanted: a variable
  try:    pass text that str(expr) printed""",
    "no token": """\
ProgramError
read: syntax error: '? }' at line 1, column 20
  try: pass text that str(expr) printed""",
    "another program": """\
ProgramError
from_text: the invars differ from this program's
  here: f32[2]
  text: f32[3]""",
    "no operation": """\
ProgramError
program: there is no operation 'nothing'
  try: use an operation that make_expr printed""",
    "a symbolic size": """\
ProgramTypeError
make_expr: a value has a symbolic size
  value: f32[n]
  try:   use concrete sizes""",
    "another constant": """\
ProgramTypeError
program: argument 2 is part of the program
  made:  the str 'sin'
  given: the str 'cos'
  try:   call make_expr with this argument""",
    "too few results": """\
ProgramError
program: sin does not take these parameters or operands: zip() argument 2 is shorter than argument 1""",
    "no dtype": """\
ProgramError
program: 'f9' is not a dtype
  try: use f32, i32, bool, …""",
}


def test_types_as_text() -> None:
    assert str(make_expr(lambda v: v)(some(2, 3)).program.invars[0].type) == vec_type(some(2, 3)) == "f32[2, 3]"


def test_replaced_method_is_recorded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The recorded operations of a method are cached between programs."""
    x = Tensor([1.0, 2.0])

    def primitives() -> str:
        return str(make_expr(lambda x: x.square())(x).at("primitives"))

    before = primitives()
    assert primitives() == before and " MUL " in before
    monkeypatch.setattr(Tensor, "square", lambda self: self + 1)
    assert " ADD " in primitives() and " MUL " not in primitives()
    monkeypatch.undo()
    assert primitives() == before


if __name__ == "__main__":
    GOLDEN.write_text("".join(f"== {name}\n{text}\n\n" for name, text in texts().items()))
