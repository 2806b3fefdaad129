"""Writes the table of media.md: runs the cases of scenarios/media and measures what the page says.

`python docs/media.py` takes about a minute. What stands around the table is written by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

import sojourn as sj
from sojourn.analysis.stats import mean_ci
from sojourn.base.markdown import replaced, table

PAGE = Path(__file__).with_name("media.md")
CASES = PAGE.parents[1] / "scenarios" / "media"
CONTROLS = ("nada", "nada@rfc8698", "gcc@unprobed")
QUEUES: Mapping[str, Mapping[str, object]] = {
    "tail drop": {},
    "CoDel": {"link.aqm": "codel", "link.limit": "1000 packets"},
    "FQ-CoDel": {"link.aqm": "fq_codel", "link.limit": "1000 packets"},
}
DEEP = {"tail drop, 1 s": {"link.limit": "1 s"}}
SEEDS = range(1, 11)
STEPS = ((0, 40, 1e6), (40, 60, 1.5e6), (60, 80, 0.6e6), (80, 100, 1e6))
HEADINGS = ("case", "control", "measured", *QUEUES, *DEEP)


def between(result: sj.Result, start: float, end: float) -> pl.DataFrame:
    """Return the reports of a time."""
    return result.media.filter((pl.col("time_s") >= start) & (pl.col("time_s") < end))


def holds_for_a_second(reports: pl.DataFrame, good: pl.Expr, start: float) -> float:
    """Return the time from `start` until reports are good for a second, or until their end."""
    begun = None
    rows = reports.select("time_s", good.alias("good")).rows()
    for time, is_good in rows:
        begun = (time if begun is None else begun) if is_good else None
        if begun is not None and time - begun >= 1:
            return float(begun - start)
    return float(rows[-1][0] - start)


def utilisation(result: sj.Result) -> float:
    """Return the least share of what a step allows that the target has in its second half."""
    halves = (between(result, (start + end) / 2, end)["target_bps"].mean() / most for start, end, most in STEPS)
    return float(min(halves))


def rise(result: sj.Result) -> float:
    """Return seconds from the step at 40 s to 80 % of what it allows."""
    return holds_for_a_second(between(result, 40, 60), pl.col("target_bps") >= 0.8 * 1.5e6, 40)


def fall(result: sj.Result) -> float:
    """Return seconds from the step at 60 s until the queue is short."""
    return holds_for_a_second(between(result, 60, 80), pl.col("queueing_ms") < 100, 60)


def delay(result: sj.Result) -> float:
    """Return the 95 % quantile of the queueing delay."""
    return float(result.groups["media_queueing_p95_ms"][0])


def fairness(result: sj.Result) -> float:
    """Return Jain's index."""
    return float(result.totals["jain"])


def share(result: sj.Result) -> float:
    """Return what media has of the goodput of media and TCP."""
    media, tcp = result.groups["goodput_bps"]
    return float(media / (media + tcp))


Measure = tuple[str, Callable[[sj.Result], float], float, float]
MEASURES: Mapping[str, tuple[Measure, ...]] = {
    "5.1": (
        ("utilisation", utilisation, 0.8, 9.0),
        ("rise, s", rise, 0.0, 10.0),
        ("fall, s", fall, 0.0, 5.0),
        ("p95 of the queueing delay, ms", delay, 0.0, 100.0),
    ),
    "5.4": (("Jain's index", fairness, 0.9, 1.0), ("p95 of the queueing delay, ms", delay, 0.0, 100.0)),
    "5.6": (("share", share, 0.25, 0.75),),
}


def main() -> None:
    """Renew the table."""
    rows = [row for case in MEASURES for control in CONTROLS for row in rows_of(case, control)]
    PAGE.write_text(
        replaced(PAGE.read_text(encoding="utf-8"), "table", "cases", table(HEADINGS, rows)), encoding="utf-8"
    )


def rows_of(case: str, control: str) -> list[tuple[str, ...]]:
    """Rows of a case with a control: a cell for each queue, in bold where the mean is not within the criterion."""
    queues = QUEUES | (DEEP if case == "5.6" else {})
    runs = [runs_of(case, {"flows.0.control": control, **sets}) for sets in queues.values()]
    rows = []
    for what, measure, least, most in MEASURES[case]:
        cells = [cell([measure(result) for result in results], least, most) for results in runs]
        rows.append((case, f"`{control}`", what, *cells, *("" for _ in range(4 - len(cells)))))
    return rows


def runs_of(case: str, sets: Mapping[str, object]) -> list[sj.Result]:
    """Return the results of a case for all seeds."""
    scenario = sj.Scenario.load(CASES / f"{case}.toml", sets)
    return [scenario.run(seed) for seed in SEEDS]


def cell(values: list[float], least: float, most: float) -> str:
    """Return mean and interval."""
    mean, half = mean_ci(values)
    text = f"{mean:.3g} ± {half or 0.0:.2g}"
    return text if least <= mean <= most else f"**{text}**"


if __name__ == "__main__":
    main()
