"""`sojourn run`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from sojourn.apps.cli import options
from sojourn.apps.cli.terminal import echo

if TYPE_CHECKING:
    from sojourn.model.results.result import Result
    from sojourn.model.scenarios.scenario import Scenario


@click.command("run")
@click.argument("scenario", type=options.PATH)
@options.sets
@options.seed
@options.engine
@options.expect
@options.no_code
@options.out
@click.option(
    "--qlog",
    type=options.PATH,
    metavar="DIR",
    help="Also write a qlog file of each TCP sender to DIR/<hash>, readable by qvis.",
)
@click.option(
    "--enter",
    metavar="NODE",
    help="With --engine emulate: open your shell in a node while the flows run. Leaving it ends the run, and no "
    "result is kept.",
)
@click.option(
    "--name", metavar="NAME", help="With --engine emulate: name for sojourn ctl, which changes links during the run."
)
@click.option(
    "--meter", metavar="LINK", help="With --engine emulate: show rates, sojourn times and drops of this link."
)
@click.option(
    "--pcap",
    type=options.PATH,
    metavar="PREFIX",
    help="With --engine emulate: captures of every link, PREFIX.NUMBER-LINK.down.in.pcapng and so on.",
)
@options.tables
@options.as_json
@click.pass_context
def command(
    ctx: click.Context,
    /,
    scenario: Path,
    sets: tuple[str, ...],
    seed: int | None,
    engine: str,
    expect: tuple[str, ...],
    out: Path,
    qlog: Path | None,
    enter: str | None,
    name: str | None,
    meter: str | None,
    pcap: Path | None,
    as_json: bool,
) -> None:
    """Run SCENARIO, a TOML file, once; print its summary and store its results.

    SCENARIO may be the folder of a result, whose scenario is run again. Of a shell's log (sojourn link --log), the
    links, their changes and the recorded packets at their times are simulated.

    The exit code is 1 if an expectation (--expect) is not met.

    `sojourn scenario schema` prints the JSON Schema of scenario files, for editors.
    """
    from sojourn.apps.cli import output
    from sojourn.base.progress import progress
    from sojourn.model.scenarios.advice import advice
    from sojourn.model.scenarios.scenario import Scenario
    from sojourn.studies.expectations import judge_run, read
    from sojourn.studies.runs.runner import Run, run_all
    from sojourn.studies.sentences import Vocabulary

    if scenario.is_dir():
        parsed = _of_result(scenario, options.changes(sets), seed)
    else:
        parsed = Scenario.load(scenario, options.changes(sets), seed=seed)
    seed = parsed.seed if seed is None else seed
    live_options = {"name": name, "meter": meter, "pcap": pcap}
    _check_live_options({"enter": enter, **live_options}, engine)
    if expect and enter is not None:
        raise click.UsageError("--expect: with --enter no result is kept; leave one of them out")
    expected = read(expect, Vocabulary([parsed]), 1)
    if enter is not None:
        _enter(parsed, seed, enter, live_options)
    if qlog is not None:
        parsed = _with_senders(parsed, qlog, engine)
    if any(value is not None for value in live_options.values()):
        result = _run_live(parsed, seed, live_options, out)
    else:
        with progress() as report:
            [result] = run_all([Run(parsed, seed, engine)], out, command=options.command_line(), progress=report)
    files = _write_qlog(result, qlog) if qlog is not None else []
    judgements = judge_run(expected, result)
    warnings = advice([parsed])
    options.warn(warnings)
    failure = 0 if all(judged.is_met for judged in judgements) else 1
    if as_json:
        about: dict[str, Any] = {"engine": result.engine, "scenario": parsed.document, "warnings": warnings}
        if qlog is not None:
            about["qlog"] = [str(file) for file in files]
        if judgements:
            about["expected"] = [judged.record for judged in judgements]
        output.print_json(output.result_json(result) | about)
        ctx.exit(failure)
    _print(result, f"{parsed.name or scenario.stem}, seed {result.seed}", parsed)
    if files:
        output.print_note(f"qlog: {files[0].parent}, {len(files)} sender{'s' if len(files) > 1 else ''}")
    output.print_judgements(judgements)
    ctx.exit(failure)


def _of_result(folder: Path, changes: Mapping[str, object], seed: int | None) -> Scenario:
    """Scenario of a stored result, with other values of some keys."""
    from sojourn.base.errors import InputError
    from sojourn.engines.emulated.rerun import rerun_scenario
    from sojourn.studies.runs.store import load

    result = load(folder)
    if result.is_log:
        raise InputError(f"{folder}: a packet log has no scenario; give a scenario file, or the folder of a run")
    parsed = rerun_scenario(result) if result.is_shell else result.scenario
    return parsed.replace({"seed": result.seed if seed is None else seed, **changes})


def _print(result: Result, title: str, given: Scenario) -> None:
    """Print the result of a run of the scenario `given`."""
    from sojourn import engines
    from sojourn.apps.cli import output
    from sojourn.model.analysis.applications import applications
    from sojourn.model.analysis.fairness import fairness
    from sojourn.model.analysis.warmup import warmup_sentence

    output.summary_table(_with_queues(result), ["link"], title=title, most=output.LONG)
    output.traffic_table(result)
    # Avoids -0.0 without flows.
    goodput, delivered = (result.totals[key] + 0.0 for key in ("goodput_bps", "delivered_bps"))
    unit, bits = ("Mbit/s", 1e6) if not 0 < goodput < 1e5 else ("kbit/s", 1e3)
    output.print_note(
        f"Goodput {goodput / bits:.2f} {unit} (delivered in order: {delivered / bits:.2f}), "
        f"Jain index {fairness(result.totals)}, fingerprint {result.fingerprint}"
    )
    for sentence in filter(None, (*applications(result.totals), warmup_sentence(result))):
        output.print_note(sentence)
    if result.engine != engines.SIMULATE:
        output.print_note(f"Engine: {result.engine}")
    for fault in result.totals.get("emulation", {}).get("faults", []):
        echo(f"not faithful: {fault}", err=True)
    if result.scenario != given:
        output.print_note("Changed during the run; the result's scenario has the changes in [[changes]]")
    output.print_note(f"Results: {result.folder}")


def _with_queues(result: Result) -> list[dict[str, Any]]:
    """The links, each followed by the queues within its qdisc, if it has several."""
    rows = {link["link"]: [link] for link in result.link_rows}
    for queue in result.queue_rows:
        rows[queue["link"]].append({**queue, "link": f"{queue['link']}: {queue['queue']}"})
    return [row for own in rows.values() for row in own]


def _check_live_options(live_options: dict[str, Any], engine: str) -> None:
    """Raise `InputError` for options that need real time."""
    from sojourn import engines
    from sojourn.base.errors import InputError

    option = next((option for option, value in live_options.items() if value is not None), None)
    if option is not None and engine != engines.EMULATE:
        raise InputError(f"--{option}: needs a run in real time; add --engine emulate")


def _enter(scenario: Scenario, seed: int, node: str, live_options: dict[str, Any]) -> NoReturn:
    """Open the user's shell in a node, and exit with its exit code."""
    from sojourn.engines.emulated.node_shell import enter
    from sojourn.engines.emulated.topology import LiveOptions

    code = enter(scenario, seed, node, LiveOptions(**live_options))
    sys.exit(code if code >= 0 else 128 - code)


def _run_live(scenario: Scenario, seed: int, live_options: dict[str, Any], root: Path) -> Result:
    """Emulate a scenario, even if a result exists; the live view replaces the progress bar."""
    from sojourn.base.files import check_writable
    from sojourn.base.progress import progress
    from sojourn.engines.emulated import engine
    from sojourn.engines.emulated.topology import LiveOptions
    from sojourn.studies.runs import store

    check_writable(root)
    if live_options["meter"] is not None:
        result = engine.run(scenario, seed, None, LiveOptions(**live_options))
    else:
        with progress() as report:
            result = engine.run(scenario, seed, lambda share: report(share, 0, 1), LiveOptions(**live_options))
    return store.save(result, root, options.command_line())


def _with_senders(scenario: Scenario, folder: Path, engine: str) -> Scenario:
    """Return the scenario with the probe that qlog needs; raises `InputError` if no files can be made."""
    from sojourn import engines
    from sojourn.base.errors import InputError
    from sojourn.io.qlog.files import check

    if engine != engines.SIMULATE:
        raise InputError(f"--qlog: the engine {engine} does not record senders; leave it out, or simulate")
    check(folder)
    return scenario.replace({"probes.senders": True})


def _write_qlog(result: Result, folder: Path) -> list[Path]:
    from sojourn.base.progress import progress
    from sojourn.io.qlog.files import write

    assert result.folder is not None
    with progress("folders of qlog") as report:
        return write(result, folder, name=result.folder.name, progress=report)
