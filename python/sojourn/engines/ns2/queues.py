"""Queues in ns-2: its own classes, by the scenario's names, or our queue managers in the plugin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sojourn.base.units import initial_value
from sojourn.engines.ns2.refuse import refuse
from sojourn.engines.values import bits, limit_of, nanoseconds, non_profile_parameters, octets
from sojourn.model.aqms.spelling import references, spelled_aqm

Settings = Mapping[str, str]
"""Instance variables of an ns-2 class, by name."""


@dataclass(frozen=True)
class Queue:
    """A queue in ns-2."""

    kind: str
    """OTcl class below `Queue/`."""
    settings: Settings
    """Class defaults, set before the queue is created: constructors of RED, PI and REM compute from them."""
    manage: str = ""
    """Tcl command for the queue after its creation; the link's number is appended."""
    limit: str = ""
    """Capacity, in a scenario's syntax."""
    drops_early: bool = False
    by_host: bool = False
    """Whether it classifies by address, so that each end of a flow must be a node."""


@dataclass(frozen=True)
class Traffic:
    """Traffic of a link."""

    sizes: frozenset[int]
    """Packet sizes in bytes."""


def ns2_queue(place: str, link: Mapping[str, Any], traffic: Traffic) -> Queue:
    """Translate a link's queue into ns-2's own; `place` is the link's path in the scenario."""
    table = link["aqm"]
    name, profile, where = table["name"], table["profile"], f"{place}.aqm"
    kinds = {key: profiles for key, (profiles, _) in NS2_QUEUES.items()}
    if name not in kinds or profile not in kinds[name]:
        full = name if profile in ("plain", "") or references(table) else f"{name}@{profile}"
        listed = ", ".join(key if "plain" in profiles else f"{key}@{profiles[0]}" for key, profiles in kinds.items())
        refuse(where, f"has no {full} of its own", f"choose one of {listed}, or --engine ns2-plugin")
    if "+" in link["limit"]:
        refuse(f"{place}.limit", "accepts only one limit", "keep one of them")
    return NS2_QUEUES[name][1](place, link, traffic)


def plugin_queue(place: str, link: Mapping[str, Any], _traffic: Traffic) -> Queue:
    """Queue of the plugin with our queue manager."""
    table = link["aqm"]
    if references(table):
        refuse(f"{place}.aqm", "has the queue managers of Sojourn, none in Python", "choose one of sojourn aqm list")
    text, by_host = spelled_aqm(table), bool(table.get("isolation", "").startswith(("host", "dual")))
    limits = {"packets": 0, "B": 0, "ns": 0}
    for part in link["limit"].split(" + "):
        number, _, unit = part.partition(" ")
        in_time = unit not in ("packets", "packet", "B")
        key = "ns" if in_time else "B" if unit == "B" else "packets"
        limits[key] = nanoseconds(f"{place}.limit", part) if in_time else int(number)
    rate = bits(f"{place}.rate", initial_value(link["rate"]))
    delay = nanoseconds(f"{place}.delay", initial_value(link["delay"]))
    words = [f"{{{text}}}", *limits.values(), rate, octets(f"{place}.mtu", link["mtu"]), delay]
    manage = f"manage {' '.join(str(word) for word in words)} $seed"
    return Queue("Sojourn", {}, manage, link["limit"], table["name"] in EARLY_DROPPERS, by_host)


def _tail_drop(place: str, link: Mapping[str, Any], _traffic: Traffic) -> Queue:
    """`DropTail` drops an arrival that would fill the queue up to `limit_`, so its capacity is one less."""
    number, unit = limit_of(place, link["limit"], link)
    settings = {"drop_front_": _flag(link["aqm"]["name"] == "drophead"), "limit_": str(_integer(place, number + 1))}
    if unit == "B":
        settings |= {"mean_pktsize_": "1"}
    settings |= {"queue_in_bytes_": _flag(unit == "B")}
    return Queue("DropTail", settings, limit=f"{number} {unit}")


def _red(place: str, link: Mapping[str, Any], traffic: Traffic) -> Queue:
    table, where = link["aqm"], f"{place}.aqm"
    if table["arithmetic"] != "ns2":
        refuse(f"{where}.arithmetic", "has its own arithmetic", "choose arithmetic ns2")
    for key, value in (("burst", 0), ("harddrop", False), ("nodrop", False)):
        if table[key] != value:
            refuse(f"{where}.{key}", "does not know this parameter of tc", "leave it out")
    if bits(where, table["bandwidth"]):
        refuse(f"{where}.bandwidth", "uses the link's rate", "leave it out")
    if table["adaptive"] != "off" and table["gentle_slope"] != "initial":
        refuse(f"{where}.gentle_slope", "does not move the slope beyond max", "choose gentle_slope initial")
    avpkt = octets(f"{where}.avpkt", table["avpkt"])
    thresholds = {
        name: _number(Fraction(octets(f"{where}.{key}", table[key]), avpkt))
        for name, key in (("thresh_", "min"), ("maxthresh_", "max"))
    }
    in_bytes = bool(table["queue_in_bytes"])
    limit, capacity = _red_limit(place, link, traffic, avpkt, in_bytes=in_bytes)
    times = {"interval_": table["interval"], "targetdelay_": table["target"]}
    settings = {
        **thresholds,
        "mean_pktsize_": str(avpkt),
        "linterm_": _number(1 / table["probability"]),
        "q_weight_": _number(table["weight"]),
        **{name: _number(Fraction(nanoseconds(where, text), 10**9)) for name, text in times.items()},
        "adaptive_": "0" if table["adaptive"] == "off" else "1",
        "feng_adaptive_": "1" if table["adaptive"] == "mimd" else "0",
        **{f"{name}_": _number(table[name]) for name in ("alpha", "beta", "top", "bottom", "mark_p")},
        **{f"{name}_": _flag(table[name]) for name in ("gentle", "wait", "bytes", "use_mark_p")},
        "queue_in_bytes_": _flag(in_bytes),
        "setbit_": _flag(table["ecn"]),
        "limit_": str(_integer(place, limit)),
    }
    return Queue("RED", settings, limit=capacity, drops_early=True)


def _red_limit(place: str, link: Mapping[str, Any], traffic: Traffic, avpkt: int, *, in_bytes: bool) -> tuple[int, str]:
    """`limit_` of RED, and the queue's capacity.

    RED drops an arrival that finds `limit_` packets, or as many bytes in units of `mean_pktsize_`. For packets of one
    size both units are equivalent.
    """
    number, unit = limit_of(place, link["limit"], link)
    size = next(iter(traffic.sizes)) if len(traffic.sizes) == 1 else 0
    if unit == "packets" and not in_bytes:
        return number, link["limit"]
    if unit == "B" and not in_bytes:
        refuse(f"{place}.limit", "counts packets here", 'write e.g. "100 packets", or queue_in_bytes')
    limit_bytes = number if unit == "B" else number * size
    limit = limit_bytes // avpkt
    if unit == "packets" and (not size or limit * avpkt <= limit_bytes - size):
        refuse(f"{place}.limit", "counts bytes here, and packets differ in size", 'write e.g. "75 kB"')
    if unit == "B" and limit * avpkt != limit_bytes:
        refuse(f"{place}.limit", f"counts RED's bytes in units of avpkt ({avpkt} B)", f'write e.g. "{limit * avpkt} B"')
    return limit, link["limit"]


def _pi(place: str, link: Mapping[str, Any], traffic: Traffic) -> Queue:
    """`PI` has RED's limit and units."""
    table, where = link["aqm"], f"{place}.aqm"
    if table["n"]:
        refuse(f"{where}.n", "needs explicit gains", "write a and b")
    size, in_bytes = octets(where, table["mean_pktsize"]), bool(table["queue_in_bytes"])
    limit, capacity = _red_limit(place, link, traffic, size, in_bytes=in_bytes)
    settings = {
        **{f"{name}_": _number(table[name]) for name in ("a", "b", "w", "qref")},
        "mean_pktsize_": str(size),
        "bytes_": _flag(table["bytes"]),
        "queue_in_bytes_": _flag(in_bytes),
        "setbit_": _flag(table["ecn"]),
        "limit_": str(_integer(place, limit)),
    }
    return Queue("PI", settings, limit=capacity, drops_early=True)


def _rem(place: str, link: Mapping[str, Any], _traffic: Traffic) -> Queue:
    """`REM` checks its limit with the arrival in the queue, so its capacity is one less; it marks on departure."""
    table, where = link["aqm"], f"{place}.aqm"
    for key, value in (("alpha", 0.1), ("price", "rates"), ("queue_in_bytes", False)):
        if table[key] != value:
            refuse(f"{where}.{key}", f"supports only {key} {value}", "leave it out")
    if table["ecn"] and not table["mark_on_departure"]:
        refuse(f"{where}.mark_on_departure", "always marks on departure", "switch it on, or ecn off")
    number, unit = limit_of(place, link["limit"], link)
    if unit != "packets":
        refuse(f"{place}.limit", "counts packets here", 'write e.g. "100 packets"')
    settings = {
        "gamma_": _number(table["gamma"]),
        "phi_": _number(table["phi"]),
        "inw_": _number(table["inw"]),
        "pbo_": _number(table["pbo"]),
        "pupdtime_": _number(Fraction(nanoseconds(where, table["pupdtime"]), 10**9)),
        "mean_pktsize_": str(octets(where, table["mean_pktsize"])),
        "markpkts_": _flag(table["ecn"]),
        "limit_": str(_integer(place, number + 1)),
    }
    return Queue("REM", settings, limit=link["limit"], drops_early=True)


def _sfq(place: str, link: Mapping[str, Any], _traffic: Traffic) -> Queue:
    table, where = link["aqm"], f"{place}.aqm"
    for key in non_profile_parameters(table):
        if key not in ("limit", "flows"):
            refuse(f"{where}.{key}", f"cannot set {key} of sfq", "leave it out")
    number, unit = limit_of(place, link["limit"], link)
    if unit != "packets" or number < table["limit"]:
        remedy = f'write link.aqm.limit for this queue, and limit = "{table["limit"]} packets" or more'
        refuse(f"{place}.limit", "limits SFQ by its own parameter", remedy)
    settings = {"maxqueue_": str(table["limit"]), "buckets_": str(table["flows"])}
    return Queue("SFQ", settings, limit=f"{table['limit']} packets", drops_early=True, by_host=True)


def _integer(place: str, value: int) -> int:
    if value >= 2**31:
        refuse(f"{place}.limit", "counts up to 2147483646", "lower it")
    return value


def _number(value: float | Fraction) -> str:
    return repr(int(value)) if value == int(value) else repr(float(value))


def _flag(value: object) -> str:
    return "true" if value else "false"


NS2_QUEUES: Mapping[str, tuple[tuple[str, ...], Callable[[str, Mapping[str, Any], Traffic], Queue]]] = {
    "droptail": (("plain",), _tail_drop),
    "drophead": (("plain",), _tail_drop),
    "red": (("ns2",), _red),
    "ared": (("2001",), _red),
    "pi": (("ns2", "plain"), _pi),
    "rem": (("ns2", "plain"), _rem),
    "sfq": (("ns2",), _sfq),
}
"""By name in scenarios: the profiles that are ns-2's, and the translation."""
EARLY_DROPPERS = frozenset(
    (
        *("pie", "pi2", "fq_pie", "red", "ared", "choke", "sfq_red", "dualpi2", "sfq"),
        *("blue", "sfb", "pi", "rem", "avq"),
    )
)
"""Queue managers that drop arrivals before the queue is full."""
