"""Mistakes with functions that have no name where they are called."""

from collections.abc import Callable

from tinygrad import Tensor

from branded import jit, tree, vmap

x = Tensor([1.0, 2.0])
OPS: dict[str, Callable[[Tensor], Tensor]] = {"sin": lambda a: a.sin(), "unit": lambda a: a / 2}


# --- a read in an entry of a registry
READERS: dict[str, Callable[[Tensor], Tensor]] = {
    "unit": lambda a: a / a.item(),  # E: item: a value that varies over "a" has no single value to read
}
vmap(lambda a: READERS["unit"](a))(x)


# --- an entry of a registry with a read, a condition or a wrong number of arguments
vmap(lambda a: a if OPS["sin"](a) > 0 else -a)(x)  # E: bool: a value that varies over "a" has no single truth value
vmap(lambda a: OPS["sin"](a, a))(x)  # E: No overload variant matches argument types "Vec[a, Tensor]", "Vec[a, Tensor]"

# --- a lambda that jit compiles
shrunk = jit(lambda a: a.shrinks(2))  # E: "Tensor" has no attribute "shrinks"
shrunk(x)
summed = jit(lambda d: d["a"] + d["b"])
summed({"a": x, "b": x}).shrinks(2)  # E: "Tensor" has no attribute "shrinks"
summed()  # E: Too few arguments

# --- a stored lambda of trees
halved = vmap(lambda p, r: tree.map(lambda leaf: leaf * r, p))
halved({"a": x}, x)["b"].shrinks(2)  # E: "Tensor" has no attribute "shrinks"
halved({"a": x})  # E: Too few arguments
