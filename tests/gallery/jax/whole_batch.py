import jax
import jax.numpy as jnp

guesses, truths = jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 2.0, 5.0])
print(jax.vmap(lambda guess, truth: jnp.abs(guess - truths).sum())(guesses, truths).tolist())
