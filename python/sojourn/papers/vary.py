"""Assumptions that decide a claim: each alternative of each assumption, one at a time, against the default set-up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.papers import Paper
from sojourn.papers.judge import Verdict
from sojourn.papers.reproduction import Cost, Reproduction


@dataclass(frozen=True)
class Variation:
    """The claims of the figures that an assumption concerns, judged with another value of it."""

    name: str
    value: Any
    verdicts: list[Verdict]
    spent: Cost


@dataclass(frozen=True)
class ChangedVerdict:
    """A claim whose verdict changes with another value of an assumption."""

    name: str
    value: Any
    before: Verdict
    after: Verdict


def variations(
    paper: Paper, figures: Sequence[str], make: Callable[[str, Mapping[str, Any]], Reproduction]
) -> Iterator[Variation]:
    """Make the figures with every alternative of every assumption; figures that it does not concern are left out."""
    for name, about in paper.assumptions.items():
        concerned = [figure_id for figure_id in figures if about.concerns(figure_id)]
        for value in about.alternatives if concerned else ():
            parts: list[Variation] = []
            for figure_id in concerned:
                made = make(figure_id, {name: value})
                parts.append(Variation(name, value, made.verdicts, made.spent))  # its runs are not kept in memory
            verdicts = [verdict for one in parts for verdict in one.verdicts]
            yield Variation(name, value, verdicts, Cost.total(parts))


def changed_verdicts(base: Sequence[Verdict], varied: Sequence[Variation]) -> list[ChangedVerdict]:
    """Claims whose verdict differs from that of the default set-up, claim by claim."""
    after = [(one, {verdict["id"]: verdict for verdict in one.verdicts}) for one in varied]
    return [
        ChangedVerdict(one.name, one.value, before, verdicts[before["id"]])
        for before in base
        for one, verdicts in after
        if before["id"] in verdicts and verdicts[before["id"]]["verdict"] != before["verdict"]
    ]
