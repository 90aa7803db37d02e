"""Write `optax.json`: the steps of optax's optimizers, and the values of its schedules.

Needs optax and jax: `python -m tests.golden.optax_steps`.  The programs use a module with the names of optax's
functions, so `tests/optim/test_optim.py` runs them with `branded`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

PATH = Path(__file__).with_name("optax.json")
STEPS = 5
PARAMS = {"w": [[0.5, -1.0, 2.0], [0.25, 3.0, -0.125]], "b": [1.5], "a": 0.75}
"""The initial parameters; the keys of the dict are not sorted on purpose."""

OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda o: o.sgd(0.1),
    "sgd, momentum": lambda o: o.sgd(0.1, momentum=0.9),
    "sgd, nesterov": lambda o: o.sgd(0.1, momentum=0.9, nesterov=True),
    "sgd, schedule": lambda o: o.sgd(o.cosine_decay_schedule(0.5, 4)),
    "adam": lambda o: o.adam(0.1),
    "adam, options": lambda o: o.adam(0.1, b1=0.8, b2=0.95, eps=1e-3, eps_root=1e-4),
    "adam, nesterov": lambda o: o.adam(0.1, nesterov=True),
    "adamw": lambda o: o.adamw(0.1, weight_decay=0.1),
    "adamw, mask": lambda o: o.adamw(0.1, weight_decay=0.1, mask={"w": True, "b": False, "a": False}),
    "adamw, schedule": lambda o: o.adamw(o.warmup_cosine_decay_schedule(0.0, 0.2, 2, 5)),
    "rmsprop": lambda o: o.rmsprop(0.1),
    "rmsprop, as torch": lambda o: o.rmsprop(0.1, eps_in_sqrt=False, initial_scale=0.5),
    "rmsprop, centered": lambda o: o.rmsprop(0.1, eps=1e-3, centered=True, momentum=0.5, nesterov=True),
    "adagrad": lambda o: o.adagrad(0.1),
    "lion": lambda o: o.lion(0.1),
    "lion, options": lambda o: o.lion(0.1, b1=0.5, b2=0.75, weight_decay=0.1),
    "lamb": lambda o: o.lamb(0.1),
    "lamb, decay": lambda o: o.lamb(0.1, weight_decay=0.1),
    "chain": lambda o: o.chain(o.clip_by_global_norm(1.0), o.adam(0.1)),
    "parts": lambda o: o.chain(o.clip(0.5), o.trace(0.5), o.scale(-2.0), o.add_decayed_weights(0.01)),
}
SCHEDULES: dict[str, Callable[[Any], Any]] = {
    "constant": lambda o: o.constant_schedule(0.3),
    "linear": lambda o: o.linear_schedule(1.0, 0.1, 4, 2),
    "polynomial": lambda o: o.polynomial_schedule(1.0, 0.1, 2.5, 6),
    "cosine": lambda o: o.cosine_decay_schedule(0.5, 6, alpha=0.1, exponent=2.0),
    "exponential": lambda o: o.exponential_decay(1.0, 3, 0.5, 1),
    "exponential, stairs": lambda o: o.exponential_decay(1.0, 3, 0.5, staircase=True, end_value=0.3),
    "warmup, cosine": lambda o: o.warmup_cosine_decay_schedule(0.0, 1.0, 3, 8, 0.1),
    "warmup, exponential": lambda o: o.warmup_exponential_decay_schedule(0.1, 1.0, 3, 2, 0.5, end_value=0.4),
    "joined": lambda o: o.join_schedules([o.constant_schedule(1.0), o.linear_schedule(1.0, 0.0, 3)], [4]),
}


def loss(params: Any) -> Any:
    """Return a scalar loss with a nonzero gradient everywhere."""
    w, b, a = params["w"], params["b"], params["a"]
    return (w * w * 0.5 + w).sum() + (b * b * b).sum() + a * a * (w * w).sum() * 0.1


def steps(o: Any, make: Callable[[Any], Any], params: Any, gradient: Callable[[Any], Any]) -> Iterator[Any]:
    """Yield the parameters after each step."""
    opt = make(o)
    state = opt.init(params)
    for _ in range(STEPS):
        updates, state = opt.update(gradient(params), state, params)
        params = o.apply_updates(params, updates)
        yield params


def main() -> None:
    import jax
    import jax.numpy as jnp
    import optax

    def written(x: Any) -> Any:
        return jax.tree.map(lambda v: [float(f"{n:.7g}") for n in v.reshape(-1).tolist()], x)

    params = {name: jnp.array(x) for name, x in PARAMS.items()}
    found: dict[str, Any] = {"optax": optax.__version__, "jax": jax.__version__}
    for name, make in OPTIMIZERS.items():
        found[name] = [written(p) for p in steps(optax, make, params, jax.grad(loss))]
    for name, make in SCHEDULES.items():
        found[f"schedule: {name}"] = [float(f"{float(make(optax)(i)):.7g}") for i in range(10)]
    PATH.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items()) + "\n}\n")


if __name__ == "__main__":
    main()
