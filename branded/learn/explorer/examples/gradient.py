"""A gradient for each example."""

from tinygrad import Tensor

from branded import grad, vmap

W = Tensor([1.0, -1.0])
XS = Tensor([[1.0, 2.0], [0.0, 1.0], [3.0, 1.0]])
YS = Tensor([1.0, 2.0, 0.0])


def gradient(
    w: Tensor = W, xs: Tensor = XS, ys: Tensor = YS
) -> Tensor:
    """The gradient of each example's loss for the weights."""
    slope = grad(lambda w, x, y: ((w * x).sum() - y).square())
    return vmap(slope, in_axes=(None, 0, 0))(w, xs, ys)
