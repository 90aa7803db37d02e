"""Functions of tensors in other files: with batched arguments, they are as generic as lambdas."""

from functools import partial
from typing import NamedTuple, assert_type

from tinygrad import Tensor

from branded import vmap
from tests.types.other.tensors import Layer, affine, clip, mean, mul, power, same, scale, total

X = Tensor([[1.0, 2.0], [3.0, 4.0]])
w = Tensor([1.0, 2.0])

# --- numbers, options and shapes of examples are no reads
assert_type(vmap(scale)(X), Tensor)
assert_type(vmap(lambda x: scale(x, 3.0))(X), Tensor)
assert_type(vmap(lambda x: affine(x, w))(X), Tensor)
assert_type(vmap(affine, in_axes=(0, None, 0))(X, w, w), Tensor)
assert_type(vmap(total)(X), Tensor)
assert_type(vmap(lambda x: power(x, 3))(X), Tensor)
assert_type(vmap(lambda x: mean([x, x]))(X), Tensor)
assert_type(vmap(lambda x: clip(x, 0.0, 3.0))(X), Tensor)

# --- partial
assert_type(vmap(partial(scale, k=3.0))(X), Tensor)
assert_type(vmap(partial(power, k=2))(X), Tensor)
cubed = partial(power, k=3)
assert_type(vmap(cubed)(X), Tensor)
assert_type(vmap(lambda x: vmap(partial(mul, x))(X))(X), Tensor)
assert_type(vmap(lambda x: vmap(partial(mul, y=x))(X))(X), Tensor)

# --- functions in variables
for f in (mul, mul):
    assert_type(vmap(f)(X, X), Tensor)
for g in [total, scale]:
    assert_type(vmap(g)(X), Tensor)
for h in (scale, partial(power, k=3)):
    assert_type(vmap(h)(X), Tensor)
product = mul
assert_type(vmap(product)(X, X), Tensor)

# --- a type variable bounded by Tensor
assert_type(vmap(same)(X), Tensor)
assert_type(vmap(lambda x: same(x) * 2)(X), Tensor)
assert_type(same(w), Tensor)

# --- objects
assert_type(vmap(Layer())(X), Tensor)
assert_type(vmap(Layer(deep=True).activated)(X), Tensor)


# --- the result of a method may vary over the batched fields of a NamedTuple without brands
class Pair(NamedTuple):
    left: Tensor
    right: Tensor

    def product(self) -> Tensor:
        return self.left * self.right


assert_type(vmap(lambda p: p.product())(Pair(X, w)), Tensor)
