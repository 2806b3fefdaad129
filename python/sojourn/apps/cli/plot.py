"""`sojourn plot`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from sojourn.apps.cli import names, options
from sojourn.apps.cli.figures import FigureArgs, figure_options
from sojourn.figures import KINDS, OPTIONS

KIND_LIST = "\n\n".join(f"{name}: {kind.about}" for name, kind in KINDS.items())


def kind_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of all figure kinds, each with the kinds that use it."""
    for name, option in reversed(OPTIONS.items()):
        takers = ", ".join(taker for taker, kind in KINDS.items() if name in kind.options)
        text = f"For {takers}: {option.help}."
        command = click.option(f"--{name}", f"option_{name}", metavar=option.metavar, help=text)(command)
    return command


@click.command(
    "plot",
    help=f"Draw results. RESULT is a result folder, a folder that holds several, a log, a capture, or "
    f"measurements: a data file of Flent, or a log of iperf3, irtt, ping, cake-autorate or G-NetTrack.\n\n{KIND_LIST}",
)
@click.argument("kind", shell_complete=names.FIGURES)
@click.argument("results", nargs=-1, required=True, type=options.PATH)
@click.option(
    "-o",
    "--output",
    "file",
    type=options.NEW_FILE,
    metavar="FILE",
    help="File to write: PNG, SVG, PDF or PGF, or CSV or JSON for the plotted data [KIND.png].",
)
@click.option("--link", metavar="LINK", help="Link to draw, by its name in the table of links [the first one].")
@kind_options
@figure_options
@options.as_json
def command(
    kind: str,
    results: tuple[Path, ...],
    file: Path | None,
    link: str | None,
    wanted: FigureArgs,
    as_json: bool,
    **given: str | None,
) -> None:
    """Draw a figure; the help text is generated from the registry of figure kinds."""
    from sojourn import figures
    from sojourn.base.errors import InputError, known_name
    from sojourn.figures.api import draw
    from sojourn.io.measured.files import is_measured, load_measured
    from sojourn.io.pcap.capture import is_capture
    from sojourn.model.analysis.labels import names_of
    from sojourn.studies.runs.store import load_all

    chosen = {name: text for name in OPTIONS if (text := given[f"option_{name}"]) is not None}
    kind = known_name("figure kind", kind, KINDS)
    drawer = figures.kind(kind, chosen)  # errors are reported before anything is read
    target = file or Path(f"{kind}{wanted.suffix}")
    wanted.check(target)
    captures = [path for path in results if is_capture(path)]
    if captures:
        if len(captures) < len(results) or link is not None:
            raise InputError(
                f"{captures[0]}: a capture is drawn beside captures only, and has no link; draw them separately"
            )
        from sojourn.io.pcap import figures as of_captures

        drawn, notes = of_captures.draw(kind, captures, getattr(drawer, "keywords", {}), wanted.look)
        wanted.write(drawn.figure, target, notes, {"captures": [str(path) for path in captures]}, as_json)
        return
    files = [path for path in results if is_measured(path)]
    if files:
        if link is not None:
            raise InputError("--link: measurements have no links; leave it out")
        from sojourn.io.flent import figures as of_flent

        measured = {path: load_measured(path) for path in files}
        options.warn([f"{path}: {note}" for path, (_, told) in measured.items() for note in told])
        rest = load_all([path for path in results if path not in files])
        data = {path: one for path, (one, _) in measured.items()}
        drawn, notes = of_flent.draw(kind, data, rest, getattr(drawer, "keywords", {}), wanted.look)
        wanted.write(drawn.figure, target, notes, {"results": [str(path) for path in results]}, as_json)
        return
    loaded = load_all(list(results))
    loaded = [one for result in loaded for one in (result.directions if link is None else [result.at(link)])]
    drawn, notes = draw(kind, loaded, names_of(loaded), look=wanted.look, options=chosen)
    folders = list(dict.fromkeys(str(result.folder) for result in loaded))
    wanted.write(drawn.figure, target, notes, {"results": folders}, as_json)
