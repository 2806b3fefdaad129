"""Output of `sojourn reproduce`: papers, assumptions, claims with their verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn import papers
from sojourn.apps.cli import output
from sojourn.apps.cli.terminal import echo
from sojourn.papers import Paper
from sojourn.papers.judge import Verdict, measured_text, published_text, tally, undecided_text
from sojourn.papers.original import contradicted, original_text, where_text
from sojourn.papers.reproduction import Cost, Reproduction, share_text
from sojourn.papers.setup import spelled, spelled_all
from sojourn.papers.vary import Variation, changed_verdicts


@dataclass(frozen=True)
class PaperOutput:
    """Reproduced figures of a paper, with their files."""

    paper: Paper
    done: list[Reproduction]
    varied: list[Variation]
    files: list[Path]
    page: Path
    whole: bool
    """Whether every possible figure was made."""
    left_out: Mapping[str, str]
    """Figures that the engine cannot make, with reasons."""

    @property
    def verdicts(self) -> list[Verdict]:
        """Verdicts of all figures that were made."""
        return [verdict for one in self.done for verdict in one.verdicts]

    @property
    def spent(self) -> Cost:
        """Cost of all its runs."""
        return Cost.total([*self.done, *self.varied])

    def not_run(self) -> list[Verdict]:
        """Claims about figures that cannot be made yet, or not on this engine."""
        return self.paper.not_yet(self.left_out) if self.whole else []


def print_papers(as_json: bool) -> None:
    """List the papers and their figures."""
    found = [papers.paper(name) for name in papers.PAPERS]
    if as_json:
        output.print_json([{"id": one.id, "title": one.title, "figures": list(one.figures)} for one in found])
        return
    for one in found:
        echo(f"{one.id}: {one.title}")
        for figure_id in one.figures:
            echo(f"    --figure {figure_id}  {one.figure(figure_id).TITLE}")


def print_assumptions(paper: Paper, as_json: bool) -> None:
    """List the assumptions of a paper."""
    rows = [
        {
            "name": name,
            "sets": about.sets,
            "chosen": about.chosen,
            "alternatives": list(about.alternatives),
            "figures": list(about.figures or paper.figures),
            "note": about.note,
        }
        for name, about in paper.assumptions.items()
    ]
    if as_json:
        output.print_json(rows)
        return
    cells = [
        [
            name,
            spelled(about.chosen),
            "your file" if about.is_file else ", ".join(spelled(value) for value in about.alternatives),
            about.sets,
            ", ".join(about.figures) or "all",
            about.note,
        ]
        for name, about in paper.assumptions.items()
    ]
    output.print_text_table(["assumption", "chosen", "alternatives", "key", "figures", "what"], cells)


def print_all(made: Sequence[PaperOutput], claims: bool, as_json: bool) -> None:
    """Print the results of some papers; with `claims` also the claims of figures to come."""
    if as_json:
        output.print_json(_json(made, claims))
        return
    if output.one_table():
        verdicts = [verdict for one in made for verdict in one.verdicts + (one.not_run() if claims else [])]
        output.print_text_table(HEADINGS, [_row(one) for one in verdicts])
        return
    for one in made:
        _print_figures(one)
        rest = one.not_run() if claims else []
        if rest:
            _print_verdicts(rest, "not run: they need another engine, or a figure that is not implemented yet")
        _print_in_all(one.verdicts + rest)
        for figure_id, reason in one.left_out.items():
            output.print_note(f"{figure_id} is left out: {reason}")
        for name, text in one.spent.texts().items():
            output.print_note(f"{name.capitalize()}: {text}")
        output.print_note(f"Figure: {one.files[0]}")
        output.print_note(f"Report: {one.page}")


def _print_figures(made: PaperOutput) -> None:
    for figure in made.done:
        seeds = len(figure.study.study.seeds)
        assumed = f"; {spelled_all(figure.assumed)}" if figure.assumed else ""
        title = f"{made.paper.id}, {made.paper.figure(figure.figure_id).TITLE}; {seeds} seeds{assumed}"
        _print_verdicts(figure.verdicts, title)
        _print_shares(figure)
        for reason in dict.fromkeys(figure.there.left_out.values()):
            output.print_note(f"Left out: {reason}\n")
    if made.varied:
        _print_varied(made)


def _print_in_all(verdicts: list[Verdict]) -> None:
    for verdict in contradicted(verdicts):
        output.print_note(f"Contradicted: {verdict['id']}, {_contradiction(verdict)}")
    if verdicts:
        output.print_note(", ".join(f"{count} {name}" for name, count in tally(verdicts).items()))
    if text := undecided_text(verdicts):
        output.print_note(text)


def _print_verdicts(verdicts: list[Verdict], title: str) -> None:
    output.print_note(f"{title}\n")
    values = [_row(one) for one in verdicts if one["kind"] != "relation"]
    if values:
        output.print_table(HEADINGS, values)
    relations = [_row(one) for one in verdicts if one["kind"] == "relation"]
    if relations:
        output.print_text_table(HEADINGS, relations)
    remarks = [f"{one['id']}: {text}" for one in verdicts if (text := _beside(one))]
    for line in remarks:
        output.print_note(line)
    if remarks:
        output.print_note("")


def _print_shares(figure: Reproduction) -> None:
    """Share of the published runs near ours, if a figure compares them one by one."""
    found = figure.shares
    if found is not None:
        rows = [[share_text(value) for value in row] for row in found.iter_rows()]
        output.print_table(found.columns, rows, left=found.columns.index("runs"))


def _beside(verdict: Verdict) -> str:
    """False checks of a relation, and the original's outcome; contradictions are in the summary."""
    original = "" if verdict["verdict"] == "contradicted" else original_text(verdict)
    return ". ".join(filter(None, [where_text(verdict), original and f"The original {original}"]))


def _contradiction(verdict: Verdict) -> str:
    """Evidence of the original against a claim, and the verdict on our runs."""
    return f"{verdict['original_evidence']}; our runs alone: {verdict['measured_verdict']}"


def _row(verdict: Verdict) -> list[str]:
    return [verdict["id"], published_text(verdict), measured_text(verdict), verdict["verdict"]]


HEADINGS = ("claim", "published", "measured ± 95 % CI", "verdict")


def _print_varied(made: PaperOutput) -> None:
    found = changed_verdicts(made.verdicts, made.varied)
    names = list(tally([]))
    output.print_note("Each assumption varied alone: verdicts of the claims that it concerns\n")
    counts = [
        [f"{one.name}={spelled(one.value)}", *(str(count) for count in tally(one.verdicts).values())]
        for one in made.varied
    ]
    output.print_table(["assumption", *names], counts)
    rows = [
        [
            one.before["id"],
            f"{one.name}={spelled(one.value)}",
            f"{measured_text(one.before)}: {one.before['verdict']}",
            f"{measured_text(one.after)}: {one.after['verdict']}",
        ]
        for one in found
    ]
    if rows:
        output.print_text_table(["claim", "decided by", "as chosen", "then"], rows)
    else:
        output.print_note("No assumption decides a claim.\n")


def _json(made: Sequence[PaperOutput], claims: bool) -> Any:
    verdicts = [verdict for one in made for verdict in one.verdicts + (one.not_run() if claims else [])]
    if claims:
        return verdicts
    spent = Cost.total(made)
    return {
        "figures": [_figure_json(figure) for one in made for figure in one.done],
        "files": [str(path) for one in made for path in one.files],
        "pages": [str(one.page) for one in made],
        "left_out": {one.paper.id: dict(one.left_out) for one in made if one.left_out},
        "packets": spent.packets,
        "packets_found": spent.found,
        "packets_per_cpu_s": spent.packets_per_cpu_s,
        "cpu_s": spent.cpu_s,
        "wall_s": spent.wall_s,
        "claims": verdicts,
        "tally": tally(verdicts),
        "contradicted": [verdict["id"] for verdict in contradicted(verdicts)],
        "undecided": [verdict["id"] for verdict in verdicts if verdict["verdict"] == "undecided"],
        "assumptions": [
            {
                "paper": one.paper.id,
                "name": varied.name,
                "value": varied.value,
                "tally": tally(varied.verdicts),
                "decides": [
                    {"claim": d.before["id"], "verdict": d.after["verdict"], "measured": d.after["measured"]}
                    for d in changed_verdicts(one.verdicts, [varied])
                ],
            }
            for one in made
            for varied in one.varied
        ],
    }


def _figure_json(one: Reproduction) -> dict[str, Any]:
    fingerprints = one.study.runs["fingerprint"].to_list()
    return {
        "paper": one.paper.id,
        "figure": one.figure_id,
        "seeds": one.study.study.seeds,
        "assumed": dict(one.assumed),
        "fingerprints": fingerprints,
        "stands_for": dict(one.there.stands_for),
        "left_out": dict(one.there.left_out),
        "shares": shares.to_dicts() if (shares := one.shares) is not None else None,
    }
