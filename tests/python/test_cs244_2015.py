"""The figures of cs244-2015: measurements, and relations that can be true and false."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from conftest import Cli
from paper_checks import assert_true_but_false_when_shuffled, every_figure
from sojourn.io.traces.delivery import load_trace, synth_lte
from sojourn.papers.cs244_2015 import FIGURES, lte, steps
from sojourn.papers.judge import claims_of
from sojourn.papers.reproduction import Reproduction
from sojourn.studies.runs.store import load_all

PAPER = "cs244-2015"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("paper")


@pytest.fixture(scope="module")
def done(out: Path) -> dict[str, Reproduction]:
    """All figures, for one seed."""
    return every_figure(PAPER, out)


def test_the_whole_paper(cli: Cli, done: dict[str, Reproduction], out: Path) -> None:
    assert done
    result = cli("reproduce", PAPER, "--seeds", "1", "-o", out, "--claims", "--json")
    assert {claim["id"] for claim in json.loads(result.stdout)} == {claim["id"] for claim in claims_of(PAPER)}
    for figure in FIGURES:
        for suffix in (".png", ".svg", ".claims.json", ".parquet"):
            assert (out / PAPER / f"{figure}{suffix}").stat().st_size > 300


def test_runs_of_real_programs_are_reported_but_not_judged(done: dict[str, Reproduction]) -> None:
    engines = {claim["id"]: claim["engine"] for claim in claims_of(PAPER)}
    for verdict in [verdict for one in done.values() for verdict in one.verdicts]:
        emulated = engines[verdict["id"]] == "emulate"
        assert emulated == (verdict["verdict"] == "not-run") == ("simulated" in verdict), verdict["id"]


def test_one_seed_s_measurements(done: dict[str, Reproduction]) -> None:
    near = {"S4-BDP": 833.3, "S4-MAX": 1.6375, "S4-TD": 0.99, "S4-CODEL": 0.96, "S4-ACM-util": 0.97}
    samples = {claim: values for one in done.values() for claim, values in one.measured.samples.items()}
    for claim, value in near.items():
        assert samples[claim][0] == pytest.approx(value, rel=0.01), claim


def test_every_second_accounts_for_the_link_s_bytes(done: dict[str, Reproduction]) -> None:
    one = done["paper"]
    for result, name in zip(one.study.results, steps.NAMES.values(), strict=True):
        cells = one.measured.cells.filter(pl.col("aqm") == name)
        assert cells["second"].to_list() == list(range(steps.SECONDS))
        assert cells["out_mbit"].sum() == pytest.approx(8e-6 * result.links["bytes"][0])


def _as_published() -> pl.DataFrame:
    """Queues as described in the text: tail drop full except for its sawtooth, CoDel below the link's rate."""
    capacity = np.repeat(np.array(steps.RATES_MBIT, dtype=float), steps.SEGMENT_S)
    second = np.arange(steps.SECONDS)
    since = second % steps.SEGMENT_S
    jump = (second >= steps.SEGMENT_S) & (since < steps.SETTLING_S)
    tail_delay = 830 * 12 / capacity
    tail = {"in_mbit": capacity * np.where(second % 4 < 2, 1.1, 0.9), "out_mbit": 0.98 * capacity}
    codel = {"in_mbit": 0.95 * capacity, "out_mbit": capacity * np.where(jump, 0.6, 0.97)}
    frames = [
        pl.DataFrame({"aqm": "tail drop", "second": second, "delay_ms": tail_delay} | tail),
        pl.DataFrame({"aqm": "CoDel", "second": second, "delay_ms": np.where(jump, 200.0, 10.0)} | codel),
    ]
    return pl.concat(frames)


@pytest.mark.parametrize("claim", steps.RELATIONS)
def test_a_relation_holds_for_the_text_and_fails_when_shuffled(claim: str) -> None:
    assert_true_but_false_when_shuffled(steps.RELATIONS[claim], _as_published(), {"aqm", "second"})


def test_the_trace_is_reproduced_by_its_study() -> None:
    for seed, suffix in ((1, "down"), (2, "up")):
        shipped = load_trace(Path(lte.__file__).parent / f"verizon-like.{suffix}")
        assert np.array_equal(shipped, synth_lte("verizon-short", 60, seed))


def test_the_cellular_delay_is_below_nearly_always_and_spiky() -> None:
    second = np.arange(steps.SECONDS, dtype=float)
    spiky = np.where(second % 20 == 0, 100.0, 10.0)

    def holds(codel_ms: NDArray[np.float64]) -> bool:
        tail = pl.DataFrame({"aqm": "tail drop", "second": second, "delay_ms": 1000.0})
        codel = pl.DataFrame({"aqm": "CoDel", "second": second, "delay_ms": codel_ms})
        cells = pl.concat([tail, codel]).with_columns(in_mbit=1.0, out_mbit=1.0)
        return lte.S4_4G_DELAY(cells)

    assert holds(spiky)
    assert holds(np.where(second < 10, 2000.0, spiky))
    assert not holds(np.where(second < 20, 2000.0, spiky))
    assert not holds(np.full(steps.SECONDS, 10.0))


def test_a_recorded_trace_of_the_readers(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for suffix, step in (("down", 2), ("up", 6)):
        Path(f"mine.{suffix}").write_text("".join(f"{ms}\n" for ms in range(step, 6001, step)))
    line = ("reproduce", PAPER, "--figure", "4g", "--seeds", "1", "-o", "out", "--json", "--assume")
    made = json.loads(cli(*line, "trace=mine.down").stdout)
    assert made["figures"][0]["assumed"] == {"trace": str(tmp_path / "mine.down")}
    assert Path(made["pages"][0]).parent.parent == Path("out") / PAPER
    runs = load_all([Path("out")])
    for one in runs:
        links = [one.scenario.document[link] for link in ("link", "reverse")]
        assert [link["trace"] for link in links] == [str(tmp_path / f"mine.{suffix}") for suffix in ("down", "up")]
        # One delivery opportunity of 1500 bytes every 2 ms.
        assert one.links["utilisation"][0] * 6e6 == pytest.approx(8 * one.links["bytes"][0] / 300, rel=0.01)
    assert len(runs) == 2
    refused = cli(*line, "trace=none.down")
    error = "Error: --assume: trace=none.down: no such file; give the path of one\n"
    assert (refused.exit_code, refused.output) == (2, error)
