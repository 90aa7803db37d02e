import jax
import jax.numpy as jnp
import numpy as np

np.random.seed(0)
noise = jax.vmap(lambda x: 0 * x + np.random.randn())(jnp.array([1.0, 2.0, 3.0]))
print(len(set(noise.tolist())))  # how many different numbers
