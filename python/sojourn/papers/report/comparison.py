"""A comparison as one page without network access, with no script but its lab's."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from sojourn import _core
from sojourn.engines import SIMULATE
from sojourn.model.analysis.metrics import Metric, groups, metrics_in
from sojourn.papers.report.html import Html, el, image, join, sectioned, table
from sojourn.papers.report.runnable import HEADING, runnable
from sojourn.studies.comparison import Comparison

SECTIONS = {
    "results": "Results",
    "differences": "Differences, seed by seed",
    "figure": "Figure",
    "setup": "Set-up",
    "run": HEADING,
    "provenance": "Provenance",
}


def page(
    found: Comparison,
    figure: Path,
    *,
    differences: pl.DataFrame | None,
    title: str,
    remarks: Sequence[str],
    setup: Sequence[str],
    command: Sequence[str],
) -> str:
    """Text of the page.

    `figure` is a picture in SVG or PNG, `differences` the output of `Comparison.paired`, `title` describes the rows,
    `remarks` are placed below the figure, `setup` are the sentences about common settings.
    """
    bodies = {
        "results": join([_means(found, title), *_list(found.notes)]),
        "differences": _differences(found, differences),
        "figure": join([image(figure, f"Sojourn times and goodput under {', '.join(found.aqms)}"), *_list(remarks)]),
        "setup": join([*_list(setup), *_list(found.advice)]),
        "run": _run(found),
        "provenance": _provenance(found, command),
    }
    return sectioned(f"{', '.join(found.aqms)} compared", SECTIONS, bodies)


def _means(found: Comparison, title: str) -> Html:
    keys = [*found.loads[0], "aqm"]
    metrics = [
        metric for metric in metrics_in(found.table.columns) if metric.shown and _is_informative(metric, found.table)
    ]
    rows = [
        [
            _named(row, keys),
            *(metric.show(row[metric.column], row.get(f"{metric.column}_ci95")) for metric in metrics),
        ]
        for row in found.table.iter_rows(named=True)
    ]
    return table([", ".join(keys), *(metric.axis_label for metric in metrics)], rows, caption=title)


def _is_informative(metric: Metric, means: pl.DataFrame) -> bool:
    values = means[metric.column].drop_nulls()
    return len(values) > 0 and not (metric.idle and not (values != 0).any())


def _named(row: dict[str, Any], keys: Sequence[str]) -> str:
    return ", ".join(str(row[key]) for key in keys)


def _differences(found: Comparison, differences: pl.DataFrame | None) -> Html:
    if differences is None:
        return Html()
    keys = [*found.loads[0], "aqm"]
    metrics = [
        metric for metric in metrics_in(differences["metric"]) if metric.shown and _is_informative(metric, found.table)
    ]
    rows = []
    for key, group in groups(differences, keys):
        of_metric = {row["metric"]: row for row in group.iter_rows(named=True)}
        rows.append(
            [", ".join(map(str, key)), *(_difference(metric, of_metric.get(metric.column)) for metric in metrics)]
        )
    caption = f"Difference to {differences['baseline'][0]} ± half width of its 95 % interval; * where it is significant"
    return table([", ".join(keys), *(metric.axis_label for metric in metrics)], rows, caption=caption)


def _difference(metric: Metric, row: dict[str, Any] | None) -> str:
    if row is None:
        return "–"
    if row["same"]:
        return "same"
    return f"{metric.show_difference(row['difference'], row['ci95'])}{' *' if row['significant'] else ''}"


def _run(found: Comparison) -> Html:
    """The first run; only for the simulator, because the page contains no other engine."""
    first = found.results[0]
    if first.engine != SIMULATE:
        return Html()
    return runnable(first.scenario.replace({"seed": first.seed}), f"{found.names[0]}, seed {first.seed}.")


def _provenance(found: Comparison, command: Sequence[str]) -> Html:
    runs = zip(found.names, found.results, strict=True)
    prints = [el("li", f"{name}, seed {run.seed}: ", el("code", run.fingerprint)) for name, run in runs]
    about = f"Sojourn {_core.version()}, Python {platform.python_version()}, {platform.machine()}."
    return join(
        [
            el("p", "Command: ", el("code", shlex.join(command))),
            el("p", about, " Fingerprints of the runs:"),
            el("ul", *prints),
        ]
    )


def _list(sentences: Sequence[str]) -> list[Html]:
    return [el("ul", *(el("li", sentence) for sentence in sentences))] if sentences else []
