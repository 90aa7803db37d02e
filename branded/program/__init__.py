"""The typed program of a function: `make_expr(f)(*args)`."""

from branded.program.expr import Expr as Expr
from branded.program.expr import make_expr as make_expr
from branded.program.reader import read as read
from branded.program.terms import BrandName as BrandName
from branded.program.terms import Eqn as Eqn
from branded.program.terms import Literal as Literal
from branded.program.terms import Program as Program
from branded.program.terms import Type as Type
from branded.program.terms import Var as Var
