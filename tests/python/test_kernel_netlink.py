"""Netlink messages for disciplines that the host's tc may not support. No kernel needed."""

from __future__ import annotations

import json
import struct

import pytest

from sojourn import InputError, _core
from sojourn.engines.kernel.netlink import is_set_by_netlink, job_line
from sojourn.engines.kernel.pattern import Naming
from sojourn.engines.kernel.patterns import NAMES, pattern, supports

F32 = struct.Struct("f")


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("dualpi2", []),
        ("dualpi2 limit 60 memlimit 90000", ["1:4:60", "2:4:90000"]),
        ("dualpi2 target 7.0009ms tupdate 1.001ms", ["3:4:7000", "4:4:1000"]),
        # 0.16 in single precision, times 256: 40.96, and 3.2: 819.2.
        ("dualpi2 alpha 0.16 beta 3.2", ["5:4:40", "6:4:819"]),
        ("dualpi2 step_thresh 5p min_qlen_step 3", ["9:4:3", "7:4:5"]),
        ("dualpi2 step_thresh 0.7ms", ["8:4:700"]),
        ("dualpi2 coupling_factor 3 classic_protection 25%", ["10:1:3", "13:1:25"]),
        ("dualpi2 overflow drop_enqueue any_ect no_split_gso", ["11:1:0", "12:1:1", "14:1:3", "15:1:0"]),
        ("dualpi2 drop_on_overload drop_dequeue l4s_ect split_gso", ["11:1:1", "12:1:0", "14:1:1", "15:1:1"]),
        ("dualpi2 max_rtt 100ms", ["3:4:16666", "4:4:16666", "5:4:42", "6:4:768"]),
        ("dualpi2 typical_rtt 15ms", ["3:4:15000", "4:4:15000", "5:4:47", "6:4:853"]),
        ("cake_mq bandwidth 100001bit besteffort flowblind", ["2:8:12500", "3:4:3", "5:4:0"]),
        ("cake_mq rtt 1.001ms ingress wash", ["15:4:1", "13:4:1", "7:4:1000", "8:4:50"]),
    ],
)
def test_words_are_options_by_their_numbers(line: str, options: list[str]) -> None:
    kind = line.split()[0]
    assert job_line("f", "1:1", "10:", line).split() == ["qdisc", "f", "1:1", "10:", kind, *options]


def test_invalid_words_are_refused() -> None:
    for line, error in (
        ("dualpi2 limit", "dualpi2: limit needs a value"),
        ("dualpi2 lmit 5", "dualpi2: unknown keyword lmit"),
        ("cake_mq nat", "cake_mq: unknown keyword nat"),
        ("dualpi2 target 5 apples", "dualpi2: unknown keyword apples"),
        ("dualpi2 target 5h", "'5h' is not a time"),
        ("cake_mq bandwidth 1mbit", "'1mbit' is not a rate in bit"),
    ):
        with pytest.raises(InputError, match=error):
            job_line("f", "root", "10:", line)
    assert not is_set_by_netlink("codel limit 5")


def test_our_parser_agrees_with_tc() -> None:
    """The controller of p' is configured here and by `dualpi2@linux`, with the same gains and times."""
    for number in range(200):
        made = pattern("dualpi2", 9, number, 10)
        message = {int(option.split(":")[0]): int(option.split(":")[2]) for option in _options(made.line)}
        table = json.loads(_core.parse_aqm(_core.tc_queue(made.aqm, made.line, 5)["aqm"]))["parameters"]
        assert table["created"] == "5 ns"
        if "rtt" in made.line:
            continue  # ours stores the RTTs, and derives the others at construction
        for key, option, scale in (("alpha", 5, 256), ("beta", 6, 256)):
            if option in message:
                single = F32.unpack(F32.pack(table[key]))[0]
                assert int(single * scale) == message[option], made.line
        for key, option in (("target", 3), ("tupdate", 4)):
            if option in message:
                assert _core.duration_ns(table[key]) == 1000 * message[option], made.line


def _options(line: str) -> list[str]:
    return job_line("f", "1:1", "10:", line).split()[5:]


def test_a_kernel_has_the_features_of_earlier_versions() -> None:
    newer = {"dualpi2", "cake_mq"}
    for kernel, lacks in (("6.1.192", newer), ("6.12.117", newer), ("6.17.2", {"cake_mq"}), ("7.3.4", set())):
        assert {name for name in NAMES if not supports(kernel, name)} == lacks, kernel


def test_priorities_of_packets_choose_no_queue_of_dualpi2() -> None:
    """A priority equal to a class of the discipline would select the L queue."""
    made = pattern("dualpi2", 1, 0, 50)
    assert made.naming == Naming.STACK and all(line.split()[4] == "0" for line in made.arrivals(0))
