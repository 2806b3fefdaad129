"""Warm-up of runs: detected from the backlog, reported if not detected, and common to compared runs."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sojourn as sj
from conftest import SHORT, Cli, printed_json
from sojourn.base.units import seconds
from sojourn.engines.kernel.cache import Kernel
from sojourn.figures.api import draw
from sojourn.figures.warmup import GID
from sojourn.model.analysis.labels import Name
from sojourn.model.analysis.metrics import METRICS
from sojourn.studies.study import SPREAD

# An overload of 3 s fills the queue; then half the load remains, and the queue empties in 0.24 s.
OVERLOAD = """
duration = "30 s"
warmup = "auto"

[link]
rate = "10 Mbit/s"
aqm = "droptail"
limit = "100 packets"

[[flows]]
kind = "poisson"
rate = "5 Mbit/s"

[[flows]]
kind = "cbr"
rate = "12 Mbit/s"
stop = "3 s"
"""
LONG = SHORT.replace('"3 s"', '"20 s"').replace('warmup = "1 s"\n', "")
"""Two flows through CoDel for 20 s, without a warm-up key."""
UNSETTLED = ["--aqm", "droptail", "--duration", "30s", "--cc", "cubic", "--stack", "linux-6.1"]


def test_the_warm_up_ends_with_the_overload() -> None:
    for seed in (1, 2):
        result = sj.Scenario.parse(OVERLOAD).run(seed)
        assert result.settled
        assert 3 <= result.warmup_s <= 3.6


def test_the_warm_up_on_the_kernel_ends_with_the_overload(kernel: Kernel, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(f"{OVERLOAD}[sweep]\nseeds = 1\n")
    found = printed_json(cli("sweep", "study.toml", "--engine", "kernel", "--json"))
    assert found["warmup"] == ["auto"] and found["computed"] == 1
    [manifest] = [json.loads(path.read_text()) for path in tmp_path.rglob("manifest.json")]
    assert manifest["engine"] == kernel.identity
    assert manifest["summary"]["settled"] and 3 <= manifest["summary"]["warmup_s"] <= 3.6


def test_a_run_on_the_kernel_has_the_numbers_of_the_warm_up_that_was_found(kernel: Kernel) -> None:
    web = '[[flows]]\nkind = "web"\ninterval = "500 ms"\nsize = "20 kB"\ncc = "reno"\n'
    sets = {"warmup": "auto", "link.aqm": "fq_codel@linux", "duration": "8 s"}
    found = sj.Scenario.parse(LONG + web, sets).run(1, engine="kernel")
    assert found.settled
    given = found.scenario.replace({"warmup": f"{found.warmup_s} s"}).run(1, engine="kernel")
    assert {**found.totals, "settled": None} == {**given.totals, "settled": None}
    windows = found.table("windows")
    assert windows["goodput_bps"][0] == given.totals["goodput_bps"]
    assert windows["jain"].is_between(0.5, 1).all()


def test_the_emulator_counts_from_the_warm_up_that_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Departures from the link and bytes read by programs count from the same time on, also in the table `windows`."""
    from sojourn.engines.emulated.engine import _add_traffic, _flow_number

    result = sj.Scenario.parse(OVERLOAD).run()
    step = 10_000_000
    read = {str(n): 900 for n in range(30_000_000_000 // step)}
    ends = [["10.1.0.2", 40_123], ["10.1.0.1", 5001]]
    report: dict[str, Any] = {"delivered": read, "flows": [[0, read]], "ends": [ends]}
    report |= {"error": "", "opened": 1, "closed": 0, "transfers": []}
    result.totals["emulation"] = {"epoch_ns": 0, "faults": []}
    result.scenario.document["flows"] = result.scenario.document["flows"][:1]
    monkeypatch.setattr("sojourn.engines.emulated.engine.bulk_groups", lambda _: [False])
    starts = [round(1e9 * result.warmup_s), *result.table("windows")["start_ns"]]
    payload = {at: [{_flow_number(ends, True): (30_000_000_000 - at) // 10_000}, {}] for at in starts}
    _add_traffic(result, [report], payload, [0])
    steps = 3000 - round(result.warmup_s * 100)
    [group], [flow] = result.totals["groups"], result.totals["flows"]
    assert group["bytes"] == flow["bytes"] == 1000 * steps
    assert group["delivered_bytes"] == flow["delivered_bytes"] == 900 * steps
    later = result.table("windows").filter(link=0)
    assert later["goodput_bps"].to_list() == pytest.approx([800_000.0] * later.height)
    assert later["delivered_bps"].to_list() == pytest.approx([720_000.0] * later.height, rel=1e-3)


@pytest.mark.usefixtures("undrawn")
def test_unsettled_runs_exclude_half_and_report_it(cli: Cli) -> None:
    text = cli("compare", *UNSETTLED).output
    assert re.search(r"^droptail .* not settled$", text, re.MULTILINE)
    assert re.search(
        r"^droptail .* 15.00 +not settled$", cli("compare", *UNSETTLED, "--columns", "warm-up,state").output, re.M
    )
    assert "not settled: the backlog has no steady state; half of the run is excluded" in text
    assert "(--duration)" in text
    found = printed_json(cli("compare", *UNSETTLED, "--json"))
    [run] = found["runs"]
    manifest = json.loads((Path(run["folder"]) / "manifest.json").read_text())
    assert manifest["scenario"]["warmup"] == found["setup"]["warmup"] == "auto"
    assert (manifest["summary"]["warmup_s"], manifest["summary"]["settled"]) == (15.0, False)
    assert [(row["warmup_max_s"], row["not_settled"]) for row in found["table"]] == [(15.0, 1)]


@pytest.mark.usefixtures("undrawn")
def test_only_an_explicit_warm_up_is_refused(cli: Cli, tmp_path: Path) -> None:
    requests = cli("compare", *UNSETTLED, "--warmup", "auto")
    assert requests.exit_code == 2
    assert "the backlog under droptail has not settled in the first half of 30 s; give a longer" in requests.stderr
    steps = ["--aqm", "codel", "--duration", "4s", "--rate", "8mbit@0s,4mbit@2s"]
    assert cli("compare", *steps).exit_code == 0
    refused = cli("compare", *steps, "--warmup", "auto")
    assert refused.exit_code == 2
    assert "warmup: link.rate changes with time, so there is no steady state; give" in refused.stderr
    # The key in the file equals the default.
    (tmp_path / "study.toml").write_text(SHORT.replace('"1 s"', '"auto"') + 'stop = "2 s"\n[sweep]\nseeds = 2\n')
    text = cli("sweep", "study.toml").output
    assert "flows[0].stop ends flows during the run, so there is no steady state; a tenth" in text
    assert (
        re.search(r"^codel .* a tenth$", text, re.MULTILINE)
        and "warm-up 0.3 s (auto)" in text
        and "not settled" not in text
    )
    assert cli("sweep", "study.toml", "--warmup", "auto").exit_code == 2
    with pytest.raises(sj.InputError, match="has not settled"):
        sj.compare(["droptail"], duration="30 s", warmup="auto")


def test_a_run_reports_its_warm_up(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(LONG)
    text = cli("run", "run.toml", "--set", "warmup=auto").output
    assert re.search(r"^Warm-up \d[.\d]* s \(auto\)$", text, re.MULTILINE)
    text = cli("run", "run.toml", "--set", "warmup=auto", "--set", "flows.0.stop=9 s").output
    assert "Warm-up 2 s (auto); flows[0].stop ends flows during the run, so there is no steady state; a tenth" in text
    (tmp_path / "tail.toml").write_text(LONG.replace("codel", "droptail").replace("20 s", "7 s"))
    text = cli("run", "tail.toml", "--set", "warmup=auto", "--set", "flows.0.cc=cubic").output
    assert "Warm-up 3.5 s (auto); not settled: the backlog has no steady state; half of the run" in text
    assert "--set duration" in text
    assert "Warm-up" not in cli("run", "run.toml").output


def test_slow_start_is_left_out_by_default() -> None:
    """PIE with four flows: a warm-up of 10 % of ten seconds would include most of the first overshoot."""
    ten, sixty = (
        sj.compare(["pie"], duration=duration, cc="reno", stack="linux-2.6.29").table.row(0, named=True)
        for duration in ("10 s", "60 s")
    )
    tenth = sj.compare(["pie"], duration="10 s", warmup="1 s", cc="reno", stack="linux-2.6.29").table
    assert tenth["sojourn_p95_ms"][0] > 300
    assert ten["sojourn_p95_ms"] == pytest.approx(sixty["sojourn_p95_ms"], rel=0.2)
    assert sixty["sojourn_mean_ms"] == pytest.approx(15.7, rel=0.1)


def test_queue_managers_that_are_compared_are_seen_over_the_same_time(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(
        f'{LONG}[sweep]\n"flows.0.count" = [1, 8]\n"link.aqm" = ["codel", "pie"]\nseeds = 3\n'
    )
    result = sj.Study.load(tmp_path / "study.toml").run()
    own = {(row["link.aqm"], row["flows.0.count"], row["seed"]): one for row, one in _named(result)}
    assert len({one.warmup_s for one in own.values() if one.settled}) > 3  # else the test could not tell
    for row in result.runs.iter_rows(named=True):
        aqm, count, seed = (row[name] for name in ("link.aqm", "flows.0.count", "seed"))
        one = own[aqm, count, seed]
        longest = max(run.warmup_s for (_, flows, _), run in own.items() if flows == count)
        given = one.scenario.replace({"warmup": f"{longest} s"}).run(seed).summary.row(0, named=True)
        assert row["warmup_s"] == longest
        for key in given.keys() & row.keys() - {"settled", "not_settled"}:
            assert row[key] == given[key], key


def _named(result: object) -> list[tuple[dict[str, object], sj.Result]]:
    return [(values | {"seed": one.seed}, one) for values, one in result.with_values()]  # type: ignore[attr-defined]


def test_where_one_run_does_not_settle_all_of_its_load_leaves_out_half() -> None:
    """Tail drop has no steady state in so short a time; the compared managers use the same window."""
    found = sj.compare(["droptail", "codel", "pie"], rate=["9 Mbit/s", "83 Mbit/s"], duration="31 s", seeds=2, flows=3)
    own = list(zip(found.runs.iter_rows(named=True), found.results, strict=True))
    halves = {
        rate for rate in ("9 Mbit/s", "83 Mbit/s") if any(row["rate"] == rate and not run.settled for row, run in own)
    }
    assert halves
    for row, run in own:
        others = [other.warmup_s for place, other in own if place["rate"] == row["rate"]]
        assert row["warmup_s"] == max(others) and (row["warmup_s"] == 15.5) == (row["rate"] in halves)
        given = run.scenario.replace({"warmup": f"{row['warmup_s']} s"}).run(run.seed)
        assert row["sojourn_p99_ms"] == given.number("sojourn_p99_ms")
    counted = found.paired("codel").filter(metric="packets")["aqm"].to_list()
    assert set(counted) == {"droptail", "pie"}, "counts are over the same time"


def test_the_window_does_not_depend_on_how_the_runs_were_made(cli: Cli, tmp_path: Path) -> None:
    """At once, in merged shards, and seed by seed with --until: the same warm-up, over all seeds."""
    text = f'{LONG}[sweep]\n"link.aqm" = ["codel", "pie", "red"]\n"flows.0.count" = [3, 7]\nseeds = 5\n'
    (tmp_path / "study.toml").write_text(text)
    whole = printed_json(cli("sweep", "study.toml", "-o", "whole", "--json"))
    cli("sweep", "study.toml", "--shard", "1/2", "-o", "one")
    cli("sweep", "study.toml", "--shard", "2/2", "-o", "two")
    merged = printed_json(cli("sweep", "study.toml", "--merge", "one", "--merge", "two", "-o", "all", "--json"))
    (tmp_path / "one-seed.toml").write_text(text.replace("seeds = 5", "seeds = 1"))
    until = printed_json(cli("sweep", "one-seed.toml", "--until", "200%", "-o", "until", "--json"))
    assert merged["computed"] == 0 and until["until"]["seeds"] == 5
    assert whole["table"] == merged["table"] == until["table"]
    starts = {row["flows.0.count"]: (row["warmup_min_s"], row["warmup_max_s"]) for row in whole["table"]}
    assert len(set(starts.values())) == 2 and all(least == most for least, most in starts.values())


def test_keys_set_by_manager_or_seed_make_no_separate_cell(tmp_path: Path) -> None:
    """A limit that varies with the queue manager, and a rate drawn by each seed."""
    (tmp_path / "study.toml").write_text(
        f'{LONG}[draw]\n"link.rate" = {{ uniform = ["5 Mbit/s", "9 Mbit/s"] }}\n'
        '[sweep]\n"link.aqm, link.limit" = [["codel", "97 packets"], ["pie", "311 packets"]]\nseeds = 3\n'
    )
    result = sj.Study.load(tmp_path / "study.toml").run()
    assert len({run.warmup_s for run in result.results}) > 1  # else the test could not tell
    assert result.runs["warmup_s"].n_unique() == 1
    assert result.runs["warmup_s"][0] >= max(run.warmup_s for run in result.results)


@pytest.mark.usefixtures("undrawn")
def test_a_given_warm_up_is_kept(cli: Cli) -> None:
    found = printed_json(cli("compare", "--aqm", "codel,pie", "--duration", "4s", "--warmup", "1500ms", "--json"))
    assert found["setup"]["warmup"] == "1.5 s" and found["notes"] == []
    assert [row["not_settled"] for row in found["table"]] == [None, None]
    assert all(run["summary"]["warmup_s"] == 1.5 and "settled" not in run["summary"] for run in found["runs"])
    args = ["compare", "--aqm", "codel,pie", "--duration", "4s", "--warmup", "1500ms"]
    assert "warm-up" not in cli(*args).output
    assert "warmup_s" in cli(*args, "--csv", "--columns", "warmup_s").stdout


def test_the_hash_has_the_word() -> None:
    from sojourn.studies.runs.store import run_hash

    auto, given = (sj.Scenario.parse(SHORT, {"warmup": warmup}) for warmup in ("auto", "1 s"))
    assert auto.document["warmup"] == "auto"
    assert run_hash(auto, 1) != run_hash(given, 1)
    assert auto.run().fingerprint == given.run().fingerprint


def test_a_study_has_its_own_defaults(tmp_path: Path) -> None:
    (tmp_path / "plain.toml").write_text(LONG.replace('spread = "500 ms"\n', "") + "[sweep]\nseeds = 2\n")
    document = sj.Study.load(tmp_path / "plain.toml").points[0].scenario.document
    assert (document["warmup"], document["flows"][0]["spread"]) == ("auto", SPREAD)
    document = sj.Scenario.load(tmp_path / "plain.toml", {"sweep": ""}).document
    assert (document["warmup"], document["flows"][0]["spread"]) == ("0 s", "0 s")
    (tmp_path / "told.toml").write_text(f"{SHORT}[sweep]\nseeds = 2\n")
    document = sj.Study.load(tmp_path / "told.toml").points[0].scenario.document
    assert (document["warmup"], document["flows"][0]["spread"]) == ("1 s", "500 ms")
    # Flows that stop may have no time for a random start.
    stopping = LONG.replace('spread = "500 ms"\n', 'stop = "200 ms"\n')
    (tmp_path / "stop.toml").write_text(f"{stopping}[sweep]\nseeds = 2\n")
    assert sj.Study.load(tmp_path / "stop.toml").points[0].scenario.document["flows"][0]["spread"] == "0 s"


@pytest.mark.parametrize("wanted", ["soon", "Auto", "auto 5s"])
def test_a_warm_up_that_is_neither_is_refused(wanted: str) -> None:
    with pytest.raises(sj.InputError, match=r"^warmup: .*write"):
        sj.Scenario.parse(SHORT, {"warmup": wanted})


@pytest.mark.parametrize("name", ["timeseries", "drops", "window", "bytes", "rates", "state"])
def test_figures_over_time_show_the_warm_up_on_grey(name: str) -> None:
    probes = {"probes.packets": True, "probes.state": "50 ms"}
    scenario = sj.Scenario.parse(LONG, {"warmup": "auto", "duration": "8 s"} | probes)
    runs = [scenario.run(1), scenario.replace({"link.aqm": "pie"}).run(1)]
    assert all(run.settled and run.warmup_s > 0 for run in runs)
    options = {"from": "0 s", "to": "4 s"} if name == "window" else {}
    figure = draw(name, runs, [Name("codel"), Name("pie")], options=options)[0].figure
    edges = {
        round(float(patch.get_extents().transformed(axes.transData.inverted()).x1), 6)
        for axes in figure.axes
        for patch in axes.patches
        if patch.get_gid() == GID
    }
    assert edges == {round(max(run.warmup_s for run in runs), 6)}
    assert "grey: warm-up, not in the statistics" in figure.get_supxlabel()
    for axes in figure.axes:
        assert axes.get_xlim()[0] == 0, "all of the run is shown"


def test_the_summary_from_later_on_is_in_half_per_cents() -> None:
    result = sj.Scenario.parse(LONG, {"warmup": "auto"}).run()
    assert result.settled
    assert result.summary_from(0) == result.summary.row(0, named=True)
    row = result.summary_from(result.warmup_s + 0.01)
    assert row["warmup_s"] == pytest.approx(result.warmup_s + 0.1)
    assert result.summary_from(99)["warmup_s"] == seconds("20 s") / 2
    columns = {metric.column for metric in METRICS}
    assert columns <= row.keys() and row.keys() == result.summary_from(0).keys()
    changed = {key for key in row if row[key] != result.summary_from(0)[key]}
    assert {"packets", "warmup_s"} <= changed and not {"seed", "aqm", "events", "fingerprint", "settled"} & changed


def test_a_point_keeps_its_runs(tmp_path: Path) -> None:
    """A finished study is reused, with the same common windows."""
    (tmp_path / "study.toml").write_text(f'{LONG}[sweep]\n"link.aqm" = ["codel", "pie"]\nseeds = 2\n')
    study = sj.Study.load(tmp_path / "study.toml")
    first, again = (study.run(tmp_path / "out") for _ in range(2))
    assert all(one.found for one in again.results)
    assert first.runs.equals(again.runs)
    assert isinstance(first.table, pl.DataFrame) and replace(study, seeds=[1]).run(tmp_path / "out").results[0].found


def test_a_figure_is_drawn_from_the_window_of_the_table(cli: Cli, tmp_path: Path) -> None:
    """The end of the grey area, and the mean of the plotted distribution, equal the queue manager's row."""
    args = [
        "compare",
        "--aqm",
        "codel,pie,droptail",
        "--duration",
        "23s",
        "--rate",
        "11mbit",
        "--flows",
        "3",
        "--seeds",
        "2",
    ]
    table = {row["aqm"]: row for row in printed_json(cli(*args, "-o", "out", "--json"))["table"]}
    assert cli("plot", "comparison", "out", "--format", "csv", "-o", "figure.csv").exit_code == 0
    assert cli("plot", "cdf", "out", "--format", "csv", "-o", "cdf.csv").exit_code == 0
    drawn = pl.read_csv(tmp_path / "figure.csv", infer_schema_length=None)
    curves = pl.read_csv(tmp_path / "cdf.csv", infer_schema_length=None)
    own = [json.loads(path.read_text())["summary"]["warmup_s"] for path in tmp_path.glob("out/*/manifest.json")]
    assert len(set(own)) > 2  # otherwise each run's own warm-up would suffice
    for aqm, row in table.items():
        name = f"{aqm}, not settled" if row["not_settled"] else aqm
        [grey] = drawn.filter((pl.col("series") == GID) & pl.col("panel").str.starts_with(name))["time_s_end"].unique()
        assert grey == row["warmup_min_s"] == row["warmup_max_s"], aqm
        for frame in (drawn, curves):
            curve = frame.filter((pl.col("series") == name) & pl.col("share_of_packets").is_not_null())
            counts = curve["share_of_packets"].diff().fill_null(curve["share_of_packets"][0])
            mean = (curve["sojourn_time_ms"] * counts).sum()
            # Bins are 0.2 % wide, and the curve is at their upper bounds.
            assert mean == pytest.approx(row["sojourn_mean_ms"], rel=3e-3), aqm


def test_boxes_ellipses_and_airtimes_are_over_the_window_of_the_table() -> None:
    """Each equals that of the same runs with an explicit warm-up."""
    wlan = '[wlan]\n[[wlan.stations]]\nsnr = "23 dB"\nfading = "3 dB"\n[[wlan.stations]]\nrate = "mcs3"\n'
    text = LONG.replace('rate = "10 Mbit/s"\n', "") + wlan
    sets = {"warmup": "auto", "duration": "9.3 s", "probes.packets": True, "probes.utilisation": "70 ms"}
    base = sj.Scenario.parse(text, sets)
    runs = [base.replace({"link.aqm": aqm}).run(seed) for aqm in ("codel", "pie") for seed in (3, 11)]
    names = [Name("codel"), Name("codel"), Name("pie"), Name("pie")]
    instant = max(run.warmup_s for run in runs)
    given = [run.scenario.replace({"warmup": f"{instant} s"}).run(run.seed) for run in runs]
    assert len({run.warmup_s for run in runs}) > 1
    for kind, options in (("box", {}), ("ellipse", {"over": "flows"}), ("ellipse", {"over": "seeds"}), ("airtime", {})):
        found, expected = (draw(kind, some, names, options=options)[0].data for some in (runs, given))
        columns = [pl.col(pl.Float64).round(9)]
        marks = ["panel", "series", "mark"]
        assert found.drop(marks).select(columns).equals(expected.drop(marks).select(columns)), kind


def test_the_summary_of_any_link_and_flow_can_begin_later() -> None:
    text = LONG + '[[flows]]\nkind = "voice"\n[[flows]]\nkind = "tcp"\ndirection = "reverse"\nrtt = "31 ms"\n'
    run = sj.Scenario.parse(text, {"warmup": "auto", "duration": "23.3 s", "reverse.aqm": "codel"}).run(5)
    later = run.since(9.1)
    assert run.warmup_s < 9.1 <= later.warmup_s
    given = run.scenario.replace({"warmup": f"{later.warmup_s} s"}).run(5)
    for link in ("forward", "reverse"):
        found, expected = (one.at(link).summary.drop("settled", "not_settled") for one in (later, given))
        assert found.equals(expected), link
    assert later.flow_totals.equals(given.flow_totals)
    assert later.histogram.equals(given.histogram)
    assert later.sojourn_ms(0.93) == given.sojourn_ms(0.93)
    assert later.links.equals(given.links) and later.groups.equals(given.groups)
    for result in (later, given):
        assert result.number("goodput_bps") == pytest.approx(
            result.groups.filter(direction="forward")["goodput_bps"].sum()
        )


def test_results_without_later_statistics_are_not_mixed_in(tmp_path: Path) -> None:
    """An earlier version wrote the table `windows` only for settled runs, without the column `link`."""
    run = sj.Scenario.parse(LONG, {"warmup": "auto"}).run(2)
    run.add_table("windows", run.table("windows").drop("link"))
    with pytest.raises(sj.InputError, match=r"lacks the statistics .* run it again into another folder \(-o\)"):
        run.since(9.0)
