"""Mistakes of programs that say nothing of rows."""

from typing import Any

from tinygrad import Tensor

from branded import vmap

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
vmap(add, in_axes=(0, None), out_axes=None)(x, y)  # E: out_axes: None for a result that varies over "a"

# --- a value that is kept
last: list[Any] = []


def keeps(a: Tensor) -> Tensor:
    last.append(a)  # E: escape: a value that varies is kept in `last`, which outlives the call
    return a


vmap(keeps)(x)

# --- a value that is kept in a list of tensors
kept: list[Tensor] = []


def appends(a: Tensor) -> Tensor:
    kept.append(a)  # E: escape: a value that varies is kept in `kept`, which outlives the call
    return a * 2


vmap(lambda a: appends(a))(x)

# --- a value that is kept in a global tensor
newest: Tensor | None = None


def newer(a: Tensor) -> Tensor:
    global newest
    newest = a  # E: escape: a value that varies is kept in `newest`, which outlives the call
    return a * 2


vmap(newer)(x)
