"""`make_expr`: trace a function into a typed program at three levels."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, cast

from tinygrad import Tensor

from branded import tree
from branded.control_flow import effects
from branded.core.axis_names import axes_text
from branded.core.boundary import batch_values
from branded.core.entry import entry
from branded.core.tracing.dry_run import writes_undone
from branded.core.tracing.effect_tokens import body
from branded.core.validation.arguments import ChosenArguments, check_function
from branded.errors import OptionError, ProgramError, ProgramTypeError
from branded.errors.calls import check_calls
from branded.graph.rows import check_live, is_differentiated, row_of
from branded.graph.scope import Scope
from branded.graph.uops import tensor
from branded.ir import build
from branded.ir.draft import type_of
from branded.ir.evaluate import Evaluation, evaluation, on_one_device
from branded.ir.html import Shown, html
from branded.ir.operators import run_recorded
from branded.ir.parser import read
from branded.ir.terms import BrandName, Eqn, Printer, Program, Rule, Var
from branded.ir.trace import trace_calls

Which = Literal["operations", "primitives", "batched"]


class _Levels(NamedTuple):
    """The state shared by all levels of an Expr."""

    programs: dict[str, Program]
    consts: dict[str, list[Tensor]]
    links: dict[str, list[list[int]]]
    outer: dict[BrandName, Scope]
    """The brands that were open around it."""
    arguments: tuple[tuple[Any, ...], dict[str, Any]]
    fixed: dict[str, Any]
    """The leaves of the arguments that are constants of the program, such as static arguments, by path."""
    result: Any
    does: bool
    """Whether the last result is the token of its effects."""
    axes: list[str]
    """The axes that `as_axes` declared for each argument that is a variable; empty for axes without names."""
    has_writes: bool
    """Whether the function writes into tensors from outside."""


class Expr:
    """The typed program of a function: `str` prints it, a call evaluates it, `==` compares it up to names.

    Attributes:
        level: The level of this program: `"operations"`, `"primitives"` or `"batched"`.
    """

    def __init__(self, levels: _Levels, level: Which = "operations") -> None:
        self._levels, self.level = levels, level

    @property
    def program(self) -> Program:
        """The `Program`: constvars, invars, equations, results."""
        return self._levels.programs[self.level]

    @property
    def consts(self) -> list[Tensor]:
        """The values of the constvars; a random sample is computed once."""
        tensors = self._levels.consts[self.level]
        if plain := [c for c in tensors if not row_of(c.uop) and not is_differentiated(c.uop)]:
            Tensor.realize(*plain)
        return list(tensors)

    def at(self, level: Which) -> Expr:
        """Return the function at another level: the user's operations, tinygrad's primitives, or the batched graph."""
        if level not in build.LEVELS:
            raise OptionError(f"at: {tree.short_repr(level)} is not a level", fix=", ".join(map(repr, build.LEVELS)))
        return Expr(self._levels, level)

    def links(self) -> list[list[int]]:
        """Return, for each equation, the indices of the equations that it becomes one level below."""
        if not self.has_links:
            raise OptionError(f"links: there is no level below {self.level!r}")
        return [list(numbers) for numbers in self._levels.links[self.level]]

    def below(self) -> Expr:
        """Return the program one level below.

        Raises:
            OptionError: This is the lowest level.
        """
        if self.level == build.LEVELS[-1]:
            raise OptionError(f"below: there is no level below {self.level!r}", fix=repr(build.LEVELS[0]))
        return Expr(self._levels, cast(Which, build.LEVELS[build.LEVELS.index(self.level) + 1]))

    @property
    def has_links(self) -> bool:
        """Whether the level below is known line by line."""
        return self.level in self._levels.links

    def names(self) -> dict[Var, str]:
        """Return the name of each variable in the printed program."""
        printer = Printer()
        printer.program(self.program)
        return printer.names

    def lines(self) -> list[str]:
        """Return each equation as text."""
        printer = Printer(self.names())
        return ["\n".join(printer.eqn(e)) for e in self.program.eqns]

    def from_text(self, source: str) -> Expr:
        """Parse a program for the arguments and constants of this one: `e.from_text(str(e)) == e`."""
        program = read(source)
        p = self.program
        for api_name, now, new in (("constvars", p.constvars, program.constvars), ("invars", p.invars, program.invars)):
            if [v.type for v in now] != [v.type for v in new]:
                raise ProgramError(
                    f"from_text: the {api_name} differ from this program's",
                    ("here", " ".join(str(v.type) for v in now) or "none"),
                    ("text", " ".join(str(v.type) for v in new) or "none"),
                )
        if len(p.outs) != len(program.outs):
            raise ProgramError(
                f"from_text: {len(program.outs)} results, and this program has {len(p.outs)}",
                fix="return the same number of results",
            )
        _take_rules(program, p)
        levels = self._levels._replace(programs={**self._levels.programs, self.level: program}, links={})
        return Expr(levels, self.level)

    def __str__(self) -> str:
        printer = Printer()
        head, *rest = printer.program(self.program)
        told = zip(self.program.invars, self._levels.axes, strict=True)
        if named := [f"{printer.name(v)}: Axes[{axes}]" for v, axes in told if axes]:
            head = f"{head}  # {'; '.join(named)}"
        return "\n".join([head, *rest])

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Expr):
            return NotImplemented
        if (self.level, self._canonical()) != (other.level, other._canonical()):
            return False
        trees = [tree.treedef_key((e._levels.arguments, e._levels.result)) for e in (self, other)]
        pairs = zip(self.consts, other.consts, strict=True)
        return trees[0] == trees[1] and all(a.uop is b.uop or _values(a) == _values(b) for a, b in pairs)

    def __hash__(self) -> int:
        return hash((self.level, self._canonical()))

    def _canonical(self) -> str:
        """Return the text with brands numbered in order, and without function names."""
        order: dict[str, str] = {}

        def number(m: re.Match[str]) -> str:
            return m[0] if m[1] is None else f"{order.setdefault(m[1], f'brand{len(order)}')}:{m[2]}"

        named = re.sub(r"^ *name='.*'\n", "", str(self.program), flags=re.MULTILINE)
        return re.sub(r"'(?:[^'\\]|\\.)*'|\b([^\W\d]\w*):(\d+)", number, named)

    def _repr_html_(self) -> str:
        levels = [self]
        while levels[-1].has_links:
            levels.append(levels[-1].below())
        return html(self.level, [Shown(str(e), e.lines(), e.links() if e.has_links else None) for e in levels])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Evaluate the program on other arguments of the same types."""
        outs = Evaluation(self._levels.outer).run(self.program, self.consts, self._argument_leaves(args, kwargs))
        outs = on_one_device(self.program, outs) if self.level == "batched" else outs
        if self._levels.does:
            outs = _run_effects(outs)
        return tree.rebuild(self._levels.result, iter(outs))

    def values(self, *args: Any, **kwargs: Any) -> list[list[Tensor]]:
        """Return the results of each equation for all examples, with one leading axis for each brand of the type.

        The values are not computed until they are read.
        """
        p, out = self.program, []
        run = evaluation(p, self._levels.outer)
        with run.reopen_brands():
            env = dict(
                zip((*p.constvars, *p.invars), (*self.consts, *self._argument_leaves(args, kwargs)), strict=True)
            )
            for eqn in run.steps(p, env):
                out.append([tensor(x.uop) for x in batch_values([env[v].uop for v in eqn.results])])
        return out

    def _argument_leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Tensor]:
        takes = self._levels.arguments
        if tree.treedef_key((args, kwargs)) != tree.treedef_key(takes):
            raise ProgramTypeError(
                "program: the arguments have another structure than its parameters",
                ("takes", _outline(*takes)),
                ("given", _outline(args, kwargs)),
                fix="pass arguments with the structure of its example arguments",
            )
        leaves = dict(zip(tree.argument_paths(args, kwargs), tree.leaves((args, kwargs)), strict=True))
        tensors = []
        variables = iter(self.program.invars)
        for path in tree.argument_paths(*takes):
            x = leaves[path]
            if path in self._levels.fixed:
                if not _is_same(x, self._levels.fixed[path]):
                    raise ProgramTypeError(
                        f"program: {path} is part of the program",
                        ("made", tree.describe(self._levels.fixed[path])),
                        ("given", tree.describe(x)),
                        fix="call make_expr with this argument",
                    )
                continue
            t, v = tree.as_tensor(x), next(variables)
            arg_type = None if t is None else type_of(t.uop)
            if t is None or arg_type is None or arg_type[:2] != v.type[:2]:  # the brands may differ
                raise ProgramTypeError(
                    f"program: {path} has another type",
                    ("takes", str(v.type)),
                    ("given", tree.describe(x) if arg_type is None else str(arg_type)),
                    fix="call make_expr with this argument: a program is for one type",
                )
            tensors.append(t)
        return tensors


def _run_effects(outs: list[Tensor]) -> list[Tensor]:
    """Return the results without the token, after running all effects.

    The results are computed together with the effects, which may use them.
    """
    us = [x.uop for x in outs]
    if effects.reach_a_leaf(us):
        effects.perform_once(body(), us[-1:])
        return outs[:-1]
    return [tensor(u) for u in effects.perform_once(body(), us)]


def _take_rules(program: Program, origin: Program) -> None:
    """Restore rules that text cannot express, from the rules with the same names in the original program.

    If several rules share a name, as two callbacks with equal names do, they are restored only in unchanged text.
    """
    infos_of: dict[tuple[str, str, Rule], list[Any]] = {}
    for e, key, rule in _rules(origin):
        infos_of.setdefault((e.op, key, rule), []).append(rule.info)
    as_written = str(program) == str(origin)
    for e, key, rule in [*_rules(program)]:
        infos = infos_of.get((e.op, key, rule), [])
        if as_written:
            e.params[key] = Rule(rule.name, infos.pop(0))
        elif infos and all(i == infos[0] for i in infos):
            e.params[key] = Rule(rule.name, infos[0])


def _rules(program: Program) -> Iterator[tuple[Eqn, str, Rule]]:
    for e in program.eqns:
        for key, value in e.params.items():
            if isinstance(value, Rule):
                yield e, key, value
        for inner in e.programs():
            yield from _rules(inner)


def _outline(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    return ", ".join([*map(tree.outline, args), *(f"{k}={tree.outline(x)}" for k, x in kwargs.items())]) or "nothing"


def _is_same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and bool(a == b))


def _values(x: Tensor) -> Any:
    """Return a comparable value, including for NaN."""
    return (x.shape, x.dtype, None if row_of(x.uop) else repr(x.tolist()))


@check_calls
def make_expr(f: Callable[..., Any], *, static_argnums: int | Sequence[int] = ()) -> Callable[..., Expr]:
    """Trace `f` into a typed program: `make_expr(f)(*args)` is its program for arguments of these types.

    The function runs once, on arguments that have types but no values.  Its calls become equations, in order, and each
    binder has its brand type.  Trees are flattened, captured tensors become constvars, and numbers are literals.  The
    program of a scan, a branch or a jit is in the brackets of its equation.  A vmap becomes the equations `enter` and
    `leave` of its brand.  An effect, such as `debug.print`, is an equation too.  The last result of the program is then
    a token for the completed effects; a call of the `Expr` does not return it.

    Args:
        f: A function of trees of tensors and numbers.
        static_argnums: The positions of arguments that are not variables of the program.

    Returns:
        A function of the arguments of `f` that returns an `Expr`: print it, call it, or compare it.
        `.at("primitives")` is the program in tinygrad's operations per example, and `.at("batched")` the program with
        the brands closed.

    Raises:
        CallError: `f` is not a function, or does not take the arguments.
        OptionError: `static_argnums` are not positions of arguments.
        ReadError: `f` reads a value, but values are not known while it is traced.
        ProgramTypeError: A result of `f` is not a tensor or number.

    Example:
        >>> from branded import make_expr, vmap
        >>> from tinygrad import Tensor
        >>> def outer(x, y): return vmap(lambda a: vmap(lambda b: a + b)(y))(x)
        >>> expr = make_expr(outer)(Tensor([1.0, 2.0, 3.0]), Tensor([4.0, 6.0]))
        >>> print(expr)
        { lambda ; a:f32[3] b:f32[2] . let
            c:Vec[a:3, f32[]] = enter[brand=a:3, axis=0] a
            d:Vec[b:2, f32[]] = enter[brand=b:2, axis=0] b
            e:Vec[a:3 | b:2, f32[]] = add c d
            f:Vec[a:3, f32[2]] = leave[brand=b:2, axis=0] e
            g:f32[3, 2] = leave[brand=a:3, axis=0] f
          in (g,) }
        >>> expr(Tensor([0.0, 0.0, 1.0]), Tensor([5.0, 7.0])).tolist()
        [[5.0, 7.0], [5.0, 7.0], [6.0, 8.0]]

    Source: `jax.make_jaxpr` and the language of jaxprs.
    """

    return make_expr_for("make_expr", f, static_argnums)


def make_expr_for(
    api_name: str, f: Callable[..., Any], static_argnums: int | Sequence[int] = (), *, with_writes: bool = False
) -> Callable[..., Expr]:
    """Return `make_expr(f)`, with errors that name the API function `api_name`.

    `with_writes` allows writes into tensors from outside, which keep their values: the program returns `(results,
    new_values)`.
    """
    check_function(f, api_name, f"{api_name}(f)(x)")
    static = ChosenArguments.of(api_name, "static", static_argnums)

    @entry
    @functools.wraps(f)
    def made(*args: Any, **kwargs: Any) -> Expr:
        fixed = static.arguments(f, len(args))
        if with_writes:
            return writes_undone(lambda: _make(api_name, f, args, kwargs, *fixed, with_writes=True))
        return _make(api_name, f, args, kwargs, *fixed)

    return cast(Callable[..., Expr], made)


def _make(
    api_name: str,
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    nums: frozenset[int],
    by_name: frozenset[str],
    *,
    with_writes: bool = False,
) -> Expr:
    """Trace the function on arguments without values, and build its program at each level.

    make_expr(f, static_argnums=1)(x, 2)     leaves [x, 2]    values [x, None]    fixed {"argument 2": 2}
    """
    static = [i in nums for i, a in enumerate(args) for _ in tree.leaves(a)]
    static += [k in by_name for k, a in kwargs.items() for _ in tree.leaves(a)]
    leaves = tree.leaves((args, kwargs))
    values = [None if fixed else tree.as_tensor(x) for x, fixed in zip(leaves, static, strict=True)]
    for x in values:
        if x is not None:
            check_live(x.uop, api_name)
    did = run_recorded(lambda: trace_calls(api_name, f, args, kwargs, leaves, values, with_writes=with_writes))
    levels = build.levels(did.frame, did.places, [x.uop for x in did.results], did.since)
    programs = {k: w.program for k, w in levels.written.items()}
    tensors = {u: tensor(u) for w in levels.written.values() for u in w.consts}
    consts = {k: [tensors[u] for u in w.consts] for k, w in levels.written.items()}
    fixed = {p: x for p, x, v in zip(tree.argument_paths(args, kwargs), leaves, values, strict=True) if v is None}
    axes = [axes_text(x) for x, v in zip(leaves, values, strict=True) if v is not None]
    return Expr(
        _Levels(
            programs,
            consts,
            levels.links,
            levels.outer,
            (args, kwargs),
            fixed,
            did.out,
            did.has_token,
            axes,
            did.has_writes,
        )
    )
