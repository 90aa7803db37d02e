from tinygrad import Tensor

from branded import vmap

losses = Tensor([[1.0, 3.0, 5.0], [2.0, 4.0, 9.0]])  # 2 examples of 3 steps
totals = vmap(lambda steps: steps.sum())(losses)
print(totals.mean().item())  # the mean over the examples
