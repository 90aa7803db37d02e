import jax
import jax.numpy as jnp

lines = jax.vmap(lambda slope: lambda x: slope * x)(jnp.array([1.0, 2.0]))
print(lines(3.0).tolist())
