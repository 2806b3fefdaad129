"""Our queue disciplines beside the kernel's, packet by packet, on arrivals made up now."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.base.errors import MissingError
from sojourn.base.files import temporary_folder
from sojourn.engines.kernel.cache import VERSIONS, Kernel
from sojourn.engines.kernel.guest import boot, job_folder
from sojourn.engines.kernel.made import MTU, Naming, Pattern
from sojourn.engines.kernel.netlink import is_set_by_netlink, job_line
from sojourn.engines.kernel.patterns import has, pattern
from sojourn.engines.kernel.trace import OFFERED, SENT, read_trace
from sojourn.io.traces.arrivals import TOLD_OF_ALL, Arrivals
from sojourn.model.aqms.spelling import escape
from sojourn.studies.difference import Difference, compare_arrivals

if TYPE_CHECKING:
    import numpy.typing as npt

BATCH = 50
"""Patterns that one guest plays."""
FIRST_NS = 2_000_333_333
REST_NS = 20 * 10**9
"""From when a queue has run empty to the end of its pattern, on the guest's clock: what runs by timers runs on."""
BETWEEN_NS = 10 * 10**9
"""From there to the next pattern: the queue is replaced."""
SENT_CODE, MARKED_CODE, DROPPED_CODE, UNKNOWN_CODE = 0, 1, 9, 10
"""As `_core.diff` takes recorded fates."""
CE = 3
NAMED = 8
"""Flag of a link, as sojourn-kernel's sojourn.h has it: a packet's mark is its hash, and its memory its size."""
PROFILES = {"6.1": ("@linux-6.1", ("cake", "cobalt", "fq")), "7.3": ("@linux-7.3", ("cake", "cobalt"))}
"""By version of the kernel: the profile for it, and those of ours that have it, which their patterns call @linux."""
LOSES_PACKETS = ("choke",)
"""Disciplines whose queue in the kernel may never give packets back.

CHOKe's is a ring in which a packet drawn and dropped leaves a hole. It looks at the number of packets only, so where
holes abound its tail can come round to its head, and what lies between is forgotten. From the first packet on that is,
nothing can be compared: the kernel also counts what it has forgotten as its backlog.
"""


@dataclass
class Agreement:
    """How far one discipline of ours agrees with the kernel's."""

    aqm: str
    """The kernel's name."""
    patterns: int = 0
    agreeing_patterns: int = 0
    packets: int = 0
    agreeing: int = 0
    first: Difference | None = None
    """Of the first pattern that differs, in the order of their numbers."""
    first_pattern: int | None = None
    left_out: dict[int, int] = field(default_factory=dict)
    """By pattern: packets from the first one on that the kernel's own queue lost (`LOSES_PACKETS`)."""
    lines: dict[int, str] = field(default_factory=dict)
    """tc's words of the patterns that differ, by their number."""

    @property
    def percent(self) -> float:
        """Packets with the same fate at the same instant, in percent."""
        return 100 * self.agreeing / self.packets if self.packets else 100.0

    def add(self, number: int, made: Pattern, found: Difference) -> None:
        """Count a pattern."""
        self.patterns += 1
        if found.packets < len(made.packets):
            self.left_out[number] = len(made.packets) - found.packets
        self.packets += found.packets
        self.agreeing += found.agreeing
        if found.agreeing == found.packets:
            self.agreeing_patterns += 1
            return
        self.lines[number] = made.line
        if self.first_pattern is None or number < self.first_pattern:
            self.first, self.first_pattern = found, number

    def to_dict(self) -> dict[str, Any]:
        """Everything, for `--json`."""
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
    """Play made-up patterns through the kernel's disciplines, then the same arrivals through ours."""
    for aqm in aqms:
        if not has(kernel.version, aqm):
            newest = VERSIONS[-1]
            raise MissingError(f"{aqm}: Linux {kernel.version} does not have it; take --version {newest}, built before")
    made = {(aqm, number): pattern(aqm, seed, number, packets) for aqm in aqms for number in range(patterns)}
    keys = list(made)
    batches = [keys[first : first + BATCH] for first in range(0, len(keys), BATCH)]
    found = {aqm: Agreement(aqm) for aqm in aqms}
    with temporary_folder("sojourn-tables-") as folder, ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(recorded, kernel, [made[key] for key in batch]): batch for batch in batches}
        try:
            for done, future in enumerate(as_completed(futures), 1):
                for (aqm, number), arrivals in zip(futures[future], future.result(), strict=True):
                    one = made[aqm, number]
                    if aqm in LOSES_PACKETS:
                        leave_out_lost(arrivals)
                    found[aqm].add(
                        number, one, compare_arrivals(arrivals, with_tables(ours(one.aqm, kernel), one, folder))
                    )
                if progress:
                    progress(done / len(batches), done, len(batches))
        except BaseException:
            for future in futures:
                future.cancel()
            raise
    return list(found.values())


def ours(aqm: str, kernel: Kernel) -> str:
    """Our queue manager as this kernel has it."""
    profile, names = PROFILES.get(".".join(kernel.version.split(".")[:2]), ("@linux", ()))
    return aqm.replace("@linux", profile, 1) if aqm.split("@")[0] in names else aqm


def with_tables(aqm: str, one: Pattern, folder: Path) -> str:
    """Our queue manager with the tables of its pattern in files of `folder`."""
    for name, text in one.tables.items():
        (folder / name).write_text(text)
        aqm = aqm.replace(f"distribution {name}", f"distribution {escape(str(folder / name))}")
    return aqm


def recorded(kernel: Kernel, patterns: Sequence[Pattern]) -> list[Arrivals]:
    """What the kernel's disciplines make of patterns, one after the other in one guest."""
    with job_folder() as folder:
        files = _files(patterns, folder)
        boot(kernel, folder, files, seed=1)
        return [_arrivals(folder, number, one) for number, one in enumerate(patterns)]


def leave_out_lost(arrivals: Arrivals) -> None:
    """Say of the first packet that never left the kernel's queue, and of all after it, that nothing is known.

    Those before it were decided before the queue lost it.
    """
    assert arrivals.recorded is not None
    lost = np.flatnonzero(arrivals.recorded["fate_ns"] == 0)
    if len(lost):
        arrivals.recorded["fate"][lost[0] :] = UNKNOWN_CODE


def _files(patterns: Sequence[Pattern], folder: Path) -> dict[str, str | bytes]:
    files: dict[str, str | bytes] = {}
    # Until its first tick the kernel fires a timer of nanoseconds at the next tick only (`hrtimer_switch_to_hres`).
    job = ["exec sleep 0.01"]
    queues = 0
    for number, (one, start) in enumerate(zip(patterns, _starts(patterns), strict=True)):
        files[f"arrivals.{number}"] = "".join(one.arrivals(start))
        if one.queues == queues:
            # What draws when it is made begins with the first draws, and what is deleted may draw as well.
            job.append("exec tc qdisc del dev f root")
        else:
            job += ["exec ip link del f"] if queues else []
            job += _device(one.queues)
            queues = one.queues
        # A device with several queues has a link that does not limit.
        rate = f" 0 {one.rate}" if one.queues == 1 else ""
        job += [
            f"link f 0 {one.overhead} 0 0 0 {_flags(one)} 0{rate}",
            f"note created.{number} mono",
            f"random f {one.seed}",
        ]
        files[f"tc.{number}"], lines = _queue(one)
        files |= {f"{name}.dist": text for name, text in one.tables.items()}
        # Where tc looks for tables.
        tc = "env TC_LIB_DIR=. tc" if one.tables else "tc"
        job += [f"exec {tc} -batch tc.{number}"] if files[f"tc.{number}"] else []
        job += [
            *lines,
            f"trace f {folder}/trace.{number}",
            f"replay f arrivals.{number} told.{number} {start + one.length_ns + REST_NS}",
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
    """A discipline as a batch for tc, and lines of the job behind it.

    It is the only class of a root that is never passed by, or itself the root of several queues.
    """
    if one.queues > 1:
        return "", [job_line("f", "root", "10:", one.line)]
    root = f"qdisc add dev f root handle 1: prio bands 2 priomap {' '.join('0' * 16)}\n"
    behind = "".join(one.behind("f"))
    if is_set_by_netlink(one.line):
        return root + behind, [job_line("f", "1:1", "10:", one.line)]
    return f"{root}qdisc add dev f parent 1:1 handle 10: {one.line}\n{behind}", []


def _flags(one: Pattern) -> int:
    """Where flows are named by priority, all is as on any link."""
    return 0 if one.naming == Naming.PRIORITY else NAMED


def _starts(patterns: Sequence[Pattern]) -> Iterator[int]:
    """Start of each pattern on the guest's clock, at different phases of its ticks."""
    at = FIRST_NS
    for one in patterns:
        yield at
        at += one.length_ns + REST_NS + BETWEEN_NS


def _arrivals(folder: Path, number: int, one: Pattern) -> Arrivals:
    events = read_trace(folder / f"trace.{number}")
    came = events[events["what"] == OFFERED]
    fates, times = _fates(events, came)
    copy = _copies(came) if one.copies else np.zeros(len(came), bool)
    if (sent := len(came) - int(copy.sum())) != len(one.packets):
        raise MissingError(f"the guest sent {sent} of {len(one.packets)} packets of pattern {number}")
    of = np.cumsum(~copy) - 1
    flow, dscp, from_host, to_host = (
        np.array([getattr(packet, name) for packet in one.packets], np.uint32)[of]
        for name in ("flow", "dscp", "source", "destination")
    )
    columns: dict[str, npt.NDArray[Any]] = {
        "time_ns": came["at"].copy(),
        "bytes": came["bytes"].copy(),
        "flow": flow,
        "ecn": came["ecn"].copy(),
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
        "told": TOLD_OF_ALL,
        "drops_on_arrival": False,
        "origin_ns": int(came["at"][0]),
    }
    created = int((folder / f"created.{number}").read_text().split()[1])
    source = f"{len(came)} made-up arrivals"
    recorded_fates = {"fate": fates, "fate_ns": times}
    line = None if one.complete else one.line
    return Arrivals(source, columns, setup, recorded_fates, line, f"the kernel's {one.line}", created)


def _copies(came: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Which of the packets are the second of two: those that come at the instant of the one before, as no others do."""
    copy = np.zeros(len(came), bool)
    copy[1:] = came["at"][1:] == came["at"][:-1]
    return copy


def _fates(events: npt.NDArray[Any], came: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Code and instant of each packet's end."""
    ends = events[events["what"] != OFFERED]
    fates = np.full(len(came), DROPPED_CODE, np.uint8)
    times = np.zeros(len(came), np.uint64)
    marked = (ends["ecn"] == CE) & (came["ecn"][ends["id"]] != CE)
    fates[ends["id"]] = np.where(ends["what"] == SENT, np.where(marked, MARKED_CODE, SENT_CODE), DROPPED_CODE)
    times[ends["id"]] = ends["at"]
    return fates, times
