"""A scenario of what routers run: tc's text or a configuration of sqm-scripts in, TOML out, with what is not in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from sojourn.base.errors import InputError
from sojourn.base.inputs import read_text
from sojourn.io.tc import sqm
from sojourn.io.tc.lines import INPUT, Device, Read, read
from sojourn.io.tc.objects import is_json
from sojourn.io.tc.parents import Tree, tree
from sojourn.model.scenarios.scenario import Scenario

LINE_RATE = 10**9
"""Of the line behind a shaper, in bit/s; of shapers above it, theirs."""


@dataclass(frozen=True)
class Wanted:
    """What tc does not say."""

    download: str | None = None
    """Device that sends to the home or the subscribers; found out, where it is not said."""
    upload: str | None = None
    """Device that sends to the Internet."""
    rate: str | None = None
    """Rate of the line, of both directions."""
    class_id: str | None = None
    """Class of HTB that the traffic is in, as `1:11`."""


@dataclass(frozen=True)
class Imported:
    """What was made of a router's configuration."""

    text: str
    """The scenario, in TOML."""
    understood: tuple[str, ...]
    """A sentence for each direction."""
    notes: tuple[str, ...]
    """What is not in the scenario, each with its line."""


def load(path: Path | str, wanted: Wanted | None = None) -> Imported:
    """Read a file and make a scenario of it; what cannot be done is an `InputError` with its line and the remedy."""
    path = Path(path)
    text = read_text(path, "configuration")
    try:
        return imported(text, path.name, wanted or Wanted())
    except InputError as error:
        raise InputError(f"{path}: {_of_entries(str(error), text)}") from None


def _of_entries(sentence: str, text: str) -> str:
    """Say of what `tc -j` printed which entry is meant: its objects have no lines of their own."""
    return re.sub(r"\bline (\d+)", r"entry \1", sentence) if is_json(text) else sentence


def imported(text: str, name: str, wanted: Wanted) -> Imported:
    """Make a scenario of a text that is called `name`."""
    from_sqm = sqm.is_sqm(text)
    found = read("\n".join(sqm.commands(text)) if from_sqm else text)
    down, up = _directions(found, wanted)
    if down is None and up is None:
        raise InputError(
            "no queue discipline is in it; give what tc -s qdisc show prints, commands of tc, or /etc/config/sqm"
        )
    parts = [f"# Made from {_comment(name)} by `sojourn import tc`.", f"name = {json.dumps(name)}"]
    parts += ['duration = "60 s"', 'warmup = "10 s"', ""]
    understood, classes = [], {}
    for key, way, device in (("link", "to the home", down), ("reverse", "from the home", up)):
        made = None if device is None else tree(device, found, wanted.class_id)
        lines, sentence = _link(way, device, made, wanted)
        parts += [f"[{key}]", *lines, ""]
        understood.append(sentence)
        if made and made.classes and (chosen := _class_of(made, wanted.class_id)):
            classes["forward" if key == "link" else "reverse"] = chosen
    flows = _home(down is not None, up is not None)
    notes = tuple(note.split(": ", 1)[1] if from_sqm else _of_entries(note, text) for note in found.notes)
    parts += [*(f"# Not understood: {_comment(note)}" for note in notes), *([""] if notes else [])]
    whole = "\n".join([*parts, flows])
    whole = _with_classes(whole, classes)
    Scenario.parse(whole)  # what was made is a scenario, or nothing is written
    return Imported(whole, tuple(understood), notes)


def _home(down: bool, up: bool) -> str:
    """What a home does, without bulk in a direction of which nothing is said: its rate would be made up."""
    about, *groups = files("sojourn.io.tc").joinpath("home.toml").read_text(encoding="utf-8").split("[[flows]]\n")
    kept = [
        group for group in groups if 'kind = "tcp"' not in group or (up if 'direction = "reverse"' in group else down)
    ]
    return "[[flows]]\n".join([about, *kept])


def _directions(found: Read, wanted: Wanted) -> tuple[Device | None, Device | None]:
    """The devices that send to the home and to the Internet: as named, else by redirection, else by their order."""
    sending = _sending(found)
    down, up = _named(found, wanted)
    down, up = _by_redirection(found, sending, down, up)
    down, up = _by_order(found, [one for one in sending if one is not down and one is not up], wanted, down, up)
    used = {one.name for one in (down, up) if one is not None}
    for one in sending:
        if one.name not in used and one.root:
            found.note(one.root.line, f"{one.name}: {one.root.kind} is left out; --download and --upload name devices")
    return down, up


def _sending(found: Read) -> list[Device]:
    """Devices with a queue of their own for what they send."""
    return [
        one
        for one in found.devices.values()
        if one.root
        and one.name != "lo"
        and one.root.kind not in INPUT
        and (one.root.kind != "noqueue" or one.redirected_to)
    ]


def _named(found: Read, wanted: Wanted) -> tuple[Device | None, Device | None]:
    """The devices that the user names."""
    for name in (wanted.download, wanted.upload):
        if name is not None and name not in found.devices:
            raise InputError(f"{name}: no such device; those there are: {', '.join(found.devices) or 'none'}")
    return (
        found.devices[wanted.download] if wanted.download else None,
        found.devices[wanted.upload] if wanted.upload else None,
    )


def _by_redirection(
    found: Read, sending: list[Device], down: Device | None, up: Device | None
) -> tuple[Device | None, Device | None]:
    """An IFB shapes what comes in, so it sends to the home; the device that redirects to it sends to the Internet."""
    redirected = _redirected(found)
    down = down or next((one for one in sending if _is_inside(one, redirected)), None)
    if up is None and down is not None:
        belongs = redirected.get(down.name) or down.name.removeprefix("ifb4")
        outside = [one for one in sending if one is not down and not _is_inside(one, redirected)]
        up = next((one for one in outside if one.name == belongs), None)
    return down, up


def _redirected(found: Read) -> dict[str, str]:
    """By name of a device, the one whose input it gets."""
    return {one.redirected_to: one.name for one in found.devices.values() if one.redirected_to}


def _is_inside(device: Device, redirected: Mapping[str, str]) -> bool:
    return device.name in redirected or device.name.startswith("ifb")


def _by_order(
    found: Read, others: list[Device], wanted: Wanted, down: Device | None, up: Device | None
) -> tuple[Device | None, Device | None]:
    """Of the other devices, those that shape if any do: the first sends to the Internet, the next to the home."""
    redirected = _redirected(found)
    left = [one for one in others if not _is_inside(one, redirected)]
    left = [one for one in left if _shapes(one, wanted)] or left
    if up is None and left:
        up = left.pop(0)
    if down is None and left:
        down = left.pop(0)
        if wanted.upload is None and up and up.root:
            # Two sides of a box between networks: the order in which they are said tells nothing.
            found.note(
                up.root.line,
                f"which of {up.name} and {down.name} sends to the Internet; {up.name} is taken, --download and "
                "--upload name them",
            )
    return down, up


def _shapes(device: Device, wanted: Wanted) -> bool:
    """Whether a device bounds its rate; one that cannot be read does not count."""
    try:
        return bool(tree(device, Read(), wanted.class_id).bounds)
    except InputError:
        return False


def _link(way: str, device: Device | None, made: Tree | None, wanted: Wanted) -> tuple[list[str], str]:
    if device is None or made is None:
        rate = wanted.rate or "1 Gbit/s"
        return [f"rate = {json.dumps(rate)}"], f"{way}: nothing is said, {rate} without bulk"
    if not made.bounds and wanted.rate is None:
        root = device.root
        line = root.line if root else 0
        raise InputError(
            f"line {line}: {device.name} does not shape, and tc does not say how fast the line is; "
            f'give --rate, e.g. --rate "100 Mbit/s"'
        )
    spelled = made.spelled
    if wanted.rate is None:
        lines = [f'rate = "{max(LINE_RATE, *made.bounds) // 10**6} Mbit/s" # of the line behind the shaper']
    else:
        lines = [f"rate = {json.dumps(wanted.rate)}"]
    lines += [f"{word} = {json.dumps(text)}" for word, text in spelled.framing.items()]
    lines += [f"aqm = {_aqm(spelled.text)}"]
    if spelled.limits:
        listed = [json.dumps(text) for text in spelled.limits]
        lines.append(f"limit = {listed[0] if len(listed) == 1 else '[' + ', '.join(listed) + ']'}")
    head, brace, _ = spelled.text.partition("{")
    short = f"{head}{{ {len(made.classes) or 1} inside }}" if brace else head
    return lines, f"{way}: {device.name}, {short}"


def _aqm(text: str) -> str:
    """A spelling as a value of TOML: with a line for each class, where there are classes."""
    if "; class" not in text:
        return json.dumps(text)
    head, _, inside = text.partition("{")
    parts = inside.rpartition("}")[0].strip().split("; class ")
    lines = [parts[0], *(f"class {part}" for part in parts[1:])]
    return '"""\n' + head + "{\n" + "".join(f"  {line}\n" for line in lines) + '}"""'


def _class_of(made: Tree, wanted: str | None) -> str:
    """The class that the traffic names; empty where filters and the default say it."""
    if wanted is not None:
        if wanted not in made.classes:
            raise InputError(f"--class: {wanted} is no leaf; those there are: {', '.join(made.classes)}")
        return wanted
    if made.default or "match" in made.spelled.text:
        return ""
    if len(made.classes) == 1:
        return made.classes[0]
    raise InputError(f"htb has no default class; say with --class where the traffic is: {', '.join(made.classes)}")


def _with_classes(text: str, classes: dict[str, str]) -> str:
    """Name the class of the flows. Data and acknowledgments both name it, so one class serves both directions."""
    if not classes:
        return text
    named = sorted(set(classes.values()))
    if len(named) > 1:
        raise InputError(f"the directions have classes of their own, {' and '.join(named)}; import one at a time")
    return text.replace("[[flows]]\n", f"[[flows]]\nclass = {json.dumps(named[0])}\n")


def _comment(text: str) -> str:
    """A text that is safe in a comment of TOML."""
    return "".join(char if char.isprintable() else " " for char in text)
