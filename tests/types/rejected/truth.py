"""A value that varies has no single truth value."""

import itertools
import operator
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)
S_co = TypeVar("S_co", bound=Brand, covariant=True)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])


# --- if, on a comparison with a number
def if_comparison(a: Vec[S]) -> Vec[S]:
    if a > 0:  # E: no single truth value
        return a
    return -a


# --- if, on a comparison of two rows
def if_two(a: Vec[S1], b: Vec[S2]) -> Vec[S1 | S2]:
    if a < b:  # E: bool: a value that varies over "S1" and "S2" has no single truth value
        return a
    return b


# --- while
def while_(a: Vec[S]) -> Vec[S]:
    while a < 10:  # E: no single truth value
        a = a * 2
    return a


# --- assert
def assert_(a: Vec[S]) -> Vec[S]:
    assert a > 0  # E: no single truth value
    return a


# --- and instead of &
def and_(a: Vec[S]) -> Vec[S]:
    return a > 0 and a < 1  # E: no single truth value


# --- or instead of |
def or_(a: Vec[S]) -> Vec[S]:
    return a < 0 or a > 1  # E: no single truth value


# --- an if-expression
def ternary(a: Vec[S]) -> Vec[S]:
    return a if a > 0 else -a  # E: no single truth value


# --- an if-expression in a lambda
vmap(lambda a: a if a > 0 else -a)(x)  # E: no single truth value


# --- if in a comprehension
def comprehension(values: list[Vec[S]]) -> list[Vec[S]]:
    return [v for v in values if v > 0]  # E: no single truth value


# --- bool() of a value
def bool_value(a: Vec[S]) -> bool:
    return bool(a)  # E: bool: a value that varies over "S" has no single truth value


# --- bool() of a comparison
def bool_comparison(a: Vec[S]) -> bool:
    return bool(a > 0)  # E: bool: a value that varies over "S" has no single truth value


# --- if at the second depth
vmap(lambda a: vmap(lambda b: a if a > b else b)(y))(x)  # E: bool: a value that varies over "a" and "b"

# --- if on a value of an outer brand
vmap(lambda a: vmap(lambda b: b if a > 0 else -b)(y))(x)  # E: bool: a value that varies over "a"


# --- elif
def elif_(a: Vec[S], n: int) -> Vec[S]:
    if n > 2:
        n = 2
    elif a > 0:  # E: no single truth value
        return -a
    return a


# --- a comparison of two values of one row
def maximum(a: Vec[S], b: Vec[S]) -> Vec[S]:
    return a if a >= b else b  # E: bool: a value that varies over "S" has no single truth value


# --- if before a shared value
def shared_after(a: Vec[S], n: int) -> Vec[S]:
    if a > 0 and n > 2:  # E: bool: a value that varies over "S" has no single truth value
        return a
    return -a


# --- bool() of a reduction
def bool_reduction(a: Vec[S]) -> bool:
    return bool((a > 0).all())  # E: bool: a value that varies over "S" has no single truth value


# --- if bool()
def if_bool(a: Vec[S]) -> Vec[S]:
    if bool(a.sum() > 0):  # E: bool: a value that varies over "S" has no single truth value
        return a
    return -a


# --- if in a generator
def generator(values: list[Vec[S]]) -> int:
    return sum(1 for v in values if v > 0)  # E: no single truth value


# --- if on an element of an example
vmap(lambda r: r if r[0] > 0 else -r)(Tensor.ones(2, 3))  # E: bool: a value that varies over "r"


# --- sorted()
def ordered(values: list[Vec[S]]) -> list[Vec[S]]:
    return sorted(values)  # E: sorted: a value that varies over "S" has no single truth value


# --- min() of Python
def smallest(a: Vec[S], b: Vec[S]) -> None:
    print(min(a, b))  # E: min: a value that varies over "S" has no single truth value


# --- if, on an equality
def if_equal(a: Vec[S]) -> Vec[S]:
    if a == 0:  # E: no single truth value
        return a
    return -a


# --- if, on a difference
def if_different(a: Vec[S]) -> Vec[S]:
    if a != x:  # E: no single truth value
        return a
    return -a


# --- a chained comparison
def chained(a: Vec[S]) -> Vec[S]:
    return 0 < a < 1  # E: no single truth value


# --- if, on a comparison with a tensor on the left
def tensor_left(a: Vec[S]) -> Vec[S]:
    if x > a:  # E: bool: a value that varies over "S" has no single truth value
        return a
    return -a


# --- if, on a comparison with a number on the left
def number_left(a: Vec[S]) -> Vec[S]:
    if 0 < a:  # noqa: SIM300  # E: bool: a value that varies over "S" has no single truth value
        return a
    return -a


# --- if after a shared value
def shared_and(a: Vec[S], n: int) -> Vec[S]:
    if n > 2 and a > 0:  # E: bool: a value that varies over "S" has no single truth value
        return a
    return -a


# --- assert after a shared value
def assert_or(a: Vec[S], n: int) -> Vec[S]:
    assert n or a > 0  # E: bool: a value that varies over "S" has no single truth value
    return a


# --- a guard of a case
def guard(a: Vec[S], n: int) -> Vec[S]:
    match n:
        case 0 if a > 0:  # E: bool: a value that varies over "S" has no single truth value
            return a
    return -a


# --- all() of comparisons
def all_of(a: Vec[S]) -> bool:
    return all([a > 0, a < 1])  # E: truth value


# --- any() of comparisons
def any_of(a: Vec[S]) -> bool:
    return any(v > 0 for v in a)  # E: truth value


# --- in a list
def in_list(a: Vec[S]) -> bool:
    return a in [x, x]  # E: truth value


# --- the condition of filter()
def filtered(values: list[Vec[S]]) -> list[Vec[S]]:
    return list(filter(lambda v: v > 0, values))  # E: truth value


# --- bool() of an equality
def bool_equality(a: Vec[S]) -> bool:
    return bool(a == 0)  # E: bool: a value that varies over "S" has no single truth value


# --- if, on a value
def if_value(a: Vec[S]) -> Vec[S]:
    if a:  # E: "Vec[S, Tensor]"
        return a
    return -a


# --- if, on a reduction
def if_reduction(a: Vec[S]) -> Vec[S]:
    if (a > 0).all():  # E: "Vec[S, Tensor]"
        return a
    return -a


# --- if not
def if_not(a: Vec[S]) -> Vec[S]:
    if not a:  # E: "Vec[S, Tensor]"
        return a
    return -a


# --- while, on a value
def while_value(a: Vec[S]) -> Vec[S]:
    while a:  # E: "Vec[S, Tensor]"
        a = a - 1
    return a


# --- assert, on a reduction, with a message
def assert_all(a: Vec[S]) -> Vec[S]:
    assert (a > 0).all(), "positive"  # E: "Vec[S, Tensor]"
    return a


# --- an if-expression on a value, in a lambda
vmap(lambda a: a if a else -a)(x)  # E: "Vec[a, Tensor]"


# --- not, of a comparison
def not_comparison(a: Vec[S]) -> Vec[S]:
    if not (a > 0):  # E: "Vec[S, Tensor]"
        return a
    return -a


# --- a comparison kept in a variable
def kept(a: Vec[S]) -> Vec[S]:
    positive = a > 0
    if positive:  # E: "Vec[S, Tensor]"
        return a
    return -a


# --- a comparison kept by a walrus
def walrus(a: Vec[S]) -> Vec[S]:
    if b := a > 0:  # E: "Vec[S, Tensor]"
        return b
    return -a


# --- if, on a value that may be None
def if_optional(a: Vec[S], b: Vec[S1] | None) -> Vec[S | S1]:
    if b:  # E: bool: a value that varies over "S1" has no single truth value
        return a + b
    return a


# --- or and not, on a value that may be None
def or_optional(a: Vec[S], b: Vec[S] | None) -> Vec[S]:
    if not b:  # E: bool: a value that varies over "S" has no single truth value
        return a
    return a


def or_default(a: Vec[S], b: Vec[S] | None, d: dict[str, Vec[S] | None]) -> Vec[S]:
    c = d["c"] or a  # E: bool: a value that varies over "S" has no single truth value
    return c + (b or a)  # E: bool: a value that varies over "S" has no single truth value


# --- a conditional expression, while and assert, on a value that may be None
def conditional(a: Vec[S], b: Vec[S] | None) -> Vec[S]:
    while a.ndim and b:  # E: bool: a value that varies over "S" has no single truth value
        a = a[0]
    return a + b if b else a  # E: bool: a value that varies over "S" has no single truth value


def asserted(b: Vec[S] | None) -> None:
    assert b, "no tensor"  # E: bool: a value that varies over "S" has no single truth value


# --- a result that may be None
def maybe(a: Vec[S]) -> Vec[S] | None:
    return a


vmap(lambda a: a if maybe(a) else -a)(x)  # E: bool: a value that varies over "a"
vmap(lambda a: maybe(a) or a)(x)  # E: bool: a value that varies over "a"
vmap(lambda a: a * (not maybe(a)))(x)  # E: bool: a value that varies over "a"


def results(a: Vec[S]) -> Vec[S]:
    if maybe(a):  # E: bool: a value that varies over "S" has no single truth value
        return a
    if b := maybe(a):  # E: bool: a value that varies over "S" has no single truth value
        return b
    if (b := maybe(a)) and b.ndim:  # E: bool: a value that varies over "S" has no single truth value
        return b
    for c in maybe(a) or a:  # E: bool: a value that varies over "S" has no single truth value
        a = a + c
    assert maybe(a)  # E: bool: a value that varies over "S" has no single truth value
    return a


# --- comprehensions over values that may be None
def comprehensions(bs: list[Vec[S] | None], a: Vec[S]) -> list[Vec[S]]:
    c = [b for b in bs if b]  # E: bool: a value that varies over "S" has no single truth value
    d = {i: b for i, b in enumerate(bs) if b and i}  # E: bool: a value that varies over "S" has no single truth
    e = {id(b) for b in bs if not b}  # E: bool: a value that varies over "S" has no single truth value
    f = (b if b else a for b in bs)  # E: bool: a value that varies over "S" has no single truth value
    g = {i: b or a for i, b in enumerate(bs)}  # E: bool: a value that varies over "S" has no single truth value
    return [b or a for b in bs] + c + [*d.values(), *f, *g.values()][len(e) :]  # E: bool: a value that varies over "S"


# --- a pattern that is compared with a value
def matched(a: Vec[S], b: Vec[S] | float) -> Vec[S]:
    match a.sum():
        case 0:  # E: bool: a value that varies over "S" has no single truth value
            return a
    match b:
        case 0.0 | 1.0:  # E: bool: a value that varies over "S" has no single truth value
            return a
    return a


# --- a part of a pattern that is compared with a value
def matched_parts(a: Vec[S], d: dict[str, Vec[S]], o: "Point[S] | None", n: int) -> Vec[S]:
    match n, a:
        case 1, 0:  # E: bool: a value that varies over "S" has no single truth value
            return a
    match d:
        case {"x": 1}:  # E: bool: a value that varies over "S" has no single truth value
            return a
    match o:
        case None:
            return a
        case Point(v=0):  # E: bool: a value that varies over "S" has no single truth value
            return a
    match [a, a + 1]:
        case [*_, 2]:  # E: bool: a value that varies over "S" has no single truth value
            return a
    return a


# --- a number in a text
def text(a: Vec[S], width: int) -> str:
    b = format(a, ".2f")  # E: format: a value that varies over "S" has no single text
    c = f"{a:{width}}"  # E: format: a value that varies over "S" has no single text
    return f"{b}{c}: {a.sum():.2f}"  # E: format: a value that varies over "S" has no single text


# --- functions of Python that ask for truth values
vmap(lambda a: a * operator.truth(a.sum()))(x)  # E: bool: a value that varies over "a"
vmap(lambda a: a * operator.not_(a.sum()))(x)  # E: bool: a value that varies over "a"
vmap(lambda a: next(filter(None, [a])))(x)  # E: bool: a value that varies over "a"
vmap(lambda a: next(filter(None, (a, a + 1))))(x)  # E: bool: a value that varies over "a"
vmap(lambda a: next(itertools.compress([a], [a])))(x)  # E: bool: a value that varies over "a"
vmap(lambda a: next(itertools.groupby([a, a + 1]))[0])(x)  # E: bool: a value that varies over "a"
vmap(lambda a: a * len(list(itertools.groupby([1, 2], lambda n: a * n))))(x)  # E: bool: a value that varies over "a"
vmap(lambda a: a * [a + 1, a].index(a))(x)  # E: bool: a value that varies over "a"
vmap(lambda a: a * (a, a).count(a + 1))(x)  # E: bool: a value that varies over "a"
vmap(lambda a: a * (1.0 in [a, a]))(x)  # E: bool: a value that varies over "a"
vmap(lambda a: a * (a in {1.0: 2}))(x)  # E: bool: a value that varies over "a"
vmap(lambda a: a * operator.contains([1.0], a))(x)  # E: bool: a value that varies over "a"
vmap(lambda a: max(a, a + 1, key=lambda v: v.sum()))(x)  # E: max: a value that varies over "a"
vmap(lambda a: sorted([a, a + 1], key=lambda v: v)[0])(x)  # E: sorted: a value that varies over "a"


def in_order(vs: list[Vec[S]], ns: list[int], a: Vec[S]) -> None:
    vs.sort()  # E: sort: a value that varies over "S" has no single truth value
    ns.sort(key=lambda n: a * n)  # E: sort: a value that varies over "S" has no single truth value


# --- searches that compare another object first
def searched(a: Vec[S], b: Vec[S]) -> Vec[S]:
    pair, other, moved = [a, b], [a, b], [a, b]
    moved.reverse()
    found = pair.index(b)  # E: bool: a value that varies over "S"
    again = other.count(a)  # E: bool: a value that varies over "S"
    if a in moved:  # E: bool: a value that varies over "S"
        found += 1
    a = a * 2
    if a in pair:  # E: bool: a value that varies over "S"
        found += 1
    return a * found * again * ([a, b] == [a, b + 1])  # E: bool: a value that varies over "S"


# --- a search in a list whose name a nested function uses for another one
def nested(a: Vec[S], b: Vec[S]) -> Vec[S]:
    pair = [b, a]

    def first() -> Vec[S]:
        pair = [a, b]
        return pair[0]

    return first() * pair.index(a)  # E: bool: a value that varies over "S"


# --- a chain of comparisons is one mistake
vmap(lambda a: a * (0 < a < 1))(x)  # E: bool: a value that varies over "a"

# --- functions of Python that ask for truth values, with a condition
vmap(lambda a: next(iter(itertools.takewhile(lambda v: v > 0, [a]))))(x)  # E: bool: a value that varies over "a"


# --- comparisons of objects
@dataclass(frozen=True, order=True)
class Point(Generic[S_co]):
    v: Vec[S_co]


class Pair(NamedTuple, Generic[S_co]):
    v: Vec[S_co]


def compared(a: Vec[S], b: Vec[S]) -> Vec[S]:
    if Point(a) == Point(b):  # E: bool: a value that varies over "S" has no single truth value
        return a
    if Point(a) < Point(b):  # E: bool: a value that varies over "S" has no single truth value
        return a
    if Pair(a) != Pair(b):  # E: bool: a value that varies over "S" has no single truth value
        return a
    return b


# --- letters that are not ASCII
def of_letters(α: Vec[S], b: Vec[S]) -> Vec[S]:
    if α > 0:  # E: bool: a value that varies over "S" has no single truth value
        return b
    print("é", 1 if b.sum() == 0 else 2)  # E: bool: a value that varies over "S" has no single truth value
    print("é", b.sum() == 0)
    return b


# --- comparisons of tensors outside of functions, which need no vmap to raise
if x.sum() > 0:  # E: bool: a tensor has no truth value
    print("positive")
while x.sum() > 1 and y.max() < 9:  # E: bool: a tensor has no truth value
    x = x / 2
print(1 if x[0] == 0 else 2)  # E: bool: a tensor has no truth value
assert x.min() >= 0, y  # E: bool: a tensor has no truth value
chosen = [i for i in range(2) if y.sum() > i]  # E: bool: a tensor has no truth value
inside = 0 < x.sum() < 1  # E: bool: a tensor has no truth value
masked = (x > 0).where(x, 0), x.sum().item() > 0 and y.shape[0] > 1, x.sum() == y
