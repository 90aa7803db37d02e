"""Dispatch: zip, broadcast, and a rule or an error for every operation of tinygrad."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from tinygrad import Tensor, dtypes
from tinygrad.uop import Ops
from tinygrad.uop.ops import GroupOp, UOp

from branded import Brand, Vec, brand, brands, dispatch, errors, lift, tree, unvec, vec_type, vmap
from branded.dispatch import LEAVES, TABLE, resolve, rule
from branded.graph.rows import has_brand
from tests.support.examples import normals


def test_every_operation_has_a_rule_or_is_a_leaf() -> None:
    """A tinygrad release that adds an operation fails here until the operation has a rule or raises an error."""
    assert {*TABLE, *LEAVES} == set(Ops)


def test_each_rule_has_a_docstring() -> None:
    for op, rules in TABLE.items():
        for _, f in rules:
            assert f.__doc__, f"the rule {f.__name__} of {op} has no docstring"


def test_kinds() -> None:
    with brand("users", 3) as users, brand("items", 2) as items, brand("days", 4) as days:
        resolution = resolve(Ops.WHERE, [(users,), (users, items), (users,)])
        assert resolution.row == (users, items)
        assert [resolution.kind(b) for b in (users, items, days)] == ["zip", "broadcast", "none"]
        assert str(resolution) == (
            "where\n  users:3: zip, all operands vary over it\n  items:2: broadcast, only operand 2 varies over it"
        )
        assert resolve(Ops.ADD, [(items,), (users,)]).row == (users, items)
        assert resolve(Ops.ADD, [(users,), (users,)]).row == (users,)


def test_rules_can_be_registered() -> None:
    """NOOP belongs to kernels, so it has no rule of its own."""

    @rule(Ops.NOOP)
    def noop(u: UOp, resolution: dispatch.Resolution, x: dispatch.Batched) -> UOp:
        """vmap(noop)(xs) = xs."""
        return x.uop

    try:
        x = normals(3, 2)
        out = vmap(lambda a: Tensor(UOp(Ops.NOOP, a.dtype, (a.uop,))) * 2)(x)
        np.testing.assert_allclose(out.numpy(), x.numpy() * 2)
    finally:
        del TABLE[Ops.NOOP][0]
    with pytest.raises(errors.UnsupportedError, match="NOOP: this operation belongs to kernels"):
        vmap(lambda a: Tensor(UOp(Ops.NOOP, a.dtype, (a.uop,))) * 2)(x)


def test_operation_without_rule_is_an_error() -> None:
    with brand("users", 3) as users, pytest.raises(errors.UnsupportedError, match="BUFFER: no batching rule"):
        resolve(Ops.BUFFER, [(users,)])


@pytest.mark.parametrize("op", sorted(GroupOp.Movement - {Ops.PERMUTE, Ops.FLIP}, key=lambda o: o.name))
def test_batched_shapes_are_an_error(op: Ops) -> None:
    with brand("users", 3) as users:
        size = users.vec(Tensor([1, 2, 3])).uop
        x = normals(4).uop
        args = (size,) if op in {Ops.RESHAPE, Ops.EXPAND} else (UOp.const(0), size)
        with pytest.raises(errors.ShapeError, match="differs from example to example"):
            dispatch.close([UOp(op, x.dtype, (x, *args))])


def test_result_graph_has_no_brand() -> None:
    """The graph has no RANGE, INDEX or STAGE."""
    x, y = normals(3, 2), normals(4, 2)
    out = vmap(lambda a: vmap(lambda b: (a * b).sum().reshape(1).expand(3))(y))(x)
    assert not has_brand(out.uop)
    assert not {Ops.RANGE, Ops.INDEX, Ops.STAGE} & {u.op for u in out.uop.toposort()}


# ---- brands and names ----


def test_brands_and_type_of_values() -> None:
    x = normals(3, 2, 8)

    def body(a: Tensor) -> Tensor:
        assert vec_type(a) == "Vec[users:3, f32[2, 8]]" == repr(a) == f"{a}"
        inner = vmap(lambda b: (seen.append((vec_type(a + b), brands(a[0] + b))), b)[1])(a)
        assert vec_type(inner) == "Vec[users:3, f32[2, 8]]"
        return inner

    seen: list[tuple[str, tuple[Brand, ...]]] = []
    vmap(body, axis_name="users")(x)
    text, row = seen[0]
    assert text == "Vec[users:3 | b:2, f32[2, 8]]"
    assert [(b.name, b.size) for b in row] == [("users", 3), ("b", 2)]
    assert vec_type(x) == "f32[3, 2, 8]" and brands(x) == () and brands(3) == ()


def test_brand_names_come_from_parameters() -> None:
    names: list[str] = []

    def f(weights: Tensor, *rows: Tensor, scale: Tensor | None = None) -> Tensor:
        names.append(brands(rows[0] if rows else weights if scale is None else scale)[0].name)
        return weights

    x = normals(2, 2)
    vmap(f)(x)
    vmap(f, in_axes=(None, 0))(x, x)
    vmap(f, in_axes=(None,), axis_name="s")(x, scale=x)
    vmap(f, in_axes=(None,))(x, scale=x)
    assert names == ["weights", "rows", "s", "scale"]

    class Unsaid:
        __signature__ = "not one"

        def __call__(self, *xs: Tensor) -> Tensor:
            names.append(brands(xs[-1])[0].name)
            return xs[-1]

    vmap(Unsaid())(x)
    vmap(Unsaid(), in_axes=(None, 0))(x, x)
    vmap(lambda a, /, b, *c, d=None: f(c[-1] if c else b), in_axes=(None, 0))(x, x)
    vmap(lambda a, /, b, *c: f(c[-1]), in_axes=(None, None, None, 0))(x, x, x, x)
    assert names[4:] == ["brand", "brand", "b", "c"]


def test_explicit_name_wins_over_parameter_name() -> None:
    x, seen = normals(2, 3), list[str]()

    def pairs(name: str) -> None:
        inner = vmap(lambda b: (seen.append(vec_type(b)), b)[1], axis_name=name)
        vmap(lambda users: vmap(lambda items: inner(items.reshape(1)))(users))(x)

    for name in ("users", "items", "users2", "days"):
        pairs(name)
    assert seen == [
        "Vec[users2:2 | items:3 | users:1, f32[]]",
        "Vec[users:2 | items2:3 | items:1, f32[]]",
        "Vec[users:2 | items:3 | users2:1, f32[]]",
        "Vec[users:2 | items:3 | days:1, f32[]]",
    ]


def test_isinstance_vec() -> None:
    x = normals(3, 2)
    assert isinstance(x, Vec) and not isinstance(3, Vec)
    assert vmap(lambda a: a if isinstance(a, Vec) else None)(x).shape == (3, 2)
    with pytest.raises(TypeError, match="Vec is a type for annotations"):
        Vec(x)


# ---- brands without a mapped function ----


def test_brands_zip_and_broadcast() -> None:
    x, y, w = normals(3, 2), normals(4, 2), normals(2, 3)
    with brand("users", 3) as users, brand("items", 4) as items:
        u, i, again = users.vec(x), items.vec(y, 0), users.vec(w, axis=-1)
        assert vec_type(u * again) == "Vec[users:3, f32[2]]"
        z = (u * i).sum() + again[0]
        middle = users.unvec(z)
        assert vec_type(middle) == "Vec[items:4, f32[3]]"
        assert brands(users.vec(middle) * u.sum()) == (users, items)
        out = items.unvec(middle, axis=1)
    np.testing.assert_allclose(out.numpy(), x.numpy() @ y.numpy().T + w.numpy()[0][:, None], rtol=1e-5)


def test_leave_and_enter_brand_again() -> None:
    """Normalize over the examples inside a body: unvec, compute, vec."""
    x, y = normals(3, 2), normals(4, 2)
    with brand("users", 3) as users, brand("items", 4) as items:
        d = (users.vec(x) - items.vec(y)).square().sum()
        everyone = users.unvec(d)
        centred = users.vec(everyone - everyone.mean())
        out = users.unvec(items.unvec(centred, axis=0), axis=0)
    table = ((x.numpy()[:, None] - y.numpy()) ** 2).sum(-1)
    np.testing.assert_allclose(out.numpy(), table - table.mean(0), rtol=1e-4, atol=1e-5)


def test_unvec_repeats_unbatched_value() -> None:
    with brand("users", 3) as users:
        assert users.unvec(normals(2), axis=1).shape == (2, 3)
        assert users.unvec(7).tolist() == [7, 7, 7]


def test_vmap_inside_brand() -> None:
    x, y = normals(3, 2), normals(4, 2)
    with brand("users", 3) as users:
        u = users.vec(x)
        out = users.unvec(vmap(lambda b: (b * u).sum())(y))
    np.testing.assert_allclose(out.numpy(), x.numpy() @ y.numpy().T, rtol=1e-5)


def test_brand_classes() -> None:
    class Users(Brand):
        """The users of the shop."""

    with brand(Users, 2) as users:
        assert isinstance(users, Users) and repr(users) == "Users:2"
    out = vmap(lambda a: (seen.append(brands(a)[0]), a)[1], axis_name=Users)
    seen: list[Brand] = []
    out(normals(2, 2))
    assert isinstance(seen[0], Users)


def test_random_numbers_under_brand() -> None:
    with brand("users", 3, randomness="different") as users:
        assert len(np.unique(users.unvec(Tensor.rand()).numpy())) == 3


def test_lift() -> None:
    x, y = normals(3, 2), normals(4, 2)
    with brand("p", 3) as p, brand("q", 4) as q:
        out = p.unvec(q.unvec(lift(lambda a, *, b: (a - b).square().sum())(p.vec(x), b=q.vec(y))))
    np.testing.assert_allclose(out.numpy(), ((x.numpy()[:, None] - y.numpy()) ** 2).sum(-1), rtol=1e-4)


def test_unvec_of_plain_tensor_returns_it() -> None:
    x = normals(2)
    assert unvec(x) is x


# ---- annotations ----

OLD_STYLE = """
from typing import TypeVar
S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
def add(a: Vec[S, Tensor], b: Vec[S1, Tensor]) -> Vec[S | S1, Tensor]:
    return a + b
"""
PEP_695 = """
def add[S: Brand, S1: Brand](a: Vec[S, Tensor], b: Vec[S1, Tensor]) -> Vec[S | S1, Tensor]:
    return a + b
"""
STYLES = [OLD_STYLE] + [PEP_695] * (sys.version_info >= (3, 12))


@pytest.mark.parametrize("program", STYLES)
def test_annotations_exist_at_run_time(program: str) -> None:
    names = {"Vec": Vec, "Brand": Brand, "Tensor": Tensor}
    exec(program, names)
    assert vmap(names["add"])(Tensor([1, 2]), Tensor([3, 4])).tolist() == [4, 6]
    assert set(names["add"].__annotations__) == {"a", "b", "return"}


def test_custom_kernel_in_graph_is_an_error() -> None:
    """Tensor.custom_kernel raises the error itself; here the call bypasses it."""
    refused = "custom_kernel: a hand-written kernel has no batching rule"
    with pytest.raises(errors.UnsupportedError, match=refused):
        vmap(lambda x: Tensor(UOp.custom_kernel(Tensor.empty(2).uop, x.uop, fxn=lambda out, x: out)[0]))(normals(3, 2))
    with brand("users", 3) as users:
        call = UOp(Ops.CALL, dtypes.void, (Tensor.empty(2).uop.sink(), users.vec(normals(3, 2)).uop))
        with pytest.raises(errors.UnsupportedError, match="custom_kernel: a hand-written kernel has no batching rule"):
            dispatch.close([call])


def test_large_int_is_described_by_its_digits() -> None:
    assert tree.short_repr(10**3000) == "an int of about 2999 digits"


def test_dispatch_is_at_most_180_lines() -> None:
    assert len(Path(dispatch.__file__).read_text(encoding="utf-8").splitlines()) <= 180
