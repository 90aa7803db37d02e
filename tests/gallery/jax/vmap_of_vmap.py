import jax
import jax.numpy as jnp


def distance(a, b):
    return jnp.sqrt(jnp.square(a - b).sum())


points = jnp.array([[0.0, 0.0], [3.0, 4.0]])
print(jax.vmap(jax.vmap(distance))(points, points).tolist())
