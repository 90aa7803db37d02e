"""Options of tinygrad with a separate value in each thread."""

from __future__ import annotations

import threading
from typing import Any

from tinygrad.helpers import ContextVar


class PerThread(ContextVar[int]):
    """An option that each thread sets for itself; `at_first` is its value in a thread that has not set it."""

    own: threading.local
    at_first: int

    @property
    def value(self) -> int:
        current: int = getattr(self.own, "value", self.at_first)
        return current

    @value.setter
    def value(self, x: int) -> None:
        self.own.value = x

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as tinygrad's own option with the value of this thread, for `CAPTURE_PROCESS_REPLAY`."""
        return object.__new__, (ContextVar,), {"value": self.value, "key": self.key}
