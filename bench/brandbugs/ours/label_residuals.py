"""The residual of every example of a linear regression.

Mistake: closed-over batch: the body takes the labels of all examples in place of its own.
Unseen: a plain tensor may stand wherever a per-example value may: sharing it is broadcasting.
"""

from tinygrad import Tensor

from branded import vmap


def residuals(w: Tensor, xs: Tensor, ys: Tensor) -> Tensor:
    return vmap(lambda x, y: w @ x - y)(xs, ys)  # bug: return vmap(lambda x, y: w @ x - ys)(xs, ys)


def main() -> None:
    w, xs = Tensor([1.0, 2.0]), Tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    assert residuals(w, xs, Tensor([1.0, 1.0, 1.0])).tolist() == [0.0, 1.0, 2.0]


if __name__ == "__main__":
    main()
