import jax
import jax.numpy as jnp

key = jax.random.key(0)
noise = jax.vmap(lambda x: 0 * x + jax.random.normal(key))(jnp.array([1.0, 2.0, 3.0]))
print(len(set(noise.tolist())))  # how many different numbers
