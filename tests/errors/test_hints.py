"""Test that each `try:` line works: put into the program instead of the mistake, it computes the expected result."""

from __future__ import annotations

import functools
import linecache
import math
import re
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor, nn

import branded
from branded import BrandedError, debug, fori_loop, vmap, while_loop
from tests.support.examples import of_ones

pytestmark = pytest.mark.by_numpy

X = Tensor(np.arange(-6, 6, dtype=np.float32).reshape(3, 4)).realize()
V = Tensor(np.array([-1.0, 0.5, 2.0], np.float32)).realize()
N = Tensor([1, 2, 0]).realize()
M = Tensor(np.arange(36, dtype=np.float32).reshape(6, 6)).realize()
NAMES = {
    "X": X,
    "V": V,
    "N": N,
    "U": Tensor(np.ones(5, np.float32)).realize(),
    "W": Tensor(np.ones((3, 4), np.float32)).realize(),
    "ROWS": [1.0, 2.0, 3.0],
    "IMAGES": Tensor(np.ones((2, 1, 5, 5), np.float32)).realize(),
    "KERNEL": Tensor(np.ones((2, 1, 3, 3), np.float32)).realize(),
    "CONV": of_ones(nn.Conv2d(1, 2, 3)),
    **{f.__name__: f for f in (vmap, fori_loop, while_loop)},
    "math": math,
    "debug": debug,
    **{name: getattr(branded, name) for name in ("index_update", "index_add", "index_mul", "index_max")},
    "Tensor": Tensor,
    "np": np,
}


@pytest.fixture(autouse=True)
def forget_lines_of_app(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the lines of `app.py` that a test adds to `linecache`."""
    monkeypatch.setitem(linecache.cache, "app.py", (0, None, [], "app.py"))


def run(expression: str) -> Any:
    """Evaluate an expression as a line of `app.py`, so that messages can quote it."""
    linecache.cache["app.py"] = (len(expression), None, [expression + "\n"], "app.py")
    return eval(compile(expression, "app.py", "eval"), dict(NAMES))


def hint(expression: str) -> str:
    """Return the `try:` line of the message that an expression raises."""
    with pytest.raises(BrandedError) as info:
        run(expression)
    return str(info.value).rpartition("try:")[2].strip()


def with_numpy(expression: str) -> Any:
    """Evaluate the same expression with numpy arrays, which have truth values."""
    return eval(expression, {k: v.numpy() if isinstance(v, Tensor) else v for k, v in NAMES.items()})


READS = {
    "x if x.sum() > 0 else -x": "X",
    "x if x > 0 and x < 1 else -x": "V",
    "x if x else x + 1": "V",
    "1.0 if not x > 0 else 2.0": "V",
    "1.0 if x in (0.5, 2.0) else 3.0": "V",
    "x > 0 and x < 1": "V",
    "x < 0 or x > 1 or x == 0.5": "V",
    "not x > 0": "V",
    "x and 2": "V",
    "x or 2.0": "V",
    "not x": "V",
    "x and x > 1": "V",
    "x > 1 and x": "V",
    "x > 1 or x": "V",
    "1.0 if x and x < 1 else 2.0": "V",
    "1.0 if not (x or x - 1) else 2.0": "V",
    "0 < x < 1": "V",
    "bool(x > 1)": "V",
    "max(x, 0)": "V",
    "max(0.0, x)": "V",
    "min(x, 0, x * 2)": "V",
    "max(x)": "X",
    "sorted(x)": "X",
    "any(x > 4)": "X",
    "all(x > 1)": "X",
    "any([x > 1, x < 0])": "V",
    "all(x > i for i in range(2))": "V",
    "max([x, 0.25])": "V",
    "sorted([x, 0.25])": "V",
    "3 in x": "X",
    "x in [0.5, 2.0]": "V",
    "x not in (0.5, 2.0)": "V",
    "int(x)": "V",
    "float(x)": "V",
    "math.exp(x)": "V",
    "math.fabs(x)": "V",
    "math.pow(x + 3, 2)": "V",
    "X[int(x)]": "N",
    "ROWS[x]": "N",
    "[1.0, 2.0, 3.0][int(x)]": "N",
    "np.array([1.0, 2.0, 3.0])[x]": "N",
}
"""Functions that read a batched value, each with its argument; numpy computes the expected result per example."""


@pytest.mark.parametrize("body", READS)
def test_hints_for_reads(body: str) -> None:
    of = READS[body]
    followed = hint(f"vmap(lambda x: {body})({of})")
    got = run(f"vmap(lambda x: {followed})({of})")
    np.testing.assert_allclose(got.numpy(), [with_numpy(f"(lambda x: {body})({of}[{i}])") for i in range(3)], rtol=1e-5)


METHODS = {
    "math.trunc(x)": np.trunc,
    "round(x)": np.round,
    "Tensor([x, 1.0])": lambda x: [x, 1.0],
}
"""Expressions that plain tinygrad does not support, with the expected result."""


@pytest.mark.parametrize("body", METHODS)
def test_hints_for_python_functions(body: str) -> None:
    got = run(f"vmap(lambda x: {hint(f'vmap(lambda x: {body})(V)')})(V)")
    np.testing.assert_allclose(got.numpy(), [METHODS[body](v) for v in V.numpy()])


OF_NUMPY = {
    'x.astype("int32")': "x.astype('int32')",
    "(x + 1).ravel()": "(x + 1).ravel()",
    "x.copy() + 1": "x.copy() + 1",
    "x.reshape(2, 2).swapaxes(0, 1)": "x.reshape(2, 2).swapaxes(0, 1)",
    "x.sum(0, keepdims=True)": "x.sum(0, keepdims=True)",
    "x.max(axis=0, keepdims=True)": "x.max(axis=0, keepdims=True)",
    "x.mean(keepdims=True)": "x.mean(keepdims=True)",
    "x.sum(dim=0)": "x.sum(axis=0)",
    "x.var(ddof=0)": "x.var(ddof=0)",
    "x.unsqueeze(axis=0)": "x[None]",
}
"""Methods and parameters of numpy or torch with another name in tinygrad, each with numpy's expression."""


@pytest.mark.parametrize("body", OF_NUMPY)
def test_hints_for_names_of_numpy_and_torch(body: str) -> None:
    followed = hint(f"vmap(lambda x: {body})(X)")
    got = run(f"vmap(lambda x: {body.replace('x.copy()', followed) if 'copy' in body else followed})(X)")
    np.testing.assert_allclose(got.numpy(), [with_numpy(f"(lambda x: {OF_NUMPY[body]})(X[{i}])") for i in range(3)])


UPDATES = {
    "x.at[0].set(9.0)": ("index_update(x, 0, 9.0)", lambda x: x.__setitem__(0, 9)),
    "x.at[i].add(x.sum())": ("index_add(x, i, x.sum())", lambda x: x.__setitem__(1, x[1] + x.sum())),
    "x.at[2].multiply(2.0)": ("index_mul(x, 2, 2.0)", lambda x: x.__setitem__(2, x[2] * 2)),
    "x.at[i,].max(0.0)": ("index_max(x, (i,), 0.0)", lambda x: x.__setitem__(1, max(x[1], 0))),
}
"""Updates as in JAX, each with the whole hint, and the update of an array at `i = 1`."""


@pytest.mark.parametrize("body", UPDATES)
def test_hints_for_updates_of_jax(body: str) -> None:
    followed = hint(f"vmap(lambda x, i: {body})(X, N)")
    assert followed == UPDATES[body][0]
    wanted = X.numpy().copy()
    for x in wanted:
        UPDATES[body][1](x)
    np.testing.assert_allclose(run(f"vmap(lambda x, i: {followed})(X, N * 0 + 1)").numpy(), wanted)
    assert hint("vmap(lambda x: x.at[1:3].set(9.0))(X)") == "index_update(x, i, value)"


@pytest.mark.enabled("cpu")
def test_builtin_abs() -> None:
    assert run("vmap(lambda x: abs(x - 1))(V)").tolist() == [2.0, 0.5, 1.0] and run("abs(V)").tolist() == [
        1.0,
        0.5,
        2.0,
    ]


def test_hint_for_formatting(capsys: pytest.CaptureFixture[str]) -> None:
    for body in ('f"{x:.2f}"', '"%.2f" % x', '"%d" % x'):
        followed = hint(f"vmap(lambda x: {body})(V)").replace("{x}", "{x:.2f}")
        run(f"vmap(lambda x: ({followed}, x)[1])(V)").realize()
        assert capsys.readouterr().out.split() == ["-1.00", "0.50", "2.00"]


def test_hint_for_range() -> None:
    followed = hint("vmap(lambda n: [0 for _ in range(n)])(N)")
    assert followed == "fori_loop(0, n, body, start)"
    followed = followed.replace("body", "lambda i, c: c + 2").replace("start", "1")
    assert run(f"vmap(lambda n: {followed})(N)").tolist() == [3, 5, 1]


def test_hint_for_while_statement() -> None:
    source = "def f(x):\n    while x.sum() < 100:\n        x = x * 2\n    return x\n"
    linecache.cache["app.py"] = (len(source), None, source.splitlines(keepends=True), "app.py")
    names = dict(NAMES)
    exec(compile(source, "app.py", "exec"), names)
    with pytest.raises(branded.errors.ReadError) as info:
        vmap(names["f"])(X + 7)
    followed = str(info.value).rpartition("try:")[2].strip()
    assert followed == "while_loop(lambda x: x.sum() < 100, body, x)"
    got = run(f"vmap(lambda x: {followed.replace('body', 'lambda x: x * 2')})(X + 7)")
    np.testing.assert_array_equal(got.numpy(), [names["f"](x) for x in X.numpy() + 7])


def test_hint_for_boolean_index() -> None:
    chosen, selected = hint("vmap(lambda x: x[x > 1])(X)").split(", or ")
    np.testing.assert_array_equal(run(f"vmap(lambda x: {chosen})(X)").numpy(), np.where(X.numpy() > 1, X.numpy(), 0))
    text = "def f(x, i):\n y = x.clone()\n y[0] = x[x > 1]\n"
    linecache.cache["app.py"] = (len(text), None, text.splitlines(keepends=True), "app.py")
    exec(compile(text, "app.py", "exec"), names := dict(NAMES))
    with pytest.raises(branded.errors.ShapeError, match=re.escape("try:   (x > 1).where(x, 0), or x.masked_select")):
        vmap(names["f"])(X, N)
    selected = selected.partition(" with")[0].replace("size=n", "size=4")
    assert run(f"vmap(lambda x: {selected})(X)").tolist() == [[0.0] * 4, [0.0] * 4, [2.0, 3.0, 4.0, 5.0]]


WRITES = {
    "y[x > 1] = 0.0": lambda y: np.where(y > 1, 0, y),
    "y[x > 1] = x * 2": lambda y: np.where(y > 1, y * 2, y),
    "y[x > 1] += 1": lambda y: np.where(y > 1, y + 1, y),
    "y = x.reshape(2, 2); y[y.sum(1) > 1] = 5.0": lambda y: np.where(
        y.reshape(2, 2).sum(1)[:, None] > 1, 5, y.reshape(2, 2)
    ),
    "y[i : i + 2] = 7.0": lambda y: y,
    "y = x[i : i + 2]": lambda y: y,
    "y = x.reshape(2, 2)[:, i:i+1]": lambda y: y,
    "y = x[N[0] : N[0] + 2]": lambda y: y[1:3],
}


@pytest.mark.parametrize("line", WRITES)
def test_hints_for_masked_writes_and_slices(line: str) -> None:
    def mapped(body: str) -> Tensor:
        text = f"def f(x, i):\n y = x.clone()\n {body}\n return y\n"
        linecache.cache["app.py"] = (len(text), None, text.splitlines(keepends=True), "app.py")
        names = dict(NAMES)
        exec(compile(text, "app.py", "exec"), names)
        return vmap(names["f"])(X, N[:1].cat(Tensor([0, 1])))

    with pytest.raises(branded.errors.ShapeError) as info:
        mapped(line)
    followed = str(info.value).rpartition("try:")[2].strip()
    index = re.search(r"\w+(\.reshape\(2, 2\))?\[.*:.*\]", line)
    *before, last = line.split("; ")
    whole = "; ".join([*before, followed if index is None else last.replace(index[0], followed)])

    def with_numpy(x: np.ndarray, i: int) -> np.ndarray:
        names = {"x": x, "i": i, "y": x.copy(), "N": N.numpy()}
        if index is None:
            return WRITES[line](x)
        exec(line, names)
        return names["y"]

    wanted = [with_numpy(x, i) for x, i in zip(X.numpy(), (1, 0, 1), strict=True)]
    np.testing.assert_array_equal(mapped(whole).numpy(), wanted)


SLICES = {
    "m[int(i):int(i) + 3]": "m[i + Tensor.arange(3)]",
    "m[int(i)]": "m[i]",
    "m[int(i), 1]": "m[i, 1]",
    "m[:, int(i):2 + int(i)]": "m[:, i + Tensor.arange(2)]",
    "m[int(i) - 1:int(i) + size]": "m[i - 1 + Tensor.arange(size + 1)]",
    "m[int(i):int(i) + size, 2]": "m[i + Tensor.arange(size), 2]",
    "m[i - 1:i + 1, i]": "m[i - 1 + Tensor.arange(2), i]",
    "m[i:i + 3, j:j + 2]": "dynamic_slice(m, (i, j), (3, 2))",
    "m[int(i):int(i) + 3, int(j):int(j) + size]": "dynamic_slice(m, (i, j), (3, size))",
    "t[i:i + 1, :, j:j + 2]": "dynamic_slice(t, (i, 0, j), (1, 4, 2))",
    "t[i:i + 1, j:j + 2]": "dynamic_slice(t, (i, j, 0), (1, 2, 3))",
    "t[1, i:i + 2, j:j + 2]": "t[1, (i + Tensor.arange(2))[:, None], j + Tensor.arange(2)]",
    "[5.0, 6.0, 7.0][int(i)]": "Tensor([5.0, 6.0, 7.0])[i]",
    "ROWS[int(i) - 1:int(i) + 1]": "Tensor(ROWS)[i - 1 + Tensor.arange(2)]",
    "x[:i]": "(Tensor.arange(4) < i).where(x, 0)",
    "x[i:]": "(Tensor.arange(4) >= i).where(x, 0)",
    "m[i:]": "x[start + Tensor.arange(n)] for n entries, or a mask and where",
    "m[i:j]": "x[start + Tensor.arange(n)] for n entries, or a mask and where",
    "m[int(i):int(j)]": "x[start + Tensor.arange(n)] for n entries, or a mask and where",
    "m[i:i + 4:2]": "x[start + Tensor.arange(n)] for n entries, or a mask and where",
    "y[i:i + 2, j:j + 3] = 7.0": "y[(i + Tensor.arange(2))[:, None], j + Tensor.arange(3)]",
    "y[int(i):int(i) + 2] += 1.0": "y[i + Tensor.arange(2)]",
    "y[int(i):int(i) + 2, int(j)] = x[:2]": "y[i + Tensor.arange(2), j]",
}
"""Indices that depend on the example, each with the whole hint."""


@pytest.mark.parametrize("line", SLICES)
def test_hints_for_slices(line: str) -> None:
    def mapped(body: str) -> Tensor:
        last = f"{body}; return y" if " = " in body or " += " in body else f"return {body}"
        text = f"def f(x, i, j):\n size, m, t, y = 2, M, M.reshape(3, 4, 3), M.clone()\n {last}\n"
        linecache.cache["app.py"] = (len(text), None, text.splitlines(keepends=True), "app.py")
        names = {**NAMES, "M": M, "dynamic_slice": branded.dynamic_slice}
        exec(compile(text, "app.py", "exec"), names)
        return vmap(names["f"])(X, Tensor([1, 1, 2]), Tensor([1, 0, 1]))

    with pytest.raises(BrandedError) as info:
        mapped(line)
    followed = str(info.value).rpartition("try:")[2].strip()
    assert followed == SLICES[line]
    if " for n entries" in followed:
        return
    index = line.partition(" = ")[0].partition(" += ")[0]
    got = mapped(line.replace(index, followed)).numpy()
    for k, (i, j) in enumerate(((1, 1), (1, 0), (2, 1))):
        m = M.numpy()
        names = {
            "x": X.numpy()[k],
            "i": i,
            "j": j,
            "size": 2,
            "m": m,
            "t": m.reshape(3, 4, 3),
            "y": m.copy(),
            "ROWS": NAMES["ROWS"],
        }
        if index != line:
            exec(line, names)
            np.testing.assert_array_equal(got[k], names["y"])
        elif "where" in followed:
            np.testing.assert_array_equal(got[k][got[k] != 0], [v for v in eval(line, names) if v != 0])
        else:
            np.testing.assert_array_equal(got[k], eval(line, names))


def test_hint_is_never_the_code_that_failed() -> None:
    """A suggestion that is the running code, or what contains it, is replaced by a general one, or left out."""
    for body in ("abs(int(x[0]))", "X[2][int(x[0]):X.shape[0]]", "[x, x][int(x[0]):]"):
        assert hint(f"vmap(lambda x: {body})(X)") not in body
    line = "y = f(('a', 'b'))\n"
    linecache.cache["app.py"] = (len(line), None, [line], "app.py")
    for fix, is_shown in (
        ("f( ('a','b') )", False),
        ("y = f(('a', 'b'))", False),
        ("f(('a', 'c'))", True),
        ("f(('a'", True),
    ):
        names: dict[str, Any] = {"f": functools.partial(BrandedError, "it failed", fix=fix)}
        exec(compile(line, "app.py", "exec"), names)
        assert ("try:" in str(names["y"])) == is_shown


FITTING = {
    "x + U": "X",
    "x + np.ones(5)": "X",
    "np.ones(5) + x": "X",
    "x.maximum(np.ones(5))": "X",
    "U - x": "X",
    "x < U": "X",
    "x.maximum(U)": "X",
    "x @ W": "X",
    "W.T @ x": "X",
    "x.dot(W)": "X",
    "x[0, 1]": "X",
    "x[:, 1]": "X",
    "x.conv2d(KERNEL)": "IMAGES",
    "CONV(x)": "IMAGES",
}


@pytest.mark.parametrize("body", FITTING)
def test_hints_for_shapes(body: str) -> None:
    followed = re.split(r" for | with |: |, ?(?:or|if) ", hint(f"vmap(lambda x: {body})({FITTING[body]})"))[0]
    assert run(f"vmap(lambda x: {followed})({FITTING[body]})").numpy().size > 0


def test_hint_for_unmapped_operand() -> None:
    """The hint quotes the operand as the user wrote it, in any position."""
    for body in ("x + V", "V + x", "x + np.ones(3)", "(x > 0).where(x, V)", "(x > 0).where(V, y=x)", "x.lerp(V, 0.5)"):
        given, said = re.fullmatch(
            r"pass `(.*)` as an argument of vmap: (.*)", hint(f"vmap(lambda x: {body})(X)")
        ).groups()  # type: ignore[union-attr]
        assert said == "it has one entry for each of the 3 examples"
        assert run(f"vmap(lambda x, v: {body.replace(given, 'v')})(X, {given})").shape == (3, 4)


def test_hints_for_reshape_and_axis() -> None:
    for body in ("x.reshape(3, 2, 2)", "x.reshape(3, 4)", "x.reshape(2, 3)", "x.reshape(5)", "x.view(2, 3)"):
        followed = hint(f"vmap(lambda x: {body})(X)").partition(":")[0]
        assert run(f"vmap(lambda x: x.{followed})(X)").numpy().size == 12
    for body in ("x.sum(1)", "x.softmax(1)", "x.cumsum(1)", "x.flip(1)"):
        axis = re.match(r"axis (\d):", hint(f"vmap(lambda x: {body})(X)"))
        assert axis is not None
        assert run(f"vmap(lambda x: {body.replace('1', axis[1])})(X)").numpy().size > 0


@pytest.mark.parametrize(
    ("f", "args"),
    [
        ("lambda w, x: w @ x", "W[:2], X"),
        ("lambda x, w: w @ x", "X, W[:2]"),
        ("lambda w, b, x: w @ x + b", "W[:2], U[:2], X"),
    ],
)
def test_hint_for_shared_arguments(f: str, args: str) -> None:
    """The hint names two values of `in_axes`; one of them gives the expected shape."""
    readings = re.findall(r"in_axes=\(.*?\)", hint(f"vmap({f})({args})"))
    assert len(readings) == 2
    ran = []
    for axes in readings:
        try:
            ran.append(run(f"vmap({f}, {axes})({args})").shape)
        except branded.errors.ShapeError:  # the other `in_axes`
            continue
    assert (3, 2) in ran


def test_hint_for_list_of_examples() -> None:
    for given in ("[1.0, 2.0]", "[[1.0, 2.0], [3.0, 4.0]]"):
        followed = hint(f"vmap(lambda x: x * 2)({given})").partition(", ")[2]
        assert run(f"vmap(lambda x: x * 2)({followed})").tolist() == (np.array(eval(given)) * 2).tolist()
    assert hint("vmap(lambda x: x * 2)([Tensor(1.0), Tensor(2.0)])").endswith("one tensor, Tensor.stack(*xs)")
    assert run("vmap(lambda x: x * 2)(Tensor.stack(*[Tensor(1.0), Tensor(2.0)]))").tolist() == [2.0, 4.0]


def test_hint_for_number_and_batch() -> None:
    followed = hint("vmap(lambda x, y: x * y)(X, 3.0)")
    assert run(f"vmap(lambda x, y: x * y, {followed})(X, 3.0)").tolist() == (X * 3).tolist()
    assert hint("vmap(lambda x: x)(3.0)") == "pass a tensor with an axis of examples"


def test_general_hint_without_source() -> None:
    linecache.cache.pop("nowhere.py", None)
    f = eval(compile("lambda x: x if x.sum() > 0 else -x", "nowhere.py", "eval"))
    with pytest.raises(
        branded.errors.ReadError, match=r"try:   condition\.where\(a, b\) instead of `if condition`(\n|$)"
    ):
        vmap(f)(X)
