"""Custom derivative rules: custom_jvp and custom_vjp."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar, cast

from tinygrad import Tensor, dtypes
from tinygrad.dtype import strong_dtype
from tinygrad.uop.ops import Ops, UOp

from branded import tree
from branded.autodiff.custom_rules.custom_call import RuledCall
from branded.autodiff.custom_rules.custom_jvp_call import JvpCall
from branded.autodiff.custom_rules.custom_vjp_call import VjpCall
from branded.autodiff.custom_rules.rule_checks import positional, tensor_of
from branded.autodiff.custom_rules.tangent_rows import asked
from branded.autodiff.leaves import in_place_of
from branded.autodiff.reachable_values import reaches
from branded.core.batching.function import Examples
from branded.core.boundary import lower
from branded.core.entry import entry
from branded.core.tracing import effect_tokens
from branded.core.tracing.closure_conversion import closure_converted
from branded.core.tracing.state import is_differentiating
from branded.core.tracing.step import param
from branded.core.validation.arguments import check_function
from branded.errors import DerivativeError
from branded.errors.calls import check_calls
from branded.graph.primitive import results
from branded.graph.rows import row_of, visible
from branded.graph.scope import call_body, open_brands, rule_block
from branded.graph.tags import Level, Placeholder, leaf, symbolic_zero
from branded.graph.uops import on_device, replace_ops, tensor
from branded.tinygrad_compat.private_api import CallInfo

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")
P = ParamSpec("P")


class _Custom(Generic[P, R]):
    """A function with a custom derivative rule."""

    api_name = "custom"
    primitive: type[RuledCall]

    @check_calls
    def __init__(self, f: Callable[P, R], nondiff_argnums: Sequence[int] = ()) -> None:
        if not callable(f):
            raise DerivativeError(f"{self.api_name}: {tree.describe(f)} is not a function", fix=f"{self.api_name}(f)")
        functools.update_wrapper(self, f)
        if not isinstance(nondiff_argnums, tuple | list) or not all(type(i) is int for i in nondiff_argnums):
            raise DerivativeError(
                f"{self.api_name}: nondiff_argnums={tree.short_repr(nondiff_argnums)} is not a tuple of positions",
                fix="nondiff_argnums=(0,)",
            )
        self.f, self.static = f, frozenset(nondiff_argnums)
        self.name = getattr(f, "__name__", repr(f))
        self.rule: Callable[..., Any] = self._missing
        self.forward: Callable[..., Any] = self._missing

    def _missing(self, *args: Any, **kwargs: Any) -> Any:
        raise DerivativeError(f"{self.api_name}: {self.name} has no rule yet", fix=f"{self.name}.{self._definer}(...)")

    _definer = "def"

    def __get__(self, obj: Any, objtype: type | None = None) -> Any:
        return self if obj is None else functools.partial(self, obj)

    @entry
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Build the call as one FUNCTION whose primitive has the rule.

        Example: `f(x) = sin(x) * w`.

            its leaves      p, which is x with a tag, on which `f` runs: sin(p) * w
            its body        SIN(PARAM 0) * PARAM 1, for x (instead of p) and for w, which it closes over
            its result      FUNCTION(the body, x, w)
        """
        call_args = positional(self.f, args, kwargs, f"{self.api_name}: {self.name}")
        if beyond := [i for i in self.static if not 0 <= i < len(call_args)]:
            raise DerivativeError(
                f"{self.api_name}: nondiff_argnums has {beyond[0]}, but {self.name} has {len(call_args)} arguments",
                fix="give positions of arguments, counted from 0",
            )
        level, places, new_args = Level(), list[UOp](), list[Any](call_args)
        for i in [i for i in range(len(call_args)) if i not in self.static]:
            leaves = [
                # a separate leaf for each tensor, so that the graph of the result shows where the tensor is used
                leaf(x, Placeholder(level, k))
                for k, x in enumerate(self._tensors(call_args[i], f"argument {i + 1}"), len(places))
            ]
            places += leaves
            new_args[i] = tree.rebuild(call_args[i], map(tensor, leaves))
        f: Callable[..., Any] = self.f
        inputs = [tensor(p) for p in places]  # if the function reads a value, tinygrad renames the tensors' graphs
        with call_body(), rule_block():
            out = f(*new_args)
        places = [t.uop for t in inputs]
        if not (ys := self._tensors(out, "the result")):
            return cast(R, out)
        params = [param(p.shape, p.dtype, p.device) for p in places]
        body = lower(replace_ops(ys, in_place_of(level, params)), open_brands())
        closed_body, fixed = closure_converted(body, params)
        steps = effect_tokens.places()
        if steps and not reaches([self.rule, self.forward, *(call_args[i] for i in self.static)], _is_of_a_step):
            steps = {}
        given_to_it = (*(p.src[0] for p in places), *fixed, *(on_device(x.cast(strong_dtype(x.dtype))) for x in steps))
        scope = (*visible(open_brands()), *dict.fromkeys(steps.values()))
        examples = Examples([()] * len(given_to_it), [()] * len(ys), scope)
        call = self.primitive(self, tuple(new_args), len(places), tree.rebuild(out, iter(ys)), examples)
        call.steps = {x: (len(places) + len(fixed) + k, b) for k, (x, b) in enumerate(steps.items())}
        u = UOp(Ops.FUNCTION, dtypes.void, (closed_body, *given_to_it), CallInfo(name=self.name, aux=call))
        if is_differentiating() and self.rule != self._missing and self not in asked.get():
            u = call.widen_results(u)
        return cast(R, tree.rebuild(out, map(tensor, results(u))))

    def _tensors(self, x: Any, where: str) -> list[UOp]:
        """Return the tensor leaves of an argument or a result."""
        every = zip(tree.leaves(x), tree.paths(x, where), strict=True)
        return [tensor_of(v, f"{self.api_name}: {path} of {self.name}").uop for v, path in every]


def _is_of_a_step(x: object) -> bool:
    """Return whether this value differs from step to step of a loop."""
    return isinstance(x, Tensor) and not all(b.is_brand for b in row_of(x.uop))


def _rule(f: F, custom: _Custom[Any, Any], which: str) -> F:
    check_function(f, f"{custom.api_name}: {which} of {custom.name}", error=DerivativeError)
    return f


def _none(*_: Any) -> None:
    """Return None, the rule of an argument whose tangent is zero."""


class custom_jvp(_Custom[P, R]):  # noqa: N801  as in JAX
    """A function with a custom tangent rule, used by forward and reverse mode, also under vmap.

    Args:
        f: A function of trees of tensors.
        nondiff_argnums: The positions of arguments that are not differentiated, and may be of any type.

    Returns:
        The function, with `defjvp(rule)` and `defjvps(*rules)` to set the rule.

    Raises:
        DerivativeError: No rule is set, or it returns a value that does not fit the result.

    Example:
        >>> from branded import custom_jvp, grad
        >>> from tinygrad import Tensor
        >>> @custom_jvp
        ... def softplus(x): return (1 + x.exp()).log()
        >>> @softplus.defjvp
        ... def rule(primals, tangents): return softplus(*primals), primals[0].sigmoid() * tangents[0]
        >>> grad(softplus)(Tensor(0.0)).item()
        0.5

    Source: `jax.custom_jvp`.
    """

    api_name, _definer, primitive = "custom_jvp", "defjvp", JvpCall

    @check_calls
    def defjvp(self, jvp: F) -> F:
        """Set the rule `jvp(primals, tangents) -> (value, tangent)`, with arguments of `nondiff_argnums` in front."""
        self.rule = _rule(jvp, self, "the rule")
        return jvp

    @check_calls
    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set a rule for each argument, `jvp(tangent, value, *primals) -> tangent`; None if the tangent is zero."""

        for one in jvps:
            _rule(one if one is not None else _none, self, "a rule")

        def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
            f: Callable[..., Any] = self
            if len(jvps) != len(tangents):
                raise DerivativeError(
                    f"custom_jvp: {len(jvps)} rules for the {len(tangents)} arguments of {self.name}",
                    fix="give one rule per argument, and None for a zero tangent",
                )
            y = f(*primals)
            parts = [f(t, y, *primals) for f, t in zip(jvps, tangents, strict=True) if f is not None]
            zeros = [tensor(symbolic_zero(x.uop)) for x in tree.leaves(y)]
            sums = [
                functools.reduce(lambda a, b: a + b, xs)
                for xs in zip(zeros, *(tree.leaves(part) for part in parts), strict=True)
            ]
            return y, tree.rebuild(y, iter(sums))

        self.rule = rule


class custom_vjp(_Custom[P, R]):  # noqa: N801  as in JAX
    """A function with a custom cotangent rule, used by reverse mode, also under vmap.

    Args:
        f: A function of trees of tensors.
        nondiff_argnums: The positions of arguments that are not differentiated, and may be of any type.

    Returns:
        The function, with `defvjp(fwd, bwd)` to set the rules.

    Raises:
        DerivativeError: No rule is set, a rule returns a value that does not fit, or forward mode is used.

    Example:
        >>> from branded import custom_vjp, grad
        >>> from tinygrad import Tensor
        >>> @custom_vjp
        ... def clipped(x): return x * 1
        >>> clipped.defvjp(lambda x: (x * 1, None), lambda residuals, ct: (ct.clip(-1, 1),))
        >>> grad(lambda x: (10 * clipped(x)).sum())(Tensor([1.0, 2.0])).tolist()
        [1.0, 1.0]

    Source: `jax.custom_vjp`.
    """

    api_name, _definer, primitive = "custom_vjp", "defvjp", VjpCall

    @check_calls
    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Set `fwd(*args) -> (value, residuals)` and `bwd(residuals, ct) -> cotangents`, static arguments in front."""
        self.forward, self.rule = _rule(fwd, self, "the forward rule"), _rule(bwd, self, "the backward rule")
