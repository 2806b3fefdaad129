"""Errors in a queue manager in Python: the exception reaches the caller, and no output is half-written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from conftest import SHORT, Process, entries
from shells import alive, eventually

RAISING = {
    "attach": "limits, link",
    "enqueue": "cx, meta, queue",
    "dequeue": "cx, queue",
    "next_update": "",
    "overflowed": "cx, meta",
    "emptied": "cx",
    "observe": "",
}


def bad(tmp_path: Path, method: str, arguments: str, body: str = "1 / 0") -> Path:
    text = f"import sojourn as sj\n\n\nclass Bad(sj.Aqm):\n    def {method}(self, {arguments}):\n        {body}\n"
    path = tmp_path / "bad.py"
    path.write_text(text)
    (tmp_path / "bad.toml").write_text(SHORT.replace('"codel"', '"bad.py:Bad"\nlimit = "5 packets"'))
    return path


@pytest.mark.parametrize("method", RAISING)
@pytest.mark.parametrize("around", ["{}", "fq({}) overflow arrival", "{} exclude_ce"])
def test_an_exception_ends_the_run_and_is_the_cause(tmp_path: Path, method: str, around: str) -> None:
    path = bad(tmp_path, method, RAISING[method])
    sets = {"link.aqm": around.format("bad.py:Bad"), "probes.state": "100 ms"}
    scenario = sj.Scenario.load(tmp_path / "bad.toml", sets)
    shares: list[float] = []
    with pytest.raises(sj.AqmError) as raised:
        scenario.run(progress=shares.append)
    assert f"{path}:Bad: {method}" in str(raised.value)
    assert "line 6: ZeroDivisionError: division by zero" in str(raised.value)
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    assert "1 / 0" in "".join(traceback.format_exception(raised.value))
    assert 1.0 not in shares, "the run did not go on to its end"


def test_an_exception_on_a_later_link_ends_the_run_too(tmp_path: Path) -> None:
    path = bad(tmp_path, "dequeue", "cx, queue")
    more = '[[links]]\nname = "second"\nrate = "10 Mbit/s"\naqm = "bad.py:Bad"\n'
    (tmp_path / "two.toml").write_text(f'{SHORT}route = ["link", "second"]\n{more}')
    with pytest.raises(sj.AqmError, match="ZeroDivisionError") as raised:
        sj.Scenario.load(tmp_path / "two.toml").run(progress=lambda _share: None)
    assert str(path) in str(raised.value)


def test_update_and_its_times_are_checked(tmp_path: Path) -> None:
    class Stuck(sj.Aqm):
        def next_update(self) -> int:
            return 1_000_000

    class Misusing(sj.Aqm):
        def next_update(self) -> Any:
            return "soon"

    with pytest.raises(sj.AqmError, match="1000000 ns is not after the update at 1000000 ns"):
        sj.Scenario.parse(SHORT, {"link.aqm": Stuck}).run()
    with pytest.raises(sj.AqmError, match="next_update: TypeError"):
        sj.Queue(Misusing)


@pytest.mark.parametrize(
    ("method", "arguments", "body", "message"),
    [
        ("enqueue", "cx, meta, queue", "return 5", r'5 is not a verdict; return "accept", "mark" or "drop"'),
        ("enqueue", "cx, meta, queue", "queue.pop()", "may be popped only in dequeue"),
        ("dequeue", "cx, queue", "queue.pop(); queue.pop()", "may be popped only once per dequeue"),
        ("dequeue", "cx, queue", "pass", "1 packets are queued but none was taken; end with return queue.pop()"),
        ("dequeue", "cx, queue", "queue.drop(0, 'boredom')", "reason: .*boredom"),
        ("dequeue", "cx", "pass", "TypeError"),
        ("observe", "", "return {'a': 'b'}", "TypeError"),
        ("dequeue", "cx, queue", r"raise ValueError('one\ntwo')", "ValueError: one: two$"),
        ("dequeue", "cx, queue", "assert cx is None", "AssertionError$"),
    ],
)
def test_misuse_names_the_remedy(tmp_path: Path, method: str, arguments: str, body: str, message: str) -> None:
    path = bad(tmp_path, method, arguments, body)
    queue = sj.Queue(f"{path}:Bad")
    with pytest.raises(sj.AqmError, match=message):
        queue.push(0)
        queue.pop(1)
        queue.state()


def test_a_queue_goes_on_after_an_exception(tmp_path: Path) -> None:
    path = bad(tmp_path, "dequeue", "cx, queue", "return queue.pop() if cx.now > 5 else 1 / 0")
    queue = sj.Queue(f"{path}:Bad")
    queue.push(0, tag="a")
    with pytest.raises(sj.AqmError, match="division"):
        queue.pop(1)
    assert queue.pop(6).tag == "a"


class Keeper(sj.Aqm):
    """Stores the arguments of a call, and uses them in a later call."""

    kept: list[Any] = []  # noqa: RUF012
    then: Callable[[], object] | None = None

    def enqueue(self, cx: Any, meta: Any, queue: Any) -> None:
        Keeper.kept = [cx, meta, queue]
        if Keeper.then:
            Keeper.then()


def test_arguments_are_invalid_after_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    class Local(Keeper):
        """Runs in this process, so that the test can read the stored arguments."""

    queue = sj.Queue(Local)
    queue.push(7, 100, flow=4)
    cx, meta, fifo = Keeper.kept
    del queue
    for use in (lambda: len(fifo), lambda: fifo.bytes, fifo.meta, fifo.mark, fifo.drop, lambda: fifo.total_packets):
        with pytest.raises(RuntimeError, match="only within the call"):
            use()
    with pytest.raises(RuntimeError, match="only in dequeue"):
        fifo.pop()
    for draw in (cx.random, lambda: cx.below(2)):
        with pytest.raises(RuntimeError, match="only within the call"):
            draw()
    assert (cx.now, meta.len, meta.flow) == (7, 100, 4), "copies stay"

    raised: list[BaseException] = []

    def use_elsewhere() -> None:
        try:
            Keeper.kept[2].meta(0)
        except RuntimeError as error:
            raised.append(error)

    def in_another_thread() -> None:
        thread = threading.Thread(target=use_elsewhere)
        thread.start()
        thread.join()

    monkeypatch.setattr(Keeper, "then", staticmethod(in_another_thread))
    sj.Queue(Local).push(8)
    assert "in the same thread" in str(raised[0])


def test_a_queue_within_a_queue_keeps_them_apart() -> None:
    inner = sj.Queue("droptail")
    seen: list[int] = []

    class Outer(sj.Aqm):
        def enqueue(self, cx: Any, meta: Any, queue: Any) -> None:
            inner.push(cx.now)
            inner_own.push(cx.now)
            seen.append(len(queue))

    inner_own = sj.Queue(Keeper)
    outer = sj.Queue(Outer)
    for now in range(3):
        outer.push(now)
    assert seen == [0, 1, 2]
    assert len(inner) == len(inner_own) == 3


def test_the_command_reports_one_line_and_writes_nothing(tmp_path: Path, process: Process) -> None:
    bad(tmp_path, "dequeue", "cx, queue", "return queue.pop() if cx.now < 1_000_000_000 else {}['count']")
    (tmp_path / "study.toml").write_text((tmp_path / "bad.toml").read_text() + "[sweep]\nseeds = 2\n")
    for command in (
        ["run", "bad.toml"],
        ["sweep", "study.toml", "--jobs", "2"],
        ["compare", "--aqm", "bad.py:Bad", "--duration", "3s"],
        ["compare", "--aqm", "bad.py:Bad,fq(bad.py:Bad)", "--duration", "3s", "--seeds", "2", "--jobs", "2"],
    ):
        ran = process(*command, "-o", "out")
        assert ran.returncode == 2, ran.stderr
        [line] = [line for line in ran.stderr.splitlines() if "%" not in line]
        assert line.startswith(f"Error: {tmp_path}/bad.py:Bad: dequeue at 1.")
        assert line.endswith("s, line 6: KeyError: 'count'")
        assert not (tmp_path / "out").exists() or not entries(tmp_path / "out")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("class Bad(sj.Aqm)\n", "bad.py: cannot be loaded: SyntaxError"),
        ("import sojourn as sj\nsj.nothing\n", "bad.py: cannot be loaded: AttributeError"),
        (
            "import sojourn as sj\nclass Bad(sj.Aqm):\n    def emptied(self, cx): pass\n    def __init__(self):\n"
            "        self.a = [][0]\n",
            "Bad: __init__, line 5: IndexError",
        ),
        ("raise SystemExit(7)\n", "bad.py: cannot be loaded: SystemExit: 7"),
        (
            "class Odd(Exception):\n    def __str__(self):\n        return 1 / 0\nraise Odd\n",
            "bad.py: cannot be loaded: Odd: its message cannot be read",
        ),
    ],
)
def test_a_file_that_cannot_be_loaded(tmp_path: Path, process: Process, text: str, message: str) -> None:
    bad(tmp_path, "emptied", "cx").write_text(text)
    ran = process("run", "bad.toml", "-o", "out")
    assert ran.returncode == 2
    assert message in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
    with pytest.raises(sj.AqmError) as raised:
        sj.Scenario.load(tmp_path / "bad.toml")
    assert raised.value.__cause__ is not None


def test_defaults_that_init_refuses_do_not_matter_where_others_are_given(tmp_path: Path, process: Process) -> None:
    path = bad(tmp_path, "enqueue", "cx, meta, queue", "return None")
    init = "    def __init__(self, depth: int = 0):\n        self.share = 1 / depth\n"
    path.write_text(path.read_text() + init)
    ran = process("run", "bad.toml", "-o", "out")
    assert ran.returncode == 2
    assert "__init__" in ran.stderr and "ZeroDivisionError" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
    requests = ["--set", 'link.aqm="bad.py:Bad depth 4"']
    ran = process("run", "bad.toml", "-o", "out", *requests)
    assert ran.returncode == 0, ran.stderr
    ran = process("aqm", "show", "bad.py:Bad depth 4")
    assert ran.returncode == 0, ran.stderr


def test_a_process_that_dies_is_reported(tmp_path: Path, process: Process) -> None:
    bad(tmp_path, "dequeue", "cx, queue", "__import__('os')._exit(7)")
    ran = process("compare", "--aqm", "bad.py:Bad", "--seeds", "2", "--duration", "2s", "-o", "out")
    assert ran.returncode == 2
    assert "bad.py:Bad: its process died with status 7" in ran.stderr


def test_an_exception_from_a_process_has_its_traceback(tmp_path: Path) -> None:
    path = bad(tmp_path, "emptied", "cx")
    with pytest.raises(sj.AqmError) as raised:
        sj.compare([f"{path}:Bad"], seeds=2, duration="2 s")
    assert "1 / 0" in "".join(traceback.format_exception(raised.value))


def test_ctrl_c_passes_through_a_manager_in_a_program(tmp_path: Path) -> None:
    class Interrupted(sj.Aqm):
        def dequeue(self, cx: Any, queue: Any) -> Any:
            os.kill(os.getpid(), signal.SIGINT)
            return queue.pop()

    with pytest.raises(KeyboardInterrupt):
        sj.Scenario.parse(SHORT, {"link.aqm": Interrupted}).run()


@pytest.mark.parametrize("seeds", ["1", "2"])
def test_ctrl_c_ends_a_command_that_hangs_in_a_manager(tmp_path: Path, seeds: str) -> None:
    body = f"open({str(tmp_path / 'pid')!r} + str(__import__('os').getpid()), 'w').close()\n        while True: pass"
    bad(tmp_path, "dequeue", "cx, queue", body)
    command = [sys.executable, "-m", "sojourn", "compare", "--aqm", "bad.py:Bad", "--seeds", seeds, "-o", "out"]
    running = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True)
    eventually(lambda: bool(list(tmp_path.glob("pid*"))))
    os.killpg(running.pid, signal.SIGINT)
    assert running.wait(60) == 130
    assert "Interrupted" in running.communicate()[1]
    # Also a process that started meanwhile has ended, and left nothing.
    eventually(lambda: not any(alive(int(path.name[3:])) for path in tmp_path.glob("pid*")))
    eventually(lambda: not entries(tmp_path) & {"out"} or not entries(tmp_path / "out"))


def test_the_process_of_a_run_ends_after_its_parent() -> None:
    parent = subprocess.Popen([sys.executable, "-c", ""])
    parent.wait(60)
    command = [sys.executable, "-m", "sojourn.studies.runs.worker", str(parent.pid)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as orphan:
        assert orphan.wait(60) == 130
