"""The same seed gives the same run: twice, on one thread or many, with probes or without."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import sojourn as sj
from conftest import SHORT
from sojourn.studies.runs.runner import Run, run_all

PROBES = {
    "probes.packets": True,
    "probes.queue": "10 ms",
    "probes.flows": "100 ms",
    "probes.state": "10 ms",
    "probes.utilisation": "1 s",
}
SIM_TESTS = Path(__file__).parents[2] / "crates" / "sim" / "tests"
UNRESPONSIVE = """
duration = "10 s"

[link]
rate = "2 Mbit/s"
aqm = "codel"
limit = "100 packets"

[[flows]]
kind = "{kind}"
count = 3
rate = "1 Mbit/s"
spread = "1 s"

[probes]
packets = true
"""


def recorded_fingerprints() -> dict[str, str]:
    """Fingerprints that the simulator's debug build is tested for as well."""
    lines = (SIM_TESTS / "fingerprints.txt").read_text().splitlines()
    return dict(line.split() for line in lines if line and not line.startswith("#"))


@pytest.mark.parametrize(("name", "fingerprint"), recorded_fingerprints().items())
def test_release_build_gives_the_recorded_fingerprints(name: str, fingerprint: str) -> None:
    assert sj.Scenario.load(SIM_TESTS / "scenarios" / f"{name}.toml").run().fingerprint == fingerprint


@pytest.mark.parametrize("aqm", ["droptail", "codel", "codel@act", "pie@draft00"])
def test_twice_the_same(aqm: str) -> None:
    scenario = sj.Scenario.parse(SHORT, {"link.aqm": aqm})
    first, second, other = scenario.run(seed=5), scenario.run(seed=5), scenario.run(seed=6)
    assert first.totals == second.totals
    assert first.histogram.equals(second.histogram)
    assert other.fingerprint != first.fingerprint


def test_number_of_jobs_changes_nothing(tmp_path: Path) -> None:
    scenario = sj.Scenario.parse(SHORT)
    runs = [Run(scenario.replace({"link.aqm": aqm}), seed) for aqm in ("codel", "pie@draft00") for seed in (1, 2, 3)]
    outcomes = [[result.totals for result in run_all(runs, jobs=jobs)] for jobs in (1, 2, 4)]
    assert outcomes[0] == outcomes[1] == outcomes[2]
    stored = run_all(runs, tmp_path, jobs=2)
    assert [result.totals for result in stored] == outcomes[0]


@pytest.mark.parametrize("probe", [*PROBES, "all"])
def test_a_probe_changes_nothing(probe: str) -> None:
    scenario = sj.Scenario.parse(SHORT)
    sets = PROBES if probe == "all" else {probe: PROBES[probe]}
    probed = scenario.replace(sets).run()
    tables = {"sojourn_histogram", *(key.removeprefix("probes.") for key in sets)}
    tables |= {"waiting"} if "packets" in tables else set()
    assert set(probed.table_names) == tables
    plain = scenario.run()
    assert probed.fingerprint == plain.fingerprint
    assert probed.totals["links"] == plain.totals["links"]
    assert probed.totals["flows"] == plain.totals["flows"]


@pytest.mark.parametrize("kind", ["cbr", "poisson"])
def test_the_aqm_leaves_unresponsive_arrivals_untouched(kind: str) -> None:
    arrivals = []
    for aqm in ("droptail", "codel", "pie@draft00"):
        result = sj.Scenario.parse(UNRESPONSIVE.format(kind=kind), {"link.aqm": aqm}).run()
        arrivals.append(result.totals["links"]["forward"]["arrived"])
        assert result.totals["links"]["forward"]["dropped"] > 0
        assert [flow["sent"] for flow in result.totals["flows"]] == [
            flow["sent"] for flow in sj.Scenario.parse(UNRESPONSIVE.format(kind=kind)).run().totals["flows"]
        ]
    assert len(set(arrivals)) == 1


@pytest.mark.parametrize("kind", ["cbr", "poisson"])
def test_arrival_times_do_not_depend_on_the_aqm(kind: str) -> None:
    """Arrival time is departure time minus sojourn time; two AQMs agree on it for packets that both sent."""
    times = []
    for aqm in ("droptail", "codel"):
        sets = {"link.aqm": aqm, "link.rate": "20 Mbit/s", "link.limit": "1000 packets"}
        packets = sj.Scenario.parse(UNRESPONSIVE.format(kind=kind), sets).run().table("packets")
        forward = packets.filter(pl.col("link") == 0)
        times.append(forward.select("flow", arrived_ns=pl.col("time_ns") - pl.col("sojourn_ns")))
    assert times[0].height > 100
    assert times[0].equals(times[1])


def test_packets_add_up() -> None:
    result = sj.Scenario.parse(SHORT, {"probes.packets": True, "warmup": "0 s"}).run()
    link = result.totals["links"]["forward"]
    fates = dict(result.packets.filter(pl.col("link") == "forward")["fate"].value_counts().iter_rows())
    assert fates["sent"] == link["packets"]
    assert sum(n for fate, n in fates.items() if fate.startswith("dropped")) == link["dropped"]
    assert result.histogram.filter(pl.col("link") == "forward")["count"].sum() == link["packets"]
