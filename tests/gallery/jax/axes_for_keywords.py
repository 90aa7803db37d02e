import jax
import jax.numpy as jnp

X, factor = jnp.array([[1.0, 2.0], [3.0, 4.0]]), jnp.array(10.0)
scaled = jax.vmap(lambda x, factor: x * factor, in_axes=(0, None))
print(scaled(X, factor=factor).tolist())
