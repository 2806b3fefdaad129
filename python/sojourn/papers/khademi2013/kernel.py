"""Translation of the paper's queue managers to the real kernel, which is a later one.

Linux 6.1's CoDel and FQ-CoDel are the paper's (of 3.8) except for the definitions of the largest packet and of a drop;
its PIE is RFC 8033's with a limit on marking, not Cisco's module; its Adaptive RED is the paper's. Features that no
kernel has, such as excluding CE-marked packets, are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sojourn.papers.engine import LackingError

LATER = {
    "codel@linux-3.10": "codel@linux",
    "fq_codel@linux-3.10": "fq_codel@linux",
    "pie@cisco2013": "pie@linux",
    "ared@linux": "ared@linux",
}
CISCO_UPDATE = "tupdate 30ms"
"""PIE's default of the paper's module; RFC 8033 has 15 ms."""


def on_kernel(aqm: str, _scenario: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of the scenario that replace a queue manager of the paper's studies."""
    name, *words = aqm.split()
    if "exclude_ce" in words:
        raise LackingError("no queue manager of Linux excludes CE-marked packets from its measurement")
    if "mark_ecnth" in words:  # the kernel's limit cannot be set
        at = words.index("mark_ecnth")
        words[at : at + 2] = []
    if name == "pie@cisco2013" and "tupdate" not in words:
        words.append(CISCO_UPDATE)
    if name.startswith("fq_codel") and "ecn" not in words:
        words.append("ecn off")
    return {"link.aqm": " ".join([LATER[name], *words])}
