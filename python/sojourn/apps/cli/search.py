"""Implementation of `sojourn reproduce PAPER --search N`."""

from __future__ import annotations

import json
from pathlib import Path

from sojourn.apps.cli import output
from sojourn.base.files import check_writable, write_file
from sojourn.base.progress import progress
from sojourn.papers import Paper
from sojourn.papers.judge import claims_of
from sojourn.papers.search import Judge, JudgedSetup, Setup, search
from sojourn.papers.search_report import report, section
from sojourn.papers.search_runs import SetupJudge

OTHERS = 4
"""Number of repetitions of the default set-up with other seeds, to measure the chance in a score."""


def search_paper(
    paper: Paper, figure: str | None, number: int, seeds: int, jobs: int | None, out: Path, as_json: bool
) -> None:
    """Search, write the result beside the tried set-ups, and print it."""
    figures = (paper.figure_name(figure),) if figure else paper.searched
    folder = out / paper.id / "search"
    check_writable(folder)
    chosen = [list(range(1 + seeds * part, 1 + seeds * (part + 1))) for part in range(1 + OTHERS)]
    judges = [SetupJudge(paper, figures, folder / "tried", seeds=part, jobs=jobs) for part in chosen]
    with progress("set-ups") as tell:
        done, total = 0, number + 1 + OTHERS

        def counting(judge: SetupJudge) -> Judge:
            def judged(setup: Setup) -> JudgedSetup:
                nonlocal done
                found = judge(setup)
                done += 1
                tell(min(1.0, done / total), done, total)
                return found

            return judged

        claims = {name: [claim["id"] for claim in claims_of(paper.id, name)] for name in figures}
        first, *others = map(counting, judges)
        found = search(paper, figures, number, first, claims=claims, others=others)
    document = report(found, seeds=chosen[0], other_seeds=[part[0] for part in chosen[1:]])
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    data = write_file(folder / "search.json", lambda file: file.write(text.encode()))
    page = write_file(folder / "search.md", lambda file: file.write("\n".join([*section(document), ""]).encode()))
    if as_json:
        output.print_json(document | {"files": [str(data), str(page)], "computed": sum(one.computed for one in judges)})
        return
    output.print_note("\n".join(section(document)))
    output.print_note(f"\nSet-ups run now: {sum(one.computed for one in judges)} of {document['tried'] + OTHERS}")
    output.print_note(f"Report: {page}, data: {data}")
