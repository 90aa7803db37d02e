"""Loops and branches: trees that disagree, reads in bodies, rows that are left out."""

from dataclasses import dataclass
from typing import NamedTuple, TypedDict, TypeVar

from tinygrad import Tensor

import branded as br
from branded import Brand, Vec, cond, fori_loop, jit, lift, scan, switch, vmap, while_loop

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
x, y = Tensor([1.0, 2.0, 3.0]), Tensor([4.0, 5.0])
zero = Tensor(0.0)
X = Tensor([[1.0, 2.0], [3.0, 4.0]])

# --- scan: the carry is another tree
scan(lambda c, a: ((c, a), None), zero, x)  # E: scan: the carry has another structure after a step than before

# --- scan: the carry is a dict of other keys
scan(lambda c, a: ((c[0], c[0], a), None), (zero, zero), x)  # E: scan: the carry has another structure after a step tha

# --- scan: the carry is a list after a tuple
scan(lambda c, a: ([c[0], a], None), (zero, zero), x)  # E: scan: the carry has another structure after a step than befo

# --- scan: the carry is None after a step
scan(lambda c, a: (None, c), zero, x)  # E: scan: the carry has another structure after a step than before

# --- scan: the body gives no pair
scan(lambda c, a: c + a, zero, x)  # E: scan: the body returned "Tensor"

# --- scan: the body gives a triple
scan(lambda c, a: (c, a, a), zero, x)  # E: scan: the body returned "tuple[Tensor, Tensor, Tensor]"


# --- scan: a named body of another tree
def split(c: Vec[S], a: Vec[S1]) -> tuple[tuple[Vec[S], Vec[S1]], None]:
    return (c, a), None


scan(split, zero, x)  # E: scan: the carry has another structure after a step than before

# --- scan: the output is not a tensor
scan(lambda c, a: (c, "text"), zero, x)  # E: scan: the output is a str, not a tensor

# --- scan: the carry is not a tensor
scan(lambda c, a: (c, a), "text", x)  # E: scan: the carry is a str, not a tensor

# --- scan: a number for the steps
scan(lambda c, a: (c, a), zero, 3)  # E: scan: xs is an int, not a tensor

# --- scan: nothing says how many steps
scan(lambda c, a: (c, a), zero, None)  # E: scan: the number of steps is unknown

# --- scan: the carry is read
scan(lambda c, a: (c + a.item(), None), zero, x)  # E: item: a value that varies over "scan" has no single value to read

# --- scan: if on the carry
scan(lambda c, a: (c if c > 0 else -c, None), zero, x)  # E: bool: a value that varies over "scan" has no single truth

# --- scan: a value of the batch is read
vmap(lambda r: scan(lambda c, a: (c + r.item(), None), zero, x))(y)  # E: item: a value that varies over "r" has no sing

# --- scan: the final carry is taken for shared
vmap(lambda r: scan(lambda c, a: (c + r, None), zero, x)[0], out_axes=None)(y)  # E: out_axes: None needs a result


# --- scan: the row of the steps is left out
def final(xs: Vec[S], init: Vec[S1]) -> Vec[S1]:
    return scan(lambda c, a: (c + a, None), init, xs)[0]  # E: (got "Vec[S1 | S, Tensor]", expected "Vec[S1, Tensor]")


# --- scan: a body of tensors, of steps that vary
def plain(c: Tensor, a: Tensor) -> tuple[Tensor, Tensor]:
    return c + a, a


vmap(lambda r: scan(plain, zero, r))(X)  # E: Argument 2 to "plain" has incompatible type "Vec[r, Tensor]"

# --- scan: too few parameters
scan(lambda c: (c, c), zero, x)  # E: Too many arguments

# --- scan: no function
scan(3, zero, x)  # E: "int" not callable

# --- scan: a wrong length
scan(lambda c, a: (c, a), zero, x, length="3")  # E: scan

# --- fori_loop: the carry is another tree
fori_loop(0, 3, lambda i, c: (c, i), zero)  # E: fori_loop: the carry has another structure after a step than before

# --- fori_loop: the index is read
fori_loop(0, 3, lambda i, c: c * i.item(), zero)  # E: item: a value that varies over "fori_loop" has no single value

# --- fori_loop: a bound that varies
vmap(lambda n: fori_loop(0, n, lambda i, c: c + 1, zero), out_axes=None)(Tensor([1, 2]))  # E: out_axes: None needs a re

# --- fori_loop: a wrong bound
fori_loop(0, "3", lambda i, c: c, zero)  # E: fori_loop: upper is a str, not a tensor

# --- while_loop: the carry is another tree
while_loop(lambda c: c < 3, lambda c: (c, c), zero)  # E: while_loop: the carry has another structure after a step than

# --- while_loop: the condition is not a bool
while_loop(lambda c: (c < 3, c), lambda c: c + 1, zero)  # E: while_loop: the condition is "tuple[Tensor, Tensor]", not

# --- while_loop: the condition is None
while_loop(lambda c: None, lambda c: c + 1, zero)  # E: while_loop: the condition is "None", not a scalar bool

# --- while_loop: the condition reads
while_loop(lambda c: bool(c < 3), lambda c: c + 1, zero)  # E: bool: a value that varies over "while_loop" has no single

# --- while_loop: the result is taken for shared
vmap(lambda r: while_loop(lambda c: c < r, lambda c: c * 2, zero + 1), out_axes=None)(y)  # E: out_axes: None needs a re


# --- while_loop: the row of the condition is left out
def grow(limit: Vec[S], a: Vec[S1]) -> Vec[S1]:
    return while_loop(lambda c: c < limit, lambda c: c * 2, a)  # E: (got "Vec[S1 | S, Tensor]", expected "Vec[S1, Tenso


# --- map: a read
br.map(lambda r: r * r.sum().item(), X)  # E: item: a value that varies over "map" has no single value to read

# --- map: a result that is not a tensor
br.map(lambda r: "text", X)  # E: map: the output is a str, not a tensor

# --- map: an argument that is not a tensor
br.map(lambda r: r, 3)  # E: map: xs is an int, not a tensor

# --- cond: branches of other trees
cond(zero > 1, lambda a: a, lambda a: (a, a), x)  # E: cond: the branches return different structures

# --- cond: branches of other keys
cond(zero > 1, lambda a: (a, {"k": a}), lambda a: (a, a), x)  # E: cond: the branches return different structures

# --- cond: a tuple and a tensor
cond(zero > 1, lambda a: (a, a), lambda a: a, x)  # E: cond: the branches return different structures

# --- cond: a tuple and a longer one
cond(zero > 1, lambda a: (a, a), lambda a: (a, a, a), x)  # E: cond: the branches return different structures

# --- cond: a tuple and a shorter one
cond(zero > 1, lambda a: (a, a, a), lambda a: (a, a), x)  # E: cond: the branches return different structures

# --- cond: lists of other trees
cond(zero > 1, lambda a: [a], lambda a: [(a, a)], x)  # E: cond: the branches return different structures

# --- cond: dicts of other trees
cond(zero > 1, lambda a: {"k": a}, lambda a: {"k": [a]}, x)  # E: cond: the branches return different structures


# --- cond: named tuples of two classes
class Here(NamedTuple):
    at: Tensor


class There(NamedTuple):
    at: Tensor


cond(zero > 1, lambda a: Here(a), lambda a: There(a), x)  # E: cond: the branches return different structures


# --- cond: dicts of other keys
class One(TypedDict):
    w: Tensor


class Other(TypedDict):
    b: Tensor


def one(a: Tensor) -> One:
    return {"w": a}


def other(a: Tensor) -> Other:
    return {"b": a}


cond(zero > 1, one, other, x)  # E: cond: the branches return different structures


# --- cond: dicts of other trees at a key
class Pairs(TypedDict):
    w: tuple[Tensor, Tensor]


def pairs(a: Tensor) -> Pairs:
    return {"w": (a, a)}


cond(zero > 1, one, pairs, x)  # E: cond: the branches return different structures


# --- cond: dataclasses of two classes
@dataclass
class Fast:
    at: Tensor


@dataclass
class Slow:
    at: Tensor


cond(zero > 1, lambda a: Fast(a), lambda a: Slow(a), x)  # E: cond: the branches return different structures

# --- cond: one branch gives None
cond(zero > 1, lambda a: a, lambda a: None, x)  # E: cond: the branches return different structures

# --- cond: a branch gives a string
cond(zero > 1, lambda a: a, lambda a: "text", x)  # E: cond: the result of false_fun is a str, not a tensor

# --- cond: the predicate is a string
cond("yes", lambda a: a, lambda a: a, x)  # E: cond: the predicate is "str", and must be a scalar for each example

# --- cond: the predicate is a function
cond(lambda: True, lambda a: a, lambda a: a, x)  # E: cond: the predicate is "Callable[[], bool]", and must be a scalar

# --- cond: too few operands
cond(zero > 1, lambda a: a, lambda a: a)  # E: Too few arguments

# --- cond: a branch reads
vmap(lambda r: cond(r > 0, lambda a: a * a.item(), lambda a: a, r))(y)  # E: item: a value that varies over "r" has no s

# --- cond: the result is taken for shared
vmap(lambda r: cond(r > 0, lambda: x, lambda: x * 2), out_axes=None)(y)  # E: out_axes: None needs a result


# --- cond: the row of the predicate is left out
def pick(p: Vec[S], a: Vec[S1]) -> Vec[S1]:
    return cond(p, lambda: a, lambda: a * 2)  # E: (got "Vec[S1 | S, Tensor]", expected "Vec[S1, Tensor]")


# --- switch: branches of other trees
switch(0, [lambda a: a, lambda a: [a]], x)  # E: switch: the branches return different structures

# --- switch: no branches
switch(0, [], x)  # E: switch: there are no branches

# --- switch: a bool for an index
switch(True, [lambda a: a, lambda a: a * 2], x)  # E: switch: the index is "bool", and must be a scalar for each example

# --- switch: the result is taken for shared
vmap(lambda i: switch(i, [lambda: x, lambda: x * 2]), out_axes=None)(Tensor([0, 1]))  # E: out_axes: None needs a result

# --- switch: no functions
switch(0, [x, y])  # E: "Tensor" not callable


# --- a read in the body of a loop or of jit, which is a function
def read_step(c: Tensor, a: Tensor) -> tuple[Tensor, Tensor]:
    return c + a.item(), c  # E: item: in the body of scan there is no value to read: it is traced once, for all steps


scan(read_step, zero, x)


def total(a: Tensor) -> Tensor:
    return a / a.sum().item()  # E: item: in the body of jit there is no value to read: it is traced once, for all calls


@jit
def choice_step(a: Tensor) -> Tensor:
    if a.sum() > 0:  # E: bool: in the body of jit there is no value to read: it is traced once, for all calls
        return a
    return -a


@jit(donate_argnums=0)
def calls_total(a: Tensor) -> Tensor:
    return total(a) * 2


jit(lambda a: a * a.sum().item())(x)  # E: item: a value that varies over "jit" has no single value to read


# --- a read in a lifted function
def plain_read(a: Tensor) -> Tensor:
    return a * float(a.sum().item())  # E: item: a value that varies over "A" has no single value to read


vmap(lambda a: lift(plain_read)(a))(X)
