"""Functions of tensors that are given to others, and functions with rules, in a file that does not know `Vec`."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, Generic, ParamSpec, TypeVar, TypeVarTuple, assert_type

from tinygrad import Tensor

from branded import custom_jvp, custom_vjp, grad, vmap

T = TypeVar("T")
U = TypeVar("U")
P = ParamSpec("P")
Ts = TypeVarTuple("Ts")


@dataclass(frozen=True)
class Box(Generic[T]):
    value: T

    def map(self, f: Callable[[T], U]) -> "Box[U]":
        return Box(f(self.value))


def apply(f: Callable[[T], U], x: T) -> U:
    return f(x)


def call(f: Callable[[T, U], Tensor], x: T, y: U) -> Tensor:
    return f(x, y)


def call_with(f: Callable[P, Tensor], *args: P.args, **kwargs: P.kwargs) -> Tensor:
    return f(*args, **kwargs)


def call_all(f: Callable[[*Ts], Tensor], *args: *Ts) -> Tensor:
    return f(*args)


def times(x: Tensor, k: float) -> Tensor:
    return x * k


def largest(x: Tensor) -> Tensor:
    return x / x.max()


def traced(f: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    return f


held = traced(largest)
X = Tensor.ones(3, 2)

# --- functions of tensors, given to generic functions with batched values
assert_type(vmap(lambda x: Box(x).map(largest).value)(X), Tensor)
assert_type(vmap(lambda x: Box(x).map(held).map(largest).value)(X), Tensor)
assert_type(vmap(lambda x: apply(largest, x))(X), Tensor)
assert_type(vmap(lambda x: vmap(lambda y: apply(held, x * y))(X))(X), Tensor)
assert_type(vmap(lambda x: sum(map(largest, [x, x]), x))(X), Tensor)
assert_type(vmap(lambda x: reduce(lambda y, f: f(y), [largest, held], x))(X), Tensor)
assert_type(apply(largest, X), Tensor)

# --- functions whose parameters are type variables, and whose result is declared as a tensor
assert_type(vmap(lambda x: call(lambda y, k: y * k, x, 2.0))(X), Tensor)
assert_type(vmap(lambda x: call_with(lambda y, k: y * k, x, 2.0))(X), Tensor)
assert_type(vmap(lambda x: call_all(lambda y, k: y * k, x, 2.0))(X), Tensor)
assert_type(vmap(lambda x: call(times, x, 2.0))(X), Tensor)
assert_type(vmap(lambda x: call_with(times, x, k=2.0))(X), Tensor)
assert_type(vmap(lambda x: call_all(times, x, 2.0))(X), Tensor)
assert_type(call_all(times, X, 2.0), Tensor)

# --- defaults of a lambda
assert_type([vmap(lambda x, n=n: (x**n).sum())(X) for n in (1, 2)], list[Tensor])
assert_type(vmap(lambda x, y, n=2, m=3: (x**n * y).sum() * m)(X, X), Tensor)


# --- functions of tensors with rules of their own
@custom_vjp
def scaled(x: Tensor, k: float) -> Tensor:
    return x * k


@custom_jvp
def product(x: Tensor, y: Tensor) -> Tensor:
    return x * y


@product.defjvp
def product_jvp(primals: Any, tangents: Any) -> Any:
    (x, y), (dx, dy) = primals, tangents
    return product(x, y), x * dy + y * dx


assert_type(vmap(scaled, in_axes=(0, None))(X, 2.0), Tensor)
assert_type(vmap(product, in_axes=(0, None))(X, X[0]), Tensor)
assert_type(vmap(lambda x: vmap(lambda y: product(x, y) + scaled(y, 2.0))(X))(X), Tensor)
assert_type(vmap(partial(product, X[0]))(X), Tensor)
assert_type(vmap(grad(lambda x: product(x, x).sum()))(X), Tensor)


# --- a function that is returned uses the batched values around it
def divided(k: Tensor) -> Callable[[Tensor], Tensor]:
    def inner(x: Tensor) -> Tensor:
        return x / k

    return inner


def step(f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    return x + f(x)


def steps(k: Tensor, x: Tensor) -> Tensor:
    f = divided(k)
    return step(f, step(f, x))


assert_type(vmap(lambda k: vmap(lambda x: steps(k, x))(X))(X), Tensor)
assert_type(vmap(lambda k: steps(k, X[0]))(X), Tensor)


# --- a lambda of which a generic function returns a variant
def twice(f: Callable[[T], T]) -> Callable[[T], T]:
    return lambda x: f(f(x))


assert_type(vmap(twice(lambda x: x / 2))(X), Tensor)
assert_type(vmap(twice(twice(lambda x: x.sum() * x)))(X), Tensor)
assert_type(vmap(lambda x: vmap(twice(lambda y: x * y))(x))(X), Tensor)


def both(f: Callable[[Tensor], Tensor], g: Callable[[Tensor], Tensor]) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
    return lambda x: (f(x), g(x))


assert_type(vmap(both(lambda x: x.min(), lambda x: x.max()))(X), tuple[Tensor, Tensor])


def power(n: int) -> Callable[[Tensor], Tensor]:
    return lambda x: (x**n).sum()


assert_type(vmap(grad(power(2)))(X), Tensor)


# --- a function that closes over a batched value, for a parameter that is called with other batched values
def scaled_by(k: Tensor) -> Callable[[Tensor], Tensor]:
    return lambda x: (x * k).sum()


def mean_of(f: Callable[[Tensor], Tensor], scale: Tensor) -> Tensor:
    return vmap(lambda x: f(x * scale))(X).mean()


assert_type(vmap(lambda k: mean_of(scaled_by(k), Tensor(2.0)))(X), Tensor)
assert_type(vmap(lambda k: vmap(lambda s: mean_of(scaled_by(k), s))(X[0]))(X), Tensor)


# --- a mapped lambda with a default
weighted = vmap(lambda x, w=X[0]: (x * w).sum())
assert_type(weighted(X), Tensor)
assert_type(vmap(lambda x, *, k=2.0: x * k)(X), Tensor)
powers = [vmap(lambda x, i=i: x * i) for i in range(2)]
assert_type(powers[1](X), Tensor)


# --- dataclasses.replace of a class without brands, with batched fields
@dataclass(frozen=True)
class Sized:
    value: Tensor
    size: int = 0


assert_type(vmap(lambda x: replace(Sized(x), value=x * 2, size=1).value)(X), Tensor)


# --- a lambda of a number of arguments that is unknown
def sums(*xs: Tensor) -> Tensor:
    assert_type(vmap(lambda a, b: a + b, in_axes=(0,) * len(xs))(*xs), Tensor)
    assert_type(vmap(lambda k, a, b: k * (a + b), in_axes=(None, 0, 0))(2.0, *xs), Tensor)
    return vmap(lambda a, b: a + b)(*xs)


def products(xs: list[Tensor]) -> Tensor:
    return vmap(lambda a, b: a * b)(*xs)


assert_type(sums(X, X) + products([X, X]), Tensor)


# --- a type variable of tensors and of pairs of tensors
C = TypeVar("C", Tensor, tuple[Tensor, Tensor])


def doubled(x: C, factor: float = 2.0) -> C:
    if isinstance(x, tuple):
        return x[0] * factor, x[1] * factor
    return x * factor


assert_type(vmap(lambda x: doubled((x, X[0]))[0] + doubled(x))(X), Tensor)
assert_type(vmap(lambda x: doubled((X[0], x), factor=3.0))(X), tuple[Tensor, Tensor])
