from tinygrad import Tensor

from branded import random, vmap

keys = random.split(random.key(0), 3)
noise = vmap(lambda key, x: 0 * x + random.normal(key))(keys, Tensor([1.0, 2.0, 3.0]))
print(len(set(noise.tolist())))  # how many different numbers
