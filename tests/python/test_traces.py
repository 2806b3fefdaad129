"""Synthetic LTE traces: reproducible, valid, and statistically what they imitate."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sojourn as sj
from sojourn.traces import PRESETS, synth_lte, write_trace


@pytest.mark.parametrize("name", PRESETS)
def test_same_seed_same_trace(name: str) -> None:
    first, second, other = (synth_lte(PRESETS[name], 20, seed) for seed in (1, 1, 2))
    assert first.tolist() == second.tolist()
    assert first.tolist() != other.tolist()


@pytest.mark.parametrize("name", PRESETS)
def test_valid_for_mahimahi(name: str, tmp_path: Path) -> None:
    trace = synth_lte(PRESETS[name], 20, 3)
    assert (np.diff(trace) >= 0).all()
    assert trace[0] >= 0
    assert 0 < trace[-1] <= 20_000
    write_trace(trace, tmp_path / "x.down")
    assert np.loadtxt(tmp_path / "x.down", dtype=np.int64).tolist() == trace.tolist()
    assert sj.compare(["droptail"], trace=tmp_path / "x.down", duration="5 s").table["packets"][0] > 100


def test_statistics_of_the_model() -> None:
    """Against the table of its fit on held-out seeds: rates of 100 ms, gaps and outages of Verizon's downlink."""
    seconds = 300
    traces = [synth_lte(PRESETS["verizon-lte.down"], seconds, seed) for seed in (11, 12, 13, 14)]
    rates = [np.histogram(trace, bins=np.arange(0, seconds * 1000 + 1, 100))[0] for trace in traces]
    gaps = [np.diff(trace) for trace in traces]
    assert np.mean([len(trace) * 12e-3 / seconds for trace in traces]) == pytest.approx(5.028, rel=0.02)
    assert np.mean([rate.std() / rate.mean() for rate in rates]) == pytest.approx(0.73, abs=0.12)
    assert np.mean([(gap == 0).mean() for gap in gaps]) == pytest.approx(0.33, abs=0.05)
    assert np.mean([(gap == 1).mean() for gap in gaps]) == pytest.approx(0.27, abs=0.05)
    assert np.mean([(gap > 100).sum() / seconds * 60 for gap in gaps]) == pytest.approx(10.0, abs=3.5)


def test_demo(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sojourn.demo", "-o", "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert f"Figure: {tmp_path / 'out' / 'demo.png'}" in done.stdout
    assert (tmp_path / "out" / "demo.png").read_bytes().startswith(b"\x89PNG")
    for aqm in ("droptail", "codel", "codel@act", "pie@draft00"):
        assert aqm in done.stdout
