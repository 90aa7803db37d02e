"""A branch runs no host callback and no division for examples of the other branch.

This holds inside loops, `function`, `checkpoint`, and custom rules and their functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor, dtypes, function

import branded
from branded import (
    checkpoint,
    cond,
    custom_jvp,
    custom_vjp,
    fori_loop,
    grad,
    jit,
    jvp,
    pure_callback,
    scan,
    switch,
    vmap,
    while_loop,
)
from branded.core.tracing.predication import predicate

F = Callable[[Tensor], Tensor]


def quotient(a: np.ndarray) -> np.ndarray:
    assert a > 0, "this example is in the other branch"
    return np.asarray(12 / a, np.float32) if a.dtype == np.float32 else np.asarray(12 // a)


def by_callback(x: Tensor) -> Tensor:
    y: Tensor = pure_callback(quotient, x, x, vmap_method="sequential")
    return y


def by_division(x: Tensor) -> Tensor:
    return Tensor(12) // x


def with_jvp(f: F) -> F:
    ruled = custom_jvp(f)
    ruled.defjvp(lambda primals, tangents: (f(primals[0]), tangents[0]))
    return ruled


def long_while(f: F) -> F:
    def step(c: Any) -> Any:
        return c[0] + 1, c[1] + f(c[2]), c[2]

    return lambda x: while_loop(lambda c: c[0] < 99, step, (Tensor(0), x * 0, x))[1] // 99


WAYS: dict[str, Callable[[F], F]] = {
    "alone": lambda f: f,
    "scan": lambda f: lambda x: scan(lambda c, _: (c + f(x), None), x * 0, None, length=99)[0] // 99,
    "scan of scan": lambda f: lambda x: scan(lambda c, _: (c, WAYS["scan"](f)(x)), x, None, length=50)[1][49],
    "fori_loop": lambda f: lambda x: fori_loop(0, 99, lambda i, c: c + f(x), x * 0) // 99,
    "while_loop": long_while,
    "map": lambda f: lambda x: branded.map(f, x.reshape(1).expand(50))[49],
    "function": lambda f: lambda x: function(lambda x: f(x))(x),
    "checkpoint": lambda f: checkpoint(lambda x: f(x)),
    "rule": with_jvp,
    "rule in scan": lambda f: WAYS["scan"](with_jvp(f)),
    "scan in rule": lambda f: with_jvp(WAYS["scan"](f)),
}
OUTER: dict[str, Callable[[F], F]] = {
    "vmap": lambda f: vmap(f),
    "jit": lambda f: jit(vmap(f)),
    "scan": lambda f: lambda xs: scan(lambda c, x: (c, f(x)), Tensor(0), xs)[1],
}


@pytest.mark.parametrize("outer", OUTER)
@pytest.mark.parametrize("f", [by_callback, by_division])
@pytest.mark.parametrize("way", WAYS)
def test_branch_runs_only_for_its_examples(way: str, f: F, outer: str) -> None:
    g = OUTER[outer](lambda x: cond(x > 0, WAYS[way](f), lambda x: x - 1, x))
    assert g(Tensor([3, 0, 4, 0], dtype=dtypes.int32)).tolist() == [4, -1, 3, -1]


def _jvp_of_function() -> F:
    f = custom_jvp(by_callback)
    f.defjvp(lambda x, d: (by_callback(x[0]), -by_callback(x[0]) / x[0] * d[0]))
    return f


def _jvp_of_rule() -> F:
    f = custom_jvp(lambda x: 12 / x)
    f.defjvp(lambda x, d: (12 / x[0], -by_callback(x[0]) / x[0] * d[0]))
    return f


def _vjp_of_forward_rule() -> F:
    f = custom_vjp(by_callback)
    f.defvjp(lambda x: (by_callback(x), (by_callback(x), x)), lambda r, ct: (-ct * r[0] / r[1],))
    return f


def _vjp_of_backward_rule() -> F:
    f = custom_vjp(lambda x: 12 / x)
    f.defvjp(lambda x: (12 / x, x), lambda x, ct: (-ct * by_callback(x) / x,))
    return f


RULES = [_jvp_of_function, _jvp_of_rule, _vjp_of_forward_rule, _vjp_of_backward_rule]
DERIVATIVES: dict[str, Callable[[F], F]] = {
    "grad": lambda f: vmap(grad(lambda x: cond(x > 0, f, lambda x: x * 2, x))),
    "grad of switch": lambda f: vmap(grad(lambda x: switch((x > 0).cast(dtypes.int32), [lambda x: x * 2, f], x))),
    "grad of vmap": lambda f: grad(lambda xs: vmap(lambda x: cond(x > 0, f, lambda x: x * 2, x))(xs).sum()),
    "compiled": lambda f: jit(vmap(grad(lambda x: cond(x > 0, f, lambda x: x * 2, x)))),
    "two branches": lambda f: vmap(
        grad(lambda x: cond(x > -5, lambda x: cond(x > 0, f, lambda x: x * 2, x), lambda x: x * 2, x))
    ),
    "in a loop": lambda f: vmap(
        grad(lambda x: cond(x > 0, lambda x: scan(lambda c, _: (c + f(x), None), x * 0, None, length=50)[0] / 50,
                            lambda x: x * 2, x))
    ),
    "in chunks": lambda f: vmap(grad(lambda x: cond(x > 0, f, lambda x: x * 2, x)), chunk_size=3),
    "jvp": lambda f: vmap(lambda x: jvp(lambda x: cond(x > 0, f, lambda x: x * 2, x), (x,), (x * 0 + 1,))[1]),
}  # fmt: skip


@pytest.mark.parametrize("what", DERIVATIVES)
@pytest.mark.parametrize("rule", RULES, ids=lambda f: f.__name__[1:])
def test_rule_runs_only_for_its_examples(rule: Callable[[], F], what: str) -> None:
    if what == "jvp" and "vjp" in rule.__name__:
        pytest.skip("custom_vjp has no forward mode")
    found = DERIVATIVES[what](rule())(Tensor([4.0, -1.0, 2.0, -25.0]))
    np.testing.assert_allclose(found.numpy(), [-12 / 16, 2, -12 / 4, 2], rtol=1e-6)


def test_predicate_leaves_safe_calls_unchanged() -> None:
    x, flag = Tensor([1.0, 2.0]), Tensor(True).uop
    plain: list[F] = [
        lambda x: scan(lambda c, _: (c * x, None), x, None, length=99)[0],
        checkpoint(lambda x: x * 2),
        function(lambda x: x * 2),
    ]
    for f in plain:
        y = f(x).uop
        assert predicate([y], flag)[0] is y
