"""Write test scripts of media congestion controls: synthetic reports and expected rates.

`python tests/media/generate.py` writes crates/media/tests/controls/NAME.txt; crates/media/tests/controls.rs replays
each file to the control of that name. This second implementation is written from the documents in another style:
everything is recomputed at each report from all packets so far.

A line is `begin LEAST START MOST FPS` (bit/s), `packet SEQ BYTES SENT ARRIVED MARKED` (ns; `-` for a lost one; then the
number of its probe, if any), `report NOW MADE` after the packets in the report, or `rates WAITING TARGET PACING` after
that. Controls with a window also have `frame AT BYTES WAITED` and `sent AT BYTES IN_FLIGHT WAITING`, in order of time,
the bytes in flight after `report NOW MADE`, and the window after the rates (-1: none). `NAME+ect0.txt` has packets
with ECT(0).
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from draft02 import Draft02  # noqa: E402
from gcc import Gcc  # noqa: E402
from libwebrtc import LibWebrtc  # noqa: E402
from nada import Nada  # noqa: E402
from scream import Scream1, Scream2  # noqa: E402

SCRIPTS_FOLDER = HERE.parents[1] / "crates" / "media" / "tests" / "controls"
MS = 1_000_000


class Packet(NamedTuple):
    """A packet: times in ns, `arrived` None for a lost one."""

    seq: int
    bytes: int
    sent: int
    arrived: int | None
    marked: bool
    probe: int | None = None


def reports(seed: int, *, lossy: bool = False, steep: float = 1.0) -> list[tuple[int, int, list[Packet]]]:
    """Return reports (arrival, creation, packets) of a path whose queue sometimes grows, drops and marks.

    If `lossy`, the queue hardly grows, and up to a third is lost for some time. `steep` is a factor of its growth.
    """
    draw = random.Random(seed)
    found, seq, clock, queue, last, made = [], 0, 3 * MS, 0.0, 0, 0
    for number in range(130):
        phase = number // 9 % 5
        packets = []
        for _ in range(draw.randint(1, 24)):
            clock += draw.randint(100_000, 9 * MS)
            drift = {0: -3.0, 1: 0.4, 2: 1.1, 3: -0.5, 4: 0.1}[phase]
            queue = 3 * draw.random() if lossy else min(max(queue + steep * drift * draw.random(), 0.0), 260.0 * steep)
            share = {0: 0.0, 1: 0.33, 2: 0.12, 3: 0.02, 4: 0.0}[phase] if lossy else 0.04 if phase == 2 else 0.0
            lost = draw.random() < (0.3 if number == 99 else share)
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
    """Input of a control: seed of the reports, rates of the source in bit/s, frames per second."""

    control: Callable[[], Any]
    seed: int
    min_rate: float
    start: float
    max_rate: float
    fps: int
    has_window: bool = False
    probes: bool = False
    steep: float = 1.0


SCRIPTS = {
    "nada@rfc8698": Script(lambda: Nada(of_ns3=False), 7919, 151e3, 151e3, 1.53e6, 30),
    "nada@ns3-rmcat": Script(lambda: Nada(of_ns3=True), 104_729, 77e3, 303e3, 2.9e6, 24),
    "gcc@unprobed": Script(Gcc, 15_485_863, 61e3, 1.9e6, 2.3e6, 30),
    "gcc@draft02": Script(Draft02, 141_650_939, 73e3, 910e3, 2.7e6, 30, steep=17.0),
    "gcc@draft02-scaled": Script(lambda: Draft02(most_deltas=60), 160_481_183, 73e3, 910e3, 2.7e6, 24),
    "gcc@libwebrtc": Script(LibWebrtc, 86_028_121, 61e3, 290e3, 3.1e6, 30, probes=True),
    "scream@rfc8298": Script(Scream1, 32_452_843, 83e3, 410e3, 2.7e6, 25, has_window=True),
    "scream@v2+ect1": Script(lambda: Scream2(is_l4s=True), 49_979_687, 67e3, 510e3, 2.9e6, 24, has_window=True),
    "scream@v2+ect0": Script(lambda: Scream2(is_l4s=False), 67_867_967, 91e3, 350e3, 1.1e6, 30, has_window=True),
}


def script(name: str) -> str:
    """Return the script of a control."""
    made, seed, min_rate, start, max_rate, fps, has_window, probes, steep = SCRIPTS[name]
    if has_window:
        return script_with_window(name)
    draw, control = random.Random(seed + 1), made()
    control.begin(min_rate, start, max_rate, fps)
    lines = [f"begin {min_rate!r} {start!r} {max_rate!r} {fps}"]
    for number, (now, at, packets) in enumerate(reports(seed, lossy=probes, steep=steep)):
        if probes and number < 24:
            packets = [p._replace(probe=number // 3 if draw.random() < 0.7 else None) for p in packets]
        lines += [packet_line(p) for p in packets]
        lines.append(f"report {now} {at}")
        control.report(now, at, packets)
        waiting = draw.choice([0, draw.randint(0, 20_000)])
        target, pacing = control.rates(waiting)
        lines.append(f"rates {waiting} {target!r} {pacing!r}")
    return "\n".join(lines) + "\n"


def script_with_window(name: str) -> str:
    """Return the script of a control with a window, with frames and packets between the reports."""
    made, seed, min_rate, start, max_rate, fps, *_ = SCRIPTS[name]
    draw, control = random.Random(seed + 1), made()
    control.begin(min_rate, start, max_rate, fps)
    lines = [f"begin {min_rate!r} {start!r} {max_rate!r} {fps}"]
    feedback = reports(seed)
    packets = [p for _, _, of_report in feedback for p in of_report]
    events: list[tuple[int, int, Any]] = [(now, 2, (at, of_report)) for now, at, of_report in feedback]
    while packets:
        count = draw.randint(1, 5)
        frame, packets = packets[:count], packets[count:]
        waited = draw.choice([0, 0, draw.randint(0, 90 * MS)])
        events.append((frame[0].sent, 0, (sum(p.bytes for p in frame), waited)))
        events += [(p.sent, 1, (p.bytes, draw.choice([0, draw.randint(0, 9000)]))) for p in frame]
    in_flight = waiting = 0
    for now, kind, payload in sorted(events, key=lambda event: event[:2]):
        control.tick(now, waiting)
        if kind == 0:
            lines.append(f"frame {now} {payload[0]} {payload[1]}")
            control.frame(now, *payload)
        elif kind == 1:
            in_flight, waiting = in_flight + payload[0], payload[1]
            lines.append(f"sent {now} {payload[0]} {in_flight} {waiting}")
            control.sent(now, payload[0], in_flight)
        else:
            at, of_report = payload
            in_flight -= sum(p.bytes for p in of_report)
            lines += [packet_line(p) for p in of_report] + [f"report {now} {at} {in_flight}"]
            control.report(now, at, of_report, in_flight)
            target, pacing = control.rates(waiting)
            lines.append(f"rates {waiting} {target!r} {pacing!r} {control.window()}")
    return "\n".join(lines) + "\n"


def packet_line(p: Packet) -> str:
    """Return the line of a packet in a report."""
    probe = "" if p.probe is None else f" {p.probe}"
    return f"packet {p.seq} {p.bytes} {p.sent} {'-' if p.arrived is None else p.arrived} {int(p.marked)}{probe}"


if __name__ == "__main__":
    for name in SCRIPTS:
        (SCRIPTS_FOLDER / f"{name}.txt").write_text(script(name))
