"""One clang process compiles several kernels: its output, and its failures."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tinygrad import Device, Tensor
from tinygrad.runtime.support.elf import jit_loader

from branded import BrandedError
from branded.backends.cpu.runtime import native
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.speed import clang_batches
from branded.tinygrad_compat.speed.clang_batches import ClangCommand

pytestmark = pytest.mark.enabled("cpu")

KERNELS = [
    f"void k{i}(float* restrict x) {{ for (int j = 0; j < {i + 8}; j++) x[j] = x[j] * {i} + 1; }}" for i in range(12)
]
WRONG = "void k(float* x) { x[0] = ; }"
WARNS = "int k(int* x) { x[0] == 1; return x[0]; }"

if (
    not isinstance(getattr(Device["CPU"].renderer, "compiler", None), private_api.ClangCompiler)
    or not clang_batches._original
):
    pytest.skip("clang does not compile here", allow_module_level=True)

COMPILER: Any = Device["CPU"].renderer.compiler


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[clang_batches._Clangs]:
    """An empty set of clang processes for this test."""
    if (command := clang_batches._command(COMPILER)) is None or command.cc1 is None:
        COMPILER.compile(KERNELS[0])
    monkeypatch.setattr(clang_batches, "clangs", own := clang_batches._Clangs())
    yield own
    own.end()


def by_tinygrad(source: str) -> bytes:
    code: bytes = clang_batches._original[0](COMPILER, source)
    return code


def machine_code(code: bytes) -> bytes:
    """Return the machine code, without the name of its file."""
    program = private_api.CPUProgram
    out: bytes = jit_loader(code, base=0, link_libs=[program.libm, program.rt_lib])
    return out


def wait_until(holds: Callable[[], bool]) -> bool:
    """Wait until the condition holds, for at most 30 seconds, and return whether it does."""
    end = time.monotonic() + 30
    while not (held := holds()) and time.monotonic() < end:
        time.sleep(0.01)
    return held


def record_calls(monkeypatch: pytest.MonkeyPatch, place: Any, name: str) -> list[Any]:
    """Record the arguments of each call of a function."""
    calls: list[Any] = []
    original = getattr(place, name)

    def noted(*args: Any, **options: Any) -> Any:
        calls.append(args)
        return original(*args, **options)

    monkeypatch.setattr(place, name, noted)
    return calls


def test_twelve_kernels_start_clang_once(alone: clang_batches._Clangs, monkeypatch: pytest.MonkeyPatch) -> None:
    started = record_calls(monkeypatch, subprocess, "Popen")
    codes = [COMPILER.compile(source) for source in KERNELS]
    assert len(started) == 1 and alone.all[0].made == len(KERNELS)
    monkeypatch.undo()
    assert [machine_code(codes[i]) for i in (0, 11)] == [machine_code(by_tinygrad(KERNELS[i])) for i in (0, 11)]
    assert len({machine_code(code) for code in codes}) == len(KERNELS)


def test_next_clang_starts_after_last_file(alone: clang_batches._Clangs) -> None:
    for _ in range(clang_batches.FILES - 1):
        COMPILER.compile(KERNELS[0])
    (first,) = alone.all
    COMPILER.compile(KERNELS[0])
    assert alone.all == [] and first.process.returncode is not None
    COMPILER.compile(KERNELS[0])
    assert len(alone.all) == 1 and alone.all[0] is not first


def test_source_longer_than_a_pipe_buffer(alone: clang_batches._Clangs) -> None:
    code = COMPILER.compile(f"/* {'x' * 300_000} */{KERNELS[1]}")
    assert machine_code(code) == machine_code(COMPILER.compile(KERNELS[1])) and alone.all[0].made == 2


def test_failed_kernel_does_not_break_the_next(alone: clang_batches._Clangs, capfd: pytest.CaptureFixture[str]) -> None:
    before = COMPILER.compile(KERNELS[2])
    with pytest.raises(BrandedError, match="the chosen C compiler rejects tinygrad's code"):
        COMPILER.compile(WRONG)
    assert "<stdin>:1:27: error: expected expression" in capfd.readouterr().err
    assert alone.all == []
    assert machine_code(COMPILER.compile(KERNELS[2])) == machine_code(before) and alone.all[0].made == 1


def test_warning_is_printed(alone: clang_batches._Clangs, capfd: pytest.CaptureFixture[str]) -> None:
    assert machine_code(COMPILER.compile(WARNS)) == machine_code(by_tinygrad(WARNS))
    assert capfd.readouterr().err.count("warning: equality comparison result unused") == 2


def test_killed_clang_is_replaced(alone: clang_batches._Clangs) -> None:
    before = COMPILER.compile(KERNELS[3])
    alone.all[0].process.send_signal(signal.SIGKILL)
    alone.all[0].process.wait()
    assert machine_code(COMPILER.compile(KERNELS[3])) == machine_code(before) and alone.all == []
    COMPILER.compile(KERNELS[3])
    assert len(alone.all) == 1


def test_interrupt_discards_half_fed_clang(alone: clang_batches._Clangs, monkeypatch: pytest.MonkeyPatch) -> None:
    COMPILER.compile(KERNELS[4])
    one = alone.all[0]

    def interrupted(*_: Any) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(os, "write", interrupted)
        COMPILER.compile(KERNELS[4])
    assert alone.all == alone.free == [] and one.process.returncode == -signal.SIGKILL


def test_clang_ends_when_its_pipes_close(alone: clang_batches._Clangs) -> None:
    """The pipes also close when the parent process is killed."""
    COMPILER.compile(KERNELS[5])
    one = alone.all.pop()
    one._close()
    assert one.process.wait(timeout=60) is not None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_forked_child_closes_the_pipes(alone: clang_batches._Clangs) -> None:
    """If the child kept a write end open, clang would wait for more source."""
    right = COMPILER.compile(KERNELS[6])
    read, end = os.pipe()
    if not (child := os.fork()):
        os.close(end)
        mine = alone.all == [] and machine_code(COMPILER.compile(KERNELS[6])) == machine_code(right)
        os.read(read, 1)  # until the parent has compiled
        alone.end()
        os._exit(0 if mine else 1)
    os.close(read)
    assert machine_code(COMPILER.compile(KERNELS[6])) == machine_code(right) and alone.all[0].made == 2
    os.close(end)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_fork_while_a_thread_compiles(alone: clang_batches._Clangs) -> None:
    """The child closes the pipe that the thread reads, without taking the thread's lock."""
    one = clang_batches.Clang(ClangCommand(cc1=["sh", "-c", "exec sleep 60", "sh"]))
    alone.all.append(one)
    thread = threading.Thread(target=one.compile, args=(b"",))
    thread.start()
    wait_until(lambda: len(one.ends) < clang_batches.FILES)
    time.sleep(0.05)  # the thread reads now
    if not (child := os.fork()):
        os._exit(0 if alone.all == [] else 1)
    found: list[int] = []

    def has_ended() -> bool:
        pid, status = os.waitpid(child, os.WNOHANG)
        found.extend([status] * (pid == child))
        return bool(found)

    if not wait_until(has_ended):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    alone.all.remove(one)
    one.end()
    thread.join()
    assert found == [0]


def test_compiler_without_output_is_given_up(alone: clang_batches._Clangs, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong, missing = ClangCommand(cc1=["false"]), ClangCommand(cc1=["/no/compiler"])
    assert [alone.compile(wrong, b"") for _ in range(clang_batches.FAILURES)] == [None] * clang_batches.FAILURES
    assert alone.all == [] and alone.start(wrong) is None
    monkeypatch.setattr(alone, "failures", 0)
    assert alone.compile(missing, b"") is None and alone.failures == 1


def test_clang_with_short_output_is_not_awaited() -> None:
    """After the short output, clang may already wait for the next file."""
    one = clang_batches.Clang(ClangCommand(cc1=["sh", "-c", "echo no; exec sleep 60", "sh"]))
    assert one.compile(b"") is None and one.process.poll() is None
    one.end()


def test_program_may_close_all_descriptors(alone: clang_batches._Clangs) -> None:
    before = COMPILER.compile(KERNELS[7])
    (one,) = alone.all
    assert one.process.stdout is not None
    for end in (*one.ends, one.process.stdout.fileno()):
        os.close(end)
    assert machine_code(COMPILER.compile(KERNELS[7])) == machine_code(before) and alone.all == []


@pytest.mark.parametrize("cc", ["true", "false", "echo", "/no/compiler"])
def test_other_compilers_use_the_driver(
    cc: str, alone: clang_batches._Clangs, kept: dict[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clang_batches, "_driver_command", lambda *_: [cc, "-c", "-", "-o", "-"])
    assert [clang_batches.compile_source(COMPILER, b"") for _ in range(2)] == [None, None] and alone.failures == 1
    assert list(clang_batches._known.values()) == [None] and kept == {} and alone.all == []


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> dict[Any, Any]:
    """Replace the disk cache by an empty dict, and forget the known commands."""
    kept: dict[Any, Any] = {}
    monkeypatch.setattr(clang_batches, "_known", {})
    monkeypatch.setattr(private_api.helpers, "diskcache_get", lambda table, key: kept.get((table, key)))
    monkeypatch.setattr(
        private_api.helpers, "diskcache_put", lambda table, key, value: kept.setdefault((table, key), value)
    )
    return kept


def test_first_kernel_reveals_the_cc1_command(
    alone: clang_batches._Clangs, kept: dict[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    started = record_calls(monkeypatch, subprocess, "Popen")
    clang_batches.ready(COMPILER)
    codes = [COMPILER.compile(source) for source in KERNELS[:2]]
    assert alone.all[0].made == 2 and alone.all[0].log == -1
    (words,) = kept.values()
    alone.end()
    codes.append(COMPILER.compile(KERNELS[2]))
    assert ["-cc1" in call[0] for call in started] == [False, True] and started[1][0][: len(words)] == words
    monkeypatch.undo()
    assert [*map(machine_code, codes)] == [machine_code(by_tinygrad(source)) for source in KERNELS[:3]]


def test_cc1_command_is_cached_on_disk(
    alone: clang_batches._Clangs, kept: dict[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    COMPILER.compile(KERNELS[0])
    (words,) = kept.values()

    def cached() -> Any:
        clang_batches._known.clear()
        command = clang_batches._command(COMPILER)
        return command and command.cc1

    assert "-cc1" in words and cached() == words
    monkeypatch.setattr(clang_batches, "features", lambda: "of another machine")
    assert cached() is None


@pytest.mark.parametrize("source", [WARNS, WRONG])
def test_first_kernel_may_fail_to_compile(
    source: str, alone: clang_batches._Clangs, kept: dict[Any, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    if source is WRONG:
        with pytest.raises(BrandedError, match="the chosen C compiler rejects tinygrad's code"):
            COMPILER.compile(source)
    else:
        assert machine_code(COMPILER.compile(source)) == machine_code(by_tinygrad(source))
    assert "<stdin>:1:" in capfd.readouterr().err
    assert machine_code(COMPILER.compile(KERNELS[2])) == machine_code(by_tinygrad(KERNELS[2]))
    assert len(kept) == 1  # the command


def test_replay_source_matches_tinygrads_compiler(alone: clang_batches._Clangs) -> None:
    assert machine_code(COMPILER.compile(native._SOURCE)) == machine_code(by_tinygrad(native._SOURCE))


def test_kernels_of_a_program_start_clang_once(alone: clang_batches._Clangs, monkeypatch: pytest.MonkeyPatch) -> None:
    number = int.from_bytes(os.urandom(4)) / 7  # not in any cache
    starts = record_calls(monkeypatch, alone, "start")
    monkeypatch.setattr(private_api.worker.PARALLEL, "value", 1)
    x = Tensor([1.0, 2.0, 3.0]).realize()
    ys = [(x * number + i).contiguous() for i in range(4)]
    Tensor.realize(*ys, *[(y * number).sum().contiguous() for y in ys[:2]])
    assert len(starts) == 1 and alone.all[0].made >= 2  # files of several kernels


def test_new_compiler_does_not_hang(alone: clang_batches._Clangs, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that holds tinygrad's lock must not wait for a thread that asks for this lock."""
    monkeypatch.setattr(clang_batches, "_known", {})
    monkeypatch.setattr(clang_batches, "features", lambda: f"of a machine like {os.urandom(8)!r}")
    monkeypatch.setattr(private_api.worker.PARALLEL, "value", 1)
    number = int.from_bytes(os.urandom(4)) / 7  # not in any cache
    x = Tensor([1.0, 2.0, 3.0]).realize()
    ys = [(x * number + i).contiguous() for i in range(3)]
    own = threading.Thread(target=Tensor.realize, args=ys, daemon=True)
    own.start()
    own.join(60)
    (command,) = clang_batches._known.values()
    assert not own.is_alive() and command is not None and command.cc1 is not None


def test_program_can_wait_for_all_its_children() -> None:
    program = (
        "import os, branded; from tinygrad import Tensor\n"
        "(Tensor([1.0, 2.0]).realize() * 3 + 1).tolist()\n"
        "(Tensor([1.0, 2.0, 3.0]).realize() * 5 + 1).tolist()\n"
        "if not (child := os.fork()): os._exit(0)\n"
        "reaped = []\n"
        "while True:\n"
        "    try: reaped.append(os.wait()[0])\n"
        "    except ChildProcessError: break\n"
        "print(reaped == [child], (Tensor([1.0, 2.0]).realize() * 7 + 1).tolist())"
    )
    env = {**os.environ, "CACHELEVEL": "0", "PARALLEL": "0", "DEV": "CPU"}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=120)
    assert done.stdout == "True [8.0, 15.0]\n", done.stderr
