"""k-means: each point to its nearest centre, many starts at once."""

from tinygrad import Tensor

from branded import vmap


# --- k-means: each point to its nearest centre, many starts at once
def distance(point: Tensor, centre: Tensor) -> Tensor:
    return (point - centre).square().sum()


def nearest(point: Tensor, centres: Tensor) -> Tensor:
    return vmap(distance, in_axes=(None, 0))(point, centres).argmin()


def step(centres: Tensor, points: Tensor) -> Tensor:
    label: Tensor = vmap(nearest, in_axes=(0, None))(points, centres)
    member = label.one_hot(centres.shape[0])
    count = member.sum(0).maximum(1).unsqueeze(-1)
    return member.transpose() @ points / count


def fit(centres: Tensor, points: Tensor, steps: int = 3) -> Tensor:
    for _ in range(steps):
        centres = step(centres, points)
    return centres


points, starts = Tensor.arange(12).reshape(6, 2).float(), Tensor.arange(12).reshape(2, 3, 2).float()
centres: Tensor = vmap(fit, in_axes=(0, None))(starts, points)
spread: list[float] = vmap(lambda c: vmap(lambda p: vmap(lambda k: distance(p, k))(c).min())(points).sum())(
    centres
).tolist()
assert centres.shape == (2, 3, 2) and len(spread) == 2
