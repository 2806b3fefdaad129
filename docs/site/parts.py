"""Write the parts of pages that are made of `docs/data`: `python docs/site/parts.py`.

A part `<!-- rows: FILE.csv [COLUMN=VALUE …] -->` holds rows of a file, a part `<!-- table: NAME -->` what a function of
`TABLES` makes. Both end with `<!-- end -->`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from posixpath import relpath

from sojourn.base.markdown import part_names, replace_part, table
from tables import DATA, Table

DOCS = DATA.parent
LINK = re.compile(r"\]\(([^)\s#]+)")
"""In files links are relative to `docs`."""
Rows = list[list[str]]

COMPARISONS = {
    "queues.csv": "Linux: queues",
    "controls.csv": "Linux: ten more controls",
    "controls-elsewhere.csv": "Linux: twelve controls, other rates",
    "super-packets.csv": "Linux: GSO and GRO",
    "recorded.csv": "Linux: recorded runs",
    "ns2.csv": "ns-2: TCP and queues",
}
"""By file: what the simulator is compared with, and in what."""


def comparisons() -> list[str]:
    """Return cells that agree, agree in the mean, lie within the seeds' spread, or are apart, by comparison."""
    rows: Rows = []
    for file, subject in COMPARISONS.items():
        found = Table.read(file).rows
        counts = {name: sum(row["verdict"] == name for row in found) for name in {row["verdict"] for row in found}}
        agree = counts.pop("agrees")
        chance = counts.pop("means agree", 0) + counts.pop("within seeds", 0)
        apart = counts.pop("apart", 0) + counts.pop("outside", 0)
        unsure = counts.pop("not counted", 0)
        assert not counts, counts
        share = f"{100 * agree / (len(found) - unsure):.0f}"
        cells = [len(found), agree, share, chance or "", unsure or "", apart]
        rows.append([f"[{subject}](data/{file})", *map(str, cells)])
    return table(("compared", "cells", "agree", "%", "by chance", "not counted", "apart"), rows)


def apart() -> list[str]:
    """Return the cells that are apart from a kernel run with the same seeds, with the means over seeds."""
    rows: Rows = []
    for file in ("queues.csv", "controls.csv", "controls-elsewhere.csv", "super-packets.csv"):
        for row in Table.read(file).rows:
            if row["verdict"] == "apart":
                queue = f"`{row['aqm']}`{', ECN' * (row['ecn'] == 'true')}"
                cell = f"{row['rate_mbps']} Mbit/s, {row['rtt_ms']} ms, {row['flows']}"
                pairs = (("mean_delivered_mbps", "Mbit/s"), ("mean_delay_p50_ms", "ms"))
                means = [f"{row[f'{name}_there']} and {row[f'{name}_here']} {unit}" for name, unit in pairs]
                rows.append([file.removesuffix(".csv"), queue, row["cc"], cell, *means])
    return table(
        ("grid", "queue", "control", "rate, RTT, flows", "delivered, kernel and simulator", "median delay"), rows
    )


def counts() -> list[str]:
    """Return the verdicts on the claims of each paper."""
    claims = Table.read("claims.csv").rows
    names = ("contradicted", "tight", "loose", "holds", "undecided", "failed", "not-run")
    rows: Rows = []
    for paper in dict.fromkeys(row["paper"] for row in claims):
        verdicts = [row["verdict"] for row in claims if row["paper"] == paper]
        rows.append([f"[{paper}](#{paper})", str(len(verdicts)), *(str(verdicts.count(name)) for name in names)])
    verdicts = [row["verdict"] for row in claims]
    rows.append(["all", str(len(verdicts)), *(str(verdicts.count(name)) for name in names)])
    return table(("paper", "claims", *names), rows)


def media() -> list[str]:
    """Return how many criteria each control meets over each queue."""
    found = Table.read("media.csv").rows
    queues = list(dict.fromkeys(row["queue"] for row in found))
    rows: Rows = []
    for control in dict.fromkeys(row["control"] for row in found):
        mine = {queue: [r["met"] for r in found if (r["control"], r["queue"]) == (control, queue)] for queue in queues}
        rows.append([f"`{control}`", *(f"{m.count('yes')} of {len(m)}" if m else "" for m in mine.values())])
    return table(("criteria met", *queues), rows)


def columns() -> list[str]:
    """Return the tables of a run with their rows and columns."""
    found = Table.read("columns.csv").rows
    about = {row["table"]: row["rows"] for row in Table.read("tables.csv").rows}
    rows: Rows = []
    for name in dict.fromkeys(row["table"] for row in found):
        mine = [f"`{row['column']}`" for row in found if row["table"] == name]
        rows.append([f"[`{name}`](#{name})", about[name], ", ".join(mine)])
    return table(("table", "rows", "columns"), rows)


def files() -> list[str]:
    """Return the files of `docs/data`, with the number of their rows and their columns."""
    rows: Rows = []
    for path in sorted(DATA.glob("*.csv")):
        found = Table.read(path.name)
        rows.append([f"[{path.name}]({path.name})", str(len(found.rows)), ", ".join(f"`{c}`" for c in found.columns)])
    return table(("file", "rows", "columns"), rows)


TABLES: dict[str, Callable[[], Sequence[str]]] = {
    "comparisons": comparisons,
    "apart": apart,
    "counts": counts,
    "media": media,
    "columns": columns,
    "files": files,
}


def renewed(path: Path) -> str:
    """Return a page with its parts renewed; parts of other generators stay."""
    page = path.read_text(encoding="utf-8")
    folder = path.parent.relative_to(DOCS).as_posix()
    for name in part_names(page, "rows"):
        rows = Table.parse(name)
        lines = [
            LINK.sub(lambda link: f"]({relpath(link[1], folder)}", line) for line in table(rows.headings, rows.cells)
        ]
        page = replace_part(page, "rows", name, lines)
    for name in TABLES.keys() & set(part_names(page, "table")):
        page = replace_part(page, "table", name, TABLES[name]())
    return page


def pages() -> list[Path]:
    """Return the pages with parts."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("**/*.md"))}
    return [path for path, text in texts.items() if part_names(text, "rows") or part_names(text, "table")]


def main() -> None:
    """Renew the parts of all pages."""
    for path in pages():
        path.write_text(renewed(path), encoding="utf-8")


if __name__ == "__main__":
    main()
