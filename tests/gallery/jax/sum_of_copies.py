import jax
import jax.numpy as jnp

X = jnp.array([1.0, 2.0, 3.0])
totals = jax.vmap(lambda x: jax.lax.psum(x, "i"), axis_name="i")(X)
print(totals.sum().item())
