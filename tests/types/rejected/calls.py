"""Calls with wrong arguments, and objects that are not functions."""

from functools import partial
from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, brand, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])


def double(a: Vec[S]) -> Vec[S]:
    return a * 2


def add(a: Vec[S1], b: Vec[S2], *, scale: float = 1.0) -> Vec[S1 | S2]:
    return (a + b) * scale


# --- too many arguments
vmap(double)(x, y)  # E: vmap: too many arguments for "double"

# --- too few arguments
vmap(add)(x)  # E: vmap: missing positional argument "b" in call to "add"

# --- a wrong keyword
vmap(double)(x, shift=y)  # E: vmap: unexpected keyword argument "shift" for "double"

# --- too many arguments for a lambda
vmap(lambda a: a)(x, y)  # E: Too many arguments

# --- too few arguments for a lambda
vmap(lambda a, b: a + b)(x)  # E: Too few arguments

# --- too many arguments of a stored function
stored = vmap(double)
stored(x, y)  # E: No overload variant

# --- too few arguments of a stored function
stored_add = vmap(add)
stored_add(x)  # E: No overload variant

# --- a wrong argument of a stored function
stored_double = vmap(double)
stored_double("x")  # E: No overload variant

# --- a wrong argument of a stored lambda
stored_lambda = vmap(lambda a: a * 2)
stored_lambda("x")  # E: No overload variant

# --- too many arguments of a stored lambda
two_lambda = vmap(lambda a: a * 2)
two_lambda(x, y)  # E: No overload variant


# --- a wrong argument of a decorated function
@vmap
def decorated(a: Vec[S]) -> Vec[S]:
    return a


decorated(1.0)  # E: No overload variant


# --- no arguments at all
vmap(double)()  # E: in_axes: nothing is mapped

# --- a number instead of a function
vmap(3)(x)  # E: vmap: "int" not callable

# --- vmap(f, x) instead of vmap(f)(x)
vmap(x)(x)  # E: vmap: "Tensor" not callable

# --- an error in the body is reported once
vmap(lambda a: a + "s")(x)  # E: Unsupported operand types for + ("Vec[a, Tensor]" and "str")

# --- an error in a nested body is reported once
vmap(lambda a: vmap(lambda b: a + b.nope)(y))(x)  # E: "Vec[b, Tensor]" has no attribute "nope"

# --- an unknown name in the body is reported once
vmap(lambda a: a + zz)(x)  # noqa: F821  # E: Name "zz" is not defined

# --- an unknown name as the function
vmap(unknown)(x)  # noqa: F821  # E: Name "unknown" is not defined

# --- an unknown name as the argument
vmap(double)(unknown)  # noqa: F821  # E: Name "unknown" is not defined

# --- the result has another type than declared
vmap(lambda a: a * 2)(x).append(3)  # E: "Tensor" has no attribute "append"

# --- a keyword argument of a mapped function is mapped: a number has no axis
vmap(add)(x, y, scale=2.0)  # E: in_axes: argument `scale` is a float: there is no axis to map over


# --- brand() of a wrong name
with brand(3, 2):  # E: No overload variant
    pass

# --- brand() without a size
with brand("users"):  # E: No overload variant
    pass


# --- arguments next to the function in vmap
vmap(double, x)  # E: in_axes


# --- arguments next to a lambda in vmap
vmap(lambda a, b: a + b, x, y)  # E: axes

# --- a class that gives no tensor
vmap(str)(x)  # E: out_axes: the result is a str, which cannot be stacked

# --- a class that takes no Vec
vmap(int)(x)  # E: int: a value that varies over "s" has no single int

# --- a complex number is mapped
vmap(lambda a: a)(3 + 4j)  # E: in_axes: argument 1 is a complex: there is no axis to map over

# --- a lambda of no parameters, without a size
vmap(lambda: y)()  # E: in_axes: nothing is mapped


# --- an option that vmap does not have
vmap(double, in_axis=0)(x)  # E: vmap: there is no option in_axis


# --- an option of another type
vmap(double, chunk_size="2")(x)  # E: chunk_size: '2' is not a size


# --- a randomness that there is not
vmap(double, randomness="some")(x)  # E: randomness: 'some' is not a valid choice


# --- a wrong type of a name
vmap(double, axis_name=3)(x)  # E: axis_name: int is not a name


# --- partial(vmap, ...) with more axes than there are parameters
@partial(vmap, in_axes=(None, 0))  # E: in_axes: 2 axes for 1 positional argument
def one_parameter(a: Vec[S]) -> Vec[S]:
    return a * 2


# --- partial(vmap, ...) of a lambda that reads
partial(vmap, in_axes=0)(lambda a: a.numpy())(x)  # E: numpy: a value that varies over "a" has no single value to read

# --- options before the function, out_axes=None for a mapped result
vmap(out_axes=None)(lambda a: a * 2)(x)  # E: out_axes: None needs a result

# --- a stored lambda over a tree reads, and is called
reading = vmap(lambda p: p["w"].numpy())  # E: numpy: a value that varies over "p" has no single value to read
reading({"w": x})


# --- a wrong memory_limit, a wrong progress
vmap(double, chunk_size="auto", memory_limit=2.5)(x)  # E: memory_limit: float is not a memory size
vmap(double, chunk_size=2, progress=1)(x)  # E: progress: int is not a valid choice


# --- a tuple for one tensor: the brands are not the reason
def length(a: Tensor) -> Tensor:
    return a.sum()


def lengths(a: Vec[S]) -> Vec[S]:
    return length((a, a))  # E: Argument 1 to "length" has incompatible type
