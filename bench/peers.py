"""Peers, where they are installed: `jax.jit(jax.vmap(f))`, and `torch.func.vmap(f)` on eager torch."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

Arrays = Sequence[np.ndarray]
Run = Callable[[], Any]


class Peer(NamedTuple):
    """Another library.  Both give None for a workload that they have no program for."""

    name: str
    version: str
    what: str
    replay: Callable[[str, Arrays], tuple[Run, list[np.ndarray]] | None]
    traced_by: str = ""
    trace: Callable[[str, Arrays], Run | None] | None = None


def found() -> list[Peer]:
    """The peers that can be imported."""
    made = {"jax": _jax, "torch": _torch}
    return [make() for name, make in made.items() if importlib.util.find_spec(name) is not None]


def _leaves(out: Any) -> list[Any]:
    return list(out) if isinstance(out, tuple | list) else [out]


def _jax() -> Peer:
    import jax
    import jax.numpy as jnp

    v, nn = jax.vmap, jax.nn
    each, shared = {"in_axes": 0}, {"in_axes": (0, None)}

    def loss(ws: Any, x: Any, y: Any) -> Any:
        return jnp.square(jnp.tanh(x @ ws[0]) @ ws[1] - y).sum()

    def gradients(x: Any, y: Any, w1: Any, w2: Any) -> Any:
        return jax.grad(loss)((w1, w2), x, y)

    def conv(x: Any, w: Any) -> Any:
        return jax.lax.conv(x, w, (1, 1), "VALID")

    def standardized(x: Any) -> Any:
        return (x - x.mean()) / jnp.sqrt(x.var() + 1e-5)

    # a new function for each call: jax caches traces by the identity of the function
    programs: dict[str, Callable[[], Callable[..., Any]]] = {
        "elementwise chain": lambda: v(lambda x: jnp.tanh(jnp.sin(x) * 2 + jnp.exp(x))),
        "matvec, shared matrix": lambda: v(lambda x, w: x @ w, **shared),
        "batched mat": lambda: v(lambda a, b: a @ b, **each),
        "pairwise distances": lambda: v(
            lambda x, ys: v(lambda y: jnp.square(x - y).sum())(ys),
            **shared,
        ),
        "outer product of 3": lambda: v(
            lambda x, ys, zs: v(lambda y: v(lambda z: jnp.tanh((x * y * z).sum()))(zs))(ys), in_axes=(0, None, None)
        ),
        "same data": lambda: v(v(v(lambda x: jnp.cumsum(nn.softmax(standardized(x) * 2))))),
        "per-example gradients": lambda: v(lambda *xs: gradients(*xs), in_axes=(0, 0, None, None)),
        "attention": lambda: v(lambda q, k, w: nn.softmax(q @ k.T / q.shape[-1] ** 0.5) @ w),
        "conv2d, weights per example": lambda: v(lambda x, w: conv(x, w)),
        "conv2d, shared weights": lambda: v(lambda x, w: conv(x[None], w)[0], **shared),
        "layernorm": lambda: v(lambda x, w: nn.softmax(standardized(x) @ w), **shared),
        "sort": lambda: v(lambda x: jnp.sort(x)),
        "topk": lambda: v(lambda x: jax.lax.top_k(x, 8)),
        "gather": lambda: v(lambda x, i: x[i]),
        "rows by index": lambda: v(lambda x, i: x[i]),
        "ensemble": lambda: v(lambda x, w1, b1, w2: nn.relu(x @ w1 + b1) @ w2, in_axes=(None, 0, 0, 0)),
    }

    def replay(name: str, arrays: Arrays) -> tuple[Run, list[np.ndarray]] | None:
        if (make := _find(programs, name)) is None:
            return None
        f, xs = jax.jit(make()), [jnp.asarray(a) for a in arrays]
        return lambda: jax.block_until_ready(f(*xs)), [np.asarray(y) for y in _leaves(f(*xs))]

    def trace(name: str, arrays: Arrays) -> Run | None:
        if (make := _find(programs, name)) is None:
            return None
        xs = [jnp.asarray(a) for a in arrays]
        return lambda: jax.make_jaxpr(make())(*xs)

    return Peer("jax", jax.__version__, "`jax.jit(jax.vmap(f))`", replay, "`jax.make_jaxpr(jax.vmap(f))`", trace)


def _torch() -> Peer:
    import torch
    from torch.nn.functional import conv2d

    v = torch.func.vmap
    shared = (0, None)

    def loss(ws: Any, x: Any, y: Any) -> Any:
        return (torch.tanh(x @ ws[0]) @ ws[1] - y).square().sum()

    def standardized(x: Any) -> Any:
        return (x - x.mean()) / (x.var(correction=0) + 1e-5).sqrt()

    programs: dict[str, Callable[..., Any]] = {
        "elementwise chain": v(lambda x: torch.tanh(torch.sin(x) * 2 + torch.exp(x))),
        "matvec, shared matrix": v(lambda x, w: x @ w, shared),
        "batched mat": v(lambda a, b: a @ b),
        "pairwise distances": v(lambda x, ys: v(lambda y: (x - y).square().sum())(ys), shared),
        "outer product of 3": v(
            lambda x, ys, zs: v(lambda y: v(lambda z: (x * y * z).sum().tanh())(zs))(ys), (0, None, None)
        ),
        "same data": v(v(v(lambda x: (standardized(x) * 2).softmax(-1).cumsum(-1)))),
        "per-example gradients": v(lambda x, y, *ws: torch.func.grad(loss)(ws, x, y), (0, 0, None, None)),
        "attention": v(lambda q, k, w: (q @ k.T / q.shape[-1] ** 0.5).softmax(-1) @ w),
        "conv2d, weights per example": v(conv2d),
        "conv2d, shared weights": v(lambda x, w: conv2d(x[None], w)[0], shared),
        "layernorm": v(lambda x, w: (standardized(x) @ w).softmax(-1), shared),
        "sort": v(lambda x: x.sort()[0]),
        "topk": v(lambda x: tuple(x.topk(8))),
        "gather": v(lambda x, i: x.gather(0, i)),
        "rows by index": v(lambda x, i: x[i]),
        "ensemble": v(lambda x, w1, b1, w2: (x @ w1 + b1).relu() @ w2, (None, 0, 0, 0)),
    }

    def replay(name: str, arrays: Arrays) -> tuple[Run, list[np.ndarray]] | None:
        if (f := _find(programs, name)) is None:
            return None
        xs = [torch.tensor(a).long() if a.dtype.kind == "i" else torch.tensor(a) for a in arrays]
        return lambda: f(*xs), [y.numpy() for y in _leaves(f(*xs))]

    return Peer("torch", torch.__version__, "eager `torch.func.vmap(f)`", replay)


def _find(programs: dict[str, Any], name: str) -> Any:
    return next((f for prefix, f in programs.items() if name.startswith(prefix)), None)
