"""Synthetic cellular traces: delivery opportunities like those of an LTE link.

The logarithm of the rate is a sum of three Ornstein-Uhlenbeck terms on a grid of 20 ms, capped at a multiple of the
median. Outages begin as a Poisson process and last Pareto times of at most 2 s. Opportunities come in geometric
batches at the points of a gamma renewal process in operational time.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, sqrt
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sojourn.files import write_file

GRID_S = 0.02
LONGEST_OUTAGE_MS = 2000.0
MTU_BITS = 12_000


@dataclass(frozen=True)
class LtePreset:
    """Parameters of the model, fitted to a recorded trace."""

    mean_mbps: float
    """Time average of the rate in Mbit/s."""
    terms: tuple[tuple[float, float], ...]
    """Time constant in s and standard deviation of each term of the log-rate."""
    cap: float
    """Largest rate, as a multiple of the median."""
    outages_per_minute: float
    outage_min_ms: float
    outage_alpha: float
    """Pareto index of the outages' lengths."""
    batch: float
    """Mean opportunities per batch."""
    shape: float
    """Shape of the gamma gaps between batches."""


PRESETS = {
    "verizon-lte.down": LtePreset(
        5.028, ((0.124, 0.154), (5.713, 0.581), (5.324, 0.537)), 2.903, 12.761, 77.888, 1.486, 1.041, 0.719
    ),
    "verizon-lte.up": LtePreset(
        5.946, ((0.083, 0.084), (3.031, 0.511), (7.962, 0.272)), 2.632, 10.823, 45.815, 0.8, 1.203, 0.901
    ),
}


def synth_lte(preset: LtePreset, seconds: int, seed: int) -> NDArray[np.int64]:
    """Milliseconds of the delivery opportunities of `seconds` s; the same seed gives the same trace."""
    rng = np.random.RandomState(seed)  # its streams are frozen for all versions of NumPy
    rate = _relative_rate(preset, seconds, rng) * _up(preset, seconds, rng)
    per_ms = rate * (preset.mean_mbps * 1e3 / MTU_BITS / rate.mean())
    operational = np.concatenate(([0.0], np.cumsum(per_ms)))
    count = int(operational[-1] / preset.batch * 1.6) + 200
    points = np.cumsum(rng.gamma(preset.shape, preset.batch / preset.shape, count))
    points = points[points < operational[-1]]
    sizes = rng.geometric(1 / preset.batch, len(points))
    at_ms = np.searchsorted(operational, points, side="right")
    return np.repeat(at_ms, sizes).astype(np.int64)


def write_trace(opportunities_ms: NDArray[np.int64], path: Path | str) -> Path:
    """Write a trace in Mahimahi's format: one millisecond per line and opportunity."""
    text = "\n".join(map(str, opportunities_ms.tolist())) + "\n"
    return write_file(path, lambda file: file.write(text.encode()))


def _relative_rate(preset: LtePreset, seconds: int, rng: np.random.RandomState) -> NDArray[np.float64]:
    """Rate per ms relative to its median, outages left aside."""
    steps = round(seconds / GRID_S)
    log_rate = np.sum([_ornstein_uhlenbeck(steps, tau_s, sd, rng) for tau_s, sd in preset.terms], axis=0)
    rate = np.minimum(np.exp(log_rate - log_rate.mean()), preset.cap)
    return np.repeat(rate, round(GRID_S * 1000))


def _ornstein_uhlenbeck(steps: int, tau_s: float, sd: float, rng: np.random.RandomState) -> NDArray[np.float64]:
    """Stationary from the first step on."""
    keep = exp(-GRID_S / tau_s)
    noise = rng.standard_normal(steps + 1) * sd
    value = float(noise[0])
    values = np.empty(steps)
    for step in range(steps):
        value = keep * value + sqrt(1 - keep * keep) * noise[step + 1]
        values[step] = value
    return values


def _up(preset: LtePreset, seconds: int, rng: np.random.RandomState) -> NDArray[np.bool_]:
    """Per ms, whether there is no outage."""
    up = np.ones(seconds * 1000, dtype=bool)
    now_ms = 0.0
    while (now_ms := now_ms + rng.exponential(60_000 / preset.outages_per_minute)) < len(up):
        pareto = preset.outage_min_ms * (1 - rng.random_sample()) ** (-1 / preset.outage_alpha)
        length_ms = min(pareto, LONGEST_OUTAGE_MS)
        up[int(now_ms) : int(now_ms + length_ms)] = False
        now_ms += length_ms
    return up
