"""`sojourn fit`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sojourn.apps.cli import options

if TYPE_CHECKING:
    from sojourn.studies.fitting.data import Data
    from sojourn.studies.fitting.fit import FitResult
    from sojourn.studies.fitting.search import Simulate


def _share(_ctx: click.Context, _param: click.Parameter, value: str | None) -> float | None:
    if value is None:
        return None
    share = options.percent(value, "25%")
    if not 0 < share < 100:
        raise click.BadParameter(f"{value} leaves nothing to fit or nothing to check; write e.g. 25%")
    return share / 100


@click.command("fit")
@click.argument("scenario", type=options.PATH)
@click.argument("data", type=options.PATH)
@click.option(
    "--free", "free", multiple=True, metavar="KEY=RANGE", help='Free a key, e.g. link.rate="1..100 Mbit/s". May repeat.'
)
@options.sets
@click.option(
    "--hold-out",
    "held",
    metavar="SHARE",
    callback=_share,
    help="Keep a share of the numbers from the fit, e.g. 25%, and see whether it explains them.",
)
@click.option(
    "--trials",
    type=click.IntRange(min=1),
    metavar="N",
    help="Then simulate the numbers N times with the best values, fit each, and count the intervals that contain them.",
)
@click.option(
    "--drawn",
    type=click.IntRange(min=1),
    metavar="N",
    help="Instead of a fit: N times draw values of the free keys from [truth] of DATA, simulate the numbers with "
    "them, fit these, and count the intervals that contain the values. Trials that are done are kept.",
)
@click.option(
    "--skip",
    metavar="TIME",
    help="With a recording: time to skip at its start [the scenario's warmup].",
)
@options.seed
@options.of_study
@click.pass_context
def command(
    ctx: click.Context,
    scenario: Path,
    data: Path,
    free: tuple[str, ...],
    sets: tuple[str, ...],
    held: float | None,
    trials: int | None,
    drawn: int | None,
    skip: str | None,
    seed: int | None,
    jobs: int | None,
    out: Path,
    as_json: bool,
) -> None:
    """Find the values of free keys with which SCENARIO explains the measured numbers of DATA.

    DATA is a TOML file: a table [free] of ranges ("1..100 Mbit/s") and choices (["codel", "pie"]), and a [[measured]]
    for each number. Or it is a recording: a data file of Flent (.flent.gz), a log of iperf3 -J, irtt, ping,
    cake-autorate or G-NetTrack, or a capture beside the senders (.pcap, .pcapng), from which the numbers are computed;
    then --free lists the free keys.

    The result has an interval for each key, lists the keys that the numbers do not determine, and the residual of each
    number. --seed chooses other seeds and other numbers to hold out. Finished runs are kept, except those with the
    tables that a capture is compared with. The exit code is 1 if the best values do not explain the numbers, or the
    held-out ones.
    """
    from sojourn.apps.cli import output
    from sojourn.base.files import write_if_changed
    from sojourn.base.progress import progress
    from sojourn.model.scenarios.advice import advice
    from sojourn.studies.fitting.coverage import coverage
    from sojourn.studies.fitting.data import hold_out
    from sojourn.studies.fitting.observed import required_probes
    from sojourn.studies.fitting.report import report
    from sojourn.studies.fitting.study import groups_of, idle, simulator
    from sojourn.studies.runs.runner import Runner

    if drawn and (held or trials or seed is not None):
        raise click.UsageError(
            "--drawn: its trials have seeds of their own and hold nothing out; leave the other options out"
        )
    given = _data(data, options.changes(free), scenario, options.changes(sets), skip)
    given = hold_out(given, held, seed or 1) if held else given
    make = _maker(scenario, given, options.changes(sets))
    middle = given.space.sets(given.space.point([0.5] * len(given.space.ranges)))
    options.warn(advice([make({**next(given.space.combinations()), **middle, **dict(given.numbers[0].at)})]))
    if drawn:
        _trials(scenario, data, given, make, drawn, out, jobs, as_json)
        return
    with progress() as report_progress:
        # A probe records a thousand times the data of its metrics: such runs are not kept.
        root = None if any(required_probes(number.metric) for number in given.numbers) else out
        runner = Runner(root, jobs, command=options.command_line(), progress=report_progress)
        simulate = simulator(given, make, runner)
        fits = _fits(given, simulate, seed or 1)
        document = {"scenario": str(scenario), "data": str(data)} | report(given, fits, simulate)
        best = min(fits, key=lambda one: one.least)
        document["idle"] = idle(given, best.choices, best.point, make, runner)
        if trials:
            document["coverage"] = coverage(given, best.choices, best.point, groups_of(given), simulate, trials)
    document["computed"] = len(runner.computed)
    text = json.dumps(document, indent=1, ensure_ascii=False, default=str) + "\n"
    file = write_if_changed(out / f"{data.stem}.fit.json", lambda stream: stream.write(text.encode()))
    if as_json:
        output.print_json(document | {"file": str(file)})
    else:
        _print(document, scenario.stem, held)
        for sentence in document["idle"]:
            output.print_note(sentence)
        output.print_note(f"Runs: {document['points']} points, {document['computed']} runs computed")
        output.print_note(f"Results: {out}, profiles and residuals in {file}")
    ctx.exit(0 if document["explained"] and document.get("hold_out", document)["explained"] else 1)


def _data(path: Path, free: Mapping[str, str], scenario: Path, sets: Mapping[str, str], skip: str | None) -> Data:
    from sojourn.base.errors import InputError
    from sojourn.base.inputs import parse_toml, read_text
    from sojourn.studies.fitting.data import data_of
    from sojourn.studies.fitting.recording import is_recording, read_recording

    if is_recording(path):
        data, warning = read_recording(path, free, *_window(scenario, sets, skip))
        options.warn([f"{path}: {warning}"] if warning else [])
        return data
    if skip is not None:
        raise InputError(f"--skip: {path} is not a recording; leave the option out")
    text = read_text(path)
    try:
        return data_of(parse_toml(text), free)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _window(scenario: Path, sets: Mapping[str, str], skip: str | None) -> tuple[float, float]:
    """Time in s left out of a recording, and statistics window of a run of the scenario."""
    from sojourn.base.errors import InputError
    from sojourn.base.inputs import read_text
    from sojourn.base.units import seconds
    from sojourn.model.scenarios.scenario import Scenario

    document = Scenario.parse(read_text(scenario), sets, base=scenario.parent).document
    warmup = str(document.get("warmup", "0 s"))
    if warmup == "auto":
        raise InputError(
            f"{scenario}: its warmup is auto, which a recording does not support; give e.g. --set warmup=5s"
        )
    skip_s = seconds(warmup) if skip is None else options.quantity("--skip", skip, "duration_ns") / 1e9
    return skip_s, seconds(str(document["duration"])) - seconds(warmup)


def _trials(
    scenario: Path, path: Path, data: Data, make: Any, count: int, out: Path, jobs: int | None, as_json: bool
) -> None:
    """Run the missing trials, keep each, and report all of them."""
    from sojourn.apps.cli import output
    from sojourn.base.progress import progress
    from sojourn.studies.fitting.coverage import summary_of
    from sojourn.studies.fitting.study import groups_of, simulator
    from sojourn.studies.fitting.trials import Trials
    from sojourn.studies.runs.runner import Runner

    kept = Trials(out / f"{path.stem}.trials.json", data, make)
    # Keep trials, not runs: a trial's thousands of runs are of no use to another one.
    simulate = simulator(data, make, Runner(None, jobs, progress=False))
    with progress("trials") as report_progress:
        done = kept.up_to(count, groups_of(data), simulate, report_progress)
    rows = summary_of(done)
    document = {
        "scenario": str(scenario),
        "data": str(path),
        "trials": len(done),
        "computed": kept.computed,
        "keys": rows,
    }
    if as_json:
        output.print_json(document | {"file": str(kept.file)})
        return
    table = [
        [
            row["key"],
            f"{row['covered']} of {row['trials']}",
            *(f"{100 * row[name]:.2f}" for name in ("half_width_median", "half_width_p90", "half_width_most")),
        ]
        for row in rows
    ]
    headings = ("key", "intervals that\nhold the value", "half width\n% median", "\n% p90", "\n% most")
    output.print_table(headings, table, title=f"{scenario.stem}: {len(done)} trials with values drawn from [truth]")
    output.print_note(f"Trials: {kept.computed} computed, all in {kept.file}")


def _maker(path: Path, data: Data, sets: Mapping[str, str]) -> Any:
    """Function that builds the scenario with some keys set; raises early if an end of a range cannot run."""
    from sojourn.base.errors import InputError
    from sojourn.base.inputs import read_text
    from sojourn.model.scenarios.scenario import Scenario

    text = read_text(path)
    if clash := [key for key in sets if key in data.space.paths]:
        raise InputError(f"--set: {clash[0]} is also in [free]; leave it out in one place")

    def make(own: Mapping[str, Any]) -> Scenario:
        try:
            return Scenario.parse(text, {**sets, **own}, base=path.parent)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None

    for choices in data.space.combinations():
        for end in (0.0, 1.0):
            make({**choices, **data.space.sets(data.space.point([end] * len(data.space.ranges)))})
    return make


def _fits(data: Data, simulate: Simulate, seed: int) -> list[FitResult]:
    from sojourn.studies.fitting.fit import fit
    from sojourn.studies.fitting.study import groups_of

    return [fit(data, choices, groups_of(data), simulate, seed=seed) for choices in data.space.combinations()]


def _print(report: Mapping[str, Any], name: str, held: float | None) -> None:
    from sojourn.apps.cli import output
    from sojourn.studies.fitting.report import sentences

    rows = [_key_row(key) for key in report["keys"]]
    title = f"{name}: best values and 95 % intervals by profile likelihood"
    output.print_table(("key", "unit", "best", "from", "to", "state"), rows, left=2, title=title)
    if report["choices"]:
        choices = [
            [
                ", ".join(f"{key} {value}" for key, value in one["choices"].items()),
                f"{one['above_best']:.2f}",
                "yes" if one["excluded"] else "no",
            ]
            for one in report["choices"]
        ]
        output.print_table(("choices", "sum of squares above the best", "excluded"), choices)
    if output.one_table():
        return
    output.print_table(
        ("number", "unit", "measured", "simulated", "residual\nsd", *(["held out"] if held else [])),
        [_number_row(one, held) for one in report["numbers"]],
        left=2,
    )
    for sentence in sentences(report):
        output.print_note(f"- {sentence}")
    if "coverage" in report:
        trials = report["coverage"]["trials"]
        for key in report["coverage"]["keys"]:
            output.print_note(
                f"Trials: {key['covered']} of {trials} intervals of {key['key']} contain the simulated value; half "
                f"of them are ± {key['half_width_median']:.1%} or less"
            )


def _key_row(key: Mapping[str, Any]) -> list[str]:
    return [key["key"], key["unit"], *(f"{key[name]:.5g}" for name in ("value", "low", "high")), key["state"]]


def _number_row(one: Mapping[str, Any], held: float | None) -> list[str]:
    half = one["simulated_ci95"]
    simulated = f"{one['simulated']:.4g}" + (f" ± {half:.2g}" if half else "")
    measured = f"{one['measured']:.4g}"
    last = [("yes" if one["held_out"] else "")] if held else []
    return [one["number"], one["unit"], measured, simulated, f"{one['residual']:+.2f}", *last]
