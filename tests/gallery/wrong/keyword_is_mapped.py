from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


def predict(x: Vec[S], *, w: Tensor) -> Vec[S]:
    return (w * x).sum()


w, X = Tensor([1.0, 10.0]), Tensor([[1.0, 2.0], [3.0, 4.0]])
print(vmap(predict)(X, w=w).tolist())
