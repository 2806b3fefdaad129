"""tc in containers and network namespaces, and containerlab's `tools netem set`.

A device is called `NODE:DEVICE`, because nodes have devices of equal names. Source: containerlab (`tools netem set`):
delays have units, losses and corruptions are percentages, rates kbit/s.
"""

from __future__ import annotations

import re

from sojourn.base.errors import InputError
from sojourn.io.tc.directions import ImportOptions
from sojourn.io.tc.front_ends.translation import Translation


def recognises(text: str) -> bool:
    """Whether a text has a command of tc in a container, or one of containerlab."""
    return LINE.search(text) is not None


def translate(text: str, options: ImportOptions) -> Translation:
    """Commands of tc with the node in the names of devices; other lines are as they are."""
    found = Translation(options)
    for number, line in enumerate(text.split("\n"), 1):
        wrapped, netem = WRAPPED.match(line), NETEM.match(line)
        if wrapped is not None:
            node = next(part for part in wrapped.groups() if part)
            found.commands.append((number, re.sub(r"\bdev (\S+)", rf"dev {_plain(node)}:\1", line[wrapped.end() :])))
        elif netem is not None:
            _netem(found, number, line[netem.end() :].partition("#")[0].split())
        else:
            found.commands.append((number, line))
    return found


def _netem(found: Translation, line: int, words: list[str]) -> None:
    """Add netem on a device of a node."""
    values: dict[str, str] = {}
    rest = [part for word in words for part in (word.split("=", 1) if word.startswith("--") else [word])]
    while rest:
        word = rest.pop(0)
        if word in FLAGS and rest:
            values[FLAGS[word]] = rest.pop(0)
        else:
            found.note(line, f"netem set: {word}"[:100])
    if "node" not in values or "interface" not in values:
        found.note(line, "netem set: without --node and --interface; it is left out")
        return
    for flag, text in values.items():
        if (pattern := VALUES.get(flag)) and not re.fullmatch(pattern[0], text):
            raise InputError(f"line {line}: --{flag} {text}: not {pattern[1]}; write e.g. --{flag} {pattern[2]}")
    jitter = values.get("jitter", "")
    delay = values.get("delay", "0ms" if jitter else "")
    parts = [
        f"delay {delay} {jitter}" if delay else "",
        *(f"{word} {values[flag]}{unit}" for flag, (word, unit) in UNITS.items() if flag in values),
    ]
    device = f"{_plain(values['node'])}:{_plain(values['interface'])}"
    found.add(line, "qdisc replace", device, "root netem", *parts)


def _plain(name: str) -> str:
    """Name without characters that a shell reads."""
    return re.sub(r"[^\w.@-]", "", name)


WRAPPED = re.compile(
    r"[ \t]*(?:sudo[ \t]+)?(?:(?:docker|podman|lxc|incus)[ \t]+exec[ \t]+(?:-\w+[ \t]+)*([\w.-]+)(?:[ \t]+--)?"
    r"|ip[ \t]+netns[ \t]+exec[ \t]+([\w.-]+))[ \t]+(?:sudo[ \t]+)?(?=(?:\S*/)?tc[ \t])"
)
NETEM = re.compile(r"[ \t]*(?:sudo[ \t]+)?(?:\S*/)?(?:containerlab|clab)[ \t]+tools[ \t]+netem[ \t]+set\b")
LINE = re.compile(f"^(?:{WRAPPED.pattern}|{NETEM.pattern})", re.MULTILINE)
FLAGS = {
    "-n": "node",
    "--node": "node",
    "-i": "interface",
    "--interface": "interface",
    "--delay": "delay",
    "--jitter": "jitter",
    "--loss": "loss",
    "--rate": "rate",
    "--corruption": "corruption",
}
UNITS = {"loss": ("loss", "%"), "corruption": ("corrupt", "%"), "rate": ("rate", "kbit")}
"""Word of netem and unit by flag."""
TIME = (r"[0-9]{1,9}(?:\.[0-9]{1,9})?(?:us|ms|s)", "a time with its unit", "50ms")
SHARE = (r"[0-9]{1,3}(?:\.[0-9]{1,9})?", "a number of percent", "0.1")
VALUES = {
    "delay": TIME,
    "jitter": TIME,
    "loss": SHARE,
    "corruption": SHARE,
    "rate": ("[0-9]{1,12}", "a whole number of kbit/s", "10000"),
}
"""Pattern, meaning and example of the values by flag."""
