import jax
import jax.numpy as jnp

X = jnp.array([1.0, 2.0, 3.0])
print(jax.vmap(lambda x: x * x, out_axes=None)(X).tolist())
