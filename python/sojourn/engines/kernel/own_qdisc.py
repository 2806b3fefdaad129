"""Queue managers that the kernel lacks, by its discipline `sojourn`: Sojourn's own library in the guest's kernel."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from sojourn.base.units import initial_value, limit_text
from sojourn.engines.kernel.refuse import refuse
from sojourn.engines.values import bits, nanoseconds, octets, signed_octets
from sojourn.model.aqms.spelling import FORCED, is_library, references, spelled_aqm, tables

TC = "sojourn"
"""Name of the discipline in tc."""
CRATE = "build a kernel with it (sojourn kernel build --aqm CRATE)"


def is_forced(aqm: Mapping[str, Any]) -> bool:
    """Whether a scenario asks for the library although the kernel may have the queue manager."""
    return str(aqm["name"]).startswith(FORCED)


def is_own(line: str) -> bool:
    """Whether a line of tc names the library."""
    return line.split(maxsplit=1)[0] == TC


def own_line(place: str, link: Mapping[str, Any]) -> str:
    """Line of tc for a link's queue manager by the library; raises `InputError` for what the guest cannot do."""
    name = str(link["aqm"]["name"]).removeprefix(FORCED)
    aqm = {**link["aqm"], "name": name}
    refuse_needs(f"{place}.aqm", aqm)
    limit = limit_text(link["limit"])
    rate = bits(f"{place}.rate", initial_value(link["rate"]))
    mtu = octets(f"{place}.mtu", link["mtu"])
    if link["account"] == "adjusted":
        overhead, minimum = (signed_octets(f"{place}.{key}", link[key]) for key in ("overhead", "mpu"))
        mtu = max(mtu + overhead, minimum)
    delay = nanoseconds(f"{place}.delay", link["delay"])
    setting = f"limit {limit.replace(' ', '')} rate {rate}bit delay {delay}ns mtu {mtu}"
    spelling = f"{crate(f'{place}.aqm', name)} {aqm.get('text', '')}".rstrip() if is_library(name) else spelled_aqm(aqm)
    return f"{TC} {setting} {spelling}"


def crate(where: str, name: str) -> str:
    """Crate of a shared library, which the guest has in its stead; raises `InputError` for another library's name."""
    found = re.fullmatch(r"lib(\w+)\.so", PurePosixPath(unquote(name)).name)
    if not found:
        refuse(where, f"cannot load {name}", f"name the library of a crate, libNAME.so, and {CRATE}")
    return found[1]


def refuse_needs(where: str, aqm: Mapping[str, Any]) -> None:
    """Refuse what a queue of the guest cannot give: code and files of the machine, copies, damage, departure times."""
    if references(aqm) and not is_library(aqm["name"]):
        refuse(where, f"cannot load {aqm['name']}", f"write it in Rust (sojourn aqm new) and {CRATE}, or simulate it")
    if files := tables(aqm):
        refuse(where, f"cannot read {files[0]}", "choose a distribution by its name")
    if re.search(r"\b(sch_)?fq\b(?! *\()", aqm["name"]):
        refuse(where, "does not tell a queue when senders want to send", "choose fq_codel, or simulate it")
    for key in ("duplicate", "corrupt"):
        if float(aqm.get(key, 0)):
            refuse(f"{where}.{key}", f"cannot {key} the packets of a link", "leave it out, or simulate it")
