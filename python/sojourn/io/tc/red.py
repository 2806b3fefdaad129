"""Weight of RED's average: tc prints its logarithm (`ewma`), which determines the parameter `burst`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from sojourn.base.errors import InputError
from sojourn.io.tc import values
from sojourn.io.tc.records import Qdisc, TcConfig

AVPKT = 1000
"""tc's default of `avpkt` in bytes; its output has no other."""
MAX_BURST = 1_000_000


def red_weight(qdisc: Qdisc, config: TcConfig) -> Iterator[str]:
    """Yield the burst with the weight of `ewma`, if the discipline shows one that is not the default's."""
    given = dict(pairwise([*qdisc.words, ""]))
    if "ewma" not in given or "burst" in given:
        return
    try:
        ewma = int(values.count(given["ewma"]))
        low, high = (_bytes(qdisc, given[word]) for word in ("min", "max"))
    except (KeyError, InputError):
        low, high, ewma = 0, 0, 0
    if low >= high:
        config.note(qdisc.line, f"{qdisc.kind}: ewma {given['ewma']}: needs min and max")
        return
    if _weight(low, (2 * low + high) // (3 * AVPKT)) == ewma:
        return
    burst = _burst(low, ewma)
    if burst is None:
        config.note(qdisc.line, f"{qdisc.kind}: ewma {ewma}: no burst of packets of {AVPKT} B has this weight")
    else:
        yield f"burst {burst}"


def _bytes(qdisc: Qdisc, text: str) -> int:
    """Threshold in bytes; CHOKe has packets."""
    return int(values.count(text)) * AVPKT if qdisc.kind == "choke" else int(values.size(text).split()[0])


def _burst(low: int, ewma: int) -> int | None:
    """Minimum burst with a weight, by bisection, because the weight grows with the burst."""
    least, most = 0, MAX_BURST
    while least < most:
        middle = (least + most) // 2
        least, most = (middle + 1, most) if _weight(low, middle) < ewma else (least, middle)
    return least if _weight(low, least) == ewma else None


def _weight(low: int, burst: int) -> int:
    """Logarithm of the weight for a burst that stays below the threshold (`tc_red_eval_ewma` in `tc/tc_red.c`).

    Zero for a burst that is too small for any, 32 for one that is too large.
    """
    excess = burst + 1 - low / AVPKT
    if excess < 1:
        return 0
    return next((log for log in range(1, 32) if excess <= (1 - (1 - 0.5**log) ** burst) * 2**log), 32)
