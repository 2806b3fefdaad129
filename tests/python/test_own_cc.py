"""Congestion controls in Python: fingerprints of the built-in ones, parameters, refusals and faults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from conftest import REPO, Cli, entries
from sojourn.engines.kernel import engine as kernel
from sojourn.studies.runs.store import run_hash

EXAMPLES = REPO / "examples" / "python-cc"
OWN = {"reno": f"{EXAMPLES}/my_reno.py:MyReno", "cubic": f"{EXAMPLES}/my_cubic.py:MyCubic"}
TAIL = {"aqm": "droptail", "limit": "211 packets"}
WORLDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "tail drop": (TAIL, {}),
    "CoDel": ({"aqm": "codel"}, {}),
    "FQ-CoDel": ({"aqm": "fq_codel"}, {}),
    "ECN": ({"aqm": "codel ecn"}, {"ecn": True}),
    "loss": (TAIL | {"loss": "1%"}, {}),
    "reordering": ({"aqm": "netem delay 9ms reorder 7%"}, {}),
    "long path": (TAIL | {"rate": "97 Mbit/s", "limit": "1300 packets"}, {"rtt": "173 ms", "count": 1}),
    "transfers": (TAIL, {"size": "700 kB", "pause": "900 ms"}),
    "QUIC": (TAIL, {"stack": "quic-rfc9002"}),
    "QUIC with ECN": ({"aqm": "pie ecn"}, {"stack": "quic-rfc9002", "ecn": True}),
}


def world(cc: object, link: dict[str, Any] | None = None, **flow: Any) -> sj.Scenario:
    return sj.Scenario.build(
        {
            "duration": flow.pop("duration", "9 s"),
            "link": {"rate": "23.7 Mbit/s", "delay": "5 ms", **(link or TAIL)},
            "flows": [{"kind": "tcp", "count": 3, "spread": "730 ms", "rtt": "61 ms", "cc": cc, **flow}],
        }
    )


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("control", OWN)
def test_a_control_in_python_sends_the_packets_of_the_built_in_one(control: str, name: str) -> None:
    link, flow = WORLDS[name]
    runs = [world(cc, link, **flow).run(17) for cc in (control, OWN[control])]
    assert runs[0].fingerprint == runs[1].fingerprint
    assert runs[0].totals["goodput_bps"] > 1e6


def written(folder: Path, methods: str, head: str = "") -> str:
    """Return the name of a class with these methods, in a file of its own."""
    body = "\n".join(f"    {line}" for line in methods.strip("\n").splitlines())
    (folder / "mine.py").write_text(f"import sojourn as sj\n{head}\n\nclass Mine(sj.Cc):\n{body}\n")
    return f"{folder}/mine.py:Mine"


WINDOW = """
def ssthresh(self, cx):
    return max(cx.cwnd // 2, 2)
def grow(self, cx, ack):
    cx.cwnd += 1
"""


def test_parameters_have_units_and_the_shortest_spelling_counts(tmp_path: Path) -> None:
    init = "def __init__(self, limit='15 ms', gain=0.5, on=True):\n    self.limit = limit\n"
    name = written(tmp_path, init + WINDOW)
    spelled = world(f"{name} limit 7ms gain 0.50 noon").at("flows.0.cc")
    assert spelled == f"{name} limit 7ms noon"
    table = {"name": name, "limit": "7 ms", "on": False}
    assert world(table).at("flows.0.cc") == spelled
    for text, reported in [
        ("limti 7ms", 'unknown parameter "limti"; did you mean "limit"?'),
        ("limit 7", '"7" has no unit'),
        ("limit 7ms limit 8ms", "given twice"),
        ("limit", "limit of"),
    ]:
        with pytest.raises(sj.InputError, match=r"flows\[0\].cc: ") as caught:
            world(f"{name} {text}")
        assert reported in str(caught.value)


def test_a_class_is_a_control_of_scenarios_and_comparisons() -> None:
    class Own(sj.Cc):
        def __init__(self, share: float = 0.5) -> None:
            if not 0 < share < 1:
                raise ValueError("share must be between 0 and 1")
            self.share = share

        def ssthresh(self, cx: Any) -> int:
            return max(int(cx.cwnd * self.share), 2)

        def grow(self, cx: Any, ack: Any) -> None:
            cx.cwnd += 1 if cx.in_slow_start else 0

    found = sj.compare("codel", cc=[Own, Own(share=0.75), "reno"], duration="4 s", warmup="1 s", packets=False)
    assert found.table["cc"].to_list() == [str(Own()), str(Own(share=0.75)), "reno"]
    with pytest.raises(sj.InputError, match="share must be between 0 and 1"):
        world(f"{Own()} share 1.5")


def test_the_file_is_part_of_the_hash_of_a_result_and_its_place_is_not(tmp_path: Path) -> None:
    first = run_hash(world(written(tmp_path, WINDOW)), 3)
    (tmp_path / "moved").mkdir()
    assert run_hash(world(written(tmp_path / "moved", WINDOW)), 3) == first
    (tmp_path / "other").mkdir()
    assert run_hash(world(written(tmp_path / "other", f"{WINDOW}\n    cx.ssthresh = 70")), 3) != first


def test_no_code_refuses_a_control_before_its_file_runs(tmp_path: Path, cli: Cli) -> None:
    name = written(tmp_path, WINDOW, f"open({str(tmp_path / 'ran')!r}, 'w')")
    ran = cli("compare", "--aqm", "codel", "--cc", name, "--no-code")
    assert ran.exit_code == 2
    assert "would run its code; leave out --no-code if you trust it" in ran.output
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("methods", "reported"),
    [
        ("def on_acc(self, cx, sample): pass\n" + WINDOW, 'on_acc is never called; did you mean "ack"?'),
        ("def observe(self): pass", "defines no method that is ever called"),
        ("def grow(self, cx, ack): pass", "lacks a method that it needs"),
        (WINDOW + "def ack(self, cx, sample): pass", "defines ack and grow; a control has one of the two"),
        (WINDOW + "def lost(self, cx, loss): pass", "lost is never called without ack; leave it out"),
        ("needs = ('accurate_enc',)\n" + WINDOW, 'unknown need "accurate_enc"; did you mean "accurate_ecn"?'),
    ],
)
def test_a_class_with_a_slip_is_refused(tmp_path: Path, methods: str, reported: str) -> None:
    with pytest.raises(sj.InputError) as caught:
        world(written(tmp_path, methods))
    assert reported in str(caught.value)


@pytest.mark.parametrize(
    ("line", "reported"),
    [
        ("raise KeyError('x')", "Mine: grow at "),
        ("raise SystemExit(3)", "SystemExit"),
        ("cx.cwnd = 0", "grow: cwnd is 0; keep it from 1 to 1073741824 (at "),
        ("cx.cwnd = -5", "Mine: grow at "),
        ("cx.cwnd = 7.5", "Mine: grow at "),
        ("cx.cwnd = 1 << 31", "grow: cwnd is 2147483648; keep it from 1 to 1073741824 (at "),
        ("cx.pacing_rate = 5_000_000", "sets pacing_rate or mss; only a control with `ack` does that"),
        ("return 5", "returns a value that nobody takes; set cx.cwnd or another field"),
        ("self.grow(cx, ack)", "RecursionError"),
    ],
)
def test_a_fault_ends_the_run_with_one_line_and_no_result(tmp_path: Path, cli: Cli, line: str, reported: str) -> None:
    name = written(tmp_path, f"def ssthresh(self, cx):\n    return 2\ndef grow(self, cx, ack):\n    {line}")
    (tmp_path / "world.toml").write_text(
        f'duration = "4 s"\n[link]\nrate = "9 Mbit/s"\n[[flows]]\nkind = "tcp"\ncc = "{name}"\n'
    )
    ran = cli("run", str(tmp_path / "world.toml"), "-o", "out")
    assert ran.exit_code == 2, ran.output
    assert reported in ran.output
    assert sum(line.startswith("Error: ") for line in ran.output.splitlines()) == 1
    assert not Path("out").exists() or not entries(Path("out"))


@pytest.mark.parametrize("result", ["None", "2.5", "'two'", "-1"])
def test_a_threshold_is_a_whole_number(tmp_path: Path, result: str) -> None:
    name = written(
        tmp_path, f"def ssthresh(self, cx):\n    return {result}\ndef grow(self, cx, ack):\n    cx.cwnd += ack.packets"
    )
    with pytest.raises(sj.AqmError, match="is not a number of segments; return a whole number such as 10"):
        world(name).run(1)


def test_a_control_that_steers_fills_the_link(tmp_path: Path) -> None:
    name = written(
        tmp_path,
        """
needs = ("paces",)
def __init__(self):
    self.rate = 0
def ack(self, cx, sample):
    assert cx.in_flight <= cx.packets_out and cx.state in ("open", "disorder", "cwr", "recovery", "loss")
    if sample.interval:
        self.rate = max(self.rate, sample.delivered * cx.mss * 8 * 10**9 // sample.interval)
    if self.rate and cx.min_rtt:
        cx.pacing_rate = self.rate * 5 // 4
        cx.cwnd = max(2 * self.rate * cx.min_rtt // (8 * 10**9 * cx.mss), 4)
""",
    )
    for stack in ("linux-6.1", "quic-rfc9002"):
        goodput = world(name, count=1, stack=stack).run(3).totals["goodput_bps"]
        assert goodput > 0.8 * 23.7e6, stack


def test_another_thread_cannot_set_what_a_call_may_set(tmp_path: Path) -> None:
    kept = "def ssthresh(self, cx):\n    return 9\ndef grow(self, cx, ack):\n    failed = []\n"
    kept += "    def other():\n        try:\n            cx.cwnd = 77\n        except RuntimeError as error:\n"
    kept += "            failed.append(error)\n    thread = threading.Thread(target=other)\n    thread.start()\n"
    kept += "    thread.join()\n    assert failed and cx.cwnd < 77\n"
    name = written(tmp_path, kept, "import threading")
    assert world(name, duration="1 s", count=1).run(1).totals["goodput_bps"] > 0


def test_a_file_that_changes_during_the_run_is_no_result(tmp_path: Path, cli: Cli) -> None:
    name = written(tmp_path, f"{WINDOW}    open(__file__, 'a').write('#')")
    (tmp_path / "world.toml").write_text(
        f'duration = "1 s"\n[link]\nrate = "9 Mbit/s"\n[[flows]]\nkind = "tcp"\ncc = "{name}"\n'
    )
    ran = cli("run", str(tmp_path / "world.toml"), "-o", "out")
    assert ran.exit_code == 2
    assert "mine.py:Mine: changed during the run, which is not stored; run it again" in ran.output
    assert not Path("out").exists() or not entries(Path("out"))


def test_random_numbers_depend_on_seed_and_connection(tmp_path: Path) -> None:
    drawn = "def start(self, cx):\n    cx.ssthresh = 10 + cx.below(50) + int(9 * cx.random())\n"
    scenario = world(written(tmp_path, drawn + WINDOW))
    prints = [scenario.run(seed).fingerprint for seed in (1, 1, 2)]
    assert prints[0] == prints[1] != prints[2]


@pytest.mark.parametrize(
    ("stack", "methods", "reported"),
    [
        ("ns2", WINDOW, "ns2 runs its own agents, reno and newreno; choose a stack of Linux"),
        ("linux-2.6.29", WINDOW + "def report(self, cx, ack): pass", "needs a stack that decides on recovery"),
        ("linux-2.6.29", "def ack(self, cx, sample): pass", "needs a stack that decides on recovery"),
    ],
)
def test_a_stack_without_its_services_refuses_a_control(
    tmp_path: Path, stack: str, methods: str, reported: str
) -> None:
    with pytest.raises(sj.InputError) as caught:
        world(written(tmp_path, methods), stack=stack)
    assert reported in str(caught.value)


def test_the_kernel_refuses_a_control_by_name(tmp_path: Path) -> None:
    with pytest.raises(sj.InputError, match=r"does not have .*mine\.py:Mine; choose reno"):
        kernel.check(world(written(tmp_path, WINDOW), spread="0 s"))
