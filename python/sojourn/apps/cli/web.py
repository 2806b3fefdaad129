"""`sojourn web`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sojourn.apps.cli import options
from sojourn.apps.cli.groups import Group
from sojourn.apps.cli.terminal import echo

if TYPE_CHECKING:
    from sojourn.apps.web.proxy import Answer

PASSED_ON = {"ignore_unknown_options": True, "allow_interspersed_args": False}
"""Words after the first non-option belong to the command."""


@click.group("web", cls=Group)
def command() -> None:
    """Record web pages, replay them behind emulated links, and measure how long a browser takes to load them.

    record and replay need mitmproxy, load needs Chromium.
    """


@command.command("record", context_settings=PASSED_ON)
@click.argument("file", type=options.NEW_FILE, metavar="FILE")
@click.argument("words", nargs=-1, required=True, metavar="COMMAND...")
@options.as_json
def record_command(file: Path, words: Sequence[str], as_json: bool) -> None:
    """Run COMMAND with a proxy in its environment (http_proxy, https_proxy), and write its flows to FILE.

    FILE has the flows of mitmproxy. The exit code is the command's.
    """
    from sojourn.apps.cli import output
    from sojourn.apps.web.proxy import record

    code, answers = record(file, _command(words))
    if as_json:
        output.print_json({"file": str(file), "recorded": [answer._asdict() for answer in answers]})
    else:
        echo(f"{file}: {_counted(answers)}", err=True)
    sys.exit(code)


@command.command("replay", context_settings=PASSED_ON)
@click.argument("file", type=options.PATH, metavar="FILE")
@click.argument("words", nargs=-1, required=True, metavar="COMMAND...")
@options.as_json
def replay_command(file: Path, words: Sequence[str], as_json: bool) -> None:
    """Run COMMAND in a network of the hosts of a recording, which respond as recorded; all other hosts are refused.

    Links are shells that COMMAND starts: sojourn web replay FILE -- sojourn link --rate 10mbit -- sojourn web load URL.
    The exit code is the command's, or 1 if the command succeeds without a recorded response.
    """
    from sojourn.apps.cli import output
    from sojourn.apps.web.replay import replay

    found = replay(file, _command(words))
    missed = list(dict.fromkeys(answer.url for answer in found.requests if answer.made_up))
    left_out = [answer.url for answer in found.left_out]
    if as_json:
        answered = [answer._asdict() for answer in found.answered]
        output.print_json({"answered": answered, "missed": missed, "left_out": left_out, "refused": found.refused})
    else:
        echo(f"{file}: {_counted(found.answered)}", err=True)
        for label, texts in (
            ("not in the recording", missed),
            ("not replayed, as its host has no name", left_out),
            ("refused, as it is not in the recording", [f"{to} ({count})" for to, count in found.refused.items()]),
        ):
            for text in texts[:MAX_REPORTED]:
                echo(f"{label}: {text}", err=True)
            if len(texts) > MAX_REPORTED:
                echo(f"{label}: {len(texts) - MAX_REPORTED} more", err=True)
    sys.exit(found.code)


@command.command("load")
@click.argument("url", metavar="URL")
@click.option(
    "--runs", default=5, show_default=True, type=click.IntRange(1), help="Number of loads, each with an empty cache."
)
@click.option(
    "--longest",
    "longest_s",
    default=60.0,
    show_default=True,
    metavar="S",
    help="Maximum duration of a load, in seconds.",
)
@options.tables
@options.as_json
def load_command(url: str, runs: int, longest_s: float, as_json: bool) -> None:
    """Load a page in Chromium and print the loading times.

    Times count from the start of the navigation: to the event load, to DOMContentLoaded, to the first byte.
    """
    from statistics import median

    from sojourn.apps.cli import output
    from sojourn.apps.web.browser import PageLoad, load

    loaded = list(load(url, runs, longest_s=longest_s))
    middle = PageLoad(*(median(each) for each in zip(*loaded, strict=True)))
    if as_json:
        output.print_json({"url": url, "runs": [one._asdict() for one in loaded], "median": middle._asdict()})
        return
    names = [*map(str, range(1, runs + 1)), "median"]
    rows = [[name, *(f"{number:.0f}" for number in one)] for name, one in zip(names, [*loaded, middle], strict=True)]
    output.print_table(
        ["run", "load\nms", "ready\nms", "first byte\nms", "objects", "bytes", "failed"], rows, title=url
    )


def _command(words: Sequence[str]) -> Sequence[str]:
    """Strip the optional "--" before a command."""
    command = words[1:] if words[0] == "--" else words
    if not command:
        raise click.UsageError("the command is missing; write e.g. sojourn web load https://www.example.org/")
    return command


def _counted(answers: Sequence[Answer]) -> str:
    hosts = {answer.host for answer in answers}
    size = sum(answer.bytes for answer in answers)
    return f"{len(answers)} answers of {len(hosts)} hosts, {size / 1000:.0f} kB"


MAX_REPORTED = 5
