"""A file that annotates no tensor, and has no vmap: the shapes are followed all the same."""

from tinygrad import Tensor

from branded import grad, scan

X = Tensor([[1.0, 2.0], [3.0, 4.0]])

# --- a gradient of a function that returns no scalar
grad(lambda x: x * 2)(X)  # E: grad: the function must return one float, and it returns a tensor of shape (2, 2)
grad(lambda x: x.sum() * 2)(X)

# --- a carry that changes its shape
scan(lambda c, x: (c + x, x), Tensor(0.0), X)  # E: scan: carry changes its type from step to step
