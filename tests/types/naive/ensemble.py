"""An ensemble of networks: parameters in a dict, one of each for every member."""

from tinygrad import Tensor

from branded import grad, vmap

# --- an ensemble of networks: parameters in a dict, one of each for every member
Params = dict[str, Tensor]


def init(seed: Tensor) -> Params:
    return {"w1": seed * Tensor.ones(3, 8), "b1": Tensor.zeros(8), "w2": seed * Tensor.ones(8, 1)}


def predict(p: Params, x: Tensor) -> Tensor:
    hidden: Tensor = (x @ p["w1"] + p["b1"]).relu()
    return (hidden @ p["w2"]).squeeze(-1)


def loss(p: Params, x: Tensor, y: Tensor) -> Tensor:
    return (predict(p, x) - y).square().mean()


def step(p: Params, x: Tensor, y: Tensor, rate: float = 0.1) -> Params:
    g = grad(loss)(p, x, y)
    return {name: p[name] - rate * g[name] for name in p}


seeds, X, Y = Tensor([0.1, 0.2, 0.3]), Tensor.ones(5, 3), Tensor.ones(5)
members: Params = vmap(init)(seeds)
for _ in range(2):
    members = vmap(step, in_axes=(0, None, None))(members, X, Y)
votes: Tensor = vmap(predict, in_axes=(0, None))(members, X)
assert votes.shape == (3, 5)
