"""CAKE, HTB and HFSC as QoSmate sets them up, from OpenWrt's `/etc/config/qosmate`.

Source: QoSmate (`etc/qosmate.sh`, `etc/init.d/qosmate`, `etc/config/qosmate`), which classifies packets that leave by
nftables and packets that arrive by filters; both follow the DSCP. Differs: the class of the router's own packets and
the first slopes of HFSC's curves are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from sojourn.base.errors import InputError
from sojourn.io.tc.directions import ImportOptions
from sojourn.io.tc.front_ends import uci
from sojourn.io.tc.front_ends.translation import Translation


def recognises(text: str) -> bool:
    """Whether a text is a configuration of QoSmate."""
    return uci.holds(text, ["settings"], ("DOWNRATE", "UPRATE", "ROOT_QDISC"))


def translate(text: str, options: ImportOptions) -> Translation:
    """Commands of tc for both directions; raises `InputError` for a disabled or unusable configuration."""
    found = Translation(options)
    config = Config(found, {})
    for one in uci.read(text, found):
        if one.kind in DEFAULTS:
            config.sections.setdefault(one.kind, one)
        else:
            found.note(one.line, f"{one.title}: rules for ports and hosts, which flows here do not have")
    if config.text("global", "enabled") != "1":
        raise InputError("it is disabled; set option enabled '1' in its section global")
    config.report(_set_up(config))
    return found


@dataclass
class Config:
    """Sections by kind, with QoSmate's defaults for missing options."""

    found: Translation
    sections: dict[str, uci.Section]

    def text(self, kind: str, option: str) -> str:
        """Value of an option."""
        section = self.sections.get(kind)
        default = DEFAULTS[kind].get(option, "")
        return section.take(option, default) if section else default

    def is_on(self, kind: str, option: str) -> bool:
        """Whether an option is 1."""
        return self.text(kind, option) == "1"

    def number(self, kind: str, option: str, default: int | None = None) -> int:
        """Value of an option in whole numbers; raises `InputError`."""
        text = self.text(kind, option) or ("" if default is None else str(default))
        if not re.fullmatch("[0-9]{1,9}", text):
            raise InputError(f"line {self.line(kind, option)}: {option}: {text!r} is not a whole number; write e.g. 40")
        return int(text)

    def line(self, kind: str, option: str = "") -> int:
        """Line of an option, or of its section, or of the settings."""
        section = self.sections.get(kind) or self.sections["settings"]
        return section.place(option)

    @cached_property
    def layer(self) -> Mapping[str, str]:
        """Options of the link layer, which older versions have in the section of the root (`try_migrate_config`)."""
        root = self.text("settings", "ROOT_QDISC")
        given = {option: self.text("advanced", option) for option in LAYER}
        has_own = "advanced" in self.sections and self.sections["advanced"].values.get("COMMON_LINK_PRESETS")
        old = self.sections.get(root)
        if has_own or old is None:
            return given
        if root == "cake":
            return {option: old.take(option, given[option]) for option in LAYER}
        kind, overhead = old.take("LINKTYPE", "ethernet"), old.take("OH")
        given["COMMON_LINK_PRESETS"] = kind if kind in ("atm", "docsis") else "ethernet"
        given["OVERHEAD"] = overhead if kind == "atm" else given["OVERHEAD"]
        return given

    def report(self, rates: tuple[int, int]) -> None:
        """Report options without an effect here."""
        if self.is_on("autorate", "enabled"):
            self.found.assume(self.line("autorate"), "autorate: the rates stay at UPRATE and DOWNRATE")
        for kind, section in self.sections.items():
            for line, option in section.left():
                name = option.split()[1]
                value = section.values[name]
                if name in OLD.get(kind, ()) and value:
                    self.found.note(line, f"{option}: QoSmate reads the section advanced instead")
                elif name not in KNOWN[kind]:
                    self.found.note(line, option)
                elif name in RULES and value not in ("", "0") and (name != "MSS" or min(rates) < 3000):
                    self.found.note(line, f"{option}: rules about single flows are not simulated")


@dataclass
class Side:
    """A direction with its rate in kbit/s."""

    device: str
    rate: int
    game: str
    """Option with the rate of games."""
    is_egress: bool


def _set_up(config: Config) -> tuple[int, int]:
    """Add the commands of the root; returns the rates from and to the home in kbit/s."""
    device = config.text("settings", "WAN")
    if config.sections["settings"].values.get("WAN", "") == "":
        config.found.assume(config.line("settings"), f"WAN is missing; {device} of QoSmate's defaults is taken")
    root = config.text("settings", "ROOT_QDISC")
    up, down = _rate(config, "UPRATE", root), _rate(config, "DOWNRATE", root)
    ratio = config.number("advanced", "BWMAXRATIO")
    if 0 < up * ratio < down:
        down = up * ratio
        line = config.line("settings", "DOWNRATE")
        config.found.assume(line, f"DOWNRATE is {down} kbit/s, {ratio} times UPRATE, QoSmate's maximum (BWMAXRATIO)")
    inside = f"ifb-{device}"[:15]
    options = config.found.options
    config.found.options = replace(options, download=options.download or inside, upload=options.upload or device)
    sides = [Side(device, up, "GAMEUP", is_egress=True), Side(inside, down, "GAMEDOWN", is_egress=False)]
    if root not in ROOTS:
        config.found.assume(config.line("settings", "ROOT_QDISC"), f"ROOT_QDISC '{root}' is unknown; hfsc is taken")
    for side in sides:
        for command in ROOTS.get(root, _hfsc)(config, side, down // up if up else 0):
            config.found.add(config.line("settings"), *command)
    config.found.redirect(config.line("settings"), device, inside)
    return up, down


def _rate(config: Config, option: str, root: str) -> int:
    if not config.sections["settings"].values.get(option):
        default = DEFAULTS["settings"][option]
        config.found.assume(config.line("settings"), f"{option} is missing; {default} of QoSmate's defaults is taken")
    rate = config.number("settings", option)
    if rate == 0:
        line = config.line("settings", option)
        if root in ("cake", "htb"):
            raise InputError(f"line {line}: {option} is 0, and {root} then does not shape; give the rate in kbit/s")
        config.found.assume(line, f"{option} is 1000 kbit/s, which QoSmate takes for 0")
        return 1000
    return rate


Command = tuple[str, ...]
"""Words of a command: object with its verb, device, and the rest."""


def _cake(config: Config, side: Side, ratio: int) -> Iterator[Command]:
    if config.is_on("cake", "USE_MQ"):
        config.found.assume(
            config.line("cake", "USE_MQ"), f"{side.device}: the card has one queue; cake_mq needs several"
        )
    where = "EGRESS" if side.is_egress else "INGRESS"
    words = [f"bandwidth {side.rate}kbit", "" if side.is_egress else "ingress"]
    if not side.is_egress and config.is_on("cake", "AUTORATE_INGRESS"):
        words.append("autorate-ingress")
    words += [config.text("cake", f"PRIORITY_QUEUE_{where}"), *_cake_words(config, side, _cake_layer(config))]
    if side.is_egress:
        words.append("ack-filter" if _filters_acks(config, ratio) else "no-ack-filter")
    yield ("qdisc add", side.device, "root cake", *words)


def _filters_acks(config: Config, ratio: int) -> bool:
    text = config.text("cake", "ACK_FILTER_EGRESS")
    if text != "auto" and not text.isdecimal():
        line = config.line("cake", "ACK_FILTER_EGRESS")
        raise InputError(f"line {line}: ACK_FILTER_EGRESS: {text!r}; expected auto, 0 or 1")
    return ratio >= 15 if text == "auto" else text == "1"


def _cake_words(config: Config, side: Side, layer: str) -> list[str]:
    """Words of CAKE that all roots have."""
    where, host = ("EGRESS", "src") if side.is_egress else ("INGRESS", "dst")
    rtt = config.text("cake", "RTT")
    washes = config.is_on("advanced", "WASHDSCPUP" if side.is_egress else "WASHDSCPDOWN")
    return [
        f"dual-{host}host" if config.is_on("cake", "HOST_ISOLATION") else "",
        f"rtt {rtt}ms" if rtt else "",
        layer,
        config.layer["LINK_COMPENSATION"],
        config.text("cake", f"EXTRA_PARAMETERS_{where}"),
        "nat" if config.is_on("cake", f"NAT_{where}") else "nonat",
        "wash" if washes else "nowash",
    ]


def _cake_layer(config: Config, *, below_hfsc: bool = False) -> str:
    """Words of CAKE for the link layer."""
    preset, given = _preset(config), config.layer["OVERHEAD"]
    name, overhead = "ethernet", "40"
    if _is_atm(preset):
        name, overhead = "atm" if below_hfsc else preset, "44"
    elif preset in ("docsis", "raw"):
        name, overhead = preset, {"docsis": "25", "raw": "0"}[preset]
    elif preset == "cake-ethernet":
        overhead = "38"
    if preset == "cake-ethernet" and given and not below_hfsc:
        line = config.line("advanced", "OVERHEAD")
        config.found.note(line, f"option OVERHEAD '{given}': QoSmate ignores it with cake-ethernet")
        given = ""
    mpu = config.layer["MPU"]
    words = [name, f"overhead {given or overhead}", f"mpu {mpu}" if mpu else "", config.layer["ETHER_VLAN_KEYWORD"]]
    return " ".join(words)


def _table(config: Config) -> str:
    """Size table of roots other than CAKE."""
    preset, given = _preset(config), config.layer["OVERHEAD"]
    if config.text("settings", "ROOT_QDISC") != "hybrid":
        for option in ("MPU", "LINK_COMPENSATION", "ETHER_VLAN_KEYWORD"):
            if value := config.layer[option]:
                line = config.line("advanced", option)
                config.found.note(line, f"option {option} '{value}': QoSmate has it for CAKE alone")
    if _is_atm(preset):
        return f"stab mtu 2047 tsize 512 mpu 68 overhead {given or 44} linklayer atm"
    return f"stab overhead {given or {'docsis': 25, 'cake-ethernet': 38, 'raw': 0}.get(preset, 40)} linklayer ethernet"


def _preset(config: Config) -> str:
    preset = config.layer["COMMON_LINK_PRESETS"]
    if not _is_atm(preset) and preset not in ("ethernet", "docsis", "raw", "cake-ethernet"):
        line = config.line("advanced", "COMMON_LINK_PRESETS")
        config.found.assume(line, f"COMMON_LINK_PRESETS '{preset}' counts as ethernet, as in QoSmate")
        return "ethernet"
    return preset


def _is_atm(preset: str) -> bool:
    return preset == "conservative" or re.search("atm|adsl|pppoa|pppoe|bridged|ipoa", preset) is not None


def _hfsc(config: Config, side: Side, ratio: int) -> Iterator[Command]:
    del ratio
    yield from _hfsc_root(config, side)
    inner = config.text("hfsc", "nongameqdisc")
    for minor, percent in {12: 30, 13: 45, 14: 15, 15: 10}.items():
        rate = f"ls m2 {side.rate * percent // 100}kbit"
        yield ("class add", side.device, f"parent 1:1 classid 1:{minor} hfsc {rate}")
        if inner == "cake":
            yield ("qdisc add", side.device, f"parent 1:{minor} cake", config.text("hfsc", "nongameqdiscoptions"))
        elif inner == "fq_codel":
            yield ("qdisc add", side.device, f"parent 1:{minor} {_fq_codel(side)}")
        else:
            line = config.line("hfsc", "nongameqdisc")
            raise InputError(f"line {line}: nongameqdisc: {inner!r}; expected fq_codel or cake")
    yield from _filters(side, ALL_CLASSES)


def _hybrid(config: Config, side: Side, ratio: int) -> Iterator[Command]:
    del ratio
    yield from _hfsc_root(config, side)
    rest = max(1, side.rate - _game_rate(config, side))
    yield ("class add", side.device, f"parent 1:1 classid 1:13 hfsc ls m2 {rest}kbit")
    words = _cake_words(config, side, _cake_layer(config, below_hfsc=True))
    way = "besteffort" if side.is_egress else "besteffort ingress"
    yield ("qdisc add", side.device, f"parent 1:13 handle 13: cake {way}", *words)
    yield ("class add", side.device, f"parent 1:1 classid 1:15 hfsc ls m2 {max(1, side.rate // 10)}kbit")
    yield ("qdisc add", side.device, f"parent 1:15 handle 15: {_fq_codel(side)}")
    yield from _filters(side, THREE_CLASSES)


def _hfsc_root(config: Config, side: Side) -> Iterator[Command]:
    """Root, the link's class and the class of games."""
    yield ("qdisc add", side.device, f"root handle 1: {_table(config)} hfsc default 13")
    yield ("class add", side.device, f"parent 1: classid 1:1 hfsc ls m2 {side.rate}kbit ul m2 {side.rate}kbit")
    yield ("class add", side.device, f"parent 1:1 classid 1:11 hfsc rt m2 {_game_rate(config, side)}kbit")
    yield ("qdisc add", side.device, f"parent 1:11 handle 10: {_game(config, side)}")


def _game_rate(config: Config, side: Side) -> int:
    """Rate of games in kbit/s; raises `InputError`."""
    return max(1, config.number("hfsc", side.game, side.rate * 15 // 100 + 400))


def _game(config: Config, side: Side) -> str:
    """Discipline of the class of games."""
    kind = config.text("hfsc", "gameqdisc")
    delay_ms = config.number("hfsc", "MAXDEL")
    least, packet = config.number("hfsc", "PFIFOMIN"), max(1, config.number("hfsc", "PACKETSIZE"))
    pfifo = f"pfifo limit {least + delay_ms * side.rate // 8 // packet}"
    game = _game_rate(config, side)
    low, high = game * delay_ms // 3 // 8, game * delay_ms // 8
    burst = max(2, (2 * low + high) // 1500)
    red = f"red limit 150000 min {low} max {high} avpkt 500 bandwidth {side.rate}kbit burst {burst} probability 1.0"
    if kind in ("drr", "qfq"):
        config.found.note(config.line("hfsc", "gameqdisc"), f"gameqdisc {kind}: its three classes are one, of red")
        return red
    if kind == "netem":
        return _game_netem(config, side) or pfifo
    if kind not in ("pfifo", "bfifo", "red", "fq_codel"):
        config.found.assume(config.line("hfsc", "gameqdisc"), f"gameqdisc '{kind}' is unknown; pfifo is taken")
    return {"bfifo": f"bfifo limit {delay_ms * game // 8}", "red": red, "fq_codel": _fq_codel(side)}.get(kind, pfifo)


def _game_netem(config: Config, side: Side) -> str:
    """Netem of the class of games; empty for the direction without it."""
    sides = config.text("hfsc", "netem_direction")
    delay, jitter = config.number("hfsc", "netemdelayms"), config.number("hfsc", "netemjitterms")
    kind, loss = config.text("hfsc", "netemdist"), config.text("hfsc", "pktlossp")
    if sides not in ("both", "egress" if side.is_egress else "ingress"):
        return ""
    delay = max(delay, 1) if jitter else delay
    words = [f"netem limit {4 + 9 * side.rate // 8 // 500}"]
    words += [f"delay {delay}ms"] if delay else []
    words += [f"{jitter}ms distribution {kind}"] if jitter else []
    words += [f"loss {loss}"] if loss != "none" else []
    return " ".join(words)


def _fq_codel(side: Side) -> str:
    """FQ-CoDel with a target for slow links."""
    words = f"interval {_interval_ms(side)}ms target {_target_ms(side)}ms"
    return f"fq_codel memory_limit {side.rate * 200 // 8} {words} quantum 3000"


def _interval_ms(side: Side) -> int:
    return 100 + 2 * 1500 * 8 // side.rate


def _target_ms(side: Side) -> int:
    return 540 * 8 // side.rate + 4


def _htb(config: Config, side: Side, ratio: int) -> Iterator[Command]:
    """Three classes: 1:11 for priority traffic, 1:13 for best effort, 1:15 for bulk."""
    del ratio
    least = 1500 if config.layer["COMMON_LINK_PRESETS"] != "atm" else 33 * 53
    quantum = min(max(side.rate // 8, least), 200_000)
    share = max(5, min(40, 15 + 50_000 // side.rate))
    priority = max(800, side.rate * share // 100)
    others = side.rate // 6
    total, room = priority + 2 * others, side.rate * 90 // 100
    others = others * room // total if total > room else others
    classes = {
        11: (priority, max(side.rate // 3, priority * 110 // 100), 1),
        13: (others, side.rate - 16, 2),
        15: (others, side.rate - 16, 3),
    }
    yield ("qdisc add", side.device, f"root handle 1: {_table(config)} htb default 13")
    link = f"rate {side.rate}kbit ceil {side.rate}kbit burst {_burst(side.rate, 1)} cburst {_burst(side.rate, 1)}"
    yield ("class add", side.device, f"parent 1: classid 1:1 htb quantum {quantum} {link}")
    for minor, (rate, ceiling, order) in classes.items():
        # On links below 1 Mbit/s the rate may exceed the ceiling, which HTB rejects.
        rates = f"rate {max(1, min(rate, ceiling))}kbit ceil {max(1, ceiling)}kbit"
        bursts = f"burst {_burst(rate, 10)} cburst {_burst(rate, 5)}"
        yield (
            "class add",
            side.device,
            f"parent 1:1 classid 1:{minor} htb quantum {quantum} {rates} {bursts} prio {order}",
        )
        factor = 2 if minor == 15 else 1
        words = f"interval {factor * _interval_ms(side)}ms target {factor * _target_ms(side)}ms"
        packets = 1500 if minor == 13 else 300
        yield ("qdisc add", side.device, f"parent 1:{minor} handle {minor}0: fq_codel {words} quantum {packets}")
    yield from _filters(side, THREE_CLASSES)


def _burst(kbit: int, ms: int) -> int:
    """Bytes of a time at a rate, at least a packet."""
    return max(1500, kbit * ms // 8)


def _filters(side: Side, classes: dict[int, tuple[int, ...]]) -> Iterator[Command]:
    for minor, codes in classes.items():
        for code in codes:
            match = f"u32 match ip dsfield {code << 2:#x} 0xfc"
            yield ("filter add", side.device, f"parent 1: protocol ip prio 10 {match} classid 1:{minor}")


ROOTS = {"cake": _cake, "hfsc": _hfsc, "hybrid": _hybrid, "htb": _htb}
"""Commands by `ROOT_QDISC`."""
ALL_CLASSES = {11: (46, 40, 48, 56), 12: (32, 34, 36), 13: (0,), 14: (16, 10), 15: (8,)}
"""DSCPs by class."""
THREE_CLASSES = {11: (46, 40, 48, 56), 15: (8,)}
DEFAULTS: dict[str, dict[str, str]] = {
    "global": {"enabled": "1"},
    "settings": {"WAN": "eth1", "DOWNRATE": "90000", "UPRATE": "45000", "ROOT_QDISC": "hfsc"},
    "advanced": {
        **dict.fromkeys(("PRESERVE_CONFIG_FILES", "WASHDSCPUP", "WASHDSCPDOWN", "TCP_UPGRADE_ENABLED"), "1"),
        **dict.fromkeys(("TCP_DOWNPRIO_INITIAL_ENABLED", "TCP_DOWNPRIO_SUSTAINED_ENABLED"), "1"),
        "BWMAXRATIO": "20",
        "COMMON_LINK_PRESETS": "ethernet",
    },
    "hfsc": {
        "gameqdisc": "pfifo",
        "nongameqdisc": "fq_codel",
        "nongameqdiscoptions": "besteffort ack-filter",
        "MAXDEL": "24",
        "PFIFOMIN": "5",
        "PACKETSIZE": "450",
        "netemdelayms": "30",
        "netemjitterms": "7",
        "netemdist": "normal",
        "pktlossp": "none",
        "netem_direction": "both",
    },
    "cake": {
        "PRIORITY_QUEUE_INGRESS": "diffserv4",
        "PRIORITY_QUEUE_EGRESS": "diffserv4",
        "ACK_FILTER_EGRESS": "auto",
        **dict.fromkeys(("HOST_ISOLATION", "NAT_INGRESS", "NAT_EGRESS"), "1"),
    },
    "autorate": {},
}
"""Values of missing options (`etc/config/qosmate`), by kind of section."""
LAYER = ("COMMON_LINK_PRESETS", "OVERHEAD", "MPU", "LINK_COMPENSATION", "ETHER_VLAN_KEYWORD")
OLD = {"cake": LAYER, "hfsc": ("LINKTYPE", "OH")}
"""Options of the link layer in older versions, by section."""
RULES = (
    *("ACKRATE", "UDP_RATE_LIMIT_ENABLED", "TCP_UPGRADE_ENABLED", "TCP_DOWNPRIO_INITIAL_ENABLED", "MSS"),
    *("TCP_DOWNPRIO_SUSTAINED_ENABLED", "UDPBULKPORT", "TCPBULKPORT", "VIDCONFPORTS", "REALTIME4", "REALTIME6"),
    *("LOWPRIOLAN4", "LOWPRIOLAN6", "MAX_CONNECTIONS"),
)
"""Options about single flows."""
KNOWN = {
    "global": ("enabled",),
    "settings": ("WAN", "DOWNRATE", "UPRATE", "ROOT_QDISC"),
    "advanced": (
        *(*RULES, *LAYER, "PRESERVE_CONFIG_FILES", "WASHDSCPUP", "WASHDSCPDOWN", "BWMAXRATIO"),
        *("NFT_HOOK", "NFT_PRIORITY"),
    ),
    "hfsc": (
        *("gameqdisc", "GAMEUP", "GAMEDOWN", "nongameqdisc", "nongameqdiscoptions", "MAXDEL", "PFIFOMIN", "PACKETSIZE"),
        *("netemdelayms", "netemjitterms", "netemdist", "pktlossp", "netem_direction"),
    ),
    "cake": (
        *("PRIORITY_QUEUE_INGRESS", "PRIORITY_QUEUE_EGRESS", "USE_MQ", "HOST_ISOLATION", "NAT_INGRESS", "NAT_EGRESS"),
        *("ACK_FILTER_EGRESS", "RTT", "AUTORATE_INGRESS", "EXTRA_PARAMETERS_INGRESS", "EXTRA_PARAMETERS_EGRESS"),
    ),
    "autorate": (
        *("enabled", "interval", "min_ul_rate", "base_ul_rate", "max_ul_rate", "min_dl_rate", "base_dl_rate"),
        *("max_dl_rate", "latency_increase_threshold", "latency_decrease_threshold", "reflectors"),
        *("refractory_increase", "refractory_decrease", "adjust_up_factor", "adjust_down_factor", "flash_history"),
        "log_changes",
    ),
}
"""Options by kind of section; those of a section that the root does not use change nothing."""
