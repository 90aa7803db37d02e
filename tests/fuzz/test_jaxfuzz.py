"""Test the random programs of `make fuzz-jax` without JAX: they contain all kinds, run, and equal their loops."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Context, Tensor

import branded
from branded import BrandedError, tree
from tests.fuzz.jax import ours
from tests.fuzz.jax.draw import KINDS, draw
from tests.fuzz.jax.drawing import Draw
from tests.fuzz.jax.form import Program
from tests.fuzz.jax.judge import close
from tests.fuzz.jax.more import MORE
from tests.fuzz.jax.shrink import shrunk


@functools.cache
def programs() -> list[Program]:
    """Return 300 programs; generating them takes a second, so this is not done during collection."""
    return [draw(0, number) for number in range(300)]


EXCHANGES = re.compile(r"m\.(p\w+|all_\w+|axis_index)\([^)]*'[ijkl]'|with_vmap")


def test_all_kinds_are_generated() -> None:
    made = set[str]()
    for number in range(150):
        d = Draw(f"0:{number}", False, 25)
        d.program()
        made.update(d.kinds)
    assert made == set(KINDS)


def test_additional_kinds_are_generated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ours, "COMPILE", False)
    made, text, ran = set[str](), "", 0
    for number in range(80):
        d = Draw(f"1:{number}", False, 15, MORE)
        program = d.program()
        made.update(d.kinds)
        text += program.body()
        if number % 8 == 0:
            with Context(DEV="PYTHON"), contextlib.suppress(BrandedError):
                program.run(ours)
                ran += 1
    assert made >= MORE.keys() and ran >= 8
    assert {"module_call", "with_jvp_static", "with_vjp_static", "jit_static", "write"} <= {
        *re.findall(r"m\.(\w+)", text)
    }
    assert draw(0, 3, more=True).text() != programs()[3].text() == draw(0, 3).text()


def test_programs_call_all_public_functions() -> None:
    """Exceptions are modules, types, text of values and packages, which have other tests."""
    text = "\n".join(p.body() for p in programs())
    used = set(re.findall(r"m\.(\w+)", text))
    spelled = {"vjp": "pulled", "brand": "over", "make_expr": "through_expr"}
    spelled |= {f"custom_{kind}": f"with_{kind}" for kind in ("jvp", "vjp", "vmap")}
    aside = {"Brand", "enable", "BrandedError", "Vec", "axis_size", "brands", "lift", "random", "unvec", "vec_type"}
    aside |= {"callbacks", "debug", "linalg", "optim", "tree", "io_callback", "pure_callback"}
    aside |= {"functional_call", "stack_module_state", "register_pytree_node"}
    aside |= {*branded.functions.__all__}  # tests/golden/functions.py
    aside |= {"ShapeDtypeStruct", "static"}  # types
    aside |= {"associative_scan", "cumlogsumexp"}  # tests/control_flow/test_associative_scan.py
    aside |= {"checkpoint", "remat"}  # does not change values: tests/autodiff/test_checkpoint.py
    aside |= {"memory", "shard"}  # do not change values: tests/tools/test_memory.py, tests/core/test_devices.py
    aside |= {"Axes", "as_axes", "axes"}  # types, and checks at run time: tests/core/test_axis_names.py
    assert {spelled.get(name, name) for name in branded.__all__} - aside <= used


def test_program_depends_only_on_number() -> None:
    assert all(draw(0, number).text() == programs()[number].text() for number in range(0, 40, 3))
    assert len({p.text() for p in programs()}) == len(programs())


def one_by_one(f: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, **options: Any) -> Any:
    """Return a loop with the arguments and results of vmap."""

    def mapped(*args: Any, **kwargs: Any) -> Any:
        axes = in_axes if isinstance(in_axes, tuple | list) else tree.broadcast_prefix(in_axes, args, "", "")
        axes = [a for ax, x in zip(axes, args, strict=True) for a in tree.broadcast_prefix(ax, x, "", "")]
        axes += [0] * len(tree.leaves(list(kwargs.values())))
        leaves = tree.leaves([args, kwargs])
        size = next((x.shape[a] for x, a in zip(leaves, axes, strict=True) if a is not None), options.get("axis_size"))
        results = []
        for i in range(size):
            own = [x if a is None else pick(x, a, i) for x, a in zip(leaves, axes, strict=True)]
            new_args, new_kwargs = tree.rebuild([args, kwargs], iter(own))
            results.append(f(*new_args, **new_kwargs))
        outs = tree.broadcast_prefix(out_axes, results[0], "", "")
        columns = zip(*(tree.leaves(r) for r in results), strict=True)
        stacked = [ys[0] if a is None else Tensor.stack(*ys, dim=a) for ys, a in zip(columns, outs, strict=True)]
        return tree.rebuild(results[0], iter(stacked))

    return mapped


def pick(x: Tensor, axis: int, i: int) -> Tensor:
    order = [axis % x.ndim, *(k for k in range(x.ndim) if k != axis % x.ndim)]
    return x.permute(*order)[i]


class Loops:
    """The functions that programs call, with a loop instead of each map."""

    vmap = staticmethod(one_by_one)

    @staticmethod
    def over(f: Callable[..., Any], name: str, size: int, in_axes: Any, out_axes: Any) -> Any:
        return one_by_one(f, tuple(in_axes), tuple(out_axes), axis_size=size)

    def __getattr__(self, name: str) -> Any:
        return getattr(ours, name)


def has_examples(program: Program) -> bool:
    return all(0 not in v.type.shape for _, let in program.main.lets() for v in [*let.targets, *let.operands])


def test_programs_equal_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ours, "COMPILE", False)
    chosen = [p for p in programs() if "m.vmap" in p.body() and not EXCHANGES.search(p.body()) and has_examples(p)]
    compared = 0
    for p in chosen[:40]:
        scope: dict[str, Any] = {}
        exec(p.body(), scope)
        with Context(DEV="PYTHON"):
            try:
                got = p.run(ours)
            except BrandedError:
                continue
            wanted = ours.results(scope["program"](Loops(), *map(ours.array, p.inputs)))
        for a, b in zip(got, wanted, strict=True):
            assert a.shape == b.shape and a.dtype == b.dtype and close(a, b), p.text()
        compared += 1
    assert compared >= 30


def test_failing_program_is_shrunk() -> None:
    big = next(p for p in programs() if p.body().count("m.cumsum") and p.body().count("\n") > 15)
    small = shrunk(big, lambda p: "m.cumsum" in p.body(), 10)
    assert "m.cumsum" in small.body() and small.body().count("\n") <= 6
    compile(small.text(), "small", "exec")


def test_comparison() -> None:
    assert close(np.array([1.0, np.nan], "f4"), np.array([1.0005, np.nan], "f4"))
    assert not close(np.array([1.0], "f4"), np.array([1.01], "f4"))
    assert not close(np.array([np.nan], "f4"), np.array([1.0], "f4"))
    assert not close(np.array([1], "i4"), np.array([2], "i4"))
