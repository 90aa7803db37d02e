import jax
import jax.numpy as jnp

X, w = jnp.array([[1.0, 2.0], [3.0, 4.0]]), jnp.array([[1.0, 10.0], [100.0, 1000.0]])
print(jax.vmap(lambda x, w: (x * w).sum(), in_axes=(True, False))(X, w).tolist())
