"""Fixtures for all tests."""

import faulthandler
import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tinygrad import Tensor

from branded import errors
from branded.explain import static
from branded.tinygrad_compat import activation
from tests.support import realized, warm


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that open a browser, before `-m` selects."""
    for item in (i for i in items if "chromium" in getattr(i, "fixturenames", ())):
        item.add_marker("browser")


@pytest.fixture(autouse=True)
def marks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Apply the markers of a test, which pyproject.toml explains."""
    if "places" not in request.keywords:
        monkeypatch.setattr(errors, "place", lambda: None)
    if enabled := request.node.get_closest_marker("enabled"):
        activation.enable(*enabled.args)
        monkeypatch.setenv("BRANDED_ENABLE", ",".join(enabled.args))  # for the programs that the test starts
    with realized.mode(request.keywords):
        yield
    activation.disable()


@pytest.fixture(scope="module", autouse=True)
def fresh_random_state() -> None:
    """Reset the seed for each file, and exclude objects of earlier files from garbage collection."""
    faulthandler.dump_traceback_later(3600, exit=True)  # for a test that hangs in C, where no signal is seen
    Tensor.manual_seed(0)
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def caches_of_mypy(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Share the folder of `warm.py` between the processes of a test run."""
    base = tmp_path_factory.getbasetemp()
    (root := (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "mypy").mkdir(exist_ok=True)
    os.environ[warm.ROOT] = str(root)


@pytest.fixture(scope="session", autouse=True)
def no_types_of_tests() -> Iterator[None]:
    """Skip the type check of functions in test files: mypy would check pytest and everything else that they import."""
    types_in, files = static.types_in, {*Path(__file__).parent.rglob("test_*.py")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(static, "types_in", lambda path: static.Types({}) if path in files else types_in(path))
        yield
