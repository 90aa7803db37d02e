"""Two steps of k-means: distances, assignments and new centers."""

from branded import Brand, as_axes, vmap
from tinygrad import Tensor


class Points(Brand): ...


class Centers(Brand): ...


class Dims(Brand): ...


N, K, D = 6, 2, 3


def squared(a: Tensor, b: Tensor) -> Tensor:
    return (a - b).square().sum()


class KMeans:
    def __init__(self, centers: Tensor) -> None:
        self.centers = centers

    def distances(self, points: Tensor) -> Tensor:
        inner = vmap(squared, in_axes=(None, 0))  # none: inner = vmap(squared, in_axes=(0, 0))
        return vmap(lambda p: inner(p, self.centers))(points)

    def responsibilities(self, points: Tensor) -> Tensor:
        return (-self.distances(points)).softmax(axis=1)

    def step(self, points: Tensor) -> "KMeans":
        r = self.responsibilities(points)
        sums = r.T @ points  # axis: sums = r @ points
        return KMeans(sums / r.sum(axis=0).reshape(-1, 1))  # axis: return KMeans(sums / r.sum(axis=1).reshape(-1, 1))

    def spread(self, points: Tensor) -> Tensor:
        return vmap(lambda c: vmap(squared, in_axes=(0, None))(points, c).min())(self.centers)  # none: return vmap(lambda c: vmap(squared)(points, c).min())(self.centers)


def main() -> tuple[Tensor, ...]:
    points = as_axes(Tensor.arange(N * D).reshape(N, D).float() % 5, Points, Dims)
    first = KMeans(as_axes(Tensor.arange(K * D).reshape(K, D).float(), Centers, Dims))
    model = first.step(points).step(points)
    far = vmap(lambda p: vmap(lambda c: squared(p, c))(model.centers))(points)  # zip: far = vmap(squared)(points, model.centers)
    nearest = far.argmin(axis=1)  # axis: nearest = far.argmin(axis=0)
    offset = vmap(lambda p, d: p * d)(points, far.min(axis=1))  # axis: offset = vmap(lambda p, d: p * d)(points, far.min(axis=0))
    return far, nearest, offset, model.spread(points)


result = main()
assert result[1].shape == (N,)
