"""Output of commands: JSON on stdout, or tables (`tables.py`) that fit the terminal."""

from __future__ import annotations

import json
import math
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from sojourn.apps.cli.tables import ALL, WIDTH, Cell, Column, Table, render
from sojourn.apps.cli.terminal import echo, printable_json

if TYPE_CHECKING:
    import polars as pl

    from sojourn.model.analysis.metrics import Metric
    from sojourn.model.analysis.replicate import AchievedPrecision
    from sojourn.model.results.result import Result
    from sojourn.studies.expectations import Judgement


def print_json(value: Any) -> None:
    """Print one JSON document; non-finite numbers are null."""
    echo(printable_json(json.dumps(_plain(value), indent=1, ensure_ascii=False, allow_nan=False)))


def print_note(text: str) -> None:
    """Print a line in addition to the tables; on stderr if these go to a document or a program."""
    echo(text, err=bool(_chosen().form))


def print_judgements(judgements: Sequence[Judgement]) -> None:
    """Print the verdict of each expectation with its numbers."""
    for judged in judgements:
        for line in judged.lines:
            print_note(line)


def one_table() -> bool:
    """Whether there can be one table only, as in a file of comma-separated values."""
    return _chosen().form == "csv"


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1, title: str = "") -> None:
    """Print a table of numbers; its first `left` columns are names. A heading may have its unit in a second line."""
    columns = [_column(heading, left=place < left, key=place < left) for place, heading in enumerate(headings)]
    emit(Table(columns, [[_cell(text) for text in row] for row in rows], title))


def print_text_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table of words, which wrap."""
    columns = [_column(heading, left=True, key=place == 0) for place, heading in enumerate(headings)]
    emit(Table(columns, [[Cell(text) for text in row] for row in rows]))


def emit(table: Table, idle: Sequence[str] = (), lacking: Sequence[Column] = (), *, most: int | None = None) -> None:
    """Print a table as requested on the command line; `idle` columns are omitted if all their numbers are zero.

    `lacking` are the columns of another table of the command: nothing is printed if all requested ones are there. A
    table for reading has at most `most` rows.
    """
    wanted = _chosen()
    own = {word for column in table.columns for word in column.words}
    words = {word for column in lacking for word in column.words} - own
    columns = [word for word in wanted.columns if word not in words]
    if wanted.columns and not columns:
        return
    # A file of comma-separated values is for programs, which select the columns themselves.
    columns = columns or ([ALL] if one_table() else [])
    order = "" if wanted.sort.removeprefix("-") in words else wanted.sort
    table = table.sorted(order).chosen(columns, idle)
    more = 0 if most is None or one_table() else max(0, len(table.rows) - most)
    if more:
        table = replace(table, rows=table.rows[:most])
    text = render(table, wanted.form, _width())
    if more:
        text += f"\n… {more:,} more rows; --json has them all"
    echo(text if one_table() else f"{text}\n")


def check_summary(names: Sequence[str], *, of_test: bool = False) -> None:
    """Raise `InputError` early for columns that a summary table named by `names` will not have."""
    from sojourn.model.analysis.metrics import ALL, METRICS, of_group

    wanted = _chosen()
    of_groups = filter(None, map(of_group, (*wanted.columns, wanted.sort.removeprefix("-"))))
    metrics = [*(ALL if of_test else METRICS), *of_groups]
    table = Table([*_keys(names), *map(_of_metric, metrics), *OF_RUNS], [])
    table.sorted(wanted.sort).chosen(wanted.columns)


def summary_table(
    table: Sequence[Mapping[str, Any]], names: Sequence[str], *, title: str = "", most: int | None = None
) -> None:
    """Print the rows of `table`, named by their values of `names`: every metric ± its confidence interval.

    For reading, the first `most` rows.
    """
    from sojourn.model.analysis.metrics import columns_of, metrics_in

    columns = columns_of(table)
    metrics = metrics_in(columns)
    of_runs = OF_RUNS if "not_settled" in columns else ()
    rows = [
        [
            *(_named(row[name]) for name in names),
            *(_number(metric, row.get(metric.column), row.get(f"{metric.column}_ci95")) for metric in metrics),
            *((_warmup(row), Cell(_state(row)), Cell(str(row["fingerprint"]))) if of_runs else ()),
        ]
        for row in table
    ]
    emit(
        Table([*_keys(names), *map(_of_metric, metrics), *of_runs], rows, title),
        idle=[metric.column for metric in metrics if metric.idle],
        most=most,
    )


def traffic_table(result: Result) -> None:
    """Print one row per flow group, unless there is nothing to add, or columns or a file are requested."""
    from sojourn.model.analysis.metrics import Metric
    from sojourn.model.analysis.traffic import traffic

    wanted = _chosen()
    if wanted.form == "csv" or wanted.columns or wanted.sort or not result.totals["groups"]:
        return
    metrics = (
        Metric("goodput_bps", "goodput", "Mbit/s", 1e-6, 2),
        Metric("rtt_ms", "RTT", "ms"),
        Metric("delay_ms", "delay", "ms"),
        Metric("resent", "sent again", "%", 100),
        Metric("loss_rate", "lost", "%", 100),
    )
    rows = [
        [_named(row["flows"]), *(_number(metric, row[metric.column], None) for metric in metrics)]
        for row in traffic(result.scenario.document["flows"], result.totals["groups"])
    ]
    emit(Table([*_keys(["flows"]), *map(_of_metric, metrics)], rows), most=LONG)


def _warmup(row: Mapping[str, Any]) -> Cell:
    """Warm-up of a row's runs."""
    least, most = (row[name] for name in ("warmup_min_s", "warmup_max_s"))
    span = f"{least:.2f}" if least == most else f"{least:.2f}–{most:.2f}"
    return Cell(span, least if least == most else None)


def _state(row: Mapping[str, Any]) -> str:
    """Number of a row's runs that have not settled, or "a tenth" if none can; empty if all have, or if not searched."""
    unsettled = row["not_settled"]
    if not unsettled:
        return "a tenth" if row["changing"] else ""
    return "not settled" if unsettled == row["seeds"] else f"{unsettled} not settled"


def title_of_means(table: Sequence[Mapping[str, Any]]) -> str:
    """Title for the rows of an aggregated table: means with intervals if there are several distinct runs."""
    seeds, distinct = (max(row[name] for row in table) for name in ("seeds", "distinct"))
    if seeds == 1:
        return "one seed"
    if distinct == 1:
        return f"{seeds} seeds, 1 distinct run"
    return f"means over {seeds} seeds ± half width of the 95 % confidence interval"


def paired_table(differences: pl.DataFrame, names: Sequence[str]) -> None:
    """Print the metrics' differences from the baseline: one row per queue manager and value of `names`."""
    from sojourn.model.analysis.metrics import ALL as ALL_METRICS
    from sojourn.model.analysis.metrics import groups, metrics_in

    metrics = metrics_in(differences["metric"])
    rows = []
    for key, group in groups(differences, names):
        found = {row["metric"]: row for row in group.iter_rows(named=True)}
        rows.append([*map(_named, key), *(_difference(metric, found.get(metric.column)) for metric in metrics)])
    title = f"difference to {differences['baseline'][0]}"
    if differences["ci95"].is_not_null().any():
        tests = _tests(max(differences["n"].to_list()))
        title = f"{title}, seed by seed ± half width of its 95 % confidence interval; {tests}"
    idle = [metric.column for metric in metrics if metric.idle]
    there = {metric.column for metric in metrics}
    others = [_of_metric(metric) for metric in ALL_METRICS if metric.column not in there]
    emit(Table([*_keys(names), *map(_of_metric, metrics)], rows, title), idle, [*OF_RUNS, *others])


def _difference(metric: Metric, row: dict[str, Any] | None) -> Cell:
    if row is None:
        return Cell("–")
    if row["same"]:
        return Cell("same", row["difference"])
    star = " *" if row["significant"] else "  "
    return Cell(f"{metric.show_difference(row['difference'], row['ci95'])}{star}", row["difference"], row["ci95"])


def _number(metric: Metric, value: float | None, half: float | None) -> Cell:
    return Cell(metric.show(value, half), value, None if metric.counts else half)


def _named(value: Any) -> Cell:
    return Cell(str(value), value if isinstance(value, int | float) else None)


def _keys(names: Sequence[str]) -> list[Column]:
    return [Column(name, name, left=True, key=True) for name in names]


def _of_metric(metric: Metric) -> Column:
    return Column(metric.column, metric.label, metric.unit, metric.group, shown=metric.shown)


def _column(heading: str, *, left: bool, key: bool) -> Column:
    name, _, unit = heading.partition("\n")
    return Column(re.sub(r"\W+", "_", name).strip("_").lower() or "what", name, unit, left=left, key=key)


def _cell(text: str) -> Cell:
    try:
        return Cell(text, float(text))
    except ValueError:
        return Cell(text)


@dataclass(frozen=True)
class TableArgs:
    """Table options of the command line."""

    columns: tuple[str, ...] = ()
    sort: str = ""
    form: str = ""
    """One of `tables.FORMATS`; empty for a terminal."""


def _chosen() -> TableArgs:
    context = click.get_current_context(silent=True)
    found: TableArgs = context.meta.get(WANTED, TableArgs()) if context else TableArgs()
    return found


WANTED = f"{__name__}.tables"
LONG = 100
"""Rows of the tables of links and of flows that are printed for reading."""
OF_RUNS = (
    Column("warmup_s", "warm-up", "s", shown=False),
    Column("state", ""),
    Column("fingerprint", "fingerprint", shown=False),
)
"""Columns about the runs of a row, not their numbers."""


def _width() -> int:
    return shutil.get_terminal_size((WIDTH, 24)).columns if sys.stdout.isatty() else WIDTH


def _tests(n: int) -> str:
    from sojourn.model.analysis.stats import MIN_FOR_WILCOXON

    wilcoxon = " and Wilcoxon's" if n >= MIN_FOR_WILCOXON else ""
    return f"* p < 0.05 in the paired t test{wilcoxon}"


def until_json(reached: AchievedPrecision) -> dict[str, Any]:
    """Achieved precision and goal."""
    goal = {"metric": reached.goal.metric, "percent": reached.goal.percent, "max_seeds": reached.goal.most}
    found = {"seeds": reached.seeds, "widest_percent": reached.widest_percent, "reached": reached.reached}
    return goal | found | {"varies": reached.varies}


def until_sentence(reached: AchievedPrecision) -> str:
    """Achieved precision in words."""
    goal = reached.goal
    if not reached.varies:
        return (
            f"{goal.percent:g} % not reached: with {reached.seeds} seeds there is 1 distinct run, which no repetition "
            "makes more precise; set `spread`"
        )
    word = "reached" if reached.reached else "not reached"
    return (
        f"Half width of {goal.metric}: at most {reached.widest_percent:.2g} % of the mean with {reached.seeds} seeds; "
        f"{goal.percent:g} % {word}"
    )


def result_json(result: Result) -> dict[str, Any]:
    """Identification of a run, and its summary."""
    return {
        "aqm": result.scenario.aqm,
        "seed": result.seed,
        "fingerprint": result.fingerprint,
        "folder": str(result.folder) if result.folder else None,
        "summary": result.totals,
    }


def describe(setup: dict[str, Any]) -> list[str]:
    """Sentences about a scenario: link, reverse path, flows, times."""
    alike: dict[str, list[Any]] = {}
    for flow in setup["flows"]:
        kind = f"{flow['kind']}{_tcp(flow)} {_direction(flow)}, access delay {flow['access_delay']}"
        alike.setdefault(kind, []).append(flow["count"])
    flows = [f"{counts[0] if len(counts) == 1 else sum(map(int, counts))} {kind}" for kind, counts in alike.items()]
    return [
        f"link: {_link(setup['link'])}",
        f"reverse: {_link(setup['reverse'])}",
        *(f"{hop['name']}: {_link(hop)}; back {_link(hop['reverse'])}" for hop in setup.get("links", [])),
        f"flows: {'; '.join(flows)}",
        f"time: {setup['duration']}, the first {setup['warmup']} not counted",
    ]


def _link(link: dict[str, Any]) -> str:
    from sojourn.model.aqms.spelling import spelled_aqm

    service = f"trace {link['trace']}" if link.get("trace") else link["rate"]
    limits = link["limit"] if isinstance(link["limit"], str) else " and ".join(link["limit"])
    aqm = f", {spelled_aqm(link['aqm'])}" if "aqm" in link else ""
    framing = "" if link["framing"] == "ethernet" else f", framing {link['framing']}"
    framing += "".join(f", {key} {link[key]}" for key in ("overhead", "mpu") if link[key] != "0 B")
    return f"{service}, delay {link['delay']}{framing}{aqm}, limit {limits}"


def _tcp(flow: dict[str, Any]) -> str:
    from sojourn.model.aqms.spelling import shown

    ecn = " with ECN" if flow.get("ecn") else ""
    return f" {shown(flow['cc'])} ({flow['stack']}){ecn}" if "cc" in flow else f" of {flow['rate']}"


def _direction(flow: dict[str, Any]) -> str:
    return str(flow.get("direction", "forward"))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
