"""A pytest plugin (`-p tests.plain.outcomes`) that writes the outcome of each test to the file named by OUTCOMES."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Write a line for each test, and another one if its teardown fails; the last line counts."""
    if report.when == "call" or report.outcome != "passed":
        outcome = f"x{report.outcome}" if hasattr(report, "wasxfail") else report.outcome
        with Path(os.environ["OUTCOMES"]).open("a") as file:
            print(json.dumps([report.nodeid, outcome]), file=file)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Write a line for a file that cannot be imported, or is skipped as a whole."""
    if report.outcome != "passed":
        with Path(os.environ["OUTCOMES"]).open("a") as file:
            print(json.dumps([report.nodeid, f"{report.outcome} to import"]), file=file)
