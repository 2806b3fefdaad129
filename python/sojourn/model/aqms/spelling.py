"""Queue managers as text: tc's spelling, lists, parameters, and names of users' classes.

`my_aqm.py:MyAqm` names a class in a file, `module:MyAqm` another one, `blue.so` or `blue.so:blue` the queue manager in
a shared library, `policy:my.json` a policy in a file; nothing is loaded here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from sojourn import _core
from sojourn.base.errors import InputError

if TYPE_CHECKING:
    from sojourn.model.aqms.aqm import Aqm

POLICY = "policy:"
"""Prefix of the name of a policy in a file."""
LIBRARY = r"[^\s(){},;@:]*[^\s(){},;@:/]\.so(?:\.\d+)*(?::[^\s(){},;@:]+)?(?![^\s(){},;@])"
FORCED = "sojourn:"
"""Prefix of a queue manager that the kernel engine takes from this library although the kernel has one of that name."""
KERNEL_FILE = "kernel:"
"""Prefix of a queue manager or a congestion control of a file that is compiled into a kernel."""
REFERENCE = re.compile(
    rf"{LIBRARY}|(?<![^\s(){{}},;@])(?!{FORCED}|{KERNEL_FILE}|\d+:\d+:)[^\s(){{}},;@]+:[^\s(){{}},;@:]+"
)
"""Name of a class, library or policy within the spelling of an AQM.

Blanks, brackets, braces, commas, semicolons, colons, @ and % in a path are escaped.
"""

NETEM = "netem"
DISTRIBUTIONS = ("distribution", "slot_distribution")
"""netem's parameters that may name a file; a canonical scenario has its absolute path."""
TABLE = re.compile(rf"\b({'|'.join(DISTRIBUTIONS)}) (/[^\s{{}};]+)")


def spelled_aqm(aqm: str | Mapping[str, Any]) -> str:
    """Shortest spelling of an AQM given as text, or as the table of a canonical scenario."""
    if isinstance(aqm, str):
        return shown(_spell(aqm)) if REFERENCE.search(aqm) or NETEM in aqm else _shortest(aqm)
    return label(aqm) if references(aqm) else shown(_shortest(json.dumps(aqm)))


def _spell(aqm: str) -> str:
    # A canonical scenario was read with its table files, which may be gone by now; do not read them again.
    return str(json.loads(_core.parse_aqm(aqm, read=not aqm.startswith("{")))["text"])


_shortest = cache(_spell)


def aqm_text(aqm: Aqm | type[Aqm] | str) -> str:
    """Shortest spelling of a queue manager given as text, an instance or a class."""
    return spelled_aqm(str(aqm() if isinstance(aqm, type) else aqm))


def split_list(text: str) -> list[str]:
    """Split a list of AQMs at the commas outside brackets: "codel,fq(pie)"."""
    names = split_outside(text, ",")
    if not all(names):
        raise InputError(f'--aqm: "{text}" has an empty name; write e.g. "codel,pie"')
    return names


def split_outside(text: str, separator: str) -> list[str]:
    """Split a text at the separators outside brackets; the parts have no spaces around them."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        if char == separator and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]


def param_words(name: str, value: object) -> list[str]:
    """A parameter in tc's spelling."""
    if value is True:
        return [name]
    if value is False:
        return [f"no{name}"]
    return [name, param_text(value)]


def param_text(value: object) -> str:
    """Value of a parameter as one word."""
    return str(value).lower() if isinstance(value, bool) else str(value).replace(" ", "")


def references(aqm: Mapping[str, Any]) -> list[str]:
    """Names of the user's classes and libraries in the table of an AQM."""
    return REFERENCE.findall(str(aqm["name"]))


def tables(aqm: Mapping[str, Any]) -> list[str]:
    """Paths of the files with distribution tables in the canonical table of an AQM."""
    inside = [found[1] for found in TABLE.findall(str(aqm["name"]))]
    return [*_own_tables(aqm).values(), *map(unquote, inside)]


def _own_tables(aqm: Mapping[str, Any]) -> dict[str, str]:
    """Parameters that name a file, with its path; the inner manager's are part of the name."""
    return {key: unquote(str(aqm[key])) for key in DISTRIBUTIONS if str(aqm.get(key, "")).startswith("/")}


def by_content(aqm: Mapping[str, Any], digests: Mapping[str, str], of_tables: Mapping[str, str]) -> dict[str, Any]:
    """Canonical table of an AQM with file names replaced by digests, so that a moved file is the same."""
    name = TABLE.sub(lambda found: f"{found[1]} {of_tables[unquote(found[2])]}", str(aqm["name"]))
    own = {key: of_tables[path] for key, path in _own_tables(aqm).items()}
    return {**aqm, **own, "name": _name(name, digests)}


def _name(name: str, digests: Mapping[str, str]) -> str:
    def content(ref: re.Match[str]) -> str:
        digest = digests[ref[0]]
        if is_policy(ref[0]):
            return f"{POLICY}{digest}"
        return digest if is_library(ref[0]) else f"{digest}:{ref[0].rpartition(':')[2]}"

    return REFERENCE.sub(content, name)


def is_reference(name: str) -> bool:
    """Whether a name is that of a user's class or library."""
    return REFERENCE.fullmatch(name) is not None


def control_by_content(text: str, digests: Mapping[str, str]) -> str:
    """Spelling of a congestion control with the name of its file replaced by a digest."""
    return _name(text, digests)


def is_library(name: str) -> bool:
    """Whether the name of an AQM is a shared library."""
    return re.fullmatch(LIBRARY, name) is not None


def is_policy(name: str) -> bool:
    """Whether the name of an AQM is a policy in a file."""
    return name.startswith(POLICY)


def in_files(names: list[str]) -> bool:
    """Whether other processes can load all of these classes, libraries and policies."""
    return all(is_library(name) or is_policy(name) or name.rpartition(":")[0].endswith(".py") for name in names)


def label(aqm: Mapping[str, Any]) -> str:
    """Spelling of an AQM table that is or contains a user's class or library; does not load it."""
    name, params = str(aqm["name"]), {key: value for key, value in aqm.items() if key not in ("name", "profile")}
    if is_library(name):
        return shown(f"{name} {params.get('text', '')}".rstrip())
    if "(" not in name or "{" in name:
        head, brace, inside = name.partition("{")
        words = " ".join([head.strip(), *(word for pair in params.items() for word in param_words(*pair))])
        return shown(f"{words} {brace}{inside}".rstrip())
    inner = name[name.index("(") + 1 : -1]
    around = spelled_aqm({**aqm, "name": name.replace(inner, _STAND_IN)})
    return shown(around.replace(_STAND_IN, inner, 1))


def shown(text: str) -> str:
    """Spelling with paths below the current folder made relative."""
    here = f"{escape(str(Path.cwd()))}/"

    def shorter(ref: re.Match[str]) -> str:
        policy = POLICY if is_policy(ref[0]) else ""
        return policy + ref[0].removeprefix(policy).removeprefix(here)

    return TABLE.sub(lambda found: f"{found[1]} {found[2].removeprefix(here)}", REFERENCE.sub(shorter, text))


def escape(path: str) -> str:
    """Escape a path as one word of a spelling."""
    return re.sub(r"[\s%@(){},:;]", lambda char: quote(char[0], safe=""), path)


_STAND_IN = "codel"
