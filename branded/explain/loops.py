"""The equivalent Python loop: of one step, and of a whole function.  It runs, and gives the same numbers.

A brand is a `for`; what a value is for one example stands in its body.  The loop of one step indexes each value by the
brands of its row, as in `e[x, y] = c[x] + d[y]`.  The loop of a function is nested as its vmaps are, so that a name in
it is the value of one example, as it is in the function itself; where examples exchange values (`psum`), which no
single pass can do, the loops of its steps stand one after the other.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from branded.explain.calls import NoTextError, call, empty, number, write
from branded.loops.primitive import Args, cut
from branded.program.terms import Atom, BrandName, Eqn, Literal, Program, Type, Var
from branded.transforms.named import COLLECTIVES

INDENT = "    "
_CALLED = {"Tensor", "float", "functions", "linalg", "list", "random", "range", "reversed", "sum", "tuple"}
"""What the loops call by name."""
_STEP = re.compile(r"step\d*")
_REDUCTIONS = {"pmean": "mean", "psum": "sum", "pmax": "max", "pmin": "min"}


def loop_of_step(e: Eqn, names: Mapping[Var, str]) -> str | None:
    """The loop of one equation, over values that are indexed by the brands of their rows.

    Args:
        e: The equation.
        names: The names of the variables of its program.

    Returns:
        Python, in which the operands and the memory for the results are given; None where there is none to write.
    """
    try:
        return "\n".join(_Writer(names).step(e))
    except NoTextError:
        return None


def loop_of_function(name: str, program: Program, names: Mapping[Var, str], parameters: Sequence[str]) -> str | None:
    """A whole program as a function of loops.

    Args:
        name: What the function is called.
        program: The operations of the function.
        names: The names of its variables.
        parameters: The parameters of the function, one for each variable that the program takes.

    Returns:
        Python, which needs `Tensor`, and `random`, `linalg` and `functions` of `branded`; the constants of the program
        are parameters behind its own.  None where an operation has no Python.
    """
    given = dict(zip((*program.invars, *program.constvars), parameters, strict=True))
    try:
        try:
            lines = _Writer(names, given).nested(program.eqns)
        except _ExchangeError:
            lines = _Writer(names, given).one_by_one(program.eqns)
    except NoTextError:
        return None
    writer = _Writer(names, given)
    outs = [writer.atom(a) for a in program.outs]
    head = f"def {name}({', '.join(parameters)}):"
    return "\n".join([head, *(INDENT + line for line in [*lines, f"return {', '.join(outs)}"])])


class _ExchangeError(Exception):
    """Examples need the values of others before the loop over them is done."""


class _Writer:
    """Writes equations as Python.  `given` are texts for variables that stand for something else."""

    def __init__(self, names: Mapping[Var, str], given: Mapping[Var, str] | None = None) -> None:
        self._names, self._given = names, dict(given or {})
        self._inside: frozenset[BrandName] = frozenset()
        self._taken = {*names.values(), *self._given.values()}
        numbered = itertools.chain(["step"], (f"step{i}" for i in itertools.count(2)))
        self._fresh = (n for n in numbered if n not in self._taken)
        self._indices: dict[BrandName, str] = {}

    def index(self, b: BrandName) -> str:
        """The variable of a brand's loop; no value, no other loop and nothing that loops call may have its name."""
        if b not in self._indices:
            name = b.name
            while name in self._taken or name in _CALLED or _STEP.fullmatch(name):
                name += "_"
            self._taken.add(name)
            self._indices[b] = name
        return self._indices[b]

    @contextmanager
    def _first(self, brands: Sequence[BrandName]) -> Iterator[None]:
        """While the first example stands for all of these brands."""
        before, self._indices = self._indices, self._indices | dict.fromkeys(brands, "0")
        try:
            yield
        finally:
            self._indices = before

    def atom(self, a: Atom) -> str:
        return number(a) if isinstance(a, Literal) else self._given.get(a, self._names[a])

    # ---- one equation, over values of all examples ----

    def step(self, e: Eqn) -> list[str]:
        brands = list(dict.fromkeys(b for t in _types(e) for b in t.row))
        if isinstance(own := e.params.get("brand"), BrandName) and own not in brands:
            brands.append(own)
        result = e.results[0].type
        dropped = [b for b in brands if e.op not in ("enter", "leave") and b not in result.row]
        if e.op in (*_REDUCTIONS, "all_gather"):
            return self._exchange(e, dropped)
        if e.op == "ppermute" and len(_named(e)) == 1:
            return self._permutation(e, _named(e)[0])
        if e.op == "axis_index":
            return self._over(brands, [f"{self._entry(e.results[0])} = {self.index(result.row[0])}"])
        if e.op not in ("enter", "leave") and any(b in brands for b in _named(e)):
            raise NoTextError(e.op)
        if dropped and e.has_programs:
            raise NoTextError(e.op)
        if dropped:  # nothing but the shape of an operand is used
            with self._first(dropped):
                return self._over([b for b in brands if b not in dropped], self._body(e))
        with self._in(*brands):
            lines = self._body(e)
        return self._over(brands, lines)

    @contextmanager
    def _in(self, *brands: BrandName) -> Iterator[None]:
        """While the body of loops over these brands is written."""
        before, self._inside = self._inside, self._inside | {*brands}
        try:
            yield
        finally:
            self._inside = before

    def _over(self, brands: Sequence[BrandName], lines: list[str]) -> list[str]:
        for b in reversed(brands):
            lines = [f"for {self.index(b)} in range({b.size}):", *(INDENT + line for line in lines)]
        return lines

    def _body(self, e: Eqn) -> list[str]:
        given = [self._entry(a) for a in e.operands]
        targets = [self._entry(v) for v in e.results]
        if e.op == "enter":
            b, axis = e.params["brand"], e.params["axis"]
            return [f"{targets[0]} = {self._entry(e.operands[0], *[':'] * axis, self.index(b))}"]
        if e.op == "leave":
            b, axis = e.params["brand"], e.params["axis"]
            return [f"{self._entry(e.results[0], *[':'] * axis, self.index(b))} = {given[0]}"]
        if e.has_programs or e.op in ("setitem", "assign"):
            # what a loop or branch gives first goes to names of its own
            own = [t if "[" not in t else f"{self._names[v]}_" for t, v in zip(targets, e.results, strict=True)]
            last = [f"{t} = {o}" for t, o in zip(targets, own, strict=True) if t != o]
            return [*self.equation(e, given, own), *last]
        return [f"{', '.join(targets)} = {call(e, given)}"]

    def _entry(self, a: Atom, *more: str) -> str:
        row = a.type.row if isinstance(a, Var) else ()
        at = [*map(self.index, row), *more]
        return f"{self.atom(a)}[{', '.join(at)}]" if at else self.atom(a)

    def _exchange(self, e: Eqn, dropped: Sequence[BrandName]) -> list[str]:
        """A reduction over the examples of brands, or all of them side by side."""
        x = e.operands[0]
        row = x.type.row if isinstance(x, Var) else ()
        over = [b for b in _named(e) if isinstance(b, BrandName)] or dropped
        if not over or any(b not in row for b in over) or not isinstance(x, Var):
            raise NoTextError(e.op)
        at = [":" if b in over else self.index(b) for b in row]
        value = f"{self.atom(x)}[{', '.join(at)}]"
        if e.op == "all_gather" and (e.params.get("axis") or e.params.get("tiled") or len(over) > 1):
            raise NoTextError(e.op)
        if e.op != "all_gather":
            value = f"{value}.{_REDUCTIONS[e.op]}({tuple(range(len(over)))!r})"
        return self._over([b for b in row if b not in over], [f"{self._entry(e.results[0])} = {value}"])

    def _permutation(self, e: Eqn, b: BrandName) -> list[str]:
        """From example to example; one to which nothing comes gets zeros."""
        x, y, brands = e.operands[0], e.results[0], e.results[0].type.row
        there, here = f"{self.index(b)}_from", f"{self.index(b)}_to"

        def entry(a: Atom, which: str) -> str:
            row = a.type.row if isinstance(a, Var) else ()
            at = [which if c == b else self.index(c) for c in row]
            return f"{self.atom(a)}[{', '.join(at)}]" if at else self.atom(a)

        pairs = [tuple(p) for p in e.params["perm"]]
        moved = [f"for {there}, {here} in {pairs}:", f"{INDENT}{entry(y, here)} = {entry(x, there)}"]
        return [f"{self.atom(y)} = {self.atom(y)}.zeros_like()", *self._over([c for c in brands if c != b], moved)]

    def one_by_one(self, eqns: Sequence[Eqn]) -> list[str]:
        """The loops of the equations, one after the other, with the memory for what they give."""
        lines: list[str] = []
        for e in eqns:
            held = [v for v in e.results if v.type.row or e.op == "leave"]
            lines += [f"{self.atom(v)} = {empty(v.type, [b.size for b in v.type.row])}" for v in held]
            lines += self.step(e)
        return lines

    # ---- many equations, of one example ----

    def nested(self, eqns: Sequence[Eqn]) -> list[str]:
        """The equations in the loops of the brands that are not open yet: from the first mention to the last."""
        lines: list[str] = []
        i = 0
        while i < len(eqns):
            new = [b for b in _mentioned(eqns[i]) if b not in self._inside]
            if not new:
                lines += self._one(eqns[i])
                i += 1
                continue
            end, b = max((max(k for k, e in enumerate(eqns) if b in _mentioned(e)), b) for b in new)
            part = eqns[i : end + 1]
            self._check(b, part, eqns[end + 1 :])
            for e in part:
                if e.op == "leave" and e.params["brand"] == b:
                    lines.append(f"{self.atom(e.results[0])} = {empty(e.results[0].type)}")
            with self._in(b):
                lines += self._over([b], self.nested(part))
            i = end + 1
        return lines

    def _check(self, b: BrandName, part: Sequence[Eqn], rest: Sequence[Eqn]) -> None:
        """Is this the body of one loop: does no example need what another one gives?"""
        left: set[Atom] = set()
        for e in part:
            leaves = e.op == "leave" and e.params["brand"] == b
            within = e.has_programs and any(isinstance(a, Var) and b in a.type.row for a in e.operands)
            in_body = within and not all(b in v.type.row for v in e.results)
            if not left.isdisjoint(e.operands) or (e.op in COLLECTIVES and e.op != "axis_index") or in_body:
                raise _ExchangeError
            if leaves:
                left |= {*e.results}
        others = {c for e in part for c in _mentioned(e)} - {b, *self._inside}
        if any(c in others for e in rest for c in _mentioned(e)):
            raise _ExchangeError

    def _one(self, e: Eqn) -> list[str]:
        given, targets = [self.atom(a) for a in e.operands], [self.atom(v) for v in e.results]
        if e.op in ("enter", "leave"):
            at = ", ".join([*[":"] * e.params["axis"], self.index(e.params["brand"])])
            if e.op == "enter":
                return [f"{targets[0]} = {given[0]}[{at}]"]
            return [f"{targets[0]}[{at}] = {given[0]}"]
        if e.op == "axis_index":
            return [f"{targets[0]} = Tensor({self.index(e.results[0].type.row[0])})"]
        return self.equation(e, given, targets)

    def equation(self, e: Eqn, given: Sequence[str], targets: Sequence[str]) -> list[str]:
        """An equation on the values of one example."""
        if e.op in ("setitem", "assign"):
            return write(e, given, targets[0])
        if not e.has_programs:
            return [f"{', '.join(targets)} = {call(e, given)}"]
        n = e.params.get("consts", 0)
        kinds: dict[str, Callable[..., list[str]]] = {
            "cond": self._cond, "switch": self._switch, "scan": self._scan, "map": self._map, "jit": self._jit,
            "fori_loop": self._fori, "while_loop": self._while, "SCAN": self._scan_steps,
            "WHILE_LOOP": self._while_steps, "FUNCTION": self._body_of,
        }  # fmt: skip
        if e.op not in kinds:
            raise NoTextError(e.op)
        return kinds[e.op](e, given[:n], [_held(a, g) for a, g in zip(e.operands[n:], given[n:], strict=True)], targets)

    def block(self, program: Program, consts: Sequence[str], args: Sequence[str]) -> tuple[list[str], list[str]]:
        """A program on given values, and the texts of its results."""
        places = (*program.constvars, *program.invars)
        self._given |= dict(zip(places, (*consts, *args), strict=True))
        return self.nested(program.eqns), [self.atom(a) for a in program.outs]

    def _ending(self, program: Program, consts: Sequence[str], args: Sequence[str], to: Sequence[str]) -> list[str]:
        """A program whose results go to these names, all at once: a result may be what another name was."""
        lines, outs = self.block(program, consts, args)
        return [*lines, *_assigned(to, outs)]

    # ---- loops and branches ----

    def _cond(self, e: Eqn, consts: Sequence[str], given: Sequence[str], to: Sequence[str]) -> list[str]:
        test = _known(e.operands[len(consts)], given[0])
        yes, no = (self._ending(e.params[k], consts, given[1:], to) for k in ("true_fun", "false_fun"))
        return [f"if {test}:", *_indented(yes), "else:", *_indented(no)]

    def _switch(self, e: Eqn, consts: Sequence[str], given: Sequence[str], to: Sequence[str]) -> list[str]:
        which, branches = _known(e.operands[len(consts)], given[0]), e.params["branches"]
        lines: list[str] = []
        for i, branch in enumerate(branches):
            first, last = i == 0, i == len(branches) - 1
            test = f"{'if' if first else 'elif'} {which} {'<=' if first else '=='} {i}:"
            lines += ["else:" if last and not first else test]
            lines += _indented(self._ending(branch, consts, given[1:], to))
        return lines

    def _scan(self, e: Eqn, consts: Sequence[str], given: Sequence[str], to: Sequence[str]) -> list[str]:
        n = e.params["carries"]
        return self._scanned(e, e.params["f"], consts, cut(given, n, len(given) - n), to)

    def _scan_steps(self, e: Eqn, consts: Sequence[str], given: Sequence[str], to: Sequence[str]) -> list[str]:
        return self._scanned(e, e.params["body"], consts, cut(given, e.params["carries"], e.params["inputs"]), to)

    def _scanned(self, e: Eqn, body: Program, consts: Sequence[str], given: Args[str], to: Sequence[str]) -> list[str]:
        n, step, length = len(given.carries), next(self._fresh), e.params.get("length")
        if length is None:
            length = next(a.type.shape[0] for a in e.operands[len(consts) + n :] if isinstance(a, Var))
        lines = _assigned(to[:n], given.carries)
        lines += [f"{t} = {empty(v.type)}" for t, v in zip(to[n:], e.results[n:], strict=True)]
        steps = f"range({length})"
        lines.append(f"for {step} in {f'reversed({steps})' if e.params.get('reverse') else steps}:")
        slices = [f"{x}[{step}]" for x in given.inputs]
        into = [*to[:n], *(f"{t}[{step}]" for t in to[n:])]
        return [*lines, *_indented(self._ending(body, consts, [*to[:n], *slices, *given.fixed], into))]

    def _map(self, e: Eqn, consts: Sequence[str], given: Sequence[str], to: Sequence[str]) -> list[str]:
        length = next(a.type.shape[0] for a in e.operands[len(consts) :] if isinstance(a, Var))
        step = next(self._fresh)
        lines = [f"{t} = {empty(v.type)}" for t, v in zip(to, e.results, strict=True)]
        into, args = [f"{t}[{step}]" for t in to], [f"{x}[{step}]" for x in given]
        return [*lines, f"for {step} in range({length}):", *_indented(self._ending(e.params["f"], consts, args, into))]

    def _fori(self, e: Eqn, consts: Sequence[str], given: Sequence[str], to: Sequence[str]) -> list[str]:
        lower, upper = (_known(a, g) for a, g in zip(e.operands[len(consts) :], given[:2], strict=False))
        step, body = next(self._fresh), e.params["body_fun"]
        span = upper if lower == "0" else f"{lower}, {upper}"
        inner = self._ending(body, consts, [f"Tensor({step})", *to], to)
        return [*_assigned(to, given[2:]), f"for {step} in range({span}):", *_indented(inner)]

    def _while(self, e: Eqn, consts: Sequence[str], given: Sequence[str], to: Sequence[str]) -> list[str]:
        test, (go,) = self.block(e.params["cond_fun"], consts, to)
        body = self._ending(e.params["body_fun"], consts, to, to)
        return self._repeated(given, to, test, go, body)

    def _while_steps(self, e: Eqn, consts: Sequence[str], given: Sequence[str], to: Sequence[str]) -> list[str]:
        n = e.params["carries"]
        lines, outs = self.block(e.params["body"], consts, [*to[:n], *given[n:]])
        return self._repeated(given[:n], to, lines, outs[-1], _assigned(to, outs[:-1]))

    def _repeated(
        self, first: Sequence[str], to: Sequence[str], test: Sequence[str], go: str, body: Sequence[str]
    ) -> list[str]:
        stop = [f"if not {go}.item():", INDENT + "break"]
        return [*_assigned(to, first), "while True:", *_indented([*test, *stop, *body])]

    def _jit(self, e: Eqn, consts: Sequence[str], given: Sequence[str], to: Sequence[str]) -> list[str]:
        return self._ending(e.params["f"], consts, given, to)

    def _body_of(self, e: Eqn, consts: Sequence[str], given: Sequence[str], to: Sequence[str]) -> list[str]:
        return self._ending(e.params["body"], consts, given, to)


# ---- what equations mention ----


def _types(e: Eqn) -> Iterator[Type]:
    for a in (*e.results, *e.operands):
        if isinstance(a, Var):
            yield a.type


def _named(e: Eqn) -> list[BrandName]:
    """The brands that the parameters name."""
    found: list[BrandName] = []
    for v in e.params.values():
        for x in v if type(v) in (tuple, list) else (v,):
            if isinstance(x, BrandName):
                found.append(x)
    return found


def _mentioned(e: Eqn) -> list[BrandName]:
    return list(dict.fromkeys([*(b for t in _types(e) for b in t.row), *_named(e)]))


# ---- pieces of text ----


def _indented(lines: Sequence[str]) -> list[str]:
    return [INDENT + line for line in lines or ["pass"]]


def _assigned(to: Sequence[str], values: Sequence[str]) -> list[str]:
    pairs = [(t, v) for t, v in zip(to, values, strict=True) if t != v]
    return [f"{', '.join(t for t, _ in pairs)} = {', '.join(v for _, v in pairs)}"] if pairs else []


def _held(a: Atom, text: str) -> str:
    """A value that a loop or branch may give back as it is: a tensor, though it be a number of the program."""
    return f"Tensor({text})" if isinstance(a, Literal) and not text.startswith("Tensor(") else text


def _known(a: Atom, text: str) -> str:
    """A value that Python itself must know."""
    return repr(a.value) if isinstance(a, Literal) else f"{text}.item()"
