"""The records of one QUIC sender's qlog: packets under their own numbers, and ACK frames as they came.

A packet is sent once, so its number is its place among those of the sender; datagrams of the handshake are counted for
themselves. Of several packets that carry the same bytes of the stream the oldest that is out is the one that is lost.
"""

from __future__ import annotations

from collections.abc import Iterator

from sojourn.io.qlog.events import CAUSES, FIN, Happened, Row, Trace, header, record, stream

PACKET_THRESHOLD = 3
"""`kPacketThreshold` of RFC 9002."""


class QuicTrace(Trace):
    """The events of one sender so far, as far as the next ones depend on them."""

    PROTOCOL = "QUIC"

    def __init__(self) -> None:
        super().__init__()
        self._initials = 0
        self._frames: dict[int, Row] = {}
        """Of each packet that is out: its STREAM frame."""
        self._largest = -1

    def _more(self, **tcp: object) -> dict[str, Row]:
        return {}

    def _heard(self, happened: Happened) -> Iterator[str]:
        rows = happened.ack_ranges
        if not rows:
            return
        first = rows[0]
        frame: Row = {"frame_type": "ack", "ack_delay": first["delay_ns"] / 1e6}
        frame["acked_ranges"] = [[row["first"], row["last"]] for row in reversed(rows)]
        if first["ect0"] + first["ect1"] + first["ce"]:
            frame |= {name: first[name] for name in ("ect0", "ect1", "ce")}
        self._largest = max(self._largest, first["last"])
        for number in [n for n in self._frames if any(row["first"] <= n <= row["last"] for row in rows)]:
            del self._frames[number]
        data = {"header": header(first["number"]), "raw": {"length": first["ip_bytes"]}, "frames": [frame]}
        yield record(first["time_ns"], "transport:packet_received", data)

    def _loss(self, row: Row, expired: str | None) -> Iterator[str]:
        offset = row["seq"] - 1
        number = next((number for number, frame in self._frames.items() if frame["offset"] == offset), None)
        if number is None:
            return
        data: Row = {"header": header(number), "frames": [self._frames.pop(number)]}
        by_number = self._largest >= number + PACKET_THRESHOLD
        data["trigger"] = CAUSES.get(expired or "", "reordering_threshold" if by_number else "time_threshold")
        yield record(row["time_ns"], "recovery:packet_lost", data)

    def _segment(self, row: Row, expired: str | None) -> Iterator[str]:
        raw = {"length": row["ip_bytes"], "payload_length": row["payload"]}
        if row["seq"] == 0:
            data: Row = {"header": header(self._initials, "initial"), "raw": raw, "frames": []}
            self._initials += 1
        else:
            frame = stream(row["seq"], row["payload"], fin=bool(row["flags"] & FIN))
            self._frames[self._sent] = frame
            data = {"header": header(self._sent), "raw": raw, "frames": [frame]}
            self._sent += 1
        if expired == "loss probe":
            data["trigger"] = "pto_probe"
        elif row["again"]:
            data["trigger"] = "retransmit_reordered"
        yield record(row["time_ns"], "transport:packet_sent", data)
