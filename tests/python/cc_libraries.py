"""Congestion controls in shared libraries, called through ctypes with the structs of sojourn_cc.h."""

from __future__ import annotations

import ctypes as ct
from pathlib import Path
from typing import Any

INFINITE, UNPACED = 0x7FFF_FFFF, 2**64 - 1
U32, U64, I64, TEXT = ct.c_uint32, ct.c_uint64, ct.c_int64, ct.c_char_p


def _fields(kinds: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(name, kind) for names, kind in kinds.items() for name in names.split()]


class Flight(ct.Structure):
    """`sojourn_cc_flight`."""

    _fields_ = _fields(
        {"size mss": U32, "now srtt min_rtt": I64, "cwnd ssthresh cwnd_cnt in_flight burst state": U32}
        | {"pacing_rate delivered delivered_ce lost una nxt bytes_acked": U64}
        | {"delivered_at next_departure": I64, "packets_out flags counting reserved": U32}
    )


class Ack(ct.Structure):
    """`sojourn_cc_ack`."""

    _fields_ = _fields({"size packets": U32, "rtt one_way": I64, "flags reserved": U32})


class Host(ct.Structure):
    """`sojourn_cc_host`."""

    _fields_ = _fields({"size abi": U32, "random": U64, "stack": TEXT, "ticks_per_second is_quic is_paced ecn": U32})


class Library(ct.Structure):
    """`sojourn_cc_library`; functions are addresses."""

    _fields_ = _fields(
        {"size abi face needs": U32, "name summary source": TEXT, "create free clone error": ct.c_void_p}
        | {"ssthresh grow acked report reduced timed_out min_cwnd": ct.c_void_p}
        | {"state delivered idle undo start sent ack lost repaired congestion": ct.c_void_p}
    )


class Connection:
    """A connection on a library's control, which starts with 10 segments."""

    def __init__(self, path: Path, parameters: str = "", *, ticks: int = 1_000, ecn: int = 0) -> None:
        self.library = Library.in_dll(ct.CDLL(str(path)), "sojourn_cc")
        host = Host(ct.sizeof(Host), 1, 7, b"linux-6.1", ticks, 0, 0, ecn)
        self.state = ct.c_void_p()
        create = ct.CFUNCTYPE(ct.c_int, TEXT, ct.POINTER(Host), ct.POINTER(ct.c_void_p))(self.library.create)
        if create(parameters.encode(), ct.byref(host), ct.byref(self.state)) < 0:
            raise ValueError(ct.CFUNCTYPE(TEXT)(self.library.error)().decode())
        self.flight = Flight(
            size=ct.sizeof(Flight), mss=1_448, cwnd=10, ssthresh=INFINITE, pacing_rate=UNPACED, min_rtt=-1
        )

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        ct.CFUNCTYPE(None, ct.c_void_p)(self.library.free)(self.state)

    def call(self, name: str, *arguments: Any, result: Any = None) -> Any:
        """Call a function with the flight."""
        kinds = [ct.c_void_p, ct.POINTER(Flight), *(type(argument) for argument in arguments)]
        return ct.CFUNCTYPE(result, *kinds)(getattr(self.library, name))(self.state, ct.byref(self.flight), *arguments)

    def acked(self, packets: int, rtt: int) -> None:
        """Acknowledge packets in a window that is the limit."""
        flight = self.flight
        flight.now += rtt // 10
        flight.una += packets * flight.mss
        flight.srtt = flight.min_rtt = rtt
        ack = Ack(ct.sizeof(Ack), packets, rtt, -1, 2, 0)
        if self.library.report:
            self.call("report", ct.pointer(ack))
        self.call("grow", ct.pointer(ack))

    def ssthresh(self, cause: int = 0) -> int:
        """Threshold after a reduction."""
        return int(self.call("ssthresh", ct.c_int(cause), result=U32))
