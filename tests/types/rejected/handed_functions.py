"""Mistakes in functions that are given to others and in functions with rules, in a file that does not know `Vec`."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, TypeVarTuple

from tinygrad import Tensor

from branded import custom_jvp, vmap

T = TypeVar("T")
U = TypeVar("U")
P = ParamSpec("P")
Ts = TypeVarTuple("Ts")
X = Tensor.ones(3, 2)


def apply(f: Callable[[T], U], x: T) -> U:
    return f(x)


def call_with(f: Callable[P, Tensor], *args: P.args, **kwargs: P.kwargs) -> Tensor:
    return f(*args, **kwargs)


def call_all(f: Callable[[*Ts], Tensor], *args: *Ts) -> Tensor:
    return f(*args)


def positive(f: Callable[[*Ts], Tensor], *args: *Ts) -> Tensor:
    y = f(*args)
    return y if y > 0 else -y  # E: bool: a value that varies over "x" has no single truth value


def reader(x: Tensor) -> Tensor:
    return x / x.max().item()


def largest(x: Tensor) -> Tensor:
    return x / x.max()


# --- a function that reads, given to a generic function
vmap(lambda x: apply(reader, x))(X)  # E: Argument 1 to "apply" has incompatible type
vmap(lambda x: next(map(reader, [x, x])))(X)  # E: Argument 1 to "map" has incompatible type

# --- the result of a function that was given to another one
vmap(lambda x: apply(largest, x).item())(X)  # E: item: a value that varies over "x" has no single value to read
vmap(lambda x: apply(largest, x), out_axes=None)(X)  # E: out_axes: None needs a result that is the same
vmap(lambda x: call_with(lambda y: y + y, x).item())(X)  # E: item: a value that varies over "x" has no single value
vmap(lambda x: call_all(largest, x).item())(X)  # E: item: a value that varies over "x" has no single value to read
vmap(lambda x: positive(largest, x))(X)


# --- a read in a function with a rule of its own
@custom_jvp
def normalized(x: Tensor) -> Tensor:
    return x / x.sum().item()  # E: item: a value that varies over "x" has no single value to read


vmap(normalized)(X)


# --- a read of a result that depends on the batched values of a function that was returned
def divided(k: Tensor) -> Callable[[Tensor], Tensor]:
    return lambda x: x / k


def steps(k: Tensor, x: Tensor) -> Tensor:
    f = divided(k)
    return x * f(Tensor.ones(2)).max().item()  # E: item: a value that varies over "k" has no single value to read


vmap(lambda k: steps(k, X[0]))(X)
vmap(lambda k: steps(k, k))(X)
