"""The applications of `examples/` at the size of a benchmark; `in_jax.py` has them in JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.against.programs import Program
from bench.workloads import floats, ints
from branded import grad, value_and_grad, vmap
from examples import (
    edit_distance,
    evolution,
    gaussian_process,
    hmc,
    kalman,
    kmeans,
    maml,
    nbody,
    ode,
    private_sgd,
    raymarch,
    robot_arm,
)


def of(name: str, here: Callable[..., Any]) -> Callable[[Any], Callable[..., Any]]:
    """Programs of several fields, with the same code for each library. Keys are passed as int32 and cast to uint32."""

    def of(m: Any) -> Callable[..., Any]:
        if m.name == "here":
            return here
        if m.name != "jax":
            raise AttributeError(f"{m.name} has no {name}")
        from bench.against import fields_in_jax, in_jax, kinds_in_jax

        there = next(module for module in (in_jax, kinds_in_jax, fields_in_jax) if hasattr(module, name))
        f: Callable[..., Any] = getattr(there, name)
        return f

    return of


def _hmc(keys: Any) -> Any:
    return vmap(lambda key: hmc.chain(key, 50))(keys.cast("uint32"))


def _kmeans(points: Any, keys: Any) -> Any:
    return vmap(lambda key: kmeans.cluster(points, key, 3, 20))(keys.cast("uint32"))


def _nbody(xs: Any, vs: Any, masses: Any) -> Any:
    return nbody.simulate(xs, vs, masses.exp(), 20, 0.01)[1]


def _raymarch(ys: Any, xs: Any) -> Any:
    return raymarch.render(xs.shape[0], ys.shape[0])


def _maml(w1: Any, b1: Any, w2: Any, b2: Any, keys: Any) -> Any:
    return grad(maml.meta_loss)((w1, b1, w2, b2[0]), keys.cast("uint32"))


def _evolution(noise: Any, starts: Any) -> Any:
    return vmap(lambda n: evolution.score(0.5 * n, starts, 200))(noise)


def _edit_distance(letters: Any, lengths: Any) -> Any:
    return vmap(lambda a, n: vmap(lambda b, m: edit_distance.distance((a, n), (b, m)))(letters, lengths))(
        letters, lengths
    )


def _ode(w1: Any, w2: Any, starts: Any, paths: Any) -> Any:
    return grad(ode.loss)((w1, w2), starts, paths)


def _private(w: Any, b: Any, images: Any, labels: Any) -> Any:
    found = vmap(lambda x, y: private_sgd.clipped((w, b), x, y, 1.0))(images, labels)
    return [g.sum(0) for g in found]


def _kalman(seen: Any, noise: Any) -> Any:
    return vmap(lambda y: kalman.track(y, noise[0].exp()))(seen)


def _process(xs: Any, ys: Any, scales: Any) -> Any:
    return vmap(value_and_grad(lambda s: gaussian_process.evidence(xs, ys, s.exp())))(scales)


def _arm(targets: Any, start: Any) -> Any:
    return vmap(lambda t: robot_arm.reach(t, start))(targets + 1)


KEYS = 2**31 - 1
APPLICATIONS = (
    Program("HMC, 64 chains of 50", (ints(KEYS, 64, 2),), of("hmc", _hmc)),
    Program("k-means, 16 starts, 300 points", (floats(300, 2), ints(KEYS, 16, 2)), of("kmeans", _kmeans)),
    Program("25 planets, 20 steps", (floats(25, 2), floats(25, 2), floats(25)), of("nbody", _nbody)),
    Program("ray marching, 80 x 60", (floats(60), floats(80)), of("raymarch", _raymarch)),
    Program("MAML, 25 tasks", (*(floats(40),) * 3, floats(1), ints(KEYS, 25, 2)), of("maml", _maml)),
    Program("64 policies, 8 starts, 200 steps", (floats(64, 4), floats(8, 4, scale=0.05)), of("evolution", _evolution)),
    Program("edit distances, 16² words", (ints(26, 16, 12), ints(13, 16)), of("edit_distance", _edit_distance)),
    Program(
        "neural ODE, 16 paths of 20",
        (floats(32, 2), floats(2, 32, scale=0.1), floats(16, 2), floats(16, 20, 2)),
        of("ode", _ode),
    ),
    Program(
        "clipped gradients, 250 digits",
        (floats(10, 64, scale=0.1), floats(10), floats(250, 64), ints(10, 250)),
        of("private_sgd", _private),
    ),
    Program("Kalman, 32 tracks of 100", (floats(32, 100, 1), floats(1)), of("kalman", _kalman)),
    Program("Gaussian process, 20 points", (floats(20), floats(20), floats(3)), of("gaussian_process", _process)),
    Program("robot arm, 200 targets", (floats(200, 2, scale=0.2), floats(3)), of("robot_arm", _arm)),
)
