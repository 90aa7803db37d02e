"""A value that varies has no single value to read."""

import functools
from typing import TypeVar

from tinygrad import Tensor, TinyJit

from branded import Brand, Vec, brand, tree, unvec, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])


# --- numpy
def numpy(a: Vec[S]) -> Vec[S]:
    a.numpy()  # E: numpy: a value that varies over "S" has no single value to read
    return a


# --- item
def item(a: Vec[S]) -> Vec[S]:
    n = a.sum().item()  # E: item: a value that varies over "S" has no single value to read
    return a * n


# --- tolist
def tolist(a: Vec[S]) -> Vec[S]:
    print(a.tolist())  # E: tolist: a value that varies over "S" has no single value to read
    return a


# --- data
def data(a: Vec[S]) -> Vec[S]:
    a.data()  # E: data: a value that varies over "S" has no single value to read
    return a


# --- two brands are both named
def two(a: Vec[S1], b: Vec[S2]) -> None:
    (a + b).tolist()  # E: tolist: a value that varies over "S1" and "S2" has no single value to read


# --- in a lambda
vmap(lambda a: a.numpy())(x)  # E: numpy: a value that varies over "a" has no single value to read

# --- in a lambda at the second depth
vmap(lambda a: vmap(lambda b: (a + b).item())(y))(x)  # E: item: a value that varies over "a" and "b"

# --- the result of an inner vmap varies over the outer brand
vmap(lambda a: vmap(lambda b: a + b)(y).numpy())(x)  # E: numpy: a value that varies over "a"

# --- in an argument
vmap(lambda a: print(a.tolist()))(x)  # E: tolist: a value that varies over "a"

# --- within `with brand(...)`
with brand("users", 2) as users:
    users.vec(x).numpy()  # E: numpy: a value that varies over "users"


# --- float()
def to_float(a: Vec[S]) -> float:
    return float(a)  # E: "Vec[S, Tensor]"


# --- int()
def to_int(a: Vec[S]) -> Vec[S]:
    print(int(a))  # E: "Vec[S, Tensor]"
    return a


# --- range()
def to_range(a: Vec[S]) -> Vec[S]:
    for _ in range(a):  # E: "Vec[S, Tensor]"
        a = a + 1
    return a


# --- an index into a list
def index(a: Vec[S], values: list[int]) -> int:
    values[a].bit_count()  # E: "Vec[S, Tensor]"
    return len(values)


# --- a function of math
def sine(a: Vec[S]) -> float:
    import math

    return math.sin(a)  # E: math.sin: a value that varies over "S" is not a scalar


# --- a Vec passed to a function of Tensor
def helper(w: Tensor) -> Tensor:
    return w.realize()


def calls_helper(a: Vec[S]) -> Vec[S]:
    return helper(a)  # E: try:   annotate the parameter as Vec[S], or call lift(helper)(...)


# --- a Vec passed to a function of Tensor, in a lambda
def plain(w: Tensor) -> Tensor:
    return w


vmap(lambda a: plain(a))(x)  # E: Argument 1 to "plain" has incompatible type "Vec[a, Tensor]"; expected "Tensor"


# --- a Vec passed to a function of float
def power(n: float) -> Tensor:
    return x * n


vmap(lambda a: power(a.sum()))(x)  # E: Argument 1 to "power" has incompatible type "Vec[a, Tensor]"; expected "float"


# --- unvec of a row that is not empty
def not_empty(a: Vec[S]) -> Tensor:
    return unvec(a)  # E: Argument 1 to "unvec"


# --- a Vec as the shape of a tensor
def shape(a: Vec[S]) -> Vec[S]:
    return a.reshape(a)  # E: Argument 1 to "reshape"


# --- a Vec as a size
def size(a: Vec[S]) -> Tensor:
    return Tensor.zeros(a)  # E: Argument 1 to "zeros"


# --- backward
def backward(a: Vec[S]) -> Vec[S]:
    a.sum().backward()  # E: backward: a value that varies over "S" has a gradient for each example
    return a


# --- an attribute that tensors do not have
vmap(lambda a: a.sinus())(x)  # E: "Vec[a, Tensor]" has no attribute "sinus"

# --- max() of Python
vmap(lambda a: max(a, 0))(x)  # E: max

# --- round() of Python
vmap(lambda a: round(a))(x)  # E: round


# --- item, in a result
def item_result(a: Vec[S]) -> Vec[S]:
    return a * a.sum().item()  # E: item: a value that varies over "S" has no single value to read


# --- float(), in a result
def result_to_float(a: Vec[S]) -> float:
    return float(a)  # E: float: a value that varies over "S" has no single float


# --- int(), in a result
def result_to_int(a: Vec[S]) -> int:
    return int(a)  # E: int: a value that varies over "S" has no single int


# --- range(), in a result
def result_to_range(a: Vec[S]) -> Vec[S]:
    for _ in range(a):  # E: int: a value that varies over "S" has no single int
        a = a + 1
    return a


# --- a compiled program in a body
def plain_double(a: Tensor) -> Tensor:
    return a * 2


compiled_double = TinyJit(plain_double)
vmap(lambda a: compiled_double(a))(x)  # E: TinyJit: a value that varies over "a" cannot be an input of TinyJit

# --- a compiled program, mapped
vmap(TinyJit(plain_double))(x)  # E: TinyJit: a value that varies over "a" cannot be an input of TinyJit


# --- a tensor made of a list of values that vary
def listed(a: Vec[S]) -> Tensor:
    return Tensor([a[0], a[1]])  # E: Tensor: values that vary over "S" cannot be the data of a tensor


# --- a leaf of a tree is per-example in the function of tree.map
vmap(lambda a: tree.map(lambda v: v.item(), [a]))(x)  # E: item: a value that varies over "a" has no single value

# --- a mask as an index
vmap(lambda a: a[a > 0])(x)  # E: index: a mask over "a" would choose another number of entries for each example
vmap(lambda a: a[x > 1])(Tensor([[1.0, 2.0]]))  # E: index: a mask over "a"


def masked_write(a: Vec[S]) -> Vec[S]:
    b = a.clone()
    b[b > 1] = 0  # E: assign: a mask over "S" would choose another number of entries for each example
    return b


# --- a read of an argument that may be any object
def size_of(o: object) -> float:
    if isinstance(o, Tensor):
        return float(o.sum().item())  # E: item: a value that varies over "a" has no single value to read
    return 0.0


vmap(lambda a: a * size_of(a))(x)


def first_of(o: object) -> float:
    match o:
        case Tensor():
            return float(o.item())  # E: item: a value that varies over "a" has no single value to read
    return 0.0


vmap(lambda a: a * first_of(a))(x)


# --- a read in a cached function
@functools.cache
def cached(a: Tensor) -> float:
    return float(a.sum().item())  # E: item: a value that varies over "a" has no single value to read


vmap(lambda a: a * cached(a))(x)

# --- a read in a lambda with star-parameters
vmap(lambda *ys: ys[0] / ys[1].item())(x, x)  # E: value: "Vec[ys, Tensor]"
vmap(lambda a, **kw: a / kw["b"].item())(x, b=x)  # E: value: "Vec[a, Tensor]"
vmap(lambda *ys: (float(ys[0]), ys[1]), in_axes=(0, None))(x, x)  # E: float: a value that varies over "ys" has no
