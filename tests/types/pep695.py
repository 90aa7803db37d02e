"""Rows as type parameters, for Python 3.12 and later."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Never, Protocol, TypedDict, assert_type, reveal_type

from tinygrad import Tensor

from branded import Brand, Vec, brand, cond, custom_vjp, grad, pmean, psum, scan, value_and_grad, vjp, vmap, while_loop

x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
X = Tensor.ones(2, 2)

type Scalar[S: Brand] = Vec[S, Tensor]
type Pair[S: Brand] = tuple[Vec[S], Vec[S]]
type Params[S: Brand] = dict[str, Vec[S]]
type Tree[S: Brand] = Vec[S] | dict[str, Tree[S]]
type Body[S: Brand] = Callable[[Vec[S]], Vec[S]]


class Users(Brand): ...


class Items(Brand): ...


def double[S: Brand](a: Vec[S]) -> Vec[S]:
    return a * 2


def add[S1: Brand, S2: Brand](a: Vec[S1], b: Vec[S2]) -> Vec[S1 | S2]:
    return a + b


@dataclass(frozen=True)
class State[S: Brand]:
    position: Vec[S]
    speed: Scalar[S]


class Point[S: Brand](NamedTuple):
    u: Vec[S]
    v: Vec[S]


class Layer[P: Brand]:
    def __init__(self, w: Vec[P]) -> None:
        self.w = w

    def __call__[S: Brand](self, a: Vec[S]) -> Vec[S | P]:
        return a * self.w


# --- a generic function, called at once
assert_type(vmap(double)(x), Tensor)

# --- a generic function of two rows
assert_type(vmap(add)(x, y), Tensor)
assert_type(vmap(vmap(add, in_axes=(None, 0)), in_axes=(0, None))(x, y), Tensor)

# --- a generic function, stored
stored = vmap(double)
assert_type(stored(x), Tensor)


# --- a generic function, decorated
@vmap
def decorated[S: Brand](a: Vec[S], *, scale: Vec[S]) -> tuple[Vec[S], State[S]]:
    return a * scale, State(a, scale)


assert_type(decorated(x, scale=y), tuple[Tensor, State[Never]])


# --- a generic function, decorated with options
@vmap(in_axes=(None, 0))
def with_options[S: Brand](w: Tensor, a: Vec[S]) -> Vec[S]:
    return (w * a).sum()


assert_type(with_options(x, y), Tensor)

# --- a partial of a generic function
assert_type(vmap(partial(add, x))(y), Tensor)


# --- an alias of a Vec
def aliased[S: Brand](a: Scalar[S]) -> Scalar[S]:
    return a * 2


assert_type(vmap(aliased)(x), Tensor)


# --- an alias in a lambda's result
assert_type(vmap(lambda a: aliased(a))(x), Tensor)


# --- an alias of a tuple
def swap[S: Brand](p: Pair[S]) -> Pair[S]:
    return p[1], p[0]


assert_type(vmap(swap)((x, y)), tuple[Tensor, Tensor])


# --- an alias of a dict
def by_key[S: Brand](p: Params[S]) -> Vec[S]:
    return p["w"] + p["b"]


params: dict[str, Tensor] = {"w": x, "b": y}
assert_type(vmap(by_key)({"w": x, "b": y}), Tensor)


# --- an alias of a dict, as a result
def init[S: Brand](a: Vec[S]) -> Params[S]:
    return {"w": a}


assert_type(vmap(init)(x), dict[str, Tensor])


# --- a recursive alias
def mapped(tree: Tree[Never]) -> Tree[Never]:
    return vmap(lambda t: t)(tree)


# --- a recursive alias in a function
def leaf[S: Brand](t: Tree[S]) -> Vec[S]:
    return leaf(next(iter(t.values()))) if isinstance(t, dict) else t


def mapped_leaf(tree: Tree[Never]) -> Tensor:
    return vmap(leaf)(tree)


# --- a recursive alias has the brand within
def seen(tree: Tree[Never]) -> None:
    vmap(lambda t: reveal_type(t))(tree)  # N: Vec[t,


# --- an alias of a function
def apply[S: Brand](f: Body[S], a: Vec[S]) -> Vec[S]:
    return f(a)


assert_type(vmap(lambda a: apply(double, a))(x), Tensor)

# --- a generic dataclass as an argument
assert_type(vmap(lambda s: s.position + s.speed)(State(x, y)), Tensor)

# --- a generic dataclass as a result
assert_type(vmap(lambda s: State(s.position + s.speed, s.speed))(State(x, y)), State[Never])
assert_type(vmap(lambda a: State(a, a))(x).position, Tensor)

# --- a generic NamedTuple
assert_type(vmap(lambda p: Point(p.v, p.u))(Point(x, y)).u, Tensor)

# --- a generic class that can be called
assert_type(vmap(Layer(y))(x), Tensor)
assert_type(vmap(lambda w: vmap(lambda a: Layer(w)(a))(X))(X), Tensor)


# --- a generic method
class Model:
    def __init__(self) -> None:
        self.w = y

    def step[S: Brand](self, a: Vec[S]) -> Vec[S]:
        return a * self.w


assert_type(vmap(Model().step)(x), Tensor)


# --- functions within functions
def outer[S: Brand](a: Vec[S]) -> Vec[S]:
    def inner[S1: Brand](b: Vec[S1]) -> Vec[S | S1]:
        return a + b

    out = vmap(inner)(y)
    assert_type(out, Vec[S])
    return out


assert_type(vmap(outer)(x), Tensor)


# --- a closure in a function of an open row
def closing[S: Brand](a: Vec[S]) -> Vec[S]:
    return vmap(lambda b: a + b)(y)


# --- a row and a type as parameters
def keep[S: Brand, T](n: T, a: Vec[S]) -> tuple[T, Vec[S]]:
    return n, a


assert_type(vmap(lambda a: keep("n", a), out_axes=(None, 0))(x), tuple[str, Tensor])


# --- a Protocol with a generic method
class Step(Protocol):
    def __call__[S: Brand](self, a: Vec[S], /) -> Vec[S]: ...


def twice(f: Step, values: Tensor) -> Tensor:
    return vmap(f)(vmap(f)(values))


assert_type(twice(double, x), Tensor)


# --- a named brand next to a type parameter
def beside[S: Brand](u: Vec[Users], a: Vec[S]) -> Vec[Users | S]:
    return u + a


assert_type(vmap(lambda a: vmap(lambda u: beside(u, a), axis_name=Users)(x))(y), Tensor)

# --- a generic function in `with brand(...)`
with brand(Users, 2) as users, brand("p", 2) as p:
    assert_type(users.unvec(p.unvec(add(users.vec(x), p.vec(y)))), Tensor)


# --- a subclass of a generic class
class Deep[P: Brand](Layer[P]):
    def __call__[S: Brand](self, a: Vec[S]) -> Vec[S | P]:
        return super().__call__(a).relu()


assert_type(vmap(Deep(y))(x), Tensor)


# --- a TypedDict with a type parameter
class Weights[S: Brand](TypedDict):
    w: Vec[S]


def weigh[S: Brand](p: Weights[S], a: Vec[S]) -> Vec[S]:
    return p["w"] * a


assert_type(vmap(lambda a: weigh({"w": a}, a))(x), Tensor)


# --- derivatives
def loss[S: Brand, S1: Brand](w: Vec[S], a: Vec[S1]) -> Vec[S | S1]:
    return (w * a).sum()


def descend[S: Brand, S1: Brand](w: Vec[S], a: Vec[S1]) -> Vec[S | S1]:
    return w - grad(loss)(w, a)


assert_type(vmap(grad(loss), in_axes=(None, 0))(x, X), Tensor)
assert_type(vmap(descend, in_axes=(None, 0))(x, X), Tensor)
assert_type(value_and_grad(loss, argnums=(0, 1))(x, y), tuple[Tensor, tuple[Tensor, Tensor]])
assert_type(vjp(loss, x, y)[1](Tensor(1.0)), tuple[Tensor, Tensor])


# --- derivatives of trees
def energy[S: Brand](s: State[S]) -> Vec[S]:
    return (s.position * s.speed).sum()


def by_name[S: Brand](p: Weights[S]) -> Vec[S]:
    return p["w"].sum()


assert_type(grad(energy)(State(x, y)), State[Never])
assert_type(vmap(grad(energy))(State(X, X)).speed, Tensor)
assert_type(grad(lambda p: by_name({"w": p}))(x), Tensor)


# --- loops and branches
def running[S: Brand, S1: Brand](c: Vec[S], a: Vec[S1]) -> tuple[Vec[S | S1], Vec[S]]:
    return c + a, c


def largest[S: Brand](a: Vec[S]) -> Vec[S]:
    assert_type(scan(running, Tensor(0.0), a), tuple[Vec[S], Vec[S]])
    return cond(a.sum() > 1, lambda: while_loop(lambda c: c < 10, lambda c: c * 2 + 1, a.sum()), lambda: a.sum())


assert_type(vmap(largest)(X), Tensor)


# --- collectives
def centered[S: Brand](u: Vec[Users | S]) -> Vec[Users | S]:
    return u - pmean(u, Users)


def total[S: Brand](u: Vec[Users | S]) -> Vec[S]:
    return psum(u, Users)


assert_type(vmap(lambda u: centered(u), axis_name=Users)(x), Tensor)


# --- a function with a custom rule
@custom_vjp
def product[S: Brand, S1: Brand](a: Vec[S], b: Vec[S1]) -> Vec[S | S1]:
    return a * b


assert_type(product(x, y), Tensor)
assert_type(vmap(lambda a: vmap(lambda b: product(a, b))(y))(x), Tensor)


# --- a gradient is declared without a row that it has
def wrong_slope[S: Brand, S1: Brand](w: Vec[S], a: Vec[S1]) -> Vec[S]:
    return grad(loss)(w, a)  # E: Incompatible return value type (got "Vec[S | S1, Tensor]", expected "Vec[S, Tensor]")


# --- a sum over one of two brands is declared plain
def wrong_total(u: Vec[Users | Items]) -> Tensor:
    return psum(u, Users)  # E: Incompatible return value type (got "Vec[Items, Tensor]", expected "Tensor")


# --- a carry of another tree
def wrong_carry[S: Brand](a: Vec[S]) -> Vec[S]:
    scan(lambda c, b: ((c, b), None), a, X)  # E: scan: the carry has another structure after a step than before
    return a


# --- the declared row is not that of the body
def wrong[S1: Brand, S2: Brand](a: Vec[S1], b: Vec[S2]) -> Vec[S1]:
    return a + b  # E: Incompatible return value type (got "Vec[S1 | S2, Tensor]", expected "Vec[S1, Tensor]")


# --- a body that is not generic
def monomorphic(a: Tensor) -> Tensor:
    return a * 2


vmap(monomorphic)(x)  # E: argument 1 is mapped, but monomorphic wants "Tensor" for one example


# --- an escape by a function
def closure[S: Brand](a: Vec[S]) -> Callable[[], Vec[S]]:
    return lambda: a


vmap(closure)(x)  # E: escape: brand "a" of this vmap is still in the result after it


# --- a type parameter without the bound Brand
def no_brand[T](a: Vec[T]) -> Tensor:  # E: Type argument "T" of "Vec" must be a subtype of "Brand"
    return x


# --- an alias without its row
def no_row(a: Scalar) -> Tensor:  # E: Missing type arguments
    return x


# --- a class without its row
def no_state(s: State) -> Tensor:  # E: Missing type arguments for generic type "State"
    return x
