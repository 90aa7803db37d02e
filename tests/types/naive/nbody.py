"""Gravity between all pairs of bodies."""

from dataclasses import dataclass, replace

from tinygrad import Tensor

from branded import vmap


# --- gravity between all pairs of bodies
@dataclass(frozen=True)
class Bodies:
    position: Tensor
    velocity: Tensor
    mass: Tensor


def pull(a: Tensor, b: Tensor, mass: Tensor, eps: float = 1e-2) -> Tensor:
    d = b - a
    return mass * d * ((d * d).sum() + eps) ** -1.5


def acceleration(position: Tensor, bodies: Bodies) -> Tensor:
    pulls: Tensor = vmap(lambda b, m: pull(position, b, m))(bodies.position, bodies.mass)
    return pulls.sum(0)


def step(bodies: Bodies, dt: float) -> Bodies:
    force = vmap(lambda p: acceleration(p, bodies))(bodies.position)
    velocity = bodies.velocity + dt * force
    return replace(bodies, position=bodies.position + dt * velocity, velocity=velocity)


bodies = Bodies(Tensor.arange(6).reshape(3, 2).float(), Tensor.zeros(3, 2), Tensor.ones(3))
bodies = step(bodies, 0.1)
worlds = Bodies(Tensor.ones(2, 3, 2), Tensor.zeros(2, 3, 2), Tensor.ones(2, 3))
moved = vmap(lambda w: step(w, 0.1))(worlds)
assert bodies.position.shape == (3, 2) and moved.velocity.shape == (2, 3, 2)
