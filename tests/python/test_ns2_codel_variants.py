"""The figures of ns2-codel-variants: relations that can be true and false, and the points of their studies."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import polars as pl
import pytest

from paper_checks import assert_true_but_false_when_shuffled, relations_of
from sojourn.figures.canvas import save
from sojourn.papers import paper
from sojourn.papers.engine import study_of
from sojourn.papers.judge import claims_of, judge
from sojourn.papers.ns2_codel_variants import FIGURES, conclusion, record, sweeps
from sojourn.papers.ns2_codel_variants import original as of_ns2
from sojourn.papers.original import add_original
from sojourn.studies.runs.store import run_hash
from sojourn.studies.study import Study, StudyResult

PAPER = "ns2-codel-variants"
FOLDER = Path(sweeps.__file__).parent
STUDIES = ("bandwidth.toml", "ftps.toml", "conclusion.toml")
RATES, FTPS = sweeps.RATES_MBIT, sweeps.FTPS


def _cells(over: str, places: Iterable[int], metric: str, value: Callable[[str, int], float]) -> pl.DataFrame:
    rows = [(scheme, float(at), value(scheme, at)) for scheme in sweeps.SCHEMES.values() for at in places]
    return pl.DataFrame(rows, schema=["scheme", over, metric], orient="row")


def _tail(scheme: str) -> bool:
    return scheme == "DropTail"


def _family_or_tail(family: Callable[[int], float], tail: Callable[[int], float]) -> Callable[[str, int], float]:
    return lambda scheme, at: tail(at) if _tail(scheme) else family(at)


def _queue_over_rate(scheme: str, rate: int) -> float:
    return (80 * rate if rate <= 10 else 8000 / rate) if _tail(scheme) else 20 / rate


def _drops_over_rate(scheme: str, rate: int) -> float:
    return (0.5 if scheme in ("CoDel", "sfqCoDel") else 0.6) / rate


def _best_at_all(scheme: str) -> tuple[float, float, float]:
    place = ("sfqCoDel", "CoDel", "CoDel-DT", "DropTail").index(scheme)
    return 0.99 - 0.05 * place, 5.0 + 20 * place, 0.01 + 0.02 * place


# One row per scheme and bandwidth or number of FTPs, with values that satisfy the paper's claims.
AS_PUBLISHED = {
    "S2-F2-a": _cells("rate_mbit", RATES, "utilisation", lambda scheme, rate: 1 - rate / 2000 - 0.1 * _tail(scheme)),
    "S2-F2-b": _cells("rate_mbit", RATES, "utilisation", lambda s, rate: 1 - rate / 2000 - 0.1 * (s != "sfqCoDel")),
    "S2-F3-a": _cells("rate_mbit", RATES, "queue", _queue_over_rate),
    "S2-F3-b": _cells("rate_mbit", RATES, "queue", _queue_over_rate),
    "S2-F4": _cells("rate_mbit", RATES, "drop_rate", _drops_over_rate),
    "S2-F5-a": _cells("ftps", FTPS, "utilisation", _family_or_tail(lambda n: 1 - 0.5 / n, lambda _: 0.4)),
    "S2-F5-b": _cells("ftps", FTPS, "utilisation", _family_or_tail(lambda n: 1 - 0.5 / n, lambda _: 0.4)),
    "S2-F6": _cells("ftps", FTPS, "queue", _family_or_tail(lambda n: 20 + n / 100, lambda n: 100.0 + n)),
    "S2-F7": _cells("ftps", FTPS, "drop_rate", lambda _, n: 0.001 if n < 5 else 0.05 + n / 10_000),
    "S2-C": pl.DataFrame(
        [(s, *point, *_best_at_all(s)) for s in sweeps.SCHEMES.values() for point in of_ns2.every_point()],
        schema=["scheme", *conclusion.POINT, *sweeps.METRICS.values()],
        orient="row",
    ),
}
RELATIONS = relations_of(PAPER)


@pytest.mark.parametrize("claim", RELATIONS)
def test_a_relation_holds_for_the_paper_and_fails_when_shuffled(claim: str) -> None:
    _, relation = RELATIONS[claim]
    assert_true_but_false_when_shuffled(relation, AS_PUBLISHED[claim], {"scheme", "rate_mbit", "ftps", "rtt_ms"})


def test_most_points_are_more_than_half_of_them_for_each_metric() -> None:
    cells = AS_PUBLISHED["S2-C"]
    points = pl.DataFrame(of_ns2.every_point(), schema=list(conclusion.POINT), orient="row")
    assert points.height == 33
    for metric, value in (("utilisation", 0.5), ("queue", 90.0), ("drop_rate", 0.2)):
        for lost, most in ((16, True), (17, False)):
            at = pl.struct(*conclusion.POINT).is_in(points.head(lost).to_struct().implode())
            worse = (pl.col("scheme") == "sfqCoDel") & at
            changed = cells.with_columns(pl.when(worse).then(value).otherwise(metric).alias(metric))
            assert conclusion.S2_C(changed) is most


def test_a_small_difference_is_a_tie() -> None:
    cells = AS_PUBLISHED["S2-C"].with_columns(utilisation=0.95, queue=10.0, drop_rate=0.02)
    own = pl.col("scheme") == "sfqCoDel"
    tied = cells.with_columns(
        utilisation=pl.when(own).then(0.945).otherwise("utilisation"),
        queue=pl.when(own).then(10.9).otherwise("queue"),
        drop_rate=pl.when(own).then(0.024).otherwise("drop_rate"),
    )
    assert conclusion.best_or_tied(tied).drop("scheme").rows() == [(1.0, 1.0, 1.0)] * len(sweeps.SCHEMES)


def test_the_conclusion_has_every_point_of_the_figures() -> None:
    points = {
        name: {run_hash(point.scenario, 1) for point in Study.load(FOLDER / name, seeds=1).points} for name in STUDIES
    }
    assert points["bandwidth.toml"] | points["ftps.toml"] < points["conclusion.toml"]
    assert len(points["conclusion.toml"]) == 4 * (len(RATES) + len(FTPS) - 1 + 5)


def _recorded(seeds: int) -> pl.DataFrame:
    """A synthetic `original.csv`: all points of the studies, with values that satisfy all claims except S2-F7."""
    points = {(*at, 5.0, 80.0) for at in zip(map(float, RATES), strict=True)}
    points |= {(10.0, float(ftps), 80.0) for ftps in FTPS} | {(10.0, 5.0, float(rtt)) for rtt in sweeps.RTTS_MS}
    rows = [
        (scheme, rate, ftps, rtt, seed, 0.9 - rate / 2000 + ftps / 2e4, 8 * (1 + 9 * _tail(scheme)), 0.1 / rate)
        for scheme in sweeps.SCHEMES.values()
        for rate, ftps, rtt in sorted(points)
        for seed in range(1, seeds + 1)
    ]
    names = ["scheme", *conclusion.POINT, "seed", *sweeps.METRICS.values()]
    return pl.DataFrame(rows, schema=names, orient="row")


def _says(monkeypatch: pytest.MonkeyPatch, recorded: pl.DataFrame | None) -> dict[str, str]:
    monkeypatch.setattr(of_ns2, "recorded", lambda: recorded)
    found = paper(PAPER)
    verdicts = [
        verdict
        for figure in FIGURES
        for verdict in add_original(
            claims_of(PAPER, figure), judge(claims_of(PAPER, figure), None), found.original(figure)
        )
    ]
    return {verdict["id"]: verdict["original"] for verdict in verdicts}


def test_ns2s_own_runs_are_judged_from_ten_seeds_on_where_every_scheme_has_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = _recorded(10)
    expected_text = _says(monkeypatch, whole)
    assert (expected_text["S2-F2-a"], expected_text["S2-F3-b"], expected_text["S2-F7"], expected_text["S2-C"]) == (
        "satisfies",
        "satisfies",
        "contradicts",
        "satisfies",
    )
    assert set(_says(monkeypatch, _recorded(9)).values()) == {"unknown"}
    assert set(_says(monkeypatch, None).values()) == {"unknown"}
    lacking = whole.filter(~((pl.col("scheme") == "CoDel-DT") & (pl.col("ftps") == 700)))
    expected_text = _says(monkeypatch, lacking)
    assert (expected_text["S2-F2-a"], expected_text["S2-F5-a"], expected_text["S2-F7"], expected_text["S2-C"]) == (
        "satisfies",
        "unknown",
        "contradicts",  # the claim is about one to seven FTPs
        "unknown",
    )
    changed = whole.with_columns(
        queue=pl.when((pl.col("scheme") == "CoDel") & (pl.col("rate_mbit") == 2)).then(27.0).otherwise("queue")
    )
    assert _says(monkeypatch, changed)["S2-F3-b"] == "contradicts"


def test_points_that_ns2_did_not_run_speak_for_a_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    some = _recorded(10).filter(pl.col("ftps") < 700)
    few = (pl.col("scheme") == "sfqCoDel") & (pl.col("ftps") == 15)
    worse = some.with_columns(
        utilisation=pl.when(few).then(0.6).otherwise("utilisation"), queue=pl.when(few).then(50.0).otherwise("queue")
    )
    assert {
        expected_text
        for name, expected_text in _says(monkeypatch, some).items()
        if name in ("S2-F5-a", "S2-F6", "S2-C")
    } == {"unknown"}
    expected_text = _says(monkeypatch, worse)
    assert (expected_text["S2-F5-a"], expected_text["S2-F6"], expected_text["S2-C"]) == (
        "contradicts",
        "contradicts",
        "unknown",
    )
    [claim] = [claim for claim in claims_of(PAPER, "fig6") if claim["id"] == "S2-F6"]
    [verdict] = add_original([claim], judge([claim], None), paper(PAPER).original("fig6"))
    assert verdict["original_evidence"] == "ns-2: false, 0% of seeds; 700 to 1000 FTPs not run"
    # 29 of 33 points were run: best at 13 of them plus the other four is a majority, at 12 it is not.
    places = some.filter(pl.col("scheme") == "sfqCoDel").select(conclusion.POINT).unique().sort(conclusion.POINT)
    assert places.height == 29
    for lost, expected in ((16, "unknown"), (17, "contradicts")):
        at = pl.struct(*conclusion.POINT).is_in(places.head(lost).to_struct().implode())
        own = some.with_columns(queue=pl.when((pl.col("scheme") == "sfqCoDel") & at).then(99.0).otherwise("queue"))
        assert _says(monkeypatch, own)["S2-C"] == expected


@pytest.mark.parametrize("name", STUDIES)
def test_buffers_and_access_links_follow_the_rule(name: str) -> None:
    """Buffer of eight BDPs in packets of 1000 B, at least two per FTP; access links at twice the rate."""
    for point in Study.load(FOLDER / name, seeds=1).points:
        values = {"link.rate": "10 Mbit/s", "flows.0.count": 5, "flows.0.rtt": "80 ms"} | point.values
        rate, rtt = (int(str(values[key]).split()[0]) for key in ("link.rate", "flows.0.rtt"))
        packets = max(rate * rtt, 2 * (int(values["flows.0.count"]) + 5))
        assert values["link.limit"] == values["reverse.limit"] == f"{packets} packets"
        assert values["link.aqm"] == values["reverse.aqm"]
        if "link.rate" in point.values:
            assert {values[f"flows.{n}.access_rate"] for n in range(3)} == {f"{2 * rate} Mbit/s"}
        if "link.delay" in point.values:
            assert values["link.delay"] == f"{rtt * 4 // 10} ms"


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> dict[str, StudyResult]:
    """All studies at three points each, for five seconds and one seed."""
    folder = tmp_path_factory.mktemp("short")
    done = {}
    for name in STUDIES:
        study = Study.load(_shortened(folder / name), seeds=1)
        at = sorted({0, len(study.points) // 8, len(study.points) // 4 - 1})
        quarter = len(study.points) // 4
        points = [study.points[scheme * quarter + place] for scheme in range(4) for place in at]
        done[name] = Study(study.name, points, [1]).run(folder, jobs=1)
    return done


def _shortened(path: Path) -> Path:
    shutil.copy(FOLDER / "setup.toml", path.parent)
    path.write_text('duration = "5 s"\nwarmup = "1 s"\n' + (FOLDER / path.name).read_text())
    return path


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_measures_every_run_and_is_drawn(figure: str, short: dict[str, StudyResult], tmp_path: Path) -> None:
    module = paper(PAPER).figure(figure)
    result = short[module.STUDY]
    measured = module.measure(result)
    assert measured.cells.height == len(result.results) == 12
    assert measured.cells.select(*measured.keys, "seed").n_unique() == 12
    for cell, one in zip(measured.cells.iter_rows(named=True), result.results, strict=True):
        assert cell["utilisation"] == one.summary["utilisation"][0]
        assert cell["queue"] == one.links["mean_backlog_packets"][0]
        # Relative to arrivals in the window; `dropped` includes packets queued at its start.
        dropped = one.links["dropped"][0]
        buffer = int(one.scenario.document["link"]["limit"].split()[0])
        assert dropped - buffer <= round(cell["drop_rate"] * one.links["arrived"][0], 6) <= dropped
    assert save(module.draw(result, []), tmp_path / "figure.png").stat().st_size > 10_000


def test_a_point_that_is_whole_in_the_table_is_not_recorded_again() -> None:
    whole = _recorded(10)
    study = study_of(paper(PAPER), "conclusion")
    points = list(record.parts(study, tuple(record.SWEPT)))
    assert all(record.is_whole(whole, part) for part in points)
    lacking = whole.filter(~((pl.col("scheme") == "CoDel-DT") & (pl.col("ftps") == 700) & (pl.col("seed") == 4)))
    [again] = [part for part in points if not record.is_whole(lacking, part)]
    assert {float(str(point.values["flows.0.count"])) for point in again.points} == {700.0}
    missing = whole.filter((pl.col("scheme") == "CoDel-DT") & (pl.col("ftps") == 700))
    assert record.merge_tables([lacking, missing]).height == whole.height, "each run once"
