"""Host callbacks under all transforms."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor, TinyJit, dtypes, function

from branded import (
    ShapeDtypeStruct,
    cond,
    custom_jvp,
    custom_vjp,
    debug,
    grad,
    io_callback,
    jit,
    make_expr,
    pure_callback,
    scan,
    stop_gradient,
    vmap,
    while_loop,
)
from branded.callbacks.host import Method, ShapeDtype, call_host
from branded.errors import (
    CallbackError,
    CallbackTypeError,
    CallError,
    DerivativeError,
    OptionError,
    ProgramError,
    UnsupportedError,
)
from branded.explain import explain

XS = np.arange(6, dtype=np.float32).reshape(3, 2)
METHODS: list[Method] = ["sequential", "expand_dims", "broadcast_all", "legacy_vectorized"]


class Spy:
    """A host function that records the shapes it is called with."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f = f
        self.shapes: list[tuple[tuple[int, ...], ...]] = []
        self.fails = False

    def __call__(self, *args: Any) -> Any:
        self.shapes.append(tuple(x.shape for x in args))
        if self.fails:
            raise ValueError("no such number\nsecond line")
        return self.f(*args)

    def on(self, *args: Tensor, method: Method | None = "sequential") -> Tensor:
        return call_host("spy", self, [ShapeDtype(args[0].shape, dtypes.float32)], args, vmap_method=method)[0]


def added() -> Spy:
    return Spy(lambda x, y: x + y)


def test_callback_is_lazy_and_runs_once() -> None:
    f = added()
    y = f.on(Tensor([1.0, 2.0]), Tensor([3.0, 4.0]))
    assert not f.shapes
    assert (y + 1).tolist() == [5.0, 7.0]
    assert y.tolist() == [4.0, 6.0]
    assert f.shapes == [((2,), (2,))]


@pytest.mark.parametrize("method", METHODS)
def test_vmap_matches_loop(method: Method) -> None:
    x, y = Tensor(XS), Tensor([10.0, 20.0])
    f = added()
    assert np.array_equal(vmap(lambda x: f.on(x, y, method=method))(x).numpy(), XS + y.numpy())
    assert np.array_equal(vmap(lambda x: f.on(x, x, method=method))(x).numpy(), XS + XS)
    f = Spy(lambda x, y: x - y)
    if method == "legacy_vectorized":  # the function pairs the examples itself
        f = Spy(lambda x, y: x[:, None] - y)
    pairs = vmap(lambda x: vmap(lambda z: f.on(x, z, method=method))(Tensor(XS * 10)))(x)
    assert np.array_equal(pairs.numpy(), XS[:, None] - 10 * XS[None])


def test_shapes_passed_by_each_vmap_method() -> None:
    def shapes(method: Method) -> list[tuple[tuple[int, ...], ...]]:
        f = Spy(lambda x, y, z: np.zeros((3, 4, 2), np.float32) if method != "sequential" else x)
        w = Tensor([1.0, 2.0]).reshape(1, 2)
        ys = Tensor.ones(4, 5).contiguous()
        vmap(lambda x: vmap(lambda y: f.on(x, y, w, method=method))(ys))(Tensor(XS)).realize()
        return f.shapes

    assert shapes("expand_dims") == [((3, 1, 2), (1, 4, 5), (1, 1, 1, 2))]
    assert shapes("broadcast_all") == [((3, 4, 2), (3, 4, 5), (3, 4, 1, 2))]
    assert shapes("legacy_vectorized") == [((3, 2), (4, 5), (1, 2))]
    assert shapes("sequential") == [((2,), (5,), (1, 2))] * 12


def test_vmap_without_method_is_an_error() -> None:
    f = added()
    with pytest.raises(UnsupportedError, match="vmap_method is missing, and the call is batched over `x`"):
        vmap(lambda x: f.on(x, x, method=None))(Tensor(XS))


def test_callback_in_jit_tinyjit_and_function() -> None:
    f = added()
    run = jit(lambda x, y: f.on(x * 2, y + 1) * 3)
    for k in range(3):
        assert run(Tensor([1.0 + k, 2.0]), Tensor([3.0, 4.0])).tolist() == [18.0 + 6 * k, 27.0]
    assert len(f.shapes) == 3
    captured = TinyJit(lambda x: (f.on(x * 2, x) * 3).realize())
    for k in range(4):
        assert captured(Tensor([1.0 + k, 2.0]).realize()).tolist() == [9.0 + 9 * k, 18.0]
    assert function(lambda x: f.on(x, x) + 1)(Tensor([1.0])).tolist() == [3.0]


@pytest.mark.parametrize("outer", [lambda f: f, jit, lambda f: lambda x: f(x), vmap])
def test_callback_in_loops(outer: Callable[..., Any]) -> None:
    f = added()

    def summed(x: Tensor) -> Tensor:
        c, ys = scan(lambda c, x: (f.on(c, x), c * 2), Tensor([0.0, 0.0]), x)
        return ys.sum(0) + c

    def doubled(x: Tensor) -> Tensor:
        return while_loop(lambda c: c.sum() < 50, lambda c: f.on(c, c), x)

    def expected(x: np.ndarray) -> np.ndarray:
        before = np.cumsum(x, axis=0) - x
        return np.asarray(2 * before.sum(axis=0) + x.sum(axis=0))

    def powers(x: np.ndarray) -> np.ndarray:
        while x.sum() < 50:
            x = x + x
        return x

    xs, c = np.stack([XS, XS + 1, XS * 5]), np.array([[1, 2], [3, 4], [20, 40]], np.float32)
    if outer is vmap:
        assert np.array_equal(vmap(summed)(Tensor(xs)).numpy(), np.stack([*map(expected, xs)]))
        assert np.array_equal(vmap(doubled)(Tensor(c)).numpy(), np.stack([*map(powers, c)]))
        return
    for x, y in zip(xs, c, strict=True):
        assert np.array_equal(outer(summed)(Tensor(x)).numpy(), expected(x))
        assert np.array_equal(outer(doubled)(Tensor(y)).numpy(), powers(y))


def test_callback_in_branches() -> None:
    f = added()
    by = vmap(lambda x: cond(x.sum() > 2, lambda: f.on(x, x), lambda: -x))(Tensor(XS))
    assert np.array_equal(by.numpy(), np.where(XS.sum(1, keepdims=True) > 2, 2 * XS, -XS))


def test_results_of_all_dtypes_and_shapes() -> None:
    def several(x: np.ndarray, e: np.ndarray) -> Any:
        assert e.shape == (0, 3)
        return x.sum(), [1, 2], np.zeros((2, 0)), 3, True

    types = [((), dtypes.bfloat16), ((2,), dtypes.int64), ((2, 0), dtypes.float32), ((), dtypes.float16)]
    outs = call_host(
        "several",
        several,
        [*(ShapeDtype(*t) for t in types), ShapeDtype((), dtypes.bool)],
        [Tensor([1.5, 2]).cast("bfloat16"), Tensor.ones(0, 3)],
    )
    assert [y.tolist() for y in outs] == [3.5, [1, 2], [[], []], 3.0, True]
    assert [y.dtype for y in outs] == [*(t for _, t in types), dtypes.bool]
    assert call_host("nothing", lambda: np.float32(3), [ShapeDtype((), dtypes.float32)], [])[0].item() == 3.0
    with pytest.raises(ValueError, match="read-only"):
        try:
            y = call_host("writes", lambda x: x.sort(), [ShapeDtype((2,), dtypes.float32)], [Tensor([2.0, 1.0])])[0]
            y.realize()
        except CallbackError as error:
            raise error.__cause__ or error from None


def test_derivative_needs_custom_jvp() -> None:
    f = Spy(lambda x: np.sin(x))
    with pytest.raises(DerivativeError, match="spy: a host callback has no derivative"):
        grad(lambda x: f.on(x).sum())(Tensor(XS))
    sine = custom_jvp(lambda x: f.on(x))
    sine.defjvp(lambda x, dx: (sine(x[0]), Spy(np.cos).on(x[0]) * dx[0]))
    assert np.allclose(grad(lambda x: sine(x).sum())(Tensor(XS)).numpy(), np.cos(XS), atol=1e-6)
    assert np.allclose(vmap(grad(lambda x: sine(x).sum()))(Tensor(XS)).numpy(), np.cos(XS), atol=1e-6)
    again = jit(lambda xs: scan(lambda c, x: (c, grad(lambda x: sine(x).sum())(x)), 0.0, xs)[1])
    assert np.allclose(again(Tensor(XS)).numpy(), np.cos(XS), atol=1e-6)
    assert grad(lambda x: (f.on(x.detach()) * x).sum())(Tensor([0.0])).tolist() == [0.0]


def test_call_after_callback_error_works() -> None:
    f = Spy(lambda x: x * 2)
    runs: list[Callable[[Tensor], Tensor]] = [
        vmap(f.on),
        jit(vmap(f.on)),
        lambda xs: scan(lambda c, x: (c, f.on(x) + c), 0.0, xs)[1],
        jit(lambda xs: scan(lambda c, x: (c, f.on(x) + c), 0.0, xs)[1]),
        TinyJit(lambda xs: (f.on(xs) + 0).realize()),
    ]
    for run in runs:
        for _ in range(2):
            assert np.array_equal(run(Tensor(XS).realize()).numpy(), 2 * XS)
            f.fails = True
            with pytest.raises(CallbackError, match="spy: the function raised ValueError: no such number") as caught:
                run(Tensor(XS).realize()).realize()
            f.fails = False
            assert isinstance(caught.value.__cause__, ValueError)
        assert np.array_equal(run(Tensor(XS).realize()).numpy(), 2 * XS)


def test_error_names_the_failing_example() -> None:
    def picky(x: np.ndarray) -> np.ndarray:
        if x[0] == 12:
            raise KeyError("twelve")
        return x

    def f(x: Tensor) -> Tensor:
        return call_host("picky", picky, [ShapeDtype((1,), dtypes.float32)], [x], vmap_method="sequential")[0]

    y = vmap(vmap(f))(Tensor.arange(15).float().reshape(5, 3, 1))
    with pytest.raises(CallbackError) as caught:
        y.realize()
    assert str(caught.value) == (
        "picky: `picky` raised KeyError: 'twelve'\n  in: the call for index 4 of `x`, index 0 of `x2`"
    )


def test_donated_buffer_survives_error() -> None:
    f = Spy(lambda x: x * 2)
    step = jit(lambda x: f.on((x + 1).contiguous()) + x, donate_argnums=0)
    x = Tensor(XS).contiguous().realize()
    f.fails = True
    with pytest.raises(CallbackError):
        step(x)
    f.fails = False
    assert np.array_equal(x.numpy(), XS)
    assert np.array_equal(step(x).numpy(), 3 * XS + 2)


def test_callback_may_use_tinygrad() -> None:
    def inner(x: np.ndarray) -> np.ndarray:
        return jit(lambda x: scan(lambda c, y: (c + y, c * y), 0.0, x)[1])(Tensor(x)).numpy()

    def run(xs: Tensor) -> Tensor:
        types = [ShapeDtype((2,), dtypes.float32)]
        return scan(lambda c, x: (c + 1, call_host("inner", inner, types, [x])[0] + c), 0.0, xs)[1]

    expected = [[0, 0], [1, 7], [2, 22]]
    assert run(Tensor(XS)).tolist() == jit(run)(Tensor(XS)).tolist() == expected
    itself = jit(
        lambda x: call_host("itself", lambda a: itself(Tensor(a)).numpy(), [ShapeDtype((2,), x.dtype)], [x])[0]
    )
    for _ in range(2):
        with pytest.raises(CallbackError, match="the callback runs the compiled program that calls it"):
            itself(Tensor([1.0, 2.0]))


# ---- pure_callback ----


def test_pytree_arguments_and_results() -> None:
    def f(d: dict[str, Any], k: int) -> Any:
        return {"b": d["a"].sum() * k, "a": [d["a"] * 2, None]}

    def one(x: Tensor) -> Any:
        like = {"a": [x, None], "b": ShapeDtypeStruct((), "float32")}
        return pure_callback(f, like, {"a": x}, k=3, vmap_method="sequential")

    out = vmap(one)(Tensor(XS))
    assert np.array_equal(out["a"][0].numpy(), 2 * XS)
    assert np.array_equal(out["b"].numpy(), 3 * XS.sum(1))
    assert list(out) == ["a", "b"]
    assert out["a"][1] is None


def test_callback_owns_its_arrays() -> None:
    seen: list[np.ndarray] = []

    def keeps(x: np.ndarray) -> np.ndarray:
        seen.append(x)
        x += 1
        return x

    run = jit(vmap(lambda x: pure_callback(keeps, x, x, vmap_method="sequential")))
    for k in range(2):
        assert np.array_equal(run(Tensor(XS) * k).numpy(), XS * k + 1)
    assert np.array_equal(np.stack(seen), np.concatenate([XS * 0 + 1, XS + 1]))


def test_equal_calls_run_once() -> None:
    calls = []

    def f(x: np.ndarray) -> np.ndarray:
        calls.append(x)
        return x

    x = Tensor(XS)
    (pure_callback(f, x, x) + pure_callback(f, x, x)).realize()
    assert len(calls) == 1


def test_results_read_in_turn_share_one_call() -> None:
    """This also holds behind other operations and for a batch. The call runs again if the other results are gone."""
    types = ShapeDtypeStruct((), dtypes.float32), ShapeDtypeStruct((2,), dtypes.float32)
    f = Spy(lambda x: (x.sum(), x * 2))
    x = Tensor(XS[0]).realize()
    total, twice = pure_callback(f, types, x)
    assert (total + 1).item() == 2 and (twice + 1).tolist() == [1.0, 3.0] and len(f.shapes) == 1
    total, twice = vmap(lambda x: pure_callback(f, types, x, vmap_method="sequential"))(Tensor(XS))
    assert total.tolist() == [1, 5, 9] and twice.tolist() == (XS * 2).tolist() and len(f.shapes) == 1 + 3
    del total, twice
    assert pure_callback(f, types, x)[0].item() == 1 and len(f.shapes) == 1 + 3 + 1


def test_pure_callback_error_messages() -> None:
    x = Tensor(XS)

    def said(f: Callable[[], Any], error: type[Exception]) -> str:
        with pytest.raises(error) as caught:
            f()
        return str(caught.value)

    assert said(lambda: pure_callback(np.sin, 3, x), CallbackTypeError) == (
        "pure_callback: result_shape_dtypes has the int 3, which has no shape and dtype\n"
        '  try: pass ShapeDtypeStruct((2, 3), "float32"), a tensor of the same type, or a pytree of these'
    )
    assert said(lambda: ShapeDtypeStruct((2, -1), "float32"), CallbackTypeError) == (
        "ShapeDtypeStruct: (2, -1) is not a shape\n  try: pass a tuple of ints: (2, 3) or ()"
    )
    assert said(lambda: ShapeDtypeStruct((2,), "floaty"), CallbackTypeError) == (
        "ShapeDtypeStruct: 'floaty' is not a dtype\n  try: pass dtypes.float32 or \"float32\""
    )
    assert said(lambda: pure_callback(np.sin, x, "a"), CallbackTypeError) == (
        "pure_callback: argument 1 is the str 'a', not a tensor\n"
        "  try: pass tensors, arrays and numbers, and close over other values by functools.partial or a lambda"
    )
    assert said(lambda: pure_callback(np.sin, x, x, vmap_method="often"), OptionError) == (
        'pure_callback: vmap_method=\'often\' is not a method\n  try: "sequential", "expand_dims" or "broadcast_all"'
    )
    assert said(lambda: vmap(lambda x: pure_callback(np.sin, x, x))(x), UnsupportedError) == (
        "pure_callback: vmap_method is missing, and the call is batched over `x`\n"
        '  try: vmap_method="sequential" for one call per example, or "expand_dims" for one call on the batch'
    )
    assert said(lambda: pure_callback(3, x, x), CallError).startswith("pure_callback: the int 3 is not a function")  # type: ignore[call-overload]
    assert said(
        lambda: pure_callback(lambda x: {"a": x, "c": x}, {"a": x, "b": x}, x)["a"].realize(), CallbackError
    ) == (
        "pure_callback: the function returned another structure than declared\n"
        "  declared: {'a': a ShapeDtypeStruct, 'b': a ShapeDtypeStruct}\n"
        "  given:    {'a': numpy float32[3, 2], 'c': numpy float32[3, 2]}\n"
        "  try:      return the declared structure, or declare the returned one"
    )
    assert said(lambda: pure_callback(lambda x: x[:2], x, x).realize(), CallbackError) == (
        "pure_callback: result 1 of the function has another type than declared\n"
        "  declared: f32[3, 2]\n"
        "  given:    f32[2, 2]\n"
        "  try:      return an array of the declared type: use .astype() and .reshape()"
    )


def test_callbacks_with_equal_names_are_distinct() -> None:
    def scaled(by: float) -> Callable[[Tensor], Tensor]:
        def f(x: np.ndarray) -> np.ndarray:
            return x * np.float32(by)

        return custom_jvp(lambda x: call_host("f", f, [ShapeDtype(x.shape, x.dtype)], [x])[0])

    x = Tensor([1.0, 2.0]).realize()
    assert [scaled(by)(x).tolist() for by in (2.0, 3.0)] == [[2.0, 4.0], [3.0, 6.0]]


# ---- effects ----


class Log:
    """Records the values it is called with and returns the call's index."""

    def __init__(self) -> None:
        self.seen: list[float] = []
        self.calls = 0

    def note(self, x: Any) -> None:
        debug.callback(lambda x: self.seen.append(float(x)), x)

    def number(self, x: Any) -> Any:
        return io_callback(self._next, ShapeDtypeStruct((), "int32"), x)

    def _next(self, x: np.ndarray) -> int:
        self.seen.append(float(x))
        self.calls += 1
        return self.calls

    def taken(self) -> list[float]:
        found, self.seen = self.seen, []
        return found


ROWS = Tensor(XS)
Programs = dict[str, tuple[Callable[[Log], Any], Tensor, list[float]]]


def noted(log: Log) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        log.note(x)
        return x * 2

    return f


def _custom(log: Log) -> Callable[[Any], Any]:
    f = custom_jvp(noted(log))
    f.defjvp(lambda x, dx: (x[0] * 2, 10 * dx[0]))
    return f


PROGRAMS: Programs = {
    "plain": (noted, Tensor(3.0), [3]),
    "vmap": (lambda log: vmap(noted(log)), Tensor([3.0, 4.0]), [3, 4]),
    "vmap of vmap": (lambda log: vmap(vmap(noted(log))), ROWS, [0, 1, 2, 3, 4, 5]),
    "grad": (lambda log: grad(noted(log)), Tensor(3.0), [3]),
    "vmap of grad": (lambda log: vmap(grad(noted(log))), Tensor([3.0, 4.0]), [3, 4]),
    "scan": (lambda log: lambda x: scan(lambda c, x: (c, noted(log)(x)), 0.0, x)[1], Tensor([3.0, 4.0]), [3, 4]),
    "vmap of scan": (
        lambda log: vmap(lambda x: scan(lambda c, x: (c + x, noted(log)(c)), 0.0, x)[1]),
        ROWS,
        [0, 0, 0, 0, 2, 4],
    ),
    "scan of vmap": (
        lambda log: lambda x: scan(lambda c, x: (c, vmap(noted(log))(x)), 0.0, x)[1],
        ROWS,
        [0, 1, 2, 3, 4, 5],
    ),
    "grad of scan": (
        lambda log: grad(lambda x: scan(lambda c, x: (c + noted(log)(x) ** 2, None), 0.0, x)[0]),
        Tensor([3.0, 4.0]),
        [3, 4],
    ),
    "vmap of while": (
        lambda log: vmap(lambda x: while_loop(lambda c: c < 20, noted(log), x)),
        Tensor([3.0, 9.0, 30.0]),
        [3, 9, 6, 18, 12],
    ),
    "vmap of cond": (
        lambda log: vmap(lambda x: cond(x > 3, lambda: noted(log)(x), lambda: noted(log)(-x))),
        Tensor([3.0, 4.0, 1.0]),
        [4, -3, -1],
    ),
    "cond in scan": (
        lambda log: (
            lambda x: scan(lambda c, x: (c, cond(x > 3, lambda: noted(log)(x), lambda: noted(log)(-x))), 0.0, x)[1]
        ),
        Tensor([3.0, 4.0, 1.0]),
        [-3, 4, -1],
    ),
    "grad of custom rule": (
        lambda log: vmap(grad(_custom(log))),
        Tensor([3.0, 4.0]),
        [3, 4],
    ),
    "grad of cond": (
        lambda log: vmap(grad(lambda x: cond(x > 3, lambda: noted(log)(x) ** 2, lambda: x))),
        Tensor([3.0, 4.0]),
        [4],
    ),
    "custom rule": (
        lambda log: vmap(custom_vjp(noted(log))),
        Tensor([3.0, 4.0]),
        [3, 4],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_debug_runs_once_per_example_and_step(name: str) -> None:
    make, x, expected = PROGRAMS[name]
    log, quiet = Log(), Log()
    value = make(log)(x).numpy()
    assert log.taken() == expected
    quiet.note = lambda x: None  # type: ignore[method-assign]
    assert np.array_equal(value, make(quiet)(x).numpy())
    run = jit(make(log))
    assert not log.taken()
    for _ in range(3):
        assert np.array_equal(run(x).numpy(), value)
        assert log.taken() == expected


def test_io_callback_runs_once_even_if_unused() -> None:
    log = Log()
    io_callback(log._next, ShapeDtypeStruct((), "int32"), 7.0)
    assert log.taken() == [7]
    assert vmap(log.number)(Tensor([3.0, 4.0])).tolist() == [2, 3]
    assert log.taken() == [3, 4]
    unused = jit(lambda x: (log.number(x), x + 1)[1])
    assert [unused(Tensor(1.0)).item(), unused(Tensor(2.0)).item(), log.calls] == [2, 3, 5]
    log.calls = 0
    twice = scan(lambda c, x: (c + log.number(x), log.number(c)), 0, Tensor([1.0, 2.0, 3.0]))
    assert (twice[0].item(), twice[1].tolist(), log.calls) == (1 + 3 + 5, [2, 4, 6], 6)
    log.calls = 0
    both = jit(vmap(lambda x: scan(lambda c, x: (c, log.number(x)), 0, x)[1]))
    assert both(ROWS).tolist() == [[1, 4], [2, 5], [3, 6]]
    assert log.calls == 6


def test_debug_print_output(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Tensor, y: Tensor) -> Tensor:
        debug.print("{} {y:.1f} {kind} {x.shape}", x, y=y, x=x, kind="a")
        return x * y

    jit(vmap(f))(ROWS, Tensor([1.0, 2.0, 3.0]))
    assert capsys.readouterr().out == "[0. 1.] 1.0 a (2,)\n[2. 3.] 2.0 a (2,)\n[4. 5.] 3.0 a (2,)\n"
    captured = TinyJit(lambda x: vmap(lambda x: (debug.print("{}", x), x + 1)[1])(x).realize())
    for k in range(4):
        assert captured(Tensor([k, k + 10]).realize()).tolist() == [k + 1, k + 11]
    assert capsys.readouterr().out == "".join(f"{k}\n{k + 10}\n" for k in range(4))
    assert vmap(lambda x: (debug.print("{}", x), x)[1])(Tensor.zeros(0)).shape == (0,)
    assert not capsys.readouterr().out


def test_effect_of_unknown_count_is_an_error() -> None:
    log = Log()

    def said(f: Callable[[], Any], error: type[Exception]) -> str:
        with pytest.raises(error) as caught:
            f()
        return str(caught.value)

    once = "\n  try: call it outside, or use pure_callback, which may run any number of times"
    unknown = "io_callback: the number of its runs is undefined in "
    x = Tensor([1.0, 2.0])
    assert said(lambda: while_loop(lambda c: log.number(c) < 3, lambda c: c + 1, Tensor(0.0)), UnsupportedError) == (
        f"{unknown}while_loop: the condition{once}"
    )
    assert said(lambda: custom_jvp(lambda x: log.number(x))(Tensor(0.0)), UnsupportedError) == (
        f"{unknown}a function with a custom rule{once}"
    )
    assert said(lambda: function(lambda x: log.number(x))(Tensor(0.0)), UnsupportedError) == (
        f"{unknown}the body of a @function{once}"
    )
    ordered = "io_callback: ordered=True inside vmap over `x`, whose examples have no order"
    for f in (
        lambda x: io_callback(log._next, ShapeDtypeStruct((), "int32"), x, ordered=True),
        lambda x: scan(lambda c, y: (io_callback(log._next, c, c, ordered=True) + y, None), 0.0, x.reshape(1))[0],
    ):
        assert said(lambda f=f: vmap(f)(x), UnsupportedError).startswith(ordered)  # type: ignore[misc]
    as_float = lambda x: io_callback(lambda x: x, x, x)  # noqa: E731
    assert said(lambda: grad(as_float)(Tensor(1.0)), DerivativeError).startswith(
        "io_callback: a host callback has no derivative"
    )
    assert grad(lambda x: x * as_float(stop_gradient(x)))(Tensor(3.0)).item() == 3.0
    total = lambda x: scan(lambda c, x: (c + log.number(stop_gradient(x)) * x, None), 0.0, x)[0]  # noqa: E731
    assert said(lambda: grad(total)(x), UnsupportedError).startswith(
        "scan: a derivative would run the loop again, and its callback must run once"
    )
    assert not log.seen


def test_debug_print_error_messages() -> None:
    def said(*args: Any, **kwargs: Any) -> str:
        with pytest.raises(OptionError) as caught:
            debug.print(*args, **kwargs)
        return str(caught.value)

    assert said("{} {}", 1) == (
        "debug.print: the format '{} {}' has a placeholder without a value\n  reason: tuple index out of range\n"
        '  try:    pass one value per placeholder: debug.print("x = {}", x)'
    )
    assert said("{}", 1, 2, y=3) == (
        "debug.print: the format has no placeholder for argument 2, `y`\n"
        "  try: write {} for each argument, and {name} for each keyword"
    )
    assert said("{", 1).startswith("debug.print: the format '{' is not a valid format string")
    assert said(3) == ('debug.print: the format is the int 3, not a string\n  try: debug.print("x = {}", x)')


def test_call_after_error_in_effect_works() -> None:
    log, fails = Log(), [False]

    def f(x: Tensor) -> Tensor:
        debug.callback(lambda x: 1 / (not fails[0]), x)
        log.note(x)
        return x * 2

    def run(xs: Tensor) -> Tensor:
        return scan(lambda c, x: (c, f(x)), 0.0, xs)[1]

    for one in (vmap(f), jit(vmap(f)), run, jit(run)):
        for _ in range(2):
            fails[0] = True
            with pytest.raises(CallbackError, match="the function raised ZeroDivisionError"):
                one(Tensor([1.0, 2.0]))
            fails[0] = False
            assert not log.taken()
            assert one(Tensor([1.0, 2.0])).tolist() == [2, 4]
            assert log.taken() == [1, 2]


def test_guarded_callback_sees_only_its_examples() -> None:
    def root(x: np.ndarray) -> np.ndarray:
        assert x >= 0
        return np.sqrt(x)

    def f(x: Tensor) -> Tensor:
        host_root = lambda: pure_callback(root, x, x, vmap_method="sequential")  # noqa: E731
        return cond(x >= 0, host_root, lambda: x)

    xs = Tensor([4.0, -4.0, 9.0])
    assert vmap(f)(xs).tolist() == jit(vmap(f))(xs).tolist() == [2, -4, 3]
    assert scan(lambda c, x: (c, f(x)), 0.0, xs)[1].tolist() == [2, -4, 3]


def test_effects_in_threads() -> None:
    log = Log()
    run = jit(vmap(lambda x: (log.note(x), x * 2)[1]))
    found: dict[int, list[float]] = {}

    def work(k: int) -> None:
        for _ in range(5):
            found[k] = run(Tensor([k, k + 0.5])).tolist()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == {k: [2 * k, 2 * k + 1] for k in range(4)}
    seen = log.taken()
    assert sorted(seen) == sorted([k + h for k in range(4) for h in (0, 0.5)] * 5)
    assert all(b == a + 0.5 for a, b in zip(seen[::2], seen[1::2], strict=True))


# ---- make_expr ----


def test_expr_shows_callback_as_one_line() -> None:
    def f(xs: Tensor) -> Tensor:
        def one(x: Tensor) -> Tensor:
            y = pure_callback(
                lambda x: (x * 2, x.sum()), (x, ShapeDtypeStruct((), "float32")), x, vmap_method="sequential"
            )
            return y[0] + y[1]

        return vmap(one)(xs)

    program = make_expr(f)(ROWS)
    assert "c:Vec[x:3, f32[2]] d:Vec[x:3, f32[]] = HOST[function=<pure_callback>] b" in str(program)
    more = Tensor(XS + 1)
    for level in ("operations", "primitives", "batched"):
        assert np.array_equal(program.at(level)(more).numpy(), f(more).numpy())  # type: ignore[arg-type]
    assert np.array_equal(program.from_text(str(program))(more).numpy(), f(more).numpy())
    with pytest.raises(ProgramError, match="the text of HOST does not contain its function"):
        program.from_text(str(program).replace("<pure_callback>", "<another>"))(ROWS)
    assert "HOST[function=<pure_callback>]" in str(explain(f, ROWS, full=True))


def test_edited_text_with_two_callbacks_fails() -> None:
    def one_and_ten(x: Tensor) -> tuple[Tensor, Tensor]:
        return pure_callback(lambda a: a + 1, x, x), pure_callback(lambda a: a * 10, x, x)

    x = Tensor([2.0, 3.0])
    program = make_expr(one_and_ten)(x).at("primitives")
    one, ten = program.from_text(str(program))(x)
    assert one.tolist() == [3.0, 4.0] and ten.tolist() == [20.0, 30.0]
    *lines, results = str(program).splitlines()
    first, second = results.strip("in ()}").split(", ")
    with pytest.raises(ProgramError, match="the text of HOST does not contain its function"):
        program.from_text("\n".join([*lines, f"in ({second}, {first}) }}"]))(x)


EFFECTS: dict[str, Callable[[Callable[[Tensor], Tensor], Tensor], Tensor]] = {
    "alone": lambda f, x: f(x),
    "twice": lambda f, x: f(f(x)),
    "mapped": lambda f, x: vmap(lambda x: f(x.reshape(1)).sum())(x),
    "in a loop": lambda f, x: scan(lambda c, y: (f((c + y).reshape(1)).sum(), c), x[0], x)[0],
    "compiled": lambda f, x: jit(f)(x),
    "in a branch": lambda f, x: cond(x[0] > 0, f, lambda x: x, x),
    "differentiated": lambda f, x: grad(lambda x: f(x).sum())(x),
}


@pytest.mark.parametrize("name", EFFECTS)
def test_expr_runs_effects_like_the_function(name: str) -> None:
    """The effect runs once at each level, from the parsed text and under jit, and never while tracing."""
    seen: list[float] = []

    def noted(x: Tensor) -> Tensor:
        debug.callback(lambda x: seen.append(float(x)), x.sum())
        return x * 2

    def f(x: Tensor) -> Tensor:
        return EFFECTS[name](noted, x)

    x = Tensor([1.0, 2.0])
    out, wanted = f(x).tolist(), seen[:]
    assert wanted
    seen.clear()
    program = make_expr(f)(x)
    for level in ("operations", "primitives", "batched"):
        e = program.at(level)  # type: ignore[arg-type]
        assert "HOST[function=<debug.callback>]" in str(e) and not seen
        for run in (e, e.from_text(str(e)), jit(e)):
            assert run(x).tolist() == out and seen == wanted, level
            seen.clear()


def test_grad_of_expr_with_effect() -> None:
    seen: list[float] = []

    def f(x: Tensor) -> Tensor:
        debug.callback(lambda x: seen.append(float(x)), x.sum())
        return x * 2

    program = make_expr(f)(Tensor([1.0, 2.0]))
    assert grad(lambda x: (program(x) * x).sum())(Tensor([3.0, 4.0])).tolist() == [12.0, 16.0] and seen == [7.0]


def test_text_of_sort_runs() -> None:
    program = make_expr(lambda x: (x.sort()[0], x.sort(descending=True)[0]))(Tensor([1.0, 2.0])).at("primitives")
    up, down = program.from_text(str(program))(Tensor([3.0, 4.0]))
    assert up.tolist() == [3.0, 4.0] and down.tolist() == [4.0, 3.0]


def test_make_expr_does_not_run_effects() -> None:
    log = Log()
    make_expr(lambda x: vmap(noted(log))(x))(Tensor([1.0, 2.0]))
    assert not log.seen
