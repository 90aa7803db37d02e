"""Modules as functions of their state: ensembles, per-example gradients, and modules that stay unchanged."""

from __future__ import annotations

import re
import textwrap
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from tinygrad import Context, GlobalCounters, Tensor, TinyJit, dtypes, function, nn
from tinygrad.nn.state import get_state_dict

from branded import BrandedError, errors, grad, jvp, random, vmap
from branded.nn.modules import functional_call, stack_module_state
from tests.support.by_numpy import read

pytestmark = pytest.mark.by_numpy


class Net:
    """A few layers in a list, like most models in tinygrad."""

    def __init__(self) -> None:
        self.layers = [nn.Linear(4, 8), Tensor.relu, nn.LayerNorm(8), nn.Linear(8, 2)]

    def __call__(self, x: Any) -> Any:
        return x.sequential(self.layers)


class Ball(NamedTuple):
    weight: Tensor
    scale: float


@dataclass(frozen=True)
class Frozen:
    weight: Tensor


class Everywhere:
    """Tensors in every place where `tinygrad.nn.state` looks for them."""

    def __init__(self, *_: object) -> None:
        self.table = {"a": Tensor.randn(3), "deep": [Tensor.randn(3), (Tensor.randn(3), 2.0)]}
        self.ordered = OrderedDict(b=Tensor.randn(3))
        self.pair = (Tensor.randn(3), [Tensor.randn(3)])
        self.ball, self.frozen = Ball(Tensor.randn(3), 0.5), Frozen(Tensor.randn(3))
        self.again = self.frozen

    def __call__(self, x: Any) -> Any:
        y = x * self.table["a"] + self.table["deep"][0] * self.table["deep"][1][0]
        y = (y + self.ordered["b"]) * self.pair[0] - self.pair[1][0]
        return y + self.ball.weight * self.ball.scale * self.frozen.weight + self.again.weight


def randomized(make: Callable[[], Any], n: int = 3) -> list[Any]:
    """Create modules with distinct random numbers, also in tensors that start as zeros or ones."""
    modules = [make() for _ in range(n)]
    for i, m in enumerate(modules):
        for j, (name, t) in enumerate(get_state_dict(m).items()):
            if dtypes.is_float(t.dtype):
                x = np.random.default_rng([7, i, j]).normal(size=t.shape).astype(np.float32)
                t.replace(Tensor(abs(x) + 0.5 if "var" in name else x))
    return modules


X = random.normal(random.key(0), (5, 4)).realize()
IMAGES = random.normal(random.key(1), (2, 2, 6, 6)).realize()
LAYERS: dict[str, tuple[Callable[[], Any], Tensor]] = {
    "Linear": (lambda: nn.Linear(4, 3), X),
    "Conv2d": (lambda: nn.Conv2d(2, 3, 3), IMAGES),
    "LayerNorm": (lambda: nn.LayerNorm(4), X),
    "BatchNorm": (lambda: nn.BatchNorm(2), IMAGES),
    "Embedding": (lambda: nn.Embedding(10, 3), Tensor([1, 2, 3])),
    "a list of layers": (Net, X),
    "everywhere": (Everywhere, X[0, :3]),
}


@pytest.mark.parametrize("name", LAYERS)
def test_ensemble_matches_the_loop(name: str) -> None:
    make, x = LAYERS[name]
    models = randomized(make)
    state = stack_module_state(models)
    assert {k: (v.shape, v.dtype) for k, v in state.items()} == {
        k: ((3, *v.shape), v.dtype) for k, v in get_state_dict(models[0]).items()
    }
    value = Tensor.numpy if name == "Linear" else read  # one layer by kernels, the others from their graph
    loop = np.stack([value(m(x)) for m in models])
    ensemble = vmap(lambda s, x: functional_call(models[0], s, x), in_axes=(0, None))
    np.testing.assert_allclose(value(ensemble(state, x)), loop, rtol=1e-6, atol=1e-6)
    by_one = np.stack([value(functional_call(models[0], get_state_dict(m), x)) for m in models])
    np.testing.assert_array_equal(by_one, loop)


def test_several_arguments_and_results() -> None:
    cells = randomized(lambda: nn.LSTMCell(4, 3))
    state = stack_module_state(cells)
    h, c = vmap(lambda s: functional_call(cells[0], s, X))(state)
    h2, c2 = vmap(lambda s, hc: functional_call(cells[0], s, X, hc=hc))(state, (h, c))
    for i, cell in enumerate(cells):
        once = cell(X)
        twice = cell(X, once)
        for got, wanted in zip((h, c, h2, c2), (*once, *twice), strict=True):
            np.testing.assert_allclose(read(got[i]), read(wanted), rtol=1e-5, atol=1e-6)


def test_functional_call_runs_the_same_kernels() -> None:
    first, second = randomized(Net, 2)
    for m in (first, second):
        Tensor.realize(*get_state_dict(m).values())
    counts = []
    for run in (lambda: second(X), lambda: functional_call(first, get_state_dict(second), X)):
        GlobalCounters.reset()
        run().realize()
        counts.append((GlobalCounters.kernel_count, GlobalCounters.global_ops, GlobalCounters.global_mem))
    assert counts[0] == counts[1]


def test_unrealized_weights_are_sampled_once() -> None:
    model = nn.Linear(4, 3)
    one = functional_call(model, {}, X).numpy()
    np.testing.assert_array_equal(model(X).numpy(), one)
    models = [nn.Linear(4, 3) for _ in range(2)]
    state = stack_module_state(models)
    both = vmap(lambda s: functional_call(models[0], s, X))(state).numpy()
    np.testing.assert_allclose(both, np.stack([m(X).numpy() for m in models]), rtol=1e-6, atol=1e-6)


def test_ensemble_in_chunks() -> None:
    models = randomized(lambda: nn.Linear(4, 3))
    run = vmap(lambda s: functional_call(models[0], s, X), chunk_size=2)
    np.testing.assert_allclose(
        run(stack_module_state(models)).numpy(), np.stack([m(X).numpy() for m in models]), rtol=1e-6
    )


# ---- derivatives ----


def test_gradients_per_example() -> None:
    (model,) = randomized(Net, 1)
    state, y = get_state_dict(model), random.normal(random.key(5), (5, 2)).realize()

    def loss(s: Any, x: Any, y: Any) -> Any:
        return (functional_call(model, s, x) - y).square().sum()

    each = vmap(grad(loss), in_axes=(None, 0, 0))(state, X, y)
    for name, t in state.items():
        loop = [read((model(X[i]) - y[i]).square().sum().gradient(t)[0]) for i in range(5)]
        np.testing.assert_allclose(read(each[name]), np.stack(loop), rtol=1e-4, atol=1e-5)


def test_gradients_of_an_ensemble() -> None:
    models = randomized(lambda: nn.Linear(4, 1), 2)

    def loss(s: Any, x: Any) -> Any:
        return functional_call(models[0], s, x).square().sum()

    both = vmap(lambda s: vmap(grad(loss), in_axes=(None, 0))(s, X))(stack_module_state(models))
    for i, m in enumerate(models):
        wanted = 2 * m(X).numpy() * X.numpy()
        np.testing.assert_allclose(both["weight"][i, :, 0].numpy(), wanted, rtol=1e-5, atol=1e-5)


def test_forward_mode() -> None:
    (model,) = randomized(lambda: nn.Linear(4, 3), 1)
    state = get_state_dict(model)
    step = {k: Tensor.ones(*v.shape) for k, v in state.items()}
    _, dy = jvp(lambda s: functional_call(model, s, X), (state,), (step,))
    np.testing.assert_allclose(dy.numpy(), np.tile(X.numpy().sum(1, keepdims=True) + 1, (1, 3)), rtol=1e-5, atol=1e-5)


def test_gradients_of_the_module_itself() -> None:
    """Tensors that are not in the state are used unchanged, and can be differentiated."""
    (model,) = randomized(lambda: nn.Linear(4, 3), 1)
    loss = functional_call(model, {"bias": Tensor.zeros(3)}, X).sum()
    np.testing.assert_allclose(loss.gradient(model.weight)[0].numpy(), np.tile(X.numpy().sum(0), (3, 1)), rtol=1e-5)


# ---- names and ties ----


def test_missing_names_use_the_module_tensors() -> None:
    (model,) = randomized(lambda: nn.Linear(4, 3), 1)
    y = functional_call(model, {"bias": Tensor.zeros(3)}, X)
    np.testing.assert_allclose(y.numpy(), X.numpy() @ model.weight.numpy().T, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(functional_call(model, {}, X).numpy(), model(X).numpy())


class Tied:
    def __init__(self) -> None:
        self.embed = Tensor.randn(3, 3)
        self.head = self.embed
        self.layers = [nn.Linear(3, 3)] * 2

    def __call__(self, x: Any) -> Any:
        return x.dot(self.embed).sequential(self.layers).dot(self.head.T)


def test_tied_tensors_stay_tied() -> None:
    first, second = randomized(Tied, 2)
    wanted = read(second(X[:, :3]))
    state = get_state_dict(second)
    assert list(state) == ["embed", "head", *(f"layers.{i}.{n}" for i in range(2) for n in ("weight", "bias"))]
    by_one_name = {k: v for k, v in state.items() if k not in ("embed", "layers.0.weight", "layers.1.bias")}
    for s in (state, by_one_name):
        np.testing.assert_array_equal(read(functional_call(first, s, X[:, :3])), wanted)
    stacked = stack_module_state([first, second])
    assert stacked["embed"] is stacked["head"] and stacked["layers.0.bias"] is stacked["layers.1.bias"]
    both = read(vmap(lambda s: functional_call(first, s, X[:, :3]))(stacked))
    np.testing.assert_allclose(both[1], wanted, rtol=1e-4, atol=1e-5)


def test_gradient_of_a_tied_tensor_sums_both_uses() -> None:
    (model,) = randomized(Tied, 1)
    loss = model(X[:, :3]).sum()
    by_name = grad(lambda s: functional_call(model, s, X[:, :3]).sum())({"head": model.head})
    wanted = read(loss.gradient(model.embed)[0])
    np.testing.assert_allclose(read(by_name["head"]), wanted, rtol=1e-4, atol=1e-4)


def test_stacked_state_keeps_is_param() -> None:
    learned = [k for k, v in stack_module_state([nn.BatchNorm(2)]).items() if v.is_param]
    assert learned == ["weight", "bias"]


# ---- the module afterwards ----


def shape_of(x: Any, seen: frozenset[int] = frozenset()) -> Any:
    """Describe everything that an object consists of by identity."""
    if isinstance(x, Tensor):
        return id(x), id(x.uop)
    if isinstance(x, dict | list | tuple):
        parts = x.items() if isinstance(x, dict) else enumerate(x)
        return id(x), [(k, shape_of(v)) for k, v in parts]
    return id(x), shape_of(x.__dict__) if hasattr(x, "__dict__") and not callable(x) else None


class Busy(Everywhere):
    """A module that changes everything it can reach."""

    def __init__(self) -> None:
        super().__init__()
        self.calls, self.seen = 0, list[Any]()
        self.fails = False

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        self.seen.append(x)
        self.last = super().__call__(x)
        self.table["a"] = x
        self.table["new"] = x
        del self.ordered["b"]
        self.pair[1].clear()
        self.pair = (x, [])
        self.frozen.weight.assign(self.frozen.weight * 2)
        if self.fails:
            raise ZeroDivisionError
        return self.last + self.frozen.weight


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("how", ["plain", "vmap", "with its own tensors"])
def test_module_is_unchanged(fails: bool, how: str) -> None:
    model, other = randomized(Busy, 2)
    model.fails = fails
    state = get_state_dict(other if how != "with its own tensors" else model)
    Tensor.realize(*get_state_dict(model).values(), *state.values())
    before, numbers = shape_of(model.__dict__), {k: v.tolist() for k, v in get_state_dict(model).items()}
    x = X[0, :3]
    try:
        if how == "vmap":
            vmap(lambda s: functional_call(model, s, x))(stack_module_state([other, other])).realize()
        else:
            functional_call(model, state, x).realize()
        assert not fails
    except ZeroDivisionError:
        assert fails
    assert shape_of(model.__dict__) == before
    assert {k: v.tolist() for k, v in get_state_dict(model).items()} == numbers


def test_nested_calls() -> None:
    class Outer:
        def __init__(self) -> None:
            self.weight = Tensor([1.0])

        def __call__(self, x: Any, depth: int = 1) -> Any:
            inner = functional_call(self, {"weight": self.weight * 10}, x, depth - 1) if depth else x
            return inner * self.weight

    model = Outer()
    assert functional_call(model, {"weight": Tensor([2.0])}, Tensor([1.0]), depth=2).tolist() == [2 * 20 * 200]
    assert model(Tensor([1.0]), 0).tolist() == [1.0]


def test_realizing_module() -> None:
    class Eager:
        def __init__(self) -> None:
            self.weight = Tensor([1.0, 2.0])

        def __call__(self, x: Any) -> Any:
            self.weight.realize()
            return (x * self.weight).realize()

    model, state = Eager(), {"weight": Tensor([3.0, 4.0])}
    assert functional_call(model, state, Tensor([1.0])).tolist() == [3.0, 4.0]
    assert vmap(lambda _: functional_call(model, state, Tensor([1.0])))(Tensor([0, 0])).tolist() == [[3.0, 4.0]] * 2
    assert model.weight.tolist() == [1.0, 2.0] and state["weight"].tolist() == [3.0, 4.0]


# ---- writes during the call ----


class Counter:
    """A module that writes a tensor and reads it back."""

    def __init__(self) -> None:
        self.count, self.cache = Tensor([0.0]), Tensor.zeros(3).contiguous()

    def __call__(self, x: Any) -> Any:
        self.count.assign(self.count + 1)
        self.cache[1:2] = x
        return self.count + self.cache


@pytest.mark.parametrize("given", [(), ("count",), ("count", "cache")])
@pytest.mark.parametrize("realized", [False, True])
def test_writes_go_to_the_state(given: tuple[str, ...], realized: bool) -> None:
    model = Counter()
    state = {"count": Tensor([5.0]), "cache": Tensor([7.0, 7.0, 7.0])}
    state = {k: state[k] for k in given}
    if realized:
        Tensor.realize(model.count, model.cache, *state.values())
    first = 6.0 if "count" in given else 1.0
    rest = 7.0 if "cache" in given else 0.0
    y = functional_call(model, state, Tensor([2.0]))
    assert y.tolist() == [first + rest, first + 2.0, first + rest]
    assert model.count.tolist() == [0.0] and model.cache.tolist() == [0.0] * 3
    assert {k: v.tolist() for k, v in state.items()} == {
        k: v for k, v in {"count": [first], "cache": [rest, 2.0, rest]}.items() if k in given
    }


def test_writes_of_each_example() -> None:
    model, x = Counter(), Tensor([[2.0], [3.0]])
    state = {"count": Tensor([[5.0], [6.0]]), "cache": Tensor.zeros(2, 3)}
    y, after = vmap(lambda s, x: (functional_call(model, s, x), s))(state, x)
    assert y.tolist() == [[6.0, 8.0, 6.0], [7.0, 10.0, 7.0]]
    assert after["count"].tolist() == [[6.0], [7.0]]
    assert after["cache"].tolist() == [[0.0, 2.0, 0.0], [0.0, 3.0, 0.0]]
    assert state["count"].tolist() == [[5.0], [6.0]] and model.count.tolist() == [0.0]
    unwritten = vmap(lambda x: functional_call(model, {}, x))(x)
    assert unwritten.tolist() == [[1.0, 3.0, 1.0], [1.0, 4.0, 1.0]] and model.cache.tolist() == [0.0] * 3


def test_write_to_a_shared_buffer_copies_it() -> None:
    model = Counter()
    Tensor.realize(model.count, model.cache)
    view = {"count": model.count.detach()}
    functional_call(model, view, Tensor([2.0])).realize()
    assert view["count"].tolist() == [1.0] and model.count.tolist() == [0.0]


def test_failed_call_writes_nothing() -> None:
    state = {"frozen.weight": Tensor([1.0, 1.0, 1.0])}
    model = Busy()
    model.fails = True
    with pytest.raises(ZeroDivisionError):
        functional_call(model, state, X[0, :3])
    assert state["frozen.weight"].tolist() == [1.0] * 3


def test_batchnorm_in_training() -> None:
    x = random.normal(random.key(3), (3, 4, 2, 3, 3)).realize()
    models = randomized(lambda: nn.BatchNorm(2))

    def step(s: dict[str, Any], x: Any) -> Any:
        return functional_call(models[0], s, x), s

    with Context(TRAINING=1):
        y, after = vmap(step)(stack_module_state(models), x)
        Tensor.realize(y, *after.values())
        before = {k: v.tolist() for k, v in get_state_dict(models[0]).items()}
        functional_call(models[0], get_state_dict(models[0]), x[0]).realize()
        assert {k: v.tolist() for k, v in get_state_dict(models[0]).items()} == before
        loop = [m(x[i]) for i, m in enumerate(models)]
    np.testing.assert_allclose(read(y), np.stack([read(t) for t in loop]), rtol=1e-5, atol=1e-5)
    for name, t in after.items():
        wanted = np.stack([get_state_dict(m)[name].numpy() for m in models])
        np.testing.assert_allclose(t.numpy(), wanted, rtol=1e-5, err_msg=name)
    assert after["num_batches_tracked"].tolist() == [1, 1, 1]


def test_gradients_of_batchnorm_in_training() -> None:
    (model,) = randomized(lambda: nn.BatchNorm(2), 1)
    x = random.normal(random.key(3), (3, 4, 2, 3, 3)).realize()
    learned = {k: v for k, v in get_state_dict(model).items() if v.is_param}
    mean = model.running_mean.tolist()

    def loss(s: Any, x: Any) -> Any:
        return functional_call(model, s, x).square().sum()

    with Context(TRAINING=1):
        each = vmap(grad(loss), in_axes=(None, 0))(learned, x)
    assert {k: v.shape for k, v in each.items()} == {"weight": (3, 2), "bias": (3, 2)}
    np.testing.assert_allclose(each["bias"].numpy(), np.tile(2 * 36 * model.bias.numpy(), (3, 1)), rtol=1e-3)
    assert model.running_mean.tolist() == mean


# ---- jit and functions ----


def test_in_a_jit() -> None:
    (model,) = randomized(lambda: nn.Linear(4, 3), 1)

    @TinyJit
    def step(weight: Tensor, x: Tensor) -> Tensor:
        return functional_call(model, {"weight": weight, "bias": weight[:, 0]}, x).realize()

    for i in range(4):
        w = random.normal(random.key(i), (3, 4))
        np.testing.assert_allclose(step(w, X).numpy(), X.numpy() @ w.numpy().T + w.numpy()[:, 0], rtol=1e-5, atol=1e-5)


def test_jit_in_the_module_is_bypassed() -> None:
    class Jitted:
        def __init__(self) -> None:
            self.weight = Tensor([1.0]).realize()
            self.fast = TinyJit(self.run)

        def run(self, x: Tensor) -> Tensor:
            return (x * self.weight).realize()

        @TinyJit
        def method(self, x: Tensor) -> Tensor:
            return (x * self.weight).realize()

        def __call__(self, x: Tensor) -> Tensor:
            return (self.fast(x) + self.method(x)).realize()

    model, x = Jitted(), Tensor([1.0, 2.0]).realize()
    for _ in range(3):
        assert model(x).tolist() == [2.0, 4.0]
    captured = model.fast
    assert functional_call(model, {"weight": Tensor([5.0])}, x).tolist() == [10.0, 20.0]
    assert model.fast is captured and model(x).tolist() == [2.0, 4.0]


@pytest.mark.parametrize("precompile", [False, True])
def test_module_decorated_with_function(precompile: bool) -> None:
    class Layer:
        def __init__(self) -> None:
            self.weight = Tensor([1.0, 2.0]).realize()

        @function(precompile=precompile)
        def __call__(self, x: Tensor) -> Tensor:
            return x * self.weight

    model, weights = Layer(), Tensor([[3.0, 4.0], [5.0, 6.0]]).realize()
    assert functional_call(model, {"weight": weights[0]}, Tensor([1.0, 1.0])).tolist() == [3.0, 4.0]
    run = vmap(lambda w: functional_call(model, {"weight": w}, Tensor([1.0, 1.0])))
    assert run(weights).tolist() == [[3.0, 4.0], [5.0, 6.0]]
    assert model(Tensor([1.0, 1.0])).tolist() == [1.0, 2.0]


def test_module_with_several_dtypes() -> None:
    class Mixed:
        def __init__(self, flip: bool, n: int) -> None:
            self.mask, self.index = Tensor([flip, True]), Tensor([n, 1])

        def __call__(self, x: Any) -> Any:
            return self.mask.where(x[self.index], 0)

    models = [Mixed(True, 2), Mixed(False, 0)]
    x = Tensor([10, 20, 30])
    assert functional_call(models[0], get_state_dict(models[1]), x).tolist() == [0, 20]
    both = vmap(lambda s: functional_call(models[0], s, x))(stack_module_state(models))
    assert both.tolist() == [[30, 20], [0, 20]]


def test_modules_without_tensors() -> None:
    assert functional_call(Tensor.relu, {}, Tensor([-1.0, 1.0])).tolist() == [0.0, 1.0]
    assert stack_module_state([object(), object()]) == {}


# ---- messages ----


class Golden(NamedTuple):
    mistake: Callable[[], Any]
    cls: type[BrandedError]
    text: str


def linear(n: int = 4) -> Any:
    return nn.Linear(n, 2)


class Loop:
    def __init__(self) -> None:
        self.me = self

    def __call__(self) -> None: ...


class JittedCall:
    @TinyJit
    def __call__(self, x: Tensor) -> Tensor:
        return x


def _closed() -> Any:
    kept: list[Any] = []
    vmap(lambda b: kept.append(b) or b)(Tensor.zeros(3, 2))
    return kept[0]


def _training() -> None:
    bn = nn.BatchNorm(2)
    state = {"running_mean": Tensor.zeros(2)}
    with Context(TRAINING=1):
        vmap(lambda x: functional_call(bn, state, x))(Tensor.ones(3, 4, 2, 3))


def _untied() -> Tied:
    model = Tied()
    model.head = Tensor.zeros(3, 3)
    return model


class Scaled:
    def __init__(self, scale: float, act: Any = Tensor.relu) -> None:
        self.inner = SimpleNamespace(w=Tensor.ones(3), scale=scale, act=act, shift=lambda x: x + scale)


def test_stack_modules_with_equal_attributes() -> None:
    first, second = Scaled(float("nan")), Scaled(float("nan"))
    assert stack_module_state([first, second])["inner.w"].shape == (2, 3)


MISTAKES = {
    "a misspelled name": Golden(
        lambda: functional_call(linear(), {"wieght": Tensor.zeros(2, 4)}, X),
        errors.StateError,
        """
        functional_call: the module has no tensor `wieght`
          names: weight, bias
          try:   use `weight`
        """,
    ),
    "an unknown name": Golden(
        lambda: functional_call(Tied(), {"zzz": Tensor.zeros(2, 4)}, X),
        errors.StateError,
        """
        functional_call: the module has no tensor `zzz`
          names: embed, head, layers.0.weight, layers.0.bias, layers.1.weight, layers.1.bias
          try:   use the names of get_state_dict(module)
        """,
    ),
    "another shape": Golden(
        lambda: functional_call(linear(), {"weight": Tensor.zeros(4, 2)}, X),
        errors.StateError,
        """
        functional_call: `weight` has another shape than in the module
          state:  f32[4, 2]
          module: f32[2, 4]
          try:    pass a tensor of shape (2, 4)
        """,
    ),
    "a stacked state": Golden(
        lambda: functional_call(linear(), stack_module_state([linear(), linear()]), X),
        errors.StateError,
        """
        functional_call: `weight` has another shape than in the module
          state:  f32[2, 2, 4]
          module: f32[2, 4]
          try:    use vmap over the state
        """,
    ),
    "not a tensor": Golden(
        lambda: functional_call(linear(), {"bias": [0.0, 0.0]}, X),
        errors.StateTypeError,
        """
        functional_call: `bias` is a list
          try: pass Tensor(...) of the value, which can be written
        """,
    ),
    "not a dict": Golden(
        lambda: functional_call(linear(), [Tensor.zeros(2, 4)], X),  # type: ignore[call-overload]
        errors.StateTypeError,
        """
        functional_call: the state is a list
          try: pass a dict of tensors: get_state_dict(module) or stack_module_state(modules)
        """,
    ),
    "not a module": Golden(
        lambda: functional_call({"weight": X}, {"weight": X}, X),  # type: ignore[call-overload]
        errors.StateTypeError,
        """
        functional_call: a dict cannot be called
          try: pass a module, then its state
        """,
    ),
    "two tensors for a tied one": Golden(
        lambda: functional_call(Tied(), {"embed": Tensor.zeros(3, 3), "head": Tensor.ones(3, 3)}, X),
        errors.StateError,
        """
        functional_call: `embed` and `head` are the same tensor in the module, but two in the state
          try: keep one of the names, or use the same tensor for both
        """,
    ),
    "a closed brand": Golden(
        lambda: functional_call(linear(), {"bias": _closed()}, X),
        errors.EscapeError,
        """
        functional_call: `bias`: this value belongs to `b`, which is closed
          value: Vec[b:3, f32[2]]
          b:     opened by vmap at app.py:12
          try:   return the value from the mapped function, and use the result
        """,
    ),
    "a write into a shared tensor": Golden(
        _training,
        errors.WriteError,
        """
        functional_call: the call writes into `running_mean`, which all examples share
          state:   f32[2]
          written: Vec[x:3, f32[2]]
          try:     map over it, or leave it out of the state to discard the write
        """,
    ),
    "a jitted call": Golden(
        lambda: functional_call(JittedCall(), {}, X),
        errors.UnsupportedError,
        """
        functional_call: JittedCall.__call__ is a TinyJit, which has recorded the module's own tensors
          try: remove the TinyJit, and wrap the call of functional_call in TinyJit
        """,
    ),
    "a module within itself": Golden(
        lambda: functional_call(Loop(), {}),
        errors.StateError,
        """
        functional_call: a Loop contains itself, so its tensors have endless names
          try: use a module that does not contain its own parent
        """,
    ),
    "one module": Golden(
        lambda: stack_module_state(linear()),
        errors.StateTypeError,
        """
        stack_module_state: a Linear is not a list of modules
          try: pass a list: [m1, m2, m3]
        """,
    ),
    "no modules": Golden(
        lambda: stack_module_state([]),
        errors.StateError,
        """
        stack_module_state: there are no modules
          try: pass a list with at least one module
        """,
    ),
    "two classes": Golden(
        lambda: stack_module_state([linear(), linear(), nn.LayerNorm(4)]),
        errors.StateError,
        """
        stack_module_state: modules 1 and 3 are of different classes
          module 1: a Linear
          module 3: a LayerNorm
          try:      stack each class by itself
        """,
    ),
    "two sizes": Golden(
        lambda: stack_module_state([linear(), linear(5)]),
        errors.StateError,
        """
        stack_module_state: modules 1 and 2 differ in `weight`
          module 1: f32[2, 4]
          module 2: f32[2, 5]
        """,
    ),
    "other tensors": Golden(
        lambda: stack_module_state([linear(), nn.Linear(4, 2, bias=False)]),
        errors.StateError,
        """
        stack_module_state: modules 1 and 2 have different tensors: module 2 has no `bias`, and module 1 has one
        """,
    ),
    "other ties": Golden(
        lambda: stack_module_state([_untied(), Tied()]),
        errors.StateError,
        """
        stack_module_state: modules 1 and 2 differ in which tensors they share
          module 1: `embed` and `head` are two
          module 2: `embed` and `head` are one
        """,
    ),
    "other numbers": Golden(
        lambda: stack_module_state([Scaled(1.0), Scaled(1.0), Scaled(2.0)]),
        errors.StateError,
        """
        stack_module_state: modules 1 and 3 differ in `inner.scale`, and only tensors are stacked
          module 1: the float 1.0
          module 3: the float 2.0
          try:      store the number as a Tensor, or call the modules one by one
        """,
    ),
    "other functions": Golden(
        lambda: stack_module_state([Scaled(1.0), Scaled(1.0, Tensor.tanh)]),
        errors.StateError,
        """
        stack_module_state: modules 1 and 2 differ in `inner.act`, and only tensors are stacked
          module 1: ElementwiseMixin.relu
          module 2: ElementwiseMixin.tanh
          try:      store the number as a Tensor, or call the modules one by one
        """,
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    g = MISTAKES[name]
    with pytest.raises(g.cls) as info:
        g.mistake()
    assert re.sub(r"at \w+\.py:\d+", "at app.py:12", str(info.value)) == textwrap.dedent(g.text).strip()
