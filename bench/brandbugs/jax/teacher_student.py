"""How far every student is from every teacher, on the logits of one question."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, vmap
from jaxtyping import Float


def divergence(teacher: Float[Array, "c"], student: Float[Array, "c"]) -> Float[Array, ""]:
    p, log_p = jax.nn.softmax(teacher), jax.nn.log_softmax(teacher)
    return (p * (log_p - jax.nn.log_softmax(student))).sum()


def table(teachers: Float[Array, "t c"], students: Float[Array, "s c"]) -> Float[Array, "t s"]:
    def of_teacher(t: Float[Array, "c"]) -> Float[Array, "s"]:
        return vmap(lambda s: divergence(t, s))(students)  # bug: return vmap(lambda s: divergence(s, t))(students)

    return vmap(of_teacher)(teachers)


def main() -> None:
    logits = jnp.array([[0.0, 0.0], [9.0, 0.0]])
    assert np.allclose(np.asarray(table(logits, logits)), [[0.0, 3.807], [0.692, 0.0]], atol=1e-2)


if __name__ == "__main__":
    main()
