"""`python -m sojourn.labs`: lists the exercises, starts one, grades a solution."""

from __future__ import annotations

from pathlib import Path

import click

from sojourn.apps.cli import leaving
from sojourn.apps.labs.exercise import Exercise, exercise, exercises, spelled_keys
from sojourn.apps.labs.grade import grade
from sojourn.base.files import write_file
from sojourn.base.interrupt import stop_at_ctrl_c
from sojourn.model.scenarios.examples import refuse_existing


@click.command()
@click.argument("number", type=int, required=False)
@click.argument("solution", type=click.Path(path_type=Path), required=False)
@click.option(
    "--start",
    type=click.Path(path_type=Path),
    help="Write the starting scenario to a new file.",
)
def labs(number: int | None, solution: Path | None, start: Path | None) -> None:
    """Grade the SOLUTION, a scenario file, of the exercise NUMBER; exit with 1 if it misses a goal.

    Without SOLUTION, show the goals; without NUMBER, list the exercises.
    """
    if number is None:
        for one in exercises():
            click.echo(f"{one}  {exercise(one).title}")
    elif start is not None:
        text = exercise(number).start
        refuse_existing(start)
        write_file(start, lambda out: out.write(text.encode()))
        click.echo(f"Scenario: {start}")
    elif solution is None:
        show(exercise(number))
    else:
        about = exercise(number)
        grades = grade(about, about.accepted(solution))
        click.echo("\n".join(one.line for one in grades))
        if not all(one.is_reached for one in grades):
            raise SystemExit(1)


def show(about: Exercise) -> None:
    """Print the goals of an exercise and the free keys."""
    click.echo(f"{about.number}  {about.title}")
    for goal in about.goals:
        click.echo(f"goal: {goal}")
    for setting in filter(None, about.settings):
        click.echo(f"with: {spelled_keys(setting)}")
    click.echo(f"change: {', '.join(about.free)}{' (' + ', '.join(about.aqms) + ')' if about.aqms else ''}")


def main() -> None:
    """Run with the command line's error messages and exit codes."""
    with leaving():
        labs.main(prog_name="python -m sojourn.labs", standalone_mode=False)


if __name__ == "__main__":
    stop_at_ctrl_c()
    main()
