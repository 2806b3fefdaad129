"""Scenarios run by real programs over an emulated link, and a paper's figure made that way."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from conftest import Cli, Process
from shells import needs_shells
from sojourn.base.errors import InputError
from sojourn.model.scenarios.scenario import Scenario
from sojourn.papers.cs244_2015 import steps
from sojourn.papers.reproduction import not_faithful, reproduce
from sojourn.studies.runs.store import load_all

SCENARIO = """
name = "two distances"
duration = "3 s"
warmup = "1 s"
[link]
rate = "20 Mbit/s@0s,10 Mbit/s@2s"
change = "opportunity"
delay = "5 ms"
aqm = "codel"
[reverse]
rate = "10 Mbit/s"
delay = "5 ms"
[[flows]]
kind = "tcp"
cc = "cubic"
count = 2
[[flows]]
kind = "tcp"
cc = "reno"
rtt = "60 ms"
[[flows]]
kind = "web"
cc = "cubic"
interval = "200 ms"
size = "20 kB"
[probes]
packets = true
"""


def children() -> list[str]:
    """Command lines of a run's programs that are still running."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        found += [line] if "programs.py" in line else []
    return found


@needs_shells
def test_a_scenario_of_real_servers_and_clients(process: Process, tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    done = process("run", "scenario.toml", "--engine", "emulate", "-o", "results", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["engine"] == "emulate"
    assert str(tmp_path) not in "".join(children())
    [result] = load_all([tmp_path / "results"])
    totals = result.totals
    links = totals["emulation"]["links"]
    assert all(link["agreeing"] == link["replayed"] > 100 for link in links.values())
    near, far, pages = totals["groups"]
    assert [near["opened"], far["opened"]] == [2, 1]
    assert 1 <= pages["opened"] <= 16
    assert pages["transfers"] == pages["closed"] == result.transfers.height > 0
    assert result.transfers["bytes"].unique().to_list() == [20_000]
    # A page takes at least three one-way delays: connection, request, response.
    assert result.transfers["duration_s"].min() > 0.015
    goodput = totals["goodput_bps"]
    sent = result.packets.filter((pl.col("link") == "forward") & (pl.col("time_s") > 1) & (pl.col("fate") == "sent"))
    # Goodput is at most the bytes in the link's log, even if a busy machine makes the programs
    # read late.
    assert 0 < goodput * 2 / 8 <= sent["bytes"].sum()
    counts = [key for group in (near, far, pages) for key in (group["bytes"], group["delivered_bytes"])]
    assert min(counts) > 0 and [flow["bytes"] for flow in totals["flows"]] != [0] * 3
    assert sum(flow["bytes"] for flow in totals["flows"][:2]) == near["bytes"]
    assert totals["delivered_bps"] * 2 / 8 == pytest.approx(sum(group["delivered_bytes"] for group in totals["groups"]))
    assert totals["jain"] is None and 0 < near["jain"] <= 1, "near and far differ in their round-trip times"
    # The result is stored: nothing is rerun.
    again = process("run", "scenario.toml", "--engine", "emulate", "-o", "results", timeout=20)
    assert result.fingerprint in again.stdout


ASKING = """
name = "questions and answers"
duration = "3 s"
[link]
rate = "100 Mbit/s"
delay = "5 ms"
[[flows]]
kind = "request"
cc = "cubic"
size = "100 kB"
request = "2 kB"
think = "20 ms"
gap = "100 ms"
[[flows]]
kind = "request"
cc = "cubic"
size = "1 B"
request = "1 B"
count = 2
stop = "2 s"
[[flows]]
kind = "web"
cc = "cubic"
interval = "200 ms"
size = "20 kB"
think = "50 ms"
[probes]
packets = true
"""


@needs_shells
def test_clients_ask_again_and_servers_think(process: Process, tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(ASKING)
    done = process("run", "scenario.toml", "--engine", "emulate", "-o", "results", "--json")
    assert done.returncode == 0, done.stderr
    [result] = load_all([tmp_path / "results"])
    large, small, pages = (result.transfers.filter(pl.col("group") == group) for group in range(3))
    assert [one["opened"] for one in result.totals["groups"][:2]] == [1, 2]
    assert large["bytes"].unique().to_list() == [100_000] and small["bytes"].unique().to_list() == [1]
    # At least think time and two one-way delays; for a page one more RTT for the connection.
    assert large["duration_s"].min() >= 0.030
    assert small["duration_s"].min() >= 0.010
    assert pages["duration_s"].min() >= 0.050 + 4 * 0.005
    # The gap is from a response to the next request.
    starts, ends = large["start_s"], large["start_s"] + large["duration_s"]
    assert large.height >= 5 and (starts[1:] - ends[:-1]).min() >= 0.1
    assert small["start_s"].max() - small["start_s"].min() < 2
    assert 100 < small.height <= 2 * 2 / 0.010


SORTED = (
    """
name = "code points, classes and super-packets"
duration = "5 s"
warmup = "1 s"
[link]
rate = "1 Gbit/s"
aqm = """
    + '"""'
    + """htb {
  class 1 rate 9Mbit/s; class 10 parent 1 rate 6Mbit/s; class 20 parent 1 rate 2Mbit/s match dscp CS1
  class 30 parent 1 rate 1Mbit/s match dscp EF
}"""
    + '"""'
    + """
[reverse]
rate = "1 Gbit/s"
[[flows]]
kind = "tcp"
cc = "cubic"
dscp = "EF"
class = "1:10"
gso = true
[[flows]]
kind = "tcp"
cc = "cubic"
dscp = "CS1"
rtt = "10 ms"
gso = true
[[flows]]
kind = "tcp"
cc = "cubic"
dscp = "EF"
direction = "reverse"
gso = true
[probes]
packets = true
"""
)


@needs_shells
def test_classes_and_code_points_of_flows_reach_the_queue(process: Process, tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(SORTED)
    done = process("run", "scenario.toml", "--engine", "emulate", "-o", "results", "--json")
    assert done.returncode == 0, done.stderr
    [result] = load_all([tmp_path / "results"])
    assert all(link["agreeing"] == link["replayed"] > 100 for link in result.totals["emulation"]["links"].values())
    packets = result.packets.filter(pl.col("fate") == "sent")
    down = packets.filter((pl.col("link") == "forward") & (pl.col("time_s") > 1))
    # A flow gets its class' rate; by DSCP EF alone it would get a sixth of that.
    seconds = result.duration_s - 1
    rates = [group["goodput_bps"] for group in result.totals["groups"][:2]]
    assert 0.7 < rates[0] / 6e6 < 1
    assert 0.6 < rates[1] / 2e6 < 1
    assert down["bytes"].sum() * 8 / seconds < 9.2e6
    assert down["bytes"].max() > 2 * 1500, "super-packets are whole in the queue"


@needs_shells
@pytest.mark.filterwarnings("ignore:All-NaN")  # the steps are so short that ten parts may be empty
def test_a_figure_of_an_emulated_paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Steps of 0.5 s; the package's short study has steps of 10 s.
    whole = Path(steps.__file__).with_name(steps.STUDY)
    rates = ",".join(f"{mbit} Mbit/s@{n / 2} s" for n, mbit in enumerate(steps.RATES_MBIT))
    short = tmp_path / "short.toml"
    short.write_text(f'extends = "{whole}"\nduration = "3 s"\n[link]\nrate = "{rates}"\n')
    monkeypatch.setattr(steps, "SHORT", str(short))
    made = reproduce("cs244-2015", "paper", engine="emulate", short=True, root=tmp_path / "results")
    assert {verdict["verdict"] for verdict in made.verdicts} == {"not-run"}
    if starved := not_faithful(made.study):
        assert not any("emulated" in verdict for verdict in made.verdicts)
        pytest.skip(f"a busy machine's run judges nothing: {'; '.join(starved.values())}")
    reported = {verdict["id"]: verdict["emulated"] for verdict in made.verdicts}
    assert reported["S4-MAX"] == pytest.approx(1.6375 / 100, rel=0.01)
    assert 0 < reported["S4-CODEL"] <= 1
    assert [one.engine for one in made.study.results] == ["emulate"] * 2
    assert not [line for line in children() if str(tmp_path) in line]
    assert steps.draw(made.study, made.verdicts).axes


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        (
            'kind = "web"\ncc = "cubic"\ninterval = "200 ms"',
            'kind = "browser"\ncc = "cubic"',
            "flows[2].kind: browser cannot be emulated; expected one of tcp, web, request",
        ),
        (
            'kind = "web"\ncc = "cubic"\ninterval = "200 ms"\nsize = "20 kB"',
            'kind = "rpm"',
            "flows[2].kind: rpm cannot be emulated; expected one of tcp, web, request",
        ),
        (
            'kind = "web"\ncc = "cubic"\ninterval = "200 ms"\nsize = "20 kB"',
            'kind = "video"\nladder = ["1 Mbit/s"]',
            "flows[2].kind: video cannot be emulated; expected one of tcp, web, request",
        ),
        (
            'kind = "web"',
            'kind = "voice"',
            "flows[2].kind: voice cannot be emulated; expected one of tcp, web, request",
        ),
        (
            'aqm = "codel"',
            'aqm = "codel"\nbelow = "3 kB"',
            "link.below: an emulated link has no buffer below its queue",
        ),
        ('aqm = "codel"', 'aqm = "codel"\ntick = "1 ms"', "link.tick: an emulated link has no clock of its own"),
        ('aqm = "codel"', 'aqm = "codel"\ngro = "1 ms"', "link.gro: an emulated link has no receive offload"),
        (
            'cc = "reno"',
            'cc = "reno"\nstack = "quic-rfc9002"',
            "flows[1].stack: emulated flows are TCP of the host; leave it out",
        ),
        ('cc = "reno"', 'cc = "reno"\nmiddlebox = "ect1"', "flows[1].middlebox: cannot be emulated; leave it out"),
        ('cc = "reno"', 'cc = "reno"\ngso = true', "flows: all of an emulated run use gso, or none"),
        ('cc = "reno"', 'cc = "reno"\ngro = "1 ms"', "flows[1].gro: cannot be emulated"),
        ('cc = "reno"', 'cc = "reno"\nsize = "1 MB"', "flows[1].size: cannot be emulated"),
        ('cc = "reno"', 'cc = "reno"\nstack = "linux-3.8"\nabc = 1', "flows[1].abc: cannot be emulated"),
        ('cc = "reno"', 'cc = "reno"\nnagle = true', "flows[1].nagle: cannot be emulated"),
        ('kind = "web"', 'kind = "web"\ndirection = "reverse"', "flows[2].direction: pages are emulated as downloads"),
        ('cc = "reno"', 'cc = "reno"\ninitial_window = 4', "flows[1].initial_window: cannot be emulated"),
        ('cc = "reno"', 'cc = "reno"\necn = true', "flows: all of an emulated run use ECN, or none"),
    ],
)
def test_unsupported_scenarios_are_refused_by_the_emulator(old: str, new: str, error: str) -> None:
    from sojourn.engines import check

    text = SCENARIO.replace(old, new)
    if "voice" in new:
        text = text.replace('interval = "200 ms"\nsize = "20 kB"\n', "").replace('cc = "cubic"\n[probes]', "[probes]")
        text = text.replace('kind = "voice"\ncc = "cubic"', 'kind = "voice"')
    with pytest.raises(InputError) as refused:
        check("emulate", Scenario.parse(text))
    assert str(refused.value).startswith(error)


def test_a_figure_without_a_short_study_is_reported(cli: Cli) -> None:
    done = cli("reproduce", "cs244-2015", "--figure", "4g", "--short")
    assert (done.exit_code, done.output.strip()) == (
        2,
        "Error: --short: 4g of cs244-2015 has no short study; leave it out",
    )
