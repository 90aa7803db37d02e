import jax
import jax.numpy as jnp

w, X = jnp.array(2.0), jnp.array([1.0, 2.0, 3.0])
gradient = jax.grad(lambda w: jax.vmap(lambda x: jnp.square(w * x))(X).sum())(w)
print(jnp.square(gradient).tolist())  # the squared norm of each example's gradient
