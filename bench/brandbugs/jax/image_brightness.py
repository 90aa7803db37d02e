"""The brightness of one picture of a stack, by the function for stacks."""

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


def brightness(picture: Float[Array, "h w"]) -> Float[Array, ""]:
    return picture.mean()


of_stack = vmap(brightness)


def main() -> None:
    stack = jnp.array([[[0.0, 1.0], [2.0, 5.0]], [[1.0, 1.0], [1.0, 1.0]]])
    first = of_stack(stack[:1])  # bug: first = of_stack(stack[0])
    assert first.tolist() == [2.0]


if __name__ == "__main__":
    main()
