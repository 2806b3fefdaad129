"""Writes the tables of reproduction.md from the verdicts of reproductions.

`python docs/claims.py DIR` reads `DIR/PAPER/FIGURE.claims.json`, as `sojourn reproduce PAPER -o DIR` writes them, and
replaces the table of each paper that it finds there, and the counts. A paper of which real programs made figures
(`DIR/PAPER/emulate`, by `python -m sojourn.report.emulated -o DIR`) has a table of these, too, beside the simulator's
numbers of the page. What stands around the tables is written by hand.
A test compares the tables with claims.json and with the authors' own runs.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from sojourn.base.markdown import read_part, replace_part, table
from sojourn.papers import PAPERS, paper
from sojourn.papers.judge import UNKNOWN, VERDICTS, Verdict, claims_of, measured_text, published_text
from sojourn.papers.report.emulated import emulated_text

PAGE = Path(__file__).with_name("reproduction.md")
HEADINGS = ("claim", "what", "published", "measured", "verdict", "original", "remark")
COUNTS = "counts"
EMULATED = "emulated"
EMULATED_HEADINGS = ("claim", "what", "published", "simulated", "emulated", "verdict")


def main(root: Path) -> None:
    """Renew the tables of the papers whose verdicts lie in a folder."""
    text = PAGE.read_text(encoding="utf-8")
    for paper_id in PAPERS:
        verdicts = verdicts_of(root, paper_id)
        if verdicts:
            text = replace_part(text, "table", paper_id, table(HEADINGS, map(row, verdicts)))
        name = f"{paper_id} {EMULATED}"
        if emulated := verdicts_in(root / paper_id / "emulate"):
            rows = [emulated_row(one) for one in emulated]
        elif f"<!-- table: {name} -->" in text:
            rows = rows_of(text, name)
        else:
            continue
        simulated = {cells[0]: cells[3].removeprefix("simulated: ") for cells in rows_of(text, paper_id)}
        rows = [[*cells[:3], simulated[cells[0]], *cells[4:]] for cells in rows]
        text = replace_part(text, "table", name, table(EMULATED_HEADINGS, rows))
    PAGE.write_text(replace_part(text, "table", COUNTS, counts(text)), encoding="utf-8")


def verdicts_of(root: Path, paper_id: str) -> list[Verdict]:
    """Verdicts on all claims of a paper, in the order of claims.json; none if a figure is missing."""
    found = {verdict["id"]: verdict for verdict in verdicts_in(root / paper_id)}
    ids = [claim["id"] for claim in claims_of(paper_id)]
    if found and set(ids) - found.keys():
        print(f"{paper_id}: left as it is; no verdict on {', '.join(sorted(set(ids) - found.keys()))}", file=sys.stderr)
        return []
    return [found[name] for name in ids] if found else []


def verdicts_in(folder: Path) -> list[Verdict]:
    """Verdicts of the figures in a folder."""
    return [one for file in sorted(folder.glob("*.claims.json")) for one in json.loads(file.read_text("utf-8"))]


def emulated_row(verdict: Verdict) -> list[str]:
    """A claim's line among those of real programs, which judge only claims about such runs; not yet the simulated."""
    relation = verdict["kind"] == "relation"
    published = "true" if relation else published_text(verdict)
    return [verdict["id"], verdict["metric"], published, "", emulated_text(verdict), verdict["verdict"]]


def row(verdict: Verdict) -> list[str]:
    """A claim's line."""
    relation = verdict["kind"] == "relation"
    original = "" if verdict["original"] == UNKNOWN else verdict["original"]
    published = "true" if relation else published_text(verdict)
    cells = [verdict["id"], verdict["metric"], published, measured(verdict), verdict["verdict"], original]
    return [*cells, remark(verdict)]


def measured(verdict: Verdict) -> str:
    """What was measured; of a claim about emulated runs what the simulation gives."""
    if verdict["measured"] is not None:
        return measured_text(verdict)
    simulated = verdict.get("simulated")
    if simulated is None:
        return "–"
    return f"simulated: {str(simulated).lower() if isinstance(simulated, bool) else f'{simulated:.3g}'}"


def remark(verdict: Verdict) -> str:
    """What the original says against a claim; of one that failed, what came nearest and what would have to be known."""
    if verdict["verdict"] == "contradicted":
        return f"{verdict['original_evidence']}. Ours alone: {verdict['measured_verdict']}"
    if verdict["verdict"] == "failed":
        return paper(verdict["paper"]).about.NEAREST[verdict["id"]]
    return ""


def counts(text: str) -> list[str]:
    """How many claims of each paper have which verdict, by the tables of the page."""
    rows = []
    for paper_id in PAPERS:
        found = [cells[4] for cells in rows_of(text, paper_id)]
        rows.append([f"[{paper_id}](#{paper_id})", len(found), *(found.count(name) for name in VERDICTS)])
    rows.append(["all", *(sum(int(one[column]) for one in rows) for column in range(1, len(VERDICTS) + 2))])
    return table(("paper", "claims", *VERDICTS), [[str(cell) for cell in one] for one in rows])


def rows_of(text: str, name: str) -> list[list[str]]:
    """Cells of the lines of one of the page's tables."""
    lines = read_part(text, "table", name).splitlines()[2:]
    return [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python docs/claims.py DIR, the folder of `sojourn reproduce PAPER -o DIR`")
    main(Path(sys.argv[1]))
