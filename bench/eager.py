"""`python -m bench eager`: calls of `vmap(f)` without `jit`, and reads of results, compared with eager `jax.vmap`.

Both libraries run in this process, in turns. A call includes its tracing, and waits for its result.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.cliffs import Row, best
from bench.measure import machine


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench eager", description=__doc__)
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="also write the tables to a file")
    options = parser.parse_args(argv)
    import jax

    calls, reads = programs()
    lines = [
        "# Calls without `jit`",
        "",
        "`python -m bench eager`: the least time of a call of `vmap(f)` without `jit`, and of a call of a compiled `f` "
        "with a read of its result, ours over JAX. Both run in one process, in turns.",
        "",
        *machine(),
        f"- jax: {jax.__version__}",
        "",
        *table("call", calls),
        "",
        *table("read, or an argument of a compiled function", reads),
    ]
    print("\n".join(lines))
    if options.markdown is not None:
        options.markdown.write_text("\n".join(lines) + "\n")


def table(title: str, rows: Sequence[Row]) -> list[str]:
    return [
        f"| {title} | ours, µs | jax, µs | ratio |",
        "|---|--:|--:|--:|",
        *(f"| {r.name} | {r.ours * 1e6:.1f} | {r.theirs * 1e6:.1f} | {r.ratio:.2f} |" for r in rows),
        f"| median | | | {median(r.ratio for r in rows):.2f} |",
    ]


def programs() -> tuple[list[Row], list[Row]]:
    """Return the times of the calls and of the reads."""
    import jax
    import jax.numpy as jnp
    from tinygrad import Tensor

    import branded

    random = np.random.default_rng(0)
    arrays = {
        name: random.normal(size=shape).astype(np.float32)
        for name, shape in {
            "v": (32,),
            "x": (32, 64),
            "w": (64, 64),
            "a": (64, 128),
            "b": (128,),
            "c": (128, 10),
            "y": (32, 10),
            "p": (100, 3),
        }.items()
    }
    t = {name: Tensor(a).realize() for name, a in arrays.items()}
    j = {name: jnp.asarray(a) for name, a in arrays.items()}

    def loss(relu: Callable[[Any], Any]) -> Callable[..., Any]:
        return lambda p, x, y: ((relu(x @ p[0] + p[1]) @ p[2] - y) ** 2).sum()

    def cases(L: Any, V: Any, G: Any, relu: Any, sqrt: Any) -> dict[str, Callable[[], Any]]:  # noqa: N803
        layers = (L["a"], L["b"], L["c"])
        return {
            "x + 1": lambda: V(lambda x: x + 1)(L["v"]),
            "x @ w": lambda: V(lambda x: x @ L["w"])(L["x"]),
            "a perceptron": lambda: V(lambda x: relu(x @ L["a"] + L["b"]) @ L["c"])(L["x"]),
            "its gradients": lambda: V(G(loss(relu)), (None, 0, 0))(layers, L["x"], L["y"]),
            "all pairs": lambda: V(lambda a: V(lambda b: sqrt(((a - b) ** 2).sum()))(L["p"]))(L["p"]),
            "of x * 2": lambda: V(lambda x: x + 1)(L["v"] * 2),
            "a row of x @ w": lambda: V(lambda x: x @ L["w"])(L["x"])[0],
            "x @ w, and + 1 outside": lambda: V(lambda x: x @ L["w"])(L["x"]) + 1,
            "a dict of results": lambda: V(lambda x: {"a": x * 2, "b": [x.sum(), x + 1]})(L["x"]),
        }

    ours = cases(t, branded.vmap, branded.grad, Tensor.relu, Tensor.sqrt)
    theirs = cases(j, jax.vmap, jax.grad, jax.nn.relu, jnp.sqrt)

    def realized(f: Callable[[], Any]) -> Callable[[], Any]:
        return lambda: Tensor.realize(*branded.tree.leaves(f()))

    def ready(f: Callable[[], Any]) -> Callable[[], Any]:
        return lambda: jax.block_until_ready(f())

    calls = [Row(name, *best(realized(f), ready(theirs[name]))) for name, f in ours.items()]

    double = branded.vmap(lambda x: x * 2), jax.vmap(lambda x: x * 2)
    total = branded.jit(lambda x: x.sum()), jax.jit(lambda x: x.sum())
    f, g = branded.jit(lambda x: x * 2 + 1), jax.jit(lambda x: x * 2 + 1)
    y, z = f(t["x"]), g(j["x"]).block_until_ready()
    f(t["x"][3])
    parts = branded.jit(lambda x: tuple(x * i for i in range(9))), jax.jit(lambda x: tuple(x * i for i in range(9)))

    def repeat(update: Callable[[Any], Any], x: Any) -> Any:
        for _ in range(10):
            x = update(x)
        return x

    def total_of(zeros: Any, update: Callable[[Any], Any], x: Any) -> Any:
        for _ in range(5):
            zeros = zeros + update(x)
        return zeros

    reads = {
        "f(x).numpy()": (lambda: f(t["x"]).numpy(), lambda: np.array(g(j["x"]))),
        "f(x).tolist()": (lambda: f(t["x"]).tolist(), lambda: g(j["x"]).tolist()),
        "f(x).sum().item()": (lambda: total[0](t["x"]).item(), lambda: total[1](j["x"]).item()),
        "realize() of a computed value": (y.realize, z.block_until_ready),
        "x[3].numpy()": (lambda: t["x"][3].numpy(), lambda: np.array(j["x"][3])),
        "x.T.numpy()": (lambda: t["x"].T.numpy(), lambda: np.array(j["x"].T)),
        "f(x)[0, 5].item()": (lambda: f(t["x"])[0, 5].item(), lambda: g(j["x"])[0, 5].item()),
        "vmap(f)(x).numpy()": (lambda: double[0](t["v"]).numpy(), lambda: np.array(double[1](j["v"]))),
        "str(f(x).numpy())": (lambda: str(f(t["v"]).numpy()), lambda: str(np.array(g(j["v"])))),
        "nine results, realized one by one": (
            lambda: [y.realize() for y in parts[0](t["x"])],
            lambda: [y.block_until_ready() for y in parts[1](j["x"])],
        ),
        "f(x[3])": (lambda: f(t["x"][3]), ready(lambda: g(j["x"][3]))),
        "f(x[:, 3])": (lambda: f(t["x"][:, 3]), ready(lambda: g(j["x"][:, 3]))),
        "f(x[::2])": (lambda: f(t["x"][::2]), ready(lambda: g(j["x"][::2]))),
        "f(x.T)": (lambda: f(t["x"].T), ready(lambda: g(j["x"].T))),
        "f(x * 2)": (lambda: f(t["x"] * 2), ready(lambda: g(j["x"] * 2))),
        "f(Tensor(array))": (lambda: f(Tensor(arrays["x"])), ready(lambda: g(jnp.asarray(arrays["x"])))),
        "f(zeros)": (lambda: f(Tensor.zeros(32, 64)), ready(lambda: g(jnp.zeros((32, 64))))),
        "f ten times": (lambda: repeat(f, t["x"]), ready(lambda: repeat(g, j["x"]))),
        "the sum of five results of f": (
            lambda: total_of(Tensor.zeros(32, 64), f, t["x"]).numpy(),
            lambda: np.array(total_of(jnp.zeros((32, 64)), g, j["x"])),
        ),
    }
    return calls, [Row(name, *best(*pair)) for name, pair in reads.items()]
