import jax
import jax.numpy as jnp

X = jnp.array([[1.0, 2.0], [3.0, 4.0]])
sums = jax.vmap(lambda x: x.sum(), X)
print(sums.tolist())
