import jax
import jax.numpy as jnp

brightness = jax.vmap(lambda image: image.max())
image = jnp.array([[0.0, 0.5], [0.5, 1.0]])
print(brightness(image).tolist())
