"""qlog records of one TCP sender, as events of draft-ietf-quic-qlog-quic-events-02.

TCP has no event schema of its own. Each sent segment, retransmissions included, is a packet with its own number,
counted from 0; its payload is a frame of stream 0. An ACK is a packet that acknowledges those numbers. The event's
field `tcp` has what qlog lacks. QUIC senders are in `quic`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sojourn.model.results.words import LOSSES, SENDER_STATES, TIMERS

Row = dict[str, Any]
"""A row of a table of the probe `senders`, by column."""

VERSION, FORMAT = "0.3", "JSON-SEQ"
SEPARATOR = "\x1e"
"""Start of every record (RFC 7464)."""
FLAGS = {1: "syn", 2: "fin", 4: "ack", 8: "ece", 16: "cwr", 32: "psh", 128: "ae"}
"""Names of TCP flags by their bits in the tables."""
SYN, FIN, ACK = 1, 2, 4


@dataclass
class SenderEvent:
    """Rows of one event of a sender, by table."""

    acks: list[Row] = field(default_factory=list)
    ack_ranges: list[Row] = field(default_factory=list)
    losses: list[Row] = field(default_factory=list)
    segments: list[Row] = field(default_factory=list)
    senders: list[Row] = field(default_factory=list)


@dataclass
class _OutstandingSegment:
    """An unacknowledged segment: end of its data, numbers of its packets, and those that are lost."""

    end: int
    numbers: list[int]
    lost: set[int] = field(default_factory=set)

    def delivered(self) -> list[int]:
        return [number for number in self.numbers if number not in self.lost]


class Trace:
    """State of one sender that its next records depend on."""

    PROTOCOL = "TCP"

    def __init__(self) -> None:
        self._sent = self._received = 0
        self._outstanding: dict[int, _OutstandingSegment] = {}
        """Unacknowledged segments by first sequence number, in ascending order."""
        self._sacked: list[tuple[int, int]] = []
        """SACK blocks of the previous ACK."""
        self._last: Row = {}

    def records(self, event: SenderEvent) -> Iterator[str]:
        """Yield the records of the next event: timer, ACK, losses, sent segments, and the sender's state."""
        expired = next((TIMERS[row["expired"]] for row in event.senders if row["expired"]), None)
        for row in event.senders:
            yield from self._expired(row)
        yield from self._received_acks(event)
        for row in event.losses:
            yield from self._loss(row, expired)
        for row in event.segments:
            yield from self._segment(row, expired)
        for row in event.senders:
            yield from self._state(row)

    def _received_acks(self, event: SenderEvent) -> Iterator[str]:
        for row in event.acks:
            yield from self._ack(row)

    def _extra_fields(self, **tcp: Any) -> dict[str, Row]:
        """Fields of an event beside its data."""
        return {"tcp": tcp}

    def _ack(self, row: Row) -> Iterator[str]:
        blocks = [(row[f"sack{n}_from"], row[f"sack{n}_to"]) for n in (1, 2, 3) if row[f"sack{n}_to"]]
        acked = sorted(self._acknowledged(row["ack"], blocks))
        frames: list[Row] = [{"frame_type": "ack", "acked_ranges": ranges(acked)}] if acked else []
        tcp: Row = {"ack": row["ack"], "flags": flags(row["flags"])}
        if blocks:
            tcp["sack"] = blocks
        raw = {"length": row["ip_bytes"], "payload_length": 0}
        data = {"header": header(self._received), "raw": raw, "frames": frames}
        self._received += 1
        yield record(row["time_ns"], "transport:packet_received", data, tcp=tcp)

    def _acknowledged(self, ack: int, blocks: Sequence[tuple[int, int]]) -> Iterator[int]:
        """Yield the numbers of the packets that this ACK newly acknowledges or SACKs."""
        for start, end in blocks:
            at = start
            while at < end:
                # A block grows at its ends: skip the range of an earlier block.
                sacked_to = next((to for since, to in self._sacked if since <= at < to), None)
                if sacked_to is not None:
                    at = sacked_to
                elif at in self._outstanding and self._outstanding[at].end <= end:
                    yield from self._outstanding[at].delivered()
                    self._outstanding[at].numbers.clear()
                    at = self._outstanding[at].end
                else:
                    break
        self._sacked = list(blocks) or self._sacked
        while self._outstanding:
            seq = next(iter(self._outstanding))
            if self._outstanding[seq].end > ack:
                break
            yield from self._outstanding.pop(seq).delivered()

    def _loss(self, row: Row, expired: str | None) -> Iterator[str]:
        if LOSSES[row["loss"]] == "none":
            for one in self._outstanding.values():
                one.lost.clear()
            return
        out = self._outstanding.get(row["seq"])
        numbers = [] if out is None else out.delivered()
        if out is None or not numbers:
            return
        number = numbers[-1] if LOSSES[row["loss"]] == "again" else numbers[0]
        out.lost.add(number)
        data: Row = {"header": header(number), "frames": [stream(row["seq"], row["seq_end"] - row["seq"])]}
        if expired in CAUSES:
            data["trigger"] = CAUSES[expired]
        yield record(row["time_ns"], "recovery:packet_lost", data)

    def _segment(self, row: Row, expired: str | None) -> Iterator[str]:
        fin, syn = bool(row["flags"] & FIN), bool(row["flags"] & SYN)
        number = self._sent
        self._sent += 1
        end = row["seq"] + row["payload"] + fin + syn
        if end > row["seq"]:
            self._outstanding.setdefault(row["seq"], _OutstandingSegment(end, [])).numbers.append(number)
        raw = {"length": row["ip_bytes"], "payload_length": row["payload"]}
        frames = [stream(row["seq"], row["payload"], fin=fin)] if row["payload"] or fin else []
        data: Row = {"header": header(number), "raw": raw, "frames": frames}
        if expired == "loss probe":
            data["trigger"] = "pto_probe"
        elif row["again"]:
            data["trigger"] = "retransmit_timeout" if self._in_loss(expired) else "retransmit_reordered"
        yield record(
            row["time_ns"], "transport:packet_sent", data, tcp={"seq": row["seq"], "flags": flags(row["flags"])}
        )

    def _in_loss(self, expired: str | None) -> bool:
        return expired == "time-out" or SENDER_STATES[self._last.get("state", 0)] == "loss"

    def _expired(self, row: Row) -> Iterator[str]:
        if row["expired"]:
            data = {"timer_type": _timer_type(row["expired"]), "event_type": "expired"}
            yield record(row["time_ns"], TIMER_UPDATED, data, **self._extra_fields(timer=TIMERS[row["expired"]]))

    def _state(self, row: Row) -> Iterator[str]:
        last, self._last = self._last, row
        if row["state"] != last.get("state", 0):
            states = {"old": SENDER_STATES[last.get("state", 0)], "new": SENDER_STATES[row["state"]]}
            yield record(row["time_ns"], "recovery:congestion_state_updated", states)
        before, metrics = _metrics(last) if last else {}, _metrics(row)
        changed = {name: value for name, value in metrics.items() if value != before.get(name)}
        if changed:
            yield record(row["time_ns"], "recovery:metrics_updated", changed)
        if (row["timer"], row["timer_ns"]) != (last.get("timer", 0), last.get("timer_ns", 0)):
            timer = row["timer"] or last["timer"]
            yield record(row["time_ns"], TIMER_UPDATED, _timer(row, last), **self._extra_fields(timer=TIMERS[timer]))


def head(title: str, description: str, vantage_point: str, protocol: str) -> str:
    """First record of a file."""
    trace = {
        "title": title,
        "common_fields": {"protocol_type": [protocol], "time_format": "relative", "reference_time": 0},
        "vantage_point": {"name": title, "type": vantage_point},
    }
    file_fields = {"qlog_version": VERSION, "qlog_format": FORMAT, "title": title, "description": description}
    return _text(file_fields | {"trace": trace})


def record(time_ns: int, name: str, data: Row, **extra: Row) -> str:
    """Record of an event, with the time in ms since the start of the run."""
    return _text({"time": time_ns / 1e6, "name": name, "data": data, **extra})


def ranges(numbers: Iterable[int]) -> list[list[int]]:
    """Ascending numbers as inclusive ranges."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found


def flags(bits: int) -> list[str]:
    """Names of the set flags."""
    return [name for bit, name in FLAGS.items() if bits & bit]


def _metrics(row: Row) -> Row:
    """Metrics with a qlog field; sizes in bytes, as full segments."""
    metrics: Row = {
        "smoothed_rtt": row["srtt_ms"] or math.nan,
        "min_rtt": row["min_rtt_ms"],
        "congestion_window": row["cwnd"] * row["mss"],
        "bytes_in_flight": row["in_flight"] * row["mss"],
        "packets_in_flight": row["in_flight"],
        "ssthresh": row["ssthresh"] * row["mss"],
        "pacing_rate": row["pacing_bps"],
    }
    integers = ("ssthresh", "pacing_rate")
    return {name: int(value) if name in integers else value for name, value in metrics.items() if math.isfinite(value)}


def _timer(row: Row, last: Row) -> Row:
    if row["timer"]:
        data: Row = {"timer_type": _timer_type(row["timer"]), "event_type": "set"}
        return data | {"delta": max(0, row["timer_ns"] - row["time_ns"]) / 1e6}
    return {"timer_type": _timer_type(last["timer"]), "event_type": "cancelled"}


def _timer_type(timer: int) -> str:
    """Type of a timer in RFC 9002: `ack` for time-based loss detection, `pto` for probes."""
    return "ack" if TIMERS[timer] in ("early retransmit", "reordering") else "pto"


def header(number: int, kind: str = "1RTT") -> Row:
    """Packet header."""
    return {"packet_type": kind, "packet_number": number}


def stream(seq: int, length: int, *, fin: bool = False) -> Row:
    """STREAM frame of a segment's data; sequence number 1 has offset 0."""
    frame: Row = {"frame_type": "stream", "stream_id": 0, "offset": max(0, seq - 1), "length": length}
    return frame | {"fin": True} if fin else frame


def _text(document: Row) -> str:
    return f"{SEPARATOR}{json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(',', ':'))}\n"


TIMER_UPDATED = "recovery:loss_timer_updated"
CAUSES = {"time-out": "pto_expired", "reordering": "time_threshold", "early retransmit": "time_threshold"}
"""qlog's trigger of a loss by the expired timer; a loss detected by an ACK has none."""
