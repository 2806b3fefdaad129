"""Policers in filters of `tc`: the discipline `police` before the queue of a direction.

A policer whose filter matches everything sees all packets of a hook: those that the device receives (ingress), or those
that it sends (egress, filters of the root). Policers of a part of the packets are noted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from sojourn.base.errors import InputError
from sojourn.io.tc import values
from sojourn.io.tc.directions import Pair
from sojourn.io.tc.disciplines import TranslatedQdisc, shortest
from sojourn.io.tc.options import convert, pairs, refusal
from sojourn.io.tc.parents import TBF_PARAMETERS, EgressTree
from sojourn.io.tc.records import Device, Qdisc, Rule, TcConfig


@dataclass(frozen=True)
class Policing:
    """Policers of a direction."""

    texts: tuple[str, ...] = ()
    """Disciplines in the order in which packets meet them."""
    bounds: tuple[int, ...] = ()
    """Their rates in bit/s."""
    device: Device | None = None
    """Device of the first one."""

    def before(self, egress: EgressTree | None) -> EgressTree | None:
        """Put them before the queue of a direction; None is an unknown queue, with tail drop behind a policer."""
        if not self.texts:
            return egress
        egress = egress or EgressTree(TranslatedQdisc("droptail", ("1000 packets",)))
        text = egress.qdisc.text
        for police in reversed(self.texts):
            text = police if text == "droptail" else f"{police} {{ {text} }}"
        return replace(egress, qdisc=replace(egress.qdisc, text=text), bounds=(*egress.bounds, *self.bounds))


def add_roots(config: TcConfig) -> tuple[str, ...]:
    """Give devices with a policer and without a root discipline tail drop; returns their names."""
    bare = tuple(name for name, device in config.devices.items() if device.root is None and device.has_policer)
    for name in bare:
        config.add(name, Qdisc("noqueue", "", "root", [], config.devices[name].first_policer))
    return bare


def by_direction(config: TcConfig, pair: Pair) -> tuple[Policing, Policing]:
    """Policers of the packets to the home and of those from it; `pair` are the devices that send them."""
    names = [device.name if device else "" for device in pair]
    found: tuple[list[tuple[str, Qdisc]], list[tuple[str, Qdisc]]] = ([], [])
    for hook in (INGRESS, EGRESS, ROOT):
        for device in config.devices.values():
            for rules in (rules for name, rules in device.rules.items() if _hook(device, name) == hook):
                place = f"{device.name}, {'ingress' if hook == INGRESS else 'egress'}"
                chosen = _of_everything(config, place, rules)
                receiver = _receiver(device, names) if hook == INGRESS else device.name
                if chosen and receiver in names:
                    found[names.index(receiver)].extend((place, policer) for policer in chosen)
                else:
                    _note_all(config, place, chosen, "neither direction has that device")
    for device in config.devices.values():
        for name, rules in device.rules.items():
            if _hook(device, name) is None:
                policers = [policer for rule in rules for policer in rule.policers]
                _note_all(config, f"{device.name}, parent {name}", policers, PART)
    to_home, from_home = (_translated(config, policers) for policers in found)
    return to_home, from_home


def _hook(device: Device, name: str) -> str | None:
    """Kind of a hook with rules; None for that of a class or an inner discipline."""
    if name in (INGRESS, EGRESS, ROOT):
        return name
    return ROOT if device.root is not None and name == device.root.handle else None


def _receiver(device: Device, names: Sequence[str]) -> str:
    """Device that forwards the packets that another one receives: the redirection's, or the other direction's."""
    if device.ingress_to:
        return device.ingress_to
    if device.name not in names:
        return device.name
    return names[1 - names.index(device.name)]


def _of_everything(config: TcConfig, place: str, rules: Iterable[Rule]) -> list[Qdisc]:
    """Policers that all packets meet: those of the first rule, if it matches everything; others are noted."""
    first, *others = sorted(rules, key=lambda rule: rule.priority)
    for rule in others if first.matches_all else (first, *others):
        _note_all(config, place, rule.policers, "a filter before it takes the packets" if first.matches_all else PART)
    if not first.matches_all:
        return []
    # tcf_action_exec: only `pipe` continues with the next action.
    ends = (number for number, one in enumerate(first.policers, start=1) if not _action(one).endswith("/pipe"))
    end = next(ends, len(first.policers))
    _note_all(config, place, first.policers[end:], "an action before it ends the filter")
    return list(first.policers[:end])


def _action(policer: Qdisc) -> str:
    """Action for packets that exceed, and after a slash the one for those that conform; empty by default."""
    action = ""
    for word, value in pairs("police", policer.words):
        action = word if word in ACTIONS else value if word in CONTROLS else action
    return action


def _note_all(config: TcConfig, place: str, policers: Iterable[Qdisc], reason: str) -> None:
    for policer in policers:
        _note(config, (place, policer), reason)


def _note(config: TcConfig, placed: tuple[str, Qdisc], reason: str) -> None:
    place, policer = placed
    words = " ".join(["police", *policer.words])
    config.note(policer.line, f"{place}: {words}: {reason}; packets above its rate pass")


def _translated(config: TcConfig, policers: Sequence[tuple[str, Qdisc]]) -> Policing:
    texts, bounds = list[str](), list[int]()
    for placed in policers:
        given = _parameters(config, placed)
        if given is None:
            continue
        text = " ".join(["police", *(f"{name} {value}" for name, value in given.items())])
        if not placed[1].is_shown and (error := refusal(text)) is not None:
            raise InputError(f"line {placed[1].line}: {error}")
        try:
            texts.append(shortest(text, (("limit", "1000 packets"),)))
        except InputError as error:
            _note(config, placed, str(error).removeprefix("link.aqm: "))
            continue
        bounds += [int(given["rate"].removesuffix("bit/s"))] if "rate" in given else []
    return Policing(tuple(texts), tuple(bounds), config.device(policers[0][0].partition(",")[0]) if texts else None)


def _parameters(config: TcConfig, placed: tuple[str, Qdisc]) -> dict[str, str] | None:
    """Parameters of a policer that drops what exceeds it; None for another one, which is noted."""
    _, policer = placed
    given = dict[str, str]()
    for word, value in pairs("police", policer.words):
        if word in PARAMETERS and value:
            name, read = PARAMETERS[word]
            if text := convert(policer, (word, value), read, config):
                given[name] = text
                cell = value.partition("/")[2]
                if name == "burst" and cell.isdecimal():
                    given.setdefault("mtu", f"{CELLS * int(cell)}B")
        elif word not in (*ACTIONS, *CONTROLS, "index"):
            config.note(policer.line, f"police: {word} {value}".rstrip())
    _drop_defaults(given, policer)
    if not given.keys() & {"rate", "pkts_rate", "mtu"}:
        reason = (
            "tc -j does not print its rate; give the output of tc filter show" if config.is_json else "it has no rate"
        )
        _note(config, placed, reason)
        return None
    return given if _drops(config, placed) else None


def _drop_defaults(given: dict[str, str], policer: Qdisc) -> None:
    """Drop values that tc prints for parameters that were not given."""
    if given.get("overhead") == "0":
        del given["overhead"]
    size = int(given.get("mtu", "0B").removesuffix("B"))
    is_default = size == DEFAULT_MTU or (policer.is_shown and size == SHOWN_MTU)
    if (is_default and "rate" in given and "peakrate" not in given) or size >= UNLIMITED_MTU:
        given.pop("mtu", None)


def _drops(config: TcConfig, placed: tuple[str, Qdisc]) -> bool:
    """Whether a policer drops the packets that exceed it and passes the others; anything else is noted."""
    exceed, _, conform = _action(placed[1]).partition("/")
    if conform in ("drop", "shot"):
        _note(config, placed, "it drops packets within its rate as well, which is not modelled")
        return False
    if exceed in ("", "reclassify"):
        # tcf_classify: a filter that matches everything matches again.
        config.assume(placed[1].line, f"{placed[0]}: the policer drops what exceeds it (Linux: after 16 more attempts)")
        return True
    if exceed not in ("drop", "shot"):
        _note(config, placed, f"its action is {exceed}, not drop")
        return False
    return True


INGRESS, EGRESS, ROOT = "ingress", "egress", "root"
"""Hooks of all packets of a device."""
PART = "it sees a part of the packets, and a direction has one policer for all"
ACTIONS = ("drop", "shot", "ok", "pass", "pipe", "continue", "reclassify")
CONTROLS = ("action", "conform-exceed")
"""Words with an action as their value."""
PARAMETERS: dict[str, tuple[str, Callable[[str], str]]] = {
    **{word: entry for word, entry in TBF_PARAMETERS.items() if entry[0] not in ("limit", "latency")},
    "pkts_rate": ("pkts_rate", values.count),
    "pkts_burst": ("pkts_burst", values.count),
    "linklayer": ("linklayer", lambda text: "atm" if text == "adsl" else text),
}
"""Our parameter with the converter of its value, by tc's word."""
CELLS = 255
"""Cells in the default `mtu` of a policer with a rate (`tcf_police_init`)."""
DEFAULT_MTU, SHOWN_MTU = 2040, 2048
"""That default with cells of 8 bytes, and as tc rounds it."""
UNLIMITED_MTU = 2**32 - 1
"""`mtu` that tc shows for a policer without one."""
