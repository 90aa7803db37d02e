from tinygrad import Tensor

from branded import Axes, Brand, as_axes, vmap


class Rows(Brand): ...


class Inputs(Brand): ...


X = as_axes(Tensor([[1.0, 2.0], [3.0, 4.0]]), Rows, Inputs)
labels, w = as_axes(Tensor([3.0, 7.0]), Rows), as_axes(Tensor([[1.0, 1.0]]), 1, Inputs)
predictions = vmap(lambda x: w @ x)(X)
errors: Axes[Rows] = predictions - labels
print(errors.square().mean().item())
