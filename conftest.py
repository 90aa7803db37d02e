"""Runs the examples in docstrings, and the python blocks of the README and the docs, as tests."""

import doctest
import gc
import os
import signal
import time
import traceback
from collections.abc import Generator
from doctest import ELLIPSIS
from types import SimpleNamespace

import pytest
from _pytest.runner import runtestprotocol
from sybil import Sybil
from sybil.parsers.doctest import DocTestParser
from sybil.parsers.markdown import PythonCodeBlockParser
from sybil.sybil import SybilCollection
from tinygrad import Device, Tensor

from branded.tinygrad_compat import (
    activation,
    private_api,  # and so a C compiler is chosen before a page that begins with tinygrad alone computes
)
from tests.support.documents import Module, Page
from tests.support.realized import is_compiled

LONG = (
    "tests/core/test_devices.py",
    "tests/explain/test_static.py",
    "tests/learn/explorer/test_edit.py",
    "tests/conformance/test_conformance.py",
    "tests/learn/explorer/test_page.py",
    "tests/docs/test_site.py",
    "tests/learn/explorer/test_running.py",
    "tests/mypy/test_checkers.py",
    "tests/laws/test_laws.py",
    "tests/chunking/test_chunks.py",
    "tests/laws/test_golden.py",
    "tests/docs/test_examples.py",
    "tests/explain/test_explain.py",
    "tests/backends/test_cpu.py",
    "tests/functions/test_functions.py",
    "tests/linalg/test_linalg.py",
    "tests/dask/test_cluster.py",
    "tests/mypy/test_types.py",
    "tests/learn/test_puzzles.py",
    "tests/backends/test_counting.py",
    "tests/control_flow/test_effects.py",
    "tests/tinygrad_compat/test_killed.py",
    "tests/errors/test_malformed.py",
    "tests/tinygrad_compat/test_interrupts.py",
    "tests/learn/explorer/test_lines.py",
    "tests/random/test_random_keys.py",
    "tests/learn/explorer/test_command.py",
    "tests/backends/test_products.py",
    "tests/tinygrad_compat/test_cc.py",
    "tests/ir/test_program.py",
    "tests/tinygrad_compat/test_threads.py",
    "tests/random/test_random_rejection.py",
    "tests/learn/explorer/test_mistakes.py",
    "tests/nn/test_models.py",
    "tests/optim/test_minimize.py",
    "tests/core/test_regressions.py",
    "tests/cli/test_cli.py",
    "tests/control_flow/test_in_turn.py",
    "tests/project/test_leaks.py",
)
"""The files that take more than ten seconds, those that take longest first."""

OFTEN = {
    "tests/core/test_axis_names.py",
    "tests/callbacks/test_callbacks.py",
    "tests/chunking/test_chunks.py",
    "tests/dask/test_cluster.py",
    "tests/backends/test_cores.py",
    "tests/dask/test_dask.py",
    "tests/compile/test_donation.py",
    "tests/core/test_graphs.py",
    "tests/tinygrad_compat/test_interrupts.py",
    "tests/compile/test_jit.py",
    "tests/tinygrad_compat/test_kept_programs.py",
    "tests/tinygrad_compat/test_kept_schedules.py",
    "tests/tinygrad_compat/test_killed.py",
    "tests/project/test_leaks.py",
    "tests/tools/test_memory.py",
    "tests/compile/test_replay.py",
    "tests/tinygrad_compat/test_threads.py",
    "tests/autodiff/test_transforms.py",
    "tests/backends/test_tune.py",
    "tests/tinygrad_compat/test_workers.py",
    "tests/core/test_writes.py",
    "docs/memory.md",
    "docs/threads.md",
}
"""The files about what is kept, freed, shared and interrupted: in these garbage may be collected at any moment."""
USUAL = gc.get_threshold()


def pytest_configure() -> None:
    """Processes that tests start know the device: to look for one, tinygrad loads all that it has, for a second.

    Where the tests have a process for each core, none of these starts others to compile: they would only wait.
    """
    os.environ.setdefault("DEV", Device.DEFAULT)
    activation.activate()  # now: a test may replace methods of Tensor for a while
    if "PYTEST_XDIST_WORKER" in os.environ:
        private_api.worker.PARALLEL.value = 0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """These files come first: where files are shared out to processes, all are then done at about the same time."""
    rank = {name: i for i, name in enumerate(LONG)}
    items.sort(key=lambda item: rank.get(item.nodeid.partition("::")[0], len(LONG)))


def pytest_collection_finish() -> None:
    _settle()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A process of the tests tells the one that shares them out what its test gave, and nothing that says no more.

    That a test begins, was set up and was cleared up is half of what is told, and takes seconds of them all.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return None
    for report in runtestprotocol(item, nextitem=nextitem, log=False):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Garbage is collected as it is for users in the files `OFTEN` and in one test in eight of the others.

    Else, when a test asks for it and when a file ends, which takes a tenth less time.
    """
    if (marker := item.get_closest_marker("enabled")) is not None:
        activation.enable(*marker.args)
        os.environ["BRANDED_ENABLE"] = ",".join(marker.args)  # for the processes that the test starts
    often = item.nodeid.partition("::")[0] in OFTEN or is_compiled(item.nodeid)
    gc.set_threshold(*USUAL if often else (100_000, 50, 1000))


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """No file pays for what those before it have left: it ends when its last fixture has."""
    activation.disable()
    os.environ.pop("BRANDED_ENABLE", None)
    if nextitem is None or nextitem.path != item.path:
        # numbers that were drawn and never computed make a chain, which each later computation would go through
        Tensor.manual_seed(time.time_ns() & 0xFFFF_FFFF)
        _settle()


@pytest.hookimpl(wrapper=True)
def pytest_timeout_set_timer() -> Generator[None, bool, bool]:
    """What runs a test once more when it fails, as numbers by numpy or hypothesis do, is stopped once more."""
    done = yield
    first, _ = signal.getitimer(signal.ITIMER_REAL)
    signal.setitimer(signal.ITIMER_REAL, first, first / 5)
    return done


def _settle() -> None:
    """What is there now stays, so no collection looks at it again: many tests collect, each time all that there is."""
    gc.collect()
    gc.freeze()


def _without_notes(cls: type[BaseException], error: BaseException) -> list[str]:
    """What doctest compares: the message, without the notes of the error, which some versions of Python take for it."""
    told = traceback.TracebackException(cls, error, None, compact=True)
    told.__notes__ = []
    return list(told.format_exception_only())


doctest.traceback = SimpleNamespace(**{**vars(traceback), "format_exception_only": _without_notes})  # type: ignore[attr-defined]

pytest_collect_file = SybilCollection(
    [
        Sybil(
            [DocTestParser(optionflags=ELLIPSIS)],
            patterns=["branded/*.py", "branded/**/*.py"],
            document_types={".py": Module},
            teardown=dict.clear,
        ),
        Sybil(
            [PythonCodeBlockParser(doctest_optionflags=ELLIPSIS)],
            patterns=["*.md", "docs/*.md", "docs/**/*.md"],
            document_types={".md": Page},
            teardown=dict.clear,
        ),
    ]
).pytest()
