"""What the original says of a claim: the judge, fed with the authors' own runs or with runs of their tool.

A figure's module that knows such runs has `original()`. They are judged as ours are, by the same bands and relations,
and every verdict tells the outcome:

- `original` is `satisfies`, `contradicts` or `unknown`;
- `original_evidence` has the numbers in words, `original_measured` and `original_n` what was measured in how many runs.

Runs of a part of a figure's points can contradict a claim about all of them, and never satisfy one.

A claim that the original contradicts gets the verdict `contradicted`, and `measured_verdict` is what ours gives alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.papers.judge import UNKNOWN, Claim, Measured, Verdict, judge, measured_text

SAYS = {"tight": "satisfies", "loose": "satisfies", "holds": "satisfies", "failed": "contradicts"}
"""What a verdict on the original's runs means; any other one leaves it unknown."""
SHOWN = 3
"""So many of the places that speak against a relation are told in words."""


@dataclass(frozen=True)
class Original:
    """Runs of the authors, or of the tool that they used, reduced as a figure reduces ours."""

    measured: Measured
    source: str
    """Whose runs they are, such as `the authors' published runs`."""
    least: int = 1
    """Replications below which nothing is said: one where nothing varies with the seed."""
    missing: str = ""
    """Which points of the figure were not run, such as `700 to 1000 FTPs`; the relations take them to be as claimed."""


def beside_original(claims: Sequence[Claim], verdicts: Iterable[Verdict], original: Original | None) -> list[Verdict]:
    """The verdicts with what the original says of each claim; `contradicted` where it contradicts one that was run."""
    if original is None:
        return list(verdicts)
    said = {claim["id"]: _said(claim, original) for claim in claims}
    return [_settled(verdict | said.get(verdict["id"], {})) for verdict in verdicts]


def original_text(verdict: Verdict) -> str:
    """Whether the original satisfies the claim, and by which numbers; empty where nobody knows."""
    if "original_evidence" not in verdict:
        return ""
    says = "leaves it open" if verdict["original"] == UNKNOWN else f"{verdict['original']} it"
    return f"{says} ({verdict['original_evidence']})"


def contradicted(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Those that the original contradicts."""
    return [verdict for verdict in verdicts if verdict["verdict"] == "contradicted"]


def where_text(verdict: Verdict) -> str:
    """At which places a relation is false, the first few in words; empty if it is true or does not say."""
    false = verdict.get("false_at", [])
    if not false:
        return ""
    more = "; …" if len(false) > SHOWN else ""
    return f"false at {len(false)} of {verdict['places']}: {'; '.join(false[:SHOWN])}{more}"


def _said(claim: Claim, original: Original) -> dict[str, Any]:
    [verdict] = judge([claim], original.measured, claim["engine"], full=original.least)
    n = verdict["n"]
    if n == 0:
        return {}
    numbers = {"original_measured": verdict["measured"], "original_n": n}
    if n < original.least:
        return {"original_evidence": f"{original.source}: {n} of {original.least} runs", **numbers}
    says = SAYS.get(verdict["verdict"], UNKNOWN)
    evidence = f"{original.source}: {_numbers(verdict)}"
    if original.missing:
        says = says if says == "contradicts" else UNKNOWN
        evidence += f"; {original.missing} not run"
    return {"original": says, "original_evidence": evidence, **numbers}


def _numbers(verdict: Verdict) -> str:
    if verdict["kind"] != "relation":
        return f"{measured_text(verdict)} {verdict['unit']}".strip()
    if where := where_text(verdict):
        return where
    if verdict["n"] > 1 or "places" not in verdict:
        return measured_text(verdict)
    return f"true at all of {verdict['places']}" if verdict["places"] > 1 else "true"


def _settled(verdict: Verdict) -> Verdict:
    if verdict["original"] != "contradicts" or verdict["verdict"] == "not-run":
        return verdict
    return verdict | {"verdict": "contradicted", "measured_verdict": verdict["verdict"]}
