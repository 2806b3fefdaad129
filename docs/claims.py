"""Write `data/claims.csv`, a row per claim of a paper, from the verdicts of reproductions.

`python docs/claims.py DIR` reads `DIR/PAPER/FIGURE.claims.json`, as `sojourn reproduce PAPER -o DIR` writes them, and
replaces the rows of each paper found there. Of figures made by real programs (`DIR/PAPER/emulate`, by
`python -m sojourn.report.emulated -o DIR`) the columns `emulated` and `emulated_verdict` are replaced.
`python docs/site/parts.py` then renews the counts in reproduction.md. A test compares the rows with claims.json and
the authors' own runs.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from sojourn.papers import PAPERS, paper
from sojourn.papers.judge import UNKNOWN, Verdict, claims_of, measured_text, published_text
from sojourn.papers.report.emulated import emulated_text

FILE = Path(__file__).with_name("data") / "claims.csv"
COLUMNS = ("paper", "claim", "metric", "published", "measured", "verdict", "original", "remark")
EMULATED = ("simulated", "emulated", "emulated_verdict")
"""Of claims about emulated runs the simulated value, and of all the value and verdict of real programs."""
Row = dict[str, str]


def main(root: Path) -> None:
    """Renew the rows of the papers whose verdicts lie in a folder."""
    old = rows()
    new: list[Row] = []
    for paper_id in PAPERS:
        before = {row["claim"]: row for row in old if row["paper"] == paper_id}
        found = [row(one) for one in verdicts_of(root, paper_id)] or list(before.values())
        emulated = {one["id"]: emulated_row(one) for one in verdicts_in(root / paper_id / "emulate")}
        kept = {name: {key: one[key] for key in EMULATED[1:]} for name, one in before.items()}
        new += [one | emulated.get(one["claim"], kept.get(one["claim"], {})) for one in found]
    with FILE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, (*COLUMNS, *EMULATED), restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(new)


def rows() -> list[Row]:
    """Return the rows of the file."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def verdicts_of(root: Path, paper_id: str) -> list[Verdict]:
    """Return the verdicts on all claims of a paper, in the order of claims.json; none if a figure is missing."""
    found = {verdict["id"]: verdict for verdict in verdicts_in(root / paper_id)}
    ids = [claim["id"] for claim in claims_of(paper_id)]
    if found and set(ids) - found.keys():
        print(f"{paper_id}: left as it is; no verdict on {', '.join(sorted(set(ids) - found.keys()))}", file=sys.stderr)
        return []
    return [found[name] for name in ids] if found else []


def verdicts_in(folder: Path) -> list[Verdict]:
    """Return the verdicts of the figures in a folder."""
    return [one for file in sorted(folder.glob("*.claims.json")) for one in json.loads(file.read_text("utf-8"))]


def emulated_row(verdict: Verdict) -> Row:
    """Return the columns of real programs, which judge only claims about such runs."""
    return {"emulated": emulated_text(verdict), "emulated_verdict": verdict["verdict"]}


def row(verdict: Verdict) -> Row:
    """Return the columns of a claim without those of real programs."""
    return {
        "paper": verdict["paper"],
        "claim": verdict["id"],
        "metric": " ".join(verdict["metric"].split()),
        "published": "true" if verdict["kind"] == "relation" else published_text(verdict),
        "measured": "" if verdict["measured"] is None else measured_text(verdict),
        "verdict": verdict["verdict"],
        "original": "" if verdict["original"] == UNKNOWN else verdict["original"],
        "remark": remark(verdict),
        "simulated": simulated(verdict),
    }


def simulated(verdict: Verdict) -> str:
    """Return the simulated value of a claim about emulated runs, which does not judge it."""
    value = verdict.get("simulated")
    if verdict["measured"] is not None or value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else f"{value:.3g}"


def remark(verdict: Verdict) -> str:
    """Return the original's evidence against a claim, or the nearest experiment of one that failed."""
    if verdict["verdict"] == "contradicted":
        return f"{verdict['original_evidence']}. Ours alone: {verdict['measured_verdict']}"
    if verdict["verdict"] == "failed":
        nearest: Mapping[str, str] = paper(verdict["paper"]).about.NEAREST
        return nearest[verdict["id"]]
    return ""


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python docs/claims.py DIR, the folder of `sojourn reproduce PAPER -o DIR`")
    main(Path(sys.argv[1]))
