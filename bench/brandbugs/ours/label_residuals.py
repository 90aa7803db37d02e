"""The residual of every example of a linear regression.

Mistake: closed-over batch: the body takes the labels of all examples instead of its own.
"""

from tinygrad import Tensor

from branded import Axes, Brand, vmap


class Examples(Brand): ...


class Features(Brand): ...


def residuals(w: Axes[Features], xs: Axes[Examples, Features], ys: Axes[Examples]) -> Axes[Examples]:
    return vmap(lambda x, y: w @ x - y)(xs, ys)  # bug: return vmap(lambda x, y: w @ x - ys)(xs, ys)


def main() -> None:
    w, xs = Tensor([1.0, 2.0]), Tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    assert residuals(w, xs, Tensor([1.0, 1.0, 1.0])).tolist() == [0.0, 1.0, 2.0]


if __name__ == "__main__":
    main()
