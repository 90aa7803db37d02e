"""Effects in custom rules and in bodies with writes run as often, and with the same values, as in a Python loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor

from branded import (
    checkpoint,
    cond,
    custom_jvp,
    custom_vjp,
    debug,
    fori_loop,
    functional_call,
    grad,
    io_callback,
    jacrev,
    jit,
    jvp,
    scan,
    stop_gradient,
    switch,
    tree,
    value_and_grad,
    vmap,
    while_loop,
)
from branded.errors import UnsupportedError
from tests.support.by_numpy import read, reads
from tests.support.examples import in_memory
from tests.support.profiles import pairs

Seen = list[Any]


class Log:
    def __init__(self) -> None:
        self.seen: Seen = []

    def note(self, x: Any, name: str = "") -> None:
        debug.callback(
            lambda x: self.seen.append((name, np.asarray(x).tolist()) if name else np.asarray(x).tolist()), x
        )

    def tenfold(self, x: Tensor) -> Tensor:
        def f(x: np.ndarray) -> np.ndarray:
            self.seen.append(x.tolist())
            return x * 10

        out: Tensor = io_callback(f, x, stop_gradient(x))
        return out

    def taken(self) -> Seen:
        found, self.seen = self.seen, []
        return found


# ---- rules ----


def by_jvp(log: Log) -> Any:
    f = custom_jvp(lambda x: x.sin())

    def rule(primals: Any, tangents: Any) -> Any:
        log.note(primals[0], "rule")
        return primals[0].sin(), primals[0].cos() * tangents[0]

    f.defjvp(rule)
    return f


def by_vjp(log: Log) -> Any:
    f = custom_vjp(lambda x: x.sin())

    def fwd(x: Tensor) -> Any:
        log.note(x, "fwd")
        return x.sin(), x

    def bwd(x: Tensor, ct: Tensor) -> Any:
        log.note(x * ct, "bwd")
        return (x.cos() * ct,)

    f.defvjp(fwd, bwd)
    return f


def summed(f: Any) -> Callable[[Tensor], Tensor]:
    return lambda xs: scan(lambda c, x: (c + f(x), None), Tensor(0.0), xs)[0]


def branched(f: Any) -> Callable[[Tensor], Tensor]:
    return lambda x: cond(x > 1.5, f, lambda x: x * 2, x)


def nested(f: Any) -> Callable[[Tensor], Tensor]:
    return lambda x: cond(x > 1.5, lambda x: cond(x < 2.5, f, lambda x: x * 2, x), lambda x: x, x)


def chosen(f: Any) -> Callable[[Tensor], Tensor]:
    return lambda x: switch(x.cast("int32") - 1, [lambda x: x * 2, f, lambda x: f(x) + x], x)


def inner(f: Any) -> Callable[[Tensor], Tensor]:
    """Call `f` in a branch of an inner vmap inside a branch of the outer vmap."""
    return lambda x: cond(x > 1.5, lambda x: vmap(branched(f))(x.expand(2) - Tensor([0.0, 1.0])).sum(), lambda x: x, x)


XS = Tensor([1.0, 2.0, 3.0])
RULES: dict[str, tuple[Callable[[Any], Callable[[Tensor], Any]], list[float]]] = {
    "vmap grad": (lambda f: vmap(grad(f)), [1, 2, 3]),
    "grad vmap": (lambda f: grad(lambda xs: vmap(f)(xs).sum()), [1, 2, 3]),
    "grad grad": (lambda f: vmap(grad(grad(f))), [1, 2, 3]),
    "jit": (lambda f: jit(vmap(grad(f))), [1, 2, 3]),
    "jacrev": (lambda f: jacrev(lambda xs: vmap(lambda x: f(x))(xs).sum()), [1, 2, 3]),
    "unbatched": (lambda f: vmap(lambda x: grad(lambda w: f(w) + 0 * x)(Tensor(2.0))), [2]),
    "in the step of a scan": (lambda f: lambda xs: scan(lambda c, x: (c, grad(f)(x)), 0.0, xs)[1], [1, 2, 3]),
    "of a scan": (lambda f: grad(summed(f)), [3, 2, 1]),
    "vmap of a scan": (lambda f: vmap(grad(summed(f))), [2, 4, 6, 1, 2, 3]),
    "jit of a scan": (lambda f: jit(grad(summed(f))), [3, 2, 1]),
    "of a scan of vmap": (
        lambda f: grad(
            lambda x: scan(lambda c, k: (c + vmap(f)(x * k).sum(), None), Tensor(0.0), Tensor([1.0, 2.0]))[0]
        ),
        [2, 4, 6, 1, 2, 3],
    ),
    "of a scan of scans": (lambda f: grad(lambda xs: summed(lambda x: summed(f)(xs[:2] * x))(xs)), [6, 3, 4, 2, 2, 1]),
    "of a checkpoint": (lambda f: vmap(grad(checkpoint(f))), [1, 2, 3]),
    "of a branch": (lambda f: vmap(grad(branched(f))), [2, 3]),
    "of a branch, all together": (lambda f: grad(lambda xs: vmap(branched(f))(xs).sum()), [2, 3]),
    "of a branch of a branch": (lambda f: vmap(grad(nested(f))), [2]),
    "of a switch": (lambda f: vmap(grad(chosen(f))), [2, 3]),
    "of a branch of an inner vmap": (lambda f: vmap(grad(inner(f))), [2, 3, 2]),
    "of a branch in a scan": (lambda f: grad(summed(branched(f))), [3, 2]),
}


@pytest.mark.parametrize(("name", "own"), pairs(RULES, [by_jvp, by_vjp]))
def test_rule_runs_its_effects_once(name: str, own: Callable[[Log], Any]) -> None:
    make, expected = RULES[name]
    xs = Tensor([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]) if name == "vmap of a scan" else XS
    log = Log()
    run = make(own(log))
    for _ in range(1 + 2 * name.startswith("jit")):
        found = [y.numpy() for y in tree.leaves(run(xs))]
        seen: dict[str, list[float]] = {}
        for which, x in log.taken():
            seen.setdefault(which, []).append(x)
        assert seen.keys() == ({"rule"} if own is by_jvp else {"fwd", "bwd"})
        assert sorted(next(iter(seen.values()))) == sorted(expected)
        assert len(seen.get("bwd", expected)) == len(expected)
        if name in ("of a scan", "jit of a scan"):
            assert next(iter(seen.values())) == expected  # reverse mode runs the steps backward
    for x, y in zip(found, tree.leaves(make(lambda x: x.sin())(xs)), strict=True):
        assert np.allclose(x, read(y), atol=1e-5)


def test_jvp_rule_runs_effects_of_active_examples() -> None:
    log = Log()
    f = by_jvp(log)
    grown = lambda x: while_loop(lambda c: c < 2.5, lambda c: f(c) + c + 0.5, x)  # noqa: E731
    jvp(vmap(grown), (XS,), (XS,))[1].realize()
    assert [x for _, x in log.taken()] == [1, 2, pytest.approx(1.5 + np.sin(1.0))]
    vmap(lambda x: jvp(branched(f), (x,), (x,))[1])(XS).realize()
    assert [x for _, x in log.taken()] == [2, 3]


def test_cotangent_of_each_step_can_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    probe = custom_vjp(lambda x: x)
    probe.defvjp(lambda x: (x, None), lambda _, ct: (debug.print("ct {:.0f}", ct), (ct,))[1])
    jit(grad(lambda x: scan(lambda c, k: (probe(c) * k, None), x, Tensor([2.0, 3.0, 5.0]))[0]))(Tensor(1.0))
    assert capsys.readouterr().out == "ct 5\nct 15\nct 30\n"


def test_io_callback_in_custom_vjp() -> None:
    log = Log()
    f = custom_vjp(lambda x: x.sin())
    f.defvjp(lambda x: (x.sin(), log.tenfold(x)), lambda r, ct: (r * ct,))
    assert vmap(grad(f))(XS).tolist() == [10, 20, 30]
    assert log.taken() == [1, 2, 3]
    assert jit(vmap(grad(f)))(XS).tolist() == [10, 20, 30]
    assert log.taken() == [1, 2, 3]
    for run in (summed(f), checkpoint(summed(f))):
        with pytest.raises(UnsupportedError) as caught:
            grad(run)(XS)
        assert str(caught.value) == (
            "io_callback: the number of its runs is undefined in a rule that runs for the body of a loop, a checkpoint "
            "or a @function\n  try: call it outside, or use pure_callback, which may run any number of times"
        )
    f.defvjp(
        lambda x: (x.sin(), while_loop(lambda c: log.tenfold(c) < 30, lambda c: c + 1, x)), lambda r, ct: (r * ct,)
    )
    with pytest.raises(UnsupportedError, match="undefined in while_loop: the condition\n"):
        grad(summed(f))(XS)  # the error names the innermost scope
    assert not log.taken()


def test_io_callback_before_value_in_grad() -> None:
    log = Log()

    def loss(x: Tensor) -> Tensor:
        log.note(x)
        return log.tenfold(x) * x

    assert jit(grad(loss))(Tensor(2.0)).item() == 20
    assert log.taken() == [2, 2]


def test_io_callback_in_branch_or_grad_runs_once() -> None:
    """The call occurs twice in the program, as a result and as an effect, but runs once."""
    log = Log()
    a = Tensor([6, 7])
    one = lambda a: scan(lambda c, k: (c + log.tenfold(a + k), None), 0.0, Tensor([1.0, 2.0]))[0]  # noqa: E731
    for run in (vmap, lambda f: jit(vmap(f))):
        assert run(lambda a: cond(a > 6, log.tenfold, lambda a: -a, a))(a).tolist() == [-6, 70]
        assert log.taken() == [7]
        assert run(lambda a: cond(a > 6, one, lambda a: a.float(), a))(a).tolist() == [6, 170]
        assert log.taken() == [8, 9]
        assert run(value_and_grad(lambda a: (a * 2 + log.tenfold(a)).sum()))(a.float())[0].tolist() == [72, 84]
        assert log.taken() == [6, 7]


def test_loop_in_branch_runs_effects_if_taken() -> None:
    log = Log()

    def loops(x: Tensor) -> Tensor:
        x = while_loop(lambda c: c < 4, lambda c: (log.note(c, "while"), c + 1)[1], x)
        x = fori_loop(0, 2, lambda i, c: (log.note(c + i, "fori"), c * 2)[1], x)
        return vmap(lambda y: scan(lambda c, k: (c + k, log.note(c * k, "scan")), x + y, XS[:2])[0])(XS[:2]).sum()

    f = lambda x: cond(x > 1.5, loops, lambda x: x, x)  # noqa: E731
    assert vmap(f)(XS).tolist() == [1, 41, 41]
    steps = [("while", 2), ("while", 3), ("while", 3)]
    steps += [("fori", 4), ("fori", 4), ("fori", 9), ("fori", 9)]
    assert (seen := log.taken())[:7] == steps
    assert sorted(seen[7:]) == sorted(("scan", c) for c in (17, 18, 2 * 18, 2 * 19) for _ in range(2))


def test_effect_in_branch_does_not_divide_by_zero() -> None:
    log = Log()
    a, b = Tensor([6, 7]), Tensor([2, 0])
    f = lambda a, b: cond(b.ne(0), lambda: (log.note(a // b), a // b)[1], lambda: a)  # noqa: E731
    assert vmap(f)(a, b).tolist() == jit(vmap(f))(a, b).tolist() == [3, 7]
    assert log.taken() == [3, 3]


# ---- writes ----


class Cache:
    def __init__(self) -> None:
        self.cache = Tensor.zeros(3).contiguous().realize()

    def __call__(self, x: Tensor, log: Log) -> Tensor:
        self.cache[1:3].assign(x)
        log.note(self.cache)
        self.cache[0:1].assign(log.tenfold(x)[0:1])
        log.note(self.cache)
        return self.cache.sum()


def _slice(log: Log, x: Tensor) -> Any:
    log.note(x)
    x[0:1].assign(x[1:2] + 1)
    log.note(x)
    x[1:2].assign(Tensor([5.0]))
    log.note(x)
    return x * 1


def _view(log: Log, x: Tensor) -> Any:
    v = x[0:1]
    v += 5
    log.note(v)
    log.note(x)
    return x + v


def _computed(log: Log, x: Tensor) -> Any:
    y = x * 2
    y[0:1] = 3.0
    log.note(y)
    y[1] += 1
    log.note(y)
    return y


def _of_the_host(log: Log, x: Tensor) -> Any:
    x[0:1].assign(log.tenfold(x)[1:2])
    y = log.tenfold(x)
    y[0:1].assign(x[1:2])
    log.note(y)
    return x, y


def _old_view(log: Log, x: Tensor) -> Any:
    y = x.clone()
    z = y[0:1]
    for k in range(3):
        log.note(z)
        y[k % 2 : k % 2 + 1].assign(log.tenfold(y)[(k + 1) % 2 : (k + 1) % 2 + 1] + k)
        log.note(y)
    return y, z


def _detached(log: Log, x: Tensor) -> Any:
    y = x.detach()
    y[0] = 7
    log.note(x)
    log.note(y)
    return x


def _by_index(log: Log, x: Tensor) -> Any:
    y = x.clone()
    y[(x[0] > 2).where(1, 0)] = 100.0
    log.note(y)
    return y


def _in_scan(log: Log, x: Tensor) -> Any:
    def step(c: Tensor, k: Tensor) -> Any:
        c[0:1].assign(c[1:2] + k)
        log.note(c)
        return c, log.tenfold(c).sum()

    return scan(step, x, Tensor([1.0, 2.0]))


def _in_nested_scans(log: Log, x: Tensor) -> Any:
    def step(c: Tensor, k: Tensor) -> Any:
        c, ys = _in_scan(log, c)
        c[1:2] += k
        log.note(c)
        return c, ys.sum()

    return scan(step, x, Tensor([1.0, 2.0]))


def _in_while(log: Log, x: Tensor) -> Any:
    def step(state: Any) -> Any:
        k, v = state
        v[0:1].assign(log.tenfold(v)[1:2] / 10 + k)
        log.note(v)
        return k + 1, v

    return while_loop(lambda s: s[0] < 3, step, (x[0].clone(), x))


def _in_fori(log: Log, x: Tensor) -> Any:
    def step(i: Tensor, c: Tensor) -> Tensor:
        c[i] = 9.0
        log.note(c)
        return c

    return fori_loop(0, 2, step, x)


def _in_branches(log: Log, x: Tensor) -> Any:
    def one(x: Tensor) -> Tensor:
        x[0:1].assign(Tensor([7.0]))
        log.note(x)
        return x

    def other(x: Tensor) -> Tensor:
        x[1:2].assign(log.tenfold(x)[0:1])
        return x

    return cond(x.sum() > 4, one, other, x)


def _in_jit(log: Log, x: Tensor) -> Any:
    x[0:1].assign(Tensor([7.0]))
    y = jit(lambda a: (log.note(a), a * 2)[1])(x)
    x[0:1].assign(Tensor([1.0]))
    log.note(x)
    return y


def _in_module(log: Log, x: Tensor) -> Any:
    return functional_call(Cache(), {"cache": x.cat(x[0:1])}, x, log)


def _in_grad(log: Log, x: Tensor) -> Any:
    def loss(x: Tensor) -> Tensor:
        y = x * 2
        z = y.clone()
        z[0:1].assign(y[1:2] * y[1:2])
        log.note(z)
        z[1] = x[0] + log.tenfold(x)[1]
        log.note(z)
        return (z * x).sum()

    return value_and_grad(loss)(x)


def _in_grad_of_scan(log: Log, x: Tensor) -> Any:
    def step(c: Tensor, k: Tensor) -> Any:
        c = c.clone()
        c[0:1].assign(c[1:2] * k)
        log.note(c)
        return c, c.sum()

    return grad(lambda x: scan(step, x, Tensor([1.0, 2.0]))[1].sum())(x)


def _in_rule(log: Log, x: Tensor) -> Any:
    def f0(a: Tensor) -> Tensor:
        a = a.clone()
        a[0:1].assign(a[1:2])
        log.note(a)
        return a

    def bwd(r: Tensor, ct: Tensor) -> Any:
        ct = ct * r
        ct[0:1] = 5.0
        log.note(ct)
        return (ct,)

    f = custom_vjp(f0)
    f.defvjp(lambda a: (f0(a), a), bwd)
    return value_and_grad(lambda x: f(x).sum())(x)


WRITES = {f.__name__.strip("_"): f for f in (
    _slice, _view, _computed, _of_the_host, _old_view, _detached, _by_index, _in_scan, _in_nested_scans, _in_while,
    _in_fori, _in_branches, _in_jit, _in_module, _in_grad, _in_grad_of_scan, _in_rule,
)}  # fmt: skip


@pytest.mark.parametrize("name", WRITES)
def test_effect_sees_earlier_writes(name: str) -> None:
    f, log, x = WRITES[name], Log(), np.array([[1, 2], [3, 4]], np.float32)
    one = lambda x: f(log, x)  # noqa: E731
    each = [reads(tree.leaves(one(in_memory(row)))) for row in x]
    values, seen = [np.stack(ys) for ys in zip(*each, strict=True)], sorted(map(str, log.taken()))
    deep = lambda xs: tree.map(lambda y: y[0], vmap(vmap(one))(xs.reshape(1, *xs.shape)))  # noqa: E731
    for run in (vmap(one), vmap(one, chunk_size=1), jit(vmap(one)), deep):
        given = in_memory(x)
        found = tree.leaves(run(given))
        got = [y.numpy() for y in found] if run is deep else reads(found)
        assert all(np.allclose(y, z) for y, z in zip(got, values, strict=True))
        assert sorted(map(str, log.taken())) == seen
        assert given.tolist() == x.tolist()
