"""`sojourn completion`."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from sojourn.apps.cli import options
from sojourn.apps.cli.terminal import echo

PROGRAM = "sojourn"
VARIABLE = "_SOJOURN_COMPLETE"
"""Environment variable by which a shell queries the program, in click's form."""
SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=options.Word(SHELLS), required=False)
@click.option("--print", "only_print", is_flag=True, help="Print the script instead.")
@click.option("-o", "--output", "target", type=options.PATH, metavar="FILE", help="File to write [the shell's own].")
def command(shell: str | None, only_print: bool, target: Path | None) -> None:
    """Install completion for SHELL [the one of $SHELL]: commands, options, queue managers, figures, papers."""
    from sojourn.base.files import write_if_changed

    shell = shell or _own_shell()
    text = script(shell)
    if only_print:
        echo(text.rstrip("\n"))
        return
    file = target or place(shell)
    write_if_changed(file, lambda out: out.write(text.encode()))
    echo(f"Completion: {file}")
    if shell == "zsh" and target is None:
        echo(f"Put this into ~/.zshrc, if it is missing: fpath+=({file.parent}); autoload -Uz compinit && compinit")
    else:
        echo("It takes effect in new shells.")


def script(shell: str) -> str:
    """Completion script for a shell."""
    from sojourn.apps.cli import cli

    kind = get_completion_class(shell)
    assert kind is not None
    return kind(cli, {}, PROGRAM, VARIABLE).source()


def place(shell: str) -> Path:
    """Path where the shell looks for a user's completions."""
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    if shell == "bash":
        own = os.environ.get("BASH_COMPLETION_USER_DIR")
        return (Path(own) if own else data / "bash-completion") / "completions" / PROGRAM
    if shell == "fish":
        config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
        return config / "fish" / "completions" / f"{PROGRAM}.fish"
    return data / "zsh" / "site-functions" / f"_{PROGRAM}"


def _own_shell() -> str:
    name = Path(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        raise click.UsageError(f"no completion for {name or 'a shell without $SHELL'}; choose bash, zsh or fish")
    return name
