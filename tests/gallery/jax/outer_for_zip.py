import jax
import jax.numpy as jnp

X, labels = jnp.array([[1.0, 2.0], [3.0, 4.0]]), jnp.array([3.0, 7.0])
w = jnp.array([[1.0, 1.0]])
predictions = jax.vmap(lambda x: w @ x)(X)
print(jnp.square(predictions - labels).mean().item())
