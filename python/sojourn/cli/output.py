"""What commands print: JSON on stdout, or tables that fit the terminal."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from sojourn.cli.terminal import echo, printable_json

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console
    from rich.table import Table

    from sojourn.metrics import Metric
    from sojourn.replicate import Reached
    from sojourn.result import Result


def print_json(value: Any) -> None:
    """Print one JSON document; what has no number is null."""
    echo(printable_json(json.dumps(_plain(value), indent=1, ensure_ascii=False, allow_nan=False)))


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1, title: str = "") -> None:
    """Print a table of numbers; its first `left` columns are names, repeated in every part of a table too wide."""
    console = _console(240)
    for columns in _parts(console, headings, rows, left):
        _print(console, _table(headings, rows, columns, left, title))
        title = ""


def print_text_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table of words, which wrap."""
    _print(_console(120), _table(headings, rows, range(len(headings)), len(headings), "", wrap=True))


def summary_table(table: pl.DataFrame, names: Sequence[str], *, title: str = "") -> None:
    """Print one row per row of `table`, named by its columns `names`: every metric ± its confidence interval."""
    from sojourn.metrics import METRICS

    metrics = [metric for metric in METRICS if metric.column in table.columns]
    prints = ["fingerprint"] if "fingerprint" in table.columns else []
    rows = [
        [
            *(str(row[name]) for name in names),
            *(metric.show(row[metric.column], row.get(f"{metric.column}_ci95")) for metric in metrics),
            *(str(row[name]) for name in prints),
        ]
        for row in table.iter_rows(named=True)
    ]
    print_table([*names, *(metric.heading for metric in metrics), *prints], rows, left=len(names), title=title)


def paired_table(differences: pl.DataFrame, names: Sequence[str]) -> None:
    """Print one row per queue manager compared with the baseline, and place named by `names`: differences by metric."""
    from sojourn.metrics import METRICS, groups

    metrics = [metric for metric in METRICS if metric.column in differences["metric"].unique()]
    rows = []
    for key, group in groups(differences, names):
        found = {row["metric"]: row for row in group.iter_rows(named=True)}
        cells = [_difference(metric, found.get(metric.column)) for metric in metrics]
        rows.append([*(str(name) for name in key), *cells])
    tests = _tests(max(differences["n"].to_list()))
    title = f"difference to {differences['baseline'][0]}, seed by seed ± half width of its 95 % confidence interval"
    title = f"{title}; {tests}"
    print_table([*names, *(metric.heading for metric in metrics)], rows, left=len(names), title=title)


def _difference(metric: Metric, row: dict[str, Any] | None) -> str:
    if row is None:
        return metric.show(None)
    sign = "+" if row["difference"] > 0 else ""
    return f"{sign}{metric.show(row['difference'], row['ci95'])}{' *' if row['significant'] else '  '}"


def _tests(n: int) -> str:
    from sojourn.stats import FEWEST_FOR_WILCOXON

    wilcoxon = " and Wilcoxon's" if n >= FEWEST_FOR_WILCOXON else ""
    return f"* p < 0.05 in the paired t test{wilcoxon}"


def until_json(reached: Reached) -> dict[str, Any]:
    """How precise the results are, and what was wanted."""
    goal = {"metric": reached.goal.metric, "percent": reached.goal.percent, "max_seeds": reached.goal.most}
    return goal | {"seeds": reached.seeds, "widest_percent": reached.widest_percent, "reached": reached.reached}


def until_sentence(reached: Reached) -> str:
    """The same in words."""
    goal = reached.goal
    word = "reached" if reached.reached else "not reached"
    return (
        f"Half width of {goal.metric}: at most {reached.widest_percent:.2g} % of the mean with {reached.seeds} seeds; "
        f"{goal.percent:g} % {word}"
    )


def result_json(result: Result) -> dict[str, Any]:
    """What identifies a run and its summary."""
    return {
        "aqm": result.scenario.aqm,
        "seed": result.seed,
        "fingerprint": result.fingerprint,
        "folder": str(result.folder) if result.folder else None,
        "summary": result.totals,
    }


def describe(setup: dict[str, Any]) -> list[str]:
    """Sentences about a scenario: link, way back, flows, times."""
    flows = [
        f"{flow['count']} {flow['kind']}{_tcp(flow)} {_direction(flow)}, access delay {flow['access_delay']}"
        for flow in setup["flows"]
    ]
    return [
        f"link: {_link(setup['link'])}",
        f"reverse: {_link(setup['reverse'])}",
        *(f"{hop['name']}: {_link(hop)}; back {_link(hop['reverse'])}" for hop in setup.get("links", [])),
        f"flows: {'; '.join(flows)}",
        f"time: {setup['duration']}, the first {setup['warmup']} not counted",
    ]


def _link(link: dict[str, Any]) -> str:
    from sojourn.scenario import spelled_aqm

    service = f"trace {link['trace']}" if link.get("trace") else link["rate"]
    limits = link["limit"] if isinstance(link["limit"], str) else " and ".join(link["limit"])
    aqm = f", {spelled_aqm(link['aqm'])}" if "aqm" in link else ""
    framing = "" if link["framing"] == "ethernet" else f", framing {link['framing']}"
    framing += "".join(f", {key} {link[key]}" for key in ("overhead", "mpu") if link[key] != "0 B")
    return f"{service}, delay {link['delay']}{framing}{aqm}, limit {limits}"


def _tcp(flow: dict[str, Any]) -> str:
    ecn = " with ECN" if flow.get("ecn") else ""
    return f" {flow['cc']} ({flow['stack']}){ecn}" if "cc" in flow else f" of {flow['rate']}"


def _direction(flow: dict[str, Any]) -> str:
    return str(flow.get("direction", "forward"))


def _parts(console: Console, headings: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> list[Sequence[int]]:
    """Columns of each part, so that no part is wider than the console."""
    from rich.measure import Measurement

    unbounded = console.options.update(max_width=10_000)
    fixed = list(range(left))
    parts: list[list[int]] = [[]]
    for column in range(left, len(headings)):
        tried = _table(headings, rows, [*fixed, *parts[-1], column], left, "")
        if parts[-1] and Measurement.get(console, unbounded, tried).maximum > console.width:
            parts.append([])
        parts[-1].append(column)
    return [[*fixed, *part] for part in parts]


def _table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    columns: Sequence[int],
    left: int,
    title: str,
    *,
    wrap: bool = False,
) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, title=title or None, title_justify="left", pad_edge=False)
    for column in columns:
        justify: Literal["left", "right"] = "left" if column < left else "right"
        table.add_column(Text(headings[column]), justify=justify, vertical="top", no_wrap=not wrap or column == 0)
    for row in rows:
        table.add_row(*(Text(row[column]) for column in columns))
    return table


def _console(width_of_files: int) -> Console:
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else width_of_files, highlight=False, color_system=None)


def _print(console: Console, table: Table) -> None:
    with console.capture() as text:
        console.print(table)
    lines = [line.rstrip() for line in text.get().splitlines()]
    echo("\n".join(lines).strip("\n") + "\n")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
