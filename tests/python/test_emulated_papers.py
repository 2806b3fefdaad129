"""Figures by real programs: available figures, duration, and rejection of starved runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from sojourn.model.results.result import Result
from sojourn.model.scenarios.scenario import Scenario
from sojourn.papers import paper
from sojourn.papers.report import emulated as papers
from sojourn.studies.runs import store
from sojourn.studies.runs.runner import Run

SCENARIO = """
name = "short"
duration = "1 s"
[link]
rate = "10 Mbit/s"
[[flows]]
kind = "tcp"
cc = "cubic"
"""
LATE = "the clients waited for a CPU for 1.5% of the time (bound: 1%)"


def as_emulated(run: Run, fault: str | None = None) -> Result:
    """A simulated result with the machine data of an emulated one."""
    result = run.scenario.run(run.seed)
    result.totals["emulation"] = {
        "load": {"mean": 5.4, "most": 7.1, "cpus": 2},
        "cpu_waiting": 0.5,
        "cpu_steal": 0.0,
        "programs_late": 0.015 if fault else 0.001,
        "stalls": {"total_ns": 2_000_000, "late_packets": 3},
        "faults": [fault] if fault else [],
    }
    return result


def command(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command of the module in a folder."""
    line = [sys.executable, "-m", "sojourn.papers.report.emulated", *words]
    return subprocess.run(line, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    """Three short runs, run concurrently."""
    monkeypatch.setattr(papers, "length_s", lambda run: 0.0)
    scenario = Scenario.parse(SCENARIO)
    return [Run(scenario, seed, "emulate") for seed in (1, 2, 3)]


def test_figures_have_claims_about_emulated_runs_or_their_own_study() -> None:
    assert [(one.id, name) for one, name in papers.figures()] == [
        ("gao2015", "fig12"),
        ("gao2015", "fig13"),
        ("cs244-2015", "paper"),
        ("cs244-2015", "4g"),
    ]


def test_the_duration_is_printed_beforehand(tmp_path: Path) -> None:
    """Figures 12 and 13 share the runs of four schemes; the other two figures have two schemes each."""
    done = command("--results", "runs", "-o", "out", "--seeds", "3", "--at-once", "2", "--dry-run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() == "24 runs in real time, 2 at a time: 61 min; 0 are there already"
    assert not (tmp_path / "runs").exists()


def test_fifo_is_beside_the_two() -> None:
    runs = papers.runs_of(paper("gao2015"), "fig12", 1)
    assert [run.scenario.aqm.partition(" ")[0] for run in runs][-1] == "droptail"
    assert len(runs) == 4


def test_a_starved_run_is_named_refused_and_run_again(
    runs: list[Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tried: list[int] = []

    def do(run: Run) -> Result:
        tried.append(run.seed)
        return as_emulated(run, LATE if run.seed == 2 and tried.count(2) == 1 else None)

    attempts = papers.Attempts(tmp_path, do)
    assert attempts(runs, 1) == []
    assert tried == [1, 2, 3, 2]
    message = capsys.readouterr().err
    assert message == f"refused, not faithful: {papers.name_of(runs[1])}: {LATE}; load 5.4 on 2 CPUs\n"
    assert [row["fault"] for row in attempts.rows] == ["", LATE, "", ""]
    assert attempts.missing(runs) == []
    papers.write_load(attempts.rows, tmp_path / "out")
    papers.write_load(attempts.rows[:1], tmp_path / "out")
    assert pl.read_csv(tmp_path / "out" / "load.csv")["programs_late"].to_list() == [0.001, 0.015, 0.001, 0.001, 0.001]


def test_a_run_that_is_never_faithful_is_left_out(runs: list[Run], tmp_path: Path) -> None:
    attempts = papers.Attempts(tmp_path, lambda run: as_emulated(run, LATE))
    assert attempts(runs[:1], 1) == runs[:1]
    assert len(attempts.rows) == 2
    assert store.find(runs[0].scenario, 1, tmp_path, runs[0].identity) is None


def test_a_stored_run_that_is_not_faithful_does_not_count_as_there(runs: list[Run], tmp_path: Path) -> None:
    result = as_emulated(runs[0], LATE)
    result.engine = runs[0].identity
    store.save(result, tmp_path, [])
    attempts = papers.Attempts(tmp_path, as_emulated)
    assert attempts.missing(runs[:1]) == runs[:1]
    assert attempts(runs[:1], 1) == []
    [kept] = [one for one in [store.find(runs[0].scenario, 1, tmp_path, runs[0].identity)] if one]
    assert kept.totals["emulation"]["faults"] == []


def test_a_figure_with_a_starved_run_is_not_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if `reproduce` has made and stored the run itself."""
    from sojourn.papers import reproduction
    from sojourn.studies.study import Study, StudyResult

    def made(study: Study, *_: object, **__: object) -> StudyResult:
        runs = [Run(point.scenario, seed, "emulate") for point in study.points for seed in study.seeds]
        faulty = LATE if made.faulty else None  # type: ignore[attr-defined]
        return StudyResult(study, [as_emulated(run, faulty if run is runs[-1] else None) for run in runs])

    monkeypatch.setattr(Study, "run", made)
    for faulty in (False, True):
        made.faulty = faulty  # type: ignore[attr-defined]
        done = reproduction.reproduce("cs244-2015", "4g", engine="emulate", root=tmp_path)
        judged = {verdict["id"]: verdict["verdict"] for verdict in done.verdicts}
        assert set(judged) == {"S4-4G", "S4-4G-DELAY"}
        assert ("not-run" in judged.values()) == faulty
        if faulty:
            assert all(LATE in verdict["why"] for verdict in done.verdicts)


def test_an_unknown_figure_is_refused_with_the_list_of_figures(tmp_path: Path) -> None:
    done = command("--results", "r", "-o", "o", "--figure", "fig99", cwd=tmp_path)
    assert done.returncode == 2
    assert "expected one of gao2015 fig12, gao2015 fig13, cs244-2015 paper, cs244-2015 4g" in " ".join(
        done.stderr.split()
    )
