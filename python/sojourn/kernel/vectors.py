"""Vectors of the kernel's FQ-PIE, for the tests of our own: ``python -m sojourn.kernel.vectors FOLDER``.

A vector is what `sojourn aqm diff --vector` reads: `NAME.jsonl.gz`, a line per packet, and `NAME.meta.json`.
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
from sojourn.kernel.cache import built
from sojourn.kernel.compare import MARKED_CODE, SENT_CODE, recorded
from sojourn.kernel.patterns import pattern
from sojourn.traces.arrivals import Arrivals

PACKETS = 1500
MOST_RATE = 1_000_000
"""In bit/s: the packets of a fast link would have come before PIE's first update, after half a second."""
LINES = {
    "fq_pie.plain": "fq_pie limit 1000 flows 1024 target 5ms tupdate 15ms",
    "fq_pie.ecn": "fq_pie limit 1000 flows 16 quantum 300 target 3ms tupdate 10ms alpha 8 beta 32 ecn",
    "fq_pie.bytes": "fq_pie limit 1000 flows 64 quantum 3000 target 4ms tupdate 8ms alpha 8 beta 32 bytemode",
}
"""By name: tc's words. The limits are never reached: the kernel does not tell its sender of such drops."""


def lines(arrivals: Arrivals) -> Iterator[str]:
    """A vector's lines."""
    assert arrivals.recorded is not None
    origin = arrivals.setup["origin_ns"]
    rows = zip(
        *(arrivals.columns[name].tolist() for name in ("time_ns", "bytes", "flow", "ecn")),
        *(arrivals.recorded[name].tolist() for name in ("fate", "fate_ns")),
        strict=True,
    )
    verdicts = {SENT_CODE: "pass", MARKED_CODE: "mark"}
    for at, size, flow, ecn, fate, end in rows:
        departure = end - origin if fate in verdicts else -1
        row = {"arrival_ns": at - origin, "size": size, "flow": flow, "ecn": ecn}
        yield json.dumps({**row, "verdict": verdicts.get(fate, "drop"), "departure_ns": departure})


def _write(path: Path, content: bytes) -> None:
    write_file(path, lambda file: file.write(content))


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
def main(folder: Path) -> None:
    """Record the vectors into FOLDER."""
    kernel = built()
    slow = (one for one in (pattern("fq_pie", 1, n, PACKETS) for n in count()) if one.rate < MOST_RATE)
    made = [replace(one, line=line) for one, line in zip(slow, LINES.values(), strict=False)]
    for name, one, arrivals in zip(LINES, made, recorded(kernel, made), strict=True):
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
        _write(folder / f"{name}.meta.json", f"{json.dumps(meta)}\n".encode())
        fates = np.bincount(arrivals.recorded["fate"], minlength=10)
        click.echo(f"{name}: {fates[SENT_CODE]} passed, {fates[MARKED_CODE]} marked, {fates[2:].sum()} dropped")


if __name__ == "__main__":
    main()
