"""`sojourn plot`."""

from __future__ import annotations

from pathlib import Path

import click

from sojourn.cli import options
from sojourn.plots import KINDS

KIND_LIST = "\n\n".join(f"{name}: {about}" for name, (_, about) in KINDS.items())


@click.command("plot", help=f"Draw results, given by their folders (or by a folder that holds several).\n\n{KIND_LIST}")
@click.argument("kind")
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", "file", type=click.Path(path_type=Path), metavar="FILE", help="PNG, SVG or PDF [KIND.png]."
)
@click.option("--variables", metavar="A,B,…", help="State variables, for the kind state [those that tell most].")
@options.as_json
def command(kind: str, results: tuple[Path, ...], file: Path | None, variables: str | None, as_json: bool) -> None:
    """Draw a figure; the help text is made from the registry of figure kinds."""
    from sojourn import plots
    from sojourn.cli import output
    from sojourn.labels import label_results
    from sojourn.plots.canvas import figure_format, new_figure, save, style
    from sojourn.store import load_all

    draw = plots.kind(kind)
    if variables is not None:
        draw = plots.with_variables(kind, [name.strip() for name in variables.split(",")])
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
        click.echo(f"Figure: {target}")
