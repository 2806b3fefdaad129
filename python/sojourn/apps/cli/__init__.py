"""The command line. Only click is loaded to show help; a command's module is imported when the command runs.

A new command is a file in this folder and a line in `COMMANDS`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from io import StringIO
from typing import Any, ClassVar

import click
from click.shell_completion import CompletionItem

from sojourn.apps.cli.groups import Group
from sojourn.apps.cli.terminal import ignored_in_a_line, printable
from sojourn.engines.emulated.command import SHELLS

COMMANDS = {
    "init": ("sojourn.apps.cli.init", "Write a first scenario."),
    "example": ("sojourn.apps.cli.example", "List the scenarios that come with Sojourn; copy one."),
    "run": ("sojourn.apps.cli.run", "Run one scenario file."),
    "compare": ("sojourn.apps.cli.compare", "Send the same traffic through several queue managers."),
    "rehearse": (
        "sojourn.apps.cli.rehearse",
        "Predict what a change does to calls, games, web pages and bulk transfers.",
    ),
    "sweep": ("sojourn.apps.cli.sweep", "Run a study: a scenario with lists of values and seeds."),
    "lab": ("sojourn.apps.cli.lab", "Show the simulator in the browser: queues packet by packet."),
    "plot": ("sojourn.apps.cli.plot", "Draw a figure from stored results."),
    "qoo": ("sojourn.apps.cli.qoo", "Rate stored results by Quality of Outcome: latency and loss per application."),
    "fit": ("sojourn.apps.cli.fit", "Fit keys of a scenario to measured numbers."),
    "hunt": ("sojourn.apps.cli.hunt", "Search for a scenario that satisfies a condition."),
    "gate": ("sojourn.apps.cli.gate", "Guard a queue manager, control or transport stack in CI: budgets, regressions."),
    "net": ("sojourn.apps.cli.net", "Check programs that run simulated networks in their tests."),
    "reproduce": ("sojourn.apps.cli.reproduce", "Reproduce published results and judge their claims."),
    "score": ("sojourn.apps.cli.score", "Characterise queue managers: tests of RFC 7928, graded."),
    "aqm": ("sojourn.apps.cli.aqm", "List the queue managers, show their parameters, compare two packet by packet."),
    "cc": ("sojourn.apps.cli.cc", "List the congestion controls, show their parameters and constants."),
    "trace": ("sojourn.apps.cli.trace", "Measure, convert, generate and draw traces of delivery opportunities."),
    "pcap": ("sojourn.apps.cli.pcap", "Write captures from results; measure RTT and goodput in captures."),
    "log": ("sojourn.apps.cli.log", "Convert logs: Mahimahi's, ns-2's, and those of results."),
    "import": ("sojourn.apps.cli.importing", "Create scenarios from a router's queues (tc, sqm) and from captures."),
    "flent": ("sojourn.apps.cli.flent", "Write results as data files of Flent, and inspect such files."),
    "web": ("sojourn.apps.cli.web", "Record web pages, replay them behind links, load them in a browser."),
    "doctor": ("sojourn.apps.cli.doctor", "Check what this machine can emulate faithfully."),
    "kernel": ("sojourn.apps.cli.kernel", "Build the real Linux kernel in simulated time; compare with its queues."),
    "ns2": ("sojourn.apps.cli.ns2", "Translate scenarios for ns-2; build our queue managers for it."),
    "scenario": ("sojourn.apps.cli.scenario", "Tools for scenario files: JSON Schema, draws of a seed."),
    "completion": ("sojourn.apps.cli.completion", "Install the shell's completion: commands, options, names."),
}


PIPE = 141
"""Exit code if the reader of the output has closed it, as in `| head`: that of a program killed by SIGPIPE."""


class LazyGroup(Group):
    """A group that imports its commands on use, and converts their errors to exit codes in one place."""

    modules: ClassVar = {"labs": "the exercises of a course"}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import the module of a command."""
        if name not in COMMANDS:
            return None
        command: click.Command = import_module(COMMANDS[name][0]).command
        return command

    def other_commands(self) -> list[str]:
        """The emulator's shells."""
        return list(SHELLS)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete names of commands without importing them."""
        abouts = {name: about for name, (_, about) in COMMANDS.items()} | SHELLS
        found = [CompletionItem(name, help=about) for name, about in abouts.items() if name.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])
        with formatter.section("Emulation"):
            formatter.write_dl(list(SHELLS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; exit quietly if the reader closes its output."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            drop_output()
            sys.exit(PIPE)

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run and exit with the exit code."""
        with leaving():
            code = super().main(*args, **{**extra, "standalone_mode": False})
            sys.exit(code if isinstance(code, int) else 0)


@contextmanager
def leaving() -> Iterator[None]:
    """Exit the program at the end of the block, with the exit code for its outcome.

    Errors known to `errors.explain` show no traceback.
    """
    code: object = 0
    try:
        try:
            with ignored_in_a_line():
                yield
        except SystemExit as stop:
            code = stop.code
        if sys.stdout is not None:  # None if the caller closed it
            sys.stdout.flush()
    except BrokenPipeError:
        drop_output()
        code = PIPE
    except click.ClickException as error:
        text = StringIO()
        error.show(text)
        with suppress(OSError):
            click.echo(printable(text.getvalue()), err=True, nl=False)
        code = error.exit_code
    except BaseException as error:
        from sojourn.base.errors import explain

        known = explain(KeyboardInterrupt() if isinstance(error, click.Abort) else error)
        if known is None:
            raise
        code = known[0]
        with suppress(OSError):
            click.echo(f"Error: {printable(known[1])}", err=True)
    sys.exit(code if isinstance(code, int) else 0)


def drop_output() -> None:
    """Discard the remaining output."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    """Print the version of the core."""
    if wanted:
        from sojourn._core import version

        click.echo(f"sojourn {version()}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=print_version, help="Show the version."
)
def cli() -> None:
    """Simulate queue managers on networks, and check them against published results.

    Start with:  sojourn compare --aqm droptail,codel,pie
    """
