"""Which assumptions decide a claim: each alternative of each assumption, one at a time, beside the set-up as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.papers import Paper
from sojourn.papers.judge import Verdict
from sojourn.papers.reproduction import Reproduction, Spent


@dataclass(frozen=True)
class Variation:
    """The claims of the figures that an assumption is about, judged with another value of it."""

    name: str
    value: Any
    verdicts: list[Verdict]
    spent: Spent


@dataclass(frozen=True)
class Decided:
    """A claim whose verdict another value of an assumption changes."""

    name: str
    value: Any
    before: Verdict
    after: Verdict


def variations(
    paper: Paper, figures: Sequence[str], make: Callable[[str, Mapping[str, Any]], Reproduction]
) -> Iterator[Variation]:
    """Make the figures with every alternative of every assumption; those that it does not concern are left out."""
    for name, about in paper.assumptions.items():
        concerned = [figure_id for figure_id in figures if about.concerns(figure_id)]
        for value in about.alternatives if concerned else ():
            parts: list[Variation] = []
            for figure_id in concerned:
                made = make(figure_id, {name: value})
                parts.append(Variation(name, value, made.verdicts, made.spent))  # its runs are not kept in memory
            verdicts = [verdict for one in parts for verdict in one.verdicts]
            yield Variation(name, value, verdicts, Spent.total(parts))


def decided(base: Sequence[Verdict], varied: Sequence[Variation]) -> list[Decided]:
    """Claims whose verdict is not that of the set-up as it is, claim by claim."""
    after = [(one, {verdict["id"]: verdict for verdict in one.verdicts}) for one in varied]
    return [
        Decided(one.name, one.value, before, verdicts[before["id"]])
        for before in base
        for one, verdicts in after
        if before["id"] in verdicts and verdicts[before["id"]]["verdict"] != before["verdict"]
    ]
