"""Rendering of an environment: a line, or a picture of the last ten seconds."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn.apps.gym.settings import Raw

SHOWN_S = 10.0
"""Seconds in a picture."""
SIZE = (7.0, 4.2)
"""Size of a picture in inches, at 100 pixels each."""


def line(time_s: float, raw: Raw) -> str:
    """The last step in words; the time only before the first step."""
    if not raw or "span_s" not in raw:
        return f"{time_s:9.3f} s"
    return (
        f"{time_s:9.3f} s  p {raw['probability']:.4f}  target {1e3 * raw['target_s']:.2f} ms  "
        f"sojourn {delay_ms(raw):7.2f} ms  utilisation {100 * raw['utilisation']:5.1f} %  "
        f"backlog {raw['waiting']:4d}  drops {raw['dropped']:3d}  marks {raw['marked']:3d}"
    )


def delay_ms(raw: Raw) -> float:
    """Mean sojourn time of the packets sent in the step; without any, the waiting time of the first packet."""
    return 1e3 * float(raw["sojourn_s"] / raw["departed"] if raw["departed"] else raw["head_s"])


class Pictures:
    """Plots of an episode's last steps, in the style of other figures."""

    def __init__(self) -> None:
        self._steps: deque[tuple[float, float, float, float, float]] = deque()

    def clear(self) -> None:
        """Remove all steps."""
        self._steps.clear()

    def add(self, time_s: float, raw: Raw) -> None:
        """Add a step."""
        probability = raw["probability"]
        self._steps.append((time_s, delay_ms(raw), 100 * raw["utilisation"], 100 * probability, 1e3 * raw["target_s"]))
        while self._steps[0][0] < time_s - SHOWN_S:
            self._steps.popleft()

    def draw(self) -> NDArray[np.uint8]:
        """RGB image of the last ten seconds: sojourn time, utilisation of the link, and the action in force."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        from sojourn.figures.canvas import new_figure, style

        with style():
            figure = new_figure(*SIZE)
            figure.set_dpi(100)
            columns: list[Any] = list(zip(*self._steps, strict=True)) or [[], [], [], [], []]
            time_s, delay, used, probability, target = columns
            by_target = len(set(target)) > 1
            last = max(time_s, default=0.0)
            panels = figure.subplots(3, 1, sharex=True)
            for axes, (name, values) in zip(
                panels,
                [
                    ("sojourn time (ms)", delay),
                    ("utilisation (%)", used),
                    ("target (ms)", target) if by_target else ("probability (%)", probability),
                ],
                strict=True,
            ):
                axes.plot(time_s, values)
                axes.set_ylabel(name)
                axes.set_ylim(bottom=0.0)
            panels[1].set_ylim(0.0, 105.0)
            panels[-1].set_xlim(max(0.0, last - SHOWN_S), max(last, SHOWN_S))
            panels[-1].set_xlabel("time (s)")
            figure.align_ylabels()
            canvas = figure.canvas
            assert isinstance(canvas, FigureCanvasAgg)
            canvas.draw()  # type: ignore[no-untyped-call]
            pixels: NDArray[np.uint8] = np.asarray(canvas.buffer_rgba(), np.uint8)  # type: ignore[no-untyped-call]
            picture: NDArray[np.uint8] = pixels[..., :3].copy()
            return picture
