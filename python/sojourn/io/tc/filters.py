"""Filters of `tc`: the DSCPs they match, the classes of these packets, and actions without an equivalent here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from sojourn.io.tc import values
from sojourn.io.tc.records import ALL_DSCPS, Device, Filter, Qdisc, Rule, TcConfig

Matches = frozenset[int] | None
"""DSCPs that a criterion matches; None if it depends on anything else."""


def apply(config: TcConfig, device: Device, line: int, values_: Mapping[str, str], words: list[str]) -> None:
    """Add a filter to a device, from its location words and the words from its kind on."""
    text = " ".join(words)
    is_ingress = _hook(values_) == "ingress"
    is_redirection = _redirect(device, text)
    matched, protocol = matches(words), values_.get("protocol", "all").lower()
    is_of_ipv4 = protocol in PROTOCOLS and (protocol != "ipv6" or matched != ALL_DSCPS)
    policers = tuple(_policers(text, line, values_))
    target = re.search(r"(?:flowid|classid|baseclass) (\S+)", text)
    if policers or (is_of_ipv4 and (target or is_redirection or re.search(r"\baction\b", text))):
        rules = device.rules.setdefault(_hook(values_), [])
        rules.append(Rule(is_of_ipv4 and matched == ALL_DSCPS, policers, _priority(len(rules), values_)))
    if is_redirection or protocol == "arp":
        return
    if target is None or is_ingress:
        if not policers:
            config.note(line, f"filter {text}: its action is not modelled")
        return
    if not is_of_ipv4:
        config.note(line, f"filter {text}: packets here are of IPv4, none is of protocol {protocol}")
        return
    if matched is None:
        reason = next((remedy for word, remedy in UNSUPPORTED_MATCHES.items() if re.search(word, text)), "")
        supported = "by the DSCP (u32, flower, basic) and for everything (matchall)"
        config.note(line, f"filter {text}: {reason or 'only those ' + supported + ' are understood'}")
        return
    device.filters.append(Filter(matched, values.class_id(target[1]), line, _priority(len(device.filters), values_)))


def _hook(values_: Mapping[str, str]) -> str:
    """Hook of a filter: `ingress`, `egress`, `root`, or a handle or class."""
    parent = values.class_id(values_.get("parent", ""))
    if "egress" in values_ or parent == "ffff:fff3":
        return "egress"
    return "ingress" if "ingress" in values_ or parent.startswith("ffff:") else parent or "root"


def matches(words: list[str]) -> Matches:
    """DSCPs that a filter matches, given from its kind on; None if it depends on more than the DSCP."""
    kind = next((word for word in words if word in KINDS), "")
    criteria = KINDS[kind](" ".join(words)) if kind else [None]
    matched = ALL_DSCPS
    for one in criteria:
        if one is None:
            return None
        matched &= one
    return matched


def _redirect(device: Device, text: str) -> bool:
    """Set the target device of a redirecting filter; false for any other filter."""
    redirect = re.search(r"mirred egress redirect dev (\S+)|mirred \(Egress Redirect to device (\S+?)\)", text)
    if redirect is not None:
        device.ingress_to = redirect[1] or redirect[2]
    return redirect is not None


def _policers(text: str, line: int, values_: Mapping[str, str]) -> Iterator[Qdisc]:
    """Yield the policers of a filter, in the order of its actions."""
    for found in re.finditer(POLICE, text):
        words = found[1].split()
        if "shown" not in values_ and "action" in words:  # of a command: the next action
            words = words[: words.index("action")]
        index = re.match("0x[0-9a-f]+$", words[0]) if words else None
        yield Qdisc("police", "", _hook(values_), words[1:] if index else words, line, is_shown="shown" in values_)


def _priority(before: int, values_: Mapping[str, str]) -> int:
    """Priority of a filter; without one each new filter precedes those `before` (`tcf_auto_prio`)."""
    given = values_.get("prio") or values_.get("pref") or ""
    return int(given) if given.isdecimal() else 0xC000 - before


def _u32(text: str) -> Iterator[Matches]:
    """Yield the matches of `u32`, commands as well as output."""
    for part in re.split(r"\bmatch\b", text)[1:]:
        yield _u32_match(part.strip().lower(), is_ipv6="ipv6" in text)


def _u32_match(part: str, is_ipv6: bool) -> Matches:
    if raw := re.match(r"([0-9a-f]{8})/([0-9a-f]{8}) at (nexthdr\+)?(-?\d+)", part):
        return _header_bits((int(raw[1], 16), int(raw[2], 16)), 32, -1 if raw[3] else int(raw[4]), is_ipv6)
    if bits := re.match(r"u(8|16|32) (\w+) (?:0x)?([0-9a-f]+)(?: at (nexthdr\+)?(-?\d+))?", part):
        value, width = _integer(bits[2]), int(bits[1])
        place = -1 if bits[4] else int(bits[5] or 0)
        return None if value is None else _header_bits((value, int(bits[3], 16)), width, place, is_ipv6)
    if field := re.match(r"ip6? (?:dsfield|tos|priority|precedence|ds) (\w+)(?: (?:0x)?([0-9a-f]+))?", part):
        return _of_tos(field[1], int(field[2] or "ff", 16))
    if address := re.match(r"ip6? (?:src|dst) (\S+)", part):
        return ALL_DSCPS if _is_any(address[1]) else None
    if masked := re.match(r"(?:(?:ip6?|tcp|udp|icmp) \w+|mark) \w+ (?:0x)?([0-9a-f]+)", part):
        return None if int(masked[1], 16) else ALL_DSCPS
    return None


def _header_bits(bits: tuple[int, int], width: int, place: int, is_ipv6: bool) -> Matches:
    """DSCPs by a value and a mask of `width` bits at an offset from the IP header."""
    value, mask = bits
    if mask == 0:
        return ALL_DSCPS
    # The TOS byte is the second of the header (IPv4), or follows the 4-bit version (IPv6).
    shift = 8 * place + width - (12 if is_ipv6 else 16)
    if place < 0 or shift > width or mask & ~(0xFF << shift if shift >= 0 else 0xFF >> -shift):
        return None
    if shift < 0:
        return _by_mask(value << -shift, mask << -shift)
    return _by_mask(value >> shift, mask >> shift)


def _of_tos(text: str, mask: int) -> Matches:
    value = _integer(text)
    return None if value is None else _by_mask(value, mask)


def _by_mask(value: int, mask: int) -> Matches:
    """DSCPs of a TOS byte under a mask; None if the mask has only bits of ECN."""
    if mask and not mask & 0xFC:
        return None
    return frozenset(code for code in ALL_DSCPS if code << 2 & mask & 0xFC == value & mask & 0xFC)


def _integer(text: str) -> int | None:
    """Integer in C's notation; None for any other text."""
    try:
        return int(text, 0 if not re.fullmatch("0[0-7]+", text) else 8)
    except ValueError:
        return None


def _is_any(address: str) -> bool:
    """Whether a prefix has all addresses."""
    return address in ("any", "all", "default") or address.endswith(("/0", "/0.0.0.0", "/::"))


def _flower(text: str) -> Iterator[Matches]:
    """Yield the matches of `flower`."""
    for word, value in re.findall(r"\b([a-z]\w*) (\S+)", " ".join(re.sub(r"\b(flower|not_in_hw)\b", "", text).split())):
        if word == "ip_tos":
            tos, _, mask = value.partition("/")
            yield _of_tos(tos, _integer(mask or "0xff") or 0)
        elif word in ("dst_ip", "src_ip"):
            yield ALL_DSCPS if _is_any(value) else None
        elif re.search(r"ip_|_port$|_mac$|^vlan|^cvlan|^mpls|^tcp_|^arp_|^ct_|^enc_|^icmp|indev|^flags$", word):
            yield None


def _basic(text: str) -> Iterator[Matches]:
    """Yield the matches of `basic`."""
    for name, inside in re.findall(r"\b([a-z0-9_]+)\(([^)]*)\)", text):
        found = re.fullmatch(r"u8 at 1 layer (?:1|network) mask (\w+) eq (\w+)", inside.strip())
        mask = _integer(found[1]) if found and name == "cmp" else None
        yield None if found is None or mask is None else _of_tos(found[2], mask)
    if re.search(r"\b(?:not|or)\b", text):
        yield None


def _matchall(text: str) -> Iterator[Matches]:
    """Nothing to match."""
    del text
    yield ALL_DSCPS


KINDS: dict[str, Callable[[str], Iterator[Matches]]] = {
    "u32": _u32,
    "flower": _flower,
    "basic": _basic,
    "matchall": _matchall,
}
"""Criteria by kind of filter."""
PROTOCOLS = ("all", "ip", "0x800", "0x0800", "ipv6")
"""Protocols of filters that apply; the DSCPs of those for IPv6 are taken for both."""
POLICE = r"\bpolice\b((?:(?! (?:action order|mirred|police|flowid|classid|ref|\*flowid)\b).)*)"
"""A policer with its words, as commands and output have it."""
UNSUPPORTED_MATCHES = {
    r"\bfw\b": "firewall marks are not modelled; match the DSCP that they follow",
    r"(?:dport|sport|_port)": "ports are not modelled; match a DSCP, or name --class",
    r"(?:match [Ii][Pp]6? (?:src|dst)|(?:src|dst)_ip)": "addresses are not modelled; match a DSCP, or name --class",
    r"(?:ip_proto|match [Ii][Pp]6? protocol)": "protocols are not modelled; match a DSCP, or name --class",
    r"\bbpf\b": "BPF programs are not run",
}
"""Unsupported match criteria of filters, with the remedy."""
