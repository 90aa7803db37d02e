import jax
import jax.numpy as jnp

X, bias = jnp.array([1.0, 2.0]), jnp.array([10.0, 20.0])
print(jax.vmap(lambda x: bias, out_axes=1)(X).tolist())
