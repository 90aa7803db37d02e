"""The programs, each written once: `m` is a library of `libraries.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bench.workloads import Input, floats, ints


class Program(NamedTuple):
    """`flops`: operations of floats, `size`: bytes that are read and written once, at least."""

    name: str
    inputs: tuple[Input, ...]
    of: Callable[[Any], Callable[..., Any]]
    flops: float = 0.0
    size: float = 0.0

    def arrays(self) -> list[np.ndarray]:
        rng = np.random.default_rng(0)
        return [i.array(rng) for i in self.inputs]


def _attention(m: Any) -> Callable[..., Any]:
    return lambda q, k, v: m.softmax(q @ m.transpose(k, (1, 0)) / 8.0) @ v


def _all_pairs(m: Any) -> Callable[..., Any]:
    def row(a: Any, xs: Any) -> Any:
        return m.vmap(lambda b: m.sum((a - b) * (a - b)))(xs)

    return lambda xs: m.vmap(row, (0, None))(xs, xs)


def _mlp(m: Any) -> Callable[..., Any]:
    def loss(ws: Any, x: Any, y: Any) -> Any:
        out = m.tanh(x @ ws[0] + ws[1]) @ ws[2] - y
        return m.sum(out * out)

    return lambda x, y, w, b, u: m.vmap(m.grad(loss), (None, 0, 0))((w, b, u), x, y)


def _cnn(m: Any) -> Callable[..., Any]:
    def loss(ws: Any, x: Any, y: Any) -> Any:
        hidden = m.relu(m.conv(x.reshape(1, 1, 16, 16), ws[0]))
        out = hidden.reshape(8 * 14 * 14) @ ws[1] - y
        return m.sum(out * out)

    return lambda x, y, w, u: m.vmap(m.grad(loss), (None, 0, 0))((w, u), x, y)


def _rnn(m: Any) -> Callable[..., Any]:
    return lambda w, h, xs: m.scan(lambda h, x: (m.tanh(w @ h + x), None), h, xs)[0]


def _rnns(m: Any) -> Callable[..., Any]:
    return lambda w, hs, xs: m.vmap(_rnn(m), (None, 0, 0))(w, hs, xs)


def _cholesky(m: Any) -> Callable[..., Any]:
    """Work column by column: each step returns the rest of the matrix."""

    columns = m.array(np.eye(32, dtype=np.float32))

    def factor(a: Any) -> Any:
        def step(a: Any, e: Any) -> Any:
            column = a @ e
            column = column / m.sqrt(m.sum(column * e))
            return a - column.reshape(-1, 1) * column.reshape(1, -1), column

        return m.scan(step, a @ m.transpose(a, (1, 0)) + columns * 32.0, columns)[1]

    return m.vmap(factor)


def _steps(m: Any) -> Callable[..., Any]:
    def f(w: Any, x: Any) -> Any:
        for _ in range(20):
            x = m.tanh(w @ x)
        return x

    return f


def _operations(m: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        for i in range(500):
            x = m.relu(x * 0.99 + i * 1e-3)
        return x

    return m.vmap(f)


def _transformer(m: Any) -> Callable[..., Any]:
    """One step of training of one block, of 32 tokens of 64 numbers with 4 heads."""

    def block(x: Any, ws: Any) -> Any:
        h = m.layernorm(x)
        q, k, v = (m.transpose((h @ w).reshape(32, 4, 16), (1, 0, 2)) for w in ws[:3])
        heads = m.softmax(q @ m.transpose(k, (0, 2, 1)) / 4.0) @ v
        x = x + m.transpose(heads, (1, 0, 2)).reshape(32, 64) @ ws[3]
        return x + m.gelu(m.layernorm(x) @ ws[4]) @ ws[5]

    def loss(ws: Any, xs: Any) -> Any:
        out = m.vmap(block, (0, None))(xs, ws)
        return m.sum(out * out) / 1e4

    def step(xs: Any, *ws: Any) -> Any:
        return [w - 0.1 * g for w, g in zip(ws, m.grad(loss)(ws, xs), strict=True)]

    return step


_BIG = 1000 * 1000 * 4
_ROWS = 2048 * 1024 * 4
_SMALL = floats(64, 64, scale=0.1)

PROGRAMS = (
    Program("x + 1 of 4 numbers", (floats(4),), lambda m: m.vmap(lambda x: x + 1)),
    Program(
        "elementwise chain, 1000²",
        (floats(1000, 1000),),
        lambda m: m.vmap(lambda x: m.tanh(m.exp(x * 2 + 1) * x)),
        size=2 * _BIG,
    ),
    Program("sums of rows, 1000²", (floats(1000, 1000),), lambda m: m.vmap(m.sum), size=_BIG),
    Program("softmax, 2048 x 1024", (floats(2048, 1024),), lambda m: m.vmap(m.softmax), size=2 * _ROWS),
    Program("layernorm, 2048 x 1024", (floats(2048, 1024),), lambda m: m.vmap(m.layernorm), size=2 * _ROWS),
    Program(
        "matvec, shared matrix, 256 x 512²",
        (floats(512, 512), floats(256, 512)),
        lambda m: m.vmap(lambda w, x: w @ x, (None, 0)),
        flops=2 * 256 * 512**2,
    ),
    Program(
        "batched matvec, 256 x 128²",
        (floats(256, 128, 128), floats(256, 128)),
        lambda m: m.vmap(lambda w, x: w @ x),
        size=256 * 128**2 * 4,
    ),
    *(
        Program(
            f"batched matmul, {b} x {n}³",
            (floats(b, n, n), floats(b, n, n)),
            lambda m: m.vmap(lambda x, y: x @ y),
            flops=2 * b * n**3,
        )
        for b, n in ((256, 64), (32, 128), (16, 256))
    ),
    Program("matmul, 1024³", (floats(1024, 1024),) * 2, lambda m: lambda x, y: x @ y, flops=2 * 1024**3),
    Program("all pairs, 512² x 32", (floats(512, 32),), _all_pairs, flops=3 * 512**2 * 32),
    Program(
        "per-example gradients, MLP of 256",
        (floats(256, 64), floats(256, 10), floats(64, 128, scale=0.1), floats(128), floats(128, 10, scale=0.1)),
        _mlp,
        size=256 * (64 * 128 + 128 + 128 * 10) * 4,
    ),
    Program(
        "per-example gradients, CNN of 64",
        (floats(64, 16, 16), floats(64, 10), floats(8, 1, 3, 3, scale=0.3), floats(8 * 14 * 14, 10, scale=0.02)),
        _cnn,
        size=64 * (8 * 9 + 8 * 14 * 14 * 10) * 4,
    ),
    Program(
        "attention, 8 x 8 x 256 x 64",
        (floats(8, 8, 256, 64),) * 3,
        lambda m: m.vmap(m.vmap(_attention(m))),
        flops=4 * 64 * 256**2 * 64,
    ),
    Program(
        "conv2d, 32 x 8 x 16²",
        (floats(32, 8, 16, 16), floats(8, 8, 3, 3)),
        lambda m: lambda x, w: m.conv(x, w),
        flops=2 * 32 * 8 * 14 * 14 * 8 * 9,
    ),
    Program(
        "gather, 256 rows of 1000 x 64",
        (floats(1000, 64), ints(1000, 256)),
        lambda m: m.vmap(lambda t, i: t[i], (None, 0)),
        size=2 * 256 * 64 * 4,
    ),
    Program("topk, 8 of 256, 64 rows", (floats(64, 256),), lambda m: m.vmap(lambda x: m.topk(x, 8))),
    Program("sort, 64 x 256", (floats(64, 256),), lambda m: m.vmap(m.sort)),
    Program("RNN of 128, 1,000 steps", (floats(128, 128, scale=0.05), floats(128), floats(1000, 128)), _rnn),
    Program(
        "32 RNNs of 128, 100 steps",
        (floats(128, 128, scale=0.05), floats(32, 128), floats(32, 100, 128)),
        _rnns,
        flops=2 * 32 * 100 * 128**2,
    ),
    Program("Cholesky as a loop, 64 x 32²", (floats(64, 32, 32),), _cholesky),
    Program("20 small steps, 16²", (floats(16, 16, scale=0.2), floats(16)), _steps),
    Program(
        "transformer block, one step",
        (floats(8, 32, 64), *(_SMALL,) * 4, floats(64, 256, scale=0.1), floats(256, 64, scale=0.1)),
        _transformer,
    ),
    Program("1,000 operations, 8 x 16", (floats(8, 16),), _operations),
)
