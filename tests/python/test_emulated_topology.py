"""Scenarios with several links by real programs: one network namespace per node, all links in one process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from conftest import Process
from shells import alone, eventually, needs_shells, shell
from sojourn.base.errors import InputError
from sojourn.engines import check
from sojourn.model.results.result import Result
from sojourn.model.scenarios.scenario import Scenario
from sojourn.studies.runs.store import load_all

GRAPH = """
name = "two ways"
duration = "3 s"
warmup = "1 s"
[[nodes]]
name = "alice"
kind = "host"
[[nodes]]
name = "core"
[[nodes]]
name = "bob"
kind = "host"
[[links]]
name = "slow"
from = "alice"
to = "core"
rate = "8 Mbit/s"
delay = "7 ms"
aqm = "codel"
[[links]]
name = "back"
from = "core"
to = "alice"
rate = "20 Mbit/s"
delay = "3 ms"
[[links]]
name = "last"
from = "core"
to = "bob"
rate = "6 Mbit/s"
delay = "2 ms"
aqm = "fq_codel"
reverse = { rate = "5 Mbit/s" }
[[flows]]
kind = "tcp"
from = "alice"
to = "bob"
route = ["slow", "last"]
count = 2
[[flows]]
kind = "web"
from = "alice"
to = "core"
rtt = "40 ms"
interval = "200 ms"
size = "20 kB"
[[changes]]
at = "2 s"
links.last.rate = "3 Mbit/s"
[probes]
packets = true
queue = "20 ms"
"""

ROW = """
duration = "2 s"
[link]
rate = "10 Mbit/s"
delay = "1 ms"
[[links]]
name = "second"
rate = "8 Mbit/s"
delay = "2 ms"
[[flows]]
kind = "tcp"
route = ["link", "second"]
[[flows]]
kind = "tcp"
route = ["second"]
direction = "reverse"
[probes]
packets = true
"""


def run(process: Process, folder: Path, text: str) -> Result:
    (folder / "scenario.toml").write_text(text)
    done = process("run", "scenario.toml", "--engine", "emulate", "-o", "results", "--json")
    assert done.returncode == 0, done.stderr
    [result] = load_all([folder / "results"])
    return result


def of_link(result: Result, name: str) -> pl.DataFrame:
    return result.packets.filter(pl.col("link") == name)


@needs_shells
def test_a_graph_of_real_programs(process: Process, tmp_path: Path) -> None:
    result = run(process, tmp_path, GRAPH)
    links = result.totals["emulation"]["links"]
    names = ["slow", "slow reverse", "back", "back reverse", "last", "last reverse"]
    assert sorted(links) == sorted(names)
    assert all(link["agreeing"] == link["replayed"] for link in links.values())
    # Data take slow and last; ACKs take last and, on the shortest path, back, as pages do in both directions.
    assert [links[name]["replayed"] > 100 for name in names] == [True, False, True, True, True, True]
    assert links["slow reverse"]["replayed"] == 0
    # Packets leave slow and reach last with nanosecond precision: 1500 B take 1.5 ms at 8 Mbit/s, plus 7 ms.
    left = of_link(result, "slow").filter((pl.col("fate") != "dropped") & (pl.col("bytes") == 1500))
    leaving = set((1e9 * left["time_s"]).round().cast(pl.Int64) + 8_500_000)
    there = of_link(result, "last").filter(pl.col("bytes") == 1500)
    coming = (1e9 * there["time_s"] - 1e6 * there["sojourn_ms"]).round().cast(pl.Int64)
    known = sum(any(at + off in leaving for off in (-1, 0, 1)) for at in coming)
    assert there.height > 300 and known == there.height
    downloads, pages = result.totals["groups"]
    assert downloads["opened"] == 2 and pages["transfers"] > 3
    # One round trip for the connection, and one for the page.
    assert result.transfers["duration_s"].min() > 2 * 0.040
    goodput = downloads["bytes"] * 8 / 2
    assert 0.5 * 4.5e6 < goodput < 4.5e6, "6 Mbit/s in the first second, 3 in the last one"
    sent = there.filter((pl.col("fate") != "dropped") & (pl.col("time_s") > 1))
    assert downloads["bytes"] <= sent["bytes"].sum() and downloads["delivered_bytes"] > 0
    samples = result.queue.filter(pl.col("link") == "last reverse")
    assert set(samples["time_s"].diff().drop_nulls().round(6)) == {0.02}


@needs_shells
def test_a_row_of_links_with_data_in_both_directions(process: Process, tmp_path: Path) -> None:
    result = run(process, tmp_path, ROW)
    assert sorted(result.totals["emulation"]["links"]) == ["forward", "reverse", "second", "second reverse"]
    for link, packets in (("forward", 1500), ("second", 1500), ("second reverse", 1500)):
        assert of_link(result, link).filter(pl.col("bytes") == packets).height > 300, link
    assert of_link(result, "reverse").filter(pl.col("bytes") == 1500).height == 0
    assert all(group["bytes"] > 0 for group in result.totals["groups"])
    assert {hop["name"] for hop in result.totals["hops"]} == {"second"}


REFUSED = """
import socket, time
begun = time.monotonic()
with socket.socket() as peer:
    peer.settimeout(20)
    try:
        peer.connect(('bob', 9))
    except ConnectionRefusedError:
        waited = time.monotonic() - begun
        print({told})
"""
"""Prints the time until a connection to bob was refused."""
INSIDE = """
echo "$SOJOURN_SHELL"
grep -w bob /etc/hosts | head -1
{python} -c "{refused}"
ls -d {folder}/*.records 2>/dev/null
exit 7
"""


def entered(text: str, tmp_path: Path, node: str) -> list[str]:
    (tmp_path / "scenario.toml").write_text(text)
    return [sys.executable, "-m", "sojourn", "run", "scenario.toml", "--engine", "emulate", "--enter", node]


def within_alice(tmp_path: Path, script: str, *wishes: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*entered(GRAPH, tmp_path, "alice"), *wishes],
        input=script,
        env={**os.environ, "SHELL": "/bin/sh"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@needs_shells
def test_a_shell_in_a_node(tmp_path: Path) -> None:
    refused = REFUSED.format(told="'refused after', waited >= 0.010")
    inside = INSIDE.format(python=sys.executable, refused=refused, folder=tmp_path)
    done = within_alice(tmp_path, inside)
    assert done.returncode == 7, done.stderr
    # 7 and 2 ms there, 3 and 2 ms back: the RTT to bob is 14 ms.
    assert done.stdout.splitlines() == ["alice", "100.64.0.3 bob", "refused after True"]
    assert "slow: " in done.stderr and " dropped, " in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["scenario.toml"], "nothing is kept"


KEPT = f"kept-{os.getpid()}"
"""A name that is unique on the machine."""
STEERED = """
sojourn() {{ {python} -m sojourn "$@"; }}
sojourn ctl {name} --link "back reverse" delay 300ms
sojourn ctl {name} rate 1mbit; echo "code $?"
sojourn ctl {name} --link slwo rate 1mbit; echo "code $?"
sojourn ctl {name} --link "last reverse" pause
sojourn ctl {name} --link "last reverse" resume
sojourn ctl {name} --json
{python} -c "{refused}"
sleep 2
"""


@needs_shells
def test_links_of_an_entered_network_are_changed_shown_and_captured(tmp_path: Path) -> None:
    wishes = ["--name", KEPT, "--meter", "slow", "--pcap", str(tmp_path / "seen")]
    script = STEERED.format(name=KEPT, python=sys.executable, refused=REFUSED.format(told="waited"))
    done = within_alice(tmp_path, script, *wishes)
    assert done.returncode == 0, done.stderr
    assert "it is a network; name one of its links, --link slow" in done.stderr
    assert '--link: unknown link "slwo"; did you mean "slow"?' in done.stderr
    one, two, told, waited = done.stdout.splitlines()
    assert one == two == "code 2"
    links = json.loads(told)["links"]
    assert links["back reverse"]["does"] == "20 Mbit/s, droptail, 300 ms"
    assert links["slow"]["does"] == "8 Mbit/s, codel, 7 ms"
    assert links["last reverse"]["does"] == "5 Mbit/s, droptail, 2 ms", "it pauses no more"
    assert float(waited) > 0.3, "to bob over the other way of back"
    shown = [line for line in done.stderr.splitlines() if line.startswith("slow  up")]
    assert shown and all(" Mbit/s " in line and " dropped " in line for line in shown), done.stderr
    captures = {path.name: path.stat().st_size for path in tmp_path.glob("seen.*")}
    assert len(captures) == 3 * 2 * 2
    assert all(
        captures[f"seen.{link}.down.{way}.pcapng"] > 1000 for link in ("0-slow", "2-last") for way in ("in", "out")
    )


def steered(tmp_path: Path, text: str, *orders: str, wishes: tuple[str, ...]) -> tuple[Result, str]:
    """A stored run, with these orders as soon as it accepts them."""
    (tmp_path / "scenario.toml").write_text(text)
    command = [sys.executable, "-m", "sojourn", "run", "scenario.toml", "--engine", "emulate", "-o", "results", *wishes]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        eventually(lambda: shell("ctl", KEPT, cwd=tmp_path).returncode == 0)
        for order in orders:
            done = shell("ctl", KEPT, *order.split(), cwd=tmp_path)
            assert (done.returncode, done.stderr) == (0, ""), order
        out, err = running.communicate(timeout=120)
    assert running.returncode == 0, err
    assert "Changed during the run" in out
    [result] = load_all([tmp_path / "results"])
    return result, err


@needs_shells
def test_a_kept_network_is_steered_shown_captured_and_simulated(tmp_path: Path) -> None:
    planned = '[[changes]]\nat = "2 s"\nlinks.last.aqm = "codel"\n'
    wishes = ("--name", KEPT, "--meter", "last", "--pcap", "seen")
    orders = ("--link last limit 70 packets", "--link last delay 9ms", "--link slow aqm codel target 9ms")
    result, err = steered(tmp_path, GRAPH + planned, *orders, wishes=wishes)
    changes = result.scenario.document["changes"]
    kept = [(where, sorted(keys)) for entry in changes for where, keys in entry["links"].items()]
    assert kept == [("last", ["limit"]), ("slow", ["aqm"]), ("last", ["aqm"])], changes
    assert changes[1]["links"]["slow"]["aqm"]["target"] == "9 ms" and changes[2]["at"] == "2 s"
    assert result.scenario.links["last"]["delay"].startswith("2 ms@0 s,9 ms@")
    assert all(link["agreeing"] == link["replayed"] for link in result.totals["emulation"]["links"].values())
    assert result.scenario.run().totals["groups"][0]["bytes"] > 0, "the simulator runs it again"
    assert any(line.startswith("last  up") for line in err.splitlines()), err
    assert len(list(tmp_path.glob("seen.*"))) == 3 * 2 * 2


@needs_shells
def test_a_kept_run_of_one_link_is_steered_and_simulated(tmp_path: Path) -> None:
    text = """
duration = "3 s"
[link]
rate = "8 Mbit/s"
aqm = "codel"
[[flows]]
kind = "tcp"
rtt = "10 ms"
"""
    wishes = ("--name", KEPT, "--meter", "link", "--pcap", "seen")
    result, err = steered(tmp_path, text, "rate 4mbit --down", "aqm pie --down", wishes=wishes)
    document = result.scenario.document
    assert document["link"]["rate"].startswith("8 Mbit/s@0 s,4 Mbit/s@")
    assert [list(entry["link"]) for entry in document["changes"]] == [["aqm"]]
    assert "Mbit/s" in err and len(list(tmp_path.glob("seen.*"))) == 4
    assert 3e6 < result.scenario.run().totals["groups"][0]["bytes"] * 8 / 2.5 < 8e6


@pytest.mark.parametrize("wish", [["--name", "n"], ["--meter", "slow"], ["--pcap", "p"], ["--enter", "alice"]])
def test_options_of_real_time_are_refused(wish: list[str], tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(GRAPH)
    command = [sys.executable, "-m", "sojourn", "run", "scenario.toml", *wish]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert f"{wish[0]}: needs a run in real time; add --engine emulate" in done.stderr


@needs_shells
def test_nothing_is_left_of_a_topology_that_is_killed(tmp_path: Path) -> None:
    line = "echo $$ $PPID > pids; sleep 600 & echo $! >> pids; mv pids ready; wait"
    done = alone(f"""
import os, pathlib, signal, subprocess
from shells import alive, eventually, host_state
folder = pathlib.Path({str(tmp_path)!r})
before = host_state()
command = {entered(GRAPH, tmp_path, "bob")!r}
with subprocess.Popen(command, env=os.environ | {{"SHELL": "/bin/sh"}}, cwd=folder, stdin=subprocess.PIPE) as started:
    started.stdin.write({line.encode()!r})
    started.stdin.close()
    eventually((folder / "ready").exists)
    command, keeper, sleeper = (int(word) for word in (folder / "ready").read_text().split())
    links = int(pathlib.Path(f"/proc/{{keeper}}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(links, signal.SIGKILL)
    assert started.wait(60) == 128 + signal.SIGKILL
eventually(lambda: not any(alive(pid) for pid in (links, keeper, command, sleeper)))
eventually(lambda: host_state() == before)
print("nothing")
""")
    assert done.stdout == "nothing\n", done.stderr


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        (
            'aqm = "codel"',
            'aqm = "codel"\nbelow = "3 kB"',
            "links[0].below: an emulated link has no buffer below its queue",
        ),
        ('rate = "5 Mbit/s"', 'rate = "5 Mbit/s", gro = "1 ms"', "links[2].reverse.gro: an emulated link has no"),
        ("count = 2", 'count = 2\nstagger = "1 s"', "flows[0].stagger: cannot be emulated; leave it out"),
        ("count = 2", 'count = 2\nrtt = "50 ms"\nrtt_stagger = "1 ms"', "flows[0].rtt_stagger: cannot be emulated"),
    ],
)
def test_unsupported_topologies_are_refused_by_name(old: str, new: str, error: str) -> None:
    with pytest.raises(InputError) as refused:
        check("emulate", Scenario.parse(GRAPH.replace(old, new, 1)))
    assert str(refused.value).startswith(error)


@needs_shells
def test_a_node_that_is_not_there_is_refused(process: Process, tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(GRAPH)
    done = process("run", "scenario.toml", "--engine", "emulate", "--enter", "bop")
    assert done.returncode == 2 and done.stderr.strip().endswith('--enter: unknown node "bop"; did you mean "bob"?')
    done = process("run", "scenario.toml", "--enter", "bob")
    assert done.returncode == 2 and "add --engine emulate" in done.stderr
