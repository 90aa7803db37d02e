from tinygrad import Tensor

from branded import grad, vmap

w, X = Tensor(2.0), Tensor([1.0, 2.0, 3.0])
gradient = grad(lambda w: vmap(lambda x: (w * x).square())(X).sum())(w)
print(gradient.square().tolist())  # the squared norm of each example's gradient
