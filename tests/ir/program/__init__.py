"""Functions whose IR is recorded as text.

`func1` to `func13` are the examples of JAX's "Understanding Jaxprs", written for this library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from tinygrad import Tensor

import branded
from branded import (
    axis_index,
    cond,
    custom_vjp,
    fori_loop,
    grad,
    jit,
    pmax,
    psum,
    random,
    scan,
    switch,
    vmap,
    while_loop,
)


class Case(NamedTuple):
    f: Callable[..., Any]
    args: Callable[[], tuple[Any, ...]]
    levels: tuple[str, ...] = ("operations",)


CASES: dict[str, Case] = {}


def some(*shape: int) -> Tensor:
    n = int(np.prod(shape))
    return Tensor((np.arange(1, n + 1, dtype=np.float32) / 7).reshape(shape))


def case(args: Callable[[], tuple[Any, ...]], *levels: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(f: Callable[..., Any]) -> Callable[..., Any]:
        CASES[f.__name__] = Case(f, args, levels or ("operations",))
        return f

    return add


ALL = ("operations", "primitives", "batched")
TABLE = some(8)


@case(lambda: (some(8), some(8)), *ALL)
def func1(first: Any, second: Any) -> Any:
    temp = first + second.sin() * 3.0
    return temp.sum()


@case(lambda: (some(8), some(8)))
def func2(first: Any, second: Any) -> Any:
    def inner(x: Any) -> Any:  # a plain Python function does not appear in the IR
        return x.sin() * 3.0

    return (first + inner(second)).sum()


@case(lambda: ({"first": some(8), "rest": [some(8), 2.0]},))
def func3(arg: Any) -> Any:
    return arg["first"] + arg["rest"][0].sin() * arg["rest"][1]


@case(lambda: ((some(8), some(8)),))
def func4(arg: Any) -> Any:
    return {"sum": (arg[0] + arg[1].sin() * 3.0).sum(), "first": arg[0]}


@case(lambda: (some(8), some(8)), *ALL)
def func5(first: Any, second: Any) -> Any:
    return first + second.sin() * 3.0 - Tensor.ones(8)


@case(lambda: (some(8),))
def func6(first: Any) -> Any:
    return func5(first, TABLE)


@case(lambda: (5.0,), *ALL)
def func7(arg: Any) -> Any:
    return cond(arg >= 0.0, lambda x: x + 3.0, lambda x: x - 3.0, arg)


@case(lambda: (5.0, (some(1), 2.0)))
def func8(arg1: Any, arg2: Any) -> Any:
    return cond(arg1 >= 0.0, lambda x: x[0], lambda x: Tensor([1.0]) + x[1], arg2)


@case(lambda: (Tensor(1), 5.0))
def func9(index: Any, arg: Any) -> Any:
    return switch(index, [lambda x: x + 1.0, lambda x: x - 2.0, lambda x: x + 3.0], arg)


@case(lambda: (some(16), 5))
def func10(arg: Any, n: Any) -> Any:
    return fori_loop(0, n, lambda i, x: x + 3.0 * arg + i, Tensor.ones(16))


@case(lambda: (some(16), 5.0), *ALL)
def func11(arr: Any, extra: Any) -> Any:
    def body(carry: Any, x: Any) -> Any:
        b, c = x
        return carry + b * c + extra, b

    return scan(body, 0.0, (arr, arr + 1))


@case(lambda: (1.0,))
def func12(arg: Any) -> Any:
    @jit
    def inner(x: Any) -> Any:
        return x + arg * Tensor.ones(1)

    return arg + inner(arg - 2.0)


@case(lambda: (some(2, 3).shard(("CPU:0", "CPU:1"), axis=0), 5.0), *ALL)
def func13(arr: Any, extra: Any) -> Any:
    def inner(x: Any) -> Any:
        return (x - extra * 2) / psum(x, "rows")

    return vmap(inner, axis_name="rows")(arr)


@case(lambda: (some(3), some(2)), *ALL)
def outer(x: Any, y: Any) -> Any:
    return vmap(lambda a: vmap(lambda b: a + b)(y))(x)


@case(lambda: (some(3), some(3)), *ALL)
def zipped(x: Any, y: Any) -> Any:
    return vmap(lambda a, b: a + b)(x, y)


@case(lambda: (some(3, 4),), *ALL)
def softmax(x: Any) -> Any:
    return vmap(lambda row: row.softmax())(x)


@case(lambda: (some(2, 3, 4), some(2, 3, 4)))
def axes(x: Any, y: Any) -> Any:
    return vmap(lambda a, b: a @ b.T, in_axes=(0, 0), out_axes=2)(x, y)


@case(lambda: (some(3, 4), Tensor([0, 2, 1])))
def indices(x: Any, i: Any) -> Any:
    return vmap(lambda row, at: row[at] + row[1:3].sum() + row[None, ::2].max() + row[..., -1])(x, i)


@case(lambda: (some(3, 4),))
def many_operands(x: Any) -> Any:
    return vmap(lambda row: row.cat(row * 2).stack(Tensor.zeros(8)), out_axes=1)(x)


@case(lambda: (some(3, 4),))
def two_results(x: Any) -> Any:
    return vmap(lambda row: row.topk(2))(x)


@case(lambda: (some(3, 2),))
def by_name(x: Any) -> Any:
    return vmap(lambda a, *, k: a.sum(axis=0, keepdim=True) + k)(x, k=x)


@case(lambda: (some(3),))
def same_name(x: Any) -> Any:
    return vmap(lambda x: x + 1)(x) + vmap(lambda x: x * 2)(x)


@case(lambda: (some(3, 2),))
def collectives(x: Any) -> Any:
    def f(column: Any) -> Any:
        return column * axis_index("c") + pmax(column.sum(), "c")

    return vmap(f, in_axes=1, out_axes=1, axis_name="c")(x)


@case(lambda: (some(3, 4),), *ALL)
def per_example_gradient(x: Any) -> Any:
    return vmap(grad(lambda row: (row * row * row.sum()).sum()))(x)


@case(lambda: (some(3),))
def mapped_while(x: Any) -> Any:
    return vmap(lambda x: while_loop(lambda c: c < 100.0, lambda c: c * 2, x))(x)


@case(lambda: (some(3, 4),))
def loops_in_loops(x: Any) -> Any:
    def step(c: Any, row: Any) -> Any:
        inner, _ = scan(lambda d, v: (d + v * c, None), 0.0, row)
        return c + inner, vmap(lambda v: v * c)(row)

    return scan(step, 1.0, x, reverse=True)


@case(lambda: (some(3, 4),))
def one_by_one(x: Any) -> Any:
    return branded.map(lambda row: row.softmax() @ TABLE[:4], x)


@case(lambda: (some(3, 2),))
def written(x: Any) -> Any:
    def f(row: Any) -> Any:
        y = row * 1
        y[0] = 5.0
        return y

    return vmap(f)(x)


@custom_vjp
def cube(x: Any) -> Any:
    return x * x * x


cube.defvjp(lambda x: (x * x * x, x), lambda x, ct: (3 * x * x * ct,))


@case(lambda: (some(3),))
def own_rule(x: Any) -> Any:
    return vmap(cube)(x)


@case(lambda: (some(3, 4),))
def reflected(x: Any) -> Any:
    return vmap(lambda row: (row > 1).where(2.0 - row, 1 / row) ** 2)(x)


@case(lambda: (random.key(0), some(3)))
def draws(key: Any, x: Any) -> Any:
    keys = random.split(key, 3)
    return vmap(lambda k, v: v + random.normal(k, (2,)))(keys, x) + random.uniform(key, minval=-1.0)


@case(lambda: (some(3),), *ALL)
def written_in_parts(x: Any) -> Any:
    y = x + 1
    y += 2
    y[1:] = 0.0
    y[0] += 1.0
    return y


@case(lambda: (some(2, 3),))
def more_parameters(x: Any) -> Any:
    return x.matmul(x.T, dtype="float64").cast("float32") + x.div(2, rounding_mode="floor").sum()


@case(lambda: (some(3),))
def odd_names(x: Any) -> Any:
    return vmap(lambda _: _ + 1)(x) + vmap(lambda v: v * 2, axis_name="3d inf")(x)
