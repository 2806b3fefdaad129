"""Run the cases of `scenarios/media`, measure the criteria of media.md and write `data/media.csv`.

`python docs/media.py` takes about two minutes; `python docs/media.py 5.2 5.8` renews those cases. Then
`python docs/site/parts.py` renews the page.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import polars as pl

import sojourn as sj
from sojourn.model.analysis import media
from sojourn.model.analysis.stats import mean_ci

FILE = Path(__file__).with_name("data") / "media.csv"
CASES = FILE.parents[2] / "scenarios" / "media"
COLUMNS = ("case", "control", "queue", "measure", "criterion", "value", "value_ci95", "met")
CONTROLS = (
    "nada",
    "nada@rfc8698",
    "gcc",
    "gcc@unprobed",
    "gcc@draft02",
    "gcc@draft02-scaled",
    "scream",
    "scream@rfc8298",
)
QUEUES: Mapping[str, Mapping[str, object]] = {
    "tail drop": {},
    "CoDel": {"link.aqm": "codel", "link.limit": "1000 packets"},
    "FQ-CoDel": {"link.aqm": "fq_codel", "link.limit": "1000 packets"},
}
L4S: Mapping[str, Mapping[str, object]] = {"DualPI2": {"link.aqm": "dualpi2", "link.limit": "1000 packets"}}
DEEP: Mapping[str, Mapping[str, object]] = {"tail drop, 1 s": {"link.limit": "1 s"}}
SEEDS = range(1, 11)
MAX_BPS = 1.5e6
"""Maximum rate of an encoder."""
SOUND_BPS = 36e3
"""Rate of a flow's sound: 20 kbit/s in packets of 20 ms, with their headers."""
Steps = tuple[media.Step, ...]


def steps(flows: int, *rates: tuple[float, float], end: float) -> Steps:
    """Return the times between changes of a capacity, with the maximum video rate of the flows in each."""
    ends = [start for start, _ in rates[1:]] + [end]
    most = ((start, min(bps - flows * SOUND_BPS, flows * MAX_BPS)) for start, bps in rates)
    return tuple((start, until, bps) for (start, bps), until in zip(most, ends, strict=True))


OF_5_1 = steps(1, (0, 1e6), (40, 2.5e6), (60, 0.6e6), (80, 1e6), end=100)
OF_5_2 = steps(2, (0, 4e6), (25, 2e6), (50, 3.5e6), (75, 1e6), (100, 2e6), end=125)
OF_5_3 = steps(1, (0, 2e6), (20, 1e6), (40, 0.5e6), (60, 2e6), end=100)
AFTER_5_4: Steps = ((0, 120, 3.5e6),)


def delay(result: sj.Result) -> float:
    """Return the 95 % quantile of the queueing delay, of the group with the longest."""
    return float(result.groups["media_queueing_p95_ms"].drop_nulls().max())


def share(result: sj.Result) -> float:
    """Return the share of media in the goodput of media and TCP."""
    of_media, of_tcp, _ = result.groups["goodput_bps"]
    return float(of_media / (of_media + of_tcp))


def share_of_rest(result: sj.Result) -> float:
    """Return the share of media in the capacity that sound and TCP, with headers of 52 bytes, leave."""
    of_tcp = float(result.groups["goodput_bps"][1]) * 1500 / 1448
    return float(result.groups["media_received_bps"][0]) / (2e6 - 2 * SOUND_BPS - of_tcp)


def transfers(result: sj.Result) -> float:
    """Return the median time of a transfer, in seconds."""
    return float(result.totals["groups"][1]["completion_ms"]["p50"]) / 1e3


def least(result: sj.Result) -> float:
    """Return the minimum target of a flow from 100 s on, over an equal share."""
    found = media.targets(result, 100, 300)
    return min(found.values()) / (4e6 / 5 - SOUND_BPS)


def least_fair(result: sj.Result) -> float:
    """Return the minimum of Jain's index over the second halves of the steps."""
    return min(media.fairness(result, (start + end) / 2, end) for start, end, _ in OF_5_2)


def while_one_pauses(result: sj.Result) -> float:
    """Return the mean target of the flows that stay, over the maximum rate."""
    found = media.targets(result, 50, 60)
    return (found[0] + found[1]) / 2 / MAX_BPS


Measure = tuple[str, Callable[[sj.Result], float], float, float]
DELAY: Measure = ("p95 of the queueing delay, ms", delay, 0.0, 100.0)


def lost(of: Steps, flows: tuple[int, ...] | None = None) -> Measure:
    """Return the measure of losses in steps."""
    return ("lost", partial(media.losses, steps=of, flows=flows), 0.0, 0.02)


def used(of: Steps, least: float, flows: tuple[int, ...] | None = None) -> Measure:
    """Return the measure of utilisation in steps."""
    return ("utilisation", partial(media.utilisation, steps=of, flows=flows), least, 9.0)


MEASURES: Mapping[str, tuple[Measure, ...]] = {
    "5.1": (
        used(OF_5_1, 0.8),
        lost(OF_5_1),
        ("rise, s", partial(media.rise, start=40, end=60, min_bps=0.8 * MAX_BPS), 0.0, 10.0),
        ("fall, s", partial(media.fall, start=60, end=80, max_ms=100), 0.0, 5.0),
        DELAY,
    ),
    "5.2": (
        used(OF_5_2, 0.8),
        lost(OF_5_2),
        ("Jain's index", least_fair, 0.9, 1.0),
        ("fall, s", partial(media.fall, start=75, end=100, max_ms=100), 0.0, 5.0),
        DELAY,
    ),
    "5.3": (used(OF_5_3, 0.7, (0,)), lost(OF_5_3, (0,)), DELAY),
    "5.4": (
        ("Jain's index", partial(media.fairness, start=60, end=120), 0.9, 1.0),
        lost(AFTER_5_4),
        DELAY,
    ),
    "5.5": (
        ("Jain's index", partial(media.fairness, start=100, end=300), 0.8, 1.0),
        ("minimum share", least, 0.5, 9.0),
        DELAY,
    ),
    "5.6": (("share", share, 0.25, 0.75),),
    "5.7": (
        ("share of the rest", share_of_rest, 0.7, 9.0),
        ("Jain's index", partial(media.fairness, start=60, end=300), 0.9, 1.0),
        ("transfers, s", transfers, 0.0, 2.0),
        DELAY,
    ),
    "5.8": (
        ("while one pauses", while_one_pauses, 0.9, 9.0),
        (
            "return, s",
            partial(media.rise, start=60, end=120, min_bps=0.8 * (3.5e6 / 3 - SOUND_BPS), flow=2),
            0.0,
            20.0,
        ),
        ("Jain's index", partial(media.fairness, start=80, end=120), 0.9, 1.0),
        DELAY,
    ),
}


def main() -> None:
    """Renew the rows of some cases, or of all."""
    cases = sys.argv[1:] or list(MEASURES)
    rows = [row for case in cases for control in CONTROLS for row in rows_of(case, control)]
    kept = pl.read_csv(FILE, infer_schema=False).filter(~pl.col("case").is_in(cases))
    new = pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row")
    pl.concat([kept, new]).sort("case", maintain_order=True).write_csv(FILE)


def queues_of(case: str) -> Mapping[str, Mapping[str, object]]:
    """Return the queues of a case: what is set for each."""
    return QUEUES | L4S | (DEEP if case == "5.6" else {})


def rows_of(case: str, control: str) -> list[tuple[str, ...]]:
    """Return the rows of a case with a control: measures by queue."""
    runs = {
        name: runs_of(case, control, sets)
        for name, sets in queues_of(case).items()
        if name not in L4S or control == "scream"
    }
    return [
        (case, control, queue, name, criterion(low, high), *cells([measure(result) for result in results], low, high))
        for name, measure, low, high in MEASURES[case]
        for queue, results in runs.items()
    ]


def runs_of(case: str, control: str, sets: Mapping[str, object]) -> list[sj.Result]:
    """Return the results of a case for all seeds; where media goes both ways, both directions have the queue."""
    text = (CASES / f"{case}.toml").read_text(encoding="utf-8").replace('control = "nada"', f'control = "{control}"')
    both = dict(sets)
    if case == "5.3":
        both |= {path.replace("link.", "reverse."): value for path, value in sets.items()}
    scenario = sj.Scenario.parse(text, both)
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(scenario.run, SEEDS))


def criterion(low: float, high: float) -> str:
    """Return the bounds of a measure; 0 and 1 or 9 bound nothing."""
    if high in (1.0, 9.0):
        return f"≥ {low:g}"
    return f"{low:g} to {high:g}" if low else f"≤ {high:g}"


def cells(values: list[float], low: float, high: float) -> tuple[str, str, str]:
    """Return mean, half width of its 95 % interval, and whether the mean meets the criterion."""
    mean, half = mean_ci(values)
    return f"{mean:.3g}", f"{half or 0.0:.2g}", "yes" if low <= mean <= high else "no"


if __name__ == "__main__":
    main()
