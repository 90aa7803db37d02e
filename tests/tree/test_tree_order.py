"""Trees are matched by their keys, independent of the order of keys in a dict; and trees may be deep."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tinygrad import Context, Tensor

from branded import (
    cond,
    custom_jvp,
    custom_vjp,
    custom_vmap,
    errors,
    fori_loop,
    grad,
    jvp,
    scan,
    switch,
    tree,
    vjp,
    vmap,
    while_loop,
)


@pytest.fixture(autouse=True, scope="module")
def interpreted() -> Iterator[None]:
    with Context(DEV="PYTHON"):
        yield


Dict = dict[str, Any]
with Context(DEV="PYTHON"):
    X = Tensor([1.0, 2.0])


def forth(a: Any, b: Any) -> Dict:
    return {"a": a, "b": {"c": b, "d": a}}


def back(a: Any, b: Any) -> Dict:
    return {"b": {"d": a, "c": b}, "a": a}


def numbers(out: Any) -> Any:
    return {k: numbers(v) for k, v in out.items()} if isinstance(out, dict) else out.tolist()


PROGRAMS: dict[str, Callable[[Callable[[Any, Any], Dict], Tensor], Any]] = {
    "cond": lambda f, x: cond(x > 1, lambda x: forth(x, 2 * x), lambda x: f(3 * x, 4 * x), x),
    "switch": lambda f, x: switch(x.int(), [lambda x: forth(x, x), lambda x: f(x, 2 * x), lambda x: f(x, 3 * x)], x),
    "scan": lambda f, x: scan(lambda c, _: (f(c["a"] + 1, c["b"]["c"] * 2), None), forth(x, x), None, length=3)[0],
    "fori_loop": lambda f, x: fori_loop(0, 3, lambda _, c: f(c["a"] + 1, c["b"]["c"] * 2), forth(x, x)),
    "while_loop": lambda f, x: while_loop(lambda c: c["a"] < 4, lambda c: f(c["a"] + 1, c["b"]["c"] * 2), forth(x, x)),
    "jvp": lambda f, x: jvp(lambda d: d["a"] * d["b"]["c"], (forth(x, x + 1),), (f(x * 2, x * 3),))[1],
    "vjp": lambda f, x: vjp(lambda x: forth(x, 2 * x), x)[1](f(x, 10 * x))[0],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_keys_in_another_order(name: str) -> None:
    wanted, got = (vmap(lambda x, f=f: PROGRAMS[name](f, x))(X) for f in (forth, back))
    assert numbers(got) == numbers(wanted)


def test_first_tree_determines_the_order() -> None:
    out = vmap(lambda x: cond(x > 1, lambda x: back(x, x), lambda x: forth(x, x), x))(X)
    assert list(out) == ["b", "a"] and list(out["b"]) == ["d", "c"]


def test_other_keys_are_rejected() -> None:
    with pytest.raises(errors.CarryError, match="different structures"):
        vmap(lambda x: cond(x > 1, lambda x: {"a": x}, lambda x: {"b": x}, x))(X)
    with pytest.raises(errors.CarryError, match="another structure"):
        scan(lambda c, _: ({**c, "more": X}, None), forth(X, X), None, length=2)


def test_custom_rules() -> None:
    f = custom_vmap(lambda x: forth(x, 2 * x))
    f.def_vmap(lambda n, batched, x: (forth(x, X.sum()), {"b": {"d": True, "c": False}, "a": True}))
    assert numbers(vmap(f)(X)) == {"a": [1, 2], "b": {"c": [3, 3], "d": [1, 2]}}

    g = custom_jvp(lambda x: forth(x, 2 * x))
    g.defjvp(lambda primals, tangents: (back(primals[0], 2 * primals[0]), back(tangents[0], 5 * tangents[0])))
    assert numbers(jvp(g, (X,), (X,))[1]) == {"a": [1, 2], "b": {"c": [5, 10], "d": [1, 2]}}
    g.defjvps(lambda t, y, x: back(t, 7 * t))
    assert numbers(jvp(g, (X,), (X,))[1]) == {"a": [1, 2], "b": {"c": [7, 14], "d": [1, 2]}}


DEPTH = 5000


def deep(x: Any, wrap: Callable[[Any], Any] = lambda x: [x]) -> Any:
    for _ in range(DEPTH):
        x = wrap(x)
    return x


def test_cotangents_and_flags_may_be_deep() -> None:
    f = custom_vjp(lambda t: tree.leaves(t)[0] * 1)
    f.defvjp(lambda t: (tree.leaves(t)[0] * 1, None), lambda _, ct: (deep(3 * ct, lambda x: {"k": x}),))
    (slope,) = tree.leaves(grad(lambda t: f(t).sum())(deep(X, lambda x: {"k": x})))
    assert slope.tolist() == [3, 3]
    f.defvjp(lambda t: (tree.leaves(t)[0] * 1, None), lambda _, ct: (deep(ct, lambda x: [x])[0],))
    with pytest.raises(errors.DerivativeError, match="another structure"):
        grad(lambda t: f(t).sum())(deep(X, lambda x: {"k": x}))

    g = custom_vmap(lambda x: deep(x))
    g.def_vmap(lambda n, batched, x: (deep(x), deep(True)))
    assert tree.leaves(vmap(g)(X))[0].tolist() == [1, 2]
