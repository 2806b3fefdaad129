"""Options common to several commands."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from sojourn.apps.cli.tables import FORMATS
from sojourn.apps.cli.terminal import echo
from sojourn.engines import ENGINES, SIMULATE


def _precision(ctx: click.Context, _param: click.Parameter, value: str | None) -> object:
    """Combine --until, --metric and --max-seeds into one value; the other two are parsed first."""
    metric, most = ctx.params.pop("metric", None), ctx.params.pop("most", None)
    if value is None:
        if metric or most:
            raise click.UsageError("--metric and --max-seeds need --until; write e.g. --until 5%")
        return None
    from sojourn.model.analysis.replicate import Precision

    given = {"metric": metric, "most": most}
    return Precision(percent(value, "5%"), **{key: one for key, one in given.items() if one is not None})


class _Path(click.Path):
    """Path of a file or folder; an empty one would mean the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Reject an empty path."""
        if value == "":
            self.fail("the name is empty; write e.g. results", param, ctx)
        return super().convert(value, param, ctx)


def _forbid_code(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted:
        from sojourn.model.aqms.loading import no_code

        ctx.with_resource(no_code())


class _NewFile(_Path):
    """A file to write. One missing folder is created; for more missing folders a terminal user is asked first."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Reject a path with more than one missing folder, unless the user confirms."""
        path: Path = super().convert(value, param, ctx)
        folder = path.parent
        if folder.parent.exists() or (ctx and ctx.resilient_parsing):
            return path
        is_interactive = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
        if not is_interactive or not click.confirm(f"No such folder: {folder}. Create it?", err=True):
            self.fail(f"no such folder {folder}; create it (mkdir -p), or choose another place", param, ctx)
        return path


class Word(click.Choice[str]):
    """A case-insensitive choice of words, with a suggestion for misspelled ones."""

    def __init__(self, choices: Sequence[str]) -> None:
        super().__init__(choices, case_sensitive=False)

    def get_invalid_choice_message(self, value: object, ctx: click.Context | None) -> str:
        """List the words, with the nearest one first."""
        from sojourn.base.errors import near_name

        parts = (super().get_invalid_choice_message(value, ctx), near_name(str(value), self.choices))
        return " ".join(filter(None, parts))


PATH = _Path(path_type=Path)
NEW_FILE = _NewFile(path_type=Path)
engine = click.option(
    "--engine",
    type=Word(list(ENGINES)),
    default=SIMULATE,
    show_default=True,
    help="Engine: the simulator, an emulated link with real programs (Linux), a real Linux kernel, 6.1, 6.12 or 7.3, "
    "in simulated time (sojourn kernel build), or ns-2 with its own queues or with those of Sojourn (sojourn "
    "ns2 build).",
)
sets = click.option(
    "--set", "sets", multiple=True, metavar="KEY=VALUE", help='Change a key, e.g. link.rate="20 Mbit/s".'
)
expect = click.option(
    "--expect",
    multiple=True,
    metavar="SENTENCE",
    help='Sentence that must be true, e.g. "p99(sojourn) < 50 ms"; otherwise the exit code is 1.',
)
seed = click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Seed [the scenario's].")
as_json = click.option("--json", "as_json", is_flag=True, help="Print only machine-readable JSON.")
no_code = click.option(
    "--no-code",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_forbid_code,
    help="Refuse queue managers in Python (x.py:X) and in shared libraries (x.so): do not run their code.",
)
jobs = click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Number of parallel runs [all cores].")
dask = click.option("--dask", metavar="ADDRESS", help="Run on a Dask cluster: the address of its scheduler.")
paired = click.option("--paired", metavar="AQM", help="Baseline queue manager of the table of differences [the first].")
warmup = click.option(
    "--warmup",
    metavar="TIME",
    help="Time left out of the statistics [for each load the latest that a queue manager and seed needs by MSER-5, or "
    'half of the run where one does not settle]. "auto" is the default, but refuses runs that do not settle.',
)
until = click.option(
    "--until",
    metavar="SHARE",
    callback=_precision,
    help="Add seeds until half of each 95 % confidence interval is below this share of its mean, e.g. 5%.",
)
metric = click.option(
    "--metric", metavar="NAME", is_eager=True, help="Metric that --until applies to [sojourn_mean_ms]."
)
max_seeds = click.option(
    "--max-seeds",
    "most",
    type=click.IntRange(min=2),
    metavar="N",
    is_eager=True,
    help="Upper limit on seeds for --until [100].",
)
out = click.option(
    "-o",
    "--output",
    "out",
    type=PATH,
    default=Path("results"),
    show_default=True,
    metavar="DIR",
    help="Folder of results; finished runs in it are not computed again.",
)


def of_study(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a command that does many runs and prints tables about them."""
    for option in (as_json, out, no_code, jobs, tables):
        command = option(command)
    return command


def percent(text: str, example: str) -> float:
    """Number before a percent sign; raises `BadParameter` with an example if invalid."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", text)
    if not match:
        raise click.BadParameter(f'"{text}" is not a share; write e.g. {example}')
    return float(match[1])


def changes(sets: Sequence[str]) -> dict[str, str]:
    """Keys and values of `--set`."""
    pairs = [_split(text) for text in sets]
    if len({key for key, _ in pairs}) < len(pairs):
        raise click.UsageError("--set: a key is set twice; leave one of them out")
    return dict(pairs)


def _split(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise click.BadParameter(f'"{text}" has no "="; write e.g. link.rate="20 Mbit/s"', param_hint="--set")
    return key.strip(), value.strip()


def queue_managers(text: str) -> list[str]:
    """Queue managers of a comma-separated list, also as `tc qdisc show` prints them; warns of unsupported parts."""
    from sojourn.io.tc.pasted import translate_pasted
    from sojourn.model.aqms.spelling import split_list

    spelled, notes = translate_pasted(split_list(text))
    warn(notes)
    return spelled


def is_given(name: str) -> bool:
    """Whether an option of the running command was given on the command line."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def warn(sentences: list[str]) -> None:
    """Print warnings on stderr."""
    for sentence in sentences:
        echo(f"Warning: {sentence}", err=True)


def warn_without_run(page: Path) -> None:
    """Warn that a page contains no run, if the page of the lab is not built, with the remedy."""
    from sojourn.papers.report.runnable import missing_reason

    if (why := missing_reason()) is not None:
        warn([f"{page}: {why}"])


def tables(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a command that prints tables; `output.emit` applies them."""

    @wraps(command)
    def with_tables(*args: Any, **arguments: Any) -> Any:
        from sojourn.apps.cli.output import WANTED, TableArgs

        forms = [form for form in FORMATS if arguments.pop(f"table_{form}")]
        if len(forms) + bool(arguments.get("as_json")) > 1:
            raise click.UsageError("--json, --markdown, --latex and --csv exclude each other; choose one")
        names = (name.strip() for name in (arguments.pop("table_columns") or "").split(","))
        columns = tuple(dict.fromkeys(filter(None, names)))
        wanted = TableArgs(columns, arguments.pop("table_sort") or "", forms[0] if forms else "")
        click.get_current_context().meta[WANTED] = wanted
        return command(*args, **arguments)

    for option in reversed(_TABLES):
        with_tables = option(with_tables)
    return with_tables


_TABLES = (
    click.option(
        "--columns",
        "table_columns",
        metavar="A,B,…",
        help="Columns to print, e.g. mean,p95; all prints every one [the usual ones].",
    ),
    click.option(
        "--sort", "table_sort", metavar="COLUMN", help="Sort rows by this column; -COLUMN puts the largest first."
    ),
    click.option("--markdown", "table_markdown", is_flag=True, help="Print only the tables, as Markdown."),
    click.option("--latex", "table_latex", is_flag=True, help="Print only the tables, as LaTeX (booktabs)."),
    click.option("--csv", "table_csv", is_flag=True, help="Print only the tables, as comma-separated values."),
)


def command_line() -> list[str]:
    """Command line as typed, for the manifest."""
    return ["sojourn", *sys.argv[1:]]


def quantity(option: str, text: str, reader: str) -> int:
    """Number of a quantity with its unit, parsed by a function of the core; errors name the option."""
    from sojourn import _core
    from sojourn.base.errors import InputError

    try:
        number: int = getattr(_core, reader)(text)
    except InputError as error:
        raise InputError(f"{option}: {error}") from None
    return number
