"""k-means from many starts at once: the distances broadcast two brands, and restarts are one more vmap.

python examples/kmeans.py [PICTURE]
"""

from __future__ import annotations

import sys

from tinygrad import Tensor

from branded import Vec, fori_loop, jit, random, vmap
from branded.typing import S, S1


def distance(point: Vec[S], center: Vec[S1]) -> Vec[S | S1]:
    return ((point - center) ** 2).sum()


def distances(points: Tensor, centers: Vec[S]) -> Vec[S]:
    """Return the distances of all pairs, `f32[n, k]`: points and centers have different brands."""
    return vmap(lambda x: vmap(lambda c: distance(x, c))(centers))(points)


def improve(points: Tensor, centers: Vec[S]) -> Vec[S]:
    """Move each center to the mean of its nearest points."""
    nearest = distances(points, centers).argmin(axis=1).one_hot(centers.shape[0]).float()  # f32[n, k]
    count = nearest.sum(0)[:, None]
    return (count > 0).where(nearest.T @ points / count.maximum(1), centers)


def cluster(points: Tensor, key: Vec[S], k: int, steps: int) -> tuple[Vec[S], Vec[S]]:
    """Return the centers from one start, and the sum of the squared distances to them."""
    start = points[random.permutation(key, points.shape[0])[:k]]
    centers = fori_loop(0, steps, lambda _, c: improve(points, c), start)
    return centers, distances(points, centers).min(1).sum()


def main(points: int = 300, restarts: int = 16, picture: str | None = None) -> None:
    where, spread, starts = random.split(random.key(0), 3)
    true = Tensor([[0.0, 0.0], [4.0, 0.0], [2.0, 3.0]])
    xs = (true[random.randint(where, (points,), 0, 3)] + 0.6 * random.normal(spread, (points, 2))).realize()
    centers, costs = jit(vmap(lambda key: cluster(xs, key, 3, 20)))(random.split(starts, restarts))
    best = centers[costs.argmin()]
    found = sorted([round(x), round(y)] for x, y in best.tolist())
    print(f"the best of {restarts} starts finds {found}, near {sorted([int(x), int(y)] for x, y in true.tolist())}")
    if picture:
        draw(xs, best, picture)


def draw(points: Tensor, centers: Tensor, path: str) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5, 4))
    nearest = distances(points, centers).argmin(axis=1).numpy()
    (x, y), (cx, cy) = points.numpy().T, centers.numpy().T
    axes.scatter(x, y, c=nearest, s=8)
    axes.scatter(cx, cy, marker="x", s=120, c="black")
    figure.savefig(path, dpi=100, bbox_inches="tight")


if __name__ == "__main__":
    main(picture=sys.argv[1] if sys.argv[1:] else None)
