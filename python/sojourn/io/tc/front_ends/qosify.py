"""CAKE as qosify sets it up, from OpenWrt's `/etc/config/qosify`.

Source: qosify (F. Fietkau; `iface_config_set` and `cmd_add_qdisc` in `interface.c`) and its init script
(`add_interface`).
"""

from __future__ import annotations

from sojourn.base.errors import InputError
from sojourn.io.tc.directions import ImportOptions
from sojourn.io.tc.front_ends import uci
from sojourn.io.tc.front_ends.translation import Translation


def recognises(text: str) -> bool:
    """Whether a text is a configuration of qosify."""
    return uci.holds(text, KINDS, OWN) or uci.holds(text, RULES, RULE_OPTIONS)


def translate(text: str, options: ImportOptions) -> Translation:
    """Commands of tc for all enabled interfaces; raises `InputError` if there is none."""
    found = Translation(options)
    sections = uci.read(text, found)
    enabled = 0
    for one in sections:
        if one.kind in RULES:
            found.note(one.line, f"{one.title}: its rules set DSCPs by port and host; flows here have their own")
        elif one.kind not in KINDS:
            found.note(one.line, one.title)
        elif one.switch("disabled", "0"):
            found.note(one.line, f"{one.title}: it is disabled and left out")
        else:
            enabled += 1
            _interface(found, one)
    if not enabled:
        raise InputError("no interface of it is enabled; set option disabled '0' in the right section")
    return found


def _interface(found: Translation, section: uci.Section) -> None:
    """Add CAKE on an interface, for what it sends, and on an IFB, for what it receives."""
    device = section.take("name")
    if not device:
        device = section.name or "wan"
        found.assume(section.line, f"{section.title}: option name is missing, which qosify needs; {device} is taken")
    inside = f"ifb-{device}"[:15]
    both = _text(found, section, "options")
    mode = _text(found, section, "mode") or "diffserv4"
    isolates = _switch(found, section, "host_isolate", default=True)
    # qosify takes translated addresses for granted on interfaces, which it finds by their names, and not on devices.
    nat = "nat" if _switch(found, section, "nat", default=section.kind == "interface") else "nonat"
    link = _link_layer(found, section)
    adapts = _switch(found, section, "autorate_ingress", default=False)
    rate = _text(found, section, "bandwidth")
    for side, target in (("egress", device), ("ingress", inside)):
        bandwidth = _text(found, section, "bandwidth_up" if side == "egress" else "bandwidth_down") or rate
        own = _text(found, section, f"{side}_options")
        if not _switch(found, section, side, default=True):
            continue
        shaper = f"bandwidth {bandwidth}" if bandwidth else ""
        autorate = "autorate-ingress" if adapts and side == "ingress" else ""
        host = "src" if side == "egress" else "dst"
        isolation = f"{nat} dual-{host}host" if isolates else "flows"
        words = (shaper, mode, side, autorate, isolation, link, both, own)
        found.add(section.line, "qdisc add", target, "root cake", *words)
        if side == "ingress":
            found.redirect(section.line, device, inside)
    for line, option in section.left():
        found.note(line, option)


def _link_layer(found: Translation, section: uci.Section) -> str:
    """Words of CAKE for the link layer."""
    kind = section.take("overhead_type", "none")
    overhead, encapsulation = _text(found, section, "overhead"), _text(found, section, "overhead_encap")
    words = [kind] if kind in LAYERS else []
    if kind == "manual":
        words = [f"overhead {overhead}" if overhead else "", encapsulation]
    else:
        if kind not in LAYERS and kind != "none":
            found.note(section.place("overhead_type"), f"option overhead_type '{kind}'")
        for option, value in (("overhead", overhead), ("overhead_encap", encapsulation)):
            if value:
                why = "qosify reads it with overhead_type manual only"
                found.note(section.place(option), f"option {option} '{value}': {why}")
    mpu, tags = _text(found, section, "overhead_mpu"), section.take("overhead_vlan", "0")
    words += [f"mpu {mpu}"] if mpu else []
    if not tags.isdecimal():
        found.note(section.place("overhead_vlan"), f"option overhead_vlan '{tags}'")
    else:
        words += ["ether-vlan"] * min(int(tags[:9]), 2)
    return " ".join(words)


def _text(found: Translation, section: uci.Section, option: str) -> str:
    """Words of an option; qosify ignores one with a quote in it (`check_str`)."""
    value = section.take(option)
    if "'" in value:
        found.note(section.place(option), f"option {option} '{value}': qosify ignores a value with a quote in it")
        return ""
    return value


def _switch(found: Translation, section: uci.Section, option: str, *, default: bool) -> bool:
    """Whether a number is not zero; a word counts as zero (`json_add_boolean`)."""
    value = section.take(option)
    if value and not value.isdecimal():
        found.assume(section.place(option), f"option {option} '{value}' counts as 0; qosify reads numbers alone")
        return False
    return value.strip("0") != "" if value else default


KINDS = ("interface", "device")
"""Kinds of sections with queues."""
RULES = ("defaults", "class", "alias")
"""Kinds of sections about DSCPs."""
OWN = (
    *("bandwidth_up", "bandwidth_down", "host_isolate", "autorate_ingress", "ingress_options", "egress_options"),
    *("overhead_type", "overhead_encap", "overhead_mpu", "overhead_vlan"),
)
"""Options of interfaces that OpenWrt's network configuration does not have."""
RULE_OPTIONS = (
    *("dscp_prio", "dscp_bulk", "dscp_icmp", "dscp_default_udp", "dscp_default_tcp", "prio_max_avg_pkt_len"),
    *("bulk_trigger_timeout", "bulk_trigger_pps"),
)
LAYERS = (
    *("conservative", "pppoa-vcmux", "pppoa-llc", "pppoe-vcmux", "pppoe-llcsnap", "bridged-vcmux", "bridged-llcsnap"),
    *("ipoa-vcmux", "ipoa-llcsnap", "pppoe-ptm", "bridged-ptm", "docsis", "ethernet"),
)
"""Values of `overhead_type` that are words of CAKE."""
