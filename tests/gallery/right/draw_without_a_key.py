from tinygrad import Tensor

from branded import vmap

Tensor.manual_seed(0)
noise = vmap(lambda x: 0 * x + Tensor.randn(), randomness="different")(Tensor([1.0, 2.0, 3.0]))
print(len(set(noise.tolist())))  # how many different numbers
