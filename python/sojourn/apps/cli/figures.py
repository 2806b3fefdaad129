"""Options common to all commands that draw a figure, and their handling."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sojourn.apps.cli import options
from sojourn.apps.cli.terminal import echo
from sojourn.figures import FORMATS, LEGENDS, PALETTES, PRESETS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.figures.look import Look


@dataclass(frozen=True)
class FigureArgs:
    """Appearance and format of figures, as requested by the user."""

    chosen: Mapping[str, Any]
    """Arguments of `Look.of`, as typed."""
    format: str | None

    @cached_property
    def look(self) -> Look:
        """Parsed appearance; matplotlib is loaded here."""
        from sojourn.figures.look import Look

        return Look.of(**self.chosen)

    @property
    def suffix(self) -> str:
        """Suffix of a figure that the user did not name."""
        return f".{self.format or 'png'}"

    def check(self, path: Path | None = None) -> None:
        """Raise `InputError` for invalid options, or a name with another format's suffix, before any work."""
        from sojourn.figures.canvas import figure_format

        _ = self.look
        if path:
            figure_format(path, self.format)

    def save(self, figure: Figure, path: Path) -> Path:
        """Write a figure."""
        from sojourn.figures.canvas import save

        return save(figure, path, self.format)

    def write(self, figure: Figure, path: Path, notes: Sequence[str], about: dict[str, Any], as_json: bool) -> None:
        """Write a figure and print its path, with the notes that it omits."""
        from sojourn.apps.cli import output

        self.save(figure, path)
        if as_json:
            output.print_json({"figure": str(path), **about} | ({"notes": notes} if notes else {}))
            return
        echo(f"Figure: {path}")
        for note in notes:
            echo(f"Note: {note}")


def figure_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a command that draws one figure; it receives them as `wanted`."""
    return _with(command, _OPTIONS)


def look_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a command that draws many figures, without those for titles and texts."""
    return _with(command, {name: one for name, one in _OPTIONS.items() if name not in ("title", "labels", "notes")})


def _with(command: Callable[..., Any], added: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    @wraps(command)
    def with_look(*args: Any, **arguments: Any) -> Any:
        chosen = {name: arguments.pop(f"look_{name}") for name in added}
        format_ = chosen.pop("format")
        typed = {name: value for name, value in chosen.items() if value not in (None, ())}
        return command(*args, **arguments, wanted=FigureArgs(typed, format_))

    for option in reversed(list(added.values())):
        with_look = option(with_look)
    return with_look


_OPTIONS: dict[str, Callable[..., Any]] = {
    "style": click.option(
        "--style",
        "--preset",
        "look_style",
        multiple=True,
        metavar="NAME|FILE",
        help=f"Style of figures: {', '.join(PRESETS)}, a style of matplotlib, or a style file. May be "
        "repeated; later styles override earlier ones.",
    ),
    "width": click.option(
        "--width", "look_width", metavar="LENGTH", help="Width of the figure, e.g. 3.5in, 89mm, 252pt."
    ),
    "height": click.option(
        "--height", "look_height", metavar="LENGTH", help="Height of the figure [as the panels need]."
    ),
    "font": click.option(
        "--font", "look_font", metavar="FONT", help='Font, size in pt or both, e.g. serif, 8 or "STIXGeneral 8".'
    ),
    "palette": click.option(
        "--palette",
        "look_palette",
        metavar="NAME|COLOURS",
        help=f"{', '.join(PALETTES)}, a colour map of matplotlib, or a list of colours.",
    ),
    "legend": click.option(
        "--legend",
        "look_legend",
        metavar="PLACE",
        help=f"{', '.join(LEGENDS)}, or a place within the first panel, e.g. 'upper left'.",
    ),
    "title": click.option("--title", "look_title", metavar="TEXT", help="Title of the figure [none]."),
    "labels": click.option(
        "--label",
        "look_labels",
        multiple=True,
        metavar="OLD=NEW",
        help="Replace a text, or part of one, e.g. pie@draft00=PIE. May be repeated.",
    ),
    "notes": click.option(
        "--notes/--no-notes", "look_notes", default=True, help="Put remarks below the figure, or print them instead."
    ),
    "format": click.option(
        "--format",
        "look_format",
        type=options.Word(FORMATS),
        help="Format of the figure [by its suffix]; csv and json are the plotted data.",
    ),
}
"""Options by argument of `Look.of`, and the format."""
