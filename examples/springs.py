"""Many springs at once: the state of one spring is a dataclass, generic in its brands.

python examples/springs.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Never

from tinygrad import Tensor

from branded import Vec, vmap
from branded.typing import S, S_co


@dataclass(frozen=True)
class Spring(Generic[S_co]):
    """The state of one spring: scalars."""

    position: Vec[S_co]
    speed: Vec[S_co]


def step(spring: Spring[S], stiffness: Vec[S], dt: float) -> Spring[S]:
    """Take one step of the leapfrog method."""
    speed = spring.speed - stiffness * spring.position * dt
    return Spring(spring.position + speed * dt, speed)


def simulate(springs: Spring[Never], stiffness: Tensor, steps: int, dt: float) -> Spring[Never]:
    """Simulate all springs, each with its own stiffness."""

    def one(spring: Spring[S], k: Vec[S]) -> Spring[S]:
        for _ in range(steps):
            spring = step(spring, k, dt)
        return spring

    return vmap(one)(springs, stiffness)


def main() -> None:
    stiffness = Tensor([1.0, 4.0, 9.0])
    start = Spring(Tensor.ones(3), Tensor.zeros(3))
    after = simulate(start, stiffness, steps=100, dt=0.01)
    exact = stiffness.sqrt().cos()  # of x'' = -k x after 1 s
    for k, x, y in zip(stiffness.tolist(), after.position.tolist(), exact.tolist(), strict=True):
        print(f"stiffness {k:.0f}: {x:+.3f} after 1 s, exactly {y:+.3f}")


if __name__ == "__main__":
    main()
