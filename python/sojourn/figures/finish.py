"""Final steps of all figures: renamed texts, legend, title, and texts wrapped to fit."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.ticker import FixedLocator, LogFormatter, ScalarFormatter

from sojourn.base.errors import InputError
from sojourn.figures.channels import muted
from sojourn.figures.look import Labels, Look
from sojourn.figures.marks import series_of
from sojourn.figures.scales import more_ticks, plain_numbers

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.text import Text


def finish(figure: Figure, look: Look, notes: Sequence[str] = (), *, panels: Sequence[Axes] | None = None) -> None:
    """Apply renamed texts, legend, title and notes, once. `panels` are given for a caller's own figure."""
    if figure.__dict__.get("_sojourn_finished") and panels is None:
        return
    figure.__dict__["_sojourn_finished"] = True
    axes = list(panels if panels is not None else figure.axes)
    _rename(figure, axes, look.labels)
    for one in axes:
        plain_ticks(one)
    if panels is not None:
        if look.title:
            axes[0].set_title(look.title)
        _move_legend(figure, axes, look.legend, inside=True)
        return
    _move_legend(figure, axes, look.legend)
    outside: list[Artist] = [*figure.legends]
    if look.title:
        outside.append(figure.suptitle(look.title))
    if notes:
        outside.append(_draw_notes(figure, notes))
    if figure.__dict__.get("_sojourn_grows"):
        extra = sum(_height_in(figure, artist) for artist in outside)
        figure.set_figheight(figure.get_size_inches()[1] + extra)
    _fit(figure, axes)


def plain_ticks(axes: Axes) -> None:
    """Write numbers on axes in full: no offset and no power of ten, whose exponent would be smaller than other text."""
    for which, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        formatter = axis.get_major_formatter()
        if isinstance(formatter, ScalarFormatter):
            formatter.set_useOffset(False)
            formatter.set_scientific(False)
        elif isinstance(formatter, LogFormatter):
            plain_numbers(axis)
        more_ticks(axes, which)


# Names.


def _rename(figure: Figure, panels: Sequence[Axes], labels: Labels) -> None:
    """Replace texts, or comma-separated parts of them."""
    if not labels:
        return
    there: dict[str, None] = {}
    used: set[str] = set()

    def other(text: str) -> str:
        there[text] = None
        for old, new in labels:
            if text == old:
                used.add(old)
                return new
        parts = text.split(", ")
        there.update(dict.fromkeys(parts))
        used.update(old for old, _ in labels if old in parts)
        return ", ".join(dict(labels).get(part, part) for part in parts)

    for text in _texts(figure, panels):
        text.set_text(other(text.get_text()))
    for axes in panels:
        _rename_artists(axes, other)
        for axis in (axes.xaxis, axes.yaxis):
            if isinstance(axis.get_major_locator(), FixedLocator):
                _rename_ticks(axis, other)
    missing = [old for old, _ in labels if old not in used]
    if missing:
        known = [text for text in there if text.strip()]
        raise InputError(f'--label: the figure has no text "{missing[0]}"; its texts are {", ".join(known[:12])}')


def _rename_ticks(axis: Axis, other: Callable[[str], str]) -> None:
    """Rename the labels of fixed ticks, such as names of boxes."""
    old = [text.get_text() for text in axis.get_ticklabels()]
    new = [other(text) for text in old]
    if new != old:
        axis.set_ticks(axis.get_majorticklocs(), new)


def _texts(figure: Figure, panels: Sequence[Axes]) -> Iterator[Text]:
    for axes in panels:
        yield from _titles(axes)
        yield from (axes.xaxis.label, axes.yaxis.label, *axes.texts)
        if legend := axes.get_legend():
            yield from legend.get_texts()
    if figure.__dict__.get("_sojourn_look"):  # a caller's figure has other texts
        yield from (text for legend in figure.legends for text in legend.get_texts())
        yield from figure.texts


def _titles(axes: Axes) -> tuple[Text, Text, Text]:
    """Titles of axes in the middle, on the left and on the right; matplotlib has a public artist for the first only."""
    return axes.title, axes._left_title, axes._right_title  # type: ignore[attr-defined]


def _rename_artists(axes: Axes, other: Callable[[str], str]) -> None:
    artists: list[Any] = [*axes.lines, *axes.collections, *axes.patches, *axes.containers]
    for artist in artists:
        label = str(artist.get_label())
        if label and not label.startswith("_"):
            artist.set_label(other(label))
    for series in series_of(axes):
        series.name = other(series.name)
        if "place" in series.columns:
            series.columns["place"] = np.array([other(str(place)) for place in series.columns["place"]])


# Legends.


def legend_of_panels(figure: Figure, panels: Sequence[Axes], entries: list[Artist], *, inside: bool = False) -> None:
    """Place one legend for all panels above them, each name once; a single curve is named in the panel's title."""
    entries = entries or _named_artists(panels)
    if len(entries) == 1:
        first = panels[0]
        if not first.get_title(loc="left"):
            first.set_title(str(entries[0].get_label()), loc="left", fontweight="bold", pad=3)
        return
    if entries:
        _draw_legend(figure, panels, entries, "best" if inside else "above")


def _named_artists(panels: Sequence[Axes]) -> list[Artist]:
    found: dict[str, Any] = {}
    for axes in panels:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(name, handle)
    for name, handle in found.items():
        handle.set_label(name)
    return list(found.values())


def _move_legend(figure: Figure, panels: Sequence[Axes], where: str, *, inside: bool = False) -> None:
    """Merge the legends of a figure into one at the requested position."""
    legends = [legend for axes in panels if (legend := axes.get_legend())] + ([] if inside else figure.legends)
    if where == "auto" or not legends:
        return
    found: dict[str, Any] = {}
    for legend in legends:
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
            found.setdefault(text.get_text(), handle)
        legend.remove()
    if where != "none":
        for name, handle in found.items():
            handle.set_label(name)
        _draw_legend(figure, panels, list(found.values()), "best" if inside and where in _OUTSIDE else where)


_OUTSIDE = {"above": "outside upper center", "below": "outside lower center", "right": "outside right upper"}


def _draw_legend(figure: Figure, panels: Sequence[Any], entries: Sequence[Artist], where: str) -> None:
    names = [str(entry.get_label()) for entry in entries]
    if where not in _OUTSIDE:
        panels[0].legend(handles=entries, labels=names, loc=where)
        return
    columns = 1 if where == "right" else _columns(figure, names)
    drawn: Any = figure
    drawn.legend(handles=entries, labels=names, loc=_OUTSIDE[where], ncols=columns)


def _columns(figure: Figure, names: Sequence[str]) -> int:
    """Maximum number of columns that fit the figure's width."""
    size = _points(mpl.rcParams["legend.fontsize"])
    rc: Any = mpl.rcParams
    beside = sum(rc[f"legend.{key}"] for key in ("handlelength", "handletextpad", "columnspacing")) * size / 72
    widths = [_width_in(figure, name, size) + beside for name in names]
    room = figure.get_size_inches()[0] - 2 * rc["legend.borderaxespad"] * size / 72
    for count in range(len(names), 1, -1):
        rows = -(-len(names) // count)
        if sum(max(widths[at : at + rows]) for at in range(0, len(names), rows)) <= room:
            return -(-len(names) // rows)  # avoid a last row of one entry
    return 1


# Texts that fit.


def _draw_notes(figure: Figure, notes: Sequence[str]) -> Text:
    size = _points(mpl.rcParams["figure.labelsize"])
    text = _wrapped(figure, ".  ".join(notes), size, figure.get_size_inches()[0] - 0.2)
    return figure.supxlabel(text, x=0.5, fontsize=size, color=muted())


def _fit(figure: Figure, panels: Sequence[Axes]) -> None:
    """Wrap texts and thin ticks that do not fit."""
    for wrap in (_wrap_vertical, _wrap_title, _wrap_label):
        _lay_out(figure)
        for axes in panels:
            wrap(figure, axes)
    for axes in panels:
        _part_titles(axes)
        _thin(axes.xaxis, vertical=False)
        _thin(axes.yaxis, vertical=True)


def _lay_out(figure: Figure) -> None:
    """Arrange the panels, unless they are arranged and no artist has changed since."""
    layout = figure.get_layout_engine()
    if layout and not is_laid_out(figure):
        layout.execute(figure)
        figure.stale = False
        figure.__dict__["_sojourn_laid_out"] = True


def is_laid_out(figure: Figure) -> bool:
    """Whether no artist has changed since the panels were arranged; matplotlib marks the figure as stale then."""
    return figure.__dict__.get("_sojourn_laid_out", False) and not figure.stale


def _height_in(figure: Figure, artist: Any) -> float:
    box = artist.get_window_extent(_renderer(figure))
    return float(box.height / figure.dpi) + 0.06


def _wrap_label(figure: Figure, axes: Axes) -> None:
    """Break a label of the horizontal axis that is too wide, preferably before its remark.

    The available width is the panel plus the gap to the next one; for a single panel the figure, symmetric about the
    panel's centre.
    """
    label = axes.xaxis.label
    box, wide = axes.get_position(original=True), figure.get_size_inches()[0]
    spec = axes.get_subplotspec()
    alone = spec is None or (spec.is_first_col() and spec.is_last_col())
    middle = (box.x0 + box.x1) / 2
    room = wide * (2 * min(middle, 1 - middle) if alone else box.width * 1.04) - 0.1
    size = float(label.get_fontsize())
    if label.get_text() and _width_in(figure, label.get_text(), size) > room:
        parts = label.get_text().split("   ")
        _set_label(axes.xaxis, "\n".join(_wrapped(figure, part.strip(), size, room) for part in parts))


def _wrap_vertical(figure: Figure, axes: Axes) -> None:
    """Break a label of the vertical axis that is longer than its panel, or than the figure about the panel's centre."""
    label, box, spec = axes.yaxis.label, axes.get_position(original=True), axes.get_subplotspec()
    alone = spec is None or (spec.is_first_row() and spec.is_last_row())
    middle = (box.y0 + box.y1) / 2
    room = figure.get_size_inches()[1] * (2 * min(middle, 1 - middle) if alone else box.height * 1.04)
    lines = [_wrapped(figure, line, float(label.get_fontsize()), room) for line in label.get_text().split("\n")]
    _set_label(axes.yaxis, "\n".join(lines))


def _set_label(axis: Axis, text: str) -> None:
    """Change the text of an axis, which then is stale; matplotlib's label of an axis is not part of its figure."""
    if text != axis.get_label_text():
        axis.set_label_text(text)


def _wrap_title(figure: Figure, axes: Axes) -> None:
    """Break the title of a panel that would overlap the next one's."""
    spec = axes.get_subplotspec()
    if spec is None or (spec.is_first_col() and spec.is_last_col()):
        return
    _, left, right = _titles(axes)
    if right.get_text().strip():
        return  # placed above the remark then
    room = figure.get_size_inches()[0] * axes.get_position(original=True).width * 1.03
    text, size, weight = left.get_text(), float(left.get_fontsize()), left.get_fontweight()
    if all(_width_in(figure, part, size, weight) <= room for part in text.split(", ")):
        text = text.replace(" ", _FIXED).replace(f",{_FIXED}", ", ")  # break after commas only
    left.set_text(_wrapped(figure, text, size, room, weight).replace(_FIXED, " "))


_FIXED = "\N{NO-BREAK SPACE}"


def _part_titles(axes: Axes) -> None:
    """Move the title of a panel above the remark beside it if both would overlap."""
    _, left, right = _titles(axes)
    if not (left.get_text().strip() and right.get_text().strip()):
        return
    renderer = _renderer(axes.get_figure(root=True))
    boxes = [text.get_window_extent(renderer) for text in (left, right)]
    if boxes[0].x1 + 4 > boxes[1].x0:
        left.set_text(f"{left.get_text()}\n")


def _thin(axis: Axis, *, vertical: bool) -> None:
    """Remove every second label of fixed ticks while they overlap."""
    if not isinstance(axis.get_major_locator(), FixedLocator):
        return
    gap = 0.0 if vertical else 2.0
    names = [text.get_text() for text in axis.get_ticklabels()]
    while True:
        shown = [text for text in axis.get_ticklabels() if text.get_text()]
        boxes = [text.get_window_extent() for text in shown]
        ends = sorted((box.y0, box.y1) if vertical else (box.x0, box.x1) for box in boxes)
        if len(ends) < 3 or all(one[1] + gap <= next_[0] for one, next_ in pairwise(ends)):
            return
        gone = [index for index, name in enumerate(names) if name][1::2]
        names = ["" if index in gone else name for index, name in enumerate(names)]
        axis.set_ticks(axis.get_majorticklocs(), names)


def _wrapped(figure: Figure, text: str, size: float, room: float, weight: str | int = "normal") -> str:
    """Break a text into lines of at most `room` inches."""
    width = _width_in(figure, text, size, weight)
    if width <= room:
        return text
    return "\n".join(textwrap.wrap(text, max(10, int(len(text) * room / width)), break_on_hyphens=False))


def _renderer(figure: Any) -> Any:
    return figure.canvas.get_renderer()


def _width_in(figure: Figure, text: str, size: float, weight: str | int = "normal") -> float:
    from matplotlib.font_manager import FontProperties

    renderer = _renderer(figure)
    lines = text.split("\n")
    font = FontProperties(size=size, weight=weight)
    widths = [renderer.get_text_width_height_descent(one, font, False)[0] for one in lines]
    return float(max(widths) / figure.dpi)


def _points(size: str | float) -> float:
    from matplotlib.font_manager import FontProperties

    return float(FontProperties(size=size).get_size_in_points())
