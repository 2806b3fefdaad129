"""Outcome of a claim for the original: the judge, applied to the authors' own runs or to runs of their tool.

A figure's module with such runs has `original()`. They are judged like ours, by the same bands and relations, and every
verdict contains the outcome:

- `original` is `satisfies`, `contradicts` or `unknown`;
- `original_evidence` has the numbers in words, `original_measured` and `original_n` the measurement and the number of
  runs.

Runs of a part of a figure's points can contradict a claim about all of them, but never satisfy one.

A claim that the original contradicts gets the verdict `contradicted`, and `measured_verdict` is the verdict on our runs
alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.papers.judge import UNKNOWN, Claim, Measurements, Verdict, judge, measured_text

OUTCOMES = {"tight": "satisfies", "loose": "satisfies", "holds": "satisfies", "failed": "contradicts"}
"""Outcome for a verdict on the original's runs; any other verdict leaves it unknown."""
MAX_SHOWN = 3
"""Maximum number of false checks listed in words."""


@dataclass(frozen=True)
class Original:
    """Runs of the authors, or of their tool, reduced as a figure reduces ours."""

    measured: Measurements
    source: str
    """Source of the runs, such as `the authors' published runs`."""
    least: int = 1
    """Minimum replications for an outcome: one if nothing varies with the seed."""
    missing: str = ""
    """Points of the figure that were not run, such as `700 to 1000 FTPs`; the relations assume them to be as claimed.
    """


def add_original(claims: Sequence[Claim], verdicts: Iterable[Verdict], original: Original | None) -> list[Verdict]:
    """Add the original's outcome to the verdicts; `contradicted` if it contradicts a claim that was run."""
    if original is None:
        return list(verdicts)
    outcomes = {claim["id"]: _original_outcome(claim, original) for claim in claims}
    return [_with_contradiction(verdict | outcomes.get(verdict["id"], {})) for verdict in verdicts]


def original_text(verdict: Verdict) -> str:
    """Whether the original satisfies the claim, and the numbers; empty if unknown."""
    if "original_evidence" not in verdict:
        return ""
    outcome = "leaves it open" if verdict["original"] == UNKNOWN else f"{verdict['original']} it"
    return f"{outcome} ({verdict['original_evidence']})"


def contradicted(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Verdicts that the original contradicts."""
    return [verdict for verdict in verdicts if verdict["verdict"] == "contradicted"]


def where_text(verdict: Verdict) -> str:
    """False checks of a relation, the first few in words; empty if it is true or has no checks."""
    false = verdict.get("false_at", [])
    if not false:
        return ""
    more = "; …" if len(false) > MAX_SHOWN else ""
    return f"false at {len(false)} of {verdict['places']}: {'; '.join(false[:MAX_SHOWN])}{more}"


def _original_outcome(claim: Claim, original: Original) -> dict[str, Any]:
    [verdict] = judge([claim], original.measured, claim["engine"], full=original.least)
    n = verdict["n"]
    if n == 0:
        return {}
    numbers = {"original_measured": verdict["measured"], "original_n": n}
    if n < original.least:
        return {"original_evidence": f"{original.source}: {n} of {original.least} runs", **numbers}
    outcome = OUTCOMES.get(verdict["verdict"], UNKNOWN)
    evidence = f"{original.source}: {_numbers(verdict)}"
    if original.missing:
        outcome = outcome if outcome == "contradicts" else UNKNOWN
        evidence += f"; {original.missing} not run"
    return {"original": outcome, "original_evidence": evidence, **numbers}


def _numbers(verdict: Verdict) -> str:
    if verdict["kind"] != "relation":
        return f"{measured_text(verdict)} {verdict['unit']}".strip()
    if where := where_text(verdict):
        return where
    if verdict["n"] > 1 or "places" not in verdict:
        return measured_text(verdict)
    return f"true at all of {verdict['places']}" if verdict["places"] > 1 else "true"


def _with_contradiction(verdict: Verdict) -> Verdict:
    if verdict["original"] != "contradicts" or verdict["verdict"] == "not-run":
        return verdict
    return verdict | {"verdict": "contradicted", "measured_verdict": verdict["verdict"]}
