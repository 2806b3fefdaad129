"""Calls of a congestion control in Python: their order, the fields of their arguments, and classes that misbehave."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from conftest import REPO, Process

MY_RENO, MY_CUBIC = (f"{REPO}/examples/python-cc/my_{name}.py:My{name.title()}" for name in ("reno", "cubic"))
REORDERED = ",".join(f"{45 if i % 2 else 5} ms@{150 * i} ms" for i in range(60))
SPIKES = "5 ms@0s,700 ms@3s,5 ms@4100ms,700 ms@7s,5 ms@8s"
OUTAGE = "9.7 Mbit/s@0s,0 bit/s@3s,9.7 Mbit/s@6s"


def world(cc: object, link: dict[str, Any] | None = None, **flow: Any) -> sj.Scenario:
    return sj.Scenario.build(
        {
            "duration": "9 s",
            "link": {"rate": "9.7 Mbit/s", "limit": "103 packets", "delay": "5 ms", **(link or {})},
            "flows": [{"kind": "tcp", "count": 3, "spread": "870 ms", "rtt": "71 ms", "cc": cc, **flow}],
        }
    )


class Reno(sj.Cc):
    """Reno, for tests that need a control which sends as usual."""

    def ssthresh(self, cx: Any) -> Any:
        return max(cx.cwnd // 2, 2)

    def grow(self, cx: Any, ack: Any) -> None:
        if cx.in_slow_start:
            cx.cwnd += ack.packets
            return
        more, cx.cwnd_cnt = divmod(cx.cwnd_cnt + ack.packets, cx.cwnd)
        cx.cwnd += more


@pytest.mark.parametrize(
    ("link", "flow"),
    [
        ({"rate": "96.1 Mbit/s", "limit": "307 packets"}, {"rtt": "187 ms"}),  # cubic region
        ({"rate": "4.9 Mbit/s"}, {"rtt": "11 ms"}),  # Reno's region
        ({"loss": {"p": 0.002, "r": 0.2}}, {}),
        ({"delay": REORDERED, "reorder": True, "limit": "1000 packets"}, {}),
        ({"delay": REORDERED, "reorder": True}, {"sack": False}),
        ({"delay": SPIKES}, {}),  # needless time-outs, undone
        ({"rate": OUTAGE}, {}),
        ({"rate": OUTAGE}, {"stack": "quic-rfc9002"}),
        ({"loss": "1%"}, {"stack": "quic-rfc9002", "size": "313 kB", "pause": "770 ms", "count": 5}),
    ],
)
@pytest.mark.parametrize(("builtin", "own"), [("reno", MY_RENO), ("cubic", MY_CUBIC)])
def test_a_disturbed_path_makes_no_difference(builtin: str, own: str, link: dict[str, Any], flow: Any) -> None:
    for seed in (101, 1009):
        reference, local = (world(cc, link, **flow).run(seed) for cc in (builtin, own))
        assert local.fingerprint == reference.fingerprint
        assert local.totals["links"]["forward"]["dropped"] + local.totals["groups"][0]["retransmissions"] > 10


def test_reno_of_linux_3_13_counts_acknowledgments() -> None:
    class OldReno(sj.Cc):
        """Reno as before Linux 3.18: slow start up to the threshold and one more, then acknowledgments."""

        needs = ("partial_ack_ends",)

        def ssthresh(self, cx: Any) -> int:
            return max(cx.cwnd // 2, 2)

        def grow(self, cx: Any, ack: Any) -> None:
            if cx.in_slow_start:
                cx.cwnd = min(cx.cwnd + ack.packets, cx.ssthresh + 1)
            elif cx.cwnd_cnt >= cx.cwnd:
                cx.cwnd, cx.cwnd_cnt = cx.cwnd + 1, 0
            else:
                cx.cwnd_cnt += 1

    for link in ({}, {"aqm": "codel"}, {"loss": "1%"}, {"delay": SPIKES}):
        reference, local = (world(cc, link, stack="linux-3.13").run(7) for cc in ("reno", OldReno))
        assert local.fingerprint == reference.fingerprint


Call = tuple[str, dict[str, Any], tuple[Any, ...]]
FIELDS = ("now", "cwnd", "ssthresh", "srtt", "min_rtt", "in_flight", "packets_out", "una", "nxt", "delivered", "lost")
PLAIN = {
    name: (lambda *_: None) for name in ("start", "acked", "delivered", "state", "idle", "reduced", "timed_out", "sent")
}


def recorder(base: type[sj.Cc], methods: dict[str, Callable[..., Any]]) -> tuple[type[sj.Cc], dict[Any, list[Call]]]:
    """A class with these methods that logs its calls, and its log: the calls of each instance."""
    log: dict[Any, list[Call]] = {}

    def logged(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Any, cx: Any, *args: Any) -> Any:
            log.setdefault(self.key, []).append((name, {field: getattr(cx, field) for field in FIELDS}, args))
            return method(self, cx, *args)

        return call

    def init(self: Any) -> None:
        self.key = object()

    body = {name: logged(name, method) for name, method in methods.items()}
    return type("Recorder", (base,), {"__init__": init, "__module__": "__main__", **body}), log


@pytest.mark.parametrize("stack", ["linux-6.1", "quic-rfc9002"])
@pytest.mark.parametrize("link", [{"loss": "1%"}, {"aqm": "codel ecn"}, {"rate": OUTAGE}])
def test_fields_are_those_of_the_moment(link: dict[str, Any], stack: str) -> None:
    cls, log = recorder(Reno, {"ssthresh": Reno.ssthresh, "grow": Reno.grow, **PLAIN})
    result = world(cls, link, stack=stack, ecn=True).run(5)
    assert len(log) == 3, "an instance per connection"
    names = Counter(name for calls in log.values() for name, _, _ in calls)
    assert names["start"] == 3
    for calls in log.values():
        assert [name for name, _, _ in calls[:3]] == ["start", "idle", "sent"]
        for (_, before, _), (name, cx, _) in pairwise(calls):
            assert all(before[field] <= cx[field] for field in ("now", "una", "nxt", "delivered", "lost")), name
        for name, cx, _ in calls:
            assert cx["in_flight"] <= cx["packets_out"], name
            assert cx["una"] <= cx["nxt"], name
            assert 70_000_000 <= cx["min_rtt"] <= cx["srtt"] * 1.1, name
            assert cx["cwnd"] >= 1, name
    sent = sum(args[0] for calls in log.values() for name, _, args in calls if name == "sent")
    assert sent >= result.totals["groups"][0]["delivered_bytes"]
    packets, marked = (
        sum(args[i] for calls in log.values() for name, _, args in calls if name == "delivered") for i in (0, 1)
    )
    if stack == "quic-rfc9002":
        assert 0 <= result.totals["links"]["forward"]["marked"] - marked <= 20, "those under way are not reported yet"
    assert packets > 1000
    assert names["ssthresh"] > 0
    if "rate" in link and stack == "linux-6.1":
        assert names["timed_out"] == result.totals["groups"][0]["timeouts"] > 0


def test_a_reduction_is_seen_in_order() -> None:
    cls, log = recorder(Reno, {"ssthresh": Reno.ssthresh, "grow": Reno.grow, **PLAIN})
    world(cls, {"aqm": "codel ecn"}, ecn=True).run(5)
    entered = {args for calls in log.values() for name, _, args in calls if name == "state"}
    assert entered >= {("open",), ("disorder",), ("cwr",), ("recovery",)}
    for calls in log.values():
        for i, (name, cx, args) in enumerate(calls):
            if name == "state" and args == ("cwr",):
                assert calls[i - 1][0] == "ssthresh"
                assert cx["ssthresh"] == max(calls[i - 1][1]["cwnd"] // 2, 2)
            if name == "reduced":
                assert cx["cwnd"] == cx["ssthresh"]
                # As in Linux: the state follows the end of CWR and precedes that of recovery.
                assert ("state", ("open",)) in [(calls[j][0], calls[j][2]) for j in (i - 1, i + 1)]


def test_absent_methods_leave_the_run_as_it_is() -> None:
    cls, _ = recorder(Reno, PLAIN)
    for link in ({}, {"loss": "1%"}, {"delay": SPIKES}):
        assert world(cls, link).run(3).fingerprint == world(Reno, link).run(3).fingerprint


def test_undo_decides_the_window_after_a_needless_time_out() -> None:
    undone = []

    class Undoing(Reno):
        def undo(self, cx: Any) -> int:
            undone.append((cx.cwnd, cx.prior_cwnd))
            return 3

    class Keeping(Reno):
        def undo(self, cx: Any) -> int:
            return max(cx.cwnd, cx.prior_cwnd)

    runs = [world(cls, {"delay": SPIKES}).run(3) for cls in (Reno, Keeping, Undoing)]
    assert undone
    assert all(prior > 1 for _, prior in undone)
    assert runs[0].fingerprint == runs[1].fingerprint != runs[2].fingerprint


def test_a_control_that_steers_gets_samples_losses_and_events() -> None:
    def steer(self: Any, cx: Any, sample: Any) -> None:
        assert sample.interval is None or sample.interval > 0
        assert sample.rtt is None or sample.rtt >= cx.min_rtt
        assert sample.losses <= cx.lost
        cx.cwnd = 60

    names = ("start", "state", "idle", "lost", "congestion", "sent", "delivered")
    for stack in ("linux-6.1", "quic-rfc9002"):
        cls, log = recorder(sj.Cc, {"ack": steer, **{name: (lambda *_: None) for name in names}})
        world(cls, {"aqm": "codel ecn"}, stack=stack, ecn=True).run(5)
        made = Counter(name for calls in log.values() for name, _, _ in calls)
        assert made["ack"] == made["delivered"] > 1000
        assert made["lost"] > 10
        events = {args[0] for calls in log.values() for name, _, args in calls if name == "congestion"}
        assert events >= {"loss", "ecn"}
        for calls in log.values():
            assert calls[-1][1]["lost"] >= sum(name == "lost" for name, _, _ in calls)


def test_connections_draw_different_numbers() -> None:
    drawn: dict[int, list[Any]] = {}

    class Drawing(Reno):
        def start(self, cx: Any) -> None:
            drawn[len(drawn)] = [cx.random(), cx.random(), cx.below(1000)]

    world(Drawing, count=5).run(3)
    first = dict(drawn)
    assert len({tuple(numbers) for numbers in first.values()}) == 5
    assert all(0 <= numbers[0] < 1 and 0 <= numbers[2] < 1000 for numbers in first.values())
    drawn.clear()
    world(Drawing, count=5).run(3)
    assert drawn == first


def test_cx_cannot_be_used_after_its_call() -> None:
    kept: list[Any] = []

    class Keeping(Reno):
        def acked(self, cx: Any, ack: Any) -> None:
            kept[:] = [cx, ack]

    world(Keeping).run(3)
    cx, ack = kept
    for use in (
        lambda: setattr(cx, "cwnd", 5),
        lambda: setattr(cx, "exact_burst", True),
        cx.mark_app_limited,
        cx.random,
        lambda: cx.below(2),
    ):
        with pytest.raises(RuntimeError, match="cx may be used only within the call that received it"):
            use()
    assert ack.packets > 0, "a copy"


@pytest.mark.parametrize(
    ("line", "reported"),
    [
        ("cx.cwnd = 5", "Mine: ssthresh: changes the window; return the value instead (at "),
        ("return 1 << 31", "Mine: ssthresh: its value is 2147483648; keep it from 1 to 2147483647 (at "),
        ("cx.ssthresh = 1 << 31", "Mine: ssthresh: ssthresh is 2147483648; keep it from 1 to 2147483647 (at "),
        ("cx.mss = 5", "is not writable"),
        ("cx.cwind = 5", "no attribute 'cwind'"),
        ("cx.below(0)", r"below\(0\) has no result; give at least 1"),
    ],
)
def test_ssthresh_returns_a_value_and_leaves_the_window(tmp_path: Path, line: str, reported: str) -> None:
    cc = written(tmp_path, f"def ssthresh(self, cx):\n    {line}\n    return 5\n{GROW}")
    with pytest.raises(sj.AqmError, match=reported.replace("(at", r"\(at")):
        world(cc).run(1)


def test_a_pacing_rate_of_zero_is_refused(tmp_path: Path) -> None:
    cc = written(tmp_path, "needs = ('paces',)\ndef ack(self, cx, sample):\n    cx.pacing_rate = 0\n")
    with pytest.raises(sj.AqmError, match="ack: pacing_rate is 0; give a rate in bit/s, or leave it unpaced"):
        world(cc).run(1)


GROW = "def grow(self, cx, ack):\n    cx.cwnd += ack.packets\n"
HALVES = "def ssthresh(self, cx):\n    return max(cx.cwnd // 2, 2)\n"


def written(folder: Path, methods: str) -> str:
    body = "\n".join(f"    {line}" for line in methods.splitlines())
    (folder / "mine.py").write_text(f"import os\nimport sojourn as sj\n\n\nclass Mine(sj.Cc):\n{body}\n")
    return f"{folder}/mine.py:Mine"


def test_an_exception_is_the_cause_and_keyboard_interrupt_passes(tmp_path: Path) -> None:
    raising = "{}def grow(self, cx, ack):\n    raise {}\n"
    with pytest.raises(sj.AqmError, match=r"Mine: grow at 0\.\d+ s, line 9: KeyError: 'x'") as raised:
        world(written(tmp_path, raising.format(HALVES, "KeyError('x')"))).run(1)
    assert isinstance(raised.value.__cause__, KeyError)
    with pytest.raises(KeyboardInterrupt):
        world(written(tmp_path, raising.format(HALVES, "KeyboardInterrupt"))).run(1)


@pytest.mark.parametrize(
    ("line", "reported"),
    [
        ("self.grow(cx, ack)", "line 10: RecursionError: maximum recursion depth exceeded"),
        ("raise Hidden", "Hidden: its message cannot be read"),
        ("yield 5", "TypeError: returns a value that nobody takes"),
        ("__import__('copy').deepcopy(cx)", "cannot pickle 'sojourn._core.Flight' object"),
        ("type(cx)()", "cannot create 'sojourn._core.Flight' instances"),
        ("raise ValueError('one\\ntwo')", "line 10: ValueError: one: two"),
        ("os._exit(7)", "mine.py:Mine: its process died with status 7"),
    ],
)
def test_a_hostile_class_ends_with_one_line(tmp_path: Path, process: Process, line: str, reported: str) -> None:
    hidden = "class Hidden(Exception):\n    def __str__(self): return 1 / 0\n"
    written(tmp_path, f"{HALVES}{GROW}    {line}\n")
    text = (tmp_path / "mine.py").read_text()
    (tmp_path / "mine.py").write_text(text.replace("\n\n\nclass", f"\n{hidden}class") if "Hidden" in line else text)
    (tmp_path / "s.toml").write_text(
        'duration = "2 s"\n[link]\nrate = "9 Mbit/s"\nlimit = "30 packets"\n'
        '[[flows]]\nkind = "tcp"\ncc = "mine.py:Mine"\n[sweep]\nseeds = 2\n'
    )
    ran = process("sweep", "s.toml", "--jobs", "2", "-o", "out")
    lines = [text for text in ran.stderr.splitlines() if "%" not in text]
    assert ran.returncode == 2, ran.stderr
    assert len(lines) == 1, lines
    assert lines[0].startswith(f"Error: {tmp_path}/mine.py:Mine")
    assert reported in lines[0]
    assert not list(tmp_path.glob("out/*/manifest.json"))


def test_a_method_replaced_at_run_time_is_that_of_later_connections() -> None:
    class Replacing(Reno):
        def start(self, cx: Any) -> None:
            type(self).grow = None  # type: ignore[assignment]

    assert world(Replacing, count=1).run(3).fingerprint == world(Reno, count=1).run(3).fingerprint
    with pytest.raises(sj.AqmError, match=r"grow at .* TypeError: 'NoneType' object is not callable"):
        world(Replacing, count=1).run(3)


def test_a_thread_cannot_use_cx_between_calls() -> None:
    raised: list[BaseException] = []

    def use(cx: Any) -> None:
        try:
            cx.cwnd = 3
        except RuntimeError as error:
            raised.append(error)

    class Sharing(Reno):
        cx: Any = None

        def start(self, cx: Any) -> None:
            type(self).cx = cx

    reference = world(Reno).run(3).fingerprint
    assert world(Sharing).run(3).fingerprint == reference
    thread = threading.Thread(target=use, args=(Sharing.cx,))
    thread.start()
    thread.join()
    assert "only within the call" in str(raised[0])
