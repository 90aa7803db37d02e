from tinygrad import Tensor

from branded import grad, vmap

w, X = Tensor(2.0), Tensor([1.0, 2.0, 3.0])
gradients = vmap(grad(lambda w, x: (w * x).square()), in_axes=(None, 0))(w, X)
print(gradients.square().tolist())  # the squared norm of each example's gradient
