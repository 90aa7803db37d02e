"""`python -m bench.cluster`: the overhead of a dask task in seconds and bytes, and the gain of a second worker."""

from __future__ import annotations

import os
import time
from typing import Any

import dask.array as da
import distributed
import numpy as np
from tinygrad import Tensor

from bench.measure import Report
from bench.scale import readable, seconds
from branded.dask import vmap

TASKS, ROUNDS = 500, 3
_LEGEND = (
    f"A worker is a process of one thread on this machine, and {TASKS} tasks have almost no work; the best of {ROUNDS}",
    "rounds. `here` is the process of the bench,",
    'by `scheduler="sync"`. `worker` and `scheduler` are CPU for one task; that of the scheduler has its client in it.',
)


def tasks(n: int = TASKS) -> Any:
    """The number of tasks; each has four examples."""
    return vmap(lambda x: (x * 2).sum())(da.ones((n * 4, 4), chunks=(4, 4), dtype="float32"))


def timed(run: Any) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def cpu(client: distributed.Client) -> float:
    return sum(client.run(time.process_time).values())


def received(client: distributed.Client) -> int:
    def own(dask_worker: Any) -> int:
        return sum(int(log["total"]) for log in dask_worker.transfer_incoming_log)

    return sum(client.run(own).values())


def rates(client: distributed.Client, report: Report) -> None:
    """Tasks a second, and the CPU of one."""
    some, one = tasks(), list(client.scheduler_info()["workers"])[:1]
    some.compute(scheduler="sync")
    some.compute()
    here = [timed(lambda: some.compute(scheduler="sync")) for _ in range(ROUNDS)]
    report.write("| workers | tasks a second | worker | scheduler |", "|---|---|---|---|")
    report.write(f"| here | {TASKS / min(here):.0f} | {seconds(min(here) / TASKS)} | |")
    for name, on in (("1", one), ("2", None)):
        before, own, walls = cpu(client), time.process_time(), []
        for _ in range(ROUNDS):
            walls.append(timed(lambda on=on: client.gather(client.compute(some, workers=on))))
        own, spent = time.process_time() - own, cpu(client) - before
        each = [seconds(t / ROUNDS / TASKS) for t in (spent, own)]
        report.write(f"| {name} | {TASKS / min(walls):.0f} | {each[0]} | {each[1]} |")


def efficiency(client: distributed.Client, report: Report) -> None:
    """The same work on one worker and on two, in turns."""
    x = da.random.default_rng(0).standard_normal((32 * 2048, 256), chunks=(2048, 256), dtype="float32")
    w = Tensor(np.random.default_rng(0).standard_normal((256, 256)).astype("float32") / 16)

    def work(a: Tensor) -> Tensor:
        for _ in range(10):
            a = (a @ w).tanh().contiguous()
        return a.sum()

    some, one = vmap(work)(x), list(client.scheduler_info()["workers"])[:1]
    some.compute()
    walls: dict[str, list[float]] = {"1": [], "2": []}
    spent: dict[str, list[float]] = {"1": [], "2": []}
    for _ in range(ROUNDS):
        for name, on in (("1", one), ("2", None)):
            before = cpu(client)
            walls[name].append(timed(lambda on=on: client.gather(client.compute(some, workers=on))))
            spent[name].append(cpu(client) - before)
    wall, used = ({k: min(v) for k, v in d.items()} for d in (walls, spent))
    report.write(
        "",
        f"32 tasks of {seconds(used['1'] / 32)} of CPU: {seconds(wall['1'])} on one worker, {seconds(wall['2'])} on "
        f"two, efficiency {wall['1'] / wall['2'] / 2:.0%} (least of {ROUNDS} rounds; other work on the machine: a load "
        f"of {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores). CPU of all workers: {seconds(used['1'])} and "
        f"{seconds(used['2'])}.",
    )


def moved(client: distributed.Client, report: Report) -> None:
    """Return the bytes sent between workers, and the least possible number."""
    report.write("", "| what is moved | bytes | least |", "|---|---|---|")
    w = Tensor(np.zeros((1000, 1000), "float32")).realize()
    y = client.persist(da.random.default_rng(0).standard_normal((200, 1000), chunks=(1, 1000), dtype="float32"))
    distributed.wait(y)
    before = received(client)
    vmap(lambda a: (a @ w).sum())(y).compute()
    found = readable(received(client) - before)
    report.write(f"| what all share, for 200 tasks | {found} | {readable(w.nbytes())} to a second one |")
    x = client.persist(da.random.default_rng(0).standard_normal((4000, 500), chunks=(500, 500), dtype="float32"))
    distributed.wait(x)
    before = received(client)
    vmap(lambda a: vmap(lambda b: (a * b).sum())(x))(x).sum().compute()
    report.write(
        f"| all pairs of 8 chunks on two workers | {readable(received(client) - before)} | {readable(x.nbytes)} |"
    )


def bench(report: Report) -> None:
    report.write(*_LEGEND, "")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
    ) as cluster, distributed.Client(cluster) as client:  # fmt: skip
        for part in (rates, efficiency, moved):
            part(client, report)


if __name__ == "__main__":
    bench(Report())
