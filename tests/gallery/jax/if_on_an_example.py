import jax
import jax.numpy as jnp

print(jax.vmap(lambda x: x if x > 0 else -x)(jnp.array([1.0, -2.0])).tolist())
