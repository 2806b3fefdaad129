"""`sojourn aqm diff`: the first packet with a different treatment, for every source of arrivals."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from conftest import SHORT, Cli, Process, entries, printed_json
from sojourn.studies.runs import store

PASSED = {"arrival_ns": 0, "size": 1500, "flow": 0, "ecn": 0, "verdict": "pass", "departure_ns": 0}
META = {"qdisc": "pfifo limit 1", "rate_bps": 10**7, "overhead": 0, "t0_mono_ns": 10**9, "seed": 1}


def vector(folder: Path, rows: list[dict[str, Any]], **meta: Any) -> Path:
    path = folder / "made.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(json.dumps(row) for row in rows).encode()))
    (folder / "made.meta.json").write_text(json.dumps(META | meta))
    return path


def by_hand(last_verdict: str = "drop_on_arrival", departure_ns: int = -1) -> list[dict[str, Any]]:
    """Three simultaneous packets and a limit of one: one is sent, one is queued, one does not fit."""
    rows = [PASSED | {"arrival_ns": nanos} for nanos in (0, 1, 2)]
    rows[1]["departure_ns"] = 1_200_000
    rows[2] |= {"verdict": last_verdict, "departure_ns": departure_ns}
    return rows


def test_profiles_that_are_one_agree(cli: Cli) -> None:
    result = cli("aqm", "diff", "codel", "codel@rfc8289 target 5ms")
    assert result.exit_code == 0, result.output
    assert "Agreement: 100.00 %" in result.output
    assert "First difference" not in result.output


def test_profiles_that_differ_exit_with_1_and_show_both_states(cli: Cli) -> None:
    result = cli("aqm", "diff", "codel", "codel@linux")
    assert result.exit_code == 1, result.output
    rows = {words[0]: words[1:] for words in map(str.split, result.output.splitlines()) if words}
    assert rows["verdict"] == ["pass", "drop"]
    assert rows["dropping"] == ["1", "1"]
    first_drop_next, second_drop_next = map(float, rows["drop_next"])
    assert 0 < abs(first_drop_next - second_drop_next) < 0.1


def test_json_is_the_python_result(cli: Cli) -> None:
    result = cli("aqm", "diff", "codel", "codel target 6ms", "--packets", "3000", "--seed", "4", "--json")
    assert result.exit_code == 1
    printed = json.loads(result.stdout)
    found = sj.diff(sj.Codel(), sj.Codel(target="6 ms"), packets=3000, seed=4)
    assert printed == found.to_dict()
    assert printed["packets"] == 3000
    assert printed["agreement_percent"] == pytest.approx(100 * printed["agreeing"] / 3000)
    first = printed["first_difference"]
    assert set(first["arrival"]) == {"time_ns", "flow", "bytes", "ecn"}
    for side in ("a", "b"):
        assert set(first[side]) == {"verdict", "departure_ns", "dropped_ns", "reason", "state"}
        assert {"backlog_packets", "backlog_bytes", "count", "drop_next"} <= set(first[side]["state"])
    # Up to then both queues had the same events.
    assert first["a"]["state"]["backlog_bytes"] == first["b"]["state"]["backlog_bytes"]


def test_the_documents_name_every_key(repo: Path) -> None:
    text = (repo / "docs/diff.md").read_text(encoding="utf-8").split("## What `--json` prints")[1]
    found = sj.diff("codel", "pie", packets=2000).to_dict()
    first = found["first_difference"]
    assert first is not None
    for key in [*found, *first, *first["arrival"], *first["a"]]:
        assert re.search(rf"[`.]{key}`", text), key


def test_the_seed_decides_the_arrivals() -> None:
    def first(seed: int) -> dict[str, Any] | None:
        return sj.diff("codel", "pie", seed=seed, packets=5000).first_difference

    assert first(1) == first(1) != first(2)


def test_rate_and_limit_hold_for_both(cli: Cli) -> None:
    assert cli("aqm", "diff", "droptail", "codel", "--limit", "3 packets").exit_code == 0
    result = cli("aqm", "diff", "droptail", "codel", "--rate", "1 Mbit/s")
    assert result.exit_code == 1
    assert "1 Mbit/s, limit 1000 packets" in result.output


def test_a_vector_by_hand(tmp_path: Path) -> None:
    assert sj.diff("droptail", vector=vector(tmp_path, by_hand())).first_difference is None
    found = sj.diff("droptail", vector=vector(tmp_path, by_hand("pass", 2_400_000)))
    assert (found.packets, found.agreeing, found.same_verdicts) == (3, 2, 2)
    first = found.first_difference
    assert first is not None
    assert first["index"] == 2
    assert first["arrival"] == {"time_ns": 2, "flow": 0, "bytes": 1500, "ecn": "not-ect"}
    a = {"verdict": "drop_on_arrival", "departure_ns": None, "dropped_ns": 2, "reason": "limit"}
    assert first["a"] == a | {"state": {"backlog_packets": 1, "backlog_bytes": 1500}}
    b = {"verdict": "pass", "departure_ns": 2_400_000, "dropped_ns": None, "reason": None}
    assert first["b"] == b | {"state": None}


def test_a_departure_of_another_nanosecond_is_a_difference(tmp_path: Path) -> None:
    rows = by_hand()
    rows[1]["departure_ns"] += 1
    found = sj.diff("droptail", vector=vector(tmp_path, rows))
    assert (found.agreeing, found.same_verdicts) == (2, 3)
    assert found.first_difference is not None
    assert found.first_difference["index"] == 1


SFQ = {"qdisc": "sfq limit 4 quantum 1000"}


def test_a_label_is_no_verdict(tmp_path: Path) -> None:
    """A drop on arrival is one, whether the sender gets NET_XMIT_DROP or NET_XMIT_CN."""
    # Linux's FQ-PIE does not report a full queue, so the label is "drop".
    fq_pie = sj.diff("fq_pie", vector=vector(tmp_path, by_hand("drop"), qdisc="fq_pie limit 1"))
    assert (fq_pie.agreeing, fq_pie.differing_labels) == (3, 0)
    other = sj.diff("fq_pie", vector=vector(tmp_path, by_hand(), qdisc="fq_pie limit 1"))
    assert (other.agreeing, other.differing_labels, other.first_difference) == (3, 1, None)
    # SFQ enqueues the packet and then drops one: either may be the victim.
    rows = [PASSED | {"arrival_ns": nanos, "departure_ns": nanos * 1_200_000} for nanos in range(3)]
    rows += [PASSED | {"arrival_ns": 3, "verdict": "drop", "departure_ns": -1}]
    sfq = sj.diff("sfq", vector=vector(tmp_path, rows, qdisc="sfq limit 2 quantum 1514"))
    assert (sfq.agreeing, sfq.differing_labels, sfq.first_difference) == (4, 1, None)
    # In a queue that reports all its drops, the label "drop" means a later drop.
    assert sj.diff("droptail", vector=vector(tmp_path, by_hand("drop"))).agreeing == 2


def test_labels_are_distinguishable_in_print(cli: Cli, tmp_path: Path) -> None:
    result = cli("aqm", "diff", "fq_pie", "--vector", vector(tmp_path, by_hand(), qdisc="fq_pie limit 1"))
    assert result.exit_code == 0
    assert "Labels: 1 packets are dropped on arrival by both" in result.output


def colliding(**more: int) -> list[dict[str, Any]]:
    """Four simultaneous packets of flows 0, 0, 4 and 1, and an SFQ with flows 0 and 4 in the same bucket."""
    turns = enumerate([(0, 0), (0, 1), (4, 3), (1, 2)])
    return [
        PASSED | more | {"arrival_ns": i, "flow": flow, "departure_ns": turn * 1_200_000} for i, (flow, turn) in turns
    ]


def test_flows_that_share_a_bucket_are_found(cli: Cli, tmp_path: Path) -> None:
    path = vector(tmp_path, colliding(), **SFQ)
    found = sj.diff("sfq", vector=path)
    assert (found.agreeing, found.shared_buckets, found.first_difference) == (4, ((0, 4),), None)
    result = cli("aqm", "diff", "sfq", "--vector", path)
    assert result.exit_code == 0
    assert "Buckets: flows 0 and 4 are assumed to share one" in result.output
    # A hash collision does not explain a packet that waits while the link is idle.
    rows = colliding()
    rows[3]["departure_ns"] += 1
    found = sj.diff("sfq", vector=vector(tmp_path, rows, **SFQ))
    assert found.shared_buckets == ()
    assert found.first_difference is not None


def test_a_recorded_bucket_is_taken(tmp_path: Path) -> None:
    rows = colliding()
    for row, bucket in zip(rows, (9, 9, 9, 7), strict=True):
        row["bucket"] = bucket
    found = sj.diff("sfq", vector=vector(tmp_path, rows, **SFQ))
    assert (found.agreeing, found.shared_buckets) == (4, ())
    rows[3]["departure_ns"] += 1
    first = sj.diff("sfq", vector=vector(tmp_path, rows, **SFQ)).first_difference
    assert first is not None and first["arrival"]["flow"] == 1, "the flow, not its bucket"


@pytest.mark.parametrize("seed", range(1, 6))
def test_the_state_is_from_the_decision(seed: int) -> None:
    """A packet marked by RED on arrival is reported at its departure, when the average has changed."""
    a = "red@linux min 3kB max 300kB burst 20 probability 0.9 ecn nodrop"
    found = sj.diff(a, "droptail", packets=4000, seed=seed).first_difference
    assert found is not None
    assert (found["a"]["verdict"], found["b"]["verdict"]) == ("mark", "pass")
    assert found["at_ns"] == found["arrival"]["time_ns"] < found["a"]["departure_ns"]
    assert found["a"]["state"]["backlog_packets"] == found["b"]["state"]["backlog_packets"]


@pytest.mark.parametrize(
    ("aqm", "qdisc", "instead"), [("codel", "codel limit 1", "codel@linux"), ("pie", "pie limit 1", "pie@linux")]
)
def test_plain_names_are_pointed_to_linux(cli: Cli, tmp_path: Path, aqm: str, qdisc: str, instead: str) -> None:
    path = vector(tmp_path, by_hand("pass", 2_400_001), qdisc=qdisc, created="mono 5")
    result = cli("aqm", "diff", aqm, "--vector", path)
    assert result.exit_code == 1
    assert f"The recording is from Linux; compare {instead}" in result.output
    assert sj.diff(instead, vector=path).instead is None


def test_a_rate_is_written_as_a_person_would(tmp_path: Path) -> None:
    assert "9.6 Mbit/s" in sj.diff("codel", "codel", rate="9.600000000000001 Mbit/s", packets=10).source
    assert "33.939979 Mbit/s" in sj.diff("droptail", vector=vector(tmp_path, by_hand(), rate_bps=33_939_979)).source


def test_two_profiles_on_the_arrivals_of_a_vector(tmp_path: Path) -> None:
    path = vector(tmp_path, by_hand(), qdisc="pfifo limit 2")
    assert sj.diff("droptail", "codel", vector=path).first_difference is None
    assert sj.diff("droptail", vector=path).first_difference is not None


KERNEL = {
    "codel.poisson": "codel@linux",
    "codel_ecn.onoff": "codel@linux",
    "codel_limit.burst": "codel@linux",
    "pie.poisson": "pie@linux",
    "pie_phase.ramp": "pie@linux",
    "red_ecn.ecn": "red@linux",
    "ared.steady": "ared@linux-5.7",
    "choke.burst": "choke",
    "fq_codel_ecn.ecn": "fq_codel@linux",
}


@pytest.mark.parametrize("name", KERNEL)
def test_kernel_vectors_agree(cli: Cli, shared: Path, name: str) -> None:
    found = printed_json(cli("aqm", "diff", KERNEL[name], "--vector", shared / "kernel/vectors" / name, "--json"))
    assert found["agreement_percent"] == 100
    assert found["packets"] > 500
    assert found["b"].startswith("recorded: ")


def test_another_profile_does_not_agree_with_the_kernel(cli: Cli, shared: Path) -> None:
    path = shared / "kernel/vectors/codel.poisson.jsonl.gz"
    result = cli("aqm", "diff", "codel", "--vector", path)
    assert result.exit_code == 1
    assert "not recorded" in result.output


def test_a_log_agrees_with_the_queue_it_is_of(cli: Cli, scenario_file: Path) -> None:
    run = printed_json(cli("run", scenario_file, "--set", "probes.packets=true", "--seed", "5", "--json"))
    found = printed_json(cli("aqm", "diff", "codel", "--log", run["folder"], "--json"))
    assert found["agreement_percent"] == 100
    assert found["packets"] == store.load(run["folder"]).totals["links"]["forward"]["arrived"] + before_warmup(run)
    assert cli("aqm", "diff", "codel target 6ms", "--log", run["folder"]).exit_code == 1
    assert cli("aqm", "diff", "codel", "codel@linux", "--log", run["folder"]).exit_code == 1


def test_changes_of_a_run_happen_in_the_replay() -> None:
    """Both directions, with the changes of each; another manager stays, with the changes of rate and limit."""
    changed = {
        "duration": "4 s",
        "link": {"rate": "8 Mbit/s@0s,3 Mbit/s@1.003s,0 bit/s@1.5s,9 Mbit/s@1.7s", "aqm": "codel"},
        "reverse": {"rate": "5 Mbit/s", "aqm": "codel target 9ms"},
        "flows": [
            {"kind": "poisson", "rate": "9 Mbit/s"},
            {"kind": "poisson", "rate": "6 Mbit/s", "direction": "reverse"},
        ],
        "probes": {"packets": True},
        "changes": [
            {"at": "700 ms", "link": {"aqm": "codel target 1ms interval 10ms"}, "reverse": {"limit": "20 packets"}},
            {"at": "2 s", "link": {"aqm": "pie"}},
            {"at": "3 s", "link": {"limit": "9 packets"}, "reverse": {"aqm": "netem delay 4ms"}},
        ],
    }
    result = sj.Scenario.build(changed).run()
    found = sj.diff("codel", log=result)
    assert found.packets == sum(one.packets for one in found.directions.values()) > 5000
    forward, reverse = (found.directions[name] for name in ("forward", "reverse"))
    assert forward.agreeing == forward.packets, forward.first_difference
    # The recorded manager of this direction has another target.
    assert reverse.agreeing < reverse.packets
    own = sj.diff("codel target 9ms", log=result, link="reverse")
    assert (own.agreeing, own.first_difference, own.directions) == (own.packets, None, {})
    assert "changed 6 times" in forward.source
    other = sj.diff("droptail", log=result, link="forward")
    assert 0 < other.agreeing < other.packets
    with pytest.raises(sj.InputError, match="limit: the recorded link changes"):
        sj.diff("codel", log=result, limit="9 packets")
    with pytest.raises(sj.InputError, match="link: names a link of a log"):
        sj.diff("codel", "pie", link="forward")


def test_the_busiest_direction_of_a_log_is_compared_with_another_manager() -> None:
    flow = {"kind": "poisson", "rate": "6 Mbit/s", "direction": "reverse"}
    document = {
        "duration": "2 s",
        "link": {"rate": "9 Mbit/s", "aqm": "pie"},
        "flows": [flow],
        "probes": {"packets": True},
    }
    result = sj.Scenario.build({**document, "reverse": {"rate": "5 Mbit/s", "aqm": "red"}}).run()
    found = sj.diff("codel", log=result)
    assert (found.b, found.packets) == ("red", result.at("reverse").number("arrived"))


def before_warmup(run: dict[str, Any]) -> int:
    """Arrivals before the warm-up, not in the summary."""
    packets = store.load(run["folder"]).packets
    arrived = packets["time_s"] - packets["sojourn_ms"] / 1000
    return int(((packets["link"] == "forward") & (arrived < run["summary"]["warmup_s"])).sum())


def test_a_scenario_is_run_under_a(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    result = cli("aqm", "diff", "pie", "codel", "--scenario", scenario_file)
    assert result.exit_code == 1, result.output
    assert "recorded from pie, seed 1" in result.output
    assert cli("aqm", "diff", "red", "red@ns2", "--scenario", scenario_file, "--seed", "3").exit_code == 0
    assert entries(tmp_path) == {"short.toml"}


def test_progress_and_ctrl_c(tmp_path: Path) -> None:
    shares: list[float] = []
    sj.diff("codel", "pie", scenario=sj.Scenario.parse(SHORT), progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1

    def stop(_share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sj.diff("codel", "pie", progress=stop)


def test_progress_goes_to_stderr(process: Process) -> None:
    done = process("aqm", "diff", "codel", "codel", "--packets", "2000000", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["agreeing"] == 2_000_000
    assert all(line.startswith("0 of 1 runs, ") for line in done.stderr.splitlines())


USAGE = {
    "nothing to compare with": (["codel"], "give a second AQM, a vector or a log"),
    "unknown AQM": (["codle", "codel"], 'did you mean "codel"?'),
    "unknown second AQM": (["codel", "codel@atc"], 'did you mean "act"?'),
    "two sources": (["codel", "pie", "--vector", "x", "--log", "y"], "vector and log exclude each other"),
    "rate of a vector": (["codel", "--vector", "x", "--rate", "1mbit"], "the vector has its own"),
    "no unit": (["codel", "pie", "--rate", "10"], 'rate: "10" has no unit'),
    "zero rate": (["codel", "pie", "--rate", "0 bit/s"], "rate: "),
    "rate too low": (["codel", "pie", "--rate", "9 bit/s"], 'rate: "9 bit/s" is too low'),
    "too many packets": (["codel", "pie", "--packets", "10000001"], "packets: 10000001 is out of range"),
    "bad limit": (["codel", "pie", "--limit", "many"], "limit: "),
    "scenario without B": (["codel", "--scenario", "x.toml"], "give a second AQM"),
    "missing vector": (["codel", "--vector", "none"], "none: no such vector"),
    "missing log": (["codel", "--log", "none"], "no such result folder"),
    "missing scenario": (["codel", "pie", "--scenario", "none.toml"], "none.toml"),
    "no packets": (["codel", "pie", "--packets", "0"], "--packets"),
    "seed out of range": (["codel", "pie", "--seed", str(2**64)], "seed: "),
}


@pytest.mark.parametrize("case", USAGE)
def test_bad_usage(cli: Cli, case: str) -> None:
    args, expected = USAGE[case]
    refused(cli("aqm", "diff", *args), expected)


def change(key: str, value: Any) -> Callable[[list[dict[str, Any]]], None]:
    return lambda rows: rows[1].update({key: value})


ROWS = {
    "verdict unknown": (change("verdict", "lost"), "line 2: \"verdict\" is 'lost'"),
    "verdict missing": (lambda rows: rows[1].pop("verdict"), 'line 2 lacks "verdict"'),
    "size missing": (lambda rows: rows[1].pop("size"), 'line 2 lacks "size"'),
    "bucket negative": (change("bucket", -1), 'line 2: "bucket" is -1'),
    "bucket of one only": (change("bucket", 1), 'line 1 lacks "bucket", which others have'),
    "size zero": (change("size", 0), 'line 2: "size" is 0'),
    "ecn out of range": (change("ecn", 4), 'line 2: "ecn" is 4; expected a whole number from 0 to 3'),
    "arrival no number": (change("arrival_ns", "1"), "line 2: \"arrival_ns\" is '1'"),
    "arrival a fraction": (change("arrival_ns", 1.5), 'line 2: "arrival_ns" is 1.5'),
    "pass without departure": (change("departure_ns", -1), "line 2: a departure of -1 ns does not match"),
    "order of time": (change("arrival_ns", 3), "packet 2 arrives before the one before it"),
    "days apart": (lambda rows: rows[2].update(arrival_ns=10**18), "packet 2 arrives over a day after"),
    "no packets": (lambda rows: rows.clear(), "contains no packet"),
}


@pytest.mark.parametrize("case", ROWS)
def test_bad_rows_of_a_vector(cli: Cli, tmp_path: Path, case: str) -> None:
    spoil, expected = ROWS[case]
    rows = by_hand()
    spoil(rows)
    refused(cli("aqm", "diff", "droptail", "--vector", vector(tmp_path, rows)), expected)


METAS = {
    "rate zero": ({"rate_bps": 0}, '"rate_bps" is 0'),
    "rate a text": ({"rate_bps": "10mbit"}, "\"rate_bps\" is '10mbit'"),
    "overhead negative": ({"overhead": -4}, '"overhead" is -4'),
    "created": ({"created": "yesterday"}, "\"created\" is 'yesterday'"),
    "ties": ({"ties": "departure-first"}, "\"ties\" is 'departure-first'"),
    "qdisc without value": ({"qdisc": "pfifo limit"}, 'limit of the qdisc "pfifo limit" needs a value'),
    "qdisc empty": ({"qdisc": ""}, "the qdisc has no kind"),
    "limit of nothing": ({"qdisc": "pfifo limit 0"}, "limit of the qdisc"),
}


@pytest.mark.parametrize("case", METAS)
def test_bad_meta_file(cli: Cli, tmp_path: Path, case: str) -> None:
    meta, expected = METAS[case]
    refused(cli("aqm", "diff", "droptail", "--vector", vector(tmp_path, by_hand(), **meta)), expected)


FILES = {
    "cut off": (lambda path: path.write_bytes(path.read_bytes()[:-12]), "the file is truncated"),
    "no gzip": (lambda path: path.write_text("{}"), "not a complete gzip file"),
    "damaged": (lambda path: path.write_bytes(path.read_bytes()[:10] + b"\xff" * 80), "damaged (Error -3"),
    "a line cut off": (lambda path: path.write_bytes(gzip.compress(b'{"arrival_ns":0')), "line 1 is not valid JSON"),
    "a list": (lambda path: path.write_bytes(gzip.compress(b"[]")), "line 1 is not an object"),
    "binary": (lambda path: path.write_bytes(gzip.compress(b"\xff\xfe")), "not a text file"),
    "no meta": (lambda path: path.with_name("made.meta.json").unlink(), "made.meta.json is missing"),
    "meta no JSON": (lambda path: path.with_name("made.meta.json").write_text("{"), "not valid JSON"),
    "meta without qdisc": (lambda path: path.with_name("made.meta.json").write_text("{}"), '"qdisc" is missing'),
}


@pytest.mark.parametrize("case", FILES)
def test_damaged_vector(cli: Cli, tmp_path: Path, case: str) -> None:
    damage, expected = FILES[case]
    path = vector(tmp_path, by_hand())
    damage(path)
    refused(cli("aqm", "diff", "droptail", "--vector", path), expected)


def test_a_log_without_packets_or_of_a_trace_is_refused(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    folder = printed_json(cli("run", scenario_file, "--json"))["folder"]
    refused(cli("aqm", "diff", "codel", "--log", folder), "probes.packets=true")
    (tmp_path / "x.trace").write_text("1\n")
    sets = ["--set", "link.rate=", "--set", "link.trace=x.trace", "--set", "probes.packets=true"]
    folder = printed_json(cli("run", scenario_file, *sets, "--json"))["folder"]
    refused(cli("aqm", "diff", "codel", "--log", folder), "only runs over a link with a rate can be replayed")


def refused(result: Any, expected: str) -> None:
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert expected in result.stderr
    assert "Traceback" not in result.stderr
    assert len(result.stderr.splitlines()) <= 4, result.stderr
