"""Creating and saving figures; no global state, so that figures can be drawn in any thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from sojourn.base.errors import InputError
from sojourn.base.files import write_file
from sojourn.figures import FORMATS
from sojourn.figures.data import as_csv, as_json, plotted_axes
from sojourn.figures.finish import finish, is_laid_out, legend_of_panels
from sojourn.figures.look import SHRINKING, Look, current, using

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.gridspec import GridSpecBase

Panels = np.ndarray[Any, np.dtype[Any]]
"""Axes in rows and columns."""


class NotebookFigure(Figure):
    """A figure that notebooks display without pyplot."""

    def _repr_png_(self) -> bytes:
        return rendered(self, "png")


@contextmanager
def style(look: Look | None = None) -> Iterator[None]:
    """Apply a look, by default the current one, within the block."""
    chosen = look or current()
    with using(chosen), mpl.rc_context(dict[Any, Any](chosen.rc)):
        yield


def new_figure(width: float = 7.0, height: float = 4.0, *, fixed: float = 0.0, free: bool = False) -> Figure:
    """Create an empty figure of the given size in inches, adjusted by the look: see `Look.figure_size`."""
    look = current()
    figure = NotebookFigure(figsize=look.figure_size(width, height, fixed=fixed, free=free))
    FigureCanvasAgg(figure)
    figure.__dict__["_sojourn_look"] = look
    figure.__dict__["_sojourn_grows"] = not look.height and not (free and look.paper and not look.width)
    return figure


class Sheet:
    """Drawing area of a figure kind: panels of a new figure, or the caller's axes."""

    def __init__(self, axes: Axes | Sequence[Axes] | None = None) -> None:
        """Draw on a new figure, or on `axes`: one per panel, or a single one to be subdivided."""
        self._given = None if axes is None else [axes] if isinstance(axes, Axes) else list(axes)
        self._figure: Figure | None = None
        self.axes: list[Axes] = []
        """The panels, in reading order."""
        self.notes: list[str] = []
        """Notes below the figure."""

    @property
    def figure(self) -> Figure:
        """The figure with the panels."""
        assert self._figure is not None, "a figure kind calls panels() first"
        return self._figure

    def width(self, natural: float) -> float:
        """Width in inches of a figure with default width `natural`, to choose the number of panels side by side."""
        if self._given:
            return self._given[0].get_window_extent().width / self._given[0].figure.dpi
        return current().figure_size(natural, 1.0)[0]

    def panels(
        self,
        rows: int = 1,
        columns: int = 1,
        *,
        width: float = 7.0,
        height: float = 1.0,
        text: bool = False,
        sharex: bool | str = True,
        sharey: bool | str = True,
    ) -> Panels:
        """Create panels in rows of `height` inches, on a figure `width` inches wide unless the look overrides it.

        A height includes the panel's title, but not the labels of the horizontal axis. With `text`, i.e. panels made of
        lines of text such as names, it scales with the font size, else with the width of the figure.
        """
        check_number(rows * columns)
        if self._given and len(self._given) > 1:
            return self._take(rows, columns)
        if self._given and rows * columns == 1:
            return self._take(1, 1)
        grid = self.grid(rows, columns, width=width, height=height, text=text)
        found: Panels = grid.subplots(sharex=sharex, sharey=sharey, squeeze=False)  # type: ignore[call-overload]
        self.axes += found.ravel().tolist()
        return found

    def tiles(
        self, count: int, *, width: float = 7.0, height: float = 1.9, min_width: float = 1.7, text: bool = False
    ) -> list[Axes]:
        """Create panels side by side, in as many rows as their minimum width in inches (at 9 pt text) requires."""
        columns = min(count, max(1, int(self.width(width) / (min_width * mpl.rcParams["font.size"] / 9))))
        rows = -(-count // columns)
        columns = -(-count // rows)
        found = self.panels(rows, columns, width=width, height=height, text=text).ravel().tolist()
        for empty in found[count:]:
            empty.remove()
            self.axes.remove(empty)
        for above in found[count - columns : count]:
            above.tick_params(labelbottom=True)
        return list(found[:count])

    def blocks(self, count: int, rows: int, *, width: float = 7.0, height: float, min_width: float = 1.7) -> Panels:
        """Create `rows` panels below each other, `count` times side by side; rows wrap if the figure is too narrow.

        The panels of a row share their vertical axis; all share one horizontal axis.
        """
        columns = min(count, max(1, int(self.width(width) / (min_width * mpl.rcParams["font.size"] / 9))))
        parts = -(-count // columns)
        columns = -(-count // parts)
        grid = self.panels(parts * rows, columns, width=width, height=height, sharey=False)
        found = np.array([grid[row::rows].ravel() for row in range(rows)])
        for empty in found[:, count:].ravel():
            empty.remove()
            self.axes.remove(empty)
        for row in found[:, :count]:
            for axes in row[1:]:
                axes.sharey(row[0])
            for axes in set(row) - set(self.left_of(row)):
                axes.tick_params(labelleft=False)
        for axes in found[-1, :count]:
            axes.tick_params(labelbottom=True)
        return found[:, :count]

    def grid(
        self, rows: int, columns: int, *, width: float, height: float, text: bool = False, **ratios: Sequence[float]
    ) -> GridSpecBase:
        """Grid for kinds that arrange their panels themselves with `add`."""
        check_number(rows * columns)
        if not self._given:
            by_width = (self.width(width) / width) ** SHRINKING
            by_font = mpl.rcParams["font.size"] / 9
            # A narrow figure has fewer panels side by side, which keep their width and so their height.
            factor = by_font if text or columns > 1 else max(by_width, 0.75 * by_font)
            total = rows * height * factor + 0.43 * by_font
            self._figure = new_figure(width, total, fixed=total, free=rows == columns == 1 and not text)
            return self._figure.add_gridspec(rows, columns, **ratios)
        [axes] = self._given if len(self._given) == 1 else [None]
        place = axes.get_subplotspec() if axes is not None else None
        if axes is None or place is None:
            raise InputError(
                f"ax: this figure has {rows * columns} panels in a grid; pass one of plt.subplots(), or none"
            )
        axes.set_axis_off()
        self._figure = axes.get_figure(root=True)
        return place.subgridspec(rows, columns, **ratios)

    def add(self, place: Any, **share: Any) -> Axes:
        """Create a panel in a cell of `grid`."""
        axes: Axes = self.figure.add_subplot(place, **share)
        self.axes.append(axes)
        return axes

    def _take(self, rows: int, columns: int) -> Panels:
        assert self._given is not None
        if len(self._given) != rows * columns:
            raise InputError(f"ax: {len(self._given)} axes for {rows * columns} panels; pass one for each")
        self._figure = self._given[0].get_figure(root=True)
        self.axes = list(self._given)
        found = np.empty(rows * columns, dtype=object)
        found[:] = self._given
        return found.reshape(rows, columns)

    @property
    def bottom(self) -> list[Axes]:
        """Panels without one below; they have the labels of the horizontal axis."""
        lowest: dict[int, Axes] = {}
        for axes in self.axes:
            place = axes.get_subplotspec()
            lowest[place.colspan.start if place else 0] = axes
        return self.axes if self._given and len(self._given) > 1 else list(lowest.values())

    @property
    def left(self) -> list[Axes]:
        """The panels on the left, which have the labels of the vertical axis."""
        return self.left_of(self.axes)

    def left_of(self, panels: Iterable[Axes]) -> list[Axes]:
        """Panels of the first column."""
        places = [(axes, axes.get_subplotspec()) for axes in panels]
        return [axes for axes, place in places if place is None or place.is_first_col()]

    def legend(self, entries: Sequence[Artist] = ()) -> None:
        """Add a legend: from `entries`, else from the panels' labelled artists. A single curve is named in a title."""
        legend_of_panels(self.figure, self.axes, list(entries), inside=self._given is not None)

    def note(self, text: str) -> None:
        """Add a note below the figure, once."""
        if text not in self.notes:
            self.notes.append(text)

    def finish(self) -> list[str]:
        """Apply the steps common to all figures; return the notes that the look omits from the figure."""
        look = current()
        if self._given is None:
            finish(self.figure, look, self.notes if look.notes else [])
            return [] if look.notes else self.notes
        finish(self.figure, look, [], panels=self.axes)
        return self.notes


def legend(figure: Any) -> None:
    """Add a legend for all panels above a figure, each name once."""
    legend_of_panels(figure, figure.axes, [])


def check_number(panels: int) -> None:
    """Raise `InputError` if a figure has too many panels to be readable."""
    if panels > MAX_PANELS:
        raise InputError(f"{panels} panels are more than a figure holds ({MAX_PANELS}); name fewer results")


MAX_PANELS = 60


def figure_format(path: Path | str, wanted: str | None = None) -> str:
    """Format of a figure: `wanted`, else the suffix of `path`, else PNG.

    A path without a suffix may be a device. A suffix that contradicts `wanted` raises `InputError`.
    """
    suffix = Path(path).suffix.lower().removeprefix(".")
    if wanted is not None:
        if wanted not in FORMATS:
            raise InputError(f'--format: unknown figure format "{wanted}"; expected one of {", ".join(FORMATS)}')
        if suffix in FORMATS and suffix != wanted:
            raise InputError(f"{path}: ends in .{suffix}, but --format says {wanted}; change one of them")
        return wanted
    if suffix and suffix not in FORMATS:
        endings = f"{', '.join(f'.{one}' for one in FORMATS[:-1])} or .{FORMATS[-1]}"
        raise InputError(f'{path}: ".{suffix}" is not a figure format; end the name in {endings}')
    return suffix or "png"


def save(figure: Figure, path: Path | str, wanted: str | None = None) -> Path:
    """Write a figure, or its plotted data, in the wanted format or that of the suffix, atomically."""
    kind = figure_format(path, wanted)
    return write_file(path, lambda file: file.write(rendered(figure, kind)))


def rendered(figure: Figure, kind: str) -> bytes:
    """Bytes of a figure in one of `FORMATS`."""
    from io import BytesIO

    look: Look = figure.__dict__.get("_sojourn_look", current())
    with style(look):
        finish(figure, look)
        if kind in _DATA:
            return _DATA[kind](figure)
        buffer = BytesIO()
        if kind == "pgf":
            # Imported late: it loads matplotlib's backend for TeX.
            from sojourn.figures.pgf import save_pgf

            save_pgf(figure, buffer, keep_family=look.family is not None)
        else:
            metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
            with layout_kept(figure, kind):
                figure.savefig(buffer, format=kind, metadata=metadata)
        return buffer.getvalue()


@contextmanager
def layout_kept(figure: Figure, kind: str) -> Iterator[None]:
    """Let the block draw panels as they are arranged: a layout takes as long as drawing.

    Other formats than PNG measure texts with renderers of their own, so their panels are arranged again.
    """
    engine = figure.get_layout_engine()
    if kind != "png" or mpl.rcParams["savefig.dpi"] != figure.dpi or not is_laid_out(figure):
        yield
        return
    # matplotlib draws twice if the figure has any engine; with None it takes the one of its settings.
    with mpl.rc_context({"figure.autolayout": False, "figure.constrained_layout.use": False}):
        figure.set_layout_engine(None)
    try:
        yield
    finally:
        figure.set_layout_engine(engine)


def _csv(figure: Figure) -> bytes:
    return as_csv(plotted_axes(figure))


def _json(figure: Figure) -> bytes:
    return as_json(plotted_axes(figure))


_DATA: dict[str, Callable[[Figure], bytes]] = {"csv": _csv, "json": _json}
