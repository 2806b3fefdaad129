"""Runs with equal fingerprints count as one: repetitions give no interval, no star and no error bar."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sojourn as sj
from conftest import SHORT, Cli, printed_json
from sojourn.model.analysis.metrics import METRICS, aggregate
from sojourn.model.analysis.pairs import paired
from sojourn.model.analysis.stats import mean_ci, sample_ci
from sojourn.papers.judge import Measurements, claims_of, judge, measured_text

ALIKE = SHORT.replace('spread = "500 ms"', 'spread = "0 s"')
"""Two flows that start at once: the seed has no effect."""
RTTS = '"flows.0.rtt" = ["20 ms", "50 ms"]\n'
NOTHING_VARIES = "3 seeds, 1 distinct run: nothing varies with the seed; set `spread`"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(
        f'{ALIKE}[sweep]\n"link.aqm" = ["codel", "droptail"]\n"flows.0.rtt" = ["20 ms", "50 ms"]\nseeds = 3\n'
    )
    return path


def test_a_repeated_run_has_no_interval(cli: Cli, study: Path) -> None:
    text = cli("sweep", study).output
    assert NOTHING_VARIES in text
    assert "±" not in text and " *" not in text
    found = printed_json(cli("sweep", study, "--json"))
    assert found["notes"] == [NOTHING_VARIES]
    for row in found["table"]:
        assert (row["seeds"], row["distinct"]) == (3, 1)
        assert all(row[f"{metric.column}_ci95"] is None for metric in METRICS)
    for row in found["paired"]:
        assert (row["n"], row["ci95"], row["p_t"], row["p_wilcoxon"], row["significant"]) == (
            1,
            None,
            None,
            None,
            False,
        )


def test_a_study_varies_by_default(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(SHORT.replace('spread = "500 ms"\n', "") + "[sweep]\nseeds = 3\n")
    found = printed_json(cli("sweep", "study.toml", "--json"))
    assert found["notes"] == []
    assert found["table"][0]["distinct"] == 3 and found["table"][0]["sojourn_mean_ms_ci95"] > 0
    assert " ± " in cli("sweep", "study.toml").output


def test_repetition_reaches_no_precision(cli: Cli, study: Path) -> None:
    result = cli("sweep", study, "--until", "5%")
    assert result.exit_code == 1
    assert "5 % not reached: with 5 seeds there is 1 distinct run, which no repetition makes more precise; set" in (
        result.output
    )
    found = cli("sweep", study, "--until", "5%", "--json")
    assert found.exit_code == 1
    until = json.loads(found.stdout)["until"]
    assert (until["seeds"], until["reached"], until["varies"], until["widest_percent"]) == (5, False, False, None)


def test_python_gives_the_same(study: Path) -> None:
    result = sj.Study.load(study).run()
    assert result.notes == [NOTHING_VARIES]
    assert result.table["distinct"].to_list() == [1] * 4
    differences = result.paired()
    assert differences["ci95"].is_null().all() and not differences["significant"].any()
    assert differences["difference"].abs().max() > 0 and not differences["same"].any()


def test_no_bar_is_drawn_of_a_repeated_run(study: Path) -> None:
    result = sj.Study.load(study).run()
    figure, _ = result.plot.utilisation(x="flows.0.rtt")
    bars = [line for axes in figure.axes for line in axes.collections]
    lengths = [segment[1][1] - segment[0][1] for bar in bars for segment in bar.get_segments() if len(segment)]
    assert not lengths, "no bar, not one of no length"
    caps = [line for axes in figure.axes for line in axes.lines if line.get_marker() == "_"]
    assert all(value != value for line in caps for value in line.get_ydata()), "nor its caps"
    assert "95 %" not in figure.get_supxlabel()


def test_equal_names_are_one(cli: Cli) -> None:
    args = ["compare", "--aqm", "codel,pie,codel", "--duration", "3s", "--seeds", "2"]
    found = printed_json(cli(*args, "--json"))
    assert [row["aqm"] for row in found["table"]] == ["codel", "pie"]
    assert len(found["runs"]) == 4
    assert "codel: listed twice, run once" in found["notes"]
    assert "codel: listed twice, run once" in cli(*args).output
    alone = sj.compare(["codel", "codel"], duration="3 s", seeds=2)
    assert alone.aqms == ["codel"] and not alone.has_pairs
    assert alone.table["seeds"].to_list() == [2]


def test_other_spellings_of_a_name_are_one(cli: Cli) -> None:
    args = ["compare", "--aqm", "codel,codel@rfc8289 target 5ms,pie", "--duration", "3s", "--seeds", "2", "--json"]
    found = printed_json(cli(*args))
    assert [row["aqm"] for row in found["table"]] == ["codel", "pie"]
    assert "codel: listed twice, run once" in found["notes"]


def test_duplicate_values_of_a_study_are_reported(cli: Cli, tmp_path: Path) -> None:
    sweep = f'[sweep]\n"link.aqm" = ["codel", "codel@rfc8289 target 5ms", "pie"]\n{RTTS}seeds = 2\n'
    (tmp_path / "study.toml").write_text(SHORT + sweep)
    found = printed_json(cli("sweep", "study.toml", "--json"))
    table = {(row.pop("link.aqm"), row["flows.0.rtt"]): row for row in found["table"]}
    second = "codel@rfc8289 target 5ms"
    assert all(table["codel", rtt] == table[second, rtt] for rtt in ("20 ms", "50 ms"))
    assert found["notes"] == [f"link.aqm: codel and {second} are the same, and so are their runs"]
    same = [row for row in found["paired"] if row["link.aqm"] == second]
    assert same and all(row["same"] and row["ci95"] is None and not row["significant"] for row in same)
    others = [row for row in found["paired"] if row["link.aqm"] == "pie"]
    assert others and not any(row["same"] for row in others)
    assert " same " in cli("sweep", "study.toml").output


def test_a_value_that_is_listed_twice_is_run_once(cli: Cli, tmp_path: Path) -> None:
    sweep = '[sweep]\n"link.aqm" = ["codel", "pie", "codel"]\nseeds = 2\n'
    (tmp_path / "study.toml").write_text(SHORT + sweep)
    found = printed_json(cli("sweep", "study.toml", "--json"))
    assert [row["link.aqm"] for row in found["table"]] == ["codel", "pie"]
    assert [row["seeds"] for row in found["table"]] == [2, 2]
    assert found["notes"] == ["link.aqm: codel listed twice, run once"]


def _runs(prints: str) -> pl.DataFrame:
    """One run per letter, with the letter as fingerprint and its index in the alphabet as every metric."""
    rows: list[dict[str, Any]] = [
        {"aqm": "a", "seed": seed, "fingerprint": letter} | {metric.column: float(ord(letter)) for metric in METRICS}
        for seed, letter in enumerate(prints)
    ]
    return pl.DataFrame(rows)


def test_equal_runs_count_once_among_others() -> None:
    [row] = aggregate(_runs("aabca"), ["aqm"]).to_dicts()
    assert (row["seeds"], row["distinct"]) == (5, 3)
    mean, half = mean_ci([float(ord(letter)) for letter in "abc"])
    assert (row["jain"], row["jain_ci95"]) == (mean, half)


def test_equal_pairs_count_once() -> None:
    first, second = _runs("aabb"), _runs("ccde").with_columns(aqm=pl.lit("b"))
    found = paired(pl.concat([first, second]), "aqm", "a").filter(metric="jain").to_dicts()
    assert [(row["n"], row["same"]) for row in found] == [(3, False)]
    equal = paired(pl.concat([first, first.with_columns(aqm=pl.lit("b"))]), "aqm", "a").to_dicts()
    assert all((row["n"], row["difference"], row["ci95"], row["same"]) == (2, 0.0, None, True) for row in equal)


def test_a_claim_s_samples_that_are_all_equal_are_one_run_s() -> None:
    assert sample_ci([7.0, 7.0, 7.0]) == (7.0, None)
    assert sample_ci([7.0, 8.0]) == mean_ci([7.0, 8.0])
    claim = next(one for one in claims_of("schwarzkopf2016", "table1") if one["kind"] == "value")
    measured = Measurements({claim["id"]: [8.0, 8.0, 8.0]}, pl.DataFrame(), ["flows"], {})
    [verdict] = judge([claim], measured)
    assert verdict["ci95"] is None and "±" not in measured_text(verdict)
