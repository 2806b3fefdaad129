"""`sojourn net check`: a command's networks, run several times under different conditions, decision by decision."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

from sojourn.base.children import child
from sojourn.base.errors import InputError
from sojourn.base.files import temporary_folder
from sojourn.studies.gating.decisions import Decision, Difference, count_decisions, first_difference
from sojourn.studies.gating.program import Program
from sojourn.studies.gating.records import Record, listed, read_records
from sojourn.studies.runs.runner import cores

PADDING, PADDING_BYTES = "SOJOURN_PADDING", 4096
"""Variable that moves the stack of the later runs, and its size per run."""
BURN = "while True: pass"
"""Program that keeps a core busy."""


@dataclass(frozen=True)
class Repetition:
    """Comparison of the later runs with the first one."""

    runs: int
    statuses: tuple[int, ...]
    """Exit status of each run."""
    networks: int
    datagrams: int
    """Datagrams sent in all networks of the first run."""
    hashes: Mapping[str, str]
    """Hash of the decisions by network, called by name and seed."""
    fault: str = ""
    """First difference in words; empty if there is none."""
    run: int = 0
    """Number of the run with the difference, from 2 on."""
    difference: Difference | None = None
    """The decision that differs."""

    @property
    def level(self) -> str:
        """Level of equality: decisions, or none."""
        return "none" if self.fault else "decisions"


def repeat(words: Sequence[str], runs: int, tell: Callable[[int], None] = lambda _count: None) -> Repetition:
    """Run a command several times, and compare its networks with those of the first run.

    Later runs have another `PYTHONHASHSEED`, a larger environment, and busy cores beside them. Raises `InputError` for
    a command that cannot run or writes no valid record. `tell` is called with the number of networks so far.
    """
    with temporary_folder("sojourn-check-") as folder:
        program = Program(words, Path.cwd(), "COMMAND")
        statuses: list[int] = []
        first: list[Record] = []
        for number in range(1, runs + 1):
            out = folder / str(number)
            before = len(first) * (number - 1)
            with _conditions(number) as extra:
                statuses.append(program.run(out, extra=extra, tell=lambda count, before=before: tell(before + count)))  # type: ignore[misc]
            found = read_records(out)
            if not found:
                program.check(out, statuses[-1])
                raise InputError("COMMAND: it wrote no record; build its networks with sojourn-net and finish them")
            if number == 1:
                first = found
                datagrams = sum(map(count_decisions, first))
            elif faults := _compared(first, found):
                return _outcome(statuses, first, datagrams, number, *faults)
        return _outcome(statuses, first, datagrams)


def as_json(outcome: Repetition) -> dict[str, Any]:
    """Every number of the outcome."""
    found = outcome.difference
    return {
        "level": outcome.level,
        "runs": outcome.runs,
        "statuses": list(outcome.statuses),
        "networks": outcome.networks,
        "datagrams": outcome.datagrams,
        "decisions": dict(outcome.hashes),
        "fault": outcome.fault or None,
        "run": outcome.run or None,
        "difference": None
        if found is None
        else {
            "datagram": found.number,
            "first": found.first and found.first.line,
            "second": found.second and found.second.line,
            "guess": found.guess,
        },
    }


def text_lines(outcome: Repetition) -> Iterator[str]:
    """Outcome in lines for a reader."""
    networks = f"{outcome.networks} network{'s' if outcome.networks > 1 else ''}"
    if not outcome.fault:
        yield f"decisions: equal in {outcome.runs} runs, {networks}, {outcome.datagrams:,} datagrams"
        names = [f"{name}: {digest}" for name, digest in outcome.hashes.items()]
        yield from (f"    {name}" for name in names[:MAX_HASHES])
        if len(names) > MAX_HASHES:
            yield f"    … {len(names) - MAX_HASHES} more; --json has all"
    else:
        yield f"not deterministic: run {outcome.run} differs from run 1: {outcome.fault}"
    if found := outcome.difference:
        first = found.first or found.second
        assert first is not None
        yield f"    datagram {found.number:,}, end {first.end}, {first.time_ns / 1e9:.9f} s"
        yield f"    run 1: {_line(found.first)}"
        yield f"    run {outcome.run}: {_line(found.second)}"
        yield f"    {found.guess}"
    if any(outcome.statuses):
        yield f"COMMAND ended with the exit status {', '.join(map(str, outcome.statuses))}"


MAX_HASHES = 8
"""Maximum number of networks printed."""


def _line(decision: Decision | None) -> str:
    return "no further datagram" if decision is None else decision.line


def _outcome(statuses: Sequence[int], first: Sequence[Record], datagrams: int, run: int = 0, *fault: Any) -> Repetition:
    hashes = {f"{record.name}, seed {record.seed}": record.decisions for record in first}
    text, difference = fault or ("", None)
    return Repetition(len(statuses), tuple(statuses), len(first), datagrams, hashes, text, run, difference)


@contextmanager
def _conditions(number: int) -> Iterator[dict[str, str]]:
    """Environment of a run, and busy cores beside all but the first."""
    with ExitStack() as stack:
        for _ in range(cores() if number > 1 else 0):
            stack.enter_context(child([sys.executable, "-c", BURN], stdout=DEVNULL))
        yield {"PYTHONHASHSEED": str(number), PADDING: "x" * (PADDING_BYTES * (number - 1))}


def _compared(first: Sequence[Record], later: Sequence[Record]) -> tuple[str, Difference | None] | None:
    """First difference between the networks of two runs."""
    before = {(record.name, record.seed): record for record in first}
    now = {(record.name, record.seed): record for record in later}
    for which, keys in (("lacks", before.keys() - now.keys()), ("also has", now.keys() - before.keys())):
        if keys:
            names = [f"{name}, seed {seed}" for name, seed in sorted(keys)]
            return f"it {which} {listed(names)}", None
    for key, record in before.items():
        if (found := first_difference(record, now[key])) is not None:
            return f"{key[0]}, seed {key[1]}", found
    for key, record in before.items():
        other = now[key]
        for field in ("world", "decisions", "fingerprint", "summary", "histogram"):
            if getattr(record, field) != getattr(other, field):
                how = f"{key[0]}, seed {key[1]}: equal decision logs, but another {field} in the record"
                return f"{how}; report this fault of Sojourn", None
    return None
