import jax
import jax.numpy as jnp

users = jnp.array([[1.0, 0.0], [0.0, 1.0]])
items = jnp.array([[2.0, 3.0], [4.0, 5.0]])
print(jax.vmap(lambda user, item: (user * item).sum())(users, items).tolist())
