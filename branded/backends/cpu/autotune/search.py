"""Autotuning: select the fastest variant of each kernel of a program.

Each distinct kernel is tuned once: in its variants (`space`) and, if it is a matrix multiplication, both by BLAS and as
a kernel.  A kernel that takes a small share of its program's time keeps the default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from tinygrad import Device
from tinygrad.uop.ops import Ops, UOp

from branded.backends.cpu.autotune import bench, cache, space
from branded.backends.cpu.autotune.cache import Choice
from branded.backends.cpu.autotune.config import Now, Tuned, TuneLevel, state
from branded.backends.cpu.gemm import blas, match
from branded.backends.cpu.gemm.factors import exact
from branded.backends.cpu.renderer.loops import cpu_codegen
from branded.backends.cpu.runtime import cores, native
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.private_api import KernelInfo

LEAST, LEAST_IN_A_STEP = 2e-6, 4e-7
"""The minimum seconds for tuning a kernel; lower in the step of a loop, which runs often."""
SHARE = 0.02
"""The minimum share of the program's time for tuning a kernel."""
MARGIN = 0.1
"""The relative gain that another variant needs to replace the default."""
BY_BLAS, BY_KERNEL = "BLAS", "kernel"
LARGE = 1 << 16
"""The number of multiplications above which a matrix multiplication is left to BLAS."""


class _Work(NamedTuple):
    """A call to tune."""

    call: UOp
    """The kernel as tinygrad scheduled it."""
    rule: tuple[UOp, ...]
    """The default replacement of the call."""
    used: dict[UOp, int]
    """The used size of each buffer."""
    is_whole: bool
    """Whether it may be replaced by a product; otherwise it is a kernel that accompanies a product."""
    name: str
    """The cache key of its choice."""

    @property
    def is_kernel(self) -> bool:
        """Whether the default is a kernel."""
        return len(self.rule) == 1 and self.rule[0].src[0].op is Ops.SINK

    @property
    def kernel(self) -> UOp:
        """The call as a kernel, whatever the default is."""
        if self.is_kernel:
            return self.rule[0]
        return self.call.replace(src=(exact(self.call.src[0]), *self.call.src[1:]))


def tune_kernels(linear: UOp) -> UOp:
    """Return these calls in their fastest variants; the default rule has not been applied to them yet."""
    now = state.now
    if now is None or not (cpu_codegen.value and linear.src and all(map(_is_here, linear.src))):
        return by_rule(linear)
    first = _apply_choices(linear.src, now, True)
    # the kernels that accompany a product are tuned too
    second = iter(_apply_choices([c for c, is_done in first if not is_done], now, False))
    return linear.replace(src=tuple(c if is_done else next(second)[0] for c, is_done in first))


def by_rule(linear: UOp) -> UOp:
    """Return these calls with the default rule applied, without tuning."""
    return linear.replace(src=tuple(new_call for call in linear.src for new_call in _of_rule(call)))


def _of_rule(call: UOp, always: bool = False) -> tuple[UOp, ...]:
    if call.src[0].op is not Ops.SINK or (replacement := match.replace_kernel(call, always)) is None:
        return (call,)
    return tuple(replacement.src) if replacement.op is Ops.LINEAR else (replacement,)


def _is_here(call: UOp) -> bool:
    """Return whether the call's buffers are in this process's memory and its kernels are C functions."""
    return all(isinstance(u.device, str) and native.can_run(u.device) for u in private_api.get_call_arg_uops(call))


def _apply_choices(calls: Sequence[UOp], now: Now, is_whole: bool) -> list[tuple[UOp, bool]]:
    """Return the replacements of these calls, each with whether its variant is final."""
    rules = [_of_rule(call) if is_whole else (call,) for call in calls]
    works = [_work(call, rule, now, is_whole) for call, rule in zip(calls, rules, strict=True)]
    _try([w for w in works if w is not None], now)
    out: list[tuple[UOp, bool]] = []
    for call, rule, work in zip(calls, rules, works, strict=True):
        choice = None if work is None else cache.find(work.name)
        if work is None or choice is None:
            out += [(c, False) for c in rule]
        elif choice.options is not None:
            out.append((_with(work.kernel, choice.options), True))
        else:
            replacements = _of_rule(call, always=True) if choice.form == BY_BLAS else rule
            out += [(c, work.is_kernel and replacements is rule) for c in replacements]
    return out


def _work(call: UOp, rule: tuple[UOp, ...], now: Now, is_whole: bool) -> _Work | None:
    """Return the work to tune, or None for a call that is not tuned."""
    ast = call.src[0]
    if ast.op is not Ops.SINK or not isinstance(ast.arg, KernelInfo) or ast.tag is not None:
        return None
    if ast.arg.opts_to_apply is not None or ast.arg.applied_opts or not bench.is_safe(ast):
        return None
    if any(c.src[0].op not in (Ops.SINK, Ops.CUSTOM_FUNCTION) for c in rule) or any(map(_is_large, rule)):
        return None
    if any(c.src[0].op is Ops.SINK and c.src[0].arg.opts_to_apply is not None for c in rule):
        return None  # a scatter: the kernel that it replaces compares all pairs
    used = bench.sizes(call)
    if sum(n * u.dtype.itemsize for u, n in used.items()) > bench.LARGEST:
        return None
    args = private_api.get_call_arg_uops(call)
    is_read = args[0].base in [u.base for u in args[1:]]
    return _Work(call, rule, used, is_whole, cache.key(ast, _renderer(), f"{now.how} {is_whole} {is_read}"))


def _is_large(call: UOp) -> bool:
    """Return whether this is a product so large that no kernel matches BLAS."""
    name = call.src[0].arg
    if not isinstance(name, blas.ProductName):
        return False
    p = name.product
    return not p.is_vector and p.m * p.n * p.k > LARGE


def _renderer() -> Any:
    return Device["CPU"].renderer


def _with(call: UOp, options: space.Options) -> UOp:
    ast = call.src[0]
    return call.replace(src=(ast.replace(arg=replace(ast.arg, opts_to_apply=options)), *call.src[1:]))


def _try(works: Sequence[_Work], now: Now) -> None:
    """Tune the works that are not in the cache and are worth it."""
    distinct = {w.name: w for w in works}
    choices = {name: choice for name in distinct if (choice := cache.find(name)) is not None}
    new = [w for name, w in distinct.items() if name not in choices]
    for w, way in zip(new, _compile_calls([w.rule for w in new]), strict=True):
        seconds = bench.Trial({space.RULE: way}, w.used).seconds([space.RULE])
        choices[w.name] = cache.by_rule(_display_name(way), seconds[space.RULE])
        cache.keep(w.name, choices[w.name])
    whole = sum(choices[w.name].at_first for w in works)
    least = max(LEAST_IN_A_STEP if now.is_step else LEAST, SHARE * whole)
    for name, w in distinct.items():
        before = choices[name]
        after = before if before.tried or before.at_first < least else _best(w, before, now.how)
        if after is not before:
            cache.keep(name, after)
        if after.tried > 1:
            tried = after.tried if after is not before else 0
            now.found.setdefault(name, Tuned(after.kernel, after.form, after.seconds, after.by_rule, tried))


def _compile_calls(ways: Sequence[Sequence[UOp]]) -> list[bench.Way]:
    """Compile these calls in parallel and cache the kernels, which other programs use too."""
    if not ways:
        return []
    compiled_calls = iter(
        private_api.compile_linear(UOp(Ops.LINEAR, src=tuple(c for calls in ways for c in calls))).src
    )
    return [tuple(next(compiled_calls) for _ in calls) for calls in ways]


def _display_name(way: bench.Way) -> str:
    return " + ".join(str(private_api.ansistrip(private_api.realize.get_call_name(c, []))) for c in way)


def _best(work: _Work, before: Choice, level: TuneLevel) -> Choice:
    """Return the fastest variant whose results agree with the default's."""
    kernel, ways = work.kernel, {space.RULE: _compile_calls([work.rule])[0]}
    k = space.loops_of(kernel.src[0], _renderer())
    variants = space.others(k, level) if k is not None and bench.is_safe(k.ast) else {}
    if variants and k is not None and not work.is_kernel:
        variants = {BY_KERNEL: space.rule(k), **variants}
    programs = dict(zip(variants, bench.compile_candidates(list(variants.values()), _renderer()), strict=True))
    for name, program in programs.items():
        if program is not None:
            ways[name] = (kernel.replace(src=(program, *kernel.src[1:])),)
    calls = _of_rule(work.call, always=True) if variants and work.is_kernel and work.is_whole else ()
    if any(isinstance(c.src[0].arg, blas.ProductName) for c in calls):
        ways[BY_BLAS] = _compile_calls([calls])[0]
    if len(ways) == 1:
        return before._replace(tried=1)
    trial = bench.Trial(ways, work.used, bench.written_buffers(kernel), bench.terms_of(kernel.src[0]))
    seconds = trial.seconds(trial.agreeing())
    best = _fastest(seconds, ways)
    options = tuple(variants[best].applied_opts) if best in variants else None
    if options is not None:  # this is compiled next
        ast = _with(kernel, options).src[0]
        private_api.codegen.to_program_cache[private_api.to_program_key(ast, _renderer())] = programs[best]
    return Choice(before.kernel, best, options, seconds[best], seconds[space.RULE], len(ways), before.at_first)


def _fastest(seconds: Mapping[str, float], ways: Mapping[str, bench.Way]) -> str:
    """Return the default variant, or a faster one."""

    def by_clock(name: str) -> float:
        """Estimate a kernel's wall-clock time if its parts run in parallel."""
        parts = min(int(ways[name][0].src[0].arg.global_size[0]), cores.count())
        return seconds[name] / parts if seconds[name] * 1e9 >= cores.LARGE else seconds[name]

    kernels = [name for name in seconds if len(calls := ways[name]) == 1 and calls[0].src[0].op is Ops.PROGRAM]
    best = min(kernels, key=by_clock, default=space.RULE)
    if space.RULE in kernels and by_clock(best) > by_clock(space.RULE) * (1 - MARGIN):
        best = space.RULE
    # the parts of kernels that accompany a product are not known to run in parallel
    if BY_BLAS in seconds and seconds[BY_BLAS] <= seconds[best] * (1 - MARGIN):
        return BY_BLAS
    if space.RULE not in kernels and seconds[best] > seconds[space.RULE] * (1 - MARGIN):
        return space.RULE
    return best
