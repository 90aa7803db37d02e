"""Private SGD: clip the gradient of each example, add noise, step."""

from tinygrad import Tensor

from branded import tree, value_and_grad, vmap

# --- private SGD: clip the gradient of each example, add noise, step
Params = dict[str, Tensor]


def loss(p: Params, x: Tensor, y: Tensor) -> Tensor:
    return ((x * p["w"]).sum() + p["b"] - y).square()


def clip(g: Params, bound: float) -> Params:
    total = sum(v.square().sum() for v in g.values())
    norm = Tensor.sqrt(total) if isinstance(total, Tensor) else Tensor(0.0)
    scale = (bound / (norm + 1e-6)).minimum(1.0)
    return {name: v * scale for name, v in g.items()}


def example(p: Params, x: Tensor, y: Tensor) -> tuple[Tensor, Params]:
    value, g = value_and_grad(loss)(p, x, y)
    return value, clip(g, 1.0)


def step(p: Params, xs: Tensor, ys: Tensor, rate: float = 0.1) -> tuple[Params, float]:
    values, gs = vmap(example, in_axes=(None, 0, 0))(p, xs, ys)
    mean = tree.map(lambda g: g.mean(0), gs)
    new = {k: p[k] - rate * mean[k] for k in p}
    return new, float(values.mean().item())


params = {"w": Tensor.zeros(3), "b": Tensor(0.0)}
params, value = step(params, Tensor.ones(5, 3), Tensor.ones(5))
assert params["w"].shape == (3,) and value == 1.0
