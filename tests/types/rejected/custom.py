"""Functions with rules of their own, called wrongly."""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, custom_jvp, custom_vjp, custom_vmap, grad, sequential_vmap, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])


@custom_vjp
def product(a: Vec[S], b: Vec[S1]) -> Vec[S | S1]:
    return a * b


@custom_jvp
def plain(a: Tensor) -> Tensor:
    return a * 2


# --- a string for a tensor
product(x, "y")  # E: Argument 2 to "product" has incompatible type "str"

# --- too few arguments
product(x)  # E: Missing positional argument "b" in call to "product"


# --- a row is left out
def row(a: Vec[S], b: Vec[S1]) -> Vec[S]:
    return product(a, b)  # E: Incompatible return value type (got "Vec[S | S1, Tensor]", expected "Vec[S, Tensor]")


# --- a result is read
vmap(lambda a: product(a, x).numpy())(x)  # E: numpy: a value that varies over "a" has no single value to read

# --- a function of tensors, mapped
vmap(plain)(x)  # E: argument 1 is mapped, but plain wants "Tensor" for one example
vmap(lambda a: plain(a))(x)  # E: Argument 1 to "plain" has incompatible type "Vec[a, Tensor]"; expected "Tensor"

# --- a gradient is taken for shared
vmap(lambda a: grad(lambda v: product(v, a).sum())(x), out_axes=None)(x)  # E: out_axes: None for a result that varies o


# --- a body reads
@sequential_vmap
def reads(a: Vec[S]) -> Vec[S]:
    return a * a.item()  # E: item: a value that varies over "S" has no single value to read


# --- no function
custom_vmap(3)  # E: custom_vmap

# --- a wrong attribute
product.defjvp(lambda a: a)  # E: has no attribute "defjvp"
