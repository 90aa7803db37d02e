"""Detection of shape errors in the body of a vmap, loop or derivative.

tinygrad detects mismatched operands only when a shape is requested, possibly several lines later. Its message then
shows shapes with the batch axis, which the user's code does not contain. In a body, the operands of an elementwise
operation are compared when it is created. An error of a method is reported for one example, with its types and the
line. Outside of a body, tinygrad's errors are unchanged, except for values with named axes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import Any, cast

from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import Ops, UOp

from branded import tree
from branded.core.tracing.state import is_tracing, may_be_differentiating
from branded.errors import BrandedError, OperandError, source
from branded.graph.known_axes import axes_by_id, names_of
from branded.graph.scope import may_be_in_brand
from branded.graph.uops import tensor
from branded.hooks.reads import READS
from branded.tinygrad_compat import gates, private_api, tensor_methods
from branded.tinygrad_compat.tensor_methods import Method, inner_method

_TOLD = (AssertionError, IndexError, RuntimeError, ValueError)
_OF_TYPES = (AttributeError, TypeError)
_LEFT = {*READS, "realize", private_api.MEMORY_OF, "__delitem__"} - {"backward"}
"""The methods whose errors concern devices, the compiler, or operations that no tensor supports."""


def _wrap_alu(original: Method) -> Method:
    """Wrap elementwise operations to compare their operands when they are created.

    Inside another method, this builds the operation itself, so that the comparison costs no additional time.
    """
    running, names = tensor_methods.running(), private_api.all_metadata

    @functools.wraps(original)
    def alu(self: Tensor, op: Ops, *src: Tensor) -> Tensor:
        if op in _OF_BITS and is_tracing():
            _check_bits(self, *src)
        if (method := running()) is None:
            out: Tensor = original(self, op, *src)
            if is_tracing():
                _compare(out.uop)
            return out
        u = UOp(op, src=(self.uop, *[x.uop for x in src]))
        names[u] = (method,)
        if src and axes_by_id:
            _look(u)
        elif src and (may_be_in_brand() or may_be_differentiating()):
            _compare(u)
        return tensor(u)

    return alu


_OF_BITS = {Ops.AND, Ops.OR, Ops.XOR}


def _check_bits(*operands: Tensor) -> None:
    """Raise for bit operations on floats, which tinygrad detects only when it computes the result."""
    x = next((x for x in operands if dtypes.is_float(x.dtype) and x.uop.op is not Ops.CONST), None)
    if x is not None:
        from branded.core.values import vec_type  # imported only for an error

        method = tensor_methods.running()()
        name = method.name.strip("_").removeprefix("r") if method is not None else "bits"
        raise OperandError(
            f"{name}: bitwise operations need bools or ints, not a float",
            ("value", vec_type(x)),
            fix="(a > 0) & (b > 0), with parentheses around comparisons, or .int() for ints",
        )


def _compare(u: UOp) -> None:
    """Check that the shapes of the operands match, and store the shape of `u`, so that tinygrad need not infer it."""
    shape: tuple[Any, ...] | None = None
    for x in u.src:
        if x.op is Ops.CONST:
            continue
        operand_shape = x.shape
        if shape is not None and operand_shape != shape:
            if is_tracing():
                u.shape  # noqa: B018  tinygrad's own check, which raises if they do not match
            return
        shape = operand_shape
    if shape is not None:
        private_api.keep_shape(u, shape)


def _look(u: UOp) -> None:
    """Check the shapes if a tensor has named axes; outside of a body, tinygrad reports other errors later."""
    try:
        u.shape  # noqa: B018
    except _TOLD:
        if _is_ours(*u.src):
            raise


def _is_ours(*values: Any) -> bool:
    """Return whether to translate an error: in a body, or if an axis has a name."""
    if is_tracing() or not axes_by_id:
        return is_tracing()
    return any(isinstance(x, Tensor | UOp) and any(names_of(x)) for x in tree.leaves(values))


def _build_error(method: Method, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> BrandedError:
    from branded.hooks.error_translation.failed_call import Refused
    from branded.hooks.error_translation.messages import translate_call  # imported only for an error

    return translate_call(Refused(method, args, kwargs, error))


class _Told:
    """The context in which tinygrad runs a method of Tensor that was not called by another method."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, cls: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        if error is None:
            return
        try:
            if (translation := _find_translation(error, trace)) is not None:
                raise translation from None
        finally:  # tinygrad does not reset it; while it is set, errors of our own attempts are not translated again
            private_api.tensor._METADATA.set(None)


def _find_translation(error: BaseException, trace: Any) -> BrandedError | None:
    """Return the translation of an error in a method, or None if it should not be translated."""
    if not isinstance(error, (*_TOLD, *_OF_TYPES)) or isinstance(error, BrandedError):
        return None
    if not (is_tracing() or axes_by_id):
        return None
    call: TracebackType | None = trace
    while call is not None and call.tb_frame.f_code.co_name != private_api.NAMES_KERNELS:
        call = call.tb_next
    if call is None or not _is_tinygrads(call):
        return None
    if isinstance(error, _OF_TYPES) and call.tb_next is None:
        return None  # too many or too few arguments, which Python reports
    names = call.tb_frame.f_locals
    if names["fn"].__name__ in _LEFT or not _is_ours(names["args"], names["kwargs"]):
        return None
    return _build_error(names["fn"], names["args"], names["kwargs"], error)


_BLOCK = _Told()


def _wrap_profiler(original: Callable[..., AbstractContextManager[Any]]) -> Callable[..., AbstractContextManager[Any]]:
    """Wrap tinygrad's profiler, which surrounds each method that the user calls, to translate its errors."""

    profile = private_api.PROFILE

    @contextmanager
    def both(name: Any, device: str) -> Iterator[None]:
        with original(name, device), _BLOCK:
            yield

    def cpu_profile(name: Any, device: str = "TINY", *args: Any, **kwargs: Any) -> AbstractContextManager[Any]:
        if device != "USER":
            return original(name, device, *args, **kwargs)
        return both(name, device) if profile.value else _BLOCK

    return cpu_profile


def _late(original: Method) -> Method:
    """Wrap a method whose result shape tinygrad infers only on request."""

    @functools.wraps(original)
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        out = original(self, *args, **kwargs)
        try:
            if _is_ours(self):
                out.shape  # noqa: B018
            return out
        except _TOLD as error:
            translation = _build_error(inner_method(original), (self, *args), kwargs, error)
        raise translation

    return method


def _einsum(original: Method) -> Method:
    """Wrap `einsum`, which is not a method, so the methods that it calls would report their own errors."""

    @functools.wraps(original)
    def einsum(cls: type[Tensor], formula: str, *operands: Any, **kwargs: Any) -> Any:
        try:
            return original(cls, formula, *operands, **kwargs)
        except _TOLD as error:
            inputs = operands[0] if len(operands) == 1 and isinstance(operands[0], tuple | list) else operands
            if not _is_ours(inputs) or not _is_tinygrads(error.__traceback__):
                raise
            from branded.hooks.error_translation.messages import letters

            if (translation := letters(formula, inputs)) is None:
                raise
        raise translation

    return einsum


def _is_tinygrads(trace: TracebackType | None) -> bool:
    """Return whether no function of the user was running."""
    while trace is not None:
        if not source.is_ours(trace.tb_frame.f_code.co_filename):
            return False
        trace = trace.tb_next
    return True


def install() -> None:
    private_api.tensor.cpu_profile = _wrap_profiler(private_api.tensor.cpu_profile)
    setattr(Tensor, "bitcast", _late(Tensor.bitcast))  # noqa: B010  mypy: a method is not to be assigned
    setattr(Tensor, "einsum", classmethod(_einsum(cast(Any, Tensor.einsum).__func__)))  # noqa: B010
    gates.replace_plain(Tensor, "alu", _wrap_alu(Tensor.alu))
