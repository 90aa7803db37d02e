"""Newton's method for a batch of problems: hessian, jvp, and a custom derivative."""

from __future__ import annotations

from branded import Vec, custom_jvp, grad, hessian, jacfwd, jit, jvp, linalg, vmap
from branded.typing import S, S1
from tinygrad import Tensor


@custom_jvp
def safe_log(x: Tensor) -> Tensor:
    return x.maximum(1e-6).log()


@safe_log.defjvp
def safe_log_jvp(primals: tuple[Tensor], tangents: tuple[Tensor]) -> tuple[Tensor, Tensor]:
    (x,), (dx,) = primals, tangents
    return safe_log(x), dx / x.maximum(1e-6)


def objective(x: Tensor, center: Tensor) -> Tensor:
    away = x - center
    return away.square().square().sum() + away.square().sum()  # read: return away.square().square().sum().item() + away.square().sum()


def barrier(x: Vec[S], limit: Vec[S1]) -> Vec[S | S1]:
    return -(limit - x).log().sum()  # brand: return -(limit - limit).log().sum().numpy()


def newton(x: Tensor, center: Tensor) -> Tensor:
    slope = grad(objective)(x, center)
    curve = hessian(objective)(x, center)
    return x - linalg.solve(curve, slope)  # read: return x - linalg.solve(curve, slope).numpy()


def solve(center: Tensor, steps: int) -> Tensor:
    x = Tensor.zeros(2)
    for _ in range(steps):
        x = newton(x, center)
    return x


def along(x: Vec[S], direction: Vec[S1]) -> tuple[Vec[S | S1], Vec[S | S1]]:
    return jvp(lambda v: v.sin().sum(), (x,), (direction,))  # key: return jvp(lambda v: v.sin().sum(), (x,), (direction,), (x,))


def margin(x: Vec[S], limit: Vec[S1]) -> Vec[S1]:  # brand: def margin(x: Vec[S], limit: Vec[S1]) -> Tensor:
    return limit.min() - limit.max()


centers = Tensor([[1.0, 2.0], [0.5, -1.0], [0.0, 0.3]])
found = jit(vmap(lambda c: solve(c, 4)))(centers)
curvature = vmap(lambda x: hessian(objective)(x, centers[0]))(found)
directions = Tensor.eye(2)
pairs, slopes = vmap(lambda x: vmap(lambda d: along(x, d))(directions))(found)
logs = vmap(lambda x: safe_log(x.square()))(found)
jacobians = vmap(jacfwd(lambda x: x.sin() * x))(found)
table = vmap(lambda x: vmap(lambda m: barrier(x, m))(centers + 5))(found)  # zip: table = vmap(lambda x, m: barrier(x, m))(found, centers + 5)
margins = vmap(margin, in_axes=(None, 0))(found[0], centers)  # none: margins = vmap(margin)(found[0], centers)
result = found, curvature, slopes, logs, jacobians, table, margins, pairs
