"""A line of `tc qdisc show` where a queue manager is asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sojourn.base.errors import InputError
from sojourn.io.tc.lines import read
from sojourn.io.tc.parents import tree

LINE = re.compile(r"\s*(?:qdisc\s+)?(\S+\s+[0-9a-fA-F]*:\s+.*)", re.DOTALL)
"""`fq_codel 8001: root refcnt 2 limit 10240p …`: behind the name is a handle, as in no spelling of ours."""


def ours(aqms: Sequence[str]) -> tuple[list[str], list[str]]:
    """Queue managers in our spelling, and sentences about what lines of tc among them say that is not in it.

    Raises `InputError` for a line of tc with a discipline that is not there.
    """
    spelled, notes = [], []
    for text in aqms:
        line = LINE.fullmatch(text)
        if line is None:
            spelled.append(text)
            continue
        words = re.sub(r"\bparent \S+", "root", line[1])
        words = words if re.search(r"\broot\b", words) else words.replace(":", ": root", 1)
        found = read(f"qdisc {words}")
        device = next(iter(found.devices.values()))
        try:
            made = tree(device, found).spelled
        except InputError as error:
            raise InputError(f"--aqm: {re.sub('^line 1: ', '', str(error))}") from None
        spelled.append(made.text)
        notes += [f"{made.text}: {note.removeprefix('line 1: ')}" for note in found.notes]
        if made.limits:
            notes.append(f"{made.text}: its limit of {' and '.join(made.limits)} is that of the link; set link.limit")
        notes += [f"{made.text}: {key} {value} is of the link; set link.{key}" for key, value in made.framing.items()]
    return spelled, notes
