"""Writes the sections of searches.md from the data of searches.

`python docs/searches.py DIR` takes `DIR/PAPER/search/search.json`, as `sojourn reproduce PAPER --search N -o DIR`
writes it, into `docs/searches/PAPER.json`, and the section of each paper that it finds there into the page. What stands
around the sections is written by hand.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from sojourn.base.markdown import replace_part
from sojourn.papers import PAPERS
from sojourn.papers.search_report import section

PAGE = Path(__file__).with_name("searches.md")
DATA = Path(__file__).with_name("searches")


def main(root: Path) -> None:
    """Take the searches of a folder."""
    text = PAGE.read_text(encoding="utf-8")
    for paper_id in PAPERS:
        file = root / paper_id / "search" / "search.json"
        if file.exists():
            (DATA / f"{paper_id}.json").write_bytes(file.read_bytes())
            text = replace_part(text, "search", paper_id, lines_of(paper_id))
    PAGE.write_text(text, encoding="utf-8")


def lines_of(paper_id: str) -> list[str]:
    """Lines of a paper's section, by the data beside the page."""
    return section(json.loads((DATA / f"{paper_id}.json").read_text(encoding="utf-8")))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python docs/searches.py DIR, the folder of `sojourn reproduce PAPER --search N -o DIR`")
    main(Path(sys.argv[1]))
