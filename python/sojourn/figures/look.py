"""Appearance of a figure: size, font, style sheets, colours, labels; parsed here for the command line and Python."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import matplotlib as mpl
from cycler import cycler

from sojourn.base.errors import InputError, unknown
from sojourn.figures import LEGENDS, PALETTES, PRESETS

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Look:
    """Appearance requested by the user; `Look()` is the default."""

    width: float | None = None
    """Width in inches; None: the style sheet's, else the figure kind's default."""
    height: float | None = None
    """Height in inches; None: as the panels require at that width."""
    family: str | None = None
    """Font family."""
    size: float | None = None
    """Font size in pt; all sizes of the style sheet scale in proportion."""
    styles: tuple[str, ...] = ()
    """Presets, style sheets of matplotlib, or files; later ones have priority."""
    palette: tuple[str, ...] = ()
    """Colours of curves."""
    legend: str = "auto"
    """Position of the legend: one of `LEGENDS` or a location of matplotlib."""
    title: str | None = None
    labels: Labels = ()
    """Texts of the figure and their replacements."""
    notes: bool = True
    """Whether notes below the figure explain its marks."""

    @classmethod
    def of(
        cls,
        *,
        width: str | float | None = None,
        height: str | float | None = None,
        font: str | float | None = None,
        style: str | Path | Sequence[str | Path] = (),
        palette: str | Sequence[str] | None = None,
        legend: str | None = None,
        title: str | None = None,
        labels: Mapping[str, str] | Iterable[str] = (),
        notes: bool = True,
    ) -> Look:
        """Parse typed or Python values: lengths are numbers of inches or have a unit ("89 mm").

        `font` is a family, a size in pt or both; `labels` are pairs or texts "OLD=NEW". Raises `InputError` for invalid
        values.
        """
        family, size = _font(font)
        look = cls(
            width=_inches("--width", width),
            height=_inches("--height", height),
            family=family,
            size=size,
            styles=tuple(str(one) for one in ([style] if isinstance(style, str | Path) else style)),
            palette=_palette(palette),
            legend=_legend(legend),
            title=title or None,
            labels=_labels(labels),
            notes=notes,
        )
        _ = look.rc  # rejects invalid style sheets early
        return look

    @cached_property
    def sheets(self) -> list[dict[str, Any]]:
        """Parameters of the style sheets, in order."""
        return [_sheet(name) for name in self.styles]

    @cached_property
    def rc(self) -> dict[str, Any]:
        """Matplotlib's parameters: the base style, the chosen sheets, palette and font."""
        found = dict(_preset("sojourn"))
        for sheet in self.sheets:
            found |= sheet
        if self.palette:
            found["axes.prop_cycle"] = cycler(color=list(self.palette))
        if self.family:
            found["font.family"] = [self.family]
        if self.size:
            found |= _resized(found, self.size)
        return found

    @property
    def paper(self) -> tuple[float, float] | None:
        """Width and height in inches from the style sheets."""
        named = [sheet["figure.figsize"] for sheet in self.sheets if "figure.figsize" in sheet]
        return (float(named[-1][0]), float(named[-1][1])) if named else None

    def figure_size(
        self, width: float, height: float, *, fixed: float = 0.0, free: bool = False
    ) -> tuple[float, float]:
        """Size in inches of a figure with default size `width` by `height`.

        The part `fixed` of the height is text and does not shrink with the width. The height of a style sheet applies
        to figures with `free` height, such as single panels; for others it is the minimum.
        """
        paper = self.paper
        wide = self.width or (paper[0] if paper else width)
        if self.height:
            return wide, self.height
        natural = fixed + (height - fixed) * (wide / width) ** SHRINKING
        if not paper or self.width:
            return wide, natural
        return wide, paper[1] if free else max(paper[1], natural)


SHRINKING = 0.5
"""Heights scale with this power of the width: a figure half as wide is 0.7 times as high."""


def current() -> Look:
    """Look of the figures being drawn in this context."""
    return _CURRENT.get()


@contextmanager
def using(look: Look) -> Iterator[None]:
    """Set the current look within the block."""
    token = _CURRENT.set(look)
    try:
        yield
    finally:
        _CURRENT.reset(token)


_CURRENT: ContextVar[Look] = ContextVar("look", default=Look())  # noqa: B039
WORDS = ("width", "height", "font", "style", "palette", "legend", "title", "labels", "notes")
"""Arguments of `Look.of`."""


def _inches(option: str, value: str | float | None) -> float | None:
    if value is None:
        return None
    match = _LENGTH.fullmatch(str(value))
    if not match:
        raise InputError(f'{option}: "{value}" is not a length; write e.g. 3.5in, 89mm or 252pt')
    inches = float(match[1]) / _UNITS[match[2] or "in"]
    if not SMALLEST_IN <= inches <= LARGEST_IN:
        raise InputError(f"{option}: {value} is out of range; from {SMALLEST_IN:g} to {LARGEST_IN:g} in")
    return inches


_LENGTH = re.compile(r'\s*(\d+\.?\d*|\.\d+)\s*(in|"|cm|mm|pt)?\s*')
_UNITS = {"in": 1.0, '"': 1.0, "cm": 2.54, "mm": 25.4, "pt": 72.27}
"""Units per inch; pt is TeX's, in which LaTeX prints its column widths."""
SMALLEST_IN, LARGEST_IN = 1.0, 60.0


def _font(value: str | float | None) -> tuple[str | None, float | None]:
    """Family and size."""
    if value is None:
        return None, None
    text = str(value).strip()
    if _is_family(text):
        return text, None
    match = _FONT.fullmatch(text)
    if not match:
        raise _no_family(text)
    family, size = match[1].strip(), float(match[2])
    if not 3 <= size <= 100:
        raise InputError(f"--font: {match[2]} pt is out of range; from 3 to 100")
    if family and not _is_family(family):
        raise _no_family(family)
    return family or None, size


_FONT = re.compile(r"(.*?)\s*(\d+\.?\d*)\s*(?:pt)?")
_GENERIC = ("serif", "sans-serif", "monospace")


def _is_family(name: str) -> bool:
    from matplotlib.font_manager import fontManager

    return name in _GENERIC or any(font.name == name for font in fontManager.ttflist)


def _no_family(name: str) -> InputError:
    from difflib import get_close_matches

    from matplotlib.font_manager import fontManager

    near = get_close_matches(name, [*_GENERIC, *{font.name for font in fontManager.ttflist}], n=1, cutoff=0.6)
    hint = f'did you mean "{near[0]}"?' if near else "install it, or write serif, sans-serif, monospace, or a size"
    return InputError(f'--font: no font "{name}" is installed; {hint}')


def _palette(value: str | Sequence[str] | None) -> tuple[str, ...]:
    if value is None or not len(value):
        return ()
    from matplotlib.colors import is_color_like, to_hex

    if isinstance(value, str) and value in PALETTES:
        return PALETTES[value]
    names = [one.strip() for one in value.split(",")] if isinstance(value, str) else list(value)
    if len(names) == 1 and names[0] in mpl.colormaps:
        return _sampled(names[0])
    for name in names:
        if not is_color_like(name):
            known = f"{', '.join(PALETTES)}, a colour map of matplotlib, or colours such as #0072B2,#D55E00"
            raise InputError(f'--palette: "{name}" is neither a palette nor a colour; write {known}')
    return tuple(to_hex(name) for name in names)


def _sampled(name: str) -> tuple[str, ...]:
    """Colours of a colour map: its own, or equally spaced samples."""
    from matplotlib.colors import ListedColormap, to_hex

    colours = mpl.colormaps[name]
    if isinstance(colours, ListedColormap) and colours.N <= 20:
        return tuple(to_hex(colours(index)) for index in range(colours.N))
    return tuple(to_hex(colours(0.9 * index / 6)) for index in range(7))  # the brightest end is invisible on white


def _legend(value: str | None) -> str:
    from matplotlib.legend import Legend

    if value is None:
        return "auto"
    known = [*LEGENDS, *Legend.codes]
    if value not in known:
        raise unknown("--legend: place", value, known)
    return value


def _labels(value: Mapping[str, str] | Iterable[str]) -> Labels:
    if isinstance(value, Mapping):
        return tuple(value.items())
    pairs = []
    for text in value:
        old, equals, new = text.partition("=")
        if not equals or not old.strip():
            raise InputError(f'--label: "{text}" is not OLD=NEW; write e.g. pie@draft00=PIE')
        pairs.append((old.strip(), new.strip()))
    return tuple(pairs)


def _preset(name: str) -> dict[str, Any]:
    with as_file(files("sojourn.figures") / "styles" / f"{name}.mplstyle") as path:
        return _read(path)


def _sheet(name: str) -> dict[str, Any]:
    """Parameters of a preset, a file, or a style sheet of matplotlib."""
    from matplotlib import style

    if name in PRESETS:
        return _preset(name)
    path = Path(name)
    if path.is_file():
        return _read(path)
    if name in style.library:
        sheet: Any = style.library[name]
        return dict(sheet)
    if path.suffix or len(path.parts) > 1:
        raise InputError(f"--style: {name}: no such file; give a matplotlib style file, or one of {', '.join(PRESETS)}")
    raise unknown("--style: style", name, [*PRESETS, *style.available])


def _read(path: Path) -> dict[str, Any]:
    """Parameters of a style file. Matplotlib only logs invalid lines; here they raise `InputError`."""
    complaints: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: complaints.append(record.getMessage())  # type: ignore[method-assign]
    log = logging.getLogger("matplotlib")
    propagate, log.propagate = log.propagate, False
    log.addHandler(handler)
    try:
        read: Any = mpl.rc_params_from_file(str(path), use_default_template=False)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--style: {path}: {error}; give a readable matplotlib style file") from None
    finally:
        log.removeHandler(handler)
        log.propagate = propagate
    if complaints:
        raise InputError(f"--style: {complaints[0].strip().splitlines()[0]}; correct that line")
    parameters = dict(read)
    _check_numbers(path, parameters)
    return parameters


def _check_numbers(path: Path, parameters: Mapping[str, Any]) -> None:
    """Raise `InputError` for numbers that make drawing impossible or exhaust memory; matplotlib accepts any."""
    for key, value in parameters.items():
        low, high = _BOUNDS.get(key, (-MAX_VALUE, MAX_VALUE))
        low = _MIN_FONT if key in _FONT_SIZES else low
        for number in value if isinstance(value, list | tuple) else [value]:
            if isinstance(number, int | float) and not isinstance(number, bool) and not low <= number <= high:
                raise InputError(f"--style: {path}: {key}: {number:g}; write a number from {low:g} to {high:g}")


def _resized(parameters: Mapping[str, Any], size: float) -> dict[str, Any]:
    """All font sizes, scaled with the base size."""
    factor = size / float(parameters["font.size"])
    sizes = {key: value for key, value in parameters.items() if key.endswith("size") and key in _FONT_SIZES}
    return {key: value * factor for key, value in sizes.items() if isinstance(value, int | float)}


MAX_VALUE = 1e6
"""Maximum of numbers in a style file, except those in `_BOUNDS`."""
_MIN_FONT = 1.0
"""In points."""
_BOUNDS = {"figure.figsize": (0.5, 100.0), "figure.dpi": (10.0, 2400.0), "savefig.dpi": (10.0, 2400.0)}
"""In inches, and dots per inch."""
_FONT_SIZES = {
    "font.size",
    "axes.titlesize",
    "axes.labelsize",
    "xtick.labelsize",
    "ytick.labelsize",
    "legend.fontsize",
    "legend.title_fontsize",
    "figure.titlesize",
    "figure.labelsize",
}
