"""Translation of the paper's queue managers to the real kernel, whose CoDel and PIE are later versions.

Linux's CoDel begins a drop phase with the number of drops of the last one (RFC 8289), the paper's with its whole count,
less two. Linux's PIE is RFC 8033's: it allows a burst of 150 ms, lowers its gains at small p, and does not drop at all
while p and the delay are small. Its delay estimator is set to the departure rate, as in the paper's draft. Linux has
neither CoDel-ACT nor a constant count.

Linux limits both by packets, the paper by bytes: data packets have equal sizes, so the limit is the number of them that
fit. TCP is the kernel's; its Reno stays in recovery until the whole window is acknowledged, as NewReno does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sojourn.engines.values import nanoseconds, octets
from sojourn.papers.engine import LackingError

LATER = {"codel@draft00": "codel@linux", "pie@draft00": "pie@linux"}
LACKING = {"codel@act": "Linux has no CoDel-ACT", "codel@count-n": "Linux's CoDel has no constant count"}
QDELAY_REF, T_UPDATE = "16 ms", "16 ms"
"""PIE's parameters in the paper; Linux's own are 15 ms."""
JIFFY_NS = 1_000_000
"""The kernel's timers fire a jiffy late, so the interval is reduced by one; those of 64 ms and more are up to 8 ms
late.
"""


def on_kernel(aqm: str, scenario: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of the scenario that replace a queue manager of the paper's studies."""
    name, *words = aqm.split()
    if name in LACKING:
        raise LackingError(LACKING[name])
    if name == "pie@draft00":
        words = _pie(dict(zip(words[::2], words[1::2], strict=True)))
    sets = {"link.aqm": " ".join([LATER[name], *words])}
    if scenario["link"]["limit"].endswith("B"):
        sets["link.limit"] = _in_packets(scenario["link"])
    if scenario["flows"][0]["cc"] == "newreno":
        sets["flows.0.cc"] = "reno"
    return sets


def _pie(given: dict[str, str]) -> list[str]:
    words = {"target": QDELAY_REF, "tupdate": T_UPDATE} | given
    update_ns = nanoseconds("tupdate", words["tupdate"]) - JIFFY_NS
    words["tupdate"] = f"{update_ns // 1000}us"
    return [text for key, value in words.items() for text in (key, value.replace(" ", ""))] + ["dq_rate_estimator"]


def _in_packets(link: Mapping[str, Any]) -> str:
    """The limit in full-sized packets, with their bytes as counted by the queue."""
    size = octets("link.mtu", link["mtu"])
    if link["account"] == "adjusted":
        size += octets("link.overhead", link["overhead"])
    return f"{octets('link.limit', link['limit']) // size} packets"
