"""Random calls of the functions that the plugin knows, with too few, too many and strange arguments: it never fails.

    python -m tests.fuzz.calls --programs 2000 --seed 7

Half of the calls are results of a library. They are called again in another file, where mypy has no bodies for them.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator

from tests.fuzz.classes import failing, run_all

HEAD = """from __future__ import annotations
import copy, dataclasses, functools, itertools, logging, math, operator
from dataclasses import dataclass
from functools import partial, reduce, singledispatch
from typing import Any, NamedTuple, cast
from tinygrad import Tensor
from branded import *
from branded import linalg, nn, optim, random, tree
class U(Brand): ...
@dataclass
class B:
    x: Tensor
    def step(self, *a: Tensor, **k: Tensor) -> Tensor: return self.x
class N(NamedTuple):
    x: Tensor
    y: Tensor
class Net:
    def __call__(self, x: Tensor, *a: Tensor) -> Tensor: return x
net = Net()
def f(x: Tensor, y: Tensor | None = None) -> Tensor: return x
X = Y = Tensor.ones(3)
P = {"w": Tensor.ones(3)}
K: dict[str, Any] = {}
L = [X, X]
"""
FUNCTIONS = """
    vmap vmap(f) vmap(lambda:0) vmap(lambda@x:x) vmap(lambda@p,x:p*x) vmap(lambda@p,x:p['w']*x) vmap(lambda@*a:a[0])
    vmap(lambda@**k:k['x']) vmap(in_axes=0) grad grad(f) grad(lambda@p,x:(p*x).sum()) value_and_grad
    jit jit(f) jit(lambda@x:x) jit(lambda@x,n:x*n,static_argnums=1) partial partial(f) partial(vmap) lift lift(f) brand
    as_axes psum pmean all_gather all_to_all ppermute axis_index scan while_loop fori_loop cond switch
    tree.map tree.leaves tree.flatten tree.unflatten isinstance len float bool max min sum sorted zip map filter any
    iter next format print str getattr setattr operator.add operator.truth reduce math.prod math.sqrt X.item X.sum
    X.reshape X.flatten X.gather X.where X.cat X.__getitem__ X.__setitem__ X.numpy Tensor Tensor.zeros Tensor.cat
    Tensor.einsum linalg.solve linalg.norm optim.minimize optim.adam custom_jvp custom_vjp custom_vjp(f) jvp vjp hessian
    checkpoint P.get P.items L.append L.index L.sort "{}".format functools.cache functools.wraps singledispatch(f)
    copy.copy dataclasses.replace B B(X).step N N._make N(X,X)._replace net Net random.uniform random.split
    itertools.accumulate cast register_pytree_node functional_call logging.info slice
"""
ARGUMENTS = """
    f X Y P L 1 0 2.0 None 'a' 'ij,jk->ik' U () (0,1) [] {} *L *P **P **K *() **{} *[X,X] lambda:0 lambda@x:x
    lambda@x,y:x+y lambda@*a:a[0] lambda@a,/,*,b=1:a B B(X) net axis=0 axis=-1 in_axes=0 in_axes=(0,None) in_axes=()
    in_axes={} out_axes=0 axis_name=U axis_name='a' x=X f=f argnums=() argnums=(0,5) has_aux=True key=len default=X int
    (X,X) {'w':X} -1 ... f(X) vmap(f) slice(0,1) static_argnums=(7,) length=3
"""
AROUND = (*["{}"] * 5, "vmap(lambda X: {})(X)", "vmap(lambda X, *L, **P: {})(X)", "jit(lambda X: {})(X)")
AROUND += ("scan(lambda c, x: (c, {}), Y, X)", "grad(lambda X: {})(X)")
AGAIN = ("{}", "{}()", "{}(X)", "{}(P, X)", "{}(*L, **P)", "vmap({})(X)", "vmap(lambda X: {}(X))(X)", "partial({}, X)")


def call(random: random.Random) -> str:
    """Return a call that Python can compile."""
    while True:
        given = random.choices(ARGUMENTS.split(), k=random.choice((0, 0, 1, 1, 2, 2, 3, 4)))
        given.sort(key=lambda a: re.match(r"\*\*|\w+=", a) is not None)
        called = random.choice(AROUND).format(
            f"{random.choice(FUNCTIONS.split())}({', '.join(given)})".replace("@", " ")
        )
        try:
            compile(called, "<call>", "eval")
        except SyntaxError:  # a keyword that is repeated
            continue
        return called


def program(random: random.Random, name: str) -> tuple[str, str]:
    """Return statements of the library and of the program that imports it."""
    body = f"def of_{name}(X: Tensor, *L: Tensor, **P: Tensor) -> Any:\n    return {call(random)}\n"
    used = f"{call(random)}\n{random.choice(AGAIN).format(name)}\nvmap(of_{name})(X)\n"
    return f"{name} = {call(random)}\n{body}", used + body.replace("of_", "in_") + f"vmap(in_{name})(X)\n"


def wrong(count: int, seed: int) -> Iterator[str]:
    """Find the calls for which mypy crashes or the plugin fails."""
    return failing(program, (HEAD, f"{HEAD}from lib import *\n"), count, seed)


if __name__ == "__main__":
    sys.exit(run_all("calls", __doc__, wrong))
