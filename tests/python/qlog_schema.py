"""JSON schemas of a qlog file, written from the CDDL of the drafts, and a reader of JSON text sequences.

Sources: draft-ietf-quic-qlog-main-schema-02 (QlogFileSeq, TraceSeq, CommonFields, VantagePoint, Event, RawInfo, and its
mapping to JSON-SEQ), draft-ietf-quic-qlog-quic-events-02 (TransportPacketSent, TransportPacketReceived, PacketHeader,
AckFrame, StreamFrame, RecoveryMetricsUpdated, RecoveryCongestionStateUpdated, RecoveryLossTimerUpdated,
RecoveryPacketLost), RFC 7464.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TEXT = {"type": "string"}
NUMBER = {"type": "number"}
BOOL = {"type": "boolean"}
WHOLE = {"type": "integer", "minimum": 0}


def one_of(*words: str) -> dict[str, Any]:
    return {"enum": list(words)}


def group(required: dict[str, Any], optional: dict[str, Any], *, more: bool = False) -> dict[str, Any]:
    """JSON schema of a CDDL group; `more` for `* text => any`."""
    return {
        "type": "object",
        "required": list(required),
        "properties": required | optional,
        "additionalProperties": more,
    }


def some(items: dict[str, Any], least: int = 0) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least}


PROTOCOL_TYPE = some(TEXT, 1)
TIME_FORMAT = one_of("absolute", "delta", "relative")
VANTAGE_POINT_TYPE = one_of("client", "server", "network", "unknown")
VANTAGE_POINT = group({"type": VANTAGE_POINT_TYPE}, {"name": TEXT, "flow": VANTAGE_POINT_TYPE})
COMMON_FIELDS = group(
    {},
    {"time_format": TIME_FORMAT, "reference_time": NUMBER, "protocol_type": PROTOCOL_TYPE, "group_id": TEXT},
    more=True,
)
CONFIGURATION = group({"time_offset": NUMBER, "original_uris": some(TEXT)}, {}, more=True)
TRACE_SEQ = group(
    {},
    {
        "title": TEXT,
        "description": TEXT,
        "configuration": CONFIGURATION,
        "common_fields": COMMON_FIELDS,
        "vantage_point": VANTAGE_POINT,
    },
)
FILE_SEQ = group(
    {"qlog_format": one_of("JSON-SEQ"), "qlog_version": one_of("0.3"), "trace": TRACE_SEQ},
    {"title": TEXT, "description": TEXT, "summary": {"type": "object"}},
)
RAW_INFO = group({}, {"length": WHOLE, "payload_length": WHOLE, "data": TEXT})
PACKET_TYPE = one_of(
    "initial", "handshake", "0RTT", "1RTT", "retry", "version_negotiation", "stateless_reset", "unknown"
)
PACKET_HEADER = group(
    {"packet_type": PACKET_TYPE, "packet_number": WHOLE},
    {"flags": WHOLE, "length": WHOLE, "version": TEXT, "scil": WHOLE, "dcil": WHOLE, "scid": TEXT, "dcid": TEXT},
)
ACK_RANGE = {"type": "array", "items": WHOLE, "minItems": 1, "maxItems": 2}
ACK_FRAME = group(
    {"frame_type": one_of("ack")},
    {
        "ack_delay": NUMBER,
        "acked_ranges": some(ACK_RANGE, 1),
        **dict.fromkeys(("ect1", "ect0", "ce", "length", "payload_length"), WHOLE),
    },
)
STREAM_FRAME = group(
    {"frame_type": one_of("stream"), "stream_id": WHOLE, "offset": WHOLE, "length": WHOLE}, {"fin": BOOL, "raw": TEXT}
)
FRAMES = some({"oneOf": [ACK_FRAME, STREAM_FRAME]})
OF_PACKETS = {"frames": FRAMES, "is_coalesced": BOOL, "raw": RAW_INFO, "datagram_id": WHOLE}
RESENT = (
    *("retransmit_reordered", "retransmit_timeout", "pto_probe", "retransmit_crypto"),
    "cc_bandwidth_probe",
)
TIMES = ("min_rtt", "smoothed_rtt", "latest_rtt", "rtt_variance")
SIZES = ("pto_count", "congestion_window", "bytes_in_flight", "ssthresh", "packets_in_flight", "pacing_rate")
DATA = {
    "transport:packet_sent": group({"header": PACKET_HEADER}, OF_PACKETS | {"trigger": one_of(*RESENT)}),
    "transport:packet_received": group({"header": PACKET_HEADER}, OF_PACKETS | {"trigger": one_of("keys_available")}),
    # At least one of the metrics; others may be logged as well.
    "recovery:metrics_updated": group({}, dict.fromkeys(TIMES, NUMBER) | dict.fromkeys(SIZES, WHOLE), more=True)
    | {"minProperties": 1},
    "recovery:congestion_state_updated": group(
        {"new": TEXT}, {"old": TEXT, "trigger": one_of("persistent_congestion", "ECN")}
    ),
    "recovery:loss_timer_updated": group(
        {"event_type": one_of("set", "expired", "cancelled")},
        {
            "timer_type": one_of("ack", "pto"),
            "packet_number_space": one_of("initial", "handshake", "application_data"),
            "delta": NUMBER,
        },
    ),
    "recovery:packet_lost": group(
        {},
        {
            "header": PACKET_HEADER,
            "frames": FRAMES,
            "trigger": one_of("reordering_threshold", "time_threshold", "pto_expired"),
        },
    ),
}
EVENT = group(
    {"time": NUMBER, "name": one_of(*DATA), "data": {"type": "object"}},
    {"time_format": TIME_FORMAT, "protocol_type": PROTOCOL_TYPE, "group_id": TEXT},
    more=True,
) | {
    "allOf": [
        {"if": {"properties": {"name": {"const": name}}}, "then": {"properties": {"data": data}}}
        for name, data in DATA.items()
    ]
}


def records(path: Path) -> list[dict[str, Any]]:
    """Records of a JSON text sequence: each starts with a record separator and ends with a line feed."""
    text = path.read_text(encoding="utf-8")
    assert text.startswith("\x1e") and text.endswith("\n")
    parts = text.split("\x1e")[1:]
    assert all(part.endswith("\n") for part in parts)
    return [json.loads(part) for part in parts]


def names(document: object) -> list[str]:
    """Names of all fields, at any depth."""
    if isinstance(document, dict):
        return [*document, *(name for value in document.values() for name in names(value))]
    return [name for value in document for name in names(value)] if isinstance(document, list) else []
