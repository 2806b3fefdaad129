"""`sojourn trace`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from sojourn.apps.cli import options
from sojourn.apps.cli.figures import FigureArgs, figure_options
from sojourn.apps.cli.groups import Group
from sojourn.apps.cli.terminal import echo

mtu = click.option(
    "--mtu", "mtu_text", default="1500 B", show_default=True, metavar="SIZE", help="Bytes carried by one opportunity."
)
step = click.option(
    "--step",
    default="100 ms",
    show_default=True,
    metavar="TIME",
    help="Width of the intervals over which rates are averaged.",
)
units = click.option(
    "--units",
    metavar="TIME,RATE",
    help='Units of a series whose numbers have none, e.g. "ms,kbit/s" [s,Mbit/s for two columns without commas].',
)
output_file = click.option(
    "-o", "--output", "target", required=True, type=options.NEW_FILE, metavar="FILE", help="File to write."
)


@click.group("trace", cls=Group)
def command() -> None:
    """Measure, convert, generate and draw traces of delivery opportunities.

    A trace is a file in Mahimahi's format, or a series of rates: a .csv file, or two columns of numbers. A row has a
    time and the rate from then on. Units are in the cells (0 s,10 Mbit/s), in the header (time [s],rate [Mbit/s]) or
    given by --units.
    """


@command.command("stats")
@click.argument("files", nargs=-1, required=True, type=options.PATH, metavar="FILE...")
@mtu
@units
@options.tables
@options.as_json
def stats_command(files: tuple[Path, ...], mtu_text: str, units: str | None, as_json: bool) -> None:
    """Print rate, variability, autocorrelation, gaps and outages of traces."""
    from sojourn.apps.cli import output
    from sojourn.io.traces.delivery import trace_stats

    mtu_bytes = _bytes(mtu_text)
    found = [(file, trace_stats(_load(file, units, mtu=mtu_bytes), mtu=mtu_bytes)) for file in files]
    if as_json:
        output.print_json([{"file": str(file), **stats} for file, stats in found])
        return
    rows = [[about, *(show(stats) for _, stats in found)] for about, show in _ROWS.items()]
    output.print_table(["trace", *(file.name for file, _ in found)], rows)


@command.command("convert")
@click.argument("file", type=options.PATH)
@output_file
@step
@mtu
@units
@click.option("--bursts", metavar="PRESET", help="Group opportunities into bursts, as this preset of synth does.")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(min=0), help="Seed of the bursts.")
@click.option("--series", metavar="NAME", help="Series of a measured log [the only one].")
@click.option("--delay", is_flag=True, help="Write delays for a link's delay_trace: half of a log's round-trip times.")
@options.as_json
def convert_command(
    file: Path,
    target: Path,
    step: str,
    mtu_text: str,
    units: str | None,
    bursts: str | None,
    seed: int,
    series: str | None,
    delay: bool,
    as_json: bool,
) -> None:
    """Convert a series of rates to opportunities, or opportunities to rates, by the file names.

    The rate of a row is valid until the next one. A trace has an opportunity at the end of each millisecond in which
    the accumulated rate reaches another MTU. With --bursts, opportunities are random with that mean rate. The trace
    ends with its last opportunity.

    FILE may be a measured log: the output of iperf3 -J, irtt or ping, a log of cake-autorate or G-NetTrack, or a data
    file of Flent. Its rates become a .csv file, with --delay its delays a delay_trace, both at the times of the
    measurements. --delay also takes two columns of times and delays.
    """
    from sojourn.apps.cli import output
    from sojourn.base.errors import InputError
    from sojourn.io.measured.files import is_measured
    from sojourn.io.traces.delivery import is_csv, is_series, write_trace

    if delay or is_measured(file):
        _refuse_given(("step", "mtu_text", "bursts", "seed"), file)
        _convert_measured(file, target, (units, series, delay), as_json)
        return
    if series is not None:
        raise InputError(f"--series: {file} is no measured log; leave the option out")
    if is_series(file) == is_csv(target):
        raise InputError(
            f"{target}: same kind as {file}; one must end in .csv and hold rates, the other must be a trace"
        )
    if bursts is not None and not is_series(file):
        raise InputError(f"--bursts: {file} already has bursts; leave the option out")
    if bursts is None and options.is_given("seed"):
        raise InputError("--seed: needs --bursts; leave the option out")
    if not is_csv(target) and options.is_given("step"):
        raise InputError(f"--step: {target} is a trace, which has no steps; leave the option out")
    mtu_bytes = _bytes(mtu_text)
    opportunities = _load(file, units, mtu=mtu_bytes, bursts=bursts, seed=seed)
    write_trace(opportunities, target, step_ms=_milliseconds("--step", step), mtu=mtu_bytes)
    if as_json:
        output.print_json({"file": str(target), "opportunities": len(opportunities)})
    else:
        echo(f"Trace: {target}, {len(opportunities)} opportunities in {opportunities[-1] / 1000:g} s")


def _refuse_given(names: Sequence[str], file: Path) -> None:
    """Refuse options that change nothing; raises `InputError`."""
    from sojourn.base.errors import InputError

    for name in names:
        if options.is_given(name):
            option = name.removesuffix("_text")
            raise InputError(f"--{option}: {file} is written at its own times; leave the option out")


def _convert_measured(file: Path, target: Path, how: tuple[str | None, str | None, bool], as_json: bool) -> None:
    """Write rates or delays at the times of their measurements; `how` has --units, --series and --delay."""
    from sojourn.apps.cli import output
    from sojourn.base.errors import InputError
    from sojourn.base.files import write_file
    from sojourn.io.measured import traces
    from sojourn.io.measured.files import is_measured
    from sojourn.io.traces.delivery import is_csv

    units, series, delay = how
    is_log = is_measured(file)
    if is_csv(target) == delay:
        name = "another name than .csv" if delay else ".csv; convert that to opportunities"
        raise InputError(f"{target}: rates go into a .csv file, and delays into another; give {name}")
    if (is_log and units is not None) or (not is_log and series is not None):
        unused = "--units" if is_log else "--series"
        raise InputError(
            f"{unused}: {file} is {'a log with its own units' if is_log else 'no log'}; leave the option out"
        )
    text, notes = traces.of_log(file, series, delay=delay) if is_log else (traces.of_columns(file, units), ())
    options.warn([f"{file}: {note}" for note in notes])
    write_file(target, lambda out: out.write(text.encode()))
    steps = text.count("\n") - (not delay)
    if as_json:
        output.print_json({"file": str(target), "steps": steps})
    else:
        echo(f"Trace: {target}, {steps} steps")


@command.command("synth")
@click.argument("model", type=options.Word(["lte"]))
@click.option("--preset", default="verizon-short", show_default=True, metavar="NAME", help="Recording to imitate.")
@click.option("--duration", default="140 s", show_default=True, metavar="TIME", help="Length in whole seconds.")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(min=0), help="Seed of the random numbers.")
@output_file
@options.as_json
def synth_command(model: str, preset: str, duration: str, seed: int, target: Path, as_json: bool) -> None:
    """Generate a trace with the statistics of a recorded one. An unknown --preset lists the known ones."""
    from sojourn.apps.cli import output
    from sojourn.base.errors import InputError
    from sojourn.io.traces.delivery import synth_lte, trace_stats, write_trace

    length_ms = _milliseconds("--duration", duration)
    if length_ms % 1000:
        raise InputError(f"--duration: {duration} is not a whole number of seconds; write e.g. 140 s")
    opportunities = synth_lte(preset, length_ms // 1000, seed)
    write_trace(opportunities, target)
    made = {"file": str(target), "model": model, "preset": preset, "seed": seed, "opportunities": len(opportunities)}
    mean = trace_stats(opportunities)["mean_mbps"]
    if as_json:
        output.print_json({**made, "mean_mbps": mean})
    else:
        echo(f"Trace: {target}, {len(opportunities)} opportunities, {mean:.2f} Mbit/s")


@command.command("plot")
@click.argument("files", nargs=-1, required=True, type=options.PATH, metavar="FILE...")
@click.option(
    "-o",
    "--output",
    "target",
    type=options.PATH,
    metavar="FILE",
    help="File to write: PNG, SVG, PDF or PGF, or CSV or JSON for the plotted data [trace.png].",
)
@step
@mtu
@units
@figure_options
@options.as_json
def plot_command(
    files: tuple[Path, ...],
    target: Path | None,
    step: str,
    mtu_text: str,
    units: str | None,
    wanted: FigureArgs,
    as_json: bool,
) -> None:
    """Draw the rate of traces over time, with their gaps of more than 100 ms."""
    from sojourn.figures.canvas import Sheet, style
    from sojourn.figures.trace import draw_traces
    from sojourn.model.analysis.labels import Name

    target = target or Path(f"trace{wanted.suffix}")
    wanted.check(target)
    mtu_bytes, step_ms = _bytes(mtu_text), _milliseconds("--step", step)
    traces = [_load(file, units, mtu=mtu_bytes) for file in files]
    with style(wanted.look):
        sheet = Sheet()
        draw_traces(traces, [Name(file.name) for file in files], sheet, step_ms=step_ms, mtu=mtu_bytes)
        notes = sheet.finish()
    wanted.write(sheet.figure, target, notes, {"traces": [str(file) for file in files]}, as_json)


def _load(file: Path, units: str | None, **wanted: Any) -> Any:
    """Read a trace; print the units that are assumed for columns of numbers."""
    from sojourn.io.traces.delivery import COLUMN_UNITS, has_columns, load_trace

    if units is None and has_columns(file):
        echo(f"Assumed: {file}: times and rates in {COLUMN_UNITS}; --units says others", err=True)
    return load_trace(file, **wanted, units=units)


def _bytes(text: str) -> int:
    return options.quantity("--mtu", text, "size_bytes")


def _milliseconds(option: str, text: str) -> int:
    from sojourn.base.errors import InputError

    nanoseconds = options.quantity(option, text, "duration_ns")
    if nanoseconds == 0 or nanoseconds % 1_000_000:
        raise InputError(f"{option}: {text} is not a whole number of milliseconds above zero; write e.g. 100 ms")
    return nanoseconds // 1_000_000


def _slashed(values: Sequence[float | None], digits: int = 2) -> str:
    return "/".join("–" if value is None else f"{value:.{digits}f}" for value in values)


def _bins(stats: dict[str, Any], name: str, widths_ms: Sequence[int]) -> list[Any]:
    by_width = {entry["width_ms"]: entry[name] for entry in stats["bins"]}
    return [by_width.get(width) for width in widths_ms]


def _rates(stats: dict[str, Any], width_ms: int, which: Sequence[int]) -> str:
    found = _bins(stats, "rate_mbps", [width_ms])[0]
    return "–" if found is None else _slashed([found[i] for i in which], 1)


def _lags(stats: dict[str, Any], lags_s: Sequence[float]) -> list[float | None]:
    by_lag = {entry["lag_s"]: entry["value"] for entry in stats["autocorrelation"]}
    return [by_lag[lag] for lag in lags_s]


def _gaps(stats: dict[str, Any], *names: str) -> list[float]:
    return [stats["gaps"][name] for name in names]


_ROWS: dict[str, Callable[[dict[str, Any]], str]] = {
    "opportunities": lambda s: str(s["opportunities"]),
    "length [s]": lambda s: f"{s['duration_s']:.1f}",
    "mean rate [Mbit/s]": lambda s: f"{s['mean_mbps']:.3f}",
    "CoV at 10 ms/100 ms/1 s/10 s": lambda s: _slashed(_bins(s, "cov", (10, 100, 1000, 10_000))),
    "ACF at 0.1/1/10/30 s": lambda s: _slashed(_lags(s, (0.1, 1.0, 10.0, 30.0))),
    "IDC at 10 ms/100 ms/1 s": lambda s: _slashed(_bins(s, "idc", (10, 100, 1000)), 1),
    "share of gaps of 0/1 ms": lambda s: _slashed(_gaps(s, "zero", "one_ms"), 3),
    "busy [ms]": lambda s: f"{s['gaps']['busy_ms']:.3f}",
    "burst": lambda s: f"{s['gaps']['burst']:.2f}",
    "gap p50/90/99/99.9/max [ms]": lambda s: _slashed(s["gaps"]["nonzero_ms"], 0),
    "outages per minute": lambda s: f"{s['outages'][2]['per_minute']:.1f}",
    "time in gaps >20/50/100/300/1000 ms": lambda s: _slashed([entry["time"] for entry in s["outages"]], 3),
    "outage median/mean [ms]": lambda s: _slashed([s["outage_median_ms"], s["outage_mean_ms"]], 0),
    "rate of 100 ms min/p5/25/50/75/95/max": lambda s: _rates(s, 100, range(7)),
    "share of empty 100 ms": lambda s: _slashed(_bins(s, "empty", (100,)), 3),
    "rate of 1 s min/p5/50/95/max": lambda s: _rates(s, 1000, (0, 1, 3, 5, 6)),
    "sigma at 0.1/0.5/1 s": lambda s: _slashed([entry["value"] for entry in s["sigma"]], 0),
}
"""Rows of the printed table; an outage is a gap of more than 100 ms."""
