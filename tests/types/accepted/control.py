"""Loops and branches: carries that gain brands, and results that vary over the brands of the condition."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, NamedTuple, Never, TypedDict, TypeVar, assert_type, reveal_type

from tinygrad import Tensor

import branded as br
from branded import (
    Brand,
    Vec,
    associative_scan,
    cond,
    cumlogsumexp,
    fori_loop,
    grad,
    jit,
    jvp,
    psum,
    scan,
    switch,
    value_and_grad,
    vjp,
    vmap,
    while_loop,
)

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)
x, y = Tensor([1.0, 2.0, 3.0]), Tensor([4.0, 5.0])
zero = Tensor(0.0)
X = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


class Users(Brand): ...


class Params(TypedDict):
    w: Tensor
    b: Tensor


class RowParams(TypedDict, Generic[S]):
    w: Vec[S]
    b: Vec[S]


class Point(NamedTuple, Generic[S]):
    u: Vec[S]
    v: Vec[S]


@dataclass
class State(Generic[S]):
    position: Vec[S]
    speed: Vec[S]


def add(c: Vec[S], a: Vec[S1]) -> tuple[Vec[S | S1], Vec[S | S1]]:
    return c + a, c * a


def plain_add(c: Tensor, a: Tensor) -> tuple[Tensor, Tensor]:
    return c + a, c * a


# --- scan of plain tensors is plain
assert_type(scan(lambda c, a: (c + a, c * a), zero, x), tuple[Tensor, Tensor])
assert_type(scan(add, zero, x), tuple[Tensor, Tensor])
assert_type(scan(plain_add, zero, x), tuple[Tensor, Tensor])

# --- the parameters of a lambda have types
scan(lambda c, a: (reveal_type(c + a), None), zero, x)  # N: "tinygrad

# --- scan: the carry gains the brands of the body
vmap(lambda r: reveal_type(scan(lambda c, a: (c + r, a), zero, x)))(y)  # N: tuple[branded.vec.Vec[r, tinygrad.tensor.Te
vmap(lambda r: reveal_type(scan(add, zero, r)))(X)  # N: tuple[branded.vec.Vec[r,
assert_type(vmap(lambda r: scan(add, zero, r))(X), tuple[Tensor, Tensor])

# --- scan: a carry that gains two rows
vmap(lambda r: vmap(lambda q: reveal_type(scan(lambda c, a: (c * q + a, None), zero, r)[0]))(y))(X)  # N: Vec[q | r,

# --- scan: a part of the carry gains a row after another part did
vmap(
    lambda r: reveal_type(
        scan(lambda c, a: ((c[1], c[0] + r), a), (zero, zero), x)  # N: tuple[tuple[branded.vec.Vec[r
    )
)(y)

# --- scan: a part of the carry that gains nothing stays plain
kept = vmap(lambda r: scan(lambda c, a: ((c[0] + r, c[1] + 1), a), (zero, zero), x)[0][1], out_axes=None)(y)
assert_type(kept, Tensor)

# --- scan without xs
assert_type(scan(lambda c, _: (c * 2, c), Tensor(1.0), None, length=3), tuple[Tensor, Tensor])
assert_type(scan(lambda c, _: (c * 2, c), Tensor(1.0), length=3), tuple[Tensor, Tensor])

# --- scan without an output
assert_type(scan(lambda c, a: (c + a, None), zero, x), tuple[Tensor, None])

# --- scan: numbers become tensors
assert_type(scan(lambda c, a: (c + a, 1.0), 0.0, x), tuple[Tensor, Tensor])

# --- scan: trees
assert_type(scan(lambda c, a: ({"s": c["s"] + a}, c["s"]), {"s": zero}, x), tuple[dict[str, Tensor], Tensor])
assert_type(scan(lambda c, a: ((c[0] + a[0], c[1]), a[1]), (zero, zero), (x, x)), tuple[tuple[Tensor, Tensor], Tensor])
assert_type(scan(lambda c, a: (c + a["k"], {"l": a["k"]}), zero, {"k": x}), tuple[Tensor, dict[str, Tensor]])
assert_type(scan(lambda c, a: ([c[0] + a, c[1]], a), [zero, zero], x), tuple[list[Tensor], Tensor])


# --- scan: a TypedDict
def params_step(p: Params, a: Tensor) -> tuple[Params, Tensor]:
    return {"w": p["w"] + a, "b": p["b"]}, a


start: Params = {"w": zero, "b": zero}
assert_type(scan(params_step, start, x)[0]["w"], Tensor)
assert_type(scan(lambda p, a: ({"w": p["w"] + a, "b": p["b"]}, a), start, x)[0]["w"], Tensor)


# --- scan: a dataclass
def move(s: State[S], a: Vec[S1]) -> tuple[State[S | S1], Vec[S]]:
    new: State[S | S1] = State(s.position + s.speed * a, s.speed)
    return new, s.position


assert_type(scan(lambda s, a: (State(s.position + a, s.speed), None), State(zero, zero), x)[0].position, Tensor)
assert_type(scan(move, State(zero, zero), x)[0], State[Never])
assert_type(vmap(lambda r: scan(move, State(zero, zero), r)[0].position)(X), Tensor)


# --- a NamedTuple that is unpacked where it is made
def unpacked(x: Vec[S], y: Vec[S1]) -> Vec[S | S1]:
    place, speed = Point(x, y)
    return place + speed


# --- scan: a NamedTuple
assert_type(scan(lambda p, a: (Point(p.v, p.u + a), a), Point(zero, zero), x)[0].u, Tensor)


# --- scan: a NamedTuple of a number and a tensor
class Momentum(NamedTuple):
    rate: float
    mean: Tensor


def momentum(s: Momentum, a: Tensor) -> tuple[Momentum, Tensor]:
    return Momentum(s.rate, s.mean * 0.9 + a * s.rate), s.mean


assert_type(scan(momentum, Momentum(0.1, zero), x)[0].mean, Tensor)


# --- scan: a dict for a function of rows
def dict_step(c: dict[str, Vec[S]], a: Vec[S]) -> tuple[dict[str, Vec[S]], Vec[S]]:
    return {"s": c["s"] + a}, a


assert_type(scan(dict_step, {"s": zero}, x)[0], dict[str, Tensor])
assert_type(vmap(lambda r: scan(dict_step, {"s": zero}, r)[0])(X), dict[str, Tensor])

# --- scan: backwards
assert_type(scan(add, zero, x, reverse=True), tuple[Tensor, Tensor])


# --- scan: a partial and a method
def scaled(k: float, c: Vec[S], a: Vec[S1]) -> tuple[Vec[S | S1], None]:
    return c + k * a, None


assert_type(scan(partial(scaled, 2.0), zero, x)[0], Tensor)
assert_type(vmap(lambda r: scan(partial(scaled, 2.0), r, x)[0])(y), Tensor)


class Cell:
    def __init__(self) -> None:
        self.w = Tensor(0.5)

    def step(self, h: Vec[S], a: Vec[S1]) -> tuple[Vec[S | S1], Vec[S | S1]]:
        new = (h * self.w + a).tanh()
        return new, new

    def run(self, xs: Vec[S]) -> Vec[S]:
        return scan(self.step, zero, xs)[1]


assert_type(Cell().run(x), Tensor)
assert_type(vmap(Cell().run)(X), Tensor)

# --- scan: the body is a function of rows within a function
vmap(lambda r: scan(lambda c, a: (c + a * r, None), zero, x)[0])(y)


def recurrent(xs: Vec[S], w: Vec[S1]) -> Vec[S | S1]:
    final, _ = scan(lambda c, a: (c * w + a, None), zero, xs)
    assert_type(final, Vec[S | S1])
    return final


assert_type(vmap(recurrent, in_axes=(0, None))(X, zero), Tensor)

# --- scan in scan
assert_type(scan(lambda c, a: (c + scan(lambda d, b: (d + b, d), a, x)[0], None), zero, x)[0], Tensor)

# --- derivatives of scan
assert_type(grad(lambda w: scan(lambda c, a: (c * w + a, None), zero, x)[0])(Tensor(2.0)), Tensor)
assert_type(vmap(grad(lambda w: scan(lambda c, a: (c * w + a, None), zero, x)[0]))(y), Tensor)

# --- fori_loop of ints
assert_type(fori_loop(0, 3, lambda i, c: c * 2 + i, zero), Tensor)
vmap(lambda r: reveal_type(fori_loop(0, 3, lambda i, c: c + r, zero)))(y)  # N: Vec[r,
fori_loop(0, 3, lambda i, c: c + reveal_type(i), zero)  # N: "tinygrad

# --- fori_loop: bounds that vary
counts = Tensor([1, 2])
vmap(lambda n: reveal_type(fori_loop(0, n, lambda i, c: c + 1, zero)))(counts)  # N: Vec[n,
assert_type(vmap(lambda n: fori_loop(0, n, lambda i, c: c + i, 0))(counts), Tensor)


# --- fori_loop: a named body
def double(i: Vec[S], c: Vec[S1]) -> Vec[S | S1]:
    return c * 2 + i


assert_type(fori_loop(0, 3, double, zero), Tensor)
assert_type(vmap(lambda r: fori_loop(0, 3, double, r))(y), Tensor)

# --- fori_loop: a tree
assert_type(fori_loop(0, 3, lambda i, c: (c[1], c[0] + i), (zero, zero)), tuple[Tensor, Tensor])

# --- while_loop of plain tensors
assert_type(while_loop(lambda c: c < 10, lambda c: c * 2, Tensor(1.0)), Tensor)
assert_type(while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (Tensor(0), zero)), tuple[Tensor, Tensor])

# --- while_loop: the carry varies over the brands of the condition
vmap(lambda r: reveal_type(while_loop(lambda c: c < r, lambda c: c * 2, Tensor(1.0))))(y)  # N: Vec[r,
assert_type(vmap(lambda r: while_loop(lambda c: c < r, lambda c: c * 2, Tensor(1.0)))(y), Tensor)

# --- while_loop: the carry varies over the brands of the body
vmap(lambda r: reveal_type(while_loop(lambda c: c < 10, lambda c: c + r, Tensor(1.0))))(y)  # N: Vec[r,

# --- while_loop: the condition looks at a part
vmap(
    lambda r: reveal_type(
        while_loop(lambda c: c[0] < r, lambda c: (c[0] + 1, c[1] * 2), (zero, zero))[1]  # N: Vec[r,
    )
)(y)


# --- while_loop: named functions
def small(c: Vec[S]) -> Vec[S]:
    return c < 100


def twice(c: Vec[S]) -> Vec[S]:
    return c * 2


assert_type(while_loop(small, twice, Tensor(1.0)), Tensor)
assert_type(vmap(lambda r: while_loop(small, twice, r))(y), Tensor)

# --- while_loop: functions of plain tensors
assert_type(while_loop(lambda c: (c < 3).all(), lambda c: c + 1, zero), Tensor)

# --- map
assert_type(br.map(lambda r: r.sum(), X), Tensor)
assert_type(br.map(lambda r: (r, 1.0, None), X), tuple[Tensor, Tensor, None])
assert_type(br.map(lambda t: t[0] + t[1], (x, x)), Tensor)
assert_type(br.map(twice, X, batch_size=2), Tensor)
vmap(lambda r: reveal_type(br.map(lambda a: a * r.sum(), x)))(X)  # N: Vec[r,

# --- cond of a flag
assert_type(cond(True, lambda a: a, lambda a: a * 2, x), Tensor)
assert_type(cond(len(x.shape) > 1, twice, lambda a: a, x), Tensor)

# --- cond: each example takes its own
assert_type(vmap(lambda r: cond(r > 0, lambda a: a, lambda a: -a, r))(y), Tensor)
vmap(lambda r: reveal_type(cond(r > 4, lambda: x, lambda: x * 2)))(y)  # N: Vec[r,

# --- cond: the rows of both branches
vmap(lambda r: vmap(lambda q: reveal_type(cond(True, lambda: r, lambda: q)))(y))(y)  # N: Vec[r | q,

# --- cond: the predicate is the same for all
vmap(lambda r: reveal_type(cond(zero > 1, lambda: x, lambda: x * 2)), out_axes=None)(y)  # N: "tinygrad

# --- cond: trees, and numbers
assert_type(cond(zero > 1, lambda a: {"k": a}, lambda a: {"k": a * 2}, x), dict[str, Tensor])
assert_type(cond(zero > 1, lambda a: (a, 1.0), lambda a: (a * 2, 2), x), tuple[Tensor, Tensor])
vmap(lambda r: reveal_type(cond(r > 4, lambda: 1.0, lambda: 2.0)))(y)  # N: Vec[r,

# --- cond: trees whose parts vary over the other branch's brands
vmap(lambda r: reveal_type(cond(zero > 1, lambda: (zero, r), lambda: (r, x))[0]))(y)  # N: Vec[r,
vmap(lambda r: reveal_type(cond(zero > 1, lambda: (zero, r), lambda: (r, x))[1]))(y)  # N: Vec[r,
vmap(lambda r: reveal_type(cond(zero > 1, lambda: (zero, r), lambda: (zero, x))[0]), out_axes=None)(y)  # N: "tinygrad
vmap(lambda r: reveal_type(cond(zero > 1, lambda: (zero, None), lambda: (r, None))))(y)  # N: Tensor], None]
vmap(lambda r: reveal_type(cond(zero > 1, lambda: [zero], lambda: [r])))(y)  # N: list[branded.vec.Vec[r,
vmap(lambda r: reveal_type(cond(zero > 1, lambda: {"k": zero}, lambda: {"k": r})["k"]))(y)  # N: Vec[r,
vmap(lambda r: reveal_type(cond(zero > 1, lambda: {"k": r}, lambda: {"k": zero})["k"]))(y)  # N: Vec[r,
vmap(lambda r: vmap(lambda q: reveal_type(cond(True, lambda: (r,), lambda: (q,))))(y))(y)  # N: Vec[r | q,
vmap(lambda r: reveal_type(cond(True, lambda: State(zero, zero), lambda: State(r, r))))(y)  # N: control.State[r]
vmap(lambda r: reveal_type(cond(True, lambda: Point(zero, zero), lambda: Point(r, zero)).u))(y)  # N: Vec[r,
vmap(lambda r: reveal_type(cond(True, lambda: Point(r, zero), lambda: Point(zero, zero)).v))(y)  # N: Vec[r,


# --- cond: a TypedDict
def start_of(w: Vec[S], b: Vec[S]) -> RowParams[S]:
    return {"w": w, "b": b}


vmap(lambda r: reveal_type(cond(zero > 1, lambda: start_of(zero, zero), lambda: start_of(r, r))["w"]))(y)  # N: Vec[r,
vmap(lambda r: reveal_type(cond(zero > 1, lambda: start_of(r, r), lambda: start_of(zero, zero))["b"]))(y)  # N: Vec[r,


# --- cond: named functions
def root(a: Vec[S]) -> Vec[S]:
    return cond(a > 0, lambda v: v.sqrt(), lambda v: v * 0, a)


def choose(p: Vec[S], a: Vec[S1], b: Vec[S2]) -> Vec[S | S1 | S2]:
    out = cond(p, lambda: a, lambda: b)
    assert_type(out, Vec[S | S1 | S2])
    return out


assert_type(vmap(root)(y), Tensor)
assert_type(vmap(grad(root))(y), Tensor)
assert_type(vmap(lambda p: choose(p > 0, x, x))(y), Tensor)

# --- cond in cond
assert_type(vmap(lambda r: cond(r > 0, lambda: cond(r > 1, lambda: r, lambda: r * 2), lambda: -r))(y), Tensor)

# --- cond in a loop
assert_type(scan(lambda c, a: (cond(a > 1, lambda: c + a, lambda: c), None), zero, x)[0], Tensor)

# --- switch
assert_type(switch(1, [lambda a: a, lambda a: a * 10], x), Tensor)
assert_type(switch(1, (twice, twice), x), Tensor)
vmap(lambda i: reveal_type(switch(i, [lambda: x, lambda: x * 10])))(counts)  # N: Vec[i,
assert_type(vmap(lambda i, r: switch(i, [lambda a: a, lambda a: a * 10], r))(counts, y), Tensor)

# --- switch: functions in a variable
functions: list[Callable[[Tensor], Tensor]] = [lambda a: a, lambda a: a * 10]
assert_type(switch(0, functions, x), Tensor)
named = [twice, twice]
assert_type(switch(0, named, x), Tensor)

# --- switch: lambdas without types in a variable
fs = [lambda a: a, lambda a: a * 10]
untyped: Tensor = switch(0, fs, x)

# --- operands by a star
pair = (x, x)
starred: Tensor = cond(zero > 1, lambda a, b: a, lambda a, b: b, *pair)


# --- objects of unknown type
def unknown(f: Any, init: Any, xs: Any) -> Any:
    return scan(f, init, xs)[0], cond(init, f, f, xs), while_loop(f, f, init), fori_loop(0, xs, f, init)


# --- collectives in a loop
assert_type(vmap(lambda r: scan(lambda c, a: (c + psum(r, "r") * a, None), zero, x)[0], axis_name="r")(y), Tensor)

# --- two derivatives of a loop
assert_type(jvp(lambda w: fori_loop(0, 3, lambda i, c: c * w, Tensor(1.0)), (zero,), (zero,)), tuple[Tensor, Tensor])
assert_type(vjp(lambda w: scan(lambda c, a: (c * w + a, None), zero, x)[0], zero)[1](zero), tuple[Tensor])


# --- a training loop as a scan
def train(w: Tensor, steps: int) -> Tensor:
    def step(w: Tensor, a: Tensor) -> tuple[Tensor, Tensor]:
        value, slope = value_and_grad(lambda v: ((v - a) * (v - a)).sum())(w)
        return w - 0.1 * slope, value

    return scan(step, w, x)[0]


assert_type(train(zero, 3), Tensor)

# --- an associative scan varies over its elements and its function's closure
assert_type(associative_scan(lambda a, b: a + b, x), Tensor)
assert_type(vmap(lambda a: associative_scan(lambda p, q: (p[0] + q[0], p[1] * q[1]), (a, x)))(X), tuple[Tensor, Tensor])
vmap(lambda a: reveal_type(associative_scan(lambda p, q: p * q + a.sum(), x)))(X)  # N: Vec[a,
vmap(lambda a: reveal_type(cumlogsumexp(a, reverse=True)))(X)  # N: Vec[a,

# --- steps may be unrolled
assert_type(scan(lambda c, v: (c + v, c), zero, x, unroll=2), tuple[Tensor, Tensor])
assert_type(scan(lambda c, v: (c + v, c), zero, x, checkpoint=True), tuple[Tensor, Tensor])
assert_type(fori_loop(0, 3, lambda i, c: c * 2, zero, unroll=True), Tensor)


# --- functions that are traced, and read nothing
@jit
def by_shape(a: Tensor) -> Tensor:
    return a * 2 if a.ndim == 1 and a.shape[0] > 1 else -a


scale = float(x.sum().item())


@jit
def by_number(a: Tensor) -> Tensor:
    return a * scale if scale > 1 else a


def count_step(c: Tensor, a: Tensor) -> tuple[Tensor, Tensor]:
    return c + len(a.shape), c if a.ndim else a


assert_type(by_shape(x), Tensor)
assert_type(by_number(x), Tensor)
assert_type(scan(count_step, zero, x), tuple[Tensor, Tensor])
