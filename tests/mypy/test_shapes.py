"""The lengths that mypy infers for methods of tensors are the lengths that tinygrad returns."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from tinygrad import Tensor, nn

import branded
from branded.mypy.shapes.rules.functions import FUNCTIONS as OF_FUNCTIONS
from branded.mypy.shapes.rules.linalg import LINALG
from branded.mypy.shapes.rules.resized import _RULES
from tests.support.warm import MYPY, STRICT, warm

NAMES = {
    "x": "Tensor.rand(6, 8)",
    "v": "Tensor.rand(7)",
    "t": "Tensor.rand(2, 6, 6)",
    "img": "Tensor.rand(2, 4, 9, 10)",
    "w": "Tensor.rand(6, 4, 3, 2)",
    "g": "Tensor.rand(8, 2, 3, 3)",
    "one": "nn.Conv1d(6, 5, 3, padding=1)",
    "conv": "nn.Conv2d(4, 6, 3, 2)",
    "grouped": "nn.Conv2d(4, 8, (3, 2), padding=(1, 0), groups=2, bias=False)",
    "i": "Tensor([[0, 1], [1, 2]])",
    "labels": "Tensor([1, 2, 3, 0, 1, 2])",
    "m": "Tensor.eye(4) * 2",
    "b": "Tensor.rand(2, 3, 3)",
    "u": "Tensor.rand(4)",
    "c": "Tensor.rand(5, 3)",
}
ONE = """
v.diag() x.flatten() img.flatten(1) img.flatten(1, 2) img.flatten(end_dim=-2) v.flatten()
x.diagonal() t.diagonal(0, 1, 2) t.diagonal(dim1=-1, dim2=-2) v.unfold(0, 3, 2) t.unfold(-1, 2, 1)
x.shrink(((1, 4), None)) x.repeat(2, 3) v.repeat(2, 3) x.repeat((1, 2)) v.repeat_interleave(3) x.repeat_interleave(2)
x.repeat_interleave(2, 1) x.repeat_interleave(2, dim=-1) x.pad((1, 2)) t.pad((1, 0, 2, 3)) x.pad(((1, 1), None))
v.pad(padding=(2, 2)) x.unflatten(1, (2, 4)) x.unflatten(-1, (2, -1)) img.interpolate((3, 4))
x.scatter(0, i, 1.0) x.scatter_reduce(0, i, x, "sum")
img.conv2d(w) img.conv2d(w, None, 1, 2) img.conv2d(w, padding=1) img.conv2d(w, padding=(1, 2), dilation=2)
img.conv2d(g, groups=2, stride=(2, 1)) img.conv2d(w, padding=(1, 0, 2, 1))
img.max_pool2d() img.avg_pool2d((3, 2)) img.max_pool2d((2, 2), 1) img.avg_pool2d((3, 3), stride=2, padding=1)
img.max_pool2d((2, 3), dilation=2) img.max_pool2d(kernel_size=(4, 4))
x.scaled_dot_product_attention(x, x) t.scaled_dot_product_attention(t, Tensor.rand(2, 6, 3))
x.cross_entropy(x.softmax()) x.sparse_categorical_crossentropy(labels) x.log_softmax().nll_loss(labels)
v.binary_crossentropy(v) v.binary_crossentropy_logits(v, reduction="sum") v.binary_crossentropy(v, "mean")
one(t) conv(img) grouped(img) one.weight grouped.weight
"""
SEVERAL = """
x.chunk(2) x.chunk(4, 1) x.chunk(4) x.chunk(chunks=3, dim=-1) x.split(4) x.split(3, 1) x.split((2, 4))
x.split([1, 7], dim=1)
x.topk(3) x.topk(2, 0) x.topk(k=4, dim=-1) img.max_pool2d((2, 2), return_indices=True)
"""


FUNCTIONS = """
linalg.cholesky(m) linalg.inv(b) linalg.expm(m) linalg.matrix_power(m, 3) linalg.det(b) linalg.det(m)
linalg.eigvalsh(b) linalg.cho_solve(linalg.cho_factor(m), u) linalg.solve(m, u) linalg.solve(m, m) linalg.solve(b, b)
linalg.solve(b, Tensor.rand(2, 3, 1)) linalg.solve_triangular(m, u, lower=True) linalg.multi_dot([x, x.T, x])
linalg.multi_dot((v, Tensor.rand(7, 2))) linalg.norm(x) linalg.norm(x, axis=0) linalg.norm(b, 2, (1, 2))
linalg.norm(x, None, 1, True) linalg.pinv(c) linalg.pinv(b) linalg.qr(c, "r") linalg.svd(c, compute_uv=False)
linalg.qr(c)[0] linalg.qr(c)[1] linalg.qr(c, mode="complete")[0] linalg.svd(c)[0] linalg.svd(c)[2]
linalg.svd(c, full_matrices=False)[0] linalg.svd(b)[1] linalg.eigh(b)[0] linalg.eigh(b)[1] linalg.slogdet(b)[0]
linalg.slogdet(m).logabsdet linalg.eigh(m).eigenvectors linalg.lstsq(c, Tensor.rand(5)).x
linalg.lstsq(c, Tensor.rand(5, 2))[0] linalg.cho_factor(m)[0] linalg.svd(c, False).Vh branded.lgamma(x)
branded.digamma(x) branded.erfinv(v) branded.index_add(x, i, 1.0) branded.index_max(v, 0, 1.0)
branded.index_min(v, 0, 1.0) branded.index_mul(v, 0, 2.0) branded.index_update(v, 0, 1.0) branded.betaln(v, 2.0)
branded.dynamic_update_slice(x, Tensor.rand(2, 2), (0, 0)) branded.logaddexp(x, x) branded.logaddexp(1.0, v)
branded.median(x) branded.median(x, 0) branded.nanmax(x, axis=1, keepdims=True) branded.nanmean(t, (0, 2))
branded.nanmedian(x, -1) branded.nanmin(v) branded.nanstd(x, 1) branded.nansum(x) branded.nanvar(x, 0)
branded.quantile(x, 0.5) branded.quantile(x, 0.5, 1) branded.nanquantile(x, 0.5, axis=0) branded.percentile(v, 50.0)
branded.fft(x)[0] branded.ifft(branded.fft(x))[1] branded.rfft(x)[0] branded.rfft(v, 4)[1]
branded.irfft(branded.rfft(x)) branded.segment_sum(x, labels, 5) branded.segment_max(labels, labels, num_segments=4)
branded.segment_min(x, labels, 5) branded.segment_prod(x, labels, 5) branded.argwhere(x, size=3)
branded.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]) branded.bincount(labels, length=9) branded.convolve(v, u)
branded.convolve(v, u, "same") branded.convolve(v, u, mode="valid") branded.cross(c, c)
branded.dynamic_slice(x, (0, 1), (2, 3)) branded.histogram(v)[0] branded.histogram(v, 6)[1]
branded.histogram(v, Tensor([0.0, 0.5, 1.0]))[0] branded.interp(x, u, u) branded.interp(0.5, v, v) branded.outer(u, v)
branded.nonzero(x, size=3)[1] branded.searchsorted(v, x) branded.searchsorted(v, 0.5) branded.trace(x)
branded.trace(b) branded.take_along_axis(v, labels, 0) branded.take_along_axis(x, Tensor.zeros(6, 2).int(), 1)
branded.top_k(x, 3)[0] branded.top_k(x, 2, axis=0)[1]
"""


def _expressions(text: str) -> list[str]:
    """Split calls at the spaces between them."""
    calls: list[str] = []
    for part in text.split():
        if calls and calls[-1].count("(") > calls[-1].count(")"):
            calls[-1] += f" {part}"
        else:
            calls.append(part)
    return calls


def test_lengths_of_methods(tmp_path: Path) -> None:
    """Each true assertion is accepted, and each one with another length is an error."""
    values: dict[str, object] = {"Tensor": Tensor, "nn": nn, "branded": branded, "linalg": branded.linalg}
    lines = ["import branded", "from branded import linalg, vmap", "from tinygrad import Tensor, nn"]
    lines += ["vmap(lambda x: x)(Tensor.rand(2))"]
    for name, value in NAMES.items():
        values[name] = eval(value, values)
        lines.append(f"{name} = {value}")
    wrong = []
    parts = [f"{e}[{i}]" for e in _expressions(SEVERAL) for i in (0, -1)]
    for n, e in enumerate([*_expressions(ONE), *parts, *_expressions(FUNCTIONS)]):
        shape = eval(f"{e}.shape", values)
        lines += [f"r{n} = {e}", f"assert r{n}.shape == {shape}", f"assert r{n}.shape == {(*shape, 1)}  # {e}"]
        wrong.append(len(lines))
        if shape:
            lines.append(f"assert r{n}.shape == {(shape[0] + 1, *shape[1:])}  # {e}")
            wrong.append(len(lines))
    (tmp_path / "app.py").write_text("\n".join(lines) + "\n")
    (tmp_path / "mypy.ini").write_text(STRICT)
    warm(tmp_path / ".mypy_cache", MYPY, STRICT)
    command = [*MYPY, "--output", "json", "app.py"]
    out = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    messages = [m for m in map(json.loads, out.splitlines()) if m["severity"] == "error"]
    messages = [m for m in messages if m["code"] != "comparison-overlap"]  # mypy alone, for another number of axes
    assert {m["line"]: m["message"] for m in messages if m["line"] not in wrong} == {}
    assert [lines[n - 1] for n in wrong if n not in {m["line"] for m in messages}] == []


def test_each_function_is_tried() -> None:
    tried = set(re.findall(r"(branded|linalg)\.(\w+)\(", FUNCTIONS))
    assert {("linalg", n) for n in LINALG} | {("branded", n) for n in OF_FUNCTIONS} == tried


def test_each_method_is_tried() -> None:
    tried = {e.partition("(")[0].rpartition(".")[2] for e in _expressions(f"{ONE} {SEVERAL}")}
    tried |= {part.partition("(")[0] for e in _expressions(ONE) for part in e.split(".")}
    assert set(_RULES) <= tried
