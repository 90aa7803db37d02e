"""Loops and branches as Python: the body of a `scan`, a `cond` or a `jit` in a nest of loops."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence

from branded.core.tracing.step import Args, split_arguments
from branded.explain.operation_text import NoTextError, empty
from branded.ir.terms import Atom, Eqn, Literal, Program, Var

INDENT = "    "


class Bodies:
    """Writes loops, branches and calls as Python; a subclass writes the programs inside them with `block`."""

    def __init__(self, fresh: Iterator[str]) -> None:
        self._fresh = fresh

    @abstractmethod
    def block(self, program: Program, consts: Sequence[str], args: Sequence[str]) -> tuple[list[str], list[str]]:
        """Write a program for given arguments; return its lines and the texts of its results."""

    def with_programs(self, e: Eqn, args: Sequence[str], targets: Sequence[str]) -> list[str]:
        n = e.params.get("consts", 0)
        kinds: dict[str, Callable[..., list[str]]] = {
            "cond": self._cond, "switch": self._switch, "scan": self._scan, "map": self._map, "jit": self._call,
            "fori_loop": self._fori, "while_loop": self._while, "SCAN": self._scan_steps,
            "WHILE_LOOP": self._while_steps, "FUNCTION": self._call,
        }  # fmt: skip
        if e.op not in kinds:
            raise NoTextError(e.op)
        return kinds[e.op](
            e, args[:n], [_as_tensor_text(a, g) for a, g in zip(e.operands[n:], args[n:], strict=True)], targets
        )

    def _write_and_assign(
        self, program: Program, consts: Sequence[str], args: Sequence[str], targets: Sequence[str]
    ) -> list[str]:
        """Write a program and one assignment of all results, because a result may use the old value of a target."""
        lines, outs = self.block(program, consts, args)
        return [*lines, *_assignment(targets, outs)]

    def _cond(self, e: Eqn, consts: Sequence[str], args: Sequence[str], targets: Sequence[str]) -> list[str]:
        test = _python_value(e.operands[len(consts)], args[0])
        yes, no = (self._write_and_assign(e.params[k], consts, args[1:], targets) for k in ("true_fun", "false_fun"))
        return [f"if {test}:", *_indent(yes), "else:", *_indent(no)]

    def _switch(self, e: Eqn, consts: Sequence[str], args: Sequence[str], targets: Sequence[str]) -> list[str]:
        index, branches = _python_value(e.operands[len(consts)], args[0]), e.params["branches"]
        lines: list[str] = []
        for i, branch in enumerate(branches):
            first, last = i == 0, i == len(branches) - 1
            test = f"{'if' if first else 'elif'} {index} {'<=' if first else '=='} {i}:"
            lines += ["else:" if last and not first else test]
            lines += _indent(self._write_and_assign(branch, consts, args[1:], targets))
        return lines

    def _scan(self, e: Eqn, consts: Sequence[str], args: Sequence[str], targets: Sequence[str]) -> list[str]:
        n = e.params["carries"]
        return self._write_scan(e, e.params["f"], consts, split_arguments(args, n, len(args) - n), targets)

    def _scan_steps(self, e: Eqn, consts: Sequence[str], args: Sequence[str], targets: Sequence[str]) -> list[str]:
        return self._write_scan(
            e, e.params["body"], consts, split_arguments(args, e.params["carries"], e.params["inputs"]), targets
        )

    def _write_scan(
        self, e: Eqn, body: Program, consts: Sequence[str], args: Args[str], targets: Sequence[str]
    ) -> list[str]:
        n, step, length = len(args.carries), next(self._fresh), e.params.get("length")
        if length is None:
            length = next(a.type.shape[0] for a in e.operands[len(consts) + n :] if isinstance(a, Var))
        lines = _assignment(targets[:n], args.carries)
        lines += [f"{t} = {empty(v.type)}" for t, v in zip(targets[n:], e.results[n:], strict=True)]
        steps = f"range({length})"
        lines.append(f"for {step} in {f'reversed({steps})' if e.params.get('reverse') else steps}:")
        slices = [f"{x}[{step}]" for x in args.inputs]
        body_targets = [*targets[:n], *(f"{t}[{step}]" for t in targets[n:])]
        return [
            *lines,
            *_indent(self._write_and_assign(body, consts, [*targets[:n], *slices, *args.fixed], body_targets)),
        ]

    def _map(self, e: Eqn, consts: Sequence[str], args: Sequence[str], targets: Sequence[str]) -> list[str]:
        length = next(a.type.shape[0] for a in e.operands[len(consts) :] if isinstance(a, Var))
        step = next(self._fresh)
        lines = [f"{t} = {empty(v.type)}" for t, v in zip(targets, e.results, strict=True)]
        body_targets, entries = [f"{t}[{step}]" for t in targets], [f"{x}[{step}]" for x in args]
        return [
            *lines,
            f"for {step} in range({length}):",
            *_indent(self._write_and_assign(e.params["f"], consts, entries, body_targets)),
        ]

    def _fori(self, e: Eqn, consts: Sequence[str], args: Sequence[str], targets: Sequence[str]) -> list[str]:
        lower, upper = (_python_value(a, g) for a, g in zip(e.operands[len(consts) :], args[:2], strict=False))
        step, body = next(self._fresh), e.params["body_fun"]
        span = upper if lower == "0" else f"{lower}, {upper}"
        inner = self._write_and_assign(body, consts, [f"Tensor({step})", *targets], targets)
        return [*_assignment(targets, args[2:]), f"for {step} in range({span}):", *_indent(inner)]

    def _while(self, e: Eqn, consts: Sequence[str], args: Sequence[str], targets: Sequence[str]) -> list[str]:
        test, (condition,) = self.block(e.params["cond_fun"], consts, targets)
        body = self._write_and_assign(e.params["body_fun"], consts, targets, targets)
        return self._while_true(args, targets, test, condition, body)

    def _while_steps(self, e: Eqn, consts: Sequence[str], args: Sequence[str], targets: Sequence[str]) -> list[str]:
        n = e.params["carries"]
        lines, outs = self.block(e.params["body"], consts, [*targets[:n], *args[n:]])
        return self._while_true(args[:n], targets, lines, outs[-1], _assignment(targets, outs[:-1]))

    def _while_true(
        self, first: Sequence[str], targets: Sequence[str], test: Sequence[str], condition: str, body: Sequence[str]
    ) -> list[str]:
        stop = [f"if not {condition}.item():", INDENT + "break"]
        return [*_assignment(targets, first), "while True:", *_indent([*test, *stop, *body])]

    def _call(self, e: Eqn, consts: Sequence[str], args: Sequence[str], targets: Sequence[str]) -> list[str]:
        (body,) = e.programs()
        return self._write_and_assign(body, consts, args, targets)


def _indent(lines: Sequence[str]) -> list[str]:
    return [INDENT + line for line in lines or ["pass"]]


def _assignment(targets: Sequence[str], values: Sequence[str]) -> list[str]:
    pairs = [(t, v) for t, v in zip(targets, values, strict=True) if t != v]
    return [f"{', '.join(t for t, _ in pairs)} = {', '.join(v for _, v in pairs)}"] if pairs else []


def _as_tensor_text(a: Atom, text: str) -> str:
    """Return the text of an operand, with a number converted to a tensor, because the body may return it unchanged."""
    return f"Tensor({text})" if isinstance(a, Literal) and not text.startswith("Tensor(") else text


def _python_value(a: Atom, text: str) -> str:
    """Return the text of a value as a Python number, for example for a condition: `x.item()`."""
    return repr(a.value) if isinstance(a, Literal) else f"{text}.item()"
