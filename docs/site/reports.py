"""Reports of papers in the site, from `make site-papers`, and a page that lists them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from figures import STORE
from sojourn.papers import PAPERS, paper

REPORTS = STORE / "papers"
PAGE = "papers/README.md"
NOT_MADE = "not made here yet: `make site-papers`"


def report_files(folder: Path = REPORTS) -> Iterator[tuple[str, Path]]:
    """Yield path in the site and source file of the reports."""
    for name in PAPERS:
        own = folder / name
        if (own / "index.html").is_file():
            for path in sorted(own.iterdir()):
                if path.suffix in (".html", ".png", ".svg"):
                    yield f"papers/{name}/{path.name}", path


def report_page(folder: Path = REPORTS) -> str:
    """Return the page that lists the papers, with reports and verdicts on their claims."""
    rows = []
    for name in PAPERS:
        made = (folder / name / "index.html").is_file()
        report = f"[{name}]({name}/index.html)" if made else f"{name}, {NOT_MADE}"
        rows.append(f"| {paper(name).title} | {report} | {', '.join(_verdicts(folder / name))} |")
    return "\n".join(
        [
            "# Reports",
            "",
            "Output of `sojourn reproduce` for each paper: its set-up and open assumptions, every figure with its "
            "claims and their verdicts, and the source of each number. These runs have three seeds (`--quick`), so "
            "some claims are undecided; [Published against measured](../reproduction.md) has the tables of all "
            "seeds, and a discussion of each paper.",
            "",
            "| paper | report | claims |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def _verdicts(folder: Path) -> list[str]:
    """Count the claims by verdict."""
    counts: Counter[str] = Counter()
    for path in sorted(folder.glob("*.claims.json")):
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            continue
        if isinstance(document, list):
            counts.update(one["verdict"] for one in document if isinstance(one, dict) and "verdict" in one)
    return [f"{count} {verdict}" for verdict, count in counts.most_common()]
