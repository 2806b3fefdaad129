"""Self-test of a built kernel: reproducible runs and exact departure times."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sojourn.base.errors import MissingError
from sojourn.engines.kernel.cache import Kernel
from sojourn.engines.kernel.guest import boot, job_folder
from sojourn.engines.kernel.trace import EVENT, OFFERED, REFUSED, SENT, TCP_FLAGS, read_trace

RATE, BYTES, LIMIT, COUNT = 10_000_000, 1250, 5, 8
OURS = f"sojourn limit {LIMIT}packets droptail"
START_NS = 2_000_333_333
AFTER_NS = 20 * 10**9
"""Time from the burst to the end of the run, after the last departure."""
_QDISC = f"exec tc qdisc add dev f root handle 1: prio bands 2 priomap {' '.join('0' * 16)}"


def run(kernel: Kernel) -> None:
    """Boot a kernel with a burst into a short queue, twice its own and once ours; raises `MissingError` if it fails."""
    first, second, ours = (_burst(kernel, line) for line in (*2 * (f"pfifo limit {LIMIT}",), OURS))
    if first != second:
        raise MissingError("two runs of the kernel differ; its results cannot be used")
    if first != ours:
        raise MissingError(f"the kernel's tail drop and ours ({OURS}) differ; its results cannot be used")
    events = np.frombuffer(first, EVENT)
    sent = events["at"][events["what"] == SENT] - START_NS
    gap = BYTES * 8 * 10**9 // RATE
    expected = [number * gap for number in range(LIMIT + 1)]
    counts = [int((events["what"] == what).sum()) for what in (OFFERED, REFUSED)]
    if sent.tolist() != expected or counts != [COUNT, COUNT - LIMIT - 1]:
        failure = f"sent packets at {sent.tolist()} ns instead of {expected} and dropped {counts[1]} of {counts[0]}"
        raise MissingError(f"the kernel {failure}; its results cannot be used")


def _burst(kernel: Kernel, line: str) -> bytes:
    with job_folder() as folder:
        arrivals = "".join(f"{START_NS + number} {BYTES} 1000 0 0 0 1 2\n" for number in range(COUNT))
        files = {"job": _job(folder, line), "arrivals": arrivals}
        boot(kernel, folder, files, seed=1)
        events = read_trace(folder / "trace").copy()
    events["flags"] &= (1 << TCP_FLAGS) - 1  # only our drops have reasons
    return bytes(events.tobytes())


def _job(folder: Path, line: str) -> str:
    lines = [
        "exec ip link add f type sojourn",
        f"link f 0 0 0 0 0 0 0 0 {RATE}",
        "exec ip link set f.p up",
        "exec ip link set f up",
        _QDISC,
        f"exec tc qdisc add dev f parent 1:1 handle 10: {line}",
        f"trace f {folder}/trace",
        f"replay f arrivals told {START_NS + AFTER_NS}",
        "flush f",
    ]
    return "\n".join([*lines, ""])
