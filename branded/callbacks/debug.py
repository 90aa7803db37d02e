"""`debug.print` and `debug.callback`: inspect the values of examples from inside any transform.

Example:
    >>> from branded import debug, vmap
    >>> from tinygrad import Tensor
    >>> vmap(lambda x: debug.print("{}", x) or x + 1)(Tensor([1, 2])).tolist()
    1
    2
    [2, 3]

Source: `jax.debug`.
"""

from __future__ import annotations

import builtins
import string
from collections.abc import Callable
from typing import Any

from tinygrad import Tensor

from branded import tree
from branded.callbacks.effects import effect
from branded.callbacks.trees import Flat
from branded.core.entry import entry
from branded.core.validation.arguments import check_function
from branded.errors import OptionError
from branded.errors.calls import check_calls
from branded.graph.rows import check_live

__all__ = ["callback", "print"]


@check_calls
def callback(callback: Callable[..., object], /, *args: Any, ordered: bool = False, **kwargs: Any) -> None:
    """Call `callback` with the values of each example, in each step, without any other effect.

    Outside of traced code, it runs immediately. In the body of a loop or a compiled function, it runs each time the
    body runs. In a branch, it runs for the examples that take the branch; in a loop, for the examples that are not
    finished. Under a derivative, it runs once, with the primal values.

    Args:
        callback: A function of trees of NumPy arrays; its result is ignored.
        args: Trees of tensors, arrays, numbers and other objects. The function receives other objects unchanged.
        ordered: Accepted for compatibility with JAX: calls always run in program order.
        kwargs: Keyword arguments of the function.

    Raises:
        CallbackError: The function raised an exception.
        UnsupportedError: It is called in the condition of a `while_loop`, or in a tinygrad `@function`.

    Example:
        >>> from branded import debug, vmap
        >>> from tinygrad import Tensor
        >>> seen = []
        >>> def f(x):
        ...     debug.callback(lambda x: seen.append(float(x)), x)
        ...     return x * 2
        >>> vmap(f)(Tensor([1.0, 2.0])).tolist(), seen
        ([2.0, 4.0], [1.0, 2.0])

    Source: `jax.debug.callback`.
    """
    check_function(callback, "debug.callback", "debug.callback(f, *args)")
    _run_callback("debug.callback", callback, args, kwargs)


@check_calls
def print(fmt: str, /, *args: Any, ordered: bool = False, **kwargs: Any) -> None:
    """Print the values of each example, in each step: `debug.print("{} {x}", y, x=x)`.

    It runs at the same times as `debug.callback`.

    Args:
        fmt: The text, with the values in braces, as in `str.format`.
        args: The values of `{}`: tensors, arrays, numbers, trees of them, or anything else.
        ordered: Accepted for compatibility with JAX: lines are always printed in program order.
        kwargs: The values of `{name}`.

    Raises:
        OptionError: The text uses a value that is not given, or does not use a given value.

    Example:
        >>> from branded import debug, vmap
        >>> from tinygrad import Tensor
        >>> def f(x):
        ...     debug.print("x = {x:.1f}", x=x)
        ...     return x * 2
        >>> vmap(f)(Tensor([1.0, 2.0])).tolist()
        x = 1.0
        x = 2.0
        [2.0, 4.0]

    Source: `jax.debug.print`.
    """
    _check_format(fmt, args, kwargs)

    def printed(*args: Any, **kwargs: Any) -> None:
        builtins.print(fmt.format(*args, **kwargs))

    _run_callback("debug.print", printed, args, kwargs)


@entry
def _run_callback(api_name: str, f: Callable[..., object], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    leaves = tree.leaves((args, kwargs))
    tensors = [tree.as_tensor(x) if isinstance(x, Tensor) else None for x in leaves]
    operands = [t for t in tensors if t is not None]
    for t in operands:
        check_live(t.uop, api_name)

    def without_result(*args: Any, **kwargs: Any) -> None:
        f(*args, **kwargs)

    without_result.__name__ = getattr(f, "__name__", "<lambda>")
    flat = Flat(without_result, (args, kwargs), [t is not None for t in tensors], None)
    effect(api_name, flat, [], [t.uop for t in operands], one_by_one=False)


class _Checked(string.Formatter):
    """A formatter that checks that the text uses every value."""

    def check_unused_args(self, used_args: Any, args: Any, kwargs: Any) -> None:
        unused = [str(i + 1) for i in range(len(args)) if i not in used_args]
        unused += [f"`{name}`" for name in kwargs if name not in used_args]
        if unused:
            raise OptionError(
                f"debug.print: the format has no placeholder for argument {', '.join(unused)}",
                fix="write {} for each argument, and {name} for each keyword",
            )

    def format_field(self, value: Any, format_spec: str) -> Any:
        return ""

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return value


def _check_format(fmt: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if not isinstance(fmt, str):
        raise OptionError(
            f"debug.print: the format is {tree.describe(fmt)}, not a string", fix='debug.print("x = {}", x)'
        )
    try:
        _Checked().vformat(fmt, args, kwargs)
    except OptionError:
        raise
    except (IndexError, KeyError) as error:
        raise OptionError(
            f"debug.print: the format {fmt!r} has a placeholder without a value",
            ("reason", f"{error}"),
            fix='pass one value per placeholder: debug.print("x = {}", x)',
        ) from None
    except ValueError as error:
        raise OptionError(
            f"debug.print: the format {fmt!r} is not a valid format string",
            ("reason", f"{error}"),
            fix='write "{{" for a brace: debug.print("{{}} x = {}", x)',
        ) from None
    except (AttributeError, TypeError):  # `{x.T}`, `{x[0]}`: attributes and items of the array
        return
