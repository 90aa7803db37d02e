"""branded.dask on a real cluster: a scheduler, two workers, and their failures."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import distributed
import numpy as np
import pytest
from tinygrad import Tensor

import branded
from branded import grad, pmean, scan
from branded.dask import on_arrays, vmap
from branded.learn.demo import cluster as demo
from branded.learn.demo import digits

ROOT = Path(__file__).parents[2]
rng = np.random.default_rng(0)
X = rng.standard_normal((40, 4)).astype("float32")
W = Tensor(rng.standard_normal((4, 4)).astype("float32"))
x = da.from_array(X, chunks=(4, 4))

QUIET = {
    "distributed.scheduler.allowed-failures": 3,
    "distributed.worker.memory.terminate": 0.95,
    "distributed.worker.multiprocessing-method": "forkserver",  # the fork server has imported dask, but not branded
    "distributed.admin.large-graph-warning-threshold": "100MB",
    "logging": {"distributed": "critical"},
}


@pytest.fixture(scope="module")
def client() -> Iterator[distributed.Client]:
    """One cluster for all tests: two workers with one thread each, which the nanny restarts."""
    with dask.config.set(QUIET), distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, memory_limit="1GB", dashboard_address=None, silence_logs=50
    ) as cluster, distributed.Client(cluster) as client:  # fmt: skip
        yield client


def model(a: Tensor) -> Tensor:
    carry, _ = scan(lambda c, v: ((c @ W + v).tanh(), None), a, a.reshape(4, 1).expand(4, 4))
    return carry.sum()


def expected() -> Any:
    """Return the results that one process computes chunk by chunk."""
    f = branded.jit(branded.vmap(grad(model)))
    return np.concatenate([f(Tensor(X[i : i + 4])).numpy() for i in range(0, 40, 4)])


def test_two_processes_match_one_bit_for_bit(client: distributed.Client) -> None:
    found = vmap(grad(model))(x).compute()
    assert np.array_equal(found, expected())
    pids = client.run(os.getpid)
    assert len({*pids.values(), os.getpid()}) == 3


def test_shared_value_is_sent_to_each_worker_once(client: distributed.Client) -> None:
    w = Tensor(rng.standard_normal((500, 500)).astype("float32")).realize()
    y = da.from_array(rng.standard_normal((40, 500)).astype("float32"), chunks=(1, 500))
    before = client.run(_received)
    found = vmap(lambda a: (a @ w).sum() - pmean(a, "i").sum(), axis_name="i")(y)
    found.compute()
    moved = sum(client.run(_received).values()) - sum(before.values())
    assert moved < 1.5 * w.nbytes()  # a worker may receive it from the other one; there are 80 tasks


def _received(dask_worker: Any) -> int:
    return sum(int(log["total"]) for log in dask_worker.transfer_incoming_log)


def test_killed_worker_loses_nothing(client: distributed.Client) -> None:
    slow = x.map_blocks(_slowly, dtype=x.dtype, meta=x._meta)
    future = client.compute(vmap(grad(model))(slow))
    while not client.run_on_scheduler(_done):
        time.sleep(0.02)
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
    assert np.array_equal(future.result(120), expected())


def _slowly(a: Any) -> Any:
    time.sleep(0.1)
    return a


def _done(dask_scheduler: Any) -> int:
    return sum(len(w.has_what) for w in dask_scheduler.workers.values())


def test_slow_worker_is_waited_for(client: distributed.Client, tmp_path: Path) -> None:
    client.wait_for_workers(2)
    slow = x.map_blocks(_slow_in_one, str(tmp_path / "first"), dtype=x.dtype, meta=x._meta)
    assert np.array_equal(vmap(grad(model))(slow).compute(), expected())


def _slow_in_one(a: Any, first: str) -> Any:
    try:
        with open(first, "x") as file:  # noqa: PTH123
            file.write(str(os.getpid()))
    except FileExistsError:
        pass
    time.sleep(0.3 if Path(first).read_text() == str(os.getpid()) else 0)
    return a


def test_out_of_memory_error_names_the_task(client: distributed.Client) -> None:
    client.run_on_scheduler(_allow, 0)
    large = x[:4].map_blocks(_large, dtype=x.dtype, meta=x._meta)
    with pytest.raises(distributed.KilledWorker, match="_large"):
        vmap(model)(large).compute()
    client.run_on_scheduler(_allow, 3)


def _allow(n: int, dask_scheduler: Any) -> None:
    dask_scheduler.allowed_failures = n


def _large(a: Any) -> Any:
    kept = np.ones(150_000_000)
    time.sleep(10)
    return a + kept[0]


def test_error_in_task_is_raised(client: distributed.Client) -> None:
    broken = da.from_delayed(dask.delayed(lambda: 1 / 0)(), (4, 4), dtype="float32")
    with pytest.raises(ZeroDivisionError):
        vmap(model)(broken).compute()


def test_zarr_input_and_output(client: distributed.Client, tmp_path: Path) -> None:
    """Read, compute and write data chunk by chunk."""
    da.to_zarr(x, str(tmp_path / "x.zarr"))
    stored = da.from_zarr(str(tmp_path / "x.zarr"))
    da.to_zarr(vmap(lambda a: vmap(lambda b: (a * b).sum())(stored))(stored), str(tmp_path / "y.zarr"))
    assert np.allclose(da.from_zarr(str(tmp_path / "y.zarr")).compute(), X @ X.T, atol=1e-5)


def test_xarray_named_dimensions(client: distributed.Client) -> None:
    import xarray

    users = xarray.DataArray(x, dims=("users", "features"))
    found = xarray.apply_ufunc(
        on_arrays(branded.vmap(model)), users, input_core_dims=[["features"]], dask="parallelized",
        output_dtypes=["float32"],
    )  # fmt: skip
    assert found.dims == ("users",) and np.allclose(found.values, branded.vmap(model)(Tensor(X)).numpy(), atol=1e-6)


def test_demo_finds_nearest_digits(client: distributed.Client) -> None:
    data = digits.load(90)
    found = demo._nearest(data, 120, 50).compute()
    rows = np.concatenate([demo._digits(np.arange(i, min(i + 50, 120)), data.rows) for i in (0, 50, 100)])
    far = ((rows[:, None] - rows) ** 2).sum(-1)
    i = np.arange(120)
    far[(i[:, None] - i) % 90 == 0] = np.inf
    assert np.array_equal(found, far.argmin(1))


def listening() -> set[str]:
    """Return the addresses that this process listens on, in hexadecimal and without ports."""
    mine = set()
    for file in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # the descriptor of the folder itself
            mine.add(str(file.readlink()))
    lines = [x.split() for name in ("tcp", "tcp6") for x in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    return {x[1].partition(":")[0] for x in lines if x[3] == "0A" and f"socket:[{x[9]}]" in mine}


LOOPBACK = int.from_bytes(bytes((127, 0, 0, 1)), sys.byteorder).to_bytes(4, "big").hex().upper()


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="no /proc")
@pytest.mark.parametrize("of", ["demo", "docs"])
def test_clusters_listen_on_loopback_only(of: str) -> None:
    with dask.config.set(QUIET):
        if of == "demo":
            cluster = demo.cluster(1)
        else:
            line = re.search(r"LocalCluster\((.*)\)", (ROOT / "docs" / "cluster.md").read_text())
            assert line is not None and "8787" in line[1]
            given = line[1].replace("8787", "0")
            cluster = eval(f"distributed.LocalCluster({given}, n_workers=1)", {"distributed": distributed})
        with cluster, distributed.Client(cluster) as client:
            workers = client.run(listening).values()
            assert client.dashboard_link.startswith("http://127.0.0.1:")
            assert listening() == {LOOPBACK} and list(workers) == [{LOOPBACK}]


def test_lost_scheduler_is_an_error(client: distributed.Client) -> None:
    """This test is the last in the file, because it closes the scheduler."""
    slow = x.map_blocks(_slowly, dtype=x.dtype, meta=x._meta)
    future = client.compute(vmap(model)(slow))
    client.sync(client.cluster.scheduler.close)
    dask.config.set({"distributed.comm.timeouts.connect": "100ms"})  # closing the cluster waits this long
    with pytest.raises((distributed.CancelledError, asyncio.CancelledError)):
        future.result(60)
    with dask.config.set(scheduler="sync"):  # the graph is still known here and can be computed again
        assert np.allclose(vmap(model)(x).compute(), branded.vmap(model)(Tensor(X)).numpy(), atol=1e-6)
