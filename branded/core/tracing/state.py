"""Predicates for traced code: under a brand, under a derivative, or as part of a program."""

from __future__ import annotations

from branded.core.tracing import recording
from branded.graph.scope import in_call_body, open_brands
from branded.graph.tags import transforms
from branded.tinygrad_compat.private_api import _function, capturing

is_differentiating = transforms.any_open
"""Whether a derivative of the running code is being taken."""
may_be_differentiating = transforms.may_hold


def is_tracing() -> bool:
    """Return whether a vmap, a loop or a derivative is tracing; otherwise tinygrad keeps its own behavior."""
    return bool(open_brands()) or is_differentiating()


def is_deferred() -> bool:
    """Return whether a call here becomes part of a program or a derivative, so that nothing may be computed yet."""
    if is_tracing() or in_call_body() or recording.is_recording():
        return True
    return bool(_function.depth or capturing)
