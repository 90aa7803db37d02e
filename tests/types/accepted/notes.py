"""Programs that run but are likely mistakes, so that a note is reported."""

from typing import Any, TypeVar, assert_type

from tinygrad import Tensor

from branded import Brand, Vec, psum, vmap

S = TypeVar("S", bound=Brand)
x, y = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[5.0, 6.0], [7.0, 8.0]])


# --- nothing of the result varies
vmap(lambda a: y.sum())(x)  # N: vmap: the result does not vary over "a", so it is repeated for each example; try: use o
vmap(lambda a: (y.sum(), 3, None))(x)  # N: vmap: the result does not vary over "a", so it is repeated for each example;

# --- nothing of the result varies over the inner brand
vmap(lambda a: vmap(lambda b: a + 1)(y))(x)  # N: vmap: the result does not vary over "b", so it is repeated for each ex


# --- nothing of the result of a named function varies
def forgets(a: Vec[S]) -> Tensor:
    return x.sum()


vmap(forgets)(x)  # N: vmap: the result does not vary over "a", so it is repeated for each example; try: use out_axes=No
forgetful = vmap(forgets)  # N: vmap: the result does not vary over "a", so it is repeated for each example; try: use ou

# --- some of the result varies
assert_type(vmap(lambda a: (x.sum(), a))(x), tuple[Tensor, Tensor])

# --- a result that is repeated on purpose
assert_type(vmap(lambda a: x.sum(), out_axes=0)(x), Tensor)
assert_type(vmap(lambda a: x.sum(), out_axes=None)(x), Tensor)
assert_type(vmap(lambda a: psum(a, "n"), axis_name="n")(x), Tensor)
assert_type(vmap(lambda a: Tensor.rand(2), randomness="different")(x), Tensor)
assert_type(vmap(lambda: Tensor.ones(2), axis_size=3)(), Tensor)

# --- results without tensors
vmap(lambda a: 3)(x)

# --- results built from the parts of a value
vmap(lambda a: Tensor(a.uop))(x)

# --- the batch in the place of the example
vmap(lambda a, b: a - y)(x, y)  # N: vmap: the function does not use `b`, but `y`, the whole batch; try: use `b`, or use
vmap(lambda a, b: a - y + b)(x, y)
vmap(lambda a, b: a - y, in_axes=(0, None))(x, y)

# --- a row that is lost
scale: Any = 2.0
vmap(lambda a: a.clip(0, scale) * scale)(x)  # N: the brands are lost here, because `scale` has the type Any
