"""Evolution strategies: a cart learns to balance a pole, without derivatives.

python examples/evolution.py [PICTURE]
"""

from __future__ import annotations

import sys

from tinygrad import Tensor

from branded import Vec, jit, random, scan, vmap
from branded.typing import S, S1


def physics(state: Vec[S], force: Vec[S1]) -> Vec[S | S1]:
    """Advance cart and pole `f32[4]`: position, velocity, angle, angular velocity (Barto, Sutton and Anderson 1983)."""
    _, speed, angle, turn = state
    sin, cos = angle.sin(), angle.cos()
    push = (force + 0.05 * turn**2 * sin) / 1.1
    spin = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
    return state + 0.02 * Tensor.stack(speed, push - 0.05 * spin * cos / 1.1, turn, spin)


def policy(w: Vec[S], state: Vec[S1]) -> Vec[S | S1]:
    """Return the force of the policy: left or right."""
    return 10 * (w * state).sum().tanh()


def fall(w: Vec[S], start: Vec[S1], steps: int) -> tuple[Vec[S | S1], Vec[S | S1]]:
    """Return the number of steps for which the pole stands, and its angles."""

    def step(
        carry: tuple[Vec[S | S1], Vec[S | S1]], _: None
    ) -> tuple[tuple[Vec[S | S1], Vec[S | S1]], tuple[Vec[S | S1], Vec[S | S1]]]:
        state, stands = carry
        state = physics(state, policy(w, state))
        stands = stands * ((state[2].abs() < 0.2) & (state[0].abs() < 2.4)).float()
        return ((stands > 0).where(state, 0), stands), (stands, state[2])

    _, (stood, angles) = scan(step, (start, Tensor(1.0)), None, length=steps)
    return stood.sum(), angles


def score(w: Vec[S], starts: Tensor, steps: int) -> Vec[S]:
    """Return the mean number of steps over all starts; each policy is tried from each start."""
    return vmap(lambda start: fall(w, start, steps)[0])(starts).mean()


def learn(rounds: int, people: int, steps: int) -> tuple[Tensor, Tensor]:
    """Move the parameters towards the policies that score above the mean."""
    starts = 0.05 * random.normal(random.key(1), (8, 4))

    def step(w: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
        half = random.normal(key, (people // 2, 4))
        noise = half.cat(-half)
        scores = vmap(lambda n: score(w + 0.5 * n, starts, steps))(noise)
        better = (scores - scores.mean()) / (scores.std() + 1e-6)
        return w + 0.5 * (better[:, None] * noise).mean(0), score(w, starts, steps)

    return scan(step, Tensor.zeros(4), random.split(random.key(0), rounds))


def main(rounds: int = 30, people: int = 64, steps: int = 200, picture: str | None = None) -> None:
    w, scores = jit(lambda: learn(rounds, people, steps))()
    print(f"the pole stands for {scores[0].item():.0f} steps at first, {scores[-1].item():.0f} of {steps} at the end")
    if picture:
        draw(w, scores, steps, picture)


def draw(w: Tensor, scores: Tensor, steps: int, path: str) -> None:
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3))
    left.plot(scores.numpy())
    left.set(xlabel="round", ylabel="steps", title="how long the pole stands")
    start = Tensor([0.0, 0.0, 0.15, 0.0])
    angles = vmap(lambda w: fall(w, start, steps)[1])(Tensor.stack(w * 0, w))
    for name, line in zip(("at first", "at the end"), angles.numpy(), strict=True):
        right.plot(line, label=name)
    right.set(xlabel="step", title="angle of the pole")
    right.legend()
    figure.savefig(path, dpi=100, bbox_inches="tight")


if __name__ == "__main__":
    main(picture=sys.argv[1] if sys.argv[1:] else None)
