"""Check the demo on a few digits: its results against numpy, its output and its pictures."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import numpy as np
import pytest
from tinygrad import Context, Tensor

from branded import vmap
from branded.learn import demo
from branded.learn.demo import digits, haskell, show

SIZES = demo.Sizes(digits=60, part=4, steps=20, networks=2, epochs=2, batch=16, held_out=12)
DATA = digits.load(SIZES.digits)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[demo.DemoResults, str, str, Path]:
    """Run the demo once; return its results, its stdout, its stderr and its output folder."""
    out = tmp_path_factory.mktemp("demo") / "new" / "pictures"
    unoptimized = Context(NOOPT=1)  # clang takes longest for unrolled loops
    with (
        contextlib.redirect_stdout(io.StringIO()) as said,
        contextlib.redirect_stderr(io.StringIO()) as shown,
        unoptimized,
    ):
        found = demo.run(out, SIZES)
    return found, said.getvalue(), shown.getvalue(), out


# ---- the data ----


def test_digits_of_the_data_set() -> None:
    images, labels = digits.load()
    assert images.shape == (1797, 8, 8) and images.dtype == np.uint8
    assert (images.min(), images.max()) == (0, digits.INK)
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert images[0, 0].tolist() == [0, 0, 5, 13, 9, 1, 0, 0]


def test_licence_of_the_digits() -> None:
    text = (Path(demo.__file__).parents[1] / "data" / "LICENSE-digits.txt").read_text()
    assert "CC BY 4.0" in text and "10.24432/C50P49" in text and "Kaynak" in text


# ---- the results ----


def test_haskell_zip_has_one_brand() -> None:
    result, types = haskell.evaluate(haskell.ZIP)
    assert result.tolist() == [5.0, 8.0, 11.0]
    assert types == ["Vec[a:3, f32[]]"] * 3


def test_haskell_outer_sum_has_two_brands() -> None:
    result, types = haskell.evaluate(haskell.OUTER)
    assert result.tolist() == [[5.0, 7.0, 9.0], [6.0, 8.0, 10.0], [7.0, 9.0, 11.0]]
    assert types[2:] == ["Vec[a:3 | b:3, f32[]]", "Vec[a:3, f32[3]]"]


def test_pairs_agree_with_numpy(ran: tuple[demo.DemoResults, str, str, Path]) -> None:
    found = ran[0].pairs
    rows = DATA.rows.astype(np.float64)
    want = ((rows[:, None] - rows[None]) ** 2).sum(-1)
    np.testing.assert_allclose(found.distances, want, rtol=1e-5, atol=1e-5)
    nearest = np.argmin(want + np.diag(np.full(len(rows), np.inf)), axis=1)
    assert found.accuracy == pytest.approx((DATA.labels[nearest] == DATA.labels).mean())


def test_gradients_agree_with_numpy(ran: tuple[demo.DemoResults, str, str, Path]) -> None:
    found = ran[0].gradients
    norms = _softmax_regression(DATA.rows.astype(np.float64), DATA.labels, SIZES.steps)
    np.testing.assert_allclose(found.norms, norms, rtol=1e-3)
    assert found.hardest == np.argsort(-norms, kind="stable")[:10].tolist()


def _softmax_regression(rows: digits.Array, labels: digits.Array, steps: int) -> digits.Array:
    """Return the norm of each example's gradient after full-batch descent from zero, in closed form."""
    w, targets = np.zeros((rows.shape[1], 10)), np.eye(10)[labels]
    for step in range(steps + 1):
        scores = np.exp(rows @ w)
        error = scores / scores.sum(1, keepdims=True) - targets
        if step < steps:
            w -= rows.T @ error / len(rows)
    return np.linalg.norm(rows, axis=1) * np.linalg.norm(error, axis=1)


def test_ensemble_learns(ran: tuple[demo.DemoResults, str, str, Path]) -> None:
    found = ran[0].ensemble
    assert found.losses.shape == found.curves.shape == (SIZES.epochs, SIZES.networks)
    assert (found.losses[-1] < found.losses[0]).all()
    assert 0 <= found.vote <= 1


def test_every_part_times_the_loop(ran: tuple[demo.DemoResults, str, str, Path]) -> None:
    found = ran[0]
    assert all(part.ratio > 0 for part in found)


# ---- the output ----


def test_prints_types_and_comparisons(ran: tuple[demo.DemoResults, str, str, Path]) -> None:
    said = ran[1]
    for line in (
        "[5.0, 8.0, 11.0]",
        "[[5.0, 7.0, 9.0], [6.0, 8.0, 10.0], [7.0, 9.0, 11.0]]",
        "distance(x, y)     Vec[x:60 | y:60, f32[]]",
        "return vmap(gradient, in_axes=(None, 0, 0))(w, images, labels)",
        "label                         Vec[image:60, i32[]]",
        "scores(network, images)  Vec[network:2, f32[16, 10]]",
        "both compute the 16 pairs",
    ):
        assert line in said
    assert said.count("same values: the largest difference is") == said.count("times as fast\n") == 3


def test_output_fits_a_terminal(ran: tuple[demo.DemoResults, str, str, Path]) -> None:
    assert max(map(len, ran[1].splitlines())) <= 100
    assert "\033[" not in ran[1]


def test_progress_goes_to_stderr(ran: tuple[demo.DemoResults, str, str, Path]) -> None:
    shown = ran[2]
    assert "vmap: all at once" in shown and "loop: one by one" in shown
    assert shown.count("100%") >= 2


def test_writes_three_pictures(ran: tuple[demo.DemoResults, str, str, Path]) -> None:
    _, said, _, out = ran
    if not demo.can_draw():
        pytest.skip("matplotlib is not installed")
    assert str(out) in said
    assert sorted(path.name for path in out.iterdir()) == ["distances.png", "hardest.png", "training.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in out.iterdir())


def test_message_without_matplotlib(
    ran: tuple[demo.DemoResults, str, str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(demo, "can_draw", lambda: False)
    demo.draw(tmp_path / "none", DATA, ran[0])
    assert capsys.readouterr().out.strip() == "No pictures: matplotlib is missing. Install the extra `demo`."
    assert not (tmp_path / "none").exists()


# ---- the helpers ----


def test_check_same_returns_the_difference() -> None:
    assert show.check_same(np.array([1.0, 2.0]), np.array([1.0, 2.25]), 0.5) == 0.25


@pytest.mark.parametrize(
    ("got", "want"), [([1.0], [2.0]), ([float("nan")], [1.0]), ([1.0, 1.0], [1.0])], ids=["far", "nan", "shape"]
)
def test_check_same_rejects_differences(got: list[float], want: list[float]) -> None:
    with pytest.raises(ArithmeticError, match="vmap and the loop differ"):
        show.check_same(np.array(got), np.array(want), 0.5)


def test_watch_records_calls_per_example() -> None:
    watch = show.Watch()
    double = watch(_double)
    double(Tensor.ones(2))
    assert watch.pairs() == []
    vmap(double)(Tensor.ones(3, 2))
    assert watch.pairs() == [("x", "Vec[x:3, f32[2]]"), ("_double(x)", "Vec[x:3, f32[2]]")]
    watch.clear()
    assert watch.pairs() == []


def _double(x: Tensor) -> Tensor:
    return x * 2


def test_durations_have_a_unit() -> None:
    assert [show.duration(s) for s in (12.345, 0.0123, 0.0000123)] == ["12.35 s ", "12.30 ms", "0.01 ms"]


def test_drawing_uses_two_characters_per_pixel() -> None:
    assert show.drawing(np.array([[0, 8], [16, 4]], np.uint8), 16) == ["  ▒▒", "██░░"]
