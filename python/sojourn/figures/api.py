"""Figures from Python: `result.plot.cdf()`, for results, comparisons and studies alike."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sojourn.figures import KINDS, OPTIONS, kind
from sojourn.model.analysis.warmup import aligned, mark_unsettled, not_settled

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sojourn.figures.canvas import Sheet
    from sojourn.figures.look import Look
    from sojourn.model.analysis.labels import Name
    from sojourn.model.results.result import Result


class Plot(NamedTuple):
    """A matplotlib figure that can be changed or saved: `figure, axes = result.plot.cdf()`."""

    figure: Figure
    axes: Axes | list[Axes]
    """Its panel; several are in reading order."""

    def save(self, path: Path | str, format: str | None = None) -> Path:  # noqa: A002
        """Write it; the suffix selects PNG, SVG, PDF, PGF, or CSV and JSON for the plotted data."""
        from sojourn.figures.canvas import save

        return save(self.figure, path, format)

    @property
    def data(self) -> pl.DataFrame:
        """The plotted data, one row per point."""
        from sojourn.figures.data import table

        return table(self.axes if isinstance(self.axes, list) else [self.axes])

    def _repr_png_(self) -> bytes:
        """Image for notebooks."""
        from sojourn.figures.canvas import rendered

        return rendered(self.figure, "png")


class Plots:
    """Figures of some results: a method for each kind, as listed by `sojourn plot --help`.

    Each accepts `ax` (matplotlib axes to draw on, as many as the figure has panels), the options of its kind, and the
    appearance: `width`, `height`, `font`, `style`, `palette`, `legend`, `title`, `labels`, `notes`. On the caller's
    axes the notes are omitted. It returns the figure and its axes, and raises InputError if the results lack the data.
    """

    def __init__(self, results: Callable[[], tuple[Sequence[Result], Sequence[Name]]]) -> None:
        """Draw the results and names that `results` returns."""
        self._results = results

    def __getattr__(self, name: str) -> Callable[..., Plot]:
        """Figure kind by its name."""
        if name not in KINDS:
            raise AttributeError(f"unknown figure kind {name!r}; expected one of {', '.join(KINDS)}")
        return _method(name, self._results)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *KINDS]

    def __repr__(self) -> str:
        return f"<figures: {', '.join(KINDS)}>"


class ComparisonPlots(Plots):
    """The same figures, and a call that writes the figure of `sojourn compare`."""

    def __call__(self, path: Path | str, **options: Any) -> Path:
        """Draw sojourn times over time and their distribution into a file; its suffix selects the format."""
        return self.comparison(**options).save(path)


def draw(
    name: str,
    results: Sequence[Result],
    names: Sequence[Name],
    *,
    ax: Axes | Iterable[Axes] | None = None,
    look: Look | None = None,
    options: Mapping[str, object] | None = None,
) -> tuple[Plot, list[str]]:
    """Draw results as a figure kind; return the figure, and the notes that it omits."""
    from sojourn.figures.channels import of_results

    drawer = kind(name, options)
    runs, shown = aligned(results), mark_unsettled(names, results)

    def fill(sheet: Sheet) -> None:
        with of_results(shown):
            drawer(runs, shown, sheet)
        for sentence in not_settled(results, [str(name) for name in names]):
            sheet.note(sentence)
        if links := list(dict.fromkeys(result.link for result in results if result.is_link_chosen)):
            sheet.note(f"link: {', '.join(links)}")
        if idle := sorted({name for result in results if result.is_shell for name in _idle(result)} - set(links)):
            sheet.note(f"no packets: {', '.join(idle)}")

    return filled(fill, ax=ax, look=look)


def _idle(shell: Result) -> list[str]:
    """Directions of a shell's link without any packet."""
    return list(shell.links.filter(shell.links["arrived"] == 0)["link"])


def filled(
    fill: Callable[[Sheet], None], *, ax: Axes | Iterable[Axes] | None = None, look: Look | None = None
) -> tuple[Plot, list[str]]:
    """Let `fill` draw on a sheet with a look; return the figure, and the notes that it omits."""
    from matplotlib.axes import Axes

    from sojourn.figures.canvas import Sheet, style

    axes = ax if ax is None or isinstance(ax, Axes) else _flat(ax)
    with style(look):
        sheet = Sheet(axes)
        fill(sheet)
        notes = sheet.finish()
    return Plot(sheet.figure, sheet.axes[0] if len(sheet.axes) == 1 else sheet.axes), notes


def _flat(axes: Iterable[Any]) -> list[Axes]:
    """Flatten axes as returned by `plt.subplots`, of any shape."""
    import numpy as np

    return list(np.asarray(axes, dtype=object).ravel())


def _method(name: str, results: Callable[[], tuple[Sequence[Result], Sequence[Name]]]) -> Callable[..., Plot]:
    from sojourn.figures.look import WORDS, Look

    def method(ax: Axes | Iterable[Axes] | None = None, **keywords: Any) -> Plot:
        look = {key: keywords.pop(key) for key in WORDS if key in keywords}
        options = {key.rstrip("_"): value for key, value in keywords.items()}
        runs, names = results()
        drawn, _ = draw(name, runs, names, ax=ax, look=Look.of(**look), options=options)
        return drawn

    about = KINDS[name]
    lines = [f"    {_python(option)}: {OPTIONS[option].help}" for option in about.options]
    method.__name__ = name
    method.__doc__ = "\n".join([f"Draw {about.about}.", "", *lines, f"    how it looks: {', '.join(WORDS)}"])
    keyword = inspect.Parameter.KEYWORD_ONLY
    words = [*(_python(option) for option in about.options), *WORDS]
    first = inspect.Parameter("ax", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)
    signature = inspect.Signature([first, *(inspect.Parameter(word, keyword, default=None) for word in words)])
    method.__signature__ = signature  # type: ignore[attr-defined]
    return method


def _python(option: str) -> str:
    """Name of an option as a keyword argument: `from` is a reserved word of Python."""
    import keyword

    return f"{option}_" if keyword.iskeyword(option) else option
