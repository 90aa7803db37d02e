from tinygrad import Tensor

from branded import Axes, Brand, as_axes, grad, vmap


class Examples(Brand): ...


w, X = as_axes(Tensor(2.0)), as_axes(Tensor([1.0, 2.0, 3.0]), Examples)
gradient = grad(lambda w: vmap(lambda x: (w * x).square())(X).sum())(w)
norms: Axes[Examples] = gradient.square()
print(norms.tolist())
