"""`sojourn qoo`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sojourn.apps.cli import options

if TYPE_CHECKING:
    from sojourn.model.analysis.outcome import App, Outcome
    from sojourn.model.results.result import Result


@click.command("qoo")
@click.argument("results", nargs=-1, required=True, type=options.PATH, metavar="RESULT...")
@click.option(
    "--app",
    "names",
    multiple=True,
    metavar="NAME",
    help="Application: web, video, video-call, audio, ... [all of them].",
)
@click.option(
    "--requirements",
    multiple=True,
    type=options.PATH,
    metavar="FILE",
    help="TOML file with the requirements of an application; repeatable.",
)
@click.option(
    "--flows",
    "group",
    type=int,
    default=0,
    show_default=True,
    metavar="N",
    help="Flow group whose path is rated: flows[N].",
)
@options.tables
@options.as_json
def command(
    results: tuple[Path, ...], names: tuple[str, ...], requirements: tuple[Path, ...], group: int, as_json: bool
) -> None:
    """Print the Quality of Outcome of RESULT: the effect of latency and loss on applications, from 0 to 100.

    RESULT is a result folder, a folder that holds several, or the output of `sojourn link --log`, with both directions
    of its link as the path. The round-trip time is that of propagation and of all queues on the path in both
    directions.
    """
    from sojourn.apps.cli import output
    from sojourn.model.analysis.labels import names_of
    from sojourn.model.analysis.outcome import outcome
    from sojourn.studies.runs.store import load_all

    apps = _apps(names, requirements)
    loaded = load_all(list(results))
    names_of_runs = map(str, names_of(loaded))
    found = [
        (name, result, outcome(app, result, group))
        for name, result in zip(names_of_runs, loaded, strict=True)
        for app in apps
    ]
    if as_json:
        output.print_json({"flows": group, "outcomes": [_json(name, result, one) for name, result, one in found]})
        return
    rows = [_row(name, result, one) for name, result, one in found]
    numbers = ["QoO", "latency\nscore", "loss\nscore", "RTT\nms", "percentile\n%", "loss\n%"]
    shells = [result.is_shell for result in loaded]
    path_text = " or ".join([*(["down and up"] if any(shells) else []), *([] if all(shells) else [f"flows[{group}]"])])
    output.print_table(["run", "seed", "application", *numbers], rows, left=3, title=f"Quality of Outcome, {path_text}")


def _apps(names: tuple[str, ...], files: tuple[Path, ...]) -> list[App]:
    """The requested applications; by default all known ones."""
    from sojourn.base.errors import unknown
    from sojourn.base.inputs import parse_toml, read_text
    from sojourn.model.analysis.outcome import APPS, read_app

    for name in names:
        if name not in APPS:
            raise unknown("application", name, list(APPS))
    own = [read_app(parse_toml(read_text(file)), str(file)) for file in files]
    known = names or (() if files else APPS)
    return [*(APPS[name] for name in known), *own]


def _row(name: str, result: Result, one: Outcome) -> list[str]:
    """A row of the table; of several percentiles the one with the minimum score."""
    percent, at_ms, score = min(one.latency, key=lambda latency: latency[2])
    numbers = [f"{one.score:.1f}", f"{score:.1f}", f"{one.loss_score:.1f}", f"{at_ms:.1f}", f"{percent:g}"]
    return [name, str(result.seed), one.app.name, *numbers, f"{100 * one.loss:.3f}"]


def _json(name: str, result: Result, one: Outcome) -> dict[str, Any]:
    wanted = dict(one.app.latency_ms)
    latency = [
        {
            "percentile": percent,
            "rtt_ms": at_ms,
            "optimal_ms": wanted[percent].optimal,
            "unacceptable_ms": wanted[percent].unacceptable,
            "score": score,
        }
        for percent, at_ms, score in one.latency
    ]
    loss = {"share": one.loss, "optimal": one.app.loss.optimal, "unacceptable": one.app.loss.unacceptable}
    about = {"folder": str(result.folder), "run": name, "aqm": result.scenario.aqm, "seed": result.seed}
    return {
        **about,
        "app": one.app.name,
        "qoo": one.score,
        "latency": latency,
        "loss": {**loss, "score": one.loss_score},
    }
