"""Registry of front ends: a front end is a module here and an entry of `FRONT_ENDS`."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sojourn.io.tc.directions import ImportOptions
from sojourn.io.tc.front_ends import autorate, containers, dnctl, libreqos, qosify, qosmate, sqm
from sojourn.io.tc.front_ends.translation import Translation


class FrontEnd(NamedTuple):
    """A program that configures `tc`."""

    recognises: Callable[[str], bool]
    """Whether a text is its configuration."""
    translate: Callable[[str, ImportOptions], Translation]
    """Commands that it runs; raises `InputError`."""


FRONT_ENDS = {
    "sqm-scripts": FrontEnd(sqm.recognises, sqm.translate),
    "qosify": FrontEnd(qosify.recognises, qosify.translate),
    "QoSmate": FrontEnd(qosmate.recognises, qosmate.translate),
    "LibreQoS": FrontEnd(libreqos.recognises, libreqos.translate),
    "cake-autorate": FrontEnd(autorate.recognises, autorate.translate),
    "dnctl": FrontEnd(dnctl.recognises, dnctl.translate),
    "containerlab": FrontEnd(containers.recognises, containers.translate),
}
"""Front ends by name; the first one that recognises a text reads it."""


def translate(text: str, options: ImportOptions) -> Translation | None:
    """Commands of the front end whose configuration a text is; None for output and commands of `tc`."""
    names = [name for name, one in FRONT_ENDS.items() if one.recognises(text)]
    if not names:
        return None
    found = FRONT_ENDS[names[0]].translate(text, options)
    for name in names[1:]:
        found.notes.append(f"the configuration of {name}: that of {names[0]} is read; give one at a time")
    return found
