"""Loops and branches as Python: the body of a `scan`, a `cond` or a `jit` in a nest of loops."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence

from branded.core.tracing.step import Args, split_arguments
from branded.explain.calls import NoTextError, empty
from branded.ir.terms import Atom, Eqn, Literal, Program, Var

INDENT = "    "


class Bodies:
    """A writer of equations that contain programs; `block` writes a program."""

    def __init__(self, fresh: Iterator[str]) -> None:
        self._fresh = fresh

    @abstractmethod
    def block(self, program: Program, consts: Sequence[str], args: Sequence[str]) -> tuple[list[str], list[str]]:
        """Write a program on given values, and return its lines and the texts of its results."""

    def with_programs(self, e: Eqn, args: Sequence[str], targets: Sequence[str]) -> list[str]:
        n = e.params.get("consts", 0)
        kinds: dict[str, Callable[..., list[str]]] = {
            "cond": self._cond, "switch": self._switch, "scan": self._scan, "map": self._map, "jit": self._jit,
            "fori_loop": self._fori, "while_loop": self._while, "SCAN": self._scan_steps,
            "WHILE_LOOP": self._while_steps, "FUNCTION": self._body_of,
        }  # fmt: skip
        if e.op not in kinds:
            raise NoTextError(e.op)
        return kinds[e.op](
            e, args[:n], [_as_tensor_text(a, g) for a, g in zip(e.operands[n:], args[n:], strict=True)], targets
        )

    def _ending(self, program: Program, consts: Sequence[str], args: Sequence[str], to: Sequence[str]) -> list[str]:
        """Write a program, and assign its results at the same time: a result may use the old value of another name."""
        lines, outs = self.block(program, consts, args)
        return [*lines, *_assignment(to, outs)]

    def _cond(self, e: Eqn, consts: Sequence[str], args: Sequence[str], to: Sequence[str]) -> list[str]:
        test = _python_value(e.operands[len(consts)], args[0])
        yes, no = (self._ending(e.params[k], consts, args[1:], to) for k in ("true_fun", "false_fun"))
        return [f"if {test}:", *_indent(yes), "else:", *_indent(no)]

    def _switch(self, e: Eqn, consts: Sequence[str], args: Sequence[str], to: Sequence[str]) -> list[str]:
        which, branches = _python_value(e.operands[len(consts)], args[0]), e.params["branches"]
        lines: list[str] = []
        for i, branch in enumerate(branches):
            first, last = i == 0, i == len(branches) - 1
            test = f"{'if' if first else 'elif'} {which} {'<=' if first else '=='} {i}:"
            lines += ["else:" if last and not first else test]
            lines += _indent(self._ending(branch, consts, args[1:], to))
        return lines

    def _scan(self, e: Eqn, consts: Sequence[str], args: Sequence[str], to: Sequence[str]) -> list[str]:
        n = e.params["carries"]
        return self._scanned(e, e.params["f"], consts, split_arguments(args, n, len(args) - n), to)

    def _scan_steps(self, e: Eqn, consts: Sequence[str], args: Sequence[str], to: Sequence[str]) -> list[str]:
        return self._scanned(
            e, e.params["body"], consts, split_arguments(args, e.params["carries"], e.params["inputs"]), to
        )

    def _scanned(self, e: Eqn, body: Program, consts: Sequence[str], args: Args[str], to: Sequence[str]) -> list[str]:
        n, step, length = len(args.carries), next(self._fresh), e.params.get("length")
        if length is None:
            length = next(a.type.shape[0] for a in e.operands[len(consts) + n :] if isinstance(a, Var))
        lines = _assignment(to[:n], args.carries)
        lines += [f"{t} = {empty(v.type)}" for t, v in zip(to[n:], e.results[n:], strict=True)]
        steps = f"range({length})"
        lines.append(f"for {step} in {f'reversed({steps})' if e.params.get('reverse') else steps}:")
        slices = [f"{x}[{step}]" for x in args.inputs]
        into = [*to[:n], *(f"{t}[{step}]" for t in to[n:])]
        return [*lines, *_indent(self._ending(body, consts, [*to[:n], *slices, *args.fixed], into))]

    def _map(self, e: Eqn, consts: Sequence[str], args: Sequence[str], to: Sequence[str]) -> list[str]:
        length = next(a.type.shape[0] for a in e.operands[len(consts) :] if isinstance(a, Var))
        step = next(self._fresh)
        lines = [f"{t} = {empty(v.type)}" for t, v in zip(to, e.results, strict=True)]
        into, entries = [f"{t}[{step}]" for t in to], [f"{x}[{step}]" for x in args]
        return [*lines, f"for {step} in range({length}):", *_indent(self._ending(e.params["f"], consts, entries, into))]

    def _fori(self, e: Eqn, consts: Sequence[str], args: Sequence[str], to: Sequence[str]) -> list[str]:
        lower, upper = (_python_value(a, g) for a, g in zip(e.operands[len(consts) :], args[:2], strict=False))
        step, body = next(self._fresh), e.params["body_fun"]
        span = upper if lower == "0" else f"{lower}, {upper}"
        inner = self._ending(body, consts, [f"Tensor({step})", *to], to)
        return [*_assignment(to, args[2:]), f"for {step} in range({span}):", *_indent(inner)]

    def _while(self, e: Eqn, consts: Sequence[str], args: Sequence[str], to: Sequence[str]) -> list[str]:
        test, (go,) = self.block(e.params["cond_fun"], consts, to)
        body = self._ending(e.params["body_fun"], consts, to, to)
        return self._repeated(args, to, test, go, body)

    def _while_steps(self, e: Eqn, consts: Sequence[str], args: Sequence[str], to: Sequence[str]) -> list[str]:
        n = e.params["carries"]
        lines, outs = self.block(e.params["body"], consts, [*to[:n], *args[n:]])
        return self._repeated(args[:n], to, lines, outs[-1], _assignment(to, outs[:-1]))

    def _repeated(
        self, first: Sequence[str], to: Sequence[str], test: Sequence[str], go: str, body: Sequence[str]
    ) -> list[str]:
        stop = [f"if not {go}.item():", INDENT + "break"]
        return [*_assignment(to, first), "while True:", *_indent([*test, *stop, *body])]

    def _jit(self, e: Eqn, consts: Sequence[str], args: Sequence[str], to: Sequence[str]) -> list[str]:
        return self._ending(e.params["f"], consts, args, to)

    def _body_of(self, e: Eqn, consts: Sequence[str], args: Sequence[str], to: Sequence[str]) -> list[str]:
        return self._ending(e.params["body"], consts, args, to)


def _indent(lines: Sequence[str]) -> list[str]:
    return [INDENT + line for line in lines or ["pass"]]


def _assignment(to: Sequence[str], values: Sequence[str]) -> list[str]:
    pairs = [(t, v) for t, v in zip(to, values, strict=True) if t != v]
    return [f"{', '.join(t for t, _ in pairs)} = {', '.join(v for _, v in pairs)}"] if pairs else []


def _as_tensor_text(a: Atom, text: str) -> str:
    """Return a value that a loop or branch may return unchanged, with a number converted to a tensor."""
    return f"Tensor({text})" if isinstance(a, Literal) and not text.startswith("Tensor(") else text


def _python_value(a: Atom, text: str) -> str:
    """Return a value that Python itself must know, such as a condition."""
    return repr(a.value) if isinstance(a, Literal) else f"{text}.item()"
