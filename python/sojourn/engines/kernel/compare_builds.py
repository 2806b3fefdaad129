"""Comparison of two kernels, or of a discipline of Linux and a user's file, on the same random arrivals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn import _core
from sojourn.base.errors import InputError, MissingError
from sojourn.engines.kernel import cache
from sojourn.engines.kernel.cache import Kernel, Own
from sojourn.engines.kernel.compare import (
    DROPPED_CODE,
    LOSES_PACKETS,
    MARKED_CODE,
    SENT_CODE,
    UNKNOWN_CODE,
    Agreement,
    Key,
    in_batches,
    mask_lost,
    our_aqm,
    record,
    state_before,
)
from sojourn.engines.kernel.own_qdisc import TC
from sojourn.engines.kernel.pattern import MTU, Pattern
from sojourn.engines.kernel.patterns import ALIASES, LINES, pattern, supports
from sojourn.io.traces.arrivals import Arrivals
from sojourn.model.results.words import ECN
from sojourn.studies.difference import Difference

if TYPE_CHECKING:
    import numpy.typing as npt

NEVER_REACHED = "20000packets"
VERDICTS = {SENT_CODE: "pass", MARKED_CODE: "mark", DROPPED_CODE: "drop"}


@dataclass(frozen=True)
class Build:
    """A kernel, and the discipline of a user's file that is compared in place of Linux's."""

    kernel: Kernel
    own: str = ""
    """Name of that discipline, or `sojourn` for Sojourn's of the same arithmetic; Linux's own if empty."""

    @property
    def name(self) -> str:
        """Name in tables."""
        return f"Linux {self.kernel.version}{f' with {self.own}' if self.own else ''}"

    def of(self, one: Pattern) -> Pattern:
        """A pattern with this build's discipline."""
        if self.own == TC:
            ours = _core.tc_queue(our_aqm(one.aqm, self.kernel), one.line, None)
            # A discipline with queues per flow has a limit of its own.
            limit = ours["limit"].replace(" ", "").replace("unlimited", NEVER_REACHED)
            return replace(one, line=f"{TC} limit {limit} rate {one.rate}bit mtu {MTU} {ours['aqm']}")
        return replace(one, line=f"{self.own} like {one.line}") if self.own else one


def parse(text: str, place: Path) -> list[Build]:
    """Two builds, as in `6.1,6.12`, `6.1,6.1:mine`, `6.1,DIR/6.1` or `6.1,6.1:sojourn`.

    Raises `InputError`, or `MissingError` for one that is not built.
    """
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or not all(parts):
        raise InputError(f'--builds: "{text}" are not two kernels; write e.g. 6.1,6.12 or 6.1,6.1:mine')
    return [
        Build(cache.built(version, folder or place, Own(frozenset({own} - {"", TC}))), own)
        for folder, version, own in [_named(part) for part in parts]
    ]


def _named(text: str) -> tuple[Path | None, str, str]:
    """Folder, version and user's discipline of `DIR/VERSION:NAME`."""
    build, _, own = text.partition(":")
    folder, _, version = build.rpartition("/")
    if version not in cache.VERSIONS:
        raise InputError(f"--builds: unknown version {version}; expected one of {', '.join(cache.VERSIONS)}")
    return Path(folder) if folder else None, version, own


def compare_builds(
    builds: Sequence[Build],
    aqms: Sequence[str],
    *,
    patterns: int,
    packets: int,
    seed: int,
    jobs: int,
    progress: Callable[[float, int, int], None] | None = None,
) -> list[Agreement]:
    """Send random patterns through the disciplines of two builds, and compare the fates and their times.

    Raises `MissingError` if one of the kernels lacks a discipline.
    """
    for build in builds:
        for aqm in aqms:
            if not supports(build.kernel.version, aqm):
                raise MissingError(f"{aqm}: {build.name} does not have it; leave it out of --aqm")
            if build.own == TC and ALIASES.get(aqm, aqm) not in LINES:
                raise InputError(f"{aqm}: is not compared with {TC}, which has no filters; choose {', '.join(LINES)}")
    drawn = {(aqm, number): pattern(aqm, seed, number, packets) for aqm in aqms for number in range(patterns)}
    results = {aqm: Agreement(aqm) for aqm in aqms}

    def play(keys: Sequence[Key]) -> list[Difference]:
        return _compared(builds, [drawn[key] for key in keys])

    for keys, found in in_batches(list(drawn), play, jobs, progress):
        for (aqm, number), one in zip(keys, found, strict=True):
            results[aqm].add(number, drawn[aqm, number], one)
    return list(results.values())


def _compared(builds: Sequence[Build], drawn: Sequence[Pattern]) -> list[Difference]:
    """Play patterns under two builds, one after the other."""
    recorded = [record(build.kernel, [build.of(one) for one in drawn]) for build in builds]
    differences = []
    for index, (one, *pair) in enumerate(zip(drawn, *recorded, strict=True)):
        if one.line.split()[0] in LOSES_PACKETS:
            for arrivals in pair:
                mask_lost(arrivals)
        found = _difference(builds, one, pair)
        if found.first_difference:
            _add_states(found.first_difference, builds, drawn[: index + 1], pair[0])
        differences.append(found)
    return differences


def _difference(builds: Sequence[Build], one: Pattern, pair: Sequence[Arrivals]) -> Difference:
    """Compare the fates of a pattern's packets under two builds."""
    fates = [_recorded(arrivals, "fate") for arrivals in pair]
    times = [_recorded(arrivals, "fate_ns") for arrivals in pair]
    count = min(map(len, fates))
    known = np.flatnonzero((fates[0][:count] == UNKNOWN_CODE) | (fates[1][:count] == UNKNOWN_CODE))
    count = int(known[0]) if len(known) else count
    same = fates[0][:count] == fates[1][:count]
    equal = same & (times[0][:count] == times[1][:count])
    differing = np.flatnonzero(~equal)
    first = None
    if len(differing):
        at = np.minimum(times[0][differing], times[1][differing])
        first = _first(int(differing[np.argmin(at)]), pair)
    a, b = (f"{build.name}: {build.of(one).line}" for build in builds)
    return Difference(
        a,
        b,
        f"{len(one.packets)} synthetic arrivals, {_core.spelled_rate(f'{one.rate} bit/s')}",
        count,
        int(equal.sum()),
        int(same.sum()),
        0,
        first,
    )


def _first(index: int, pair: Sequence[Arrivals]) -> dict[str, Any]:
    """The first packet that two builds treat differently, as in `sojourn aqm diff`."""
    columns = pair[0].columns
    fates = [_fate(arrivals, index) for arrivals in pair]
    at = min(int(_recorded(arrivals, "fate_ns")[index]) for arrivals in pair)
    return {
        "index": index,
        "arrival": {
            "time_ns": int(columns["time_ns"][index]),
            "flow": int(columns["flow"][index]),
            "bytes": int(columns["bytes"][index]),
            "ecn": ECN[int(columns["ecn"][index])],
        },
        "at_ns": at,
        "clock_ns": at,
        "a": fates[0],
        "b": fates[1],
    }


def _fate(arrivals: Arrivals, index: int) -> dict[str, Any]:
    code, at = int(_recorded(arrivals, "fate")[index]), int(_recorded(arrivals, "fate_ns")[index])
    was_sent = code in (SENT_CODE, MARKED_CODE)
    return {
        "verdict": VERDICTS[code],
        "departure_ns": at if was_sent else None,
        "dropped_ns": None if was_sent else at,
        "reason": None,
        "state": None,
    }


def _add_states(first: dict[str, Any], builds: Sequence[Build], before: Sequence[Pattern], played: Arrivals) -> None:
    """Add the state that each build's tc shows just before the difference, by playing the arrivals until then again."""
    start = int(played.columns["time_ns"][0]) - before[-1].packets[0].at
    stop = first["at_ns"] - 1
    last = before[-1]
    kept = [packet for packet in last.packets if start + packet.at <= stop]
    if not kept:
        return
    for key, build in zip("ab", builds, strict=True):
        patterns = [build.of(one) for one in (*before[:-1], replace(last, packets=kept))]
        like = "" if build.own in ("", TC) else last.line.split()[0]
        shown = state_before(build.kernel, patterns, stop, like=like)
        first[key]["state"] = dict(_numbers("", shown))


def _numbers(name: str, value: Any) -> Iterator[tuple[str, float]]:
    """Yield the numbers of a tree with their path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _numbers(f"{name}.{key}" if name else key, inner)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield name, float(value)


def _recorded(arrivals: Arrivals, column: str) -> npt.NDArray[Any]:
    assert arrivals.recorded is not None
    return arrivals.recorded[column]
