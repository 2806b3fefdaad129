"""What the paper's queue managers are on the real kernel, whose CoDel and PIE are later ones.

Linux's CoDel begins a drop phase with as many drops as the last one came to (RFC 8289), the paper's with all that it
ever counted, less two. Linux's PIE is RFC 8033's: it lets a burst of 150 ms pass, lowers its gains at small p, and does
not drop at all while p and the delay are small. Its measure of the delay can be the departure rate, as in the paper's
draft, and is. No Linux has CoDel-ACT or a constant count.

Linux limits both by packets, the paper by bytes: data packets are all of one size, so the limit is as many of them as
fit. TCP is the kernel's; its Reno stays in a recovery until all of a window is acknowledged, as NewReno does.
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
"""The kernel's timers fire a jiffy late, so one less is asked for; those of 64 ms and more are up to 8 ms late."""


def on_kernel(aqm: str, scenario: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of the scenario that stand for a queue manager of the paper's studies."""
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
    """The limit as a number of full packets, as the queue counts their bytes."""
    size = octets("link.mtu", link["mtu"])
    if link["account"] == "adjusted":
        size += octets("link.overhead", link["overhead"])
    return f"{octets('link.limit', link['limit']) // size} packets"
