"""vmap under other names, and stored options of vmap."""

from functools import partial
from typing import TypeVar, assert_type

from tinygrad import Tensor

from branded import Brand, Vec, lift, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
again = vmap
second = partial(vmap, in_axes=(None, 0))


# --- partial(vmap, ...) as a decorator, the idiom of JAX
@partial(vmap, in_axes=(None, 0))
def shifted(a: Vec[S], b: Vec[S1]) -> Vec[S | S1]:
    return a + b


assert_type(shifted(x, y), Tensor)

# --- partial(vmap, ...) of a lambda, called at once
assert_type(partial(vmap, in_axes=(None, 0))(lambda a, b: a + b)(x, y), Tensor)

# --- partial(vmap, ...) of a lambda, called later
stored = partial(vmap, in_axes=(None, 0))(lambda a, b: a + b)
assert_type(stored(x, y), Tensor)

# --- options kept in a variable
assert_type(second(lambda a, b: (a * b).sum())(x, y), Tensor)

# --- options given before the function
assert_type(vmap(in_axes=1, out_axes=1)(lambda a: a.exp())(Tensor.ones(2, 3)), Tensor)

# --- vmap by another name
assert_type(again(lambda a: a + 1)(x), Tensor)
assert_type(again(lambda a: again(lambda b: a + b)(y))(x), Tensor)


# --- vmap by another name within a function
def within(a: Vec[S]) -> Vec[S]:
    v = vmap
    return v(lambda b: a + b)(y)


assert_type(vmap(within)(x), Tensor)

# --- a stored lambda whose parameters are trees: its body is looked at where it is called
params = {"w": x, "b": y}
predict = vmap(lambda p, a: (p["w"] * a).sum() + p["b"], in_axes=(None, 0))
assert_type(predict(params, x), Tensor)
assert_type(vmap(lambda a: predict(params, a))(Tensor.ones(3, 2)), Tensor)


# --- a stored lambda over a tree, within a function
def by_key(a: Vec[S]) -> Vec[S]:
    local = vmap(lambda d: d["w"] + a)
    return local(params)


assert_type(vmap(by_key)(x), Tensor)


# --- lift as a decorator: each parameter that holds tensors has a row of its own, and no other
@lift
def scores(p: dict[str, Tensor], a: Tensor, times: int = 1, *, shift: float = 0.0) -> tuple[Tensor, Tensor]:
    return (p["w"] * a).sum() * times + shift, p["b"]


assert_type(scores(params, x, 2, shift=1.0), tuple[Tensor, Tensor])
assert_type(vmap(lambda a: scores(params, a)[0])(Tensor.ones(3, 2)), Tensor)
assert_type(vmap(scores, in_axes=(None, 0))(params, Tensor.ones(3, 2)), tuple[Tensor, Tensor])


# --- lift of a function of four tensors
def four(a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> Tensor:
    return a + b * c * d


def of_four(a: Vec[S], b: Vec[S1]) -> Vec[S | S1]:
    return lift(four)(a, y, b, a)


assert_type(vmap(of_four)(x, y), Tensor)
