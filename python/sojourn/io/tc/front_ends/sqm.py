"""tc commands that sqm-scripts derive from OpenWrt's `/etc/config/sqm`.

Source: sqm-scripts (T. Høiland-Jørgensen, S. Moeller; `run-openwrt.sh`, `defaults.sh`, `functions.sh` and the scripts
`*.qos`). Differs: they classify by firewall marks, this module by the DSCPs that the marks are derived from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sojourn.base.errors import InputError
from sojourn.io.tc.directions import ImportOptions
from sojourn.io.tc.front_ends import uci
from sojourn.io.tc.front_ends.translation import Translation

Options = Mapping[str, str]


def recognises(text: str) -> bool:
    """Whether a text is a configuration of sqm-scripts."""
    return uci.holds(text, ["queue"])


def translate(text: str, options: ImportOptions) -> Translation:
    """Commands of tc for all enabled sections; raises `InputError` for unsupported ones."""
    found = Translation(options)
    sections = [one for one in uci.read(text, found) if one.kind == "queue"]
    enabled = [one for one in sections if one.values.get("enabled") == "1"]
    if not enabled:
        raise InputError("no section of it is enabled; set option enabled '1' in the right one")
    first: dict[str, uci.Section] = {}
    for one in enabled:
        interface = one.values.get("interface", "eth0")
        if first.setdefault(interface, one) is not one:
            before = f"line {first[interface].line} sets up {interface}"
            found.note(one.line, f"{one.title}: {before}; sqm-scripts skips this section")
            continue
        found.commands += [(one.line, command) for command in _section_commands(one)]
        _report(found, one)
    if not found.commands:
        raise InputError(f"line {enabled[0].line}: download and upload are 0; give the rates in kbit/s")
    return found


def _report(found: Translation, section: uci.Section) -> None:
    """Report options that the commands do not have, each with its value."""
    for name, value in section.values.items():
        if name not in OPTIONS:
            found.note(section.lines[name], f"option {name} '{value}'")
        elif name == "qdisc" and value == "cake_mq":
            found.note(section.lines[name], f"option qdisc '{value}': cake is used")


def _section_commands(section: uci.Section) -> Iterator[str]:
    options = section.values
    script = options.get("script", "simple.qos")
    if script not in SCRIPTS:
        raise InputError(
            f"line {section.place('script')}: unknown script {script}; expected one of: {', '.join(SCRIPTS)}"
        )
    interface = options.get("interface", "eth0")
    qdisc = options.get("qdisc", "fq_codel")
    if script == "simplest_tbf.qos" and qdisc.startswith("cake"):
        qdisc = "fq_codel"
    if script.endswith("cake.qos"):
        qdisc = "cake"
    inside = f"ifb4{interface}"[:15]
    for direction, device, key in (("egress", interface, "upload"), ("ingress", inside, "download")):
        rate = options.get(key) or "0"
        if not re.fullmatch("[0-9]{1,9}", rate):
            raise InputError(f"line {section.place(key)}: {key}: {rate!r} is not a number of kbit/s; write e.g. 20000")
        kbit = int(rate)
        if not kbit:
            continue
        shape = SCRIPTS[script]
        if qdisc.startswith("cake"):
            yield _cake(options, direction, device, kbit, script)
        else:
            yield from shape(options, direction, device, kbit, qdisc)
        if direction == "ingress":
            where = f"dev {interface} parent ffff: u32 match u32 0 0"
            yield f"tc filter add {where} action mirred egress redirect dev {device}"


def _cake(options: Options, direction: str, device: str, kbit: int, script: str) -> str:
    words = ["besteffort" if script == "simplest.qos" else "" if script == "simple.qos" else "diffserv3 nat"]
    ingress = direction == "ingress"
    if script == "piece_of_cake.qos":
        words.append("besteffort")
    if ingress and script in ("layer_cake.qos", "simple.qos") and _is_on(options, "squash_ingress"):
        words.append("besteffort")
    if ingress and script.endswith("cake.qos") and _is_on(options, "squash_dscp"):
        words.append("wash")
    layer, table = "", ""
    if options.get("linklayer", "none") != "none":
        if options.get("linklayer_adaptation_mechanism", "default") in ("default", "cake", ""):
            cells = "atm " if options["linklayer"] == "atm" else ""
            layer = f"{cells}overhead {options.get('overhead') or 0} mpu {options.get('tcMPU') or 0}"
        else:
            table = _table(options, "cake")
    extra = options.get("iqdisc_opts" if ingress else "eqdisc_opts", "")
    return f"tc qdisc add dev {device} root {table} cake bandwidth {kbit}kbit {layer} {' '.join(words)} {extra}"


def _simplest(options: Options, direction: str, device: str, kbit: int, qdisc: str) -> Iterator[str]:
    bursts = f"quantum {_burst(kbit)} rate {kbit}kbit ceil {kbit}kbit burst {_burst(kbit)} cburst {_burst(kbit)}"
    layer_options = _class_options(options)
    yield f"tc qdisc add dev {device} root handle 1: {_table(options, qdisc)} htb default 10"
    yield f"tc class add dev {device} parent 1: classid 1:1 htb {bursts} {layer_options}"
    yield f"tc class add dev {device} parent 1:1 classid 1:10 htb {bursts} prio 0 {layer_options}"
    yield f"tc qdisc add dev {device} parent 1:10 handle 110: {_leaf(options, direction, kbit, qdisc)}"


def _simplest_tbf(options: Options, direction: str, device: str, kbit: int, qdisc: str) -> Iterator[str]:
    layer_options = _class_options(options)
    yield (
        f"tc qdisc add dev {device} root handle 1: {_table(options, qdisc)} tbf rate {kbit}kbit burst {_burst(kbit)} "
        f"latency 300ms {layer_options}"
    )
    yield f"tc qdisc add dev {device} parent 1: handle 110: {_leaf(options, direction, kbit, qdisc)}"


def _simple(options: Options, direction: str, device: str, kbit: int, qdisc: str) -> Iterator[str]:
    """Three classes: 1:11 for priority traffic, 1:12 for best effort, 1:13 for background."""
    if direction == "ingress" and _is_on(options, "squash_ingress"):
        yield from _simplest(options, direction, device, kbit, qdisc)
        return
    layer_options, burst = _class_options(options), _burst(kbit)
    both = f"burst {burst} cburst {burst}"
    priority_rate = 128 if direction == "egress" else 32
    quanta = (300, 300, 300) if direction == "egress" else (500, 1500, 300)
    yield f"tc qdisc add dev {device} root handle 1: {_table(options, qdisc)} htb default 12"
    rates = f"rate {kbit}kbit ceil {kbit}kbit"
    yield f"tc class add dev {device} parent 1: classid 1:1 htb quantum {burst} {rates} {both} {layer_options}"
    for number, (rate, ceil, words) in enumerate(
        (
            (priority_rate, kbit // 3, "prio 1"),
            (kbit // 6, kbit - 16, f"{both} prio 2"),
            (kbit // 6, kbit - 16, f"{both} prio 3"),
        ),
        start=1,
    ):
        # On links below 384 kbit/s the rate would exceed the ceiling, which HTB rejects.
        assured = min(rate, ceil)
        shares = f"rate {assured}kbit ceil {ceil}kbit {words} {layer_options}"
        yield f"tc class add dev {device} parent 1:1 classid 1:1{number} htb quantum {burst} {shares}"
        quantum = f"quantum {quanta[number - 1]}" if qdisc in ("fq_codel", "fq_pie", "drr") else ""
        leaf = f"{_leaf(options, direction, kbit, qdisc)} {quantum}"
        yield f"tc qdisc add dev {device} parent 1:1{number} handle 1{number}0: {leaf}"
    for code, number in DSCP_CLASSES[direction]:
        yield f"tc filter add dev {device} parent 1: u32 match ip dsfield {code << 2:#x} 0xfc flowid 1:1{number}"


def _leaf(options: Options, direction: str, kbit: int, qdisc: str) -> str:
    prefix = "i" if direction == "ingress" else "e"
    words = [qdisc]
    if re.search(r"codel$|pie$|^pfifo$|^pfifo_fast$|^sfq$", qdisc):
        words.append(f"limit {options.get(f'{prefix}limit') or 1001}")
    words.append(_target(options.get(f"{prefix}target", ""), kbit, qdisc))
    if re.search(r"codel$|pie$|red$", qdisc):
        words.append("noecn" if options.get(f"{direction}_ecn", "ECN") == "NOECN" else "ecn")
    if qdisc.endswith("fq_codel") or qdisc == "sfq":
        words.append("flows 1024")
    words.append(options.get(f"{prefix}qdisc_opts", ""))
    return " ".join(word for word in words if word)


def _target(text: str, kbit: int, qdisc: str) -> str:
    """CoDel's target; `auto`, the default, is the maximum of 5 ms and the time of 33 ATM cells, a full packet."""
    if not re.search(r"codel$|pie$", qdisc) or text.lower() == "default":
        return ""
    if re.fullmatch(r"\d+(s|sec|secs|ms|msec|msecs|us|usec|usecs)", text):
        return f"target {text}"
    target = max(1000 * 33 * 53 * 8 // kbit, 5000)
    interval = f" interval {95_000 + target}us" if qdisc.endswith("codel") else ""
    return f"target {target}us{interval}"


def _table(options: Options, qdisc: str) -> str:
    """Size table for the link layer, the default mechanism of all but CAKE."""
    layer = options.get("linklayer", "none")
    mechanism = options.get("linklayer_adaptation_mechanism") or "default"
    if layer == "none" or mechanism not in (("tc_stab",) if qdisc == "cake" else ("default", "tc_stab")):
        return ""
    values = [options.get(key) or default for key, default in (("tcMTU", 2047), ("tcTSIZE", 512), ("tcMPU", 0))]
    mtu, size, mpu = values
    return f"stab mtu {mtu} tsize {size} mpu {mpu} overhead {options.get('overhead') or 0} linklayer {layer}"


def _class_options(options: Options) -> str:
    if options.get("linklayer_adaptation_mechanism") != "htb_private" or options.get("linklayer", "none") == "none":
        return ""
    return f"mpu {options.get('tcMPU') or 0} linklayer {options['linklayer']} overhead {options.get('overhead') or 0}"


def _burst(kbit: int) -> int:
    """Burst in bytes: a millisecond at the rate, at least a full packet of 1500 B in ATM, 1749 B."""
    return max(1000 * kbit // 8000, (1500 + 48 + 47) // 48 * 53)


def _is_on(options: Options, name: str) -> bool:
    return options.get(name, "1") == "1"


SCRIPTS = {
    "simple.qos": _simple,
    "simplest.qos": _simplest,
    "simplest_tbf.qos": _simplest_tbf,
    "piece_of_cake.qos": _simplest,
    "layer_cake.qos": _simple,
}
"""Scripts by name; with CAKE they shape by its `bandwidth`."""
OPTIONS = {
    *("enabled", "interface", "download", "upload", "script", "qdisc", "debug_logging", "verbosity"),
    *("qdisc_advanced", "qdisc_really_really_advanced", "linklayer_advanced", "squash_dscp", "squash_ingress"),
    *("ingress_ecn", "egress_ecn", "ilimit", "elimit", "itarget", "etarget", "iqdisc_opts", "eqdisc_opts"),
    *("linklayer", "linklayer_adaptation_mechanism", "overhead", "tcMTU", "tcTSIZE", "tcMPU"),
}
"""Options that the commands have, or that change no packet (`run-openwrt.sh`)."""
CS1, CS6, CS7, EF, AF42, MINIMIZE_DELAY = 8, 48, 56, 46, 36, 4
DSCP_CLASSES = {
    "egress": ((CS1, 3), (CS6, 1), (EF, 1), (AF42, 1), (MINIMIZE_DELAY, 1)),
    "ingress": ((CS1, 3), (MINIMIZE_DELAY, 1), (EF, 1), (CS6, 1), (CS7, 1), (AF42, 1)),
}
"""DSCP and class (1:11 or 1:13) in `simple.qos`: upstream by firewall marks, downstream by filters."""
