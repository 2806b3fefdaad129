"""Jain's index: of bulk flows within a group, per name for several groups, a dash if there is nothing to compare."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sojourn as sj
from conftest import SHORT, Cli, printed_json
from sojourn import _core
from sojourn.model.results.payload import bulk_groups, ends_of

CALL = '[[flows]]\nkind = "voice"\n'
BULK = '[[flows]]\nkind = "tcp"\ncount = 3\nrtt = "43 ms"\n'


def _of(result: sj.Result, group: int) -> float:
    """Jain's index by definition, from the goodputs of a group's flows."""
    rates = [flow["goodput_bps"] for flow in result.totals["flows"] if flow["group"] == group]
    return float(sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates)))


def test_a_call_is_no_bulk_flow(cli: Cli, tmp_path: Path) -> None:
    """The scenario of `sojourn init`: two equal downloads and a call."""
    cli("init", "first.toml", "--aqm", "cake", "--rate", "17 Mbit/s")
    done = cli("run", "first.toml", "--set", "duration=9 s", "-o", "out")
    [manifest] = [json.loads(path.read_text()) for path in tmp_path.glob("out/*/manifest.json")]
    jain = manifest["summary"]["jain"]
    rates = [flow["goodput_bps"] for flow in manifest["summary"]["flows"]]
    assert jain == pytest.approx(_core.jain(rates[:2])) and jain > 0.99 > 0.7 > _core.jain(rates)
    assert f"Jain index {jain:.3f}, fingerprint" in done.output
    assert manifest["summary"]["groups"][0]["jain"] == jain and "jain" not in manifest["summary"]["groups"][1]


def test_several_groups_are_named(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(SHORT + CALL + BULK)
    done = cli("run", "two.toml", "-o", "out")
    result = sj.Scenario.parse(SHORT + CALL + BULK).run()
    assert result.totals["jain"] is None
    assert f"Jain index {_of(result, 0):.3f} (flows.0), {_of(result, 2):.3f} (flows.2), fingerprint" in done.output
    (tmp_path / "study.toml").write_text(f'{SHORT}{CALL}{BULK}[sweep]\n"link.aqm" = ["codel", "pie"]\nseeds = 2\n')
    table = cli("sweep", "study.toml", "-o", "sweep", "--markdown").stdout
    assert "Jain flows.0" in table and "Jain flows.2" in table and "Jain index" not in table
    rows = printed_json(cli("sweep", "study.toml", "-o", "sweep", "--json"))["table"]
    first = sj.Study.load(tmp_path / "study.toml").run().results[:2]
    assert rows[0]["jain_flows_2"] == pytest.approx(sum(_of(run, 2) for run in first) / 2)
    csv = cli("sweep", "study.toml", "-o", "sweep", "--csv", "--columns", "jain_flows_0").stdout
    assert csv.splitlines()[0] == "link.aqm,jain_flows_0,jain_flows_0_ci95"


def test_a_group_of_uploads_is_not_mixed_with_the_downloads(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "both.toml").write_text(SHORT + BULK + 'direction = "reverse"\n')
    done = cli("run", "both.toml", "-o", "out")
    result = sj.Scenario.load(tmp_path / "both.toml").run()
    assert result.totals["jain"] == pytest.approx(_of(result, 0))
    assert f"Jain index {_of(result, 0):.3f} (flows.0), {_of(result, 1):.3f} (flows.1)" in done.output


@pytest.mark.parametrize(
    "limit",
    ['size = "300 kB"', 'stop = "2.3 s"', 'max_pacing_rate = "700 kbit/s"\nstack = "linux-6.1"', 'kind = "cbr"'],
)
def test_flows_with_an_end_or_a_rate_of_their_own_do_not_count(limit: str, cli: Cli, tmp_path: Path) -> None:
    text = '[link]\nrate = "9 Mbit/s"\n[[flows]]\ncount = 3\n'
    kind = "" if "kind" in limit else 'kind = "tcp"\n'
    rate = 'rate = "1 Mbit/s"\n' if "kind" in limit else ""
    (tmp_path / "run.toml").write_text(f'duration = "3.1 s"\n{text}{kind}{limit}\n{rate}')
    result = sj.Scenario.load(tmp_path / "run.toml").run()
    assert result.totals["jain"] is None and result.summary["jain"][0] is None
    assert bulk_groups(result.scenario) == [False]
    assert "Jain index –, fingerprint" in cli("run", "run.toml", "-o", "out").output


def test_an_end_after_the_run_is_ignored() -> None:
    scenario = sj.Scenario.parse(SHORT + 'stop = "3 s"\n')
    assert bulk_groups(scenario) == [True]
    assert scenario.run().totals["jain"] == pytest.approx(_of(scenario.run(), 0))


def test_later_windows_have_the_index_of_each_group() -> None:
    sets = {"warmup": "auto", "duration": "21.7 s"}
    run = sj.Scenario.parse(SHORT + CALL + BULK, sets).run(4)
    later = run.since(10.3)
    given = run.scenario.replace({"warmup": f"{later.warmup_s} s"}).run(4)
    assert later.number("jain_flows_2") == given.number("jain_flows_2") != run.number("jain_flows_2")


def test_other_engines_have_the_same_definition() -> None:
    """From the same groups and flows they compute the same index as the simulator."""
    result = sj.Scenario.parse(SHORT + CALL + BULK + 'direction = "reverse"\n').run(7)
    groups = [{key: value for key, value in group.items() if key != "jain"} for group in result.totals["groups"]]
    ends = ends_of(groups, result.totals["flows"], bulk_groups(result.scenario))
    assert ends["jain"] == result.totals["jain"]
    assert [group.get("jain") for group in ends["groups"]] == [group.get("jain") for group in result.totals["groups"]]
    assert ends["goodput_bps"] == pytest.approx(result.totals["goodput_bps"])
