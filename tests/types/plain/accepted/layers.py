"""Layers of tinygrad.nn: a `Tensor` gives a `Tensor`, and a `Vec` a `Vec` with the same brands."""

from typing import TypeVar, assert_type

from tinygrad import Tensor, nn

from branded import Brand, Vec, unvec, vmap

S = TypeVar("S", bound=Brand)
X = Tensor.ones(2, 4)
hidden, last, norm = nn.Linear(4, 8), nn.Linear(8, 1), nn.LayerNorm(8)

# --- a layer of plain tensors
assert_type(hidden(X), Tensor)
assert_type(last(norm(hidden(X)).relu()), Tensor)


# --- layers in a body
def network(a: Vec[S]) -> Vec[S]:
    h = norm(hidden(a)).relu()
    assert_type(h, Vec[S])
    return last(h).sum()


assert_type(unvec(vmap(network)(X)), Tensor)


# --- a network as a class
class Net:
    def __init__(self) -> None:
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 1)

    def __call__(self, a: Vec[S]) -> Vec[S]:
        return self.second(self.first(a).tanh())


assert_type(unvec(vmap(Net().__call__)(X)), Tensor)

# --- a layer, mapped
assert_type(unvec(vmap(hidden)(X)), Tensor)
assert_type(unvec(vmap(nn.Embedding(10, 4))(Tensor([1, 2]))), Tensor)
