"""Files that a scenario names, found before it is parsed; a test compares this list with the core's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from sojourn.model.aqms.spelling import DISTRIBUTIONS, POLICY

KEYS = ("trace", "delay_trace", "file")
"""Keys whose value is a file name: a trace of delivery opportunities or delays, a capture."""
LAWS = ("uniform", "normal", "pareto", "paretonormal")
"""netem's built-in distributions, which are not files."""


def named_files(document: Mapping[str, Any]) -> list[str]:
    """Names of the files that a document reads, as written there; files of code are not included."""
    return list(dict.fromkeys(_named(document)))


def _named(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key in KEYS and isinstance(inner, str):
                yield inner
            elif key == "aqm":
                yield from _of_aqm(inner)
            else:
                yield from _named(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _named(inner)


def _of_aqm(aqm: Any) -> Iterator[str]:
    """Policies and distribution tables of a queue manager given as text or as a table."""
    if isinstance(aqm, Mapping):
        words = [word for key, inner in aqm.items() for word in (str(key), *str(inner).split())]
    else:
        words = [] if aqm is None else str(aqm).split()
    for before, word in zip(["", *words], words, strict=False):
        name = word.strip("(){};,")
        if before in DISTRIBUTIONS and name not in LAWS:
            yield unquote(name)
        for part in word.replace("(", " ").replace(")", " ").split():
            if part.startswith(POLICY):
                yield unquote(part.removeprefix(POLICY).strip("{};,"))
