"""What is run for a queue manager: itself, with its marks, a queue of it for each flow, or with other parameters."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sojourn import _core
from sojourn.aqms.spelling import param_words
from sojourn.base.errors import InputError


class LackingError(Exception):
    """A queue manager of which there is no such version; the text says why."""


def parsed(aqm: str) -> Mapping[str, Any]:
    """What the core knows of a queue manager; a class or library is looked for from the current folder."""
    found: dict[str, Any] = json.loads(_core.parse_aqm(aqm, str(Path.cwd())))
    return found


def absolute(aqm: str) -> str:
    """Its spelling with whole paths, so that a study file in any folder finds a user's class or library."""
    return str(parsed(aqm)["text"])


def plain(aqm: str) -> list[str]:
    """Itself."""
    return [aqm]


def marking(aqm: str) -> list[str]:
    """With its flag `ecn` on; refused if it has none and does not mark without one."""
    known = parsed(aqm)
    if known["parameters"].get("ecn") is False:
        return [with_parameter(aqm, "ecn", True)]
    if known["parameters"].get("ecn") or known["name"].partition("(")[0] in MARKS_ANYWAY:
        return [aqm]
    raise LackingError("does not mark")


def queued(aqm: str) -> list[str]:
    """A queue of it for each flow, served in turn (`fq`); refused of what queues flows itself."""
    try:
        return [absolute(f"fq({aqm})")]
    except InputError as error:
        raise LackingError(str(error).partition(";")[0]) from None


def with_parameter(aqm: str, name: str, value: object) -> str:
    """The queue manager with one parameter changed: its own, or of `fq(NAME)` one of what is in the brackets."""
    words = " ".join(param_words(name, value))
    for text in (f"{aqm} {words}", BRACKET.sub(f" {words})", aqm, count=1)):
        try:
            return absolute(text)
        except InputError as error:
            refused = error
    raise LackingError(str(refused).partition(";")[0])


BRACKET = re.compile(r"\)")
MARKS_ANYWAY = ("dualpi2", "cake", "cake_mq")
"""Queue managers that mark ECN-capable packets and have no flag for it."""

VERSIONS: Mapping[str, Callable[[str], list[str]]] = {"plain": plain, "marking": marking, "queued": queued}
