"""Scenario from a router's tc output, tc commands or front end's configuration, with notes about unsupported parts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import BinaryIO

from sojourn.base.errors import InputError
from sojourn.base.inputs import decoded, read_text
from sojourn.io.tc import policers, values
from sojourn.io.tc.directions import ImportOptions, directions
from sojourn.io.tc.front_ends import registry
from sojourn.io.tc.lines import read, read_lines
from sojourn.io.tc.objects import numbered
from sojourn.io.tc.parents import EgressTree, tree
from sojourn.io.tc.records import Device, TcConfig
from sojourn.model.scenarios.scenario import Scenario

__all__ = ["ImportOptions", "ImportedScenario", "import_text", "load", "load_stream"]

LINE_RATE = 10**9
"""Default rate in bit/s of the line after a shaper; raised to the shaper's rate if that is higher."""
MAX_STREAM = 16 << 20
"""Maximum bytes of standard input, which may never end."""


@dataclass(frozen=True)
class ImportedScenario:
    """Scenario made from a router's configuration."""

    text: str
    """Scenario as TOML."""
    understood: tuple[str, ...]
    """A sentence per direction about the interpretation."""
    notes: tuple[str, ...]
    """Unsupported parts, each with its line."""
    assumed: tuple[str, ...]
    """Guesses, each with its line or direction."""


def load(path: Path | str, options: ImportOptions | None = None) -> ImportedScenario:
    """Read a file and make a scenario; raises `InputError` with the line and the remedy."""
    path = Path(path)
    return _imported(read_text(path, "configuration"), path.name, str(path), options)


def load_stream(stream: BinaryIO, options: ImportOptions | None = None) -> ImportedScenario:
    """Read standard input and make a scenario; raises `InputError` as `load` does."""
    read = stream.read(MAX_STREAM + 1)
    if len(read) > MAX_STREAM:
        raise InputError("standard input: more than 16 MiB; give the output of tc alone")
    try:
        text = decoded(read)
    except UnicodeDecodeError as error:
        raise InputError(f"standard input: byte {error.start} is not UTF-8; give the output of tc") from None
    return _imported(text, "router", "standard input", options)


def _imported(text: str, name: str, place: str, options: ImportOptions | None) -> ImportedScenario:
    try:
        return import_text(text, name, options or ImportOptions())
    except InputError as error:
        raise InputError(f"{place}: {error}") from None


def _is_json(text: str) -> bool:
    try:
        return numbered(text).is_json
    except InputError:
        return False


def _with_entry_numbers(sentence: str, is_json: bool) -> str:
    """Replace line numbers by entry numbers for the output of `tc -j`."""
    return re.sub(r"\bline (\d+)", r"entry \1", sentence) if is_json else sentence


def import_text(text: str, name: str, options: ImportOptions) -> ImportedScenario:
    """Make a scenario called `name` from a configuration."""
    translation = registry.translate(text, options)
    if translation is not None:
        config = read_lines([*translation.commands, *_routes(text)])
        # Sentences about both directions are said once.
        config.notes += dict.fromkeys(translation.notes)
        config.assumed += dict.fromkeys(translation.assumed)
        return _scenario(config, name, translation.options)
    try:
        return _scenario(read(text), name, options)
    except InputError as error:
        raise InputError(_with_entry_numbers(str(error), _is_json(text))) from None


def _routes(text: str) -> Iterator[tuple[int, str]]:
    """Default routes beside a configuration, which tell the sides of its devices."""
    for found in re.finditer(r"^default .*(?:\n[ \t]+nexthop.*)*", text, re.MULTILINE):
        first = text.count("\n", 0, found.start()) + 1
        yield from enumerate(found[0].split("\n"), first)


def _scenario(config: TcConfig, name: str, options: ImportOptions) -> ImportedScenario:
    """Make a scenario of a parsed configuration."""
    if options.class_id is not None:
        options = replace(options, class_id=values.class_id(options.class_id))
    bare = policers.add_roots(config)
    down, up = directions(config, options)
    policing = policers.by_direction(config, (down, up))
    down, up = (None if one is not None and one.name in bare else one for one in (down, up))
    if down is None and up is None and not any(one.texts for one in policing):
        raise InputError(
            "no queue discipline in it; give the output of tc -s qdisc show, tc commands, or the configuration of "
            f"{', '.join(registry.FRONT_ENDS)}"
        )
    parts = [f"# Made from {_comment(name)} by `sojourn import tc`.", f"name = {json.dumps(name)}"]
    parts += ['duration = "60 s"', 'warmup = "10 s"', ""]
    understood, classes = [], {}
    sides = (("link", "to the home", down, policing[0]), ("reverse", "from the home", up, policing[1]))
    for key, direction, device, before in sides:
        egress = before.before(None if device is None else tree(device, config, options.class_id))
        lines, sentence = _link(direction, device or before.device, egress, options)
        if egress is not None and options.rate is None:
            kind = "policer" if before.texts else "shaper"
            config.assumed.append(f"{direction}: the line behind the {kind} carries {_line_rate(egress)}")
        parts += [f"[{key}]", *lines, ""]
        understood.append(sentence)
        if egress and egress.classes and (chosen := _class_of(egress, options.class_id)):
            classes["forward" if key == "link" else "reverse"] = chosen
    flows = _home_flows(*(bool(device or before.texts) for _, _, device, before in sides))
    if any(re.search(r"\bduplicate \d", part) for part in parts):
        flows = _without(_without(flows, "voice"), "cbr")
        config.notes.append("netem: duplicate: calls and games are left out, which would count copies as packets")

    notes = tuple(_with_entry_numbers(one, config.is_json) for one in config.notes)
    assumed = tuple(_with_entry_numbers(one, config.is_json) for one in config.assumed)
    parts += [
        *(f"# Assumed: {_comment(one)}" for one in assumed),
        *(f"# Not understood: {_comment(one)}" for one in notes),
    ]
    parts += [""] if notes or assumed else []
    whole = "\n".join([*parts, flows])
    whole = _with_classes(whole, classes)
    Scenario.parse(whole)  # validate the result
    return ImportedScenario(whole, tuple(understood), notes, assumed)


def _without(flows: str, kind: str) -> str:
    """Flows without those of a kind."""
    return "[[flows]]\n".join(group for group in flows.split("[[flows]]\n") if f'kind = "{kind}"' not in group)


def _home_flows(down: bool, up: bool) -> str:
    """Traffic of a home, without bulk flows in an unconfigured direction, since its rate would be arbitrary."""
    about, *groups = files("sojourn.io.tc").joinpath("home.toml").read_text(encoding="utf-8").split("[[flows]]\n")
    kept = [
        group for group in groups if 'kind = "tcp"' not in group or (up if 'direction = "reverse"' in group else down)
    ]
    return "[[flows]]\n".join([about, *kept])


def _link(
    direction: str, device: Device | None, egress: EgressTree | None, options: ImportOptions
) -> tuple[list[str], str]:
    if device is None or egress is None:
        rate = options.rate or "1 Gbit/s"
        return [f"rate = {json.dumps(rate)}"], f"{direction}: not specified, {rate} without bulk"
    if not egress.bounds and options.rate is None:
        root = device.root
        line = root.line if root else 0
        raise InputError(
            f"line {line}: {device.name} does not shape, and tc does not give the line rate; give --rate, e.g. "
            '--rate "100 Mbit/s"'
        )
    qdisc = egress.qdisc
    if options.rate is None:
        lines = [f'rate = "{_line_rate(egress)}" # of the line behind the shaper']
    else:
        lines = [f"rate = {json.dumps(options.rate)}"]
    lines += [f"{word} = {json.dumps(text)}" for word, text in qdisc.framing.items()]
    lines += [f"aqm = {_aqm(qdisc.text)}"]
    if qdisc.limits:
        listed = [json.dumps(text) for text in qdisc.limits]
        lines.append(f"limit = {listed[0] if len(listed) == 1 else '[' + ', '.join(listed) + ']'}")
    head, brace, _ = qdisc.text.partition("{")
    short = f"{head}{{ {len(egress.classes) or 1} inside }}" if brace else head
    return lines, f"{direction}: {device.name}, {short}"


def _line_rate(egress: EgressTree) -> str:
    """Rate of the line behind a shaper, if it is not given."""
    return f"{max(LINE_RATE, *egress.bounds) // 10**6} Mbit/s"


def _aqm(text: str) -> str:
    """TOML value of a queue manager, with a line per class."""
    if "; class" not in text:
        return json.dumps(text)
    head, _, inside = text.partition("{")
    parts = inside.rpartition("}")[0].strip().split("; class ")
    lines = [parts[0], *(f"class {part}" for part in parts[1:])]
    return '"""\n' + head + "{\n" + "".join(f"  {line}\n" for line in lines) + '}"""'


def _class_of(egress: EgressTree, class_id: str | None) -> str:
    """Class of the flows; empty if filters or the default class determine it."""
    if class_id is not None:
        if class_id not in egress.classes:
            raise InputError(f"--class: {class_id} is not a leaf; expected one of: {', '.join(egress.classes)}")
        return class_id
    if egress.default or "match" in egress.qdisc.text:
        return ""
    if len(egress.classes) == 1:
        return egress.classes[0]
    raise InputError(
        f"htb has no default class; choose the class of the traffic with --class: {', '.join(egress.classes)}"
    )


def _with_classes(text: str, classes: dict[str, str]) -> str:
    """Set the flows' class. It applies to data and ACKs, so there can be only one for both directions."""
    if not classes:
        return text
    names = sorted(set(classes.values()))
    if len(names) > 1:
        raise InputError(f"each direction has its own classes, {' and '.join(names)}; import one at a time")
    return text.replace("[[flows]]\n", f"[[flows]]\nclass = {json.dumps(names[0])}\n")


def _comment(text: str) -> str:
    """Text without characters that are not allowed in a TOML comment."""
    return "".join(char if char.isprintable() else " " for char in text)
