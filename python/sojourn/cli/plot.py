"""`sojourn plot`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from sojourn.cli import options
from sojourn.cli.terminal import echo
from sojourn.plots import KINDS, OPTIONS

KIND_LIST = "\n\n".join(f"{name}: {kind.about}" for name, kind in KINDS.items())


def kind_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of all figure kinds, each with the kinds that take it."""
    for name, option in reversed(OPTIONS.items()):
        takers = ", ".join(taker for taker, kind in KINDS.items() if name in kind.options)
        text = f"Of {takers}: {option.help}."
        command = click.option(f"--{name}", f"option_{name}", metavar=option.metavar, help=text)(command)
    return command


@click.command("plot", help=f"Draw results, given by their folders (or by a folder that holds several).\n\n{KIND_LIST}")
@click.argument("kind")
@click.argument("results", nargs=-1, required=True, type=options.PATH)
@click.option("-o", "--output", "file", type=options.PATH, metavar="FILE", help="PNG, SVG or PDF [KIND.png].")
@kind_options
@options.as_json
def command(kind: str, results: tuple[Path, ...], file: Path | None, as_json: bool, **given: str | None) -> None:
    """Draw a figure; the help text is made from the registry of figure kinds."""
    from sojourn import plots
    from sojourn.cli import output
    from sojourn.labels import label_results
    from sojourn.plots.canvas import figure_format, new_figure, save, style
    from sojourn.store import load_all

    chosen = {name: text for name in OPTIONS if (text := given[f"option_{name}"]) is not None}
    draw = plots.kind(kind, chosen)
    target = file or Path(f"{kind}.png")
    figure_format(target)
    loaded = load_all(list(results))
    with style():
        figure = new_figure()
        draw(loaded, label_results(loaded), figure)
    save(figure, target)
    if as_json:
        output.print_json({"figure": str(target), "results": [str(result.folder) for result in loaded]})
    else:
        echo(f"Figure: {target}")
