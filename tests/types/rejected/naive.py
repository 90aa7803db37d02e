"""Mistakes of programs that say nothing of rows."""

import functools
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeAlias, TypedDict, TypeGuard, TypeVar, overload

import numpy as np
from tinygrad import Tensor, nn

from branded import sequential_vmap, switch, vmap

x, y = Tensor([[1.0, 2.0]]), Tensor([[3.0, 4.0]])


# --- a read in a function of tensors
def read(a: Tensor) -> Tensor:
    return a * a.sum().item()  # E: item: a value that varies over "a" has no single value to read


vmap(read)(x)


# --- a read in a function that is called by the mapped one
def norm(a: Tensor) -> Tensor:
    n = float(a.square().sum().item())  # E: item: a value that varies over "b" has no single value to read
    return a / n


def unit(b: Tensor) -> Tensor:
    c: Tensor = norm(b)
    return c


vmap(unit)(x)


# --- a choice in a function of tensors
def clip(a: Tensor, bound: Tensor) -> Tensor:
    return a if a.sum() < bound else a * 0  # E: bool: a value that varies over "a" has no single truth value


vmap(lambda a: clip(a, Tensor(1.0)))(x)


# --- a read in a method
class Model:
    def __init__(self) -> None:
        self.weight = Tensor([1.0, 2.0])

    def __call__(self, a: Tensor) -> Tensor:
        return self.weight * float(a.tolist()[0])  # E: tolist: a value that varies over "a"


vmap(Model())(x)


# --- the number of axes
def add(a: Tensor, b: Tensor) -> Tensor:
    return a + b


vmap(add, in_axes=(0, 0, 0))(x, y)  # E: in_axes: 3 axes for 2 positional arguments

# --- None for a result that varies
vmap(add, in_axes=(0, None), out_axes=None)(x, y)  # E: out_axes: None needs a result

# --- a value that is kept
last: list[Any] = []


def keeps(a: Tensor) -> Tensor:
    last.append(a)  # E: escape: a value that varies is kept in `last`, which outlives vmap
    return a


vmap(keeps)(x)

# --- a value that is kept in a list of tensors
kept: list[Tensor] = []


def appends(a: Tensor) -> Tensor:
    kept.append(a)  # E: escape: a value that varies is kept in `kept`, which outlives vmap
    return a * 2


vmap(lambda a: appends(a))(x)

# --- a value that is kept in a global tensor
newest: Tensor | None = None


def newer(a: Tensor) -> Tensor:
    global newest
    newest = a  # E: escape: a value that varies is kept in `newest`, which outlives vmap
    return a * 2


vmap(newer)(x)


# --- a value that is kept by extend() and by +=
def extends(a: Tensor) -> Tensor:
    kept.extend([a, x])  # E: escape: a value that varies is kept in `kept`, which outlives vmap
    return a * 2


def adds(a: Tensor) -> Tensor:
    global kept
    kept += [a]  # E: escape: a value that varies is kept in `kept`, which outlives vmap
    return a * 2


vmap(lambda a: extends(a) + adds(a))(x)


# --- a value that is kept in an argument that all examples share
def logs(a: Tensor, log: list[Tensor]) -> Tensor:
    log.append(a)  # E: escape: a value that varies is kept in `log`, which outlives vmap
    return a * 2


def passes_on(a: Tensor, out: list[Tensor]) -> Tensor:
    return logs(a, out)


vmap(lambda a: passes_on(a, kept))(x)


# --- a value that is kept in an object that is not mapped
class Log:
    def __init__(self) -> None:
        self.by_name = {"x": y}


def stores(a: Tensor, log: Log) -> Tensor:
    log.by_name["a"] = a  # E: escape: a value that varies is kept in `log.by_name['a']`, which outlives vmap
    return a * 2


vmap(stores, in_axes=(0, None))(x, Log())


# --- a value stored by the object whose method is mapped
class Layer:
    def __init__(self) -> None:
        self.seen, self.all = y, [y]

    def forward(self, a: Tensor) -> Tensor:
        self.seen = a  # E: escape: a value that varies is kept in `self.seen`, which outlives vmap
        self.all.append(a)  # E: escape: a value that varies is kept in `self.all`, which outlives vmap
        return a * 2


layer = Layer()
vmap(layer.forward)(x)


# --- arguments that a function passes on
def second(a: Tensor, b: Tensor) -> Tensor:
    return b


def first(a: Tensor, b: Tensor) -> Tensor:
    return a


def swapped(a: Tensor, b: Tensor, n: int) -> Tensor:
    return a if n == 0 else swapped(b, a, n - 1)


def around(a: Tensor, b: Tensor) -> Tensor:
    return a + within(b)


def within(p: Tensor) -> Tensor:
    return around(p, x)


def by_walrus(a: Tensor, b: Tensor) -> Tensor:
    first(a, (c := b))
    return c


def hidden(a: Tensor, b: Tensor) -> Tensor:
    first = second
    return first(a, b)


def by_star(a: Tensor, b: Tensor) -> Tensor:
    return second(*(a, b))


vmap(lambda a: second(x, a), out_axes=None)(x)  # E: out_axes: None needs a result
vmap(lambda a: swapped(x, a, 1), out_axes=None)(x)  # E: out_axes: None needs a result
vmap(lambda a: around(x, a), out_axes=None)(x)  # E: out_axes: None needs a result
vmap(lambda a: by_walrus(x, a), out_axes=None)(x)  # E: out_axes: None needs a result
vmap(lambda a: hidden(x, a), out_axes=None)(x)  # E: out_axes: None needs a result
vmap(lambda a: by_star(x, a), out_axes=None)(x)  # E: out_axes: None needs a result


# --- an object created in the call stores a batched value
class Held:
    def __init__(self) -> None:
        self.value = Tensor([1.0])

    def put(self, a: Tensor) -> None:
        self.value = a

    def get(self, a: Tensor) -> Tensor:
        return self.value

    def __call__(self, a: Tensor) -> Tensor:
        return self.value


def holding(a: Tensor) -> Tensor:
    held = Held()
    held.put(a)
    return held.get(a) + held(a)


vmap(holding, out_axes=None)(x)  # E: out_axes: None needs a result


# --- a part of a result that depends on a batched value
def both(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    c = a
    return c, b


def the_last(*xs: Tensor) -> Tensor:
    return xs[-1]


def by_inner(a: Tensor, b: Tensor) -> Tensor:
    c = a

    def inner(d: Tensor) -> Tensor:
        return c

    c = b
    return inner(a)


def written(a: Tensor, b: Tensor) -> Tensor:
    c = a
    c.assign(b)
    return a


vmap(lambda a: both(x, a)[1], out_axes=None)(x)  # E: out_axes: None needs a result
vmap(lambda a: both(x, a), out_axes=(0, None))(x)  # E: out_axes: None needs a result
vmap(lambda a: the_last(x, a), out_axes=None)(x)  # E: out_axes: None needs a result
vmap(lambda a: by_inner(x, a), out_axes=None)(x)  # E: out_axes: None needs a result
vmap(lambda a: written(x, a), out_axes=None)(x)  # E: out_axes: None needs a result


# --- a read in a function whose vmap is kept
def by_sum(x: Tensor) -> Tensor:
    return x / x.sum().item()  # E: item: a value that varies over "x" has no single value to read


by_sums = vmap(by_sum)
by_sums(x)


@vmap(in_axes=1)
def by_max(x: Tensor) -> Tensor:
    return x / x.max().item()  # E: item: a value that varies over "x" has no single value to read


by_max(x)


# --- a number in a field, after vmap
@dataclass
class Checked:
    x: Tensor
    ok: bool


if vmap(lambda x: Checked(x, True))(x).ok:  # E: bool: a tensor has no truth value
    pass


# --- an optional tensor in `if`
def biased(x: Tensor, b: Tensor | None = None) -> Tensor:
    return x + b if b else x  # E: bool: a value that varies over "x" has no single truth value


vmap(biased)(x, x)


# --- a read in a decorated function
P = ParamSpec("P")
R = TypeVar("R")


def logged(f: Callable[P, R]) -> Callable[P, R]:
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        return f(*args, **kwargs)

    return run


@logged
def share(x: Tensor) -> Tensor:
    return x / x.sum().item()  # E: item: a value that varies over "x" has no single value to read


vmap(share)(x)


# --- a result with as many entries as a value says
vmap(lambda a: a.nonzero())(x)  # E: nonzero: a result over "a" would have another shape for each example
vmap(lambda a: y.masked_select(a > 0))(x)  # E: try:   masked_select(..., size=n), with the same n for all


# --- a read in a function that is passed to another one
def reader(a: Tensor) -> Tensor:
    return a * a.sum().item()  # E: item: a value that varies over "a" has no single value to read


def apply(h: Callable[[Tensor], Tensor], a: Tensor) -> Tensor:
    return h(a)


vmap(lambda a: apply(reader, a))(x)


def other_reader(a: Tensor) -> Tensor:
    return a * a.sum().item()  # E: item: a value that varies over "a" has no single value to read


def apply_to_all(h: Callable[[Tensor], Tensor], a: Tensor) -> Tensor:
    return vmap(h)(a)


apply_to_all(other_reader, x)


def default_reader(a: Tensor) -> Tensor:
    return a * a.sum().item()  # E: item: a value that varies over "a" has no single value to read


def with_default(a: Tensor, h: Callable[[Tensor], Tensor] = default_reader) -> Tensor:
    return h(a)


vmap(lambda a: with_default(a))(x)


# --- a read in a method of a base class, or of a subclass
class Base:
    def f(self, a: Tensor) -> Tensor:
        return a * a.sum().item()  # E: item: a value that varies over "a" has no single value to read

    def g(self, a: Tensor) -> Tensor:
        return self.h(a)

    def h(self, a: Tensor) -> Tensor:
        return a


class Derived(Base):
    def f(self, a: Tensor) -> Tensor:
        return super().f(a)

    def h(self, a: Tensor) -> Tensor:
        return a * a.sum().item()  # E: item: a value that varies over "a" has no single value to read


vmap(Derived().f)(x)
vmap(Derived().g)(x)


# --- a read in a cached function of tensors
@functools.lru_cache(maxsize=8)
def kept_read(a: Tensor) -> Tensor:
    return a * a.sum().item()  # E: item: a value that varies over "a" has no single value to read


vmap(lambda a: a + kept_read(a))(x)


# --- mistakes in a TypedDict that is made by a call
class Plant(TypedDict):
    height: Tensor
    water: Tensor


def growth(plant: Plant) -> Tensor:
    return plant["height"] + plant["water"]


vmap(lambda h: growth(Plant(height=h)))(x)  # E: Missing key "water" for TypedDict "Plant"
vmap(lambda h: growth(Plant(height=h, water=1)))(x)  # E: TypedDict item "water" has type "Tensor"
vmap(lambda h: growth(Plant(height=h, water=Tensor(h.item()))))(x)  # E: item: a value that varies over "h"

# --- reads in nested trees
Params: TypeAlias = Tensor | list["Params"]


def by_largest(t: Params) -> Tensor:
    return t / t.max().item() if isinstance(t, Tensor) else x  # E: item: a value that varies over "a"


vmap(lambda a: by_largest([a]) + by_largest(a))(x)


# --- reads in iterables
def powers(a: Tensor) -> Iterator[Tensor]:
    yield a


def once(a: Tensor) -> Generator[Tensor, None, None]:
    yield a


def summed(values: Iterable[Tensor]) -> float:
    return sum(v.item() for v in values)  # E: item: a value that varies over "a" has no single value to read


vmap(lambda a: summed([a[0]]) * a)(x)
vmap(lambda a: next(once(a)).item() * a)(x)  # E: item: a value that varies over "a" has no single value to read
vmap(lambda a: next(powers(a)), out_axes=None)(x)  # E: out_axes: None needs a result that is the same
vmap(lambda p: sorted(p.values())[0])({"w": x})  # E: sorted: a value that varies over "p" has no single truth value


# --- a read in a branch that a list holds
def scaled(a: Tensor) -> Tensor:
    return a / a.max().item()  # E: item: a value that varies over "a" has no single value to read


branches: list[Callable[[Tensor], Tensor]] = [scaled]
vmap(lambda a: switch(a[0].int(), branches, a))(x)


# --- a read of a value that a TypeGuard function narrows
def is_tensor(o: object) -> TypeGuard[Tensor]:
    return isinstance(o, Tensor)


def guarded(a: Tensor | float) -> Tensor | float:
    if is_tensor(a):
        return a * a.sum().item()  # E: item: a value that varies over "a" has no single value to read
    return a


vmap(guarded)(x)


# --- a read in an overloaded function
@overload
def per_unit(a: Tensor) -> Tensor: ...


@overload
def per_unit(a: float) -> float: ...


def per_unit(a: Tensor | float) -> Tensor | float:
    if isinstance(a, Tensor):
        return a / a.sum().item()  # E: item: a value that varies over "a" has no single value to read
    return 1.0


vmap(lambda a: per_unit(a))(x)


# --- a read in a function that runs for one example after another
@sequential_vmap
def one_by_one(a: Tensor) -> Tensor:
    return a * a.sum().item()  # E: item: a value that varies over "a" has no single value to read


vmap(lambda a: one_by_one(a))(x)

# --- a value that varies is assigned to a global tensor
buffer = Tensor.zeros(2).contiguous()


def remembered(a: Tensor) -> Tensor:
    buffer.assign(buffer + a)  # E: escape: a value that varies is kept in `buffer`
    return a


vmap(remembered)(x)


# --- a value that varies is assigned to an attribute of a shared object
class Average:
    def __init__(self) -> None:
        self.mean = Tensor.zeros(2).contiguous()

    def __call__(self, a: Tensor) -> Tensor:
        self.mean.assign(self.mean * 0.9 + a * 0.1)  # E: escape: a value that varies is kept in `self.mean`
        return a - self.mean


average = Average()
vmap(lambda a: average(a))(x)

# --- a layer that samples its weights for each example
vmap(lambda a: nn.Linear(2, 3)(a))(x)  # E: randomness: choose whether the examples of vmap over "a" share

# --- a numpy function of two arrays
vmap(lambda a: np.maximum(a, 0))(x)  # E: numpy.maximum: a value that varies over "a" cannot be read by numpy
