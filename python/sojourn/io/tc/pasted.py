"""Lines of `tc qdisc show` in place of queue managers on the command line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sojourn.base.errors import InputError
from sojourn.io.tc.lines import read
from sojourn.io.tc.parents import tree

LINE = re.compile(r"\s*(?:qdisc\s+)?(\S+\s+[0-9a-fA-F]*:\s+.*)", re.DOTALL)
"""`fq_codel 8001: root refcnt 2 limit 10240p …`; the handle after the name distinguishes it from our syntax."""


def translate_pasted(aqms: Sequence[str]) -> tuple[list[str], list[str]]:
    """Translate the lines of tc among queue managers; also returns sentences about their unsupported parts.

    Raises `InputError` for a line of tc with an unsupported discipline.
    """
    translated, notes = [], []
    for text in aqms:
        line = LINE.fullmatch(text)
        if line is None:
            translated.append(text)
            continue
        words = re.sub(r"\bparent \S+", "root", line[1])
        words = words if re.search(r"\broot\b", words) else words.replace(":", ": root", 1)
        config = read(f"qdisc {words}")
        device = next(iter(config.devices.values()))
        try:
            qdisc = tree(device, config).qdisc
        except InputError as error:
            raise InputError(f"--aqm: {re.sub('^line 1: ', '', str(error))}") from None
        translated.append(qdisc.text)
        notes += [f"{qdisc.text}: {note.removeprefix('line 1: ')}" for note in config.notes]
        if qdisc.limits:
            notes.append(f"{qdisc.text}: the limit of {' and '.join(qdisc.limits)} belongs to the link; set link.limit")
        notes += [
            f"{qdisc.text}: {key} {value} belongs to the link; set link.{key}" for key, value in qdisc.framing.items()
        ]
    return translated, notes
