"""Manual pages of the command line, generated from the program: `make man`.

`sojourn.1` lists the commands; each has a page, which includes the commands of a group.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from textwrap import wrap

import click

from reference import context, find, paragraphs
from sojourn._core import version
from sojourn.apps.cli import COMMANDS, cli
from sojourn.engines.emulated.command import SHELLS

EXIT_CODES = (
    ("0", "Success."),
    ("1", "A check failed, or a comparison differs."),
    ("2", "Invalid input; one line names the place and the remedy."),
    ("3", "The machine lacks something: a program, memory, disk space."),
    ("130", "Interrupted by Ctrl-C; finished runs are kept."),
    ("141", "The output was closed by its reader, as in | head."),
)


def main() -> None:
    """Write all pages into a folder."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages():
        (folder / name).write_text(text, encoding="utf-8")


def pages() -> Iterator[tuple[str, str]]:
    """Yield name and text of each page."""
    top = context(cli, "sojourn")
    abouts = {name: about for name, (_, about) in COMMANDS.items()}
    yield "sojourn.1", page("sojourn", "queue managers simulated, emulated and checked", overview(top, abouts | SHELLS))
    for name, about in abouts.items():
        yield f"sojourn-{name}.1", page(f"sojourn-{name}", about, command(find(cli, name, top)))
    for name, about in SHELLS.items():
        yield f"sojourn-{name}.1", page(f"sojourn-{name}", about, shell(name))


def page(name: str, about: str, lines: Iterator[str]) -> str:
    """Return a page with header and footer."""
    head = f'.TH {quoted(name.upper())} 1 "{day()}" "Sojourn {version()}" "Sojourn"'
    short = about[:1].lower() + about[1:].rstrip(".")
    seen = ["sojourn (1)"] if name != "sojourn" else [f"sojourn-{one} (1)" for one in COMMANDS]
    others = [f".BR {escaped(one)}{'' if one is seen[-1] else ' ,'}" for one in seen]
    return "\n".join([head, ".SH NAME", f"{escaped(name)} \\- {escaped(short)}", *lines, ".SH SEE ALSO", *others, ""])


def overview(top: click.Context, abouts: dict[str, str]) -> Iterator[str]:
    """Yield the page of the program."""
    yield from synopsis(top)
    yield ".SH DESCRIPTION"
    yield from text(paragraphs(cli.help)[0])
    yield ".SH COMMANDS"
    for name, about in abouts.items():
        yield from item(f"sojourn-{name}(1)", about)
    yield ".SH EXIT STATUS"
    for code, meaning in EXIT_CODES:
        yield from item(code, meaning)


def command(at: click.Context) -> Iterator[str]:
    """Yield the page of a command; a group has a section per command."""
    yield from synopsis(at)
    yield ".SH DESCRIPTION"
    yield from described(at)
    if options := records(at):
        yield ".SH OPTIONS"
        yield from options
    if isinstance(at.command, click.Group):
        yield ".SH COMMANDS"
        for name in at.command.list_commands(at):
            inside = find(at.command, name, at)
            yield f".SS {quoted(' '.join([inside.command_path, *inside.command.collect_usage_pieces(inside)]))}"
            yield from described(inside)
            yield from records(inside)


def shell(name: str) -> Iterator[str]:
    """Yield the page of a command that runs programs, from the core's help."""
    ran = subprocess.run([sys.executable, "-m", "sojourn", name, "--help"], capture_output=True, text=True, timeout=60)
    yield ".SH DESCRIPTION"
    yield from text(SHELLS[name])
    yield from (".PP", ".nf")
    yield from (escaped(line) if line.strip() else ".sp" for line in (ran.stdout or ran.stderr).strip().splitlines())
    yield ".fi"


def synopsis(at: click.Context) -> Iterator[str]:
    """Yield the synopsis of a command."""
    yield ".SH SYNOPSIS"
    pieces = " ".join(at.command.collect_usage_pieces(at))
    yield f".B {escaped(at.command_path)}"
    if pieces:
        yield escaped(pieces)


def described(at: click.Context) -> Iterator[str]:
    """Yield a command's help text."""
    for number, paragraph in enumerate(paragraphs(at.command.help)):
        if number:
            yield ".PP"
        yield from text(paragraph)


def records(at: click.Context) -> list[str]:
    """Return a command's options."""
    params = [param for param in at.command.get_params(at) if param.param_type_name == "option"]
    shown = [record for param in params if (record := param.get_help_record(at))]
    return [line for words, about in shown for line in item(words, about)]


def item(term: str, about: str) -> Iterator[str]:
    """Yield an entry of a list."""
    yield ".TP"
    yield f".B {escaped(term)}"
    yield from text(" ".join(about.split()))


def text(words: str) -> Iterator[str]:
    """Yield prose, one sentence per line; text in backticks is bold."""
    for sentence in re.split(r"(?<=[.;:]) (?=[A-Z`\"])", words):
        parts = re.split(r"`([^`]*)`", sentence)
        shown = [f"\\fB{escaped(part)}\\fR" if place % 2 else escaped(part) for place, part in enumerate(parts)]
        for line in wrap("".join(shown), 79, break_long_words=False, break_on_hyphens=False):
            yield f"\\&{line}" if line.startswith((".", "'")) else line


def escaped(words: str) -> str:
    """Escape text for roff."""
    shown = (
        words.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha").replace("`", "\\(ga")
    )
    return f"\\&{shown}" if shown.startswith((".", "'")) else shown


def quoted(words: str) -> str:
    """Quote text as one argument of a macro."""
    return '"' + escaped(words).replace('"', "\\(dq") + '"'


def day() -> str:
    """Date of the pages, from SOURCE_DATE_EPOCH or today."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    when = datetime.fromtimestamp(int(epoch), timezone.utc) if epoch else datetime.now(timezone.utc)
    return when.strftime("%Y-%m-%d")


if __name__ == "__main__":
    main()
