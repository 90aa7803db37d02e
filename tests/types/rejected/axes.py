"""in_axes and out_axes that do not fit."""

from typing import NamedTuple, TypedDict, TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])


class Params(TypedDict):
    w: Tensor
    b: Tensor


params: Params = {"w": x, "b": y}


def double(a: Vec[S]) -> Vec[S]:
    return a * 2


def add(a: Vec[S1], b: Vec[S2]) -> Vec[S1 | S2]:
    return a + b


# --- more axes than arguments
vmap(double, in_axes=(0, 0))(x)  # E: in_axes: 2 axes for 1 positional argument

# --- fewer axes than arguments
vmap(add, in_axes=(0,))(x, y)  # E: in_axes: 1 axis for 2 positional arguments

# --- no axes
vmap(double, in_axes=())(x)  # E: in_axes: 0 axes for 1 positional argument

# --- more axes than parameters, of a lambda
vmap(lambda a: a, in_axes=(0, None))(x)  # E: in_axes: 2 axes for 1 positional argument

# --- more axes than parameters, stored
vmap(double, in_axes=(0, 0))  # E: in_axes: 2 axes for 1 positional argument


# --- more axes than parameters, decorated
@vmap(in_axes=(0, 0))  # E: in_axes: 2 axes for 1 positional argument
def decorated(a: Vec[S]) -> Vec[S]:
    return a


# --- more axes than arguments, in a list
vmap(double, in_axes=[0, 0])(x)  # E: in_axes: 2 axes for 1 positional argument

# --- more axes than arguments, in a variable
ways = (0, 0)
vmap(double, in_axes=ways)(x)  # E: in_axes: 2 axes for 1 positional argument

# --- a bool as an axis
vmap(double, in_axes=True)(x)  # E: in_axes: the axis of argument 1 is a bool: an axis is an int or None

# --- a bool within a tuple
vmap(add, in_axes=(0, False))(x, y)  # E: in_axes: the axis of argument 2 is a bool: an axis is an int or None

# --- a bool in a variable
flag = True
vmap(double, in_axes=flag)(x)  # E: in_axes: the axis of argument 1 is a bool

# --- a string as an axis
vmap(double, in_axes="0")(x)  # E: in_axes: the axis of argument 1 is a str: an axis is an int or None

# --- a float as an axis
vmap(double, in_axes=0.0)(x)  # E: in_axes: the axis of argument 1 is a float: an axis is an int or None

# --- a bool within the axes of a tuple
vmap(lambda t: t[0], in_axes=((0, True),))((x, y))  # E: in_axes: the axis of argument 1[1] is a bool: an axis is an int

# --- a bool in out_axes
vmap(double, out_axes=False)(x)  # E: out_axes: the axis of the result is a bool

# --- nothing is mapped
vmap(double, in_axes=None)(x)  # E: in_axes: nothing is mapped, so the batch size is unknown

# --- nothing is mapped, by a tuple
vmap(add, in_axes=(None, None))(x, y)  # E: in_axes: nothing is mapped, so the batch size is unknown

# --- nothing is mapped, stored
vmap(double, in_axes=None)  # E: in_axes: nothing is mapped

# --- nothing is mapped, in a lambda
vmap(lambda a: a, in_axes=(None,))(x)  # E: in_axes: nothing is mapped

# --- a dict for all arguments
vmap(lambda p: p["w"], in_axes={"w": 0, "b": None})(params)  # E: in_axes: a dict cannot give the axes of all arguments

# --- a tuple of axes for one tensor
vmap(add, in_axes=((0, 0), 0))(x, y)  # E: in_axes: (0, 0) is a tuple of axes, but argument 1 is one tensor

# --- a dict of axes for one tensor
vmap(add, in_axes=({"w": 0}, 0))(x, y)  # E: in_axes: {"w": 0} is a dict of axes, but argument 1 is one tensor

# --- fewer axes than items of a tuple
vmap(lambda t: t[0], in_axes=((0,),))((x, y))  # E: in_axes: (0,) has 1 axis, but argument 1 has 2 items

# --- more axes than items of a nested tuple
vmap(lambda t: t[0], in_axes=((0, (0, 0, 0)),))((x, (x, y)))  # E: in_axes: (0, 0, 0) has 3 axes, but argument 1[1] has

# --- a key that the argument does not have
vmap(lambda p: p["w"], in_axes=({"w": 0, "b": 0, "c": 0},))(params)  # E: in_axes: {"w": 0, "b": 0, "c": 0} and argument

# --- a key that the axes do not have
vmap(lambda p: p["w"], in_axes=({"w": 0},))(params)  # E: have different keys: `b` is in one of them

# --- a string as an axis of a key
vmap(lambda p: p["w"], in_axes=({"w": 0, "b": "0"},))(params)  # E: in_axes: the axis of argument 1['b'] is a str

# --- a number is mapped
vmap(lambda a, n: a * n)(x, 3)  # E: in_axes: argument 2 is an int: there is no axis to map over

# --- a float is mapped
vmap(lambda a, n: a * n)(x, 3.0)  # E: in_axes: argument 2 is a float: there is no axis to map over

# --- a bool is mapped
vmap(lambda a, n: a * n)(x, True)  # E: in_axes: argument 2 is a bool: there is no axis to map over

# --- a string is mapped
vmap(lambda a, n: a)(x, "sum")  # E: in_axes: argument 2 is a str: there is no axis to map over

# --- a function is mapped
vmap(lambda a, f: a)(x, double)  # E: in_axes: argument 2 is a function: there is no axis to map over


# --- an object is mapped
class Config:
    scale = 2.0


vmap(lambda a, c: a * c.scale)(x, Config())  # E: in_axes: argument 2 is a Config

# --- a number in a tuple is mapped
vmap(lambda t: t[0] * t[1])((x, 3))  # E: in_axes: argument 1[1] is an int: there is no axis to map over

# --- a number in a list is mapped
vmap(lambda v: v[0])([1, 2])  # E: in_axes: each item of argument 1 is an int


# --- a number of a named function is mapped
def scale(a: Vec[S], by: float) -> Vec[S]:
    return a * by


vmap(scale)(x, 2.0)  # E: in_axes: argument 2 is a float: there is no axis to map over

# --- a number of a named function is mapped, stored
vmap(scale)  # E: in_axes: argument 2 is a float: there is no axis to map over

# --- a number by its name is mapped
vmap(lambda a, n: a * n)(x, n=2)  # E: in_axes: argument `n` is an int: there is no axis to map over


# --- a NamedTuple of tensors that is not generic in the row
class Plain(NamedTuple):
    w: Tensor
    b: Tensor


vmap(lambda p: p.w + p.b)(Plain(x, y))  # E: a class without brands


# --- an argument that is not mapped is passed as mapped
def shared(w: Tensor, a: Vec[S]) -> Vec[S]:
    return (w * a).sum()


vmap(shared)(x, y)  # E: vmap: argument 1 is mapped, but shared wants "Tensor" for one example

# --- a mapped argument is passed as not mapped
vmap(shared, in_axes=(0, None))(x, y)  # E: vmap: argument 1 is mapped, but shared wants "Tensor" for one example

# --- out_axes=None for a mapped result
vmap(double, out_axes=None)(x)  # E: out_axes: None needs a result

# --- out_axes=None for a mapped result, in a lambda
vmap(lambda a: a * 2, out_axes=None)(x)  # E: out_axes: None needs a result

# --- out_axes=None for a mapped result, stored
vmap(double, out_axes=None)  # E: out_axes: None needs a result


# --- out_axes=None for a mapped result, decorated
@vmap(out_axes=None)  # E: out_axes: None needs a result
def out_decorated(a: Vec[S]) -> Vec[S]:
    return a


# --- out_axes=None for one of two results
vmap(lambda a: (a, a + y), out_axes=(0, None))(x)  # E: out_axes: None needs a result

# --- fewer out_axes than results
vmap(lambda a: (a, a), out_axes=(0,))(x)  # E: out_axes: (0,) has 1 axis, but the result has 2 items

# --- more out_axes than results
vmap(lambda a: (a, a), out_axes=(0, 0, 0))(x)  # E: out_axes: (0, 0, 0) has 3 axes, but the result has 2 items

# --- out_axes of a tuple for one tensor
vmap(double, out_axes=(0, 0))(x)  # E: out_axes: (0, 0) is a tuple of axes, but the result is one tensor

# --- out_axes of a dict for one tensor
vmap(double, out_axes={"k": 0})(x)  # E: out_axes: {"k": 0} is a dict of axes, but the result is one tensor

# --- a string in out_axes
vmap(lambda a: (a, a), out_axes=(0, "0"))(x)  # E: out_axes: the axis of the result[1] is a str: an axis is an int or No

# --- axes of an inner vmap
vmap(lambda a: vmap(lambda b: a + b, in_axes=(0, 0))(y))(x)  # E: in_axes: 2 axes for 1 positional argument

# --- axes of vmap of vmap
vmap(vmap(add, in_axes=(None, 0, 0)), in_axes=(0, None))(x, y)  # E: in_axes: 3 axes for 2 positional arguments


# --- a dict of axes for a tuple
vmap(lambda t: t[0], in_axes=({"w": 0},))((x, y))  # E: in_axes:


# --- a tuple of axes for a dict
vmap(lambda p: p["w"], in_axes=((0, 0),))(params)  # E: in_axes:


# --- out_axes=None for the only item of a dict
vmap(lambda a: {"k": a}, out_axes={"k": None})(x)  # E: out_axes: None needs a result
