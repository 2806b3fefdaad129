"""Synthetic arrival patterns for the kernel's queue disciplines: their coverage, and excluded cases."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sojourn import _core
from sojourn.engines.kernel.compare import DROPPED_CODE, SENT_CODE, UNKNOWN_CODE, mask_lost, with_tables
from sojourn.engines.kernel.pattern import MTU
from sojourn.engines.kernel.patterns import NAMES, pattern
from sojourn.io.traces.arrivals import Arrivals

PATTERNS = 120


@pytest.mark.parametrize("aqm", NAMES)
def test_our_parser_accepts_every_line(aqm: str, tmp_path: Path) -> None:
    for number in range(PATTERNS):
        made = pattern(aqm, 3, number, 10)
        if made.complete:
            assert _core.parse_aqm(with_tables(made.aqm, made, tmp_path)), made.aqm
        else:
            queue = _core.tc_queue(made.aqm, made.line, 5)
            assert queue["instead"] is None, made.line


def test_some_patterns_of_netem_have_tables(tmp_path: Path) -> None:
    made = [one for number in range(PATTERNS) if (one := pattern("netem", 3, number, 10)).tables]
    assert len(made) > PATTERNS / 20
    for one in made:
        named = [name for name in one.tables if f"distribution {name}" in one.line]
        aqm = with_tables(one.aqm, one, tmp_path)
        assert named
        assert all(f"distribution {name}" in one.aqm and f"distribution {tmp_path / name}" in aqm for name in named)


def test_patterns_are_untidy() -> None:
    made = [pattern("red", 5, number, 300) for number in range(PATTERNS)]
    whole = [one for one in made if 1000 * 8 * 10**6 % one.rate == 0]
    assert len(whole) < PATTERNS / 20, "packets that take whole microseconds"
    assert len({size for one in made for _, size, *_ in one.packets}) > 500
    words = [dict(zip(one.line.split()[1:], one.line.split()[2:], strict=False)) for one in made]
    given = {name: [word[name] for word in words if name in word] for name in ("avpkt", "bandwidth", "burst", "min")}
    assert all(PATTERNS / 2 < len(values) < PATTERNS for name, values in given.items() if name != "avpkt")
    assert len(set(given["avpkt"])) > 20
    assert len({int(size) % 1500 for size in given["min"]}) > PATTERNS / 2
    assert all(size <= MTU for one in made for _, size, *_ in one.packets)
    # Idle times from below a millisecond to seconds, which age an average slightly and completely.
    gaps = np.concatenate([np.diff([at for at, *_ in one.packets]) for one in made])
    decades = np.bincount(np.log10(gaps).astype(int), minlength=10)
    assert (decades[5:10] > 0).all(), decades


def test_packets_after_a_lost_packet_are_not_compared() -> None:
    fates = {"fate": np.array([SENT_CODE, DROPPED_CODE, DROPPED_CODE, SENT_CODE], np.uint8)}
    arrivals = Arrivals("", {}, {}, {**fates, "fate_ns": np.array([5, 6, 0, 7], np.uint64)})
    mask_lost(arrivals)
    assert fates["fate"].tolist() == [SENT_CODE, DROPPED_CODE, UNKNOWN_CODE, UNKNOWN_CODE]
    mask_lost(Arrivals("", {}, {}, {**fates, "fate_ns": np.array([5, 6, 8, 7], np.uint64)}))
    assert fates["fate"].tolist() == [SENT_CODE, DROPPED_CODE, UNKNOWN_CODE, UNKNOWN_CODE]
