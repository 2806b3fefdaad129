"""Write what congestion controls of media have to answer to made-up reports.

`python tests/media/generate.py` writes crates/media/tests/controls/NAME.txt; crates/media/tests/controls.rs plays each
file to the control of that name. The rules are written here a second time, from the documents, and in another manner:
everything is computed anew from all packets so far at each report.

A line is `begin LEAST START MOST FPS` (bit/s), `packet SEQ BYTES SENT ARRIVED MARKED` (ns; `-` for a lost one),
`report NOW MADE` after the packets that it tells of, or `rates WAITING TARGET PACING` after that.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from gcc import Gcc  # noqa: E402
from nada import Nada  # noqa: E402

SCRIPTS_FOLDER = HERE.parents[1] / "crates" / "media" / "tests" / "controls"
MS = 1_000_000


class Packet(NamedTuple):
    """A packet: times in ns, `arrived` None for a lost one."""

    seq: int
    bytes: int
    sent: int
    arrived: int | None
    marked: bool


def reports(seed: int) -> list[tuple[int, int, list[Packet]]]:
    """Return reports (arrival, making, packets) of a path whose queue grows, loses and marks at times."""
    draw = random.Random(seed)
    found, seq, clock, queue, last, made = [], 0, 3 * MS, 0.0, 0, 0
    for number in range(130):
        phase = number // 9 % 5
        packets = []
        for _ in range(draw.randint(1, 24)):
            clock += draw.randint(100_000, 9 * MS)
            drift = {0: -3.0, 1: 0.4, 2: 1.1, 3: -0.5, 4: 0.1}[phase]
            queue = min(max(queue + drift * draw.random(), 0.0), 260.0)
            lost = draw.random() < (0.04 if phase == 2 else 0.3 if number == 99 else 0.0)
            last = max(last, clock + int((37.3 + queue + 2 * draw.random()) * MS))
            marked = phase == 4 and draw.random() < 0.05
            packets.append(Packet(seq, draw.randint(41, 1240), clock, None if lost else last, marked and not lost))
            seq += 1
        arrivals = [packet.arrived for packet in packets if packet.arrived is not None]
        if not arrivals:
            seq -= len(packets)
            continue
        made = max(made + 1, max(arrivals) + draw.randint(0, 30 * MS))
        found.append((made + 40 * MS, made, packets))
    return found


class Script(NamedTuple):
    """What is played to a control: seed of the reports, rates of the source in bit/s, frames per second."""

    control: Callable[[], Any]
    seed: int
    least: float
    start: float
    most: float
    fps: int


SCRIPTS = {
    "nada@rfc8698": Script(lambda: Nada(of_ns3=False), 7919, 151e3, 151e3, 1.53e6, 30),
    "nada@ns3-rmcat": Script(lambda: Nada(of_ns3=True), 104_729, 77e3, 303e3, 2.9e6, 24),
    "gcc@unprobed": Script(Gcc, 15_485_863, 61e3, 1.9e6, 2.3e6, 30),
}


def script(name: str) -> str:
    """Return the file of one control."""
    made, seed, least, start, most, fps = SCRIPTS[name]
    draw, control = random.Random(seed + 1), made()
    control.begin(least, start, most, fps)
    lines = [f"begin {least!r} {start!r} {most!r} {fps}"]
    for now, at, packets in reports(seed):
        for p in packets:
            lines.append(f"packet {p.seq} {p.bytes} {p.sent} {'-' if p.arrived is None else p.arrived} {int(p.marked)}")
        lines.append(f"report {now} {at}")
        control.report(now, at, packets)
        waiting = draw.choice([0, draw.randint(0, 20_000)])
        target, pacing = control.rates(waiting)
        lines.append(f"rates {waiting} {target!r} {pacing!r}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for name in SCRIPTS:
        (SCRIPTS_FOLDER / f"{name}.txt").write_text(script(name))
