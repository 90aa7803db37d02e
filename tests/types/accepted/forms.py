"""The forms of calling vmap."""

from collections.abc import Callable, Iterable
from functools import partial, reduce, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypedDict, TypeVar, assert_type, overload, reveal_type

import numpy as np
from tinygrad import Tensor, TinyJit, nn

import branded
import branded as br
from branded import Brand, Vec, memory, vmap
from branded import vmap as batched
from branded.tools.memory_report import Memory

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
X = Tensor.ones(2, 4)


def double(a: Vec[S]) -> Vec[S]:
    return a * 2


def add(a: Vec[S1], b: Vec[S2]) -> Vec[S1 | S2]:
    return a + b


# --- a named function, called at once
assert_type(vmap(double)(x), Tensor)

# --- a lambda, called at once
assert_type(vmap(lambda a: a + y)(x), Tensor)
reveal_type(vmap(lambda a: vmap(lambda b: reveal_type(a + b))(y))(x))  # N: Vec[a | b,  N: "tinygrad

# --- the parameter of a lambda has the type of one example
vmap(lambda a: reveal_type(a))(x)  # N: Vec[a,

# --- zip: two parameters of one vmap share a brand
vmap(lambda a, b: reveal_type(a + b))(x, y)  # N: Vec[a,

# --- a named function of two rows
assert_type(vmap(add)(x, y), Tensor)

# --- stored, called later, and more than once
stored = vmap(double)
assert_type(stored(x), Tensor)
assert_type(stored(y), Tensor)

# --- a stored lambda
stored_lambda = vmap(lambda a, b: a + b)
assert_type(stored_lambda(x, y), Tensor)

# --- a stored lambda, called in the body of another vmap
inner_lambda = vmap(lambda a: a.exp())
assert_type(vmap(lambda r: inner_lambda(r).sum())(X), Tensor)

# --- a stored function, called in the body of another vmap
stored_double = vmap(double)
assert_type(vmap(lambda r: stored_double(r).sum())(X), Tensor)


# --- a decorator
@vmap
def decorated(a: Vec[S], b: Vec[S]) -> Vec[S]:
    return a + b


assert_type(decorated(x, y), Tensor)


# --- a decorator with options
@vmap(in_axes=(0, None))
def with_options(a: Vec[S], b: Tensor) -> Vec[S]:
    return (a + b).sum()


assert_type(with_options(x, y), Tensor)


# --- a decorator with out_axes only
@vmap(out_axes=1)
def out_last(a: Vec[S]) -> Vec[S]:
    return a.exp()


assert_type(out_last(X), Tensor)


# --- a decorated function in the body of another vmap
@vmap
def row_double(a: Vec[S]) -> Vec[S]:
    return a * 2


assert_type(vmap(lambda r: row_double(r).sum())(X), Tensor)

# --- functools.partial
assert_type(vmap(partial(add, x))(y), Tensor)


# --- functools.partial of a keyword argument
def scaled(a: Vec[S], *, by: float) -> Vec[S]:
    return a * by


assert_type(vmap(partial(scaled, by=2.0))(x), Tensor)

# --- functools.partial over a value of an outer brand
assert_type(vmap(lambda a: vmap(partial(add, a))(y))(x), Tensor)


# --- a method
class Model:
    def __init__(self) -> None:
        self.w = Tensor([3.0, 4.0])

    def step(self, a: Vec[S]) -> Vec[S]:
        return (a * self.w).sum()

    def all_steps(self, xs: Tensor) -> Tensor:
        return vmap(self.step)(xs)

    @staticmethod
    def square(a: Vec[S]) -> Vec[S]:
        return a * a

    @classmethod
    def make(cls, a: Vec[S]) -> Vec[S]:
        return a + 1


assert_type(vmap(Model().step)(x), Tensor)
assert_type(Model().all_steps(x), Tensor)

# --- static methods and class methods
assert_type(vmap(Model.square)(x), Tensor)
assert_type(vmap(Model.make)(x), Tensor)

# --- a method of Vec, by its class
assert_type(vmap(Vec.exp)(x), Tensor)


# --- a decorated method
class Net:
    @vmap(in_axes=(None, 0))
    def __call__(self, a: Vec[S]) -> Vec[S]:
        return a * 2


assert_type(Net()(x), Tensor)


# --- an instance that can be called
class Affine:
    def __init__(self, w: Tensor) -> None:
        self.w = w

    def __call__(self, a: Vec[S]) -> Vec[S]:
        return a * self.w


assert_type(vmap(Affine(y))(x), Tensor)

# --- a layer of tinygrad.nn
layer = nn.Linear(4, 3)
assert_type(vmap(layer)(X), Tensor)
assert_type(vmap(nn.LayerNorm(4))(X), Tensor)

# --- layers in a lambda
hidden, last = nn.Linear(4, 8), nn.Linear(8, 1)
assert_type(vmap(lambda r: last(hidden(r).relu()).sum())(X), Tensor)


# --- an overloaded function
@overload
def norm(a: Tensor) -> Tensor: ...
@overload
def norm(a: Vec[S]) -> Vec[S]: ...
def norm(a: Any) -> Any:
    return a / a.sum()


assert_type(vmap(norm)(X), Tensor)
assert_type(vmap(lambda r: norm(r))(X), Tensor)


# --- keyword arguments are mapped over axis 0
def affine(a: Vec[S], *, shift: Vec[S]) -> Vec[S]:
    return a + shift


assert_type(vmap(affine)(x, shift=y), Tensor)

# --- keyword arguments of a lambda
assert_type(vmap(lambda a, shift: a + shift)(x, shift=y), Tensor)


# --- keyword arguments only
def by_name(*, a: Vec[S], b: Vec[S]) -> Vec[S]:
    return a - b


assert_type(vmap(by_name)(a=x, b=y), Tensor)


# --- a positional parameter that is given by its name
def minus(a: Vec[S], b: Vec[S]) -> Vec[S]:
    return a - b


assert_type(vmap(minus)(x, b=y), Tensor)

# --- star-arguments of known length
assert_type(vmap(add)(*(x, y)), Tensor)
assert_type(vmap(lambda a, b: a + b)(*(x, y)), Tensor)


# --- star-arguments of unknown length
def total(*rows: Vec[S]) -> Vec[S]:
    return rows[0] + rows[-1]


pair: tuple[Tensor, ...] = (x, y)
assert_type(vmap(total)(*pair), Tensor)

# --- a function of star-parameters
assert_type(vmap(total)(x, y, x), Tensor)


# --- a parameter with a default is left out
def power(a: Vec[S], n: int = 2) -> Vec[S]:
    return a**n


assert_type(vmap(power)(x), Tensor)
assert_type(vmap(lambda a, n=2: a**n)(x), Tensor)

# --- a parameter with a default is given
assert_type(vmap(power, in_axes=(0, None))(x, 3), Tensor)

# --- vmap of vmap
assert_type(vmap(vmap(add, in_axes=(None, 0)), in_axes=(0, None))(x, y), Tensor)

# --- vmap of vmap of vmap, of one argument
assert_type(vmap(vmap(vmap(double)))(Tensor.ones(2, 3, 4)), Tensor)

# --- vmap of a stored lambda
twice = vmap(lambda a: a * 2)
assert_type(vmap(twice)(X), Tensor)

# --- vmap of vmap of a lambda
assert_type(vmap(vmap(lambda a, b: a * b, in_axes=(None, 0)), in_axes=(0, None))(x, y), Tensor)

# --- declared as a Tensor
by_name_declared: Tensor = vmap(double)(x)
by_lambda_declared: Tensor = vmap(lambda a: a + y)(x)
by_partial_declared: Tensor = vmap(partial(add, x))(y)
by_method_declared: Tensor = vmap(Model().step)(x)
by_layer_declared: Tensor = vmap(layer)(X)
nested_declared: Tensor = vmap(lambda a: vmap(lambda b: a + b)(y))(x)
stored_declared: Tensor = stored(x)
decorated_declared: Tensor = decorated(x, y)

# --- declared as a Vec of the empty row, or as an object
anything: object = vmap(lambda a: a + y)(x)

# --- vmap by another name, and by its module
assert_type(batched(lambda a: a * 2)(x), Tensor)
assert_type(branded.vmap(lambda a: a * 2)(x), Tensor)
assert_type(br.vmap(double)(x), Tensor)

# --- vmap(f) as an argument of map()
assert_type(list(map(vmap(double), [x, y])), list[Tensor])


# --- vmap(f) as an argument of a function of functions
def apply(f: Callable[[Tensor], Tensor], a: Tensor) -> Tensor:
    return f(a)


assert_type(apply(vmap(double), x), Tensor)
assert_type(apply(vmap(lambda a: a * 2), x), Tensor)

# --- vmap(f) where a function type is declared
declared: Callable[[Tensor, Tensor], Tensor] = vmap(add)
assert_type(declared(x, y), Tensor)

# --- vmap(f) in a list of functions
functions: list[Callable[[Tensor], Tensor]] = [vmap(double), vmap(lambda a: a + 1)]
assert_type([f(x) for f in functions], list[Tensor])

# --- in a comprehension, and in arguments
assert_type([vmap(lambda a: a + b)(x) for b in (x, y)], list[Tensor])
assert_type(vmap(double)(x).stack(vmap(double)(y)), Tensor)

# --- numpy arrays are mapped as tensors
assert_type(vmap(lambda a: a * 2)(np.ones((2, 3))), Tensor)
assert_type(vmap(lambda a: a[np.array([0, 1])] + a[np.array([True, False, True, False])].sum())(X), Tensor)

# --- a stored lambda with star-parameters
added = vmap(lambda *ys: ys[0] + ys[1])
assert_type(added(X, X), Tensor)

# --- a lambda with star-parameters
assert_type(vmap(lambda *ys: ys[0] * ys[1])(X, X), Tensor)
assert_type(vmap(lambda *ys: ys[0] * ys[1].sum().item(), in_axes=(0, None))(X, X), Tensor)
assert_type(vmap(lambda *ys: sum(ys))(X, X), Tensor)
assert_type(vmap(lambda *ys, scale=2: ys[0] * scale)(X, X), Tensor)
assert_type(vmap(lambda a, *rest, **kw: a * rest[0] + kw["b"] if rest else a)(X, X, b=X), Tensor)
assert_type(vmap(lambda *ys: ys[0] * ys[1])(*[X, X]), Tensor)


# --- a dict that fills the parameters of a lambda
class Pair(TypedDict):
    a: Tensor
    b: Tensor


def of_dicts(d: dict[str, Tensor], pair: Pair) -> None:
    assert_type(vmap(lambda a, b, n=2: a * b**n)(**d), Tensor)
    assert_type(vmap(lambda a, **kw: a * kw["b"])(**d), Tensor)
    assert_type(vmap(lambda a, b: a * b)(**pair), Tensor)
    assert_type(vmap(lambda **kw: kw["a"] * kw["b"])(**pair), Tensor)


of_dicts({"a": X, "b": X}, {"a": X, "b": X})

# --- a walrus and an if-expression of shared values
flag = len(x.shape) == 1
assert_type(vmap(lambda a: (b := a + 1) * b if flag else a)(x), Tensor)


# --- in a generator
def first(values: Iterable[Tensor]) -> Tensor:
    return next(vmap(lambda a: a + 1)(v) for v in values)


assert_type(first([x, y]), Tensor)


# --- in a default
def biased(a: Tensor, start: Tensor = vmap(lambda a: a + 1)(x)) -> Tensor:  # noqa: B008
    return a + start


assert_type(biased(x), Tensor)


# --- in a class body, a method and a property
class Cached:
    start = vmap(lambda a: a * 2)(x)

    def __init__(self) -> None:
        self.later = vmap(lambda a: a + self.start.sum())(x)

    @property
    def both(self) -> Tensor:
        return vmap(lambda a, b: a + b)(self.start, self.later)


assert_type(Cached().both, Tensor)

# --- an argument that is another vmap
assert_type(vmap(lambda a: a + 1)(vmap(lambda a: a * 2)(x)), Tensor)


# --- an object of unknown type
def unknown(values: Any) -> Any:
    return vmap(double)(values)


# --- chunk_size, randomness and axis_size do not change the type
assert_type(vmap(double, chunk_size=2, randomness="same", axis_size=2)(x), Tensor)
assert_type(vmap(double, chunk_size="auto", memory_limit="2GB")(x), Tensor)
assert_type(vmap(double, chunk_size=2, progress=True, save=Path("run"))(x), Tensor)
assert_type(memory(vmap(double))(x), Memory)

# --- a conditional function
either = vmap(double if flag else Model.square)
assert_type(either(x), Tensor)

# --- a result that does not vary
assert_type(vmap(lambda a: y, out_axes=0)(x), Tensor)
assert_type(vmap(lambda a: (y, a), out_axes=0)(x), tuple[Tensor, Tensor])
assert_type(vmap(lambda a: y)(x), Tensor)  # N: vmap: the result does not vary over "a", so it is repeated for each exam

# --- a result of None
nothing: None = vmap(lambda a: None)(x)


# --- a function without annotations gets a note
def untyped(a):  # type: ignore[no-untyped-def]
    return a


vmap(untyped)(x)  # N: checked


# --- a method of Tensor, by its class
assert_type(vmap(Tensor.exp)(x), Tensor)
assert_type(vmap(Tensor.matmul)(X, X), Tensor)


# --- a network
class Network:
    def __init__(self) -> None:
        self.hidden = nn.Linear(4, 4)

    def __call__(self, a: Vec[S]) -> Vec[S]:
        return self.hidden(a).relu().sum()


assert_type(vmap(Network())(X), Tensor)


# --- realize in a body computes nothing yet, so it reads nothing
assert_type(vmap(lambda a: (a + 1).realize())(X), Tensor)


# --- TinyJit around vmap
@TinyJit
def jitted(values: Tensor) -> Tensor:
    return vmap(lambda a: a * 2)(values).realize()


assert_type(jitted(x), Tensor)


# --- a function that another decorator has wrapped
P = ParamSpec("P")
R = TypeVar("R")


def logged(f: Callable[P, R]) -> Callable[P, R]:
    @wraps(f)
    def inner(*args: P.args, **kwargs: P.kwargs) -> R:
        return f(*args, **kwargs)

    return inner


@logged
def wrapped(a: Vec[S]) -> Vec[S]:
    return a * 2


assert_type(vmap(wrapped)(x), Tensor)


# --- two decorators, in either order
@vmap
@logged
def inside(a: Vec[S]) -> Vec[S]:
    return a * 2


@logged
@vmap
def outside(a: Vec[S]) -> Vec[S]:
    return a * 2


assert_type(inside(x), Tensor)
assert_type(outside(x), Tensor)

# --- functools.reduce in a body
assert_type(vmap(lambda a: reduce(lambda u, v: u + v, [a, a * 2]))(x), Tensor)


# --- a decorated static method
class Tools:
    @staticmethod
    @vmap
    def double(a: Vec[S]) -> Vec[S]:
        return a * 2


assert_type(Tools.double(x), Tensor)


# --- an asynchronous function
async def soon(values: Tensor) -> Tensor:
    return vmap(lambda a: a * 2)(values)


# --- a value that may be None, after a test
def if_given(values: Tensor | None) -> Tensor:
    if values is None:
        return x
    return vmap(lambda a: a * 2)(values)


# --- positional-only and keyword-only parameters of a lambda
assert_type(vmap(lambda a, /, b: a + b)(x, y), Tensor)
assert_type(vmap(lambda a, *, b: a + b)(x, b=y), Tensor)

# --- the function by its keyword
assert_type(vmap(f=double)(x), Tensor)

# --- an empty list of options
assert_type(vmap()(double)(x), Tensor)
assert_type(vmap(in_axes=0)(double)(x), Tensor)

# --- star-star-arguments
assert_type(vmap(double)(a=x), Tensor)

# --- a lambda of no parameters
assert_type(vmap(lambda: y, axis_size=2)(), Tensor)

# --- either of two mapped functions
assert_type((vmap(lambda a: a) if flag else vmap(double))(x), Tensor)

# --- mapped functions in a dict
by_kind = {"double": vmap(double)}
assert_type(by_kind["double"](x), Tensor)


# --- a mapped function as a result
def make() -> Callable[[Tensor], Tensor]:
    return vmap(lambda a: a * 2)


def make_generic() -> Callable[[Vec[S]], Vec[S]]:
    return vmap(double)


assert_type(make()(x), Tensor)


# --- a function of any arguments that gives a tensor
def of_anything(f: Callable[..., Tensor]) -> Tensor:
    return vmap(f)(x)


# --- a stored vmap within vmap
rows = vmap(lambda a: vmap(lambda b: a + b)(y))
assert_type(rows(x), Tensor)

# --- a stored lambda of in_axes
shifted = vmap(lambda a, b: a + b, in_axes=(0, None))
assert_type(shifted(x, y), Tensor)

# --- signs of axes
assert_type(vmap(double, in_axes=+0)(x), Tensor)
assert_type(vmap(double, in_axes=0 if flag else -1)(x), Tensor)
assert_type(vmap(double, in_axes=(*[0],))(x), Tensor)

# --- in_axes with a star-expression
SHARED = (None,)
assert_type(vmap(lambda a, b: a + b, in_axes=(0, *SHARED))(x, y), Tensor)
several: list[int | None] = [0, None]
assert_type(vmap(lambda a, b: a + b, in_axes=(*several,))(x, y), Tensor)
