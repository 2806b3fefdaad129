"""The judge of `papers/claims.json`: compares published numbers and relations with measured ones.

A value or range passes *tight* or *loose* if the mean over the replications is in the band of that name. A relation
*holds* if it is true for the means of all replications and in at least four of five single ones. With fewer
replications than the study requests, it is *undecided* if it is true for the means and false in more than one of five,
but in no more than is allowed for all requested ones: the missing ones could change the verdict.

In a claim, `engine` is the kind of run that was published: `simulate` for a simulator or a testbed that the simulator
models, `emulate` for real programs behind an emulated link. A run judges only the claims of its kind; for the others a
simulation's measurements are reported as `simulated`, an emulation's as `emulated`.

The same judge is applied to the authors' own runs, or runs of their tool (`original.py`). A claim that these do not
satisfy is *contradicted*, regardless of our measurements.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, wraps
from importlib.resources import files
from math import floor, log10
from typing import Any, NamedTuple

import polars as pl

from sojourn.engines import kind
from sojourn.model.analysis.stats import sample_ci

Claim = dict[str, Any]
"""A claim as in `claims.json`."""
Verdict = dict[str, Any]
"""A judged claim: `id`, `verdict`, `expected`, `measured`, `ci95` and further explanations."""
Relation = Callable[[pl.DataFrame], bool]
"""Whether a relation is true of a table of cells."""

VERDICTS = ("contradicted", "tight", "loose", "holds", "undecided", "failed", "not-run")
"""Every verdict, in the order used for counting."""
UNKNOWN = "unknown"
"""Value of `original` for a claim without runs of the authors or of their tool."""
ONE_IN = 5
"""A relation may be false in one of this many single replications."""
NEEDED_SHARE = 1 - 1 / ONE_IN
"""Share of single replications in which a relation must be true."""


@dataclass(frozen=True)
class Measurements:
    """Measurements of a figure: samples per claim, and cells per replication for the relations."""

    samples: Mapping[str, Sequence[float]]
    """One value per replication, by id of the claim."""
    cells: pl.DataFrame
    """One row per combination of `keys` and `seed`."""
    keys: Sequence[str]
    relations: Mapping[str, Relation]
    """Functions by id of the claim."""
    pooled: Mapping[str, float] = field(default_factory=dict)
    """Values over the packets of all replications together, by id of the claim; reported, not judged."""


class Check(NamedTuple):
    """One of the comparisons that make up a relation."""

    true: bool
    text: str
    """Location of the comparison, and the compared numbers."""


@cache
def all_claims() -> tuple[Claim, ...]:
    """Every claim, in the order of the file."""
    return tuple(json.loads((files("sojourn.papers") / "claims.json").read_text(encoding="utf-8")))


def claims_of(paper: str, figure: str | None = None) -> list[Claim]:
    """Claims of a paper, or of one figure of it."""
    return [c for c in all_claims() if c["paper"] == paper and figure in (None, c["figure"])]


def judge(
    claims: Iterable[Claim],
    measured: Measurements | None,
    engine: str = "simulate",
    *,
    as_published: bool = True,
    left_out: Mapping[str, str] | None = None,
    full: int = 0,
) -> list[Verdict]:
    """One verdict per claim; `not-run` if nothing was measured, or not with the claim's engine.

    `full` is the number of replications that the study requests; with fewer, a relation may be `undecided`. A run that
    is not `as_published` does not judge a claim either: its measurements are only reported. `left_out` has the queue
    managers of the study that were not run, with reasons: a claim about them is `not-run` with the reason as `why`.
    """
    return [_judge_one(claim, measured, engine, as_published, left_out or {}, full) for claim in claims]


def regardless_of(*words: str) -> Callable[[Relation], Relation]:
    """Declare that a relation ignores queue managers with one of these words, such as `codel@act`, in their text.

    It is judged even if they are left out; any other relation needs every queue manager of its figure.
    """

    def mark(relation: Relation) -> Relation:
        relation.regardless_of = frozenset(words)  # type: ignore[attr-defined]
        return relation

    return mark


def all_checks(places: Callable[[pl.DataFrame], Iterable[Check]]) -> Relation:
    """Define a relation that is true if all its checks are true; a verdict can then list the false ones."""

    @wraps(places)
    def relation(cells: pl.DataFrame) -> bool:
        return all(place.true for place in places(cells))

    relation.places = places  # type: ignore[attr-defined]
    return relation


def _judge_one(
    claim: Claim, measured: Measurements | None, engine: str, as_published: bool, left_out: Mapping[str, str], full: int
) -> Verdict:
    not_run = _verdict(claim, "not-run", None, None, 0)
    relation = measured.relations.get(claim["id"]) if measured else None
    if measured and relation and all(_not_needed(relation) & set(aqm.split()) for aqm in left_out):
        verdict = _judge_relation(claim, measured, full)
    elif measured and measured.samples.get(claim["id"]):
        verdict = _judge_value(claim, measured)
    else:
        return not_run | ({"why": "; ".join(dict.fromkeys(left_out.values()))} if left_out else {})
    if as_published and kind(engine) in _JUDGES[claim.get("engine", "simulate")]:
        return verdict
    return not_run | {_REPORTED_AS.get(engine, engine): verdict["measured"]}


def _not_needed(relation: Relation) -> frozenset[str]:
    found: frozenset[str] = getattr(relation, "regardless_of", frozenset())
    return found


_JUDGES = {"simulate": ("simulate", "kernel", "ns2"), "emulate": ("emulate",)}
"""Engines whose runs judge a claim, by the claim's engine: kernels and ns-2 judge what a simulator judges."""
_REPORTED_AS = {"simulate": "simulated", "emulate": "emulated"}


def tally(verdicts: Iterable[Verdict]) -> dict[str, int]:
    """Number of claims per verdict."""
    counts = Counter(verdict["verdict"] for verdict in verdicts)
    return {name: counts[name] for name in VERDICTS}


def undecided_text(verdicts: Iterable[Verdict]) -> str | None:
    """Sentence about the relations that more seeds could change; None if there is none."""
    found = [f"{one['id']} ({one['why']})" for one in verdicts if one["verdict"] == "undecided"]
    return f"Undecided, because the missing seeds could change them: {', '.join(found)}" if found else None


def published_text(verdict: Verdict) -> str:
    """Published value with its unit; for a relation its statement."""
    return str(verdict["metric"]) if verdict["kind"] == "relation" else _with_unit(f"{verdict['expected']:g}", verdict)


def measured_text(verdict: Verdict) -> str:
    """Mean ± half width of its 95 % confidence interval, or how often a relation is true."""
    value, half = verdict["measured"], verdict["ci95"]
    if value is None:
        return "–"
    if verdict["kind"] == "relation":
        return f"{str(value).lower()}, {verdict['share']:.0%} of seeds"
    return f"{value:.4g}" if half is None else _with_half_width(value, half)


def band_text(verdict: Verdict, band: str) -> str:
    """Ends of the band `tight` or `loose`; a relation has none."""
    return "–" if verdict["kind"] == "relation" else "{:.4g} to {:.4g}".format(*verdict[band])


def _with_half_width(value: float, half: float) -> str:
    """Two digits of the half width, but no more than five of the value."""
    after = [digits - 1 - floor(log10(abs(one))) for one, digits in ((half, 2), (value, 5)) if one]
    digits = max(0, min(after, default=0))
    if float(f"{half:.{digits}f}") == 0:
        return f"{value:.4g} ± 0"
    return f"{value:.{digits}f} ± {half:.{digits}f}"


def _with_unit(text: str, verdict: Verdict) -> str:
    return f"{text} {verdict['unit']}".strip()


def function_name(claim_id: str) -> str:
    """Name of a relation's function: S0-T1-rel1 is judged by S0_T1_rel1."""
    return claim_id.replace("-", "_")


def relations_by_claim(functions: Iterable[Callable[[pl.DataFrame], bool]]) -> dict[str, Relation]:
    """Map claims to the functions named after them."""
    by_name = {getattr(function, "__name__", ""): function for function in functions}
    ids = {function_name(claim["id"]): claim["id"] for claim in all_claims() if claim["kind"] == "relation"}
    return {ids[name]: function for name, function in by_name.items()}


def _judge_value(claim: Claim, measured: Measurements) -> Verdict:
    samples = measured.samples[claim["id"]]
    mean, half = sample_ci(samples)
    inside = {band: claim[f"{band}_lo"] <= mean <= claim[f"{band}_hi"] for band in ("tight", "loose")}
    verdict = "tight" if inside["tight"] else "loose" if inside["loose"] else "failed"
    extra = {"pooled": measured.pooled[claim["id"]]} if claim["id"] in measured.pooled else {}
    return _verdict(claim, verdict, mean, half, len(samples)) | extra


def _judge_relation(claim: Claim, measured: Measurements, full: int) -> Verdict:
    relation, keys = measured.relations[claim["id"]], list(measured.keys)
    means = measured.cells.group_by(keys, maintain_order=True).mean().drop("seed")
    singles = [relation(one.drop("seed")) for _, one in measured.cells.group_by("seed", maintain_order=True)]
    n, all_of_them = len(singles), max(full, len(singles))
    false = n - sum(singles)
    true_of_means = relation(means)
    if not true_of_means or false * ONE_IN > all_of_them:
        verdict = "failed"
    elif false * ONE_IN > n:
        verdict = "undecided"
    else:
        verdict = "holds"
    details: dict[str, Any] = {"share": (n - false) / n, "full": all_of_them, **_where(relation, means)}
    if verdict == "undecided":
        details["why"] = f"false in {false} of {n} runs, and it may be in {all_of_them // ONE_IN} of {all_of_them}"
    return _verdict(claim, verdict, true_of_means, None, n) | details


def _where(relation: Relation, means: pl.DataFrame) -> dict[str, Any]:
    """Number of a relation's checks, and those that are false for the means; empty without checks."""
    if not hasattr(relation, "places"):
        return {}
    places = list(relation.places(means))
    return {"places": len(places), "false_at": [place.text for place in places if not place.true]}


def _verdict(claim: Claim, verdict: str, measured: float | bool | None, ci95: float | None, n: int) -> Verdict:
    relation = claim["kind"] == "relation"
    bands = {} if relation else {b: [claim[f"{b}_lo"], claim[f"{b}_hi"]] for b in ("tight", "loose")}
    return {
        "id": claim["id"],
        "paper": claim["paper"],
        "figure": claim["figure"],
        "kind": claim["kind"],
        "metric": claim["metric"],
        "unit": claim["unit"],
        "verdict": verdict,
        "expected": True if relation else claim["expected"],
        "measured": measured,
        "ci95": ci95,
        "n": n,
        **bands,
        "original": UNKNOWN,
    }
