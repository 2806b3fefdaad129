"""Write `data/search-*.csv` and the summaries in searches.md from the searches of papers.

`python docs/searches.py DIR` copies `DIR/PAPER/search/search.json`, as `sojourn reproduce PAPER --search N -o DIR`
writes it, into `docs/searches/PAPER.json`, and renews the files and the page from all of these.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import polars as pl

from sojourn.base.markdown import replace_part
from sojourn.papers import PAPERS
from sojourn.papers.search_report import section
from sojourn.papers.setup import spelled

PAGE = Path(__file__).with_name("searches.md")
SEARCHES = Path(__file__).with_name("searches")
DATA = Path(__file__).with_name("data")
Rows = list[dict[str, Any]]


def main(root: Path) -> None:
    """Copy the searches of a folder, and renew the files and the page."""
    for paper_id in PAPERS:
        file = root / paper_id / "search" / "search.json"
        if file.exists():
            (SEARCHES / f"{paper_id}.json").write_bytes(file.read_bytes())
    text = PAGE.read_text(encoding="utf-8")
    for paper_id, found in searches().items():
        text = replace_part(text, "search", paper_id, summary(found))
    PAGE.write_text(text, encoding="utf-8")
    for name, rows in tables().items():
        pl.DataFrame(rows, infer_schema_length=None).write_csv(DATA / name, float_precision=3)


def searches() -> dict[str, dict[str, Any]]:
    """Return the searches by paper."""
    return {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in sorted(SEARCHES.glob("*.json"))}


def summary(found: dict[str, Any]) -> list[str]:
    """Return the paragraphs about a search, without its tables."""
    lines = [line for line in section(found) if line and not line.startswith("|")]
    return "\n\n".join(lines).split("\n")


def tables() -> dict[str, Rows]:
    """Return the rows of each file."""
    files: dict[str, Rows] = {"search-halves.csv": [], "search-claims.csv": [], "search-values.csv": []}
    for paper_id, found in searches().items():
        for number, split in enumerate(found["splits"], 1):
            row = {
                "paper": paper_id,
                "half": number,
                "seen": ", ".join(split["figures"]) or ", ".join(split["claims_seen"]),
            }
            row |= {"found": split["changes"] or "today's"}
            for half in ("seen", "unseen"):
                scores = {"score": "best", "today": "usual", "random": "random_mean"}
                row |= {f"{half}_{name}": split[half][key] for name, key in scores.items()}
            row["random_above_percent"] = 100 * split["unseen"]["random_above"]
            files["search-halves.csv"].append(row)
        files["search-claims.csv"] += [
            {"paper": paper_id, "claim": one["claim"], "today": one["usual"], "best_of_all": one["best"]}
            for one in found["best"]["claims"]
        ]
        for about in found["assumptions"]:
            files["search-values.csv"] += [
                {
                    "paper": paper_id,
                    "assumption": about["name"],
                    "value": "none" if one["value"] is None else spelled(one["value"]),
                    "today": "yes" if one["usual"] else None,
                    "change": None if one["usual"] else one["effect"],
                    "change_ci95": None if one["usual"] else one["ci95"],
                    "best_score": one["best"],
                    "halves": one["halves"],
                    "determined": "yes" if about["determined"] == spelled(one["value"]) else None,
                }
                for one in about["values"]
            ]
    return files


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python docs/searches.py DIR, the folder of `sojourn reproduce PAPER --search N -o DIR`")
    main(Path(sys.argv[1]))
