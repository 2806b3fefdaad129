"""The figures of gao2015: measurements, and relations that can be true and false."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import Cli
from paper_checks import assert_true_but_false_when_shuffled, measured_of, relations_of, short_studies, table
from sojourn.papers import gao2015, paper
from sojourn.papers.engine import figures_on, study_of
from sojourn.papers.gao2015 import fig3, published, random_points, rtt
from sojourn.papers.gao2015.analysis import CODEL, FIFO, HARD_LIMIT, LOADS, RATES, ROUND_TRIPS_MS, SCHEMES
from sojourn.papers.gao2015.dynamic import LAST_FALL, SMALL
from sojourn.papers.judge import Measurements, claims_of, judge
from sojourn.studies.study import Study, StudyResult

PAPER = "gao2015"
FOLDER = Path(gao2015.__file__).parent
BOTH = (CODEL, HARD_LIMIT)
WHOLE_LENGTH = {"fig12", "fig13"}
"""Figures with runs that cannot be shortened, because the rate changes until the end."""
COMPARED = ("grid", "traffic", "random")
"""Figures that compare published runs with ours, without claims."""


def _table(keys: dict[str, tuple[Any, ...]], **values: Any) -> pl.DataFrame:
    """One row per combination of the keys; `values` maps columns to functions of them."""
    return table(keys, lambda row: {name: float(value(**row)) for name, value in values.items()})


def _mean_delay(scheme: str, rate: int, flows: int) -> float:
    if scheme == FIFO:
        return 30 + flows / 10
    return (1.3 if scheme == CODEL else 1.0) * (flows if rate == 1 else 20 * flows / 64)


def _over_rtt(scheme: str, rate: int, rtt_ms: int, flows: int) -> float:
    use = 1 - rtt_ms / 1000 * (0.9 if flows == 1 else 0.1) * (0.5 + rate / 128)
    return use * (0.37 if (scheme, rate, rtt_ms, flows) == (HARD_LIMIT, 64, 500, 1) else 1)


def _delay_in_step(scheme: str, step: int) -> float:
    return 2.0**step * (1.1 if scheme == SMALL else 0.2 if scheme == HARD_LIMIT else 1.0)


POINTS: dict[str, tuple[Any, ...]] = {"scheme": (CODEL, HARD_LIMIT, FIFO), "rate": RATES}
CODELS: dict[str, tuple[Any, ...]] = {"scheme": BOTH, "rate": RATES}
DELAYS = _table({**POINTS, "flows": LOADS}, mean_ms=_mean_delay)
UTILISATIONS = _table({**CODELS, "rtt_ms": tuple(ROUND_TRIPS_MS.values()), "flows": (1, 8)}, utilisation=_over_rtt)

AS_PUBLISHED = {
    "S1-F3-lin": _table(
        {"rate": RATES, "flows": LOADS}, max_ms=lambda rate, flows: min(50 + 10 * flows, 12_000 / rate)
    ),
    "S1-F4-7-order": DELAYS,
    "S1-F4-50": DELAYS,
    "S1-F7-fifo": DELAYS,
    "S1-RTT": _table(
        {**POINTS, "rtt_ms": (10, 100, 500), "flows": (1, 8, 64)},
        mean_ms=lambda scheme, rate, rtt_ms, flows: _mean_delay(scheme, rate, flows) * (1.1 - rtt_ms / 2000),
    ),
    "S1-F8-11-a": UTILISATIONS,
    "S1-F8-11-b": UTILISATIONS,
    "S1-REV2": _table(
        {**CODELS, "flows": (1, 8, 64), "reverse": (0, 1, 4)},
        mean_ms=lambda scheme, rate, flows, reverse: 10 + reverse,
        utilisation=lambda scheme, rate, flows, reverse: 0.95 - reverse / 100,
    ),
    "S1-WEB": _table(
        {**CODELS, "flows": (1, 8), "web": (0, 10, 20, 40, 80)},
        bulk_mbps=lambda scheme, rate, flows, web: rate - web / 100,
        utilisation=lambda scheme, rate, flows, web: 0.9 + web / 1000,
    ),
    "S1-F12-small": _table(
        {"scheme": (*BOTH, SMALL), "step": tuple(range(6))}, mean_ms=_delay_in_step, max_ms=_delay_in_step
    ),
}
"""One row per point, with values that satisfy the paper's claims."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gao2015")


@pytest.fixture(scope="module")
def studies(root: Path) -> dict[str, StudyResult]:
    """Studies of all figures for one seed, shortened to 12 s if that suffices."""
    return short_studies(PAPER, root, 'duration = "12 s"\n', whole=WHOLE_LENGTH, without=COMPARED)


@pytest.fixture(scope="module")
def measured(studies: dict[str, StudyResult]) -> dict[str, Measurements]:
    return measured_of(PAPER, studies)


def test_quick_takes_no_more_seeds_than_a_figure_has() -> None:
    """In most figures the seed has no effect: three runs would be the same run three times."""
    assert study_of(paper(PAPER), "grid", quick=True).seeds == study_of(paper(PAPER), "grid").seeds == [1]
    assert study_of(paper(PAPER), "web", quick=True).seeds == [1, 2, 3]
    assert study_of(paper("nichols2012"), "fairness", quick=True).seeds == [1, 2, 3]


def test_every_claim_is_judged_and_every_figure_drawn(
    studies: dict[str, StudyResult], measured: dict[str, Measurements]
) -> None:
    for figure, result in studies.items():
        verdicts = judge(claims_of(PAPER, figure), measured[figure])
        assert verdicts
        assert not [verdict["id"] for verdict in verdicts if verdict["verdict"] == "not-run"]
        assert paper(PAPER).figure(figure).draw(result, verdicts).axes
    assert {claim["figure"] for claim in claims_of(PAPER)} == set(gao2015.FIGURES) - set(COMPARED)


def test_when_the_rate_falls_the_hard_limit_holds_and_codel_lets_the_delay_rise(
    measured: dict[str, Measurements],
) -> None:
    samples, cells = measured["fig12"].samples, measured["fig12"].cells
    assert 49 < samples["S1-F12-HL"][0] <= 50
    assert samples["S1-F12-CoDel"][0] > 1000
    falls = cells.filter((pl.col("scheme") == CODEL) & (pl.col("step") == LAST_FALL))
    assert falls["max_ms"].to_list() == samples["S1-F12-CoDel"]
    assert cells.height == 3 * 6


def test_a_figure_from_the_command_line(cli: Cli, studies: dict[str, StudyResult], root: Path) -> None:
    assert "fig13" in studies
    result = cli("reproduce", PAPER, "--figure", "fig13", "--seeds", "1", "-o", root / "results", "--claims", "--json")
    [claim] = json.loads(result.stdout)
    assert claim["id"] == "S1-F13-loss"
    assert abs(claim["measured"]) < 0.2
    assert (root / "results" / PAPER / "fig13.png").stat().st_size > 500


def test_contradicted_claims_come_first_and_fail_nothing(cli: Cli, studies: dict[str, StudyResult], root: Path) -> None:
    """The authors' own samples contradict S1-F12-small, and the figure's other claims hold."""
    assert "fig12" in studies
    command = ("reproduce", PAPER, "--figure", "fig12", "--seeds", "1", "-o", root / "results")
    shown, reported = cli(*command), json.loads(cli(*command, "--json").stdout)
    assert shown.exit_code == 0
    assert reported["contradicted"] == ["S1-F12-small"]
    assert reported["tally"]["contradicted"] == 1
    assert next(iter(reported["tally"])) == "contradicted"
    lines = shown.output.splitlines()
    [first] = [number for number, line in enumerate(lines) if line.startswith("Contradicted: S1-F12-small, ")]
    assert "115 and 50 ms" in lines[first]
    assert lines[first + 1].startswith("1 contradicted, ")
    page = (root / "results" / PAPER / "index.html").read_text()
    assert page.index("Contradicted: claims that the original itself does not satisfy") < page.index("by verdict")


def test_a_share_of_zero_has_no_reverse_and_web_traffic(
    studies: dict[str, StudyResult], measured: dict[str, Measurements]
) -> None:
    for figure in ("reverse", "web"):
        for value, one in zip(measured[figure].cells[figure], studies[figure].results, strict=True):
            assert (one.groups["sent"][1] > 0) == (value > 0)


RELATIONS = relations_of(PAPER)


@pytest.mark.parametrize("claim", RELATIONS)
def test_a_relation_holds_for_the_paper_and_fails_when_shuffled(claim: str) -> None:
    _, relation = RELATIONS[claim]
    keys = {"scheme", "rate", "rtt_ms", "flows", "reverse", "web", "step"}
    assert_true_but_false_when_shuffled(relation, AS_PUBLISHED[claim], keys)


def test_relations_are_about_the_values_that_the_runs_measure(measured: dict[str, Measurements]) -> None:
    """The synthetic tables have the columns and keys of measured ones."""
    for figure in measured:
        for claim in measured[figure].relations:
            made_up, cells = AS_PUBLISHED[claim], measured[figure].cells
            assert set(made_up.columns) <= set(cells.columns)
            keys = [key for key in measured[figure].keys if key in made_up.columns]
            assert (
                made_up.select(keys).unique().sort(keys).equals(cells.select(keys).unique().sort(keys), null_equal=True)
            )


def test_a_full_queue_ends_the_growth_and_nothing_else_does() -> None:
    cells = AS_PUBLISHED["S1-F3-lin"]
    delay, flows = pl.col("max_ms"), pl.col("flows")
    full = delay >= fig3.CAPPED * 12_000 / pl.col("rate")
    assert cells.filter(full).height
    falls = pl.when(full).then(1.0).otherwise(delay)
    curved = pl.when(full).then(delay).otherwise(50 + 50 * flows.log())
    for wrong in (falls, curved):
        assert not fig3.S1_F3_lin(cells.with_columns(max_ms=wrong))


def test_the_grids_are_the_published_runs() -> None:
    rows = published.published()
    of_ftps = (rows["reverse"] == 0) & (rows["web"] == 0)
    runs = {name: len(Study.load(FOLDER / f"{name}.toml").points) for name in ("grid", "traffic")}
    assert runs == {"grid": of_ftps.sum(), "traffic": (~of_ftps).sum()} == {"grid": 1152, "traffic": 672}


def test_a_single_flow_at_64_mbit_is_shown_as_a_range(root: Path) -> None:
    """Its three runs are one row, with the throughput at the published RTT."""
    grid = study_of(paper(PAPER), "grid")
    assert len(grid.points) == 1152 + 2 * 36
    rows = {"98019.25 us": -2, "100019.25 us": 0, "102019.25 us": 2}
    chosen = [
        point
        for point in grid.points
        if (point.values["flows.0.rtt"], point.values["flows.0.count"]) in product(rows, (1, 2))
        and point.values["link.aqm"] == "codel@hardlimit-ns2"
    ]
    assert [rows[point.values["flows.0.rtt"]] for point in chosen] == [0, 0, -2, 2]
    for point in chosen:
        document = point.scenario.document
        assert (document["link"]["delay"], document["reverse"]["delay"]) == ("40 ms", "40 ms")
        rtt_ms = float(point.values["flows.0.rtt"].removesuffix(" us")) / 1000
        assert 80 + 2 * float(document["flows"][0]["access_delay"].removesuffix(" ms")) == pytest.approx(rtt_ms)
    result = replace(grid, points=chosen).run(root / "results")
    cells = paper(PAPER).figure("grid").measure(result).cells
    bits = result.runs["utilisation"] * 64e6
    found = {row["flows"]: row for row in cells.iter_rows(named=True)}
    assert list(found) == [1, 2]
    single = [value / 8000 for value, count in zip(bits, result.runs["flows.0.count"], strict=True) if count == 1]
    assert found[1]["kBps"] == pytest.approx(single[0])
    assert (found[1]["least_kBps"], found[1]["most_kBps"]) == pytest.approx((min(single), max(single)))
    assert found[1]["least_kBps"] < found[1]["most_kBps"]
    assert found[2]["least_kBps"] == found[2]["kBps"] == found[2]["most_kBps"]


def test_random_points_follow_the_rules_of_the_files() -> None:
    """The grid, reverse and web traffic in the files follow from published rows in the same way."""
    rows = {tuple(row[key] for key in published.KEYS): row for row in published.published().iter_rows(named=True)}
    for name in ("grid", "traffic"):
        figure = paper(PAPER).figure(name)
        for point in Study.load(FOLDER / f"{name}.toml").points[::7]:
            keys = figure._keys(point.values)  # type: ignore[attr-defined]
            scheme = SCHEMES[point.values["link.aqm"]]
            rate = int(point.values["link.rate"].removesuffix(" Mbit/s"))
            place = (scheme, rate, keys["rtt_ms"], point.values["flows.0.count"], keys["reverse"], keys["web"])
            nearest = rows[place] | {"rtt_ms": 100 if name == "traffic" else keys["rtt_ms"]}
            made = random_points._values(nearest, random_points.packets(rate, 50))
            for key, value in point.values.items():
                if key.endswith(".rtt"):
                    moved = 1000 * (keys["rtt_ms"] - nearest["rtt_ms"])
                    assert float(made[key].split()[0]) + moved == pytest.approx(float(value.split()[0]), abs=0.5), key
                elif key.endswith(".delay"):  # for two-way traffic it is the whole propagation delay
                    assert 2000 * float(made[key].split()[0]) == pytest.approx(float(made["flows.0.rtt"].split()[0]))
                    half = float(value.split()[0]) == pytest.approx(float(point.values["flows.0.rtt"].split()[0]) / 2)
                    assert half is (name == "traffic")
                elif key.startswith(("link", "reverse", "flows.0")) or key.endswith(("access_rate", "window", "start")):
                    assert made[key] == value, key


def test_random_points_are_run_where_they_are_named(root: Path) -> None:
    """Some of the slowest: runs without randomness are near the published ones, and the others not far."""
    study = study_of(paper(PAPER), "random")
    assert len(study.points) == published.published("published-random.csv").height == 2880
    slow = [point for point in study.points if point.values["link.rate"] in ("2 Mbit/s", "3 Mbit/s")]
    result = replace(study, points=slow[::4]).run(root / "results")
    measured = paper(PAPER).figure("random").measure(result)
    error = (measured.cells["kBps"] / measured.cells["published_kBps"] - 1).abs()
    assert measured.cells.height == len(slow[::4]) >= 14
    assert error.max() < 0.1
    assert error.median() < 0.02
    lengths = random_points.fifo_packets(published.published(random_points.FILE))
    assert (lengths[10], lengths[300], lengths[30], lengths[500]) == (369, 369, 37, 37)
    assert paper(PAPER).figure("random").draw(result, []).axes
    requests, left_out = figures_on(paper(PAPER), "simulate")
    assert "random" not in requests
    assert "ten minutes" in left_out["random"] and "--figure random" in left_out["random"]


def test_the_published_grid_reports_its_shares(root: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the terminal, in the page and in `--json`, because the grid has no claims."""
    whole = study_of(paper(PAPER), "grid")
    slow = [point for point in whole.points if point.values["link.rate"] == "1 Mbit/s"][::31]
    monkeypatch.setattr(Study, "load", classmethod(lambda cls, *_, **__: replace(whole, points=slow)))
    command = ("reproduce", PAPER, "--figure", "grid", "-o", root / "results")
    shown, reported = cli(*command), json.loads(cli(*command, "--json").stdout)
    assert shown.exit_code == 0
    assert "not-run" not in shown.output
    every = reported["figures"][0]["shares"][-1]
    assert (every["scheme"], every["runs"]) == ("all", len(slow))
    for words in ("throughput", "within 2%", "largest delay", "within 10%", f"{every['throughput within 2%']:.1%}"):
        assert words in shown.output
    lines = [line.split() for line in shown.output.splitlines() if line.startswith("CoDel ")]
    assert lines and all(line[1] == "1" for line in lines), "each line names its rate, where the table is folded too"
    assert "Published runs that are near ours" in (root / "results" / PAPER / "index.html").read_text()


def test_slow_links_send_and_wait_as_published(root: Path) -> None:
    """Every thirteenth run at 1 and 4 Mbit/s: throughput within 2 %, maximum delay within 10 %."""
    grid = Study.load(FOLDER / "grid.toml")
    slow = [point for point in grid.points if point.values["link.rate"] in ("1 Mbit/s", "4 Mbit/s")]
    result = replace(grid, points=tuple(slow[::13])).run(root / "results")
    cells = paper(PAPER).figure("grid").measure(result).cells
    shares = published.near(cells)
    every = shares.filter(pl.col("scheme") == "all").row(0, named=True)
    assert every["runs"] == cells.height == 45
    assert every["throughput"] > 0.9
    assert every["max_delay"] > 0.9
    assert shares["runs"].sum() == 2 * cells.height
    assert paper(PAPER).figure("grid").draw(result, []).axes


def test_runs_far_from_the_published_are_reported() -> None:
    rows = published.published().head(8)
    local = rows.with_columns(
        kBps=pl.col("published_kBps") * pl.Series([1.0, 1.019, 0.981, 1.021, 1, 1, 1, 1]),
        max_ms=pl.col("published_max_ms") + pl.Series([0.0, 0.9, -0.9, 0, 0, 500, 0, 0]),
        least_kBps=pl.col("published_kBps") * pl.Series([1.0, 1.03, 0.9, 0.95, 1, 1, 1, 1]),
        most_kBps=pl.col("published_kBps") * pl.Series([1.0, 1.04, 0.97, 1.05, 1, 1, 1, 1]),
    )
    every = published.near(local).filter(pl.col("scheme") == "all").row(0, named=True)
    assert (every["throughput"], every["max_delay"], every["error"]) == (7 / 8, 7 / 8, 0.0)
    assert every["in_range"] == 6 / 8


def test_the_published_grid_s_verdict_on_a_claim() -> None:
    """S1-RTT: in the authors' own runs the three schemes have another order at 500 ms."""
    few = (pl.col("reverse") == 0) & (pl.col("web") == 0) & pl.col("flows").is_in([1, 8, 64])
    rows = published.published().filter(few & pl.col("rtt_ms").is_in([10, 100, 500]))
    assert not rtt.S1_RTT(rows.rename({"published_mean_ms": "mean_ms"}))
