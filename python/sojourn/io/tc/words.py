"""Words that `tc` prints for each discipline, with the kind of their value.

Source: iproute2 6.1 to 7.1, the file and function of each entry. The words of commands that no output has (`noecn`) are
in the entry as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum


class Value(Enum):
    """Kind of the value of a word."""

    FLAG = "flag"
    """No value."""
    COUNT = "count"
    """Integer, such as `1024`."""
    PACKETS = "packets"
    """Integer with a unit, such as `1001p`."""
    BYTES = "bytes"
    """Size, such as `32Mb`."""
    RATE = "rate"
    """Rate, such as `10Mbit`."""
    TIME = "time"
    """Time, such as `17.3ms`."""
    SECONDS = "seconds"
    """Whole seconds, such as `10sec`."""
    NUMBER = "number"
    """Decimal number."""
    PERCENT = "percent"
    """Percentage, such as `10%`."""
    BITS = "bits"
    """Hexadecimal number, also with a mask, such as `0x1/0x3`."""
    STEP = "step"
    """Time or packets."""
    SIGNED = "signed"
    """Integer, possibly negative."""
    LAYER = "layer"
    """Link layer."""
    DELAY = "delay"
    """Time, with a deviation and a correlation or without."""
    SLOTS = "slots"
    """Two times or a distribution, with packets and bytes."""
    LOSS = "loss"
    """Percentages of a model of loss."""
    CELLS = "cells"
    """Rate, with the sizes of cells or without."""
    BANDS = "bands"
    """Sixteen bands."""
    WEIGHTS = "weights"
    """Three integers."""
    QUANTA = "quanta"
    """Integers, one per band."""
    SWITCH = "switch"
    """`on` or `off`."""
    ACTION = "action"
    """Action for packets that exceed a policer, and after a slash for those that conform."""


COUNTS = {Value.FLAG: 0, Value.BANDS: 16, Value.WEIGHTS: 3, Value.QUANTA: None}
"""Numbers of values other than one."""


@dataclass(frozen=True)
class Printed:
    """Words of a discipline."""

    source: str
    """File and function of iproute2."""
    words: Mapping[str, Value]


def count_of(kind: str, word: str) -> int | None:
    """Number of values after a word; None if it varies, or if tc does not print the word for this kind."""
    value = PRINTED[kind].words.get(word) if kind in PRINTED else None
    return None if value is None else COUNTS.get(value, 1)


def whole_words(kind: str, words: Sequence[str]) -> list[str]:
    """Words of a command without abbreviations, such as `delay` for `del`."""
    known = ABBREVIATED.get(kind, ())
    return [next((one for one in known if one.startswith(word)), word) if word.isalpha() else word for word in words]


def _words(**by_value: str) -> dict[str, Value]:
    """Table from the words of each kind of value."""
    return {word: Value(value) for value, words in by_value.items() for word in words.split()}


_CAKE = _words(
    rate="bandwidth",
    time="rtt",
    bytes="memlimit",
    bits="fwmark",
    signed="overhead",
    count="mpu",
    flag=(
        "unlimited autorate-ingress besteffort diffserv3 diffserv4 diffserv8 precedence diffserv "
        "flowblind srchost dsthost hosts flows dual-srchost dual-dsthost triple-isolate nat nonat wash "
        "nowash ingress egress ack-filter ack-filter-aggressive no-ack-filter split-gso no-split-gso raw "
        "atm ptm noatm conservative via-ethernet ethernet ether-vlan docsis ipoa-vcmux ipoa-llcsnap "
        "bridged-vcmux bridged-llcsnap pppoa-vcmux pppoa-llc pppoe-vcmux pppoe-llcsnap pppoe-ptm "
        "bridged-ptm datacentre lan metro regional internet oceanic satellite interplanetary"
    ),
)
PRINTED: dict[str, Printed] = {
    "cake": Printed("tc/q_cake.c, cake_print_opt", _CAKE),
    "cake_mq": Printed("tc/q_cake.c, cake_print_opt", _CAKE),
    "fq_codel": Printed(
        "tc/q_fq_codel.c, fq_codel_print_opt",
        _words(
            packets="limit",
            count="flows drop_batch ce_threshold_mask",
            bytes="quantum memory_limit",
            bits="ce_threshold_selector",
            time="target ce_threshold interval",
            flag="ecn noecn",
        ),
    ),
    "codel": Printed(
        "tc/q_codel.c, codel_print_opt",
        _words(
            packets="limit",
            time="target ce_threshold interval",
            flag="ecn noecn",
        ),
    ),
    "pie": Printed(
        "tc/q_pie.c, pie_print_opt",
        _words(
            packets="limit",
            time="target tupdate",
            number="alpha beta",
            flag="ecn noecn bytemode nobytemode dq_rate_estimator no_dq_rate_estimator",
        ),
    ),
    "fq_pie": Printed(
        "tc/q_fq_pie.c, fq_pie_print_opt",
        _words(
            packets="limit",
            count="flows",
            bytes="quantum memory_limit",
            percent="ecn_prob",
            time="target tupdate",
            number="alpha beta",
            flag="ecn noecn bytemode nobytemode dq_rate_estimator no_dq_rate_estimator",
        ),
    ),
    "red": Printed(
        "tc/q_red.c, red_print_opt",
        _words(
            bytes="limit min max avpkt",
            count="ewma Plog Scell_log burst",
            number="probability",
            flag="ecn harddrop adaptive adaptative nodrop",
            rate="bandwidth",
        ),
    ),
    "choke": Printed(
        "tc/q_choke.c, choke_print_opt",
        _words(
            packets="limit min max",
            count="ewma Plog Scell_log burst",
            number="probability",
            flag="ecn harddrop adaptive adaptative nodrop",
            bytes="avpkt",
            rate="bandwidth",
        ),
    ),
    "sfq": Printed(
        "tc/q_sfq.c, sfq_print_opt",
        _words(
            packets="limit",
            bytes="quantum min max redflowlimit avpkt",
            count="depth flows divisor ewma burst",
            flag="headdrop ecn harddrop adaptive adaptative nodrop",
            seconds="perturb",
            number="probability",
        ),
    ),
    "fq": Printed(
        "tc/q_fq.c, fq_print_opt",
        _words(
            packets="limit flow_limit",
            count="buckets orphan_mask bands",
            bands="priomap",
            weights="weights",
            bytes="quantum initial_quantum",
            rate="maxrate defrate low_rate_threshold",
            time="refill_delay ce_threshold timer_slack horizon offload_horizon",
            flag="pacing nopacing horizon_cap horizon_drop",
        ),
    ),
    "sfb": Printed(
        "tc/q_sfb.c, sfb_print_opt",
        _words(
            time="rehash db",
            packets="limit max target penalty_rate penalty_burst",
            number="increment decrement",
        ),
    ),
    "dualpi2": Printed(
        "tc/q_dualpi2.c, dualpi2_print_opt",
        _words(
            packets="limit min_qlen_step",
            bytes="memlimit",
            time="target tupdate max_rtt typical_rtt",
            number="alpha beta",
            step="step_thresh",
            count="coupling_factor",
            percent="classic_protection",
            flag=("drop_on_overload overflow drop_enqueue drop_dequeue l4s_ect any_ect split_gso no_split_gso"),
        ),
    ),
    "hhf": Printed(
        "tc/q_hhf.c, hhf_print_opt",
        _words(
            packets="limit",
            bytes="quantum admit_bytes",
            count="hh_limit non_hh_weight",
            time="reset_timeout evict_timeout",
        ),
    ),
    "pfifo": Printed(
        "tc/q_fifo.c, fifo_print_opt",
        _words(
            packets="limit",
        ),
    ),
    "bfifo": Printed(
        "tc/q_fifo.c, fifo_print_opt",
        _words(
            bytes="limit",
        ),
    ),
    "pfifo_head_drop": Printed(
        "tc/q_fifo.c, fifo_print_opt",
        _words(
            packets="limit",
        ),
    ),
    "pfifo_fast": Printed(
        "tc/q_prio.c, prio_print_opt",
        _words(
            count="bands",
            bands="priomap",
            switch="multiqueue:",
        ),
    ),
    "tbf": Printed(
        "tc/q_tbf.c, tbf_print_opt",
        _words(
            rate="rate peakrate",
            bytes="burst buffer maxburst mtu minburst limit mpu",
            time="lat latency",
            signed="overhead",
            layer="linklayer",
        ),
    ),
    "htb": Printed(
        "tc/q_htb.c, htb_print_opt",
        _words(
            bits="default",
            count="r2q direct_packets_stat direct_qlen prio quantum burst_cell cburst_cell level mtu",
            number="ver",
            rate="rate ceil",
            bytes="burst buffer maxburst cburst cbuffer cmaxburst mpu mpu_rate mpu_ceil",
            signed="overhead",
            layer="linklayer",
            flag="offload",
        ),
    ),
    "netem": Printed(
        "tc/q_netem.c, netem_print_opt",
        _words(
            count="limit gap seed",
            delay="delay",
            slots="slot",
            loss="loss",
            percent="duplicate reorder corrupt",
            cells="rate",
            flag="ecn",
        ),
    ),
    "prio": Printed("tc/q_prio.c, prio_print_opt", _words(count="bands", bands="priomap", switch="multiqueue:")),
    "ets": Printed("tc/q_ets.c, ets_print_opt", _words(count="bands strict", quanta="quanta", bands="priomap")),
    "hfsc": Printed(
        "tc/q_hfsc.c, hfsc_print_opt and hfsc_print_class_opt",
        _words(bits="default", rate="m1 m2 rate", time="d dmax", bytes="umax", flag="sc rt ls ul"),
    ),
    "mqprio": Printed("tc/q_mqprio.c, mqprio_print_opt", _words(count="tc", bands="map")),
    "police": Printed(
        "tc/m_police.c, print_police",
        _words(
            rate="rate peakrate avrate",
            bytes="burst buffer maxburst mtu minburst overhead mpu",
            count="index pkts_rate pkts_burst",
            layer="linklayer",
            action="action conform-exceed",
            flag="drop shot ok pass pipe continue reclassify",
        ),
    ),
    "noqueue": Printed(
        "tc/tc_qdisc.c, print_qdisc",
        _words(),
    ),
}
"""Words by kind of discipline."""
ABBREVIATED: dict[str, tuple[str, ...]] = {
    "netem": (
        *("limit", "latency", "delay", "loss", "drop", "seed", "ecn", "reorder", "corrupt", "gap"),
        *("duplicate", "distribution", "rate", "slot"),
    ),
    "tbf": ("limit", "latency", "burst", "peakrate", "overhead", "linklayer"),
    "htb": (
        *("r2q", "default", "direct_qlen", "offload", "prio", "mtu", "mpu", "overhead", "linklayer"),
        *("quantum", "burst", "cburst"),
    ),
}
"""Words of commands that may be abbreviated (`matches` in `parse_opt`), in the order of tc's comparison."""
