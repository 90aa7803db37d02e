"""Test that the examples run at a small size and save their pictures; mypy.ini makes mypy check them too."""

from __future__ import annotations

import inspect
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from tinygrad import Context

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
SMALL: dict[str, dict[str, Any]] = {
    "data_parallel": {"examples": 32, "features": 8, "models": 2, "steps": 5},
    "evolution": {"rounds": 8, "people": 16, "steps": 60},
    "gaussian_process": {"points": 10, "rounds": 10},
    "hmc": {"chains": 16, "length": 50},
    "kmeans": {"points": 60, "restarts": 4},
    "kalman": {"tracks": 4, "steps": 40, "rounds": 10},
    "maml": {"hidden": 20, "steps": 60, "tasks": 8},
    "nbody": {"planets": 4, "steps": 20},
    "ode": {"hidden": 8, "paths": 4, "steps": 10, "rounds": 40},
    "private_sgd": {"steps": 20, "batch": 50},
    "robot_arm": {"targets": 16},
    "raymarch": {"width": 32, "height": 24},
}
PRINTED = {
    "attention": r"2 heads, 5 queries; largest difference from tinygrad's own: (0\.0e\+00|\d\.\de-0[5-9])",
    "data_parallel": r"1 device:  2 losses of 0\.\d{3} .*(\n[24] devices: the same weights, but for \de-0[6-9], .*){2}",
    "edit_distance": r"  kitten 0 3 1 4 3\n sitting 3 0 3 4 2\n  mitten 1 3 0 4 4\n     sit 4 4 4 0 6\n",
    "evolution": r"the pole stands for [23]\d steps at first, (5\d|60) of 60 at the end",
    "gaussian_process": r"scale 0\.[789] is the likeliest\noff by at most 0\.\d .* there is none: 0\.[89]",
    "hmc": r"16 chains: x has mean -?0\.[012] and variance (0\.[89]|1\.[012]), .*\ny has mean 0\.[456],",
    "kmeans": r"the best of 4 starts finds (\[\[0, 0\], \[2, 3\], \[4, 0\]\]), near \1",
    "kalman": r"variance of the sensor: 0\.(0[789]|1\d) .*\nthe sensor is off by 0\.(2\d|3\d), the filter by 0\.1",
    "maml": r"error after one step on a new task: 0\.[5-9] at first, 0\.[123] after meta-training",
    "nbody": r"4 planets, 20 steps: energy (-0\.000\d) before, \1 after",
    "ode": r"mean squared distance from the true paths: 0\.[56]\d at first, 0\.0[01]\d at the end",
    "private_sgd": r"noise  0\.0: [78]\d % .*\nnoise  1\.0: [78]\d % .*\nnoise 10\.0: [1-4]\d % ",
    "raymarch": r"[#%*]{4}\n[#%*+]-\+#",
    "recommender": r"user 0 may like film 0\nuser 1 may like film 1\nuser 2 may like film 0\nuser 3 may like film 1",
    "robot_arm": r"16 things: 100% within 0\.01",
    "springs": r"stiffness 1: \+0.536 after 1 s, exactly \+0.540\nstiffness 4: -0.425 after 1 s, exactly -0.416",
}
"""The output of each example, without digits that depend on rounding."""


@pytest.mark.by_numpy
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda p: p.stem)
def test_example(example: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    main = runpy.run_path(str(example))["main"]
    picture = tmp_path / "picture.png"
    drawn = {"picture": str(picture)} if "picture" in inspect.signature(main).parameters else {}
    with Context(NOOPT=1):  # with so few elements, clang needs longer to compile unrolled loops than they save
        main(**SMALL.get(example.stem, {}), **drawn)
    assert re.match(PRINTED[example.stem], capsys.readouterr().out)
    assert not drawn or picture.read_bytes().startswith(b"\x89PNG")
