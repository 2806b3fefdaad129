"""Recorded runs of ns-2; and, if ns-2 is installed, the same runs repeated.

`SOJOURN_BLESS=1` updates the recordings.
"""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import Cli, printed_json
from ns2_scenarios import BASE, FOLDER, NS2, dumbbell, ftp
from sojourn import Result, Scenario
from sojourn.base.errors import MissingError
from sojourn.engines.ns2 import engine, installed, process
from sojourn.engines.ns2.script import Script, script

SEED = 7
RECORDED = ("red-ecn", "row", "probes", "datagrams", "web")
DATAGRAMS = ("cbr", "poisson", "streaming", "voice")


@pytest.fixture
def ns2() -> Path:
    """The installed program."""
    found = installed.find()
    if found is None:
        pytest.skip("ns-2 is not installed (apt install ns2)")
    return found


def made(name: str) -> tuple[Scenario, Script]:
    scenario = Scenario.build(NS2[name])
    return scenario, script(scenario, SEED, plugin=False)


def replayed(name: str, folder: Path) -> Result:
    (folder / "trace").write_bytes(gzip.decompress((FOLDER / f"{name}.tr.gz").read_bytes()))
    message = (FOLDER / f"{name}.said").read_text(encoding="utf-8").splitlines()
    return engine.make_result(*made(name)[:1], SEED, made(name)[1], message, folder / "trace")


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_run_has_the_numbers_that_are_kept(name: str, tmp_path: Path) -> None:
    if os.environ.get("SOJOURN_BLESS") and installed.find():
        record(name, tmp_path)
    totals = replayed(name, tmp_path).totals
    kept = FOLDER / f"{name}.json"
    if os.environ.get("SOJOURN_BLESS"):
        kept.write_text(json.dumps(totals, indent=1) + "\n", encoding="utf-8")
    assert totals == json.loads(kept.read_text(encoding="utf-8"))


def record(name: str, folder: Path) -> None:
    (folder / "run.tcl").write_text(made(name)[1].text, encoding="utf-8")
    message = process.run(folder / "run.tcl", folder / "trace")
    (FOLDER / f"{name}.said").write_text("\n".join([*message, ""]), encoding="utf-8")
    (FOLDER / f"{name}.tr.gz").write_bytes(gzip.compress((folder / "trace").read_bytes(), 9, mtime=0))


@pytest.mark.parametrize("name", RECORDED)
def test_ns2_writes_the_trace_that_is_kept(ns2: Path, name: str, tmp_path: Path) -> None:
    (tmp_path / "run.tcl").write_text(made(name)[1].text, encoding="utf-8")
    message = process.run(tmp_path / "run.tcl", tmp_path / "trace")
    assert message == (FOLDER / f"{name}.said").read_text(encoding="utf-8").splitlines()
    kept = gzip.decompress((FOLDER / f"{name}.tr.gz").read_bytes()).decode().splitlines()
    assert (tmp_path / "trace").read_text(encoding="utf-8").splitlines() == kept


def test_connections_of_the_web_count_by_hand(tmp_path: Path) -> None:
    """Output of ns-2's generators against our counters, which take the payload from the trace."""
    result = replayed("web", tmp_path)
    message = [line.split() for line in (FOLDER / "web.said").read_text(encoding="utf-8").splitlines()]
    reverse, *_ = result.totals["groups"][1:]
    requests = [words for words in message if words[:2] == ["asked", "2"]]
    answered = [words for words in message if words[:2] == ["answered", "2"]]
    after = [words for words in answered if float(words[2]) >= 1]
    assert reverse["transfers"] == len(after) > 10
    assert reverse["offered_bytes"] == sum(int(words[4]) for words in requests if float(words[2]) >= 1)
    closed = [words for words in message if words[0] == "closed" and words[2] == "2" and float(words[3]) >= 1]
    assert reverse["closed"] == len(closed) > 10
    transfers = result.table("transfers").filter(pl.col("group") == 1)
    assert sorted(transfers["bytes"]) == sorted(int(words[4]) for words in answered)
    # A finished connection has delivered its responses, to the byte.
    sizes = dict.fromkeys((words[1] for words in message if words[0] == "opened" and words[2] == "2"), 0)
    for flow, size in transfers.select("flow", "bytes").iter_rows():
        sizes[str(flow)] += size
    whole = sum(sizes.values())
    arrived = web_payload(result, tmp_path, set(sizes))
    under_way = sum(int(words[4]) for words in requests) - whole
    assert whole <= arrived <= whole + under_way


def web_payload(result: Result, folder: Path, flows: set[str]) -> int:
    """Payload of the packets that left the reverse link, each sequence number once."""
    lines = [line.split() for line in (folder / "trace").read_text(encoding="utf-8").splitlines()]
    first = {(line[7], line[10]): int(line[5]) - 40 for line in lines if line[0] == "r" and line[2:4] == ["1", "0"]}
    return sum(size for (flow, _), size in first.items() if flow in flows)


def test_a_recorded_run_counts_by_hand(tmp_path: Path) -> None:
    """Counts of the trace's lines, without our counters."""
    result = replayed("row", tmp_path)
    lines = [line.split() for line in (tmp_path / "trace").read_text(encoding="utf-8").splitlines()]
    sent = [line for line in lines if line[0] == "-" and (line[2], line[3]) == ("1", "2") and float(line[1]) >= 1]
    second = result.totals["hops"][0]["forward"]
    assert second["packets"] == len(sent) > 500
    assert second["bytes"] == sum(int(line[5]) for line in sent)
    seen: set[tuple[str, str]] = set()
    new = 0
    for kind, at, near, far, what, size, _, flow, _, _, seq, _ in lines:
        if kind == "r" and what == "tcp" and (near, far) == ("2", "3") and (flow, seq) not in seen:
            seen.add((flow, seq))
            new += (int(size) - 40) * (float(at) > 1)
    assert result.totals["groups"][0]["bytes"] == new > 10**6 / 8
    arrivals = {(line[2], line[3], line[11]): float(line[1]) for line in lines if line[0] == "+"}
    waits = [float(line[1]) - arrivals["1", "2", line[11]] for line in sent]
    assert second["sojourn_ms"]["mean"] == pytest.approx(1000 * sum(waits) / len(waits), abs=1e-3)


def test_a_run_has_the_tables_and_the_summary_of_a_simulation(tmp_path: Path) -> None:
    result, simulated = replayed("probes", tmp_path), Scenario.build(NS2["probes"]).run(SEED)
    assert result.table_names == simulated.table_names
    for name in result.table_names:
        assert result.table(name).schema == simulated.table(name).schema, name
    assert result.summary.columns == simulated.summary.columns
    assert result.flows["flow"].n_unique() == 3 and result.flows.height == simulated.flows.height
    assert result.transfers["bytes"].to_list() == simulated.transfers["bytes"].to_list() == [400_000] * 2
    assert result.transfers["duration_s"].to_list() == pytest.approx(
        simulated.transfers["duration_s"].to_list(), rel=0.1
    )


def test_datagrams_arrive_at_the_simulator_s_microsecond(ns2: Path) -> None:
    """Three queues and an access link, without TCP and randomness."""
    flows: list[Any] = [flow for flow in NS2["datagrams"]["flows"] if flow["kind"] in DATAGRAMS]
    flows = [flow | {"route": ["link", "second"]} for flow in flows]
    second = {"name": "second", "rate": "461 kbit/s", "delay": "7 ms"}
    document = dumbbell(
        *flows, link={"rate": "439 kbit/s", "limit": "5 packets"}, links=[second], probes={"packets": True}
    )
    here, there = (Scenario.build(document).run(5, engine=name).table("packets") for name in ("simulate", "ns2"))
    columns = ["link", "flow", "bytes", "fate"]
    here, there = (frame.sort("link", "flow", "arrival") for frame in (here, there))
    assert here.select(columns).equals(there.select(columns))
    assert here["fate"].value_counts().height > 1, "some packets are dropped"
    apart = (here["time_ns"].cast(pl.Int64) - there["time_ns"].cast(pl.Int64)).abs()
    assert apart.max() <= 500, "ns-2's trace has whole microseconds"


@pytest.mark.parametrize(
    "name", ["newreno", "reno", "limit-in-bytes", "drophead", "two-way", "rate-steps", "transfers"]
)
def test_a_run_on_ns2_is_near_the_simulator_s(ns2: Path, name: str) -> None:
    here, there = (Scenario.build(NS2[name]).run(SEED, engine=one).totals for one in ("simulate", "ns2"))
    assert there["delivered_bps"] == pytest.approx(here["delivered_bps"], rel=0.02)
    waits = [totals["links"]["forward"]["sojourn_ms"]["mean"] for totals in (here, there)]
    assert waits[1] == pytest.approx(waits[0], rel=0.1, abs=0.5)


def test_the_same_run_gives_the_same_result_and_another_seed_another(ns2: Path) -> None:
    scenario = Scenario.build(NS2["red"])
    first, again, other = (scenario.run(seed, engine="ns2") for seed in (1, 1, 2))
    assert first.totals == again.totals
    assert first.fingerprint != other.fingerprint
    assert first.engine == f"ns2-{installed.digest(ns2)}"


def test_progress_is_reported_and_its_exceptions_end_ns(ns2: Path) -> None:
    shares: list[float] = []
    Scenario.build(NS2["newreno"]).run(1, engine="ns2", progress=shares.append)
    assert shares == sorted(shares) and len(shares) == 99

    def interrupt(share: float) -> None:
        raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        Scenario.build(dumbbell(ftp(count=50), duration="10000 s")).run(1, engine="ns2", progress=interrupt)
    assert time.monotonic() - began < 60


def test_ctrl_c_ends_ns_and_leaves_nothing(ns2: Path, repo: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sojourn", "run", str(repo / "scenarios" / "ns2.toml"), "--engine", "ns2"]
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    run = subprocess.Popen(
        [*command, "--set", "duration=100000 s"],
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(temporary)},
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while not list(temporary.glob("*/trace")) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert list(temporary.glob("*/trace"))
    run.send_signal(signal.SIGINT)
    assert run.wait(30) == 130
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not any(str(temporary).encode() in command for command in commands), "ns is gone"
    assert not list(temporary.iterdir()) and not list((tmp_path / "results").glob("*"))


def test_the_command_line_runs_it(ns2: Path, cli: Cli, repo: Path) -> None:
    reported = printed_json(cli("run", repo / "scenarios" / "ns2.toml", "--engine", "ns2", "--json"))
    assert reported["engine"].startswith("ns2-")
    again = cli("run", repo / "scenarios" / "ns2.toml", "--engine", "ns2")
    assert again.exit_code == 0 and "Engine: ns2-" in again.stdout


def test_ns_errors_of_a_script_are_reported(ns2: Path, tmp_path: Path) -> None:
    (tmp_path / "x.tcl").write_text("set x [nonsense]\n")
    with pytest.raises(MissingError, match=r"ns-2 stopped before the end.*\n.*nonsense"):
        process.run(tmp_path / "x.tcl", tmp_path / "trace")


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("+ 0.1 0 1 tcp 40\n", "has lines that are not events"),
        ("+ 0.1 0 5 tcp 40 ------- 0 0.0 1.0 0 1\n", "has lines that are not events"),
        ("nonsense\n", "has lines that are not events"),
        ("- 0.1 0 1 tcp 40 ------- 0 2.0 1.0 0 1\n", "a departure without arrival"),
    ],
)
def test_a_trace_that_is_cut_is_refused(lines: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "trace").write_text(lines)
    scenario = Scenario.build(dumbbell(BASE))
    with pytest.raises(MissingError, match=text):
        engine.make_result(scenario, 1, script(scenario, 1, plugin=False), [], tmp_path / "trace")
