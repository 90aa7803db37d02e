"""Reads, conditions and escapes of values behind containers, generators and functions that are values."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from typing import NamedTuple, Protocol

from tinygrad import Tensor

from branded import cond, fori_loop, vmap, while_loop

X = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


# --- in a generator, and of the items of a generator
def windows(x: Tensor, size: int) -> Iterator[Tensor]:
    for i in range(x.shape[0] - size + 1):
        yield x[i : i + size]


vmap(lambda x: Tensor([w.sum().item() for w in windows(x, 2)]))(X)  # E: item: a value that varies over "x"


# --- in functions of a registry, behind a Protocol
class Kernel(Protocol):
    def __call__(self, a: Tensor, b: Tensor, /) -> Tensor: ...


KERNELS: dict[str, Kernel] = {}


def register(name: str) -> Callable[[Kernel], Kernel]:
    def add(kernel: Kernel) -> Kernel:
        KERNELS[name] = kernel
        return kernel

    return add


@register("dot")
def dot(a: Tensor, b: Tensor) -> Tensor:
    return Tensor((a * b).sum().item())  # E: item: a value that varies over "a" and "b"


@register("sign")
def sign(a: Tensor, b: Tensor) -> Tensor:
    return a.sum() if b.sum() > 0 else b.sum()  # E: bool: a value that varies over "b"


def gram(kernel: Kernel, rows: Tensor) -> Tensor:
    return vmap(lambda a: vmap(lambda b: kernel(a, b))(rows))(rows)


tables = [gram(kernel, X) for kernel in KERNELS.values()]

# --- in functions of a list
STEPS: list[Callable[[Tensor], Tensor]] = []


def step(f: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    STEPS.append(f)
    return f


@step
def centre(x: Tensor) -> Tensor:
    return x - float(x.mean().item())  # E: item: a value that varies over "x"


vmap(lambda x: reduce(lambda y, f: f(y), STEPS, x))(X)


# --- in a case of a match statement
@dataclass(frozen=True)
class Scale:
    gamma: float


@dataclass(frozen=True)
class Relu:
    low: float


def run(layer: Scale | Relu, x: Tensor) -> Tensor:
    match layer:
        case Scale(gamma):
            return x * gamma
        case Relu(low=low):
            return Tensor(x.numpy()).maximum(low)  # E: numpy: a value that varies over


def network(layers: list[Scale | Relu], x: Tensor) -> Tensor:
    for layer in layers:
        x = run(layer, x)
    return x


vmap(partial(network, [Scale(2.0), Relu(0.0)]))(X)


# --- in the body of a loop
def simulate(x: Tensor, rate: Tensor) -> Tensor:
    return x * (1 + 0.1 * rate.item())  # E: item: a value that varies over "fori_loop"


print(fori_loop(0, 3, lambda i, c: simulate(c, c), Tensor(1.0)))


# --- an attribute of an object that outlives the vmap
class Gate:
    def __init__(self) -> None:
        self.last: Tensor | None = None

    def __call__(self, x: Tensor) -> Tensor:
        self.last = x.sum()  # E: escape
        return x * 2


gate: Callable[[Tensor], Tensor] = Gate()
vmap(lambda x: gate(x))(X)

# --- out_axes=None for one key, and an axis that the result does not have
vmap(lambda x: {"a": x.sum(), "b": x.max()}, out_axes={"a": 0, "b": None})(X)  # E: out_axes: None needs a result
vmap(lambda x: x * 2, out_axes=2)(X)  # E: out_axes: the result: axis 2 is out of range for a result with 2 axes


# --- other keys in in_axes than in the argument
def predict(p: dict[str, Tensor], x: Tensor) -> Tensor:
    return (p["w"] * x).sum() + p["b"]


params = {"w": Tensor.ones(3), "b": Tensor(0.0)}
vmap(predict, in_axes=({"w": None, "c": None}, 0))(params, X)  # E: in_axes: the keys for argument 1 are 'w', 'c'

# --- the slice of a list, and a list within a list, that outlive the vmap
latest: list[Tensor] = []
grids: list[list[Tensor]] = [[]]


def keep(x: Tensor) -> Tensor:
    latest[:] = [x.sum()]  # E: escape: a value that varies is kept in `latest`
    grids[0] = [x]  # E: escape: a value that varies is kept in `grids`
    return x


vmap(keep)(X)


# --- the number of steps of a loop whose condition varies, and results of branches
def steps_to(limit: Tensor) -> Tensor:
    def step(s: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        return s[0] + 1, s[1] * limit

    n, _ = while_loop(lambda s: s[1] < 10, step, (Tensor(0), Tensor(1.0)))
    return n if n < 100 else -n  # E: bool: a value that varies over "limit"


def doubled(k: Tensor) -> Tensor:
    def twice(y: Tensor) -> Tensor:
        return y * 2

    y = cond(k > 0, twice, twice, Tensor(1.0))
    return y if y > 1 else -y  # E: bool: a value that varies over "k"


vmap(steps_to)(Tensor([2.0, 3.0]))
vmap(doubled)(Tensor([2.0, 3.0]))


# --- in the methods of a class hierarchy
class Policy(ABC):
    def __init__(self, weights: Tensor) -> None:
        self.weights = weights

    @abstractmethod
    def score(self, x: Tensor) -> Tensor: ...

    def best(self, xs: Tensor) -> Tensor:
        return vmap(self.score)(xs).argmax()


class Linear(Policy):
    def score(self, x: Tensor) -> Tensor:
        y = (x * self.weights).sum()  # E: *: `3` differs from `4` at axis -1
        return y if y > 0 else y * 0  # E: bool: a value that varies over "x"


class Bounded(Linear):
    def __init__(self, weights: Tensor, bound: float) -> None:
        super().__init__(weights)
        self.bound = bound

    def score(self, x: Tensor) -> Tensor:
        return super().score(x).clip(-self.bound, self.bound)


Linear(Tensor.ones(3)).best(X)
Bounded(Tensor.ones(4), 2.0).best(X)


# --- in fields of objects that are known by their classes only
@dataclass(frozen=True)
class Belief:
    mean: Tensor
    var: Tensor

    def std(self) -> float:
        return self.var.sqrt().item()  # E: item: a value that varies over "b" has no single value to read


class Sample(NamedTuple):
    x: Tensor
    weight: Tensor


@dataclass
class Nested:
    belief: Belief
    parent: "Nested | None"


def weighted(s: Sample) -> Tensor:
    return s.x * s.weight.item()  # E: item: a value that varies over "s" has no single value to read


def of_classes(b: Belief, s: Sample, n: Nested) -> None:
    vmap(lambda b: b.mean * b.std())(b)
    vmap(weighted)(s)
    vmap(lambda b, x: x if b.mean > 0 else -x)(b, X)  # E: bool: a value that varies over "b" has no single truth
    vmap(lambda n: n.belief.mean * n.belief.var.item())(n)  # E: item: a value that varies over "n"
