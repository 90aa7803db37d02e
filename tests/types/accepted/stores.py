"""Functions of other files that store nothing, and functions that only their types hide."""

from collections.abc import Callable
from typing import Protocol, assert_type

from tinygrad import Tensor

from branded import vmap
from tests.types.other.stores import fresh

X = Tensor([[1.0, 2.0], [3.0, 4.0]])


class Score(Protocol):
    def __call__(self, x: Tensor) -> Tensor: ...


class Model(Protocol):
    def score(self, x: Tensor) -> Tensor: ...


class Linear:
    def __init__(self, w: Tensor) -> None:
        self.w = w

    def score(self, x: Tensor) -> Tensor:
        return (self.w * x).sum()


def total(x: Tensor) -> Tensor:
    return x.sum()


# --- containers of the function itself
assert_type(vmap(fresh)(X), Tensor)
assert_type(vmap(lambda a: fresh(a))(X), Tensor)

# --- functions in variables with declared types
scorer: Score = total
called: Callable[[Tensor], Tensor] = total
assert_type(vmap(scorer)(X), Tensor)
assert_type(vmap(called)(X), Tensor)
assert_type(vmap(lambda a: called(a) * 2)(X), Tensor)

# --- a model behind a Protocol
model: Model = Linear(Tensor([1.0, 2.0]))
assert_type(vmap(model.score)(X), Tensor)
assert_type(vmap(lambda a: model.score(a))(X), Tensor)

# --- a value in a list that is written there
vmap(lambda a: a if a in [a, a] else a * 2)(X)
vmap(lambda a: sorted([a, a + 1], key=len)[0])(X)
