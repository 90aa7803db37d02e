"""Functions that call themselves, that stand in others, and that give one thing or another."""

from typing import reveal_type

from tinygrad import Tensor

from branded import vmap

xs, w = Tensor.ones(3, 4), Tensor.ones(4)


# --- a function that calls itself
def power(x: Tensor, n: int) -> Tensor:
    return x if n == 0 else power(x * 2, n - 1)


vmap(lambda x: reveal_type(power(x, 3)))(xs)  # N: Vec[x, tinygrad.tensor.Tensor]"


# --- a function in another one
def outer() -> Tensor:
    def helper(x: Tensor, w: Tensor) -> Tensor:
        return w * x

    return vmap(lambda x: reveal_type(helper(x, w)))(xs)  # N: Vec[x, tinygrad.tensor.Tensor]"


# --- a variable that is declared
def doubled(x: Tensor) -> Tensor:
    y: Tensor = x * 2
    z: Tensor
    z = y * 3
    return z


vmap(lambda x: reveal_type(doubled(x)))(xs)  # N: Vec[x, tinygrad.tensor.Tensor]"


# --- one thing or another
def either(x: Tensor, flag: bool) -> Tensor:
    if flag:
        return w
    return x


vmap(lambda x: reveal_type(either(x, True)))(xs)  # N: Vec[x, tinygrad.tensor.Tensor]"


def maybe(x: Tensor, flag: bool) -> Tensor | None:
    if flag:
        return None
    return x


vmap(lambda x: reveal_type(maybe(x, False)))(xs)  # N: Vec[x, tinygrad.tensor.Tensor] | None


# --- even and odd
def even(x: Tensor, n: int) -> Tensor:
    return x if n == 0 else odd(x * 2, n - 1)


def odd(x: Tensor, n: int) -> Tensor:
    return x if n == 0 else even(x * 3, n - 1)


vmap(lambda x: reveal_type(even(x, 3)))(xs)  # N: Vec[x, tinygrad.tensor.Tensor]"
