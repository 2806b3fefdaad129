"""Reference pages generated from the program: one per command, and one for the public Python names."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import click

import sojourn
from sojourn.apps.cli import COMMANDS, cli
from sojourn.engines.emulated.command import SHELLS

WIDTH = 100


@cache
def reference_pages() -> list[tuple[str, str]]:
    """Return path in the site and Markdown of the pages."""
    top = context(cli, "sojourn")
    commands = [(f"cli/{name}.md", "\n\n".join(command(find(cli, name, top), 1))) for name in COMMANDS]
    shells = [(f"cli/{name}.md", shell(name)) for name in SHELLS]
    return [("cli/README.md", overview()), *commands, *shells, ("api.md", names())]


def overview() -> str:
    """Return the page that lists the commands."""
    abouts = {name: about for name, (_, about) in COMMANDS.items()} | SHELLS
    rows = [f"| [`sojourn {name}`]({name}.md) | {prose(about)} |" for name, about in abouts.items()]
    shells = ", ".join(f"`{name}`" for name in SHELLS)
    head = f"Output of `--help` for each command. On Linux, {shells} run real programs."
    return "\n".join(["# Command line", "", head, "", "| command | what it does |", "|---|---|", *rows, ""])


def context(of: click.Command, name: str, parent: click.Context | None = None) -> click.Context:
    """Return the click context of a command."""
    return click.Context(of, info_name=name, parent=parent, **of.context_settings)


def find(group: click.Group, name: str, parent: click.Context) -> click.Context:
    """Return the context of a command of a group."""
    found = group.get_command(parent, name)
    assert found is not None  # listed by the group
    return context(found, name, parent)


def command(at: click.Context, level: int) -> Iterator[str]:
    """Yield the blocks of a command's help, including those of a group's commands."""
    it = at.command
    yield f"{'#' * level} {at.command_path}"
    yield fenced("text", " ".join([at.command_path, *it.collect_usage_pieces(at)]))
    yield from map(prose, paragraphs(it.help))
    options = [
        record for each in it.params if each.param_type_name == "option" and (record := each.get_help_record(at))
    ]
    if options:
        rows = [f"| `{words}` | {prose(about)} |" for words, about in options]
        yield "\n".join(["| option | meaning |", "|---|---|", *rows])
    if isinstance(it, click.Group):
        for name in it.list_commands(at):
            yield from command(find(it, name, at), level + 1)


def shell(name: str) -> str:
    """Return the page of a command that runs programs, from the core's help."""
    ran = subprocess.run([sys.executable, "-m", "sojourn", name, "--help"], capture_output=True, text=True, timeout=60)
    shown = ran.stdout or ran.stderr  # standard error if there is no emulator
    return f"# sojourn {name}\n\n{prose(SHELLS[name])}\n\n{fenced('text', shown.strip())}\n"


def names() -> str:
    """Return the page of the public names of `sojourn`."""
    blocks = [
        "# Python",
        "The public names of `sojourn`, commonly imported by `import sojourn as sj`. Queue managers are classes, too: "
        "`sj.Codel`, `sj.Pie` and so on, with the parameters of [their pages](aqm/README.md) as keywords.",
    ]
    for name in sojourn.__all__:
        blocks += public(name, getattr(sojourn, name))
    return "\n\n".join(blocks) + "\n"


def public(name: str, it: Any) -> Iterator[str]:
    """Yield the blocks of a public name."""
    yield f"## {name}"
    if not (inspect.isclass(it) and issubclass(it, Exception)):
        yield fenced("python", signature(f"sojourn.{name}", it))
    yield from map(prose, paragraphs(it.__doc__)[:1])
    if inspect.isclass(it):
        rows = [row for key, member in vars(it).items() if not key.startswith("_") and (row := member_row(key, member))]
        if rows:
            yield "\n".join(["| member | meaning |", "|---|---|", *rows])


def member_row(name: str, member: Any) -> str | None:
    """Return the row of a method or property; None for a field, which the signature has."""
    it = getattr(member, "__func__", getattr(member, "func", member))  # class method, cached property
    about = paragraphs(it.__doc__)[:1]
    if not about or not (inspect.isroutine(it) or isinstance(it, property)):
        return None
    call = "()" if inspect.isroutine(it) and it is not getattr(member, "func", None) else ""
    return f"| `{name}{call}` | {prose(about[0])} |"


class Plain(str):
    """A string with a `repr` without quotes."""

    __repr__ = str.__str__


def signature(name: str, it: Any) -> str:
    """Return the signature of a function or class, over several lines if long."""
    whole = inspect.signature(it)
    parts: list[str] = []
    for each in whole.parameters.values():
        if each.kind is each.KEYWORD_ONLY and not any(part.startswith("*") for part in parts):
            parts.append("*")
        default = (
            Plain("...") if repr(each.default).startswith("<") and each.default is not each.empty else each.default
        )
        parts.append(str(each.replace(annotation=plain(each.annotation), default=default)))
    result = "" if whole.return_annotation is whole.empty else f" -> {plain(whole.return_annotation)}"
    line = f"{name}({', '.join(parts)}){result}"
    return line if len(line) <= WIDTH else f"{name}(\n    " + ",\n    ".join(parts) + f",\n){result}"


def plain(annotation: Any) -> Any:
    """Return an annotation without quotes."""
    return Plain(annotation) if isinstance(annotation, str) else annotation


def paragraphs(text: str | None) -> list[str]:
    """Return the paragraphs of a help text or docstring, each as one line."""
    return [" ".join(block.split()) for block in inspect.cleandoc(text or "").split("\n\n") if block.strip()]


def prose(text: str) -> str:
    """Escape a text for Markdown; text in backticks stays code."""
    return re.sub(
        r"(`[^`]*`)|([*_\[\]|\\])|<", lambda found: found[1] or (f"\\{found[2]}" if found[2] else "&lt;"), text
    )


def fenced(language: str, text: str) -> str:
    """Return a block of code."""
    return f"```{language}\n{text}\n```"
