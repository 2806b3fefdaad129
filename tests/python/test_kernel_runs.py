"""Scenarios and synthetic arrivals on the kernel, if one is built; and faults."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from conftest import Cli, Process, printed_json
from sojourn import Result, Scenario
from sojourn.base.errors import MissingError
from sojourn.engines.kernel import selftest
from sojourn.engines.kernel.cache import VERSIONS, Kernel, find
from sojourn.engines.kernel.compare import compare, record
from sojourn.engines.kernel.guest import boot, job_folder
from sojourn.engines.kernel.pattern import Packet, Pattern
from sojourn.engines.kernel.patterns import GENERATORS, SINCE
from sojourn.engines.kernel.shares import CASES, Case, shares
from sojourn.model.results.words import FATES
from sojourn.studies.difference import compare_arrivals

FLOWS = [
    {"kind": "tcp", "cc": "cubic", "count": 2, "rtt": "30 ms", "spread": "100 ms", "stack": "linux-6.1"},
    {"kind": "web", "cc": "reno", "interval": "400 ms", "size": "30 kB", "rtt": "30 ms", "stack": "linux-2.6.29"},
    {"kind": "voice"},
]
SCENARIO: dict[str, Any] = {
    "duration": "6 s",
    "warmup": "1 s",
    "link": {"rate": "8 Mbit/s", "delay": "5 ms", "aqm": "codel@linux", "overhead": "38 B"},
    "flows": FLOWS,
    "probes": {"packets": True, "transfers": True, "flows": "100 ms", "queue": "20 ms", "utilisation": "1 s"},
}


@pytest.fixture
def result(kernel: Kernel) -> Result:
    return Scenario.build(SCENARIO).run(1, engine="kernel")


@pytest.mark.parametrize(
    ("aqm", "keys"),
    [
        ("codel@linux ecn", {}),
        ("fq_codel@linux target 3ms", {"gso": True}),
        ("pie@linux ecn", {"count": 40}),
        ("fq_pie@linux", {}),
        ("sfq@linux depth 30", {}),
        ("cake@linux bandwidth 7mbit ack_filter filter", {"direction": "reverse"}),
        ("red@linux min 12500B max 37500B", {}),
        ("ared@linux-5.7 min 12500B max 37500B", {"count": 7}),
        ("drophead", {}),
    ],
)
def test_sojourn_s_discipline_in_the_kernel_is_the_kernel_s(kernel: Kernel, aqm: str, keys: dict[str, Any]) -> None:
    flow = {**FLOWS[0], "ecn": True, **keys}
    link = {"rate": "7.3 Mbit/s", "delay": "9 ms", "limit": "10240 packets" if "cake" in aqm else "333 packets"}
    if keys.get("gso"):
        link["account"] = "ip"
    document = {**SCENARIO, "duration": "4 s", "probes": {"packets": True}, "flows": [flow, *FLOWS[1:]]}
    runs = [
        Scenario.build({**document, "link": {**link, "aqm": text}}).run(5, engine="kernel")
        for text in (aqm, f"sojourn:{aqm}")
    ]
    assert runs[0].packets.equals(runs[1].packets), "every packet, its time, fate and ECN field"
    assert len(runs[0].packets) > 2_000


def test_a_negative_overhead_is_taken_off_each_packet(kernel: Kernel) -> None:
    del kernel
    link = {"rate": "1 Mbit/s", "aqm": "droptail", "overhead": "-14 B", "limit": "50 packets"}
    small = {"kind": "cbr", "rate": "0.9 Mbit/s", "size": "60 B"}
    flows = [small, {"kind": "poisson", "rate": "0.3 Mbit/s", "size": "1000 B"}]
    scenario = Scenario.build({"duration": "2 s", "link": link, "flows": flows, "probes": {"packets": True}})
    columns = ["time_s", "flow", "bytes", "sojourn_ms", "fate"]
    simulated, real = (scenario.run(1, engine=engine).packets.select(columns) for engine in ("simulate", "kernel"))
    assert simulated.equals(real)
    assert simulated["bytes"].min() == 46


def test_tc_shows_sojourn_s_state_and_its_refusals(kernel: Kernel) -> None:
    add = "tc qdisc add dev f parent 1:1 handle 10: sojourn"
    script = f"""
        {add} rate fast codel; {add} coddle; {add} limit many codel; {add} netem corrupt 1%
        {add} limit 5 rate 10mbit delay 20ms mtu 1500 codel@act target 7ms ecn && tc qdisc show dev f
        tc qdisc change dev f parent 1:1 handle 10: sojourn limit 9kB codel@act target 8ms
        tc qdisc change dev f parent 1:1 handle 10: sojourn pie; tc -j qdisc show dev f; tc -s qdisc show dev f
    """
    with job_folder() as folder:
        job = [
            "exec ip link add f type sojourn",
            "exec ip link set f.p up",
            "exec ip link set f up",
            "exec tc qdisc add dev f root handle 1: prio bands 2 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
            "exec sh script",
        ]
        files = {"job": "\n".join([*job, ""]), "script": f"exec > said 2>&1\n{script}\ntrue\n"}
        boot(kernel, folder, files, seed=1)
        text = (folder / "said").read_text()
    assert 'sojourn: rate "fast": write e.g. 100mbit' in text
    assert 'Error: unknown AQM "coddle"; did you mean "codel"?.' in text
    assert "Error: limit: " in text and "use the kernel's own netem" in text
    assert "qdisc sojourn 10: parent 1:1 limit 5packets codel@act target 7ms ecn" in text
    assert "this queue has codel; replace it instead of changing it to pie" in text
    assert '"spelling":"limit 9000B codel@act target 8ms' in text
    assert re.search(r"arrived 0 departed 0 marked 0 count 0", text)


def test_a_run_has_the_tables_of_a_simulation_and_numbers_that_fit(result: Result) -> None:
    simulated = Scenario.build(SCENARIO).run(1)
    assert result.table_names == simulated.table_names
    for name in result.table_names:
        assert result.table(name).schema == simulated.table(name).schema, name
    assert result.summary.columns == simulated.summary.columns
    links, here = result.totals["links"]["forward"], simulated.totals["links"]["forward"]
    assert links["utilisation"] == pytest.approx(here["utilisation"], abs=0.03)
    assert links["sojourn_ms"]["p50"] == pytest.approx(here["sojourn_ms"]["p50"], rel=0.5)
    assert result.totals["groups"][1]["transfers"] == pytest.approx(simulated.totals["groups"][1]["transfers"], abs=1)
    assert result.totals["groups"][2]["sent"] == simulated.totals["groups"][2]["sent"] > 50
    assert result.totals["groups"][2]["mos"] > 3
    cwnd = result.flows.filter(pl.col("flow") == 0)["cwnd"]
    assert cwnd.max() > 5 and result.flows.filter(pl.col("flow") == 0)["srtt_ms"].max() < 100
    assert result.engine.startswith("kernel-6.")


def test_the_same_run_gives_the_same_bytes(kernel: Kernel, result: Result) -> None:
    again = Scenario.build(SCENARIO).run(1, engine="kernel")
    assert again.totals == result.totals
    for name in result.table_names:
        assert again.table(name).equals(result.table(name), null_equal=True), name
    assert Scenario.build(SCENARIO).run(2, engine="kernel").fingerprint != result.fingerprint


def test_unresponsive_traffic_meets_the_queue_as_in_the_simulator(kernel: Kernel) -> None:
    """Without TCP and randomness every packet leaves at the same nanosecond."""
    document = {
        "duration": "3 s",
        "link": {"rate": "3 Mbit/s@0s,1 Mbit/s@1500ms", "aqm": "codel@linux", "overhead": "10 B", "delay": "1 ms"},
        "flows": [{"kind": "poisson", "rate": "1.5 Mbit/s", "size": "700 B"}, {"kind": "cbr", "rate": "500 kbit/s"}],
        "probes": {"packets": True},
    }
    columns = ["flow", "bytes", "arrival", "fate"]
    here, there = (Scenario.build(document).run(5, engine=engine) for engine in ("simulate", "kernel"))
    assert there.packets["fate"].value_counts().height > 1, "some packets are dropped"
    same = [run.table("packets").sort("arrival").select(*columns, "time_ns") for run in (here, there)]
    assert same[0].select(columns).equals(same[1].select(columns))
    apart = (same[0]["time_ns"].cast(pl.Int64) - same[1]["time_ns"].cast(pl.Int64)).abs()
    assert apart.max() < 1100, "CoDel's clock in the kernel ticks in 1024 ns"


CHANCE = {
    "pie@linux target 5ms": "PIE draws for a packet that it may drop, and judges anew every 15 ms of its own clock",
    "red@linux target 20ms": "RED draws when it has dropped",
    "ared@linux-5.7 target 20ms": "and judges anew every half second",
    "choke": "CHOKe also draws which packet to compare with",
    "fq_codel@linux flows 8": "flows share queues by the key of the run",
    "fq_pie flows 8": "both",
    "cake unlimited flows": "CAKE draws quanta as well",
}


@pytest.mark.parametrize("aqm", CHANCE)
def test_chance_decides_as_in_the_simulator(kernel: Kernel, aqm: str) -> None:
    """Each queue draws from the same random stream as in the simulator, and so does the flow hash."""
    limit = "10240 packets" if aqm.startswith("cake") else "1000 packets"
    document = {
        "duration": "3 s",
        "link": {"rate": "3 Mbit/s", "aqm": aqm, "limit": limit, "overhead": "10 B", "delay": "1 ms"},
        "reverse": {"rate": "2 Mbit/s", "aqm": aqm, "limit": limit},
        "flows": [
            {"kind": "poisson", "rate": "160 kbit/s", "size": "700 B", "count": 20},
            {"kind": "poisson", "rate": "120 kbit/s", "size": "700 B", "count": 18, "direction": "reverse"},
        ],
        "probes": {"packets": True},
    }
    for seed in (5, 6):
        here, there = (Scenario.build(document).run(seed, engine=engine) for engine in ("simulate", "kernel"))
        fates = [
            run.table("packets").sort("link", "arrival").select("link", "flow", "arrival", "fate")
            for run in (here, there)
        ]
        lost = fates[1].filter(pl.col("fate") >= FATES.index("dropped: limit")).group_by("link").len()
        assert lost.height == 2 and lost["len"].min() > 10, "chance had something to decide"
        assert fates[0].equals(fates[1])


def test_a_guest_ends_with_the_process_that_waits_for_it(kernel: Kernel) -> None:
    """Even after SIGKILL, which leaves no time for clean-up."""
    program = """
from pathlib import Path
from sojourn.engines.kernel.cache import find
from sojourn.engines.kernel.guest import boot, job_folder
with job_folder() as folder:
    print(folder, flush=True)
    boot(find(), folder, {"job": "exec dd if=/dev/zero of=/dev/null\\n"}, seed=1)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as waits:
        assert waits.stdout is not None
        folder = waits.stdout.readline().strip()
        try:
            guests = []
            # The kernel and its processes; at first it probes ptrace with a child that stops itself.
            while sum(_has_computed(guest) for guest in guests) < 2:
                assert waits.poll() is None
                guests = _processes(f"{kernel.image}\0", f"SOJOURN_JOB={folder}")
            ends = [os.pidfd_open(guest) for guest in guests if _has_computed(guest)]
        finally:
            waits.kill()
    for end in ends:
        assert select.select([end], [], [], 60)[0], "the guest goes on"
        os.close(end)
    shutil.rmtree(folder)


def _has_computed(process: int) -> bool:
    """Whether a process has used 0.1 s of user time."""
    with contextlib.suppress(OSError):  # the process has ended
        stat = Path(f"/proc/{process}/stat").read_text(encoding="ascii")
        return int(stat.rpartition(")")[2].split()[11]) >= 10
    return False


def _processes(begin: str, has: str) -> list[int]:
    """Processes whose command line starts with `begin` and contains `has`."""
    found = []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            text = line.read_bytes().decode(errors="replace")
            if text.startswith(begin) and has in text:
                found.append(int(line.parent.name))
    return found


def test_two_bottlenecks_in_a_row_carry_and_delay_as_in_the_simulator(kernel: Kernel) -> None:
    """Over six seeds: goodput of each group within 3 %, median delay of each queue within 15 % or 1 ms."""

    def flows(count: int, rtt: str, *route: str) -> dict[str, Any]:
        tcp = {"kind": "tcp", "cc": "cubic", "stack": "linux-6.1", "spread": "1 s"}
        return {**tcp, "count": count, "rtt": rtt, "route": list(route)}

    document = {
        "duration": "60 s",
        "warmup": "10 s",
        "link": {"rate": "10 Mbit/s", "delay": "5 ms", "aqm": "codel@linux"},
        "links": [
            {"name": "second", "rate": "7.3 Mbit/s", "delay": "9 ms", "aqm": "pie@linux", "limit": "500 packets"}
        ],
        "flows": [flows(3, "60 ms", "link", "second"), flows(2, "40 ms", "link"), flows(2, "50 ms", "second")],
    }

    seeds = range(1, 7)

    def numbers(engine: str) -> tuple[list[float], list[float]]:
        totals = [Scenario.build(document).run(seed, engine=engine).totals for seed in seeds]
        links = [[one["links"], *one["hops"]] for one in totals]
        medians = [sum(one[hop]["forward"]["sojourn_ms"]["p50"] for one in links) / len(seeds) for hop in range(2)]
        return [sum(one["groups"][group]["goodput_bps"] for one in totals) / len(seeds) for group in range(3)], medians

    (goodput, delays), (expected, expected_delays) = numbers("kernel"), numbers("simulate")
    assert goodput == pytest.approx(expected, rel=0.03)
    assert delays == pytest.approx(expected_delays, rel=0.15, abs=1)


def test_packets_cross_a_graph_at_the_simulator_s_nanosecond(kernel: Kernel) -> None:
    """A ring of four nodes with cross traffic and named routes, without TCP and randomness."""

    def link(name: str, rate: str, delay: str) -> dict[str, Any]:
        near, far = name
        return {"name": name, "from": near, "to": far, "rate": rate, "delay": delay, "limit": "20 packets"}

    rates = {"ab": "3 Mbit/s", "bc": "2.3 Mbit/s", "cd": "1.9 Mbit/s", "da": "4.1 Mbit/s"}
    document = {
        "duration": "3 s",
        "nodes": [{"name": name} for name in "abcd"],
        "links": [link(name, rate, f"{3 + 2 * index} ms") for index, (name, rate) in enumerate(rates.items())],
        "flows": [
            {"kind": "poisson", "rate": "1.7 Mbit/s", "size": "700 B", "from": "a", "to": "c"},
            {"kind": "poisson", "rate": "1.1 Mbit/s", "size": "301 B", "from": "b", "to": "d"},
            {
                "kind": "poisson",
                "rate": "1.3 Mbit/s",
                "size": "999 B",
                "from": "a",
                "to": "d",
                "route": ["ab", "bc", "cd"],
            },
            {"kind": "poisson", "rate": "2 Mbit/s", "size": "555 B", "from": "d", "to": "b", "route": ["cd", "bc"]},
        ],
        "probes": {"packets": True},
    }
    here, there = (Scenario.build(document).run(5, engine=engine) for engine in ("simulate", "kernel"))
    columns = ["link", "arrival", "flow", "bytes", "fate", "time_ns", "sojourn_ns", "from_host", "to_host"]
    same = [run.table("packets").sort("link", "arrival").select(columns) for run in (here, there)]
    assert same[0].equals(same[1])
    crossed = {name for data, _ in there.scenario.routes for name in data}
    assert set(there.links.filter(pl.col("packets") > 100)["link"]) == crossed and len(crossed) == 7
    assert there.links["dropped"].sum() > 100


def test_a_pattern_lasts_until_its_queue_is_empty(kernel: Kernel) -> None:
    packets = [Packet(1000 + 1_234_567 * number, 1487, number % 3, 0) for number in range(700)]
    slow = Pattern("droptail", "pfifo limit 900", 211_003, 24, 7, packets)
    assert slow.length_ns > 40e9
    [arrivals] = record(kernel, [slow])
    assert compare_arrivals(arrivals, slow.aqm).agreeing == 700


def test_goodput_counts_bytes_when_they_arrive_and_delivery_when_a_hole_is_filled(kernel: Kernel) -> None:
    rate, step_s = 10e6, 0.05
    flow = {"kind": "tcp", "cc": "reno", "rtt": "100 ms", "stack": "linux-6.1"}
    document = {
        "duration": "4 s",
        "warmup": "0 s",
        "link": {"rate": "10 Mbit/s", "aqm": "droptail", "limit": "30 packets"},
        "flows": [flow],
        "probes": {"flows": "50 ms"},
    }
    most = rate + 1514 * 8 / step_s
    for engine in ("simulate", "kernel"):
        result = Scenario.build(document).run(3, engine=engine)
        assert result.flows["goodput_bps"].max() <= most < result.flows["delivered_bps"].max(), engine
        sums = result.flows.select(pl.col("goodput_bps", "delivered_bps").cum_sum())
        assert (sums["goodput_bps"] >= sums["delivered_bps"] - 1).all(), "nothing is delivered before it arrives"
        [total] = result.totals["flows"]
        assert total["goodput_bps"] * 4 >= sums["goodput_bps"][-1] * step_s - 1
        assert total["delivered_bytes"] <= total["bytes"] == result.totals["groups"][0]["bytes"]


def test_time_outs_are_counted_by_flow(kernel: Kernel) -> None:
    """With a buffer of three packets small windows have losses that only a timeout repairs."""
    tcp = {"kind": "tcp", "cc": "reno", "rtt": "20 ms", "stack": "linux-6.1"}
    document = {
        "duration": "8 s",
        "link": {"rate": "1 Mbit/s", "aqm": "droptail", "limit": "3 packets"},
        "flows": [{**tcp, "count": 6}, {**tcp, "size": "20 kB", "pause": "100 ms"}, {"kind": "voice"}],
    }
    scenario = Scenario.build(document)
    found = {}
    for engine in ("simulate", "kernel"):
        runs = [scenario.run(seed, engine=engine).totals for seed in range(1, 13)]
        counts = [[group["timeouts"] for group in one["groups"]] for one in runs]
        found[engine] = np.array(counts)
        late = [[flow["timeouts"] for flow in one["flows"]] for one in runs]
        assert np.mean([count > 0 for one in late for count in one[:6]]) > 0.95
        assert all(one[6:] == [0] for one in late), "datagrams have no timer"
        assert [sum(one) for one in late] == [one[0] for one in counts]
    # A run has about 40 timeouts, on random connections.
    here, there = found["simulate"], found["kernel"]
    errors = np.sqrt((here.var(axis=0, ddof=1) + there.var(axis=0, ddof=1)) / len(here))
    apart = np.abs(here.mean(axis=0) - there.mean(axis=0))
    assert apart[0] <= 3 * errors[0] and errors[0] < 5
    # Short transfers have 8 there and 5 here, and more of them finish; the reason is unknown. With a kernel that
    # started a third of a tick later it was 6 and 5, and 35 and 40 for the long ones.
    assert here[:, 1].mean() < there[:, 1].mean() < 2 * here[:, 1].mean()
    assert there[:, 2].sum() == here[:, 2].sum() == 0


def test_a_flow_is_hashed_by_its_headers_and_stays_where_it_is(kernel: Kernel) -> None:
    # Sockets draw a new hash at each timeout, which is not in the packets: a router that used it would share 64 queues
    # evenly among 48 flows in the long run, and no flow would get less than half of another one's share.
    link = {"rate": "10 Mbit/s", "delay": "5 ms", "aqm": "fq_codel@linux flows 64 ecn off"}
    flows = [{"kind": "tcp", "cc": "reno", "count": 48, "stack": "linux-6.1"}]
    run = Scenario.build({"duration": "15 s", "warmup": "5 s", "link": link, "flows": flows}).run(1, engine="kernel")
    goodputs = run.flow_totals["goodput_bps"]
    assert goodputs.min() < 0.3 * goodputs.max()


def test_a_result_is_found_by_scenario_seed_and_engine(kernel: Kernel, cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "short.toml"
    flow = 'kind = "tcp"\nstack = "linux-2.6.29"\ncc = "reno"\nrtt = "20 ms"\nspread = "0 s"\n'
    path.write_text(f'duration = "1 s"\nwarmup = "0 s"\n[link]\nrate = "8 Mbit/s"\n[[flows]]\n{flow}')
    first = printed_json(cli("run", path, "--engine", "kernel", "--json"))
    again = printed_json(cli("run", path, "--engine", "kernel", "--json"))
    simulated = printed_json(cli("run", path, "--json"))
    assert first["folder"] == again["folder"] != simulated["folder"]
    study = tmp_path / "study.toml"
    study.write_text(path.read_text() + '[sweep]\n"link.aqm" = ["droptail", "fq_codel"]\nseeds = 2\n')
    swept = printed_json(cli("sweep", study, "--engine", "kernel", "--json"))
    assert swept["computed"] == 3, "one of the four is the run above"
    assert printed_json(cli("sweep", study, "--engine", "kernel", "--json"))["computed"] == 0


@pytest.mark.parametrize(
    "aqm", ["codel", "fq_codel", "pfifo", "pie", "red", "fq_pie", *(name for name in GENERATORS if name not in SINCE)]
)
def test_our_disciplines_do_as_the_kernel_s(kernel: Kernel, aqm: str) -> None:
    [found] = compare(kernel, [aqm], patterns=4, packets=300, seed=11, jobs=1)
    assert found.percent == 100.0, found.to_dict()
    assert found.packets == 1200 or (aqm == "netem" and found.packets > 1200), "netem makes packets, too"


def test_a_difference_is_reported_with_both_fates(kernel: Kernel, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from sojourn.engines.kernel import patterns

    line = patterns.LINES["pfifo_head_drop"][1]
    monkeypatch.setitem(patterns.LINES, "pfifo_head_drop", ("droptail", line))
    done = cli("kernel", "compare", "--aqm", "drophead", "--patterns", 6, "--packets", 400, "--json")
    assert done.exit_code == 1
    [found] = json.loads(done.stdout)["compared"]
    assert found["agreement"] < 100 and found["first_difference"]["first_difference"]["a"]["verdict"]


def test_features_missing_in_the_kernel_are_not_compared(kernel: Kernel) -> None:
    error = r"dualpi2: Linux 6\.1\.\d+ does not have it; use --version 7\.3, built first"
    with pytest.raises(MissingError, match=error):
        compare(kernel, ["dualpi2"], patterns=1, packets=10, seed=1, jobs=1)


@pytest.mark.parametrize("aqm", sorted(SINCE))
def test_disciplines_of_a_newer_kernel(aqm: str) -> None:
    newest = find(VERSIONS[-1])
    if newest is None:
        pytest.skip(f"no kernel {VERSIONS[-1]} is built here (sojourn kernel build --version {VERSIONS[-1]})")
    [found] = compare(newest, [aqm], patterns=4, packets=300, seed=11, jobs=1)
    assert (found.packets, found.percent) == (1200, 100.0), found.to_dict()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_window_that_a_receiver_is_given_holds(version: str) -> None:
    """Thirteen and a fraction segments of 1448 B fit, with an RTT that the queue hardly increases."""
    if find(version) is None:
        pytest.skip(f"no kernel {version} is built here (sojourn kernel build --version {version})")
    document = {
        "duration": "6 s",
        "warmup": "2 s",
        "link": {"rate": "10 Mbit/s", "delay": "20 ms"},
        "flows": [{"kind": "tcp", "cc": "cubic", "stack": "linux-6.1", "receive_window": "20000 B"}],
    }
    engine = "kernel" if version == VERSIONS[0] else f"kernel-{version}"
    totals = Scenario.build(document).run(1, engine=engine).totals
    round_trip_s = 0.040 + (1500 + 52) * 8 / 10e6
    assert 0.85 * 20_000 < totals["delivered_bps"] / 8 * round_trip_s < 20_000


def test_another_version_is_another_engine(cli: Cli, scenario_file: Path) -> None:
    if find("6.12") is None:
        pytest.skip("no kernel 6.12 is built here (sojourn kernel build --version 6.12)")
    found = printed_json(cli("run", scenario_file, "--engine", "kernel-6.12", "--json"))
    assert found["engine"].startswith("kernel-6.12.") and found["summary"]["goodput_bps"] > 5e6


def test_a_kernel_passes_its_test(kernel: Kernel) -> None:
    selftest.run(kernel)


def test_a_guest_that_gives_up_shows_its_console(kernel: Kernel) -> None:
    with job_folder() as folder, pytest.raises(MissingError) as error:
        boot(kernel, folder, {"job": "exec ip link add x type nonsense\n"}, seed=1)
    assert "the guest gave up: ip link" in str(error.value) and "Unknown device type" in str(error.value)
    with job_folder() as folder, pytest.raises(MissingError, match="the guest crashed; its console:"):
        broken = Kernel(Path("/bin/true"), kernel.program, kernel.version, kernel.digest)
        boot(broken, folder, {"job": ""}, seed=1)


def test_an_interrupted_run_leaves_nothing_behind(kernel: Kernel, tmp_path: Path) -> None:
    def stop(share: float) -> None:
        if share > 0.2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Scenario.build({**SCENARIO, "duration": "60 s"}).run(1, engine="kernel", progress=stop)
    assert not list(Path("/dev/shm").glob("sojourn-kernel-*/pid"))


def test_without_a_kernel_a_run_names_the_build_command(process: Process, scenario_file: Path, tmp_path: Path) -> None:
    done = process(
        "run", scenario_file, "--engine", "kernel", env=os.environ | {"SOJOURN_KERNEL": str(tmp_path / "none")}
    )
    assert done.returncode == 3
    assert f"no kernel 6.1 is built in {tmp_path / 'none'}; run sojourn kernel build" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("case", CASES[:1] + CASES[-1:], ids=lambda case: case.words)
def test_cake_shares_as_its_tins_and_its_failsafe_say(kernel: Kernel, case: Case) -> None:
    got, alike = shares(case, kernel)
    assert alike == 100
    assert all(abs(share - ideal) < 0.1 for share, ideal in zip(got, case.ideal, strict=True)), got


def test_cake_runs_on_the_kernel_as_it_is_simulated(kernel: Kernel) -> None:
    aqm = "cake bandwidth 7mbit besteffort flows ethernet"
    flow = {"kind": "tcp", "cc": "cubic", "rtt": "40 ms", "stack": "linux-6.1", "count": 4}
    link = {"rate": "20 Mbit/s", "aqm": aqm, "limit": "10240 packets"}
    document = {"duration": "12 s", "warmup": "3 s", "link": link, "flows": [flow]}
    here, there = (Scenario.build(document).run(3, engine=engine).totals for engine in ("simulate", "kernel"))
    goodput = [run["groups"][0]["goodput_bps"] for run in (here, there)]
    assert goodput[0] == pytest.approx(goodput[1], rel=0.02)
