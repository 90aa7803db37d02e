"""A cache of tuning choices in memory and on disk, whose keys have the kernel and all facts that affect its speed.

The entries are in tinygrad's database, next to the compiled programs and with the same size limit.  All processes share
them.
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

from tinygrad.uop.ops import UOp

from branded.backends.cpu.autotune.space import RULE, Options
from branded.backends.cpu.runtime import cores
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.private_api import Opt, OptOps
from branded.tinygrad_compat.speed import program_cache

TABLE = "branded_tuned"
MOST = 4096
"""The maximum number of choices in memory."""


class Choice(NamedTuple):
    """The chosen variant of a kernel, with its time and the time of the default."""

    kernel: str
    """tinygrad's name for the kernel in its default variant."""
    form: str
    options: Options | None
    """The tinygrad options to apply; None for the default rule."""
    seconds: float
    by_rule: float
    tried: int
    """The number of benchmarked variants; 0 if the kernel was not worth tuning in the programs that contained it."""
    at_first: float
    """The default variant's first measured time, for the kernel's share of a program.

    It never changes; otherwise another process would select other kernels for tuning.
    """


_known: dict[str, Choice] = {}


def key(kernel: UOp, renderer: Any, level: str) -> str:
    """Return the cache key of a choice: the kernel's graph, the options, the compiler and the machine."""
    parts = private_api.to_program_key(kernel, renderer), program_cache.made_by(), cores.count(), level
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def find(name: str) -> Choice | None:
    if (choice := _known.get(name)) is None and program_cache.is_kept():
        choice = _parse_choice(program_cache.load(TABLE, name))
        if choice is not None:
            _remember(name, choice)
    return choice


def keep(name: str, choice: Choice) -> None:
    _remember(name, choice)
    if program_cache.is_kept():
        private_api.helpers.diskcache_put(TABLE, name, _serialize_choice(choice))
        program_cache.count()


def _remember(name: str, choice: Choice) -> None:
    _known[name] = choice
    while len(_known) > MOST:
        del _known[next(iter(_known))]


def _serialize_choice(choice: Choice) -> tuple[Any, ...]:
    """Return the choice as plain values, which any version can read."""
    options = choice.options
    plain = None if options is None else tuple((o.op.name, o.axis, o.arg) for o in options)
    return (*choice[:2], plain, *choice[3:])


def _parse_choice(x: Any) -> Choice | None:
    """Return the choice, or None for a missing or corrupt entry, which is benchmarked again."""
    try:
        kernel, form, plain, *times, tried, at_first = x
        seconds, by_rule = map(float, times)
        options = None if plain is None else tuple(Opt(OptOps[op], axis, arg) for op, axis, arg in plain)
        return Choice(str(kernel), str(form), options, seconds, by_rule, int(tried), float(at_first))
    except (TypeError, ValueError, KeyError):
        return None


def by_rule(kernel: str, seconds: float) -> Choice:
    return Choice(kernel, RULE, None, seconds, seconds, 0, seconds)
