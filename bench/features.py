"""Run the programs of docs/reference/comparison.md in each library: `python -m bench.features`.

Each row is one small program, written for each installed library, with a check of its result. `yes` means a correct
result, `raises` an error, and `silent` a wrong result without an error.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from tinygrad import Tensor

from branded import brand, cond, grad, jacfwd, ppermute, vmap, while_loop

X, Y = np.arange(6.0, dtype=np.float32).reshape(3, 2), np.ones((3, 2), np.float32)
SQUARE = np.arange(9.0, dtype=np.float32).reshape(3, 3)


class Row(NamedTuple):
    """A program for each library, and the result that it ought to have; None where it ought to raise."""

    says: str
    wanted: Any
    programs: dict[str, Callable[[], Any]]


def rows() -> list[Row]:
    table: list[Row] = []
    t = Tensor

    def row(says: str, wanted: Any, ours: Callable[[], Any]) -> dict[str, Callable[[], Any]]:
        table.append(Row(says, wanted, {"branded": ours}))
        return table[-1].programs

    trees = row(
        "axes as trees, dicts by key",
        X + Y,
        lambda: vmap(lambda p: p["a"] + p["b"], in_axes=({"b": 0, "a": 1},))({"a": t(X.T.copy()), "b": t(Y)}),
    )
    keywords = row("keyword arguments mapped", X + Y, lambda: vmap(lambda a, *, b: a + b)(t(X), b=t(Y)))
    position = row(
        "unmapped result goes where out_axes says",
        np.stack([SQUARE[0]] * 3, 1),
        lambda: vmap(lambda a: t(SQUARE[0].copy()), out_axes=1)(t(X)),
    )
    scalars = row("an empty batch of scalars", np.zeros(0), lambda: vmap(lambda a: a * 2)(t(np.zeros(0, np.float32))))
    chunks = row("chunk_size", X * 2, lambda: vmap(lambda a: a * 2, chunk_size=2)(t(X)))
    chunks_inside = row(
        "chunks inside another vmap",
        X[:, None] * Y,
        lambda: vmap(lambda a: vmap(lambda b: a * b, chunk_size=2)(t(Y)))(t(X)),
    )
    row("brands without a mapped function", X @ Y.T, lambda: _table_by_brands())
    draws = row("random draws need a word", None, lambda: vmap(lambda a: a + Tensor.rand(2))(t(X)))
    escape = row("an escaped value used in another vmap raises", None, lambda: _escape(vmap, t))
    write = row("an in-place write into a tensor outside raises", None, lambda: _write(vmap, t))
    names = row(
        "an axis name that is already open raises",
        None,
        lambda: vmap(lambda a: vmap(lambda b: b, axis_name="i")(a), axis_name="i")(t(X)),
    )
    bools = row("a bool as an axis raises", None, lambda: vmap(lambda a: a, in_axes=True)(t(X)))
    mapped_none = row("out_axes=None of a mapped result raises", None, lambda: vmap(lambda a: a, out_axes=None)(t(X)))
    jacobian = row("jacfwd", 2 * np.eye(3), lambda: jacfwd(lambda a: a * 2)(t(SQUARE[0].copy())))
    branches = row(
        "the gradient of a batched cond is that of the branch taken",
        np.array([0.25, 0]),
        lambda: grad(lambda xs: vmap(lambda x: cond(x > 0, lambda x: x.sqrt(), lambda x: 0 * x, x))(xs).sum())(
            t([4.0, -1.0])
        ),
    )
    loops = row(
        "a batched while_loop",
        np.array([128.0, 192]),
        lambda: vmap(lambda x: while_loop(lambda c: c < 100.0, lambda c: c * 2, x))(t([1.0, 3.0])),
    )
    partial = row(
        "a partial ppermute",
        np.array([0.0, 4]),
        lambda: vmap(lambda x: ppermute(x, "i", [(0, 1)]), axis_name="i")(t([4.0, 5.0])),
    )

    if importlib.util.find_spec("jax"):
        import jax
        import jax.numpy as jnp
        from jax import lax

        j = jnp.array
        jacobian["jax"] = lambda: jax.jacfwd(lambda a: a * 2)(j(SQUARE[0]))
        branches["jax"] = lambda: jax.grad(
            lambda xs: jax.vmap(lambda x: lax.cond(x > 0, jnp.sqrt, lambda x: 0 * x, x))(xs).sum()
        )(j([4.0, -1.0]))
        loops["jax"] = lambda: jax.vmap(lambda x: lax.while_loop(lambda c: c < 100.0, lambda c: c * 2, x))(
            j([1.0, 3.0])
        )
        partial["jax"] = lambda: jax.vmap(lambda x: lax.ppermute(x, "i", [(0, 1)]), axis_name="i")(j([4.0, 5.0]))
        trees["jax"] = lambda: jax.vmap(lambda p: p["a"] + p["b"], in_axes=({"b": 0, "a": 1},))(
            {"a": j(X.T), "b": j(Y)}
        )
        keywords["jax"] = lambda: jax.vmap(lambda a, *, b: a + b)(j(X), b=j(Y))
        position["jax"] = lambda: jax.vmap(lambda a: j(SQUARE[0]), out_axes=1)(j(X))
        scalars["jax"] = lambda: jax.vmap(lambda a: a * 2)(j(np.zeros(0, np.float32)))
        chunks["jax"] = lambda: jax.lax.map(lambda a: a * 2, j(X), batch_size=2)
        chunks_inside["jax"] = lambda: jax.vmap(lambda a: jax.lax.map(lambda b: a * b, j(Y), batch_size=2))(j(X))
        escape["jax"] = lambda: _escape(jax.vmap, j)
        names["jax"] = lambda: jax.vmap(lambda a: jax.vmap(lambda b: b, axis_name="i")(a), axis_name="i")(j(X))
        bools["jax"] = lambda: jax.vmap(lambda a: a, in_axes=True)(j(X))
        mapped_none["jax"] = lambda: jax.vmap(lambda a: a, out_axes=None)(j(X))
    if importlib.util.find_spec("torch"):
        import torch

        p, v = torch.tensor, torch.func.vmap
        jacobian["torch"] = lambda: torch.func.jacfwd(lambda a: a * 2)(p(SQUARE[0]))
        trees["torch"] = lambda: v(lambda p: p["a"] + p["b"], in_dims=({"b": 0, "a": 1},))(
            {"a": p(X.T.copy()), "b": p(Y)}
        )
        keywords["torch"] = lambda: v(lambda a, *, b: a + b)(p(X), b=p(Y))
        position["torch"] = lambda: v(lambda a: p(SQUARE[0]), out_dims=1)(p(X))
        scalars["torch"] = lambda: v(lambda a: a * 2)(p(np.zeros(0, np.float32)))
        chunks["torch"] = lambda: v(lambda a: a * 2, chunk_size=2)(p(X))
        chunks_inside["torch"] = lambda: v(lambda a: v(lambda b: a * b, chunk_size=2)(p(Y)))(p(X))
        draws["torch"] = lambda: v(lambda a: a + torch.rand(2))(p(X))
        escape["torch"] = lambda: _escape(v, p)
        write["torch"] = lambda: _write_torch(v, p)
        bools["torch"] = lambda: v(lambda a: a, in_dims=True)(p(X))
        branches["torch"] = lambda: _cond_torch(v, p)
        mapped_none["torch"] = lambda: v(lambda a: a, out_dims=None)(p(X))
    return table


def _table_by_brands() -> Any:
    with brand("users", 3) as users, brand("items", 3) as items:
        return users.unvec(items.unvec((users.vec(Tensor(X)) * items.vec(Tensor(Y))).sum()))


def _escape(mapper: Any, array: Any) -> Any:
    kept: list[Any] = []
    mapper(lambda a: (kept.append(a), a)[1])(array(X))
    return mapper(lambda b: kept[0] + b)(array(Y))


def _write(mapper: Any, array: Any) -> Any:
    outside = array(Y).contiguous().realize()
    return mapper(lambda a: outside.assign(a))(array(X))


def _write_torch(mapper: Any, array: Any) -> Any:
    outside = array(Y[0])
    return mapper(lambda a: outside.copy_(a))(array(X))


def _cond_torch(mapper: Any, array: Any) -> Any:
    import torch

    def root(x: Any) -> Any:
        return torch.cond(x > 0, lambda x: x.sqrt(), lambda x: 0 * x, (x,))

    xs = array([4.0, -1.0], requires_grad=True)
    return torch.autograd.grad(mapper(root)(xs).sum(), xs)[0]


def outcome(row: Row, library: str) -> str:
    if library not in row.programs:
        return "-"
    try:
        got = row.programs[library]()
        got = got.numpy() if hasattr(got, "numpy") else np.asarray(got)
    except Exception as error:
        return "yes" if row.wanted is None else f"raises ({type(error).__name__})"
    right = row.wanted is not None and got.shape == row.wanted.shape and np.allclose(got, row.wanted, rtol=1e-5)
    return "yes" if right else "silent"


def main() -> None:
    table = rows()
    libraries = ["branded", *(name for name in ("jax", "torch") if importlib.util.find_spec(name))]
    print("| | " + " | ".join(libraries) + " |")
    print("|---|" + "---|" * len(libraries))
    for r in table:
        print(f"| {r.says} | " + " | ".join(outcome(r, name) for name in libraries) + " |")


if __name__ == "__main__":
    main()
