"""The trace of the guest's kernel: reasons of drops by Sojourn's discipline."""

from __future__ import annotations

import numpy as np
import pytest

from sojourn import Scenario
from sojourn.engines.kernel.cache import Kernel
from sojourn.engines.kernel.trace import DROPPED, EVENT, OFFERED, REASONS, REFUSED, SENT, TCP_FLAGS, codes
from sojourn.studies.difference import diff

ACK, LIMIT, HARD_LIMIT = 16, 0, 3


def test_a_drop_has_the_reason_above_its_tcp_flags() -> None:
    events = np.zeros(6, EVENT)
    events["what"] = [OFFERED, SENT, DROPPED, DROPPED, REFUSED, REFUSED]
    told = [0, 0, 0, 1 + HARD_LIMIT, 1 + LIMIT, 0]
    events["flags"] = [ACK | reason << TCP_FLAGS for reason in told]
    found = codes(events)
    expected = [OFFERED, SENT, DROPPED, REASONS + HARD_LIMIT, REASONS + LIMIT, REFUSED]
    assert found.tolist() == expected
    assert events["what"][3] == DROPPED, "the events are not changed"


@pytest.mark.parametrize(
    "aqm", ["codel@hardlimit-ns2 target 3ms", "sojourn:pie", "sojourn:fq_codel@linux limit 40", "rem"]
)
def test_a_result_of_the_guest_has_the_librarys_reasons(kernel: Kernel, aqm: str) -> None:
    """Verdicts agree if time, fate and reason do."""
    assert kernel.version.startswith("6.1.")
    flow = {"kind": "tcp", "cc": "cubic", "count": 7, "rtt": "37 ms"}
    link = {"rate": "9.7 Mbit/s", "delay": "3 ms", "aqm": aqm}
    document = {"duration": "5 s", "warmup": "1 s", "link": link, "flows": [flow], "probes": {"packets": True}}
    result = Scenario.build(document).run(11, engine="kernel")
    found = diff(aqm, log=result)
    assert found.packets > 3000
    assert found.agreeing == found.packets
    assert result.totals["links"]["forward"]["dropped"] > 10
