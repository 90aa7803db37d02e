"""Batched values that functions of other files store, and readers that only their types hide."""

from collections.abc import Callable
from typing import Protocol

from tinygrad import Tensor

from branded import vmap
from tests.types.other.stores import Log, keep, note, put

X = Tensor([[1.0, 2.0], [3.0, 4.0]])
values: list[Tensor] = []
named: dict[str, Tensor] = {}
log = Log()


class Score(Protocol):
    def __call__(self, x: Tensor) -> Tensor: ...


# --- a list that the caller gives
vmap(lambda a: keep(values, a))(X)  # E: keeps: stores.py:9, in `keep`: values

# --- a dict that the caller gives
vmap(lambda a: put(named, a))(X)  # E: keeps: stores.py:14, in `put`: values['x']

# --- a list of the other file
vmap(lambda a: note(a))(X)  # E: keeps: stores.py:19, in `note`: notes
vmap(note)(X)  # E: keeps: stores.py:19, in `note`: notes

# --- a list of an object
vmap(lambda a: log.add(a))(X)  # E: keeps: stores.py:38, in `add`: self.items

# --- an attribute of an object
vmap(lambda a: log.set_last(a))(X)  # E: keeps: stores.py:42, in `set_last`: self.last


# --- in a named function
def kept(x: Tensor) -> Tensor:
    keep(values, x)  # E: keeps: stores.py:9, in `keep`: values
    return x * 2


vmap(kept)(X)


# --- a reader in a variable with the type of a Protocol
def share(x: Tensor) -> Tensor:
    return x / x.sum().item()  # E: item: a value that varies over "x" has no single value to read


scorer: Score = share
vmap(scorer)(X)


# --- a reader in a variable with the type of a function
def scaled(x: Tensor) -> Tensor:
    return x * x.max().item()  # E: item: a value that varies over "s" has no single value to read


called: Callable[[Tensor], Tensor] = scaled
vmap(called)(X)
vmap(lambda a: called(a) * 2)(X)


# --- a reader given for a Protocol
def shifted(x: Tensor) -> Tensor:
    return x - x.min().item()  # E: item: a value that varies over "a" has no single value to read


def apply(f: Score, x: Tensor) -> Tensor:
    return f(x)


vmap(lambda a: apply(shifted, a))(X)

# --- a value in a format


def named_total(a: Tensor) -> Tensor:
    "{x:.2f}".format_map({"x": a.sum()})  # E: format: a value that varies over "a" has no single text
    return a


vmap(named_total)(X)


# --- a read of an object that a lambda makes
class Stats:
    def __init__(self, x: Tensor) -> None:
        self.x = x

    @property
    def total(self) -> float:
        return float(self.x.sum().item())  # E: item: a value that varies over "a" has no single value to read


vmap(lambda a: a * Stats(a).total)(X)
