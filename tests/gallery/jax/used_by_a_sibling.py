import jax
import jax.numpy as jnp

kept = []
jax.vmap(lambda x: kept.append(x * 10))(jnp.array([1.0, 2.0]))
print(jax.vmap(lambda y: kept[0] + y)(jnp.array([1.0, 2.0])).tolist())
