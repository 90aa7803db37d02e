"""Values of one example in places that do not outlive the call."""

import queue
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import assert_type

from tinygrad import Tensor

from branded import vmap

x = Tensor([[1.0, 2.0], [3.0, 4.0]])


# --- an object made in the call
class Sum:
    def __init__(self, first: Tensor) -> None:
        self.parts = [first]
        setattr(self, "first", first)  # noqa: B010

    def add(self, a: Tensor) -> "Sum":
        self.parts.append(a)
        self.last = a
        return self

    def total(self) -> Tensor:
        return sum(self.parts[1:], self.parts[0])


def summed(a: Tensor) -> Tensor:
    parts = Sum(a)
    parts.add(a * 2).add(a)
    return parts.total()


assert_type(vmap(summed)(x), Tensor)


# --- a list made in the call, which a function extends
def collect(out: list[Tensor], a: Tensor) -> None:
    out.append(a)


def collected(a: Tensor) -> Tensor:
    out: list[Tensor] = []
    collect(out, a)
    collect(out, a * 2)
    return out[0].stack(*out[1:])


assert_type(vmap(collected)(x), Tensor)


# --- a list given where the default is a list
def append(a: Tensor, into: list[Tensor] = []) -> list[Tensor]:  # noqa: B006
    into.append(a)
    return into


assert_type(vmap(lambda a: append(a, [])[0])(x), Tensor)


# --- a cache of shared values
class Memo:
    def __init__(self) -> None:
        self.ones: dict[int, Tensor] = {}
        self.calls = 0

    def __call__(self, a: Tensor) -> Tensor:
        self.calls += 1
        n = int(a.shape[0])
        if n not in self.ones:
            self.ones[n] = Tensor.ones(n)
        return a + self.ones[n]


assert_type(vmap(Memo())(x), Tensor)


# --- a field of a dataclass made in the call
@dataclass
class State:
    h: Tensor
    log: list[Tensor] = field(default_factory=list)

    def push(self, a: Tensor) -> None:
        self.log.append(a)
        self.h = self.h + a


def run(a: Tensor) -> Tensor:
    state = State(a)
    state.push(a)
    return state.h


assert_type(vmap(run)(x), Tensor)


# --- functions in a list made in the call
def applied(a: Tensor) -> Tensor:
    fs: list[Callable[[], Tensor]] = [a.sin]
    fs.append(partial(Tensor.cos, a))
    fs.append(lambda: a)
    return fs[0]() + fs[1]() * fs[2]()


assert_type(vmap(applied)(x), Tensor)


# --- an exception that says nothing of values, and one that is caught
def checked(a: Tensor) -> Tensor:
    if a.ndim != 1:
        raise ValueError(f"not a vector: {a.shape}")
    try:
        if a.shape[0] > 8:
            raise OverflowError(a)
    except OverflowError:
        return a * 0
    return a


assert_type(vmap(checked)(x), Tensor)

# --- lengths in the slice of a list, and tensors in the slice of a list of the function
lengths: list[int] = []


def sliced(a: Tensor) -> Tensor:
    lengths[:] = [a.shape[0]]
    own: list[Tensor] = []
    own[:] = [a]
    return own[0]


assert_type(vmap(sliced)(x), Tensor)


# --- a context variable that gets its value back, and a queue of the call
level: ContextVar[Tensor] = ContextVar("level")


def remembered(a: Tensor) -> Tensor:
    token = level.set(a)
    waiting: queue.Queue[Tensor] = queue.Queue()
    waiting.put(level.get() * 2)
    level.reset(token)
    return waiting.get()


assert_type(vmap(remembered)(x), Tensor)
