"""Functions for the laws of `explain`: each feature of a program, on small inputs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tinygrad import Tensor

import branded
from branded import (
    all_gather,
    axis_index,
    brand,
    cond,
    custom_jvp,
    fori_loop,
    grad,
    hessian,
    jvp,
    pmax,
    ppermute,
    psum,
    random,
    scan,
    switch,
    vmap,
    while_loop,
)

V, W2 = [1.0, 2.0, 3.0], [4.0, 6.0]
M, T = [[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
I = [2, 0]  # noqa: E741


def context(a: Any, b: Any) -> Any:
    with brand("p", 3) as p, brand("q", 2) as q:
        return p.unvec(q.unvec(p.vec(a) * q.vec(b)), axis=1)


def crossed(a: Any, b: Any) -> Any:
    """Leave the outer brand first, which nested loops cannot express."""
    with brand("p", 3) as p, brand("q", 2) as q:
        return q.unvec(p.unvec(p.vec(a) * q.vec(b)))


def late(a: Any, b: Any) -> Any:
    """Enter the outer brand last."""
    with brand("p", 3) as p, brand("q", 2) as q:
        y, x = q.vec(b), p.vec(a)
        return q.unvec(p.unvec(x * y))


def written(m: Any) -> Any:
    def f(row: Any) -> Any:
        row = row.clone()
        row[1] = row[0] * 2
        return row

    return vmap(f)(m)


def custom(a: Any) -> Any:
    @custom_jvp
    def f(x: Any) -> Any:
        return x.sin()

    f.defjvp(lambda p, t: (f(*p), p[0].cos() * t[0]))
    return vmap(grad(f))(a)


def twice(a: Any) -> Any:
    double = vmap(lambda x: x * 2)
    return double(double(a))


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "zip": (lambda a, b: vmap(lambda x, y: x * y)(a, b), (V, V)),
    "outer": (lambda a, b: vmap(lambda x: vmap(lambda y: x + y * 2)(b))(a), (V, W2)),
    "names that clash": (lambda a: vmap(lambda a: vmap(lambda b: a - b**2)(a))(a), (M,)),
    "softmax": (lambda m: vmap(lambda r: (r - r.max()).exp().softmax(-1))(m), (M,)),
    "attention": (lambda m: vmap(lambda q: vmap(lambda k: (q * k).sum())(m).softmax() @ m)(m), (M,)),
    "solve": (lambda m, a, b: vmap(lambda x: branded.linalg.solve(m, x * b))(a), ([[2.0, 1.0], [0.0, 3.0]], V, W2)),
    "outer product": (lambda a, b: vmap(lambda x: branded.outer(x, b))(a), (V, W2)),
    "matmul": (lambda m, w: vmap(lambda r: vmap(lambda c: (r * c).sum(), in_axes=1)(w))(m), (M, T)),
    "axes": (lambda m: vmap(lambda c: c * 2, in_axes=1, out_axes=1)(m), (M,)),
    "several results": (lambda a, b: vmap(lambda x, y: (x, y.sum()), in_axes=(0, None))(a, b), (V, W2)),
    "a result that does not vary": (lambda a, w: vmap(lambda x: (x * 2, w.sum()), out_axes=(0, None))(a), (V, T)),
    "a tree": (lambda p, m: vmap(lambda x: x @ p["w"] + p["b"])(m), ({"w": T, "b": W2}, M)),
    "without a brand": (lambda m, w: (m @ w).relu(), (M, T)),
    "twice": (twice, (V,)),
    "brands in a block": (context, (V, W2)),
    "brands that cross": (crossed, (V, W2)),
    "brands entered in another order": (late, (V, W2)),
    "grad": (lambda m: vmap(grad(lambda r: (r * r * r).sum()))(m), (M,)),
    "grad of vmap": (lambda a, w: grad(lambda w: vmap(lambda x: (w * x).sum().square())(a).mean())(w), (V, W2)),
    "jvp": (lambda a: vmap(lambda x: jvp(lambda t: t.sin() * t, (x,), (x * 0 + 1,))[1])(a), (V,)),
    "hessian": (lambda m: vmap(hessian(lambda r: (r * r * r).sum()))(m), (M,)),
    "custom": (custom, (V,)),
    "scan": (lambda m: vmap(lambda r: scan(lambda c, x: (c * 0.5 + x, c + x), r[0], r)[1])(m), (M,)),
    "reversed scan": (lambda m: scan(lambda c, r: (c + r, c * r), m[0] * 0, m, reverse=True), (M,)),
    "grad of scan": (lambda m: vmap(grad(lambda r: scan(lambda c, x: (c * x, c), r[0], r)[0]))(m), (M,)),
    "vmap in scan": (lambda m: scan(lambda c, r: (c + vmap(lambda x: x * c.sum())(r), c), m[0], m)[0], (M,)),
    "while_loop": (lambda m: vmap(lambda r: while_loop(lambda c: c.sum() < 20, lambda c: c * 2, r))(m), (M,)),
    "fori_loop": (lambda m: vmap(lambda r: fori_loop(0, 3, lambda i, c: c * 2 + r.sum() * i, r[0]))(m), (M,)),
    "map": (lambda m: vmap(lambda r: branded.map(lambda x: x * x + r.sum(), r))(m), (M,)),
    "cond": (lambda a: vmap(lambda x: cond(x > 1.5, lambda x: x.sqrt(), lambda x: x * 3, x))(a), (V,)),
    "switch": (
        lambda i, a: vmap(lambda k: switch(k, [lambda x: x.sum(), lambda x: x.max(), lambda x: x.prod()], a))(i),
        (I, W2),
    ),
    "psum": (lambda m: vmap(lambda r: r / psum(r, "i"), axis_name="i")(m), (M,)),
    "pmax, axis_index": (lambda m: vmap(lambda r: r * axis_index("i") + pmax(r, "i"), axis_name="i")(m), (M,)),
    "all_gather": (lambda m: vmap(lambda r: all_gather(r.sum(), "i"), axis_name="i")(m), (M,)),
    "ppermute": (lambda a: vmap(lambda x: ppermute(x, "i", [(0, 1), (1, 2)]), axis_name="i")(a), (V,)),
    "random": (lambda a: vmap(lambda k, x: random.uniform(k) * x)(random.split(random.key(7), 3), a), (V,)),
    "index": (lambda m, i: vmap(lambda r, k: r[k])(m, i), (M, I)),
    "write": (written, (M,)),
    "copy": (lambda a: vmap(lambda x: x.clone())(a), (V,)),
    "copy of columns": (lambda m: vmap(lambda c: vmap(lambda x: x.clone())(c), in_axes=1, out_axes=1)(m), (M,)),
    "of the shape alone": (lambda a: vmap(lambda x: x.zeros_like() + x)(a), (V,)),
    "more variables than letters": (lambda a: vmap(lambda x: functools.reduce(Tensor.add, [1] * 46, x))(a), (V,)),
    "a brand that is called as its loop": (
        lambda a: vmap(lambda x: fori_loop(0, 2, lambda i, c: c + x, x), axis_name="step")(a),
        (V,),
    ),
    "brands that are called as what the loop calls": (
        lambda a: vmap(lambda range: vmap(lambda Tensor: Tensor + range, axis_name="for")(a))(a),  # noqa: N803
        (V,),
    ),
    "movement": (lambda m: vmap(lambda r: r.cat(r * 2).flip(0).pad((1, 1)).roll(1, 0))(m), (M,)),
    "stack": (lambda a: vmap(lambda x: Tensor.stack(x, x + 1, 1 - x))(a), (V,)),
    "where": (lambda m: vmap(lambda r: (r > 2).where(r, 0.0).cumsum())(m), (M,)),
}
