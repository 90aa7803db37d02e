"""Whether code is being traced: under a brand, under a derivative, or as part of a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from branded.core.tracing import recording
from branded.graph.scope import Blocks, in_call_body, open_brands
from branded.tinygrad_compat.private_api import _function, capturing

transforms: Blocks[Sequence[Any]] = Blocks("branded_transforms")
"""The derivatives that are being taken, each as the levels of its leaves; `autodiff.tags` opens them."""
is_differentiating = transforms.any_open
"""Is a derivative of the running code being taken?"""
may_be_differentiating = transforms.may_hold


def is_tracing() -> bool:
    """Is the running code the body of a vmap, a loop or a derivative?  Elsewhere tinygrad keeps its own behavior."""
    return bool(open_brands()) or is_differentiating()


def is_deferred() -> bool:
    """Does a call here become part of a program or of a derivative, so that nothing may be computed yet?"""
    if is_tracing() or in_call_body() or recording.is_recording():
        return True
    return bool(_function.depth or capturing)
