"""What all tests of a run share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from branded import errors
from branded.explain import static
from branded.mypy import check
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.fixes.runtime import rollback_failed_realize
from tests.support import realized, warm


@pytest.fixture(autouse=True)
def messages_without_places(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """A message that names no line of the user's ends with the one that runs, which `places` tests ask for."""
    if "places" not in request.keywords:
        monkeypatch.setattr(errors, "place", lambda: None)


@pytest.fixture(autouse=True)
def nothing_runs() -> None:
    """A method of Tensor and a computation that run are noted; an interrupt of another test may leave that."""
    private_api.tensor._METADATA.set(None)
    rollback_failed_realize._run.set(None)


@pytest.fixture(scope="session", autouse=True)
def warm_caches(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The folder of the caches of mypy: one for all processes of a run."""
    base = tmp_path_factory.getbasetemp()
    root = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "mypy"
    root.mkdir(exist_ok=True)
    os.environ[warm.ROOT] = str(root)


@pytest.fixture(scope="session", autouse=True)
def no_types_of_tests() -> Iterator[None]:
    """mypy would read pytest too, and all else that stands above a test, for types that no test asks for."""
    types_in, here = static.types_in, Path(__file__).parent
    tests = set(here.rglob("test_*.py"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(static, "types_in", lambda path: static.Types({}) if path in tests else types_in(path))
        yield


@pytest.fixture(scope="session", autouse=True)
def mypy_in_forks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module, name in ((check, "_build"), (static, "types_of")):
            patch.setattr(module, name, warm.apart(getattr(module, name)))
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test whose numbers come from the graph; if it fails it is run by kernels, as the others are."""
    mark = pyfuncitem.get_closest_marker("by_numpy")
    if mark is None or False in mark.args or realized.is_compiled(pyfuncitem.nodeid):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    try:
        with realized.by_numpy():
            pyfuncitem.obj(**given)
    except (Exception, pytest.fail.Exception):
        return None
    return True
