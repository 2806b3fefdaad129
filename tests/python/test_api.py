"""The Python API: scenarios, queue managers from the registry, single queues, comparisons."""

from __future__ import annotations

import doctest
from pathlib import Path

import polars as pl
import pytest

import sojourn as sj
import sojourn.model.aqms.queue
from conftest import SHORT, Cli


def test_scenario_load_and_run(scenario_file: Path) -> None:
    scenario = sj.Scenario.load(scenario_file, {"link.aqm": sj.Codel(target="7 ms"), "flows.0.count": 3})
    assert scenario.name == "short"
    assert scenario.aqm == "codel target 7ms"
    assert scenario.document["flows"][0]["count"] == 3
    result = scenario.run(seed=2)
    assert result.seed == 2
    assert result.summary.height == 1
    assert 0.5 < result.summary["utilisation"][0] <= 1
    assert result.summary["fingerprint"][0] == result.fingerprint
    assert result.links["link"].to_list() == ["forward", "reverse"]
    assert result.flow_totals.height == 3
    assert "<table" in result._repr_html_()


def test_canonical_form_is_stable(scenario_file: Path) -> None:
    scenario = sj.Scenario.load(scenario_file)
    assert sj.Scenario.parse(scenario.canonical) == scenario
    assert scenario.replace({}) == scenario
    assert scenario.replace({"link.rate": "10000 kbit/s"}) == scenario
    assert scenario.replace({"link.rate": "9 Mbit/s"}) != scenario


def test_frames_carry_their_units() -> None:
    probes = {"packets": True, "queue": "10 ms", "flows": "100 ms", "state": "10 ms", "utilisation": "1 s"}
    result = sj.Scenario.parse(SHORT, {f"probes.{key}": value for key, value in probes.items()}).run()
    assert result.packets.columns[:2] == ["time_s", "link"]
    assert {"sojourn_ms", "fate", "bytes", "flow"} <= set(result.packets.columns)
    assert {"time_s", "packets", "bytes"} <= set(result.queue.columns)
    assert {"time_s", "cwnd", "ssthresh", "srtt_ms", "goodput_bps"} <= set(result.flows.columns)
    assert {"count", "drop_next"} <= set(result.state.columns)
    steps = result.utilisation.filter(pl.col("link") == "forward")
    assert steps["time_s"].to_list() == [1.0, 2.0, 3.0]
    assert steps["utilisation"].is_between(0, 1).all()
    assert result.packets["time_s"].is_sorted()
    assert result.packets["time_s"].max() <= 3.0


def test_missing_table_names_the_probe() -> None:
    with pytest.raises(sj.InputError, match=r"probes\.state"):
        _ = sj.Scenario.parse(SHORT).run().state


def test_classes_come_from_the_registry() -> None:
    assert sj.Codel().text == "codel"
    assert sj.Codel(profile="act", target="7 ms", ecn=True).text == "codel@act target 7ms ecn"
    assert sj.Codel(ecn=False).text == "codel"
    assert sj.DropTail().text == "droptail"
    assert sj.Pie("draft00").text == "pie@draft00"
    assert sj.Codel(target="5 ms") == sj.Codel()
    assert "Acceptable standing queue delay" in str(sj.Codel.__doc__)
    assert {"Codel", "Pie", "compare"} <= set(dir(sj))


def test_unknown_parameter_names_the_nearest() -> None:
    with pytest.raises(sj.InputError, match='did you mean "target"'):
        sj.Codel(taget="5 ms")
    with pytest.raises(sj.InputError, match="out of range"):
        sj.Codel(target="100 s")


def test_unknown_attribute() -> None:
    with pytest.raises(AttributeError, match="Kodel"):
        _ = sj.Kodel
    with pytest.raises(AttributeError):
        _ = sj.codel


def test_queue_by_hand() -> None:
    queue = sj.Queue(sj.DropTail(), limit="2 packets")
    assert [queue.push(0, 1500, tag=tag) for tag in "abc"] == ["queued", "queued", "dropped:limit"]
    assert queue.dropped() == [("c", "limit")]
    assert queue.dropped() == []
    assert queue.backlog() == (2, 3000)
    assert len(queue) == 2
    popped = queue.pop(2_000_000)
    assert popped is not None
    assert (popped.tag, popped.sojourn_ms, popped.marked) == ("a", 2.0, False)
    assert queue.pop(3_000_000).tag == "b"
    assert queue.pop(4_000_000) is None


def test_codel_by_hand_drops_after_one_interval() -> None:
    """Constant sojourn time of 10 ms: the first drop is 100 ms after the target was first exceeded (RFC 8289 §4.4)."""
    queue = sj.Queue(sj.Codel())
    ms = 1_000_000
    drops_ms = []
    for now_ms in range(200):
        queue.push(now_ms * ms, tag=now_ms)
        if now_ms >= 10:
            queue.pop(now_ms * ms)
            drops_ms += [now_ms for _ in queue.dropped()]
    assert drops_ms[0] == 110
    assert "count" in queue.state()


def test_docstring_of_the_queue_is_true() -> None:
    failed, tried = doctest.testmod(sojourn.model.aqms.queue)
    assert tried > 0
    assert failed == 0


def test_compare(tmp_path: Path) -> None:
    found = sj.compare([sj.Codel(), "droptail"], rate="5 Mbit/s", rtt="20 ms", flows=2, duration="5 s", seeds=2)
    assert found.table["aqm"].to_list() == ["codel", "droptail"]
    assert found.runs.height == 4
    assert found.setup["flows"][0]["count"] == 2
    by_aqm = dict(zip(found.table["aqm"], found.table["sojourn_mean_ms"], strict=True))
    assert by_aqm["codel"] < by_aqm["droptail"]
    assert found.plot(tmp_path / "x.png").stat().st_size > 10_000
    html = found._repr_html_()
    assert "<table" in html and html.count("<th>") <= 12 and "sojourn p95 [ms]" in html and "±" in html
    assert found.results[0]._repr_html_().count("<th>") <= 12
    figure, _ = found.plot.cdf()
    assert figure._repr_png_().startswith(b"\x89PNG"), "a notebook shows it"


def test_compare_sets_other_keys(tmp_path: Path) -> None:
    sets = {"probes.state": "20 ms", "reverse.limit": "77 packets", "probes.packets": True}
    found = sj.compare("codel,pie", duration="900 ms", seeds=2, warmup="100 ms", sets=sets)
    assert all({"state", "packets"} <= set(run.table_names) for run in found.results)
    assert found.results[3].scenario.document["reverse"]["limit"] == "77 packets"
    for key, remedy in (("link.aqm", "--aqm"), ("flows.0.count", "--flows"), ("duration", "--duration")):
        with pytest.raises(sj.InputError, match=f"{key}: has its own argument; give .*{remedy}"):
            sj.compare("codel", sets={key: "7"})
    with pytest.raises(sj.InputError, match="unknown key"):
        sj.compare("codel", sets={"link.foo": "7"})


def test_sweep_sets_other_keys(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(SHORT + '[sweep]\n"link.aqm" = ["codel", "pie"]\n')
    ran = cli("sweep", "study.toml", "--set", "probes.queue=30 ms", "-o", "out")
    assert ran.exit_code == 0, ran.output
    assert all((path.parent / "queue.parquet").exists() for path in tmp_path.glob("out/*/manifest.json"))
    refused = cli("sweep", "study.toml", "--set", "link.aqm=red", "-o", "out")
    assert refused.exit_code == 2 and "--set: link.aqm is also in [sweep]; leave it out in one place" in refused.stderr


def test_compare_with_one_seed_has_no_interval() -> None:
    found = sj.compare(["codel"], duration="2 s")
    assert found.table["sojourn_mean_ms_ci95"].to_list() == [None]


def test_the_default_sender_is_the_newest_linux_with_cubic() -> None:
    """The newest stack is taken from the registry; comparison and scenario use the same one."""
    link = {"rate": "1 Mbit/s"}
    kinds = [{"kind": "tcp"}, {"kind": "web", "interval": "1 s", "size": "1 kB"}, {"kind": "request", "size": "1 kB"}]
    senders = sj.Scenario.build({"duration": "1 s", "link": link, "flows": kinds}).document["flows"]
    senders += sj.compare(["droptail"], duration="1 s", rate="1 Mbit/s").setup["flows"]
    assert {(flow["stack"], flow["cc"]) for flow in senders} == {("linux-6.1", "cubic")}
    given = sj.compare(["droptail"], duration="1 s", rate="1 Mbit/s", stack="linux-3.8", cc="reno").setup["flows"][0]
    assert (given["stack"], given["cc"]) == ("linux-3.8", "reno")


def test_compare_finds_its_warm_up_by_default() -> None:
    assert sj.compare(["codel"], duration="2 s").setup["warmup"] == "auto"
    assert sj.compare(["codel"], duration="2 s", warmup="0 s").setup["warmup"] == "0 s"


def test_traffic_is_paired_between_aqms() -> None:
    """With the same seed flows start at the same times under every AQM."""
    found = sj.compare(["codel", "droptail"], duration="2 s", flows=4)
    arrived_ns = pl.col("time_ns") - pl.col("sojourn_ns")
    firsts = [
        result.table("packets").filter(pl.col("link") == 0).group_by("flow").agg(arrived_ns.min()).sort("flow")
        for result in found.results
    ]
    assert firsts[0].equals(firsts[1])
