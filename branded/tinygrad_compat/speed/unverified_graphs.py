"""Compile the graphs of this package without tinygrad's check of each operation.

tinygrad checks every graph that it schedules, and every kernel before and after it is lowered. That takes 3 % of the
time to compile a program, and finds mistakes in tinygrad or in this package, not in the program. The tests of this
package keep the check on: it runs if the environment variable SPEC is set, or `Context(SPEC=2)` asks for more checks.
"""

from __future__ import annotations

import functools
import os
from typing import Any

from branded.tinygrad_compat import private_api


def install() -> None:
    verify = private_api.spec.type_verify

    @functools.wraps(verify)
    def type_verify(ast: Any, check_spec: Any, enter_calls: bool = True) -> None:
        if private_api.SPEC.value != 1 or "SPEC" in os.environ:
            verify(ast, check_spec, enter_calls)

    private_api.spec.type_verify = private_api.codegen.type_verify = private_api.schedule.type_verify = type_verify
