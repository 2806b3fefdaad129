"""Scenarios that ns-2 can express, with odd values; their scripts are snapshots in tests/python/ns2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "ns2"

Document = dict[str, Any]


def ftp(**keys: Any) -> Document:
    return {"kind": "tcp", "stack": "ns2", "cc": "newreno", "sack": False, "mss": "1460 B", "rtt": "70 ms"} | keys


def dumbbell(*flows: Document, duration: str = "4 s", **keys: Any) -> Document:
    link = {"rate": "4.3 Mbit/s", "delay": "17 ms", "limit": "43 packets"} | keys.pop("link", {})
    return {"duration": duration, "warmup": "1 s", "link": link, "flows": list(flows), **keys}


BASE = ftp(count=2, spread="900 ms", access_rate="43 Mbit/s", initial_window=4)
NS2: dict[str, Document] = {
    "newreno": dumbbell(BASE),
    "reno": dumbbell(BASE | {"cc": "reno"}, link={"rate": "1.37 Mbit/s"}),
    "sack": dumbbell(BASE | {"cc": "reno", "sack": True, "receive_window": "1 MB"}),
    "sixteen-flows": dumbbell(BASE | {"count": 16, "rtt": "133 ms"}, link={"limit": "21 packets"}),
    "small-packets": dumbbell(BASE | {"mss": "961 B", "receive_window": "40 kB"}),
    "limit-in-bytes": dumbbell(BASE, link={"limit": "31 kB"}),
    "limit-in-time": dumbbell(BASE, link={"limit": "73 ms"}),
    "drophead": dumbbell(BASE, link={"aqm": "drophead"}),
    "red": dumbbell(BASE, link={"aqm": "red", "limit": "90 kB"}),
    "red-in-packets": dumbbell(BASE, link={"aqm": "red avpkt 1500B min 7500B max 22500B queue_in_bytes off wait off"}),
    "red-ecn": dumbbell(BASE | {"ecn": True}, link={"aqm": "red ecn avpkt 750B min 6kB max 19kB", "limit": "66 kB"}),
    "ared": dumbbell(BASE, link={"aqm": "ared gentle_slope initial target 11ms", "limit": "120 kB"}),
    "pi": dumbbell(BASE | {"ecn": True}, link={"aqm": "pi@ns2 ecn a 0.0003 b 0.00029 w 97 qref 13"}),
    "pi-in-bytes": dumbbell(BASE, link={"aqm": "pi mean_pktsize 750B queue_in_bytes bytes", "limit": "60 kB"}),
    "rem": dumbbell(BASE, link={"aqm": "rem@ns2 gamma 0.013 phi 1.013 pbo 7", "limit": "37 packets"}),
    "rem-ecn": dumbbell(BASE | {"ecn": True}, link={"aqm": "rem@ns2 ecn inw 0.3 pupdtime 3ms mean_pktsize 1500B"}),
    "sfq": dumbbell(ftp(), ftp(access_rate="9 Mbit/s"), ftp(rtt="91 ms"), link={"aqm": "sfq@ns2"}),
    "two-way": dumbbell(BASE, BASE | {"direction": "reverse", "count": 3}, reverse={"rate": "2.9 Mbit/s"}),
    "row": dumbbell(
        BASE | {"route": ["link", "second", "third"]},
        BASE | {"route": ["second"], "rtt": "41 ms"},
        links=[
            {"name": "second", "rate": "3.1 Mbit/s", "delay": "7 ms", "limit": "29 packets"},
            {"name": "third", "rate": "5.9 Mbit/s", "delay": "3 ms", "aqm": "red", "limit": "60 kB"},
        ],
    ),
    "rate-steps": dumbbell(BASE, link={"rate": "4.3 Mbit/s@0s,1.9 Mbit/s@1700ms,7 Mbit/s@3s", "change": "latch"}),
    "delay-steps": dumbbell(BASE, link={"delay": "17 ms@0s,31 ms@1300ms,5 ms@2900ms"}),
    "transfers": dumbbell(BASE | {"size": "217 kB", "count": 5, "stagger": "310 ms"}, ftp(stop="2.3 s")),
    "datagrams": dumbbell(
        BASE,
        {"kind": "cbr", "rate": "313 kbit/s", "size": "701 B", "start": "430 ms", "stop": "3.1 s"},
        {"kind": "poisson", "rate": "97 kbit/s", "size": "400 B", "access_rate": "11 Mbit/s"},
        {"kind": "streaming", "rate": "83 kbit/s", "size": "311 B", "direction": "reverse"},
        {"kind": "voice", "count": 2, "rtt": "55 ms"},
    ),
    "web": dumbbell(
        BASE,
        {"kind": "packmime", "connections_per_second": 11, "direction": "reverse", "initial_window": 3}
        | {"stack": "ns2", "cc": "newreno", "sack": False, "mss": "961 B", "rtt": "70 ms", "access_rate": "9 Mbit/s"},
        {"kind": "packmime", "connections_per_second": 3, "protocol": "HTTP/1.0", "count": 2, "stop": "3.1 s"}
        | {"stack": "ns2", "cc": "reno", "mss": "536 B"},
        probes={"transfers": True},
    ),
    "probes": dumbbell(
        BASE | {"size": "400 kB"},
        {"kind": "voice"},
        duration="3.7 s",
        probes={"packets": True, "transfers": True, "flows": "370 ms", "queue": "50 ms", "utilisation": "700 ms"},
    ),
}
"""By name; with ns-2's own queues."""
PLUGIN: dict[str, Document] = {
    "codel": dumbbell(BASE, link={"aqm": "codel@ns2-2012 target 7ms"}, reverse={"rate": "3 Mbit/s", "aqm": "fq_codel"}),
}
"""With Sojourn's queues."""

TWO_WAY = [
    BASE | {"count": 7, "rtt": "111 ms", "receive_window": "1 MB"},
    BASE | {"direction": "reverse", "cc": "reno"},
]


def codel(profile: str) -> Document:
    link = {"aqm": f"codel@{profile} target 6ms interval 97ms", "limit": "1000 packets"}
    return dumbbell(*TWO_WAY, duration="60 s", link=link)


KITCODEL = {
    "ns2-patch": "37e5037f89055fce27faa969bb4c37fa28c171deb0eee8b89eb05e8683a34c32",
    "ns2-2012": "909d68afa17ddb947021e6aef392e9b1f6d9bbd69a71f1522851d3fc20a17d9d",
    "acm2012": "a5643db7f4285e02a767bca9ea7d34ab64d0a25b24999826ec899b77601a950e",
    "rfc8289": "c20b26b73cc16c74bde7209e6cc0f9c878ef024bee8f709af1f031c2773ddabe",
}
"""SHA-256 of the trace of `codel(PROFILE)`, seed 7, with CoDel written in C++ for ns-2 as the forward queue
(217,000 to 233,000 lines, 887 to 1485 drops; the variants patch2012, ns2.36, acm2012 and rfc8289 of kitcodel.cc)."""
