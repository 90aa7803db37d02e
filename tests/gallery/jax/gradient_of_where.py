import jax
import jax.numpy as jnp

root = jax.vmap(jax.grad(lambda x: jnp.where(x > 0, jnp.sqrt(x), 0 * x)))
print(root(jnp.array([4.0, 0.0])).tolist())
