"""`jit` traces a function once per argument type and returns the function's results."""

from __future__ import annotations

import copy
import enum
import gc
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Context, Tensor, TinyJit, dtypes, nn
from tinygrad.dtype import DType, strong_dtype

from branded import grad, jit, register_pytree_node, scan, segment_sum, vmap
from branded.callbacks import running_sums
from branded.compile.linear_program import without_copies
from branded.core.validation.arguments import ChosenArguments
from branded.errors import BrandedError, OptionError


def test_traced_once_per_type() -> None:
    traces = []

    @jit
    def f(x: Any, d: Any, k: Any = 1.0) -> Any:
        traces.append(x.shape)
        return {"table": x * d["w"] + k, "rest": (x.sum(), x)}

    w = Tensor([[1.0, 2.0], [3.0, 4.0]])
    outs = [f(Tensor([float(i), 1.0]), {"w": w}, k=i) for i in range(5)]
    for i, out in enumerate(outs):  # check every result, because a replay must not overwrite results of earlier calls
        x = np.array([i, 1.0])
        np.testing.assert_allclose(out["table"].numpy(), x * w.numpy() + i)
        assert out["rest"][0].item() == i + 1
        np.testing.assert_allclose(out["rest"][1].numpy(), x)
    assert traces == [(2,)]
    f(Tensor([1.0]), {"w": w})
    assert traces == [(2,), (1,)]


def test_new_shape_or_dtype_makes_new_program() -> None:
    f = jit(lambda x: (x * 2).sum())
    xs = [np.ones(3, np.float32), np.ones(4, np.float32), np.ones(4, np.int32), np.ones((2, 2), np.float32)]
    for x in (*xs, *xs):
        out = f(x)
        assert (out.item(), out.dtype) == (2 * x.size, Tensor(x).dtype)
    assert f.traces == len(xs)


def test_same_argument_twice_and_views() -> None:
    f = jit(lambda x, y: x * 10 + y)
    whole = Tensor([[1.0, 2.0], [3.0, 4.0]])
    for _ in range(4):
        assert f(whole[0], whole[0]).tolist() == [11.0, 22.0]
        assert f(whole[1], whole[0]).tolist() == [31.0, 42.0]


def test_static_arguments() -> None:
    f = jit(lambda x, n, how: x * n if how == "scaled" else x, static_argnums=1)
    x = Tensor([1.0, 2.0])
    for n in (1, 3, 1, 3):
        assert f(x, n, "scaled").tolist() == [n, 2.0 * n]
        assert f(x, n, "left").tolist() == [1.0, 2.0]


def test_static_names() -> None:
    """As in JAX: if only names or only positions are given, they hold for both forms of an argument."""
    repeated = lambda x, n, *, m=1: x * sum(range(n * m))  # noqa: E731
    x = Tensor([1.0, 2.0])
    options: list[dict[str, Any]] = [
        {"static_argnames": ("n", "m")},
        {"static_argnames": iter(["m", "n"])},
        {"static_argnums": [1], "static_argnames": ["n", "m"]},
    ]
    for named in options:
        f = jit(repeated, **named)
        for _ in range(2):
            assert f(x, 3).tolist() == [3.0, 6.0] and f(x, n=4, m=1).tolist() == [6.0, 12.0]
            assert f(x, 3, m=2).tolist() == [15.0, 30.0]
        assert f.traces == 3
    both = jit(repeated, static_argnums=1, static_argnames="m")  # `n` is static by position alone
    assert both(x, 3, m=2).tolist() == [15.0, 30.0]
    with pytest.raises(BrandedError):
        both(x, n=3)
    assert jit(repeated, static_argnums=None, static_argnames="n")(x, 3).tolist() == [3.0, 6.0]
    assert jit(lambda x, **k: x * range(k["n"])[-1], static_argnames="n")(x, n=4).tolist() == [3.0, 6.0]
    assert vmap(jit(repeated, static_argnames="n"), in_axes=(0, None))(x, 3).tolist() == [3.0, 6.0]


@pytest.mark.parametrize(
    ("f", "args", "kwargs"),
    [
        (lambda n: Tensor.zeros(n), (3,), {}),
        (lambda n: Tensor.arange(n) * 1, (3,), {}),
        (lambda x, n: x.reshape(n, -1), (Tensor([1.0, 2.0]), 2), {}),
        (lambda x, n: x[: n - 1], (Tensor([1.0, 2.0]), 2), {}),
        (lambda x, *, n: x if n else -x, (Tensor([1.0, 2.0]),), {"n": True}),
        (lambda x, *n: x.sum(n[0]), (Tensor([[1.0, 2.0]]), 1), {}),
    ],
)
def test_error_names_the_option_for_a_number(f: Any, args: Any, kwargs: Any) -> None:
    with pytest.raises(BrandedError) as info:
        jit(f)(*args, **kwargs)
    option, value = str(info.value).partition("try:")[2].split()[1].split("=")
    assert jit(f, **{option: eval(value)})(*args, **kwargs).tolist() == f(*args, **kwargs).tolist()


def test_error_for_a_number_and_a_tensor_names_no_option() -> None:
    with pytest.raises(BrandedError) as info:
        jit(lambda x, n: x if x.sum() > n else -x)(Tensor([1.0]), 3)
    assert "static" not in str(info.value) and "use cond" in str(info.value)


def test_equal_names_of_other_types() -> None:
    """An enum of strings is equal to its string; each dict keeps its own names."""
    key = enum.Enum("key", {"A": "a", "B": "b"}, type=str)
    f = jit(lambda d: {k: x * 2 for k, x in d.items()})
    for a, b in [("a", "b"), (key.A, key.B), ("a", key.B), ("b", "a"), (key.B, key.A)]:
        out = f({a: Tensor(1.0), b: Tensor(2.0)})
        assert [(type(k), k, x.item()) for k, x in out.items()] == [(type(a), a, 2.0), (type(b), b, 4.0)]


def test_static_values_of_exact_types_are_one_key() -> None:
    f = jit(lambda a, b: (a - b) * 2 if type(a) is not type(b) else a + b, static_argnums=(0, 1))
    x = Tensor([1.0, 5.0])
    for _ in range(2):
        assert f(x, 1).tolist() == [0.0, 8.0]
        assert f(1, x).tolist() == [0.0, -8.0]  # the same types of values at other positions
        assert f(x, True).tolist() == f(x, 1).tolist()
    assert f.traces == 3
    g = jit(lambda x, a, b: x * len(f"{a!r}{b!r}"), static_argnames=("a", "b"))
    for _ in range(2):
        for a, b in ((1, True), (True, 1), ("1", None), (None, "1"), (1, 2.0), (-0.0, 0), (0.0, 0)):
            assert g(x, a, b).tolist() == g(x, b=b, a=a).tolist() == (x * len(f"{a!r}{b!r}")).tolist()


def test_equal_but_distinct_static_arguments() -> None:
    f = jit(lambda x, n: x * math.copysign(2, n[0] if isinstance(n, tuple) else n) + (n is True), static_argnums=1)
    x = Tensor([1.0, 2.0])
    for n in (0.0, -0.0, 1, True, (0.0,), (-0.0,)):
        times = math.copysign(2, n[0] if isinstance(n, tuple) else n)
        assert f(x, n).tolist() == [times + (n is True), 2 * times + (n is True)]
    for nan in (math.nan, float("nan")):
        f(x, nan)
    assert f.traces == 7


def test_jit_under_other_transforms() -> None:
    f = jit(lambda x: (x * x).sum())
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert vmap(f)(x).tolist() == [5.0, 25.0]
    assert vmap(grad(f))(x).tolist() == [[2.0, 4.0], [6.0, 8.0]]
    assert jit(vmap(grad(f)))(x).tolist() == [[2.0, 4.0], [6.0, 8.0]]
    sums = jit(lambda x: scan(lambda c, v: (c + f(v), c), 0.0, x))
    for _ in range(4):
        assert [y.tolist() for y in sums(x)] == [30.0, [0.0, 5.0]]


def test_results_without_kernels() -> None:
    same, three, nothing, none = jit(lambda x: x), jit(lambda: 3), jit(lambda x: x[:0]), jit(lambda x: None)
    for i in range(4):
        x = Tensor([1.0, i])
        assert same(x).tolist() == [1.0, i]
        assert three().item() == 3
        assert nothing(x).tolist() == []
        assert none(x) is None


def test_jit_inside_tinyjit() -> None:
    double = jit(lambda x: x * 2)
    step = TinyJit(lambda x: (double(x) + 1).realize())
    for i in range(4):
        assert step(Tensor([float(i), 1.0]).realize()).tolist() == [2 * i + 1, 3]


def test_write_to_weight_is_seen() -> None:
    w = Tensor([1.0, 2.0]).contiguous().realize()
    f = jit(lambda x: x * w)
    for i in range(4):
        w.assign(Tensor([i, i]).float()).realize()
        assert f(Tensor([1.0, 2.0])).tolist() == [i, 2.0 * i]


def test_unrealized_random_weights() -> None:
    layer = nn.Linear(3, 2)
    f = jit(lambda x: layer(x))
    x = Tensor([[1.0, 2.0, 3.0]])
    first = f(x).tolist()
    for _ in range(3):
        assert f(x).tolist() == first
    np.testing.assert_allclose(layer(x).numpy(), first, rtol=1e-5)


def test_pending_write_is_seen() -> None:
    w = Tensor.ones(2)
    f = jit(lambda x: x * w)
    seen = []
    for _ in range(5):
        seen.append(f(Tensor([1.0, 1.0])).tolist()[0])
        w.assign(w + 1)
    assert seen == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_captured_weight_as_argument() -> None:
    w = Tensor([2.0, 3.0]).realize()
    f = jit(lambda x: x * w)
    x = Tensor([1.0, 1.0]).realize()
    assert [f(v).tolist() for v in (w, x, x, w)] == [[4.0, 9.0], [2.0, 3.0], [2.0, 3.0], [4.0, 9.0]]
    assert w.tolist() == [2.0, 3.0]


class Layer:
    def __init__(self, x: Tensor, kind: str) -> None:
        self.x, self.kind = x, kind


register_pytree_node(Layer, lambda layer: ((layer.x,), layer.kind), lambda kind, parts: Layer(*parts, kind))


def test_other_pytree_makes_new_program() -> None:
    x = Tensor([1.0, 2.0])
    scaled = jit(lambda layer: layer.x * (2 if layer.kind == "double" else 10))
    assert scaled(Layer(x, "double")).tolist() == [2.0, 4.0]
    assert scaled(Layer(x, "big")).tolist() == [10.0, 20.0]
    counted = jit(lambda t: t[0] * len(t))
    assert counted((x,)).tolist() == [1.0, 2.0]
    assert counted((x, None)).tolist() == [2.0, 4.0]
    kind = jit(lambda d: d["s"][0] * (2 if isinstance(d["s"], list) else 3))
    assert kind({"s": [x]}).tolist() == [2.0, 4.0]
    assert kind({"s": (x,)}).tolist() == [3.0, 6.0]


@pytest.mark.parametrize("dtype", [dtypes.int8, dtypes.int64, dtypes.half, dtypes.float64, dtypes.float32])
def test_number_takes_dtype_of_other_operand(dtype: DType) -> None:
    f = lambda x, n: x * n + n  # noqa: E731
    x = Tensor([1, 2], dtype=dtype)
    for n in (3, 5) if dtypes.is_int(dtype) else (3, 0.1):
        got, wanted = jit(f)(x, n), f(x, n)
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(*(y.cast(dtypes.float64).numpy() for y in (got, wanted)), rtol=1e-3)


W = Tensor([1.0, 2.0])
MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "a read": (
        lambda: jit(lambda x: x if x.sum() > 0 else -x)(W),
        "bool: in the body of jit there is no value to read: it is traced once, for all calls\n"
        "  value: bool[]\n"
        "  try:   use cond, where or while_loop instead of `if` and `while`, or return the value and read it outside",
    ),
    "a write": (
        lambda: jit(lambda x: W.assign(W * x))(W),
        "assign: a value of the body of jit cannot be written into a tensor from outside, once for each call\n"
        "  tensor: f32[2], made outside of the scope of `jit`\n"
        "  try:    return the value, and write it outside",
    ),
    "a result": (
        lambda: jit(lambda x: "text")(W),
        "jit: the result is the str 'text'\n  try: return tensors, numbers, or trees of them",
    ),
    "a static name that is not a parameter": (
        lambda: jit(lambda x, n: x, static_argnames="m")(W, 1),
        "jit: static_argnames='m' is not a parameter of the function\n"
        "  parameters: x, n\n"
        "  try:        give names of its parameters",
    ),
    "a static name of a parameter without a keyword": (
        lambda: jit(lambda x, n, /: x, static_argnames="n")(W, 1),
        "jit: static_argnames='n' is a parameter that has no keyword\n  try: static_argnums=1",
    ),
    "static names of an int": (
        lambda: jit(lambda x, n: x, static_argnames=1)(W, 1),  # type: ignore[arg-type]
        'jit: static_argnames=1 is not a list of names\n  try: give names of parameters: static_argnames=("n",)',
    ),
    "a static list": (
        lambda: jit(lambda x, n: x, static_argnums=1)(W, [1]),
        "jit: a list is static, but not hashable\n"
        "  try: use a tuple or a frozen dataclass, or pass it as a tensor or a number",
    ),
    "a draw": (
        lambda: jit(lambda x: x + Tensor.rand(2))(W),
        "randomness: a random sample in the body of jit, which is traced once, is the same in each call\n"
        "  try: pass a key as an argument (branded.random), or sample before the call",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_error_messages(name: str) -> None:
    f, message = MISTAKES[name]
    with pytest.raises(BrandedError) as caught:
        f()
    assert str(caught.value) == message


def test_argnums_of_builtin_are_not_checked() -> None:
    assert ChosenArguments.of("jit", "static", (0, 3)).arguments(max, 1) == ({0}, set())
    with pytest.raises(OptionError, match="static_argnums=3 for a function of 1 argument"):
        ChosenArguments.of("jit", "static", 3).arguments(lambda x: x, 1)


def test_least_recently_used_programs_are_evicted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("branded.compile.jit.PROGRAMS", 2)
    f = jit(lambda x: x * 2)
    for n, traces in ((1, 1), (2, 2), (1, 2), (3, 3), (1, 3), (2, 4), (1, 4), (3, 5)):
        assert f(Tensor.ones(n)).tolist() == [2.0] * n
        assert f.traces == traces


def test_scalar_moves_to_device_of_tensors() -> None:
    f = jit(lambda x, k: (x * k, k + 1))
    for k in (3, 4):
        y, more = f(Tensor([1.0, 2.0], device="CPU:1"), Tensor(k))
        assert (y.tolist(), y.device, more.item()) == ([k, 2 * k], "CPU:1", k + 1)


def test_gc_is_paused_while_tracing() -> None:
    """The garbage collector's state is restored after tracing, also if tracing fails."""
    seen: list[bool] = []

    def f(x: Tensor, *, fails: bool = False) -> Tensor:
        seen.append(gc.isenabled())
        if fails:
            raise KeyError(fails)
        return x + len(seen)

    was_on = gc.isenabled()
    try:
        for on in (True, False):
            (gc.enable if on else gc.disable)()
            jit(f)(Tensor([1.0]))
            with pytest.raises(KeyError):
                jit(lambda x: f(x, fails=True))(Tensor([1.0]))
            assert gc.isenabled() is on
    finally:
        (gc.enable if was_on else gc.disable)()
    assert seen == [False] * 4


def test_final_contiguous_is_dropped() -> None:
    """A result is stored anyway; a copy that another value reads is computed once."""
    value = Tensor.empty(2, 3).uop * 2
    copied = value.contiguous()
    assert without_copies([copied.permute((1, 0))]) == [value.permute((1, 0))]
    assert without_copies([copied, copied + 1]) == [copied, copied + 1]
    f = jit(lambda x: [(x * 2).contiguous().T, (y := (x + 1).contiguous()), y * 2])
    x = Tensor([[1.0, 2.0]])
    assert [y.tolist() for y in f(x)] == [y.tolist() for y in f(x)] == [[[2], [4]], [[2, 3]], [[4, 6]]]


CAPTURED: dict[str, Callable[[Tensor], Tensor]] = {
    "sort": lambda x: x.sort()[0],
    "topk": lambda x: x.topk(3)[0],
    "cumsum": lambda x: x.cumsum(0) - x.cumsum(1),
    "cummax": lambda x: x.cummax(0)[0],
    "segment_sum": lambda x: segment_sum(x, (x[0] * 10).cast("int32"), 10),
    "product": lambda x: x @ x,
}


@pytest.mark.parametrize("name", CAPTURED)
def test_tinyjit_can_be_pickled(name: str) -> None:
    x = Tensor(np.random.default_rng(0).random((48, 48), np.float32)).realize()
    for ours in (1, 0):
        with Context(BRANDED_CPU=ours):  # type: ignore[no-untyped-call]
            captured = TinyJit(lambda x: CAPTURED[name](x).realize())
            right = [captured(x).numpy() for _ in range(3)][-1]
            data = pickle.dumps(captured)
            np.testing.assert_array_equal(pickle.loads(data)(x).numpy(), right)
    assert b"branded" not in data, "with BRANDED_CPU=0, the program needs tinygrad alone"


@jit
def decorated(x: Tensor) -> Tensor:
    return x + 1


def plain(x: Tensor) -> Tensor:
    return x + 1


def test_compiled_function_can_be_copied() -> None:
    """After a call too: JAX copies and pickles a compiled function like a Python function."""

    class Model:
        def __init__(self) -> None:
            self.w = Tensor([2.0]).realize()
            self.step = jit(self.scaled)

        def scaled(self, x: Tensor) -> Tensor:
            return x * self.w

    x, model, by_value = Tensor([1.0]), Model(), jit(plain)
    for f in (decorated, by_value, model.step):
        f(x)
    assert copy.deepcopy(decorated) is pickle.loads(pickle.dumps(decorated)) is decorated
    assert pickle.loads(pickle.dumps(by_value))(x).tolist() == [2.0]
    other = copy.deepcopy(model)
    other.w.assign(other.w * 5).realize()
    assert other.step(x).tolist() == [10.0] and model.step(x).tolist() == [2.0]


def test_unpickled_callback_is_a_new_one() -> None:
    """Callbacks are numbered per process, and kernels are found by these numbers."""
    host = running_sums.RunningSums(0)
    assert pickle.loads(pickle.dumps(host)).content != host.content


CONSTANTS = (2.5, -0.0, 7, True)
NUMPY_NUMBERS = tuple(
    np.dtype(name).type(v)
    for name, v in (("float32", 2.5), ("float64", -0.5), ("uint8", 200), ("int64", -3), ("bool", True))
)


@pytest.mark.parametrize("x", [*map(Tensor, CONSTANTS), *NUMPY_NUMBERS], ids=repr)
def test_number_is_written_into_memory_without_kernel(x: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    f = jit(lambda x: x.reshape(1))
    first = f(x)
    monkeypatch.setattr(Tensor, "realize", None)
    out = f(x)
    monkeypatch.undo()
    assert (out.dtype, out.item(), f.traces) == (first.dtype, x.item(), 1)
    assert math.copysign(1, out.item()) == math.copysign(1, x.item())


@pytest.mark.parametrize("donated", [(), (0,)])
def test_argument_without_memory_is_allocated(donated: tuple[int, ...]) -> None:
    shapes = [(3,), (3, 1), (2, 3)]
    compiled = jit(lambda x: x.zeros_like() + 1, donate_argnums=donated)
    assert [compiled(Tensor.empty(*shape)).tolist() for shape in shapes] == [np.ones(s).tolist() for s in shapes]
    assert jit(lambda x: x.assign(x.zeros_like() + 2))(Tensor.empty(3)).tolist() == [2, 2, 2]
    assert jit(lambda x: x + 1)(Tensor.empty(3).reshape(3, 1)).shape == (3, 1)


@pytest.mark.parametrize("arg", [1, 2.0, "constant", "ints", "computed"])
def test_changed_default_dtypes_retrace(arg: Any) -> None:
    """The types of results depend on the default dtypes of the call, as in the function itself."""
    make = {
        "constant": lambda: Tensor.ones(3, buffer=False),
        "ints": lambda: Tensor(np.arange(3, dtype=np.int32)),
        "computed": lambda: Tensor.arange(3) * 0.1,
    }.get(arg, lambda: arg)

    def f(x: Any) -> tuple[Tensor, ...]:
        x = x if isinstance(x, Tensor) else Tensor(x)
        return x * 0.1, x + 1, (x * 0.1).mean(), x.sum()

    compiled = jit(f)
    for _ in range(2):
        for options in ({}, {"DEFAULT_FLOAT": "float64"}, {"DEFAULT_INT": "int64"}, {"DEFAULT_FLOAT": "float16"}):
            with Context(**options):
                for y, expected in zip(compiled(make()), f(make()), strict=True):
                    assert y.dtype == strong_dtype(expected.dtype)
                    np.testing.assert_allclose(y.numpy(), expected.numpy(), rtol=1e-6 if y.dtype.itemsize > 2 else 2e-3)
                    assert (y + 0.1).numpy().dtype == (expected + 0.1).numpy().dtype
                    assert y.mean().numpy().dtype == expected.mean().numpy().dtype
    assert compiled.traces == 4
