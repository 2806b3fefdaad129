"""`sojourn rehearse`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sojourn.apps.cli import options
from sojourn.apps.cli.figures import FigureArgs, figure_options

if TYPE_CHECKING:
    from sojourn.model.scenarios.scenario import Scenario


@click.command("rehearse")
@click.argument("file", type=options.PATH, metavar="SCENARIO")
@click.option(
    "--change",
    "changes",
    required=True,
    multiple=True,
    metavar="[down:|up:]WORDS|KEY=VALUE",
    help='Change to make: words of the queue manager ("target 10ms"), another one at its rate ("fq_codel"), '
    'or a key of the scenario (link.rate=20mbit); "up:cake" changes only that direction. May be repeated.',
)
@click.option(
    "--direction",
    type=options.Word(["both", "forward", "reverse"]),
    default="both",
    show_default=True,
    help="Direction of changes without their own: to the home (forward), from it (reverse), or both.",
)
@options.sets
@click.option("--seeds", type=click.IntRange(min=1), metavar="N", default=5, show_default=True, help="Number of seeds.")
@click.option("--plot", type=options.NEW_FILE, metavar="FILE", help="File for the figure [in DIR].")
@figure_options
@options.of_study
def command(
    file: Path,
    changes: tuple[str, ...],
    direction: str,
    sets: tuple[str, ...],
    seeds: int,
    plot: Path | None,
    wanted: FigureArgs,
    jobs: int | None,
    out: Path,
    as_json: bool,
) -> None:
    """Show the effect of a change on calls, games, pages and bulk: SCENARIO before and after, with the same seeds.

    For calls and games the worse direction counts. Each difference has the half width of its 95 % confidence interval
    over the seeds, and whether it is significant. Each sentence names the rates, the hosts, and the lines assumed
    behind a shaper, or says why it has no number. The figure has the sojourn times of both, in the link's forward
    direction, or in the reverse one if only that is changed.
    """
    from sojourn.apps.cli import output
    from sojourn.base.progress import progress
    from sojourn.figures.api import draw
    from sojourn.model.analysis.labels import Name
    from sojourn.model.scenarios.scenario import Scenario
    from sojourn.studies.change import LINKS
    from sojourn.studies.rehearsal import rehearse
    from sojourn.studies.runs.runner import Runner

    wanted.check(plot)
    scenario = Scenario.load(file, options.changes(sets))
    directions = list(LINKS) if direction == "both" else [direction]
    with progress() as report:
        runner = Runner(out, jobs, command=options.command_line(), progress=report)
        found = rehearse(scenario, changes, directions, range(1, seeds + 1), runner)
    moved = next(
        link_direction
        for link_direction in (*directions, "forward")
        if _differs(found.before, found.after, LINKS[link_direction]) or link_direction == "forward"
    )
    before, after = ([result.at(moved) for result in results] for results in found.results)
    target = plot or out / f"rehearse-{file.stem}{wanted.suffix}"
    names = [*(Name("before") for _ in before), *(Name("after") for _ in after)]
    drawn, notes = draw("ccdf", [*before, *after], names, look=wanted.look)
    wanted.save(drawn.figure, target)
    if as_json:
        numbers = [
            {
                "about": one.about,
                "name": one.name,
                "unit": one.unit or None,
                "before": one.before,
                "after": one.after,
                "difference": one.paired.difference,
                "ci95": one.paired.ci95,
                "significant": one.paired.significant,
            }
            for one in found.numbers
        ]
        output.print_json(
            {
                "changes": list(changes),
                "seeds": seeds,
                "sentences": found.sentences,
                "numbers": numbers,
                "figure": str(target),
            }
        )
        return
    for sentence in found.sentences:
        output.print_note(sentence)
    output.print_note(f"Figure: {target}")
    for note in notes:
        output.print_note(f"Note: {note}")
    output.print_note(f"Results: {out}")


def _differs(before: Scenario, after: Scenario, link: str) -> bool:
    return bool(before.document.get(link) != after.document.get(link))
