# %% [markdown]
# Clusters of points, as cells of a notebook

# %%
from functools import partial
from itertools import pairwise

from branded import vmap
from tinygrad import Tensor

# %%
points = Tensor.arange(16).reshape(8, 2).float() % 5
centers = Tensor([[0.0, 0.0], [4.0, 4.0], [1.0, 3.0]])
k, n = centers.shape[0], points.shape[0]


# %%
def distance(a: Tensor, b: Tensor) -> Tensor:
    return (a - b).square().sum().sqrt()  # read: return Tensor(float((a - b).square().sum().sqrt()))


to_centers = vmap(distance, in_axes=(None, 0))  # none: to_centers = vmap(distance)
table = vmap(lambda p: to_centers(p, centers))(points)
table.shape

# %%
nearest = vmap(lambda row: row.argmin())(table)  # if: nearest = vmap(lambda row: row.argmin() if row.min() < 1 else row.argmax())(table)
members = vmap(lambda c: (nearest == c).float())(Tensor.arange(3))

# %% [markdown]
# The mean of each cluster: `members` is (clusters, points)

# %%
sizes = vmap(lambda m: m.sum())(members)
means = vmap(lambda m, s: (m.unsqueeze(1) * points).sum(axis=0) / (s + 1e-6))(members, sizes)
shift = vmap(distance)(means, centers)
scale = vmap(lambda p, c: p / c, in_axes=(0, None))(points, means.mean(axis=0) + 1)  # none: scale = vmap(lambda p, c: p / c)(points, means.mean(axis=0) + 1)

# %%
between = vmap(lambda a: vmap(partial(distance, a))(means))(means)
mixed = vmap(lambda a: vmap(partial(distance, a))(means))(points)  # zip: mixed = vmap(distance)(points, means)
by_center = vmap(lambda d: d - d.mean(), in_axes=1, out_axes=1)(mixed)  # out: by_center = vmap(lambda d: d - d.mean(), in_axes=1)(mixed)
residual = by_center - table
nearest_two = vmap(lambda row: row.sort()[0][:2])(table)

# %%
powers = [vmap(lambda p, q=q: (p**q).sum())(points) for q in (1, 2)]
ratios = [vmap(lambda a, b: b / (a + 1))(a, b) for a, b in pairwise(powers)]  # axis: ratios = [vmap(lambda a, b: b / (a + 1))(a, means) for a, b in pairwise(powers)]
stds = {name: vmap(f)(points) for name, f in {"std": lambda p: p.std(), "max": lambda p: p.max()}.items()}
seen: list[Tensor] = []
for column in range(2):
    seen.append(vmap(lambda p: p.square(), in_axes=0)(points[:, column]))
weights = vmap(lambda p, w: (p * w).sum(), in_axes=(0, None))(points, stds["std"][:2])  # none: weights = vmap(lambda p, w: (p * w).sum())(points, stds["std"][:2])

# %%
final = vmap(lambda s, w: s * w)(sizes, shift)  # axis: final = vmap(lambda s, w: s * w)(sizes, weights)
labels = [f"{v:.1f}" for v in final.tolist()]  # read: labels = [vmap(lambda v: f"{v:.1f}")(final)]
kept: list[Tensor] = []
drift = vmap(lambda a, b: a - b)(means, centers)  # escape: drift = vmap(lambda a, b: [kept.append(a), a - b][1])(means, centers)
total = sum((t.sum() for t in kept), Tensor(0.0))
spread = vmap(lambda d: d.abs().max())(drift)
result = table, nearest, means, scale, between, mixed, residual, ratios[0], weights, final, spread, total
labels
