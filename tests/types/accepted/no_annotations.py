"""A file that annotates no tensor: the plugin treats its displays and `in_axes` as in other files."""

from tinygrad import Tensor

from branded import vmap
from tests.types.other.tensors import Body, Place, pull, weight

X = Tensor([[1.0, 2.0], [3.0, 4.0]])
w = Tensor([1.0, 2.0])

# --- a dict and a list of mapped functions of different types
functions = {"double": vmap(lambda x: x * 2), "positive": vmap(Tensor.relu)}
functions["double"](functions["positive"](X)).tolist()
[f(X).tolist() for f in [vmap(Tensor.relu), vmap(lambda x: x.sum()), Tensor.sum]]

# --- displays of values with different brands
listed = vmap(lambda x: vmap(lambda z: [x, x * z])(w))(X)
chosen = vmap(lambda x: vmap(lambda z: {"a": x, "b": z * x}["a"] * z)(w))(X)
looped = vmap(lambda x: vmap(lambda z: [p * 2 for p in [x, z]])(w))(X)
listed[0].tolist()
chosen.tolist()
looped[1].tolist()

# --- a NamedTuple of axes
vmap(lambda b: b.place * b.mass, in_axes=(Body(None, 0),))(Body(X[0], w))
vmap(lambda b: b.place * b.mass, in_axes=(Body(0, None),))(Body(X, w[0]))

# --- a dict that is a TypedDict of another file
vmap(lambda p: pull(p, w), in_axes=({"at": 0, "drag": None},))({"at": X, "drag": w[0]})
vmap(lambda p: pull({"at": p["at"] + 1, "drag": p["drag"]}, w))({"at": X, "drag": w})
vmap(lambda at: pull(Place(at=at, drag=w[0]), w))(X)
vmap(lambda at: weight(Place(at=at, drag=at.sum()))["drag"])(X).tolist()
