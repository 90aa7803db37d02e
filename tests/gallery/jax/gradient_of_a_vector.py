import jax
import jax.numpy as jnp

print(jax.vmap(jax.grad(lambda x: x * x))(jnp.array([[1.0, 2.0], [3.0, 4.0]])).tolist())
