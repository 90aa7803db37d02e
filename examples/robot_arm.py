"""A robot arm that reaches many targets: Newton's method for each, with a Jacobian by forward mode.

python examples/robot_arm.py [PICTURE]
"""

from __future__ import annotations

import sys

from tinygrad import Tensor

from branded import Vec, fori_loop, jacfwd, jit, linalg, random, vmap
from branded.typing import S, S1

LENGTHS = (1.0, 0.8, 0.6)


def joints(angles: Vec[S]) -> Vec[S]:
    """Return the positions of the joints, `f32[3] -> f32[3, 2]`; angles are relative to the previous joint."""
    turned, lengths = angles.cumsum(), Tensor(LENGTHS)
    return Tensor.stack(turned.cos() * lengths, turned.sin() * lengths, dim=1).cumsum(0)


def hand(angles: Vec[S]) -> Vec[S]:
    return joints(angles)[-1]


def reach(target: Vec[S], start: Vec[S1], steps: int = 30) -> Vec[S | S1]:
    """Return the angles that move the hand to the target, by damped least squares (Wampler 1986)."""

    def improve(_: Tensor, angles: Vec[S | S1]) -> Vec[S | S1]:
        jacobian = jacfwd(hand)(angles)  # f32[2, 3]
        square = jacobian @ jacobian.T + 0.01 * Tensor.eye(2)
        return angles + jacobian.T @ linalg.solve(square, target - hand(angles))

    return fori_loop(0, steps, improve, start)


def main(targets: int = 200, picture: str | None = None) -> None:
    how_far, whither = (random.uniform(k, (targets,)) for k in random.split(random.key(0)))
    far, angle = 0.8 + 1.4 * how_far, 6.2832 * whither
    things = Tensor.stack(far * angle.cos(), far * angle.sin(), dim=1).realize()
    start = Tensor([0.3, 0.6, 0.6])
    angles = jit(lambda things: vmap(lambda t: reach(t, start))(things))(things)
    off = (vmap(hand)(angles) - things).square().sum(1).sqrt()
    print(f"{targets} things: {(off < 0.01).float().mean().item():.0%} within 0.01")
    if picture:
        draw(things, angles, picture)


def draw(things: Tensor, angles: Tensor, path: str) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5, 5))
    for arm in vmap(joints)(angles[:12]).numpy():
        axes.plot([0, *arm[:, 0]], [0, *arm[:, 1]], "o-", lw=2, ms=4, alpha=0.7)
    x, y = things.numpy().T
    axes.plot(x, y, ".", c="silver", zorder=0)
    axes.set_aspect("equal")
    figure.savefig(path, dpi=100, bbox_inches="tight")


if __name__ == "__main__":
    main(picture=sys.argv[1] if sys.argv[1:] else None)
