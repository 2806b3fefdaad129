"""Figures as PGF, to be included in a LaTeX document, which typesets their text in its font."""

from __future__ import annotations

import shutil
from io import TextIOWrapper
from typing import IO, TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.backends.backend_mixed import MixedModeRenderer
from matplotlib.backends.backend_pgf import FigureCanvasPgf, LatexError, RendererPgf

from sojourn.base.errors import InputError, MissingError
from sojourn.base.latex import latex

if TYPE_CHECKING:
    from matplotlib.backend_bases import GraphicsContextBase
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties

SYSTEMS = ("pdflatex", "lualatex", "xelatex")
"""Programs that measure the text; the first one installed is used."""


def save_pgf(figure: Figure, file: IO[bytes], *, keep_family: bool = False) -> None:
    """Write `figure` as PGF. Fonts are the document's unless `keep_family`; sizes are those of the figure."""
    system = next((name for name in SYSTEMS if shutil.which(name)), None)
    if system is None:
        raise MissingError(f"pgf: needs LaTeX to measure text; install {SYSTEMS[0]}, or write a PDF instead")
    try:
        with mpl.rc_context({"pgf.texsystem": system, "pgf.rcfonts": False}):
            _write(figure, file, keep_family)
    except (LatexError, ValueError) as error:  # ValueError: a text cannot be measured
        errors = [line for line in str(error).splitlines() if line.startswith("! ")]
        reason = errors[0].removeprefix("! ").rstrip(".") if errors else "an error"
        raise InputError(
            f"pgf: {system} reports: {reason}; replace the text that it rejects with --label OLD=NEW"
        ) from None


class _Renderer(RendererPgf):
    """Renderer that escapes text for TeX, so that `fq_codel` and `5 %` are printed as they are."""

    keep_family = False

    def draw_text(
        self,
        gc: GraphicsContextBase,
        x: float,
        y: float,
        s: str,
        prop: FontProperties,
        angle: float,
        ismath: Any = False,
        mtext: Any = None,
    ) -> None:
        base: Any = super()
        base.draw_text(gc, x, y, s if ismath else latex(s), self._font(prop), angle, ismath, mtext)

    def get_text_width_height_descent(self, s: str, prop: FontProperties, ismath: Any) -> tuple[float, float, float]:
        base: Any = super()
        width, height, descent = base.get_text_width_height_descent(s if ismath else latex(s), self._font(prop), ismath)
        return width, height, descent

    def _font(self, prop: FontProperties) -> FontProperties:
        """The font with the document's family: a name that the base class does not know."""
        chosen = prop.copy()
        if not self.keep_family:
            chosen.set_family(["the document's"])
        return chosen


def _write(figure: Figure, file: IO[bytes], keep_family: bool) -> None:
    """Equivalent of `savefig(format="pgf")` with our renderer, without metadata about the machine."""
    before, dpi = figure.canvas, figure.dpi
    text = TextIOWrapper(file, encoding="utf-8", write_through=True)
    try:
        canvas: Any = FigureCanvasPgf(figure)
        figure.dpi = 72
        renderer: Any = _Renderer(figure, text)  # type: ignore[no-untyped-call]
        renderer.keep_family = keep_family
        canvas.get_renderer = lambda: renderer  # used by the layout to measure
        for artist in figure.findobj():
            artist.set_rasterized(False)  # a single PGF file has no pixels
        width, height = figure.get_size_inches()
        text.write(_HEAD.format(width=width, height=height))
        mixed: Any = MixedModeRenderer
        figure.draw(mixed(figure, width, height, figure.dpi, renderer))
        text.write(_FOOT)
    finally:
        figure.set_canvas(before)
        figure.dpi = dpi
        text.detach()


_HEAD = r"""%% Include with \input{{<this file>}}, with \usepackage{{pgf}} in the preamble.
\begingroup%
\makeatletter%
\begin{{pgfpicture}}%
\pgfpathrectangle{{\pgfpointorigin}}{{\pgfqpoint{{{width:f}in}}{{{height:f}in}}}}%
\pgfusepath{{use as bounding box, clip}}%
"""
_FOOT = r"""\end{pgfpicture}%
\makeatother%
\endgroup%
"""
