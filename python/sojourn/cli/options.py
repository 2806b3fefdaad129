"""Options that several commands share."""

from __future__ import annotations

import sys
from pathlib import Path

import click

as_json = click.option("--json", "as_json", is_flag=True, help="Print machine-readable JSON, and nothing else.")
jobs = click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Runs at the same time [all cores].")
out = click.option(
    "-o",
    "--output",
    "out",
    type=click.Path(path_type=Path),
    default=Path("results"),
    show_default=True,
    metavar="DIR",
    help="Folder of results; finished runs in it are not computed again.",
)


def command_line() -> list[str]:
    """Command line as typed, for the manifest."""
    return ["sojourn", *sys.argv[1:]]


def quantity(option: str, text: str, reader: str) -> int:
    """Number of a quantity with its unit, read by a function of the core; what is wrong with it names the option."""
    from sojourn import _core
    from sojourn.errors import InputError

    try:
        number: int = getattr(_core, reader)(text)
    except InputError as error:
        raise InputError(f"{option}: {error}") from None
    return number
