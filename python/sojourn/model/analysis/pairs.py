"""Paired comparison of queue managers, seed by seed: with the same seed both get the same traffic."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.base.errors import unknown
from sojourn.base.late import pl
from sojourn.model.analysis.metrics import groups, metrics_in
from sojourn.model.analysis.stats import PairedDifference, paired_difference
from sojourn.model.aqms.spelling import spelled_aqm

OF_SECOND = " of second"
NO_PAIRS = "paired: takes several queue managers and several seeds; give e.g. codel and pie, and 10 seeds"
"""Error text if nothing can be paired."""


def paired(runs: pl.DataFrame, key: str, baseline: str, by: Sequence[str] = ()) -> pl.DataFrame:
    """One row per group of `by`, value of `key` other than `baseline`, and metric.

    `difference` is the mean over the seeds of value minus baseline, in the metric's unit as in `runs`; `ci95` the half
    width of its 95 % confidence interval; `p_t` and `p_wilcoxon` are two-sided, not adjusted for the number of tests;
    `significant` is true if every test that the number of pairs allows gives p < 0.05. `n` counts distinct pairs: pairs
    with equal fingerprints count once. If both are the same run with every seed, `same` is true and nothing is
    compared. Counts are omitted if the two statistics windows differ.
    """
    rows = []
    for place, group in groups(runs, by):
        group = group.unique([key, "seed"], keep="first", maintain_order=True)  # duplicate names are one sample
        first = group.filter(pl.col(key) == baseline)
        for (name,), second in group.group_by([key], maintain_order=True):
            if name == baseline:
                continue
            both = first.join(second, on="seed", how="inner", suffix=OF_SECOND, maintain_order="left")
            prints = ["fingerprint", f"fingerprint{OF_SECOND}"]
            both = both.unique(prints, keep="first", maintain_order=True)
            same = both[prints[0]].equals(both[prints[1]], check_names=False)
            spans = (both[name] for name in ("warmup_s", f"warmup_s{OF_SECOND}") if name in both.columns)
            equally_long = len({tuple(span) for span in spans}) < 2
            for metric in metrics_in(runs.columns):
                if metric.counts and not equally_long:
                    continue
                pairs = both.select(metric.column, f"{metric.column}{OF_SECOND}").drop_nulls()
                if pairs.is_empty():
                    continue
                samples = [column.to_list() for column in pairs.iter_columns()]
                found = PairedDifference(pairs.height, 0.0, None, None, None) if same else paired_difference(*samples)
                rows.append(
                    dict(zip(by, place, strict=True))
                    | {key: name, "baseline": baseline, "metric": metric.column, "n": found.n}
                    | {"difference": found.difference, "ci95": found.ci95}
                    | {"p_t": found.p_t, "p_wilcoxon": found.p_wilcoxon, "significant": found.significant}
                    | {"same": same}
                )
    return pl.DataFrame(rows, infer_schema_length=None)


def same_aqm(names: Sequence[str], wanted: str | None) -> str:
    """Name in `names` that means the same queue manager as `wanted`; the first if `wanted` is None."""
    if wanted is None:
        return names[0]
    if wanted in names:
        return wanted
    spelled = spelled_aqm(wanted)
    for name in names:
        if not name.startswith("{") and spelled_aqm(name) == spelled:
            return name
    raise unknown("paired: queue manager", wanted, list(names))
