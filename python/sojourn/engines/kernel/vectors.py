"""Test vectors of the kernel's queue disciplines: ``python -m sojourn.kernel.vectors FOLDER``.

FQ-PIE, CAKE, COBALT, SFB, fq and netem are recorded on Linux 6.1, newer disciplines with ``--version 7.3``.
`sojourn aqm diff --vector` reads a vector: `NAME.jsonl.gz`, a line per packet, and `NAME.meta.json`.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import click
import numpy as np

from sojourn.base.files import write_file
from sojourn.engines.kernel.cache import VERSIONS, built
from sojourn.engines.kernel.compare import MARKED_CODE, SENT_CODE, record
from sojourn.engines.kernel.pattern import Naming, Packet, Pattern
from sojourn.engines.kernel.patterns import pattern
from sojourn.io.traces.arrivals import Arrivals

PACKETS = 1500
MAX_RATE = 1_000_000
"""Maximum rate in bit/s; on a faster link all packets would arrive before PIE's first update, after 0.5 s."""
LINES = {
    "fq_pie.plain": "fq_pie limit 1000 flows 1024 target 5ms tupdate 15ms",
    "fq_pie.ecn": "fq_pie limit 1000 flows 16 quantum 300 target 3ms tupdate 10ms alpha 8 beta 32 ecn",
    "fq_pie.bytes": "fq_pie limit 1000 flows 64 quantum 3000 target 4ms tupdate 8ms alpha 8 beta 32 bytemode",
}
"""tc configuration by name. The limits are never reached: the kernel does not report such drops to the sender."""
RANDOM = {
    "cake.autorate": ("cake", 138),
    "cake.besteffort": ("cake", 115),
    "cake.diffserv3": ("cake", 75),
    "cake.diffserv4": ("cake", 88),
    "cake.diffserv8": ("cake", 91),
    "cake.ingress": ("cake", 111),
    "cake.precedence": ("cake", 10),
    "cake.srchost": ("cake", 100),
    "cobalt.deaf": ("cobalt", 26),
    "cobalt.listens": ("cobalt", 30),
    "cake.roots": ("cake", 60),
    "sfb.rehash": ("sfb", 13),
    "fq.paced": ("fq", 33),
    "netem.braces": ("netem", 17),
    "netem.chain": ("netem", 108),
    "netem.duplicates": ("netem", 47),
    "netem.gilbert": ("netem", 79),
    "netem.slots": ("netem", 27),
}
"""Discipline and pattern number of `SEED` by name, with `RANDOM_PACKETS`. They cover all tin modes, shaped and not,
overflows, ingress, ATM cells, hosts by class and by address, many drops and marks, and netem's models."""
NEWER = {
    "cake-7.3.autorate": ("cake", 169),
    "cake-7.3.overflow": ("cake", 26),
    "cake_mq.fast": ("cake_mq", 11),
    "cake_mq.ingress": ("cake_mq", 10),
    "dualpi2.any_ect": ("dualpi2", 36),
    "dualpi2.arrivals": ("dualpi2", 14),
    "dualpi2.gains": ("dualpi2", 23),
    "dualpi2.overflow": ("dualpi2", 21),
    "dualpi2.packets": ("dualpi2", 3),
    "dualpi2.rtt": ("dualpi2", 10),
}
"""The same for Linux 7.3: `dualpi2` with both drop modes, steps, queues and limits; changes of CAKE since Linux 6."""
SEED, RANDOM_PACKETS = 1, 700
MILLISECOND = 1_000_000


def lines(arrivals: Arrivals) -> Iterator[str]:
    """Lines of a vector."""
    assert arrivals.recorded is not None
    origin = arrivals.setup["origin_ns"]
    rows = zip(
        *(arrivals.columns[name].tolist() for name in ("time_ns", "bytes", "flow", "ecn")),
        *(arrivals.recorded[name].tolist() for name in ("fate", "fate_ns")),
        strict=True,
    )
    verdicts = {SENT_CODE: "pass", MARKED_CODE: "mark"}
    extra = _host_columns(arrivals)
    if "copy" in arrivals.columns:
        extra = [
            {**columns, "copy": 1} if copy else columns
            for columns, copy in zip(extra, arrivals.columns["copy"], strict=True)
        ]
    for (at, size, flow, ecn, fate, end), columns in zip(rows, extra, strict=True):
        departure = end - origin if fate in verdicts else -1
        row = {"arrival_ns": at - origin, "size": size, "flow": flow, "ecn": ecn, **columns}
        yield json.dumps({**row, "verdict": verdicts.get(fate, "drop"), "departure_ns": departure})


def _host_columns(arrivals: Arrivals) -> list[dict[str, int]]:
    """DSCP and hosts of each packet's line; empty if all packets have the defaults."""
    plain = {"dscp": 0, "from_host": 1, "to_host": 2}
    rows = zip(*(arrivals.columns[name].tolist() for name in plain), strict=True)
    extra = [dict(zip(plain, row, strict=True)) for row in rows]
    return [{}] * len(extra) if all(row == plain for row in extra) else extra


def first_congestion() -> Pattern:
    """COBALT's first congestion, with a load that stays above target; a packet takes a millisecond.

    CoDel would wait an interval of 100 ms before its first drop.
    """
    burst = [Packet(100_000 + 1000 * number, 1500, 0, 0) for number in range(12)]
    steady = [Packet(MILLISECOND * number + 777_777, 1500, 0, 0) for number in range(1, 400)]
    line = "cake besteffort flowblind unlimited"
    return Pattern("cobalt@linux", line, 12_000_000, 0, 1, [*burst, *steady], Naming.HASH)


def _newer() -> dict[str, Pattern]:
    return {name: pattern(aqm, SEED, number, RANDOM_PACKETS) for name, (aqm, number) in NEWER.items()}


def _patterns() -> dict[str, Pattern]:
    slow = (one for one in (pattern("fq_pie", 1, n, PACKETS) for n in count()) if one.rate < MAX_RATE)
    patterns = {name: replace(one, line=line) for one, (name, line) in zip(slow, LINES.items(), strict=False)}
    random_patterns = {name: pattern(aqm, SEED, number, RANDOM_PACKETS) for name, (aqm, number) in RANDOM.items()}
    return {**patterns, "cobalt.virgin": first_congestion(), **random_patterns}


def _write(path: Path, content: bytes) -> None:
    write_file(path, lambda file: file.write(content))


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--version", default=VERSIONS[0], type=click.Choice([VERSIONS[0], VERSIONS[-1]]), help="Kernel version.")
def main(folder: Path, version: str) -> None:
    """Record the vectors of a version into FOLDER."""
    kernel = built(version)
    patterns = _patterns() if version == VERSIONS[0] else _newer()
    for (name, one), arrivals in zip(patterns.items(), record(kernel, list(patterns.values())), strict=True):
        text = "".join(f"{line}\n" for line in lines(arrivals))
        packed = gzip.compress(text.encode(), 9, mtime=0)
        _write(folder / f"{name}.jsonl.gz", packed)
        assert arrivals.recorded is not None
        meta = {
            "name": name,
            "qdisc": one.line,
            "rate_bps": one.rate,
            "overhead": one.overhead,
            "t0_mono_ns": arrivals.setup["origin_ns"],
            "seed": one.seed,
            "created": f"mono {arrivals.created_ns}",
            "kernel": kernel.version,
        }
        if one.complete:
            meta["aqm"] = one.aqm
        _write(folder / f"{name}.meta.json", f"{json.dumps(meta)}\n".encode())
        fates = np.bincount(arrivals.recorded["fate"], minlength=10)
        click.echo(f"{name}: {fates[SENT_CODE]} passed, {fates[MARKED_CODE]} marked, {fates[2:].sum()} dropped")


if __name__ == "__main__":
    main()
