"""qlog records of one QUIC sender: packets by packet number, and received ACK frames.

Packet numbers count the sender's packets; the handshake's datagrams are counted separately. If several packets carry
the same bytes of the stream, the oldest in flight is the lost one.
"""

from __future__ import annotations

from collections.abc import Iterator

from sojourn.io.qlog.events import CAUSES, FIN, Row, SenderEvent, Trace, header, record, stream

PACKET_THRESHOLD = 3
"""`kPacketThreshold` of RFC 9002."""


class QuicTrace(Trace):
    """State of one sender that its next records depend on."""

    PROTOCOL = "QUIC"

    def __init__(self) -> None:
        super().__init__()
        self._initials = 0
        self._frames: dict[int, Row] = {}
        """STREAM frames of the packets in flight."""
        self._largest = -1

    def _extra_fields(self, **tcp: object) -> dict[str, Row]:
        return {}

    def _received_acks(self, event: SenderEvent) -> Iterator[str]:
        rows = event.ack_ranges
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
