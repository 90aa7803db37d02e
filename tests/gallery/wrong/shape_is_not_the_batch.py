from tinygrad import Tensor

from branded import vmap

losses = Tensor([[1.0, 3.0, 5.0], [2.0, 4.0, 9.0]])  # 2 examples of 3 steps
shares = vmap(lambda steps: steps.sum() / steps.shape[0])(losses)
print(shares.sum().item())  # the mean over the examples
