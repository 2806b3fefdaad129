"""Comparison of our queue disciplines with the kernel's, packet by packet, on random arrivals."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from sojourn.base.errors import MissingError
from sojourn.base.files import temporary_folder
from sojourn.engines.kernel.cache import VERSIONS, Kernel
from sojourn.engines.kernel.guest import boot, job_folder
from sojourn.engines.kernel.netlink import is_set_by_netlink, job_line
from sojourn.engines.kernel.pattern import MTU, Naming, Pattern
from sojourn.engines.kernel.patterns import pattern, supports
from sojourn.engines.kernel.trace import OFFERED, SENT, read_trace
from sojourn.io.traces.arrivals import NOTIFY_ALL_DROPS, Arrivals
from sojourn.model.aqms.spelling import escape
from sojourn.studies.difference import Difference, compare_arrivals

if TYPE_CHECKING:
    import numpy.typing as npt

Key = tuple[str, int]
"""Discipline and number of a pattern."""
Outcome = TypeVar("Outcome")
BATCH = 50
"""Patterns per guest."""
FIRST_NS = 2_000_333_333
REST_NS = 20 * 10**9
"""Guest time from an empty queue to the end of its pattern, during which timers go on."""
BETWEEN_NS = 10 * 10**9
"""Guest time until the next pattern, for replacing the queue."""
SENT_CODE, MARKED_CODE, DROPPED_CODE, UNKNOWN_CODE = 0, 1, 9, 10
"""Codes of recorded fates for `_core.diff`."""
CE = 3
NAMED_FLOWS = 8
"""Link flag of sojourn-kernel (sojourn.h): a packet's mark is its hash, and its truesize is its length."""
PROFILES = {"6.1": ("@linux-6.1", ("cake", "cobalt", "fq")), "7.3": ("@linux-7.3", ("cake", "cobalt"))}
"""By kernel version: our profile for it, and the queue managers that have this profile (@linux in their patterns)."""
LOSES_PACKETS = ("choke",)
"""Disciplines that may lose packets in the kernel.

CHOKe's queue is a ring in which a randomly dropped packet leaves a hole. It checks only the number of packets, so with
many holes its tail can wrap around to its head, and the packets in between are lost. From the first lost packet on
nothing can be compared, because the kernel still counts lost packets in its backlog.
"""


@dataclass(frozen=True)
class Look:
    """A look at the state of a guest's discipline."""

    at_ns: int
    like: str
    """Discipline whose part of tc reads the state of a user's; tc's own of that name if empty."""


@dataclass
class Agreement:
    """Agreement of one of our disciplines with the kernel's."""

    aqm: str
    """Name in the kernel."""
    patterns: int = 0
    agreeing_patterns: int = 0
    packets: int = 0
    agreeing: int = 0
    first: Difference | None = None
    """First difference of the pattern with the lowest number that differs."""
    first_pattern: int | None = None
    left_out: dict[int, int] = field(default_factory=dict)
    """Packets by pattern from the first one that the kernel's queue lost (`LOSES_PACKETS`)."""
    lines: dict[int, str] = field(default_factory=dict)
    """tc configuration of the patterns that differ, by number."""

    @property
    def percent(self) -> float:
        """Packets with the same fate at the same time, in percent."""
        return 100 * self.agreeing / self.packets if self.packets else 100.0

    def add(self, number: int, random_patterns: Pattern, results: Difference) -> None:
        """Count the result of a pattern."""
        self.patterns += 1
        if results.packets < len(random_patterns.packets):
            self.left_out[number] = len(random_patterns.packets) - results.packets
        self.packets += results.packets
        self.agreeing += results.agreeing
        if results.agreeing == results.packets:
            self.agreeing_patterns += 1
            return
        self.lines[number] = random_patterns.line
        if self.first_pattern is None or number < self.first_pattern:
            self.first, self.first_pattern = results, number

    def to_dict(self) -> dict[str, Any]:
        """All fields, for `--json`."""
        return {
            "aqm": self.aqm,
            "agreement": self.percent,
            "patterns": self.patterns,
            "agreeing_patterns": self.agreeing_patterns,
            "packets": self.packets,
            "agreeing": self.agreeing,
            "left_out": {str(number): packets for number, packets in sorted(self.left_out.items())},
            "differing": {str(number): line for number, line in sorted(self.lines.items())},
            "first_pattern": self.first_pattern,
            "first_difference": self.first.to_dict() if self.first else None,
        }


def compare(
    kernel: Kernel,
    aqms: Sequence[str],
    *,
    patterns: int,
    packets: int,
    seed: int,
    jobs: int,
    progress: Callable[[float, int, int], None] | None = None,
) -> list[Agreement]:
    """Send random patterns through the kernel's disciplines and the same arrivals through ours.

    Raises `MissingError` if the kernel lacks a discipline.
    """
    for aqm in aqms:
        if not supports(kernel.version, aqm):
            newest = VERSIONS[-1]
            raise MissingError(f"{aqm}: Linux {kernel.version} does not have it; use --version {newest}, built first")
    drawn = {(aqm, number): pattern(aqm, seed, number, packets) for aqm in aqms for number in range(patterns)}
    results = {aqm: Agreement(aqm) for aqm in aqms}
    with temporary_folder("sojourn-tables-") as folder:

        def play(keys: Sequence[Key]) -> list[Arrivals]:
            return record(kernel, [drawn[key] for key in keys])

        for keys, recorded in in_batches(list(drawn), play, jobs, progress):
            for (aqm, number), arrivals in zip(keys, recorded, strict=True):
                one = drawn[aqm, number]
                if aqm in LOSES_PACKETS:
                    mask_lost(arrivals)
                ours = with_tables(our_aqm(one.aqm, kernel), one, folder)
                results[aqm].add(number, one, compare_arrivals(arrivals, ours))
    return list(results.values())


def in_batches(
    keys: Sequence[Key],
    play: Callable[[Sequence[Key]], Outcome],
    jobs: int,
    progress: Callable[[float, int, int], None] | None,
) -> Iterator[tuple[Sequence[Key], Outcome]]:
    """Play the patterns of `keys` in batches, `jobs` at once, and yield the outcome of each when it ends."""
    batches = [keys[first : first + BATCH] for first in range(0, len(keys), BATCH)]
    with ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(play, batch): batch for batch in batches}
        try:
            for done, future in enumerate(as_completed(futures), 1):
                yield futures[future], future.result()
                if progress:
                    progress(done / len(batches), done, len(batches))
        except BaseException:
            for future in futures:
                future.cancel()
            raise


def our_aqm(aqm: str, kernel: Kernel) -> str:
    """Our queue manager with the profile of this kernel."""
    profile, names = PROFILES.get(".".join(kernel.version.split(".")[:2]), ("@linux", ()))
    return aqm.replace("@linux", profile, 1) if aqm.split("@")[0] in names else aqm


def with_tables(aqm: str, one: Pattern, folder: Path) -> str:
    """Our queue manager with its pattern's distribution tables written to `folder`."""
    for name, text in one.tables.items():
        (folder / name).write_text(text)
        aqm = aqm.replace(f"distribution {name}", f"distribution {escape(str(folder / name))}")
    return aqm


def record(kernel: Kernel, patterns: Sequence[Pattern]) -> list[Arrivals]:
    """Arrivals and fates of patterns in the kernel's disciplines, one after the other in one guest."""
    with job_folder() as folder:
        files = _files(patterns, folder)
        boot(kernel, folder, files, seed=1)
        return [_arrivals(folder, number, one) for number, one in enumerate(patterns)]


def state_before(kernel: Kernel, patterns: Sequence[Pattern], stop_ns: int, *, like: str = "") -> dict[str, Any]:
    """What tc shows of the last pattern's discipline at `stop_ns` of the guest's clock, after its arrivals.

    `like` is the discipline of tc that reads the state of a user's.
    """
    with job_folder() as folder:
        boot(kernel, folder, _files(patterns, folder, Look(stop_ns, like)), seed=1)
        console = (folder / "console").read_text(errors="replace").splitlines()
    shown = [json.loads(line) for line in console if line.startswith("[{")]
    found = [one for one in shown[-1] if one.get("handle") == "10:"] if shown else []
    return {key: value for key, value in found[0].items() if key != "handle"} if found else {}


def mask_lost(arrivals: Arrivals) -> None:
    """Set the fate of the first packet that the kernel's queue lost, and of all later ones, to unknown."""
    assert arrivals.recorded is not None
    lost = np.flatnonzero(arrivals.recorded["fate_ns"] == 0)
    if len(lost):
        arrivals.recorded["fate"][lost[0] :] = UNKNOWN_CODE


def _files(patterns: Sequence[Pattern], folder: Path, look: Look | None = None) -> dict[str, str | bytes]:
    """Files of a guest's job; a look ends the last pattern."""
    files: dict[str, str | bytes] = {}
    # Before its first tick the kernel's hrtimers have only tick resolution (`hrtimer_switch_to_hres`).
    job = ["exec sleep 0.01"]
    queues = 0
    for number, (one, start) in enumerate(zip(patterns, _starts(patterns), strict=True)):
        files[f"arrivals.{number}"] = "".join(one.arrivals(start))
        if one.queues == queues:
            # Delete the old queue before seeding, since deletion may draw; the new queue takes the first draws.
            job.append("exec tc qdisc del dev f root")
        else:
            job += ["exec ip link del f"] if queues else []
            job += _device(one.queues)
            queues = one.queues
        # The link of a multiqueue device has no rate limit.
        rate = f" 0 {one.rate}" if one.queues == 1 else ""
        job += [
            f"link f 0 {one.overhead} 0 0 0 {_flags(one)} 0{rate}",
            f"note created.{number} mono",
            f"random f {one.seed}",
        ]
        files[f"tc.{number}"], lines = _queue(one)
        files |= {f"{name}.dist": text for name, text in one.tables.items()}
        # TC_LIB_DIR: tc's folder of distribution tables.
        tc = "env TC_LIB_DIR=. tc" if one.tables else "tc"
        job += [f"exec {tc} -batch tc.{number}"] if files[f"tc.{number}"] else []
        looks = look if one is patterns[-1] else None
        end = looks.at_ns if looks else start + one.length_ns + REST_NS
        job += [
            *lines,
            f"trace f {folder}/trace.{number}",
            f"replay f arrivals.{number} told.{number} {end}",
            *([f"exec env SOJOURN_LIKE={looks.like} tc -s -j qdisc show dev f"] if looks else []),
            "flush f",
        ]
    files["job"] = "\n".join([*job, ""])
    return files


def _device(queues: int) -> list[str]:
    return [
        f"exec ip link add f {f'numtxqueues {queues} ' if queues > 1 else ''}type sojourn",
        f"exec ip link set f mtu {MTU}",
        "exec ip link set f.p up",
        "exec ip link set f up",
    ]


def _queue(one: Pattern) -> tuple[str, list[str]]:
    """A discipline as a tc batch, and further lines of the job.

    It is the only class of a `prio` root, because `TCQ_F_CAN_BYPASS` applies to roots only, or the root of a multiqueue
    device.
    """
    if one.queues > 1:
        return "", [job_line("f", "root", "10:", one.line)]
    root = f"qdisc add dev f root handle 1: prio bands 2 priomap {' '.join('0' * 16)}\n"
    after_qdisc = "".join(one.after_qdisc("f"))
    if is_set_by_netlink(one.line):
        return root + after_qdisc, [job_line("f", "1:1", "10:", one.line)]
    return f"{root}qdisc add dev f parent 1:1 handle 10: {one.line}\n{after_qdisc}", []


def _flags(one: Pattern) -> int:
    """Link flags; patterns that identify flows by priority need none."""
    return 0 if one.naming == Naming.PRIORITY else NAMED_FLOWS


def _starts(patterns: Sequence[Pattern]) -> Iterator[int]:
    """Yield the start of each pattern on the guest's clock, at different phases of its ticks."""
    at = FIRST_NS
    for one in patterns:
        yield at
        at += one.length_ns + REST_NS + BETWEEN_NS


def _arrivals(folder: Path, number: int, one: Pattern) -> Arrivals:
    events = read_trace(folder / f"trace.{number}")
    offered = events[events["what"] == OFFERED]
    fates, times = _fates(events, offered)
    copy = _copies(offered) if one.copies else np.zeros(len(offered), bool)
    if (sent := len(offered) - int(copy.sum())) != len(one.packets):
        raise MissingError(f"the guest sent {sent} of {len(one.packets)} packets of pattern {number}")
    of = np.cumsum(~copy) - 1
    flow, dscp, from_host, to_host = (
        np.array([getattr(packet, name) for packet in one.packets], np.uint32)[of]
        for name in ("flow", "dscp", "source", "destination")
    )
    columns: dict[str, npt.NDArray[Any]] = {
        "time_ns": offered["at"].copy(),
        "bytes": offered["bytes"].copy(),
        "flow": flow,
        "ecn": offered["ecn"].copy(),
        "from_host": from_host,
        "to_host": to_host,
        "dscp": dscp.astype(np.uint8),
    }
    if one.copies:
        columns["copy"] = copy
    setup = {
        "rate": f"{one.rate} bit/s",
        "overhead": one.overhead,
        "mtu": MTU,
        "limit": one.limit,
        "seed": one.seed,
        "kernel": True,
        "told": NOTIFY_ALL_DROPS,
        "drops_on_arrival": False,
        "origin_ns": int(offered["at"][0]),
    }
    created = int((folder / f"created.{number}").read_text().split()[1])
    source = f"{len(offered)} synthetic arrivals"
    recorded_fates = {"fate": fates, "fate_ns": times}
    line = None if one.complete else one.line
    return Arrivals(source, columns, setup, recorded_fates, line, f"the kernel's {one.line}", created)


def _copies(offered: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Mask of duplicates: only they arrive at the same time as the packet before."""
    copy = np.zeros(len(offered), bool)
    copy[1:] = offered["at"][1:] == offered["at"][:-1]
    return copy


def _fates(events: npt.NDArray[Any], offered: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Code and time of each packet's fate."""
    ends = events[events["what"] != OFFERED]
    fates = np.full(len(offered), DROPPED_CODE, np.uint8)
    times = np.zeros(len(offered), np.uint64)
    marked = (ends["ecn"] == CE) & (offered["ecn"][ends["id"]] != CE)
    fates[ends["id"]] = np.where(ends["what"] == SENT, np.where(marked, MARKED_CODE, SENT_CODE), DROPPED_CODE)
    times[ends["id"]] = ends["at"]
    return fates, times
