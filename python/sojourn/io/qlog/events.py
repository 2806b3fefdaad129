"""The records of one sender's qlog: events of draft-ietf-quic-qlog-quic-events-02 that fit TCP.

TCP has no event schema of its own. A segment that is sent is a packet with a number of its own, counted from 0, also
when its data were sent before; its data are a frame of stream 0. An acknowledgment is a packet that acknowledges those
numbers. What qlog has no field for is in the field `tcp` of an event. Senders of QUIC are in `quic`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sojourn.model.results.words import LOSSES, SENDER_STATES, TIMERS

Row = dict[str, Any]
"""A row of one of the tables of senders, by column."""

VERSION, FORMAT = "0.3", "JSON-SEQ"
SEPARATOR = "\x1e"
"""What every record begins with (RFC 7464)."""
FLAGS = {1: "syn", 2: "fin", 4: "ack", 8: "ece", 16: "cwr", 32: "psh", 128: "ae"}
"""Flags of a segment by the bits that the tables have them in."""
SYN, FIN, ACK = 1, 2, 4


@dataclass
class Happened:
    """The rows of one event of a sender, by their table."""

    acks: list[Row] = field(default_factory=list)
    ack_ranges: list[Row] = field(default_factory=list)
    losses: list[Row] = field(default_factory=list)
    segments: list[Row] = field(default_factory=list)
    senders: list[Row] = field(default_factory=list)


@dataclass
class _Out:
    """A segment that is not acknowledged: where it ends, the numbers of its packets, and which of them are lost."""

    end: int
    numbers: list[int]
    lost: set[int] = field(default_factory=set)

    def delivered(self) -> list[int]:
        return [number for number in self.numbers if number not in self.lost]


class Trace:
    """The events of one sender so far, as far as the next ones depend on them."""

    PROTOCOL = "TCP"

    def __init__(self) -> None:
        self._sent = self._received = 0
        self._out: dict[int, _Out] = {}
        """By the first sequence number, in the order of these."""
        self._sacked: list[tuple[int, int]] = []
        """Blocks of the acknowledgment before: what they cover is known."""
        self._last: Row = {}

    def records(self, happened: Happened) -> Iterator[str]:
        """The records of the next event: what came, what is lost by it, what goes out, and how the sender stands."""
        expired = next((TIMERS[row["expired"]] for row in happened.senders if row["expired"]), None)
        for row in happened.senders:
            yield from self._expired(row)
        yield from self._heard(happened)
        for row in happened.losses:
            yield from self._loss(row, expired)
        for row in happened.segments:
            yield from self._segment(row, expired)
        for row in happened.senders:
            yield from self._stands(row)

    def _heard(self, happened: Happened) -> Iterator[str]:
        for row in happened.acks:
            yield from self._ack(row)

    def _more(self, **tcp: Any) -> dict[str, Row]:
        """What an event has beside its data."""
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
        """Numbers of the packets whose data an acknowledgment is the first to report."""
        for start, end in blocks:
            at = start
            while at < end:
                # A block grows at an end: what a block before covers is passed at once.
                known = next((to for since, to in self._sacked if since <= at < to), None)
                if known is not None:
                    at = known
                elif at in self._out and self._out[at].end <= end:
                    yield from self._out[at].delivered()
                    self._out[at].numbers.clear()
                    at = self._out[at].end
                else:
                    break
        self._sacked = list(blocks) or self._sacked
        while self._out:
            seq = next(iter(self._out))
            if self._out[seq].end > ack:
                break
            yield from self._out.pop(seq).delivered()

    def _loss(self, row: Row, expired: str | None) -> Iterator[str]:
        if LOSSES[row["loss"]] == "none":
            for one in self._out.values():
                one.lost.clear()
            return
        out = self._out.get(row["seq"])
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
            self._out.setdefault(row["seq"], _Out(end, [])).numbers.append(number)
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
            yield record(row["time_ns"], TIMER_UPDATED, data, **self._more(timer=TIMERS[row["expired"]]))

    def _stands(self, row: Row) -> Iterator[str]:
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
            yield record(row["time_ns"], TIMER_UPDATED, _timer(row, last), **self._more(timer=TIMERS[timer]))


def head(title: str, description: str, vantage_point: str, protocol: str) -> str:
    """The first record of a file."""
    trace = {
        "title": title,
        "common_fields": {"protocol_type": [protocol], "time_format": "relative", "reference_time": 0},
        "vantage_point": {"name": title, "type": vantage_point},
    }
    about = {"qlog_version": VERSION, "qlog_format": FORMAT, "title": title, "description": description}
    return _text(about | {"trace": trace})


def record(time_ns: int, name: str, data: Row, **more: Row) -> str:
    """A record of an event; times are in milliseconds since the start of the run."""
    return _text({"time": time_ns / 1e6, "name": name, "data": data, **more})


def ranges(numbers: Iterable[int]) -> list[list[int]]:
    """Ascending numbers as ranges, both ends included."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found


def flags(bits: int) -> list[str]:
    """Names of the flags that are set."""
    return [name for bit, name in FLAGS.items() if bits & bit]


def _metrics(row: Row) -> Row:
    """What qlog has fields for; sizes in bytes, of full segments."""
    metrics: Row = {
        "smoothed_rtt": row["srtt_ms"] or math.nan,
        "min_rtt": row["min_rtt_ms"],
        "congestion_window": row["cwnd"] * row["mss"],
        "bytes_in_flight": row["in_flight"] * row["mss"],
        "packets_in_flight": row["in_flight"],
        "ssthresh": row["ssthresh"] * row["mss"],
        "pacing_rate": row["pacing_bps"],
    }
    whole = ("ssthresh", "pacing_rate")
    return {name: int(value) if name in whole else value for name, value in metrics.items() if math.isfinite(value)}


def _timer(row: Row, last: Row) -> Row:
    if row["timer"]:
        data: Row = {"timer_type": _timer_type(row["timer"]), "event_type": "set"}
        return data | {"delta": max(0, row["timer_ns"] - row["time_ns"]) / 1e6}
    return {"timer_type": _timer_type(last["timer"]), "event_type": "cancelled"}


def _timer_type(timer: int) -> str:
    """A timer by its kind in RFC 9002: one that finds losses by time, or one that probes."""
    return "ack" if TIMERS[timer] in ("early retransmit", "reordering") else "pto"


def header(number: int, kind: str = "1RTT") -> Row:
    """The header of a packet."""
    return {"packet_type": kind, "packet_number": number}


def stream(seq: int, length: int, *, fin: bool = False) -> Row:
    """The data of a segment; the first byte, whose sequence number is 1, has offset 0."""
    frame: Row = {"frame_type": "stream", "stream_id": 0, "offset": max(0, seq - 1), "length": length}
    return frame | {"fin": True} if fin else frame


def _text(document: Row) -> str:
    return f"{SEPARATOR}{json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(',', ':'))}\n"


TIMER_UPDATED = "recovery:loss_timer_updated"
CAUSES = {"time-out": "pto_expired", "reordering": "time_threshold", "early retransmit": "time_threshold"}
"""Why a packet is taken for lost, by the timer that expired; an acknowledgment may tell in several ways."""
