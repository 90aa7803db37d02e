import jax
import jax.numpy as jnp

heights, widths, scales = jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0]), jnp.array([2.0])
area = jax.vmap(lambda height, width, scale: height * width * scale)
print(area(heights, scale=scales, width=widths).tolist())
