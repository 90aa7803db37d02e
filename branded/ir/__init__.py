"""The typed program of a function: `make_expr(f)(*args)` corresponds to `jax.make_jaxpr`."""

from branded.ir.expr import Expr as Expr
from branded.ir.expr import make_expr as make_expr
from branded.ir.expr import make_expr_for as make_expr_for
from branded.ir.parser import read as read
from branded.ir.terms import BrandName as BrandName
from branded.ir.terms import Eqn as Eqn
from branded.ir.terms import Literal as Literal
from branded.ir.terms import Program as Program
from branded.ir.terms import Type as Type
from branded.ir.terms import Var as Var
