"""A network as a class; a gradient for each example."""

from collections.abc import Callable
from itertools import pairwise

from tinygrad import Tensor

from branded import grad, vmap


# --- a network as a class; a gradient for each example
class Linear:
    def __init__(self, n: int, m: int) -> None:
        self.weight = Tensor.ones(m, n)
        self.bias = Tensor.zeros(m)

    def __call__(self, x: Tensor) -> Tensor:
        return self.weight @ x + self.bias


class MLP:
    def __init__(self, sizes: list[int], act: Callable[[Tensor], Tensor] = Tensor.relu) -> None:
        self.layers = [Linear(n, m) for n, m in pairwise(sizes)]
        self.act = act

    def __call__(self, x: Tensor) -> Tensor:
        for layer in self.layers[:-1]:
            x = self.act(layer(x))
        return self.layers[-1](x)


def loss(w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return ((w @ x) - y).square().mean()


def norm(g: Tensor) -> Tensor:
    return g.square().sum().sqrt()


model = MLP([3, 4, 2])
X, Y, w = Tensor.ones(5, 3), Tensor.ones(5, 2), Tensor.ones(2, 3)
out: Tensor = vmap(model)(X)
grads: Tensor = vmap(grad(loss), in_axes=(None, 0, 0))(w, X, Y)
norms: Tensor = vmap(norm)(grads)
both: Tensor = vmap(lambda x, y: norm(grad(loss)(w, x, y)))(X, Y)
losses: Tensor = vmap(lambda x, y: loss(w, model(x), y) if w.shape[1] == 2 else loss(w, x, y))(X, Y)
assert out.shape == (5, 2) and norms.shape == both.shape == losses.shape == (5,)
