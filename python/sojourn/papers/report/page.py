"""The report of a reproduction as one page without network access, with no script but its lab's."""

from __future__ import annotations

import hashlib
import platform
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sojourn import _core
from sojourn.engines import SIMULATE, kind
from sojourn.papers import Paper
from sojourn.papers.judge import NEEDED_SHARE, Verdict, band_text, measured_text, published_text, tally
from sojourn.papers.original import contradicted, original_text, where_text
from sojourn.papers.report.html import Html, el, image, join, sectioned, table
from sojourn.papers.report.runnable import HEADING, first_run, runnable
from sojourn.papers.reproduction import Cost, Reproduction, share_text
from sojourn.papers.setup import spelled, spelled_all
from sojourn.papers.vary import Variation, changed_verdicts
from sojourn.studies.study import Study, sources

MAX_SVG = 300_000
"""Maximum size in bytes of a figure shown as a vector graphic."""
SECTIONS = {
    "results": "Results at a glance",
    "setup": "Set-up",
    "figures": "Figures and claims",
    "run": HEADING,
    "assumptions": "Assumptions that decide a claim",
    "verdicts": "What the verdicts mean",
    "methods": "Methods, ready to paste",
    "provenance": "Provenance",
}


def page(
    done: Sequence[Reproduction],
    folder: Path,
    *,
    varied: Sequence[Variation] = (),
    command: Sequence[str] = (),
    left_out: Mapping[str, str],
) -> str:
    """Text of the page about figures of one paper; their pictures are read from `folder`.

    `left_out` has the figures that the engine cannot make, with reasons.
    """
    paper = done[0].paper
    verdicts = [verdict for one in done for verdict in one.verdicts]
    bodies = {
        "results": _results(done),
        "setup": _setup(done),
        "figures": join([*(_figure(one, folder) for one in done), _not_yet(paper, left_out)]),
        "run": _run(done[0]),
        "assumptions": _assumptions(verdicts, varied) if varied else Html(),
        "verdicts": _meaning(),
        "methods": _methods(done),
        "provenance": _provenance(done, varied, command),
    }
    return sectioned(
        f"{paper.id}: published against measured",
        SECTIONS,
        bodies,
        name=paper.title,
        about=el("p", f"{paper.about.REFERENCES[0]} Published results against results measured by Sojourn."),
    )


def verdict_mark(verdict: Verdict) -> Html:
    """The verdict as a word; its colour is redundant."""
    return el("span", verdict["verdict"], class_=f"verdict {verdict['verdict']}")


def _results(done: Sequence[Reproduction]) -> Html:
    rows: list[list[str]] = []
    for one in done:
        counts = tally(one.verdicts)
        link = el("a", done[0].paper.figure(one.figure_id).TITLE, href=f"#{one.figure_id}")
        rows.append([link, str(len(one.verdicts)), *(str(count) for count in counts.values())])
    whole = tally([verdict for one in done for verdict in one.verdicts])
    if len(done) > 1:
        rows.append(["all", str(sum(whole.values())), *(str(count) for count in whole.values())])
    caption = "Claims of each figure by verdict"
    failed = [verdict["id"] for one in done for verdict in one.verdicts if verdict["verdict"] == "failed"]
    links = [part for name in failed for part in (el("a", name, href=f"#{name}"), ", ")][:-1]
    text = el("p", "Failed: ", *links, ".") if failed else el("p", "No claim failed.")
    counted = table(["figure", "claims", *whole], rows, caption=caption)
    return join([_assumed(done), _contradicted(done), counted, text, _undecided(done)])


def _contradicted(done: Sequence[Reproduction]) -> Html:
    """Claims that the original itself does not satisfy; these are findings of the reproduction, so they come first."""
    found = contradicted(verdict for one in done for verdict in one.verdicts)
    if not found:
        return Html()
    rows = [
        [
            join([el("a", one["id"], href=f"#{one['id']}"), el("small", one["metric"])]),
            one["original_evidence"],
            _measured(one),
            one["measured_verdict"],
        ]
        for one in found
    ]
    caption = "Contradicted: claims that the original itself does not satisfy"
    return table(["claim", "original", "measured ± 95 % CI", "our runs alone"], rows, caption=caption)


def _undecided(done: Sequence[Reproduction]) -> Html:
    """Relations that more seeds could change."""
    found = [verdict for one in done for verdict in one.verdicts if verdict["verdict"] == "undecided"]
    if not found:
        return Html()
    parts = [part for one in found for part in (el("a", one["id"], href=f"#{one['id']}"), f" ({one['why']}), ")]
    return el("p", "Undecided, because the missing seeds could change them: ", *parts[:-1], parts[-1][:-2], ".")


def _all_assumed(done: Sequence[Reproduction]) -> dict[str, Any]:
    return {name: value for one in done for name, value in one.assumed.items()}


def _assumed(done: Sequence[Reproduction]) -> Html:
    assumed = _all_assumed(done)
    if not assumed:
        return _engine(done)
    parts: list[str] = ["Assumptions other than the defaults: ", el("strong", spelled_all(assumed)), "."]
    others = [one.figure_id for one in done if one.assumed != assumed]
    if others:
        parts.append(f" Not all of them concern {', '.join(others)}.")
    return join([_engine(done), el("p", *parts)])


def _engine(done: Sequence[Reproduction]) -> Html:
    """The engine, if it was not the simulator."""
    text = OWN.get(kind(done[0].engine))
    if text is None:
        return Html()
    return el("p", "Not simulated, but run on ", el("strong", done[0].ran_by), f". {text}")


def _setup(done: Sequence[Reproduction]) -> Html:
    paper = done[0].paper
    settings = [[one.item, one.stated or "–", one.chosen or "as stated"] for one in paper.about.SETUP]
    caption = "Statements of the paper, and our choices where it is silent or where we use a model"
    whole = table(["what", "stated", "our choice"], settings, caption=caption)
    texts: dict[str, str] = {}
    users: dict[str, list[str]] = {}
    for one in done:
        with paper.study_file(one.figure_id, one.engine, short=one.short) as path:
            for name, text in sources(path).items():
                texts[name] = text
                users.setdefault(name, []).append(one.figure_id)
    listings = [
        el("details", el("summary", el("code", name), f" – {', '.join(users[name])}"), el("pre", text), class_="study")
        for name, text in texts.items()
    ]
    text = "The study files: what each figure runs. The provenance has the seeds of the runs shown here."
    intro = el("p", text, class_="note")
    return join([_assumed(done), whole, _stands_for(done), intro, *listings])


def _stands_for(done: Sequence[Reproduction]) -> Html:
    """Substitutes for the paper's queue managers on this engine, and the missing ones."""
    found: dict[str, str] = {}
    for one in done:
        found |= one.there.stands_for
        found |= {name: f"left out: {why}" for name, why in one.there.left_out.items()}
    caption = "Queue managers of this engine that stand in for the paper's"
    return table(["in the study files", "as run"], found.items(), caption=caption) if found else Html()


def _figure(one: Reproduction, folder: Path) -> Html:
    title = one.paper.figure(one.figure_id).TITLE
    drawn = folder / f"{one.figure_id}.svg"
    if drawn.stat().st_size > MAX_SVG:
        drawn = drawn.with_suffix(".png")
    alt = f"{title}, as measured. Its numbers are in the table that follows."
    scrolled = el("div", image(drawn, alt), class_="scrolled", role="group", aria_label=title, tabindex="0")
    picture = el("figure", scrolled, el("figcaption", f"{title}; runs of seed {_seeds(one)}."))
    heading = el("h3", title, id=one.figure_id)
    caption = f"{title}: published against measured"
    nearest = one.paper.about.NEAREST if one.engine == SIMULATE and not one.assumed else {}
    claims = _claims(one.verdicts, caption, nearest) if one.verdicts else Html()
    return el("article", heading, picture, _shares(one), claims)


def _shares(one: Reproduction) -> Html:
    """Share of the published runs near ours, if the figure compares them one by one."""
    found = one.shares
    if found is None:
        return Html()
    rows = [[share_text(value) for value in row] for row in found.iter_rows()]
    return table(found.columns, rows, caption="Published runs that are near ours")


def _run(one: Reproduction) -> Html:
    """The first run of a figure; only for the simulator, because the page contains no other engine."""
    if one.engine != SIMULATE:
        return Html()
    with one.paper.study_file(one.figure_id, one.engine, short=one.short) as path:
        first = first_run(Study.load(path))
    return runnable(first, f"The first run of {one.paper.figure(one.figure_id).TITLE}: {first.aqm}.")


def _not_yet(paper: Paper, left_out: Mapping[str, str]) -> Html:
    verdicts = paper.not_yet(left_out)
    return _claims(verdicts, "Not run: their figures are left out, or not implemented yet") if verdicts else Html()


def _claims(verdicts: Sequence[Verdict], caption: str, nearest: Mapping[str, str] | None = None) -> Html:
    """Table of claims; `nearest` has the nearest result for claims that fail with every seed of the study."""
    known = nearest or {}
    headings = ["claim", "published", "measured ± 95 % CI", "verdict", "tight band", "loose band", "n"]
    rows = [
        [
            join([one["id"], el("small", one["metric"])]),
            "true" if one["kind"] == "relation" else published_text(one),
            _measured(one),
            join([verdict_mark(one), *(el("small", text) for text in _beside(one, known))]),
            band_text(one, "tight"),
            band_text(one, "loose"),
            str(one["n"]),
        ]
        for one in verdicts
    ]
    return table(headings, rows, ids=[one["id"] for one in verdicts], caption=caption)


def _beside(verdict: Verdict, nearest: Mapping[str, str]) -> Iterator[str]:
    """Explanations of a verdict: why nothing was run, false checks, and whether the original satisfies it itself."""
    if "why" in verdict:
        yield verdict["why"]
    if "measured_verdict" in verdict:
        yield f"Our runs alone: {verdict['measured_verdict']}."
    if text := where_text(verdict):
        yield f"It is {text}."
    if text := original_text(verdict):
        yield f"The original {text}."
    if verdict["verdict"] == "failed" and verdict["id"] in nearest:
        yield f"Nearest: {nearest[verdict['id']]}."


def _measured(verdict: Verdict) -> str:
    unit = f" {verdict['unit']}" if verdict["unit"] and verdict["measured"] is not None else ""
    return measured_text(verdict) + unit


def _assumptions(base: Sequence[Verdict], varied: Sequence[Variation]) -> Html:
    found = changed_verdicts(base, varied)
    counted = [
        [
            f"{one.name}={spelled(one.value)}",
            str(len(one.verdicts)),
            *(str(count) for count in tally(one.verdicts).values()),
            str(sum((d.name, d.value) == (one.name, one.value) for d in found)),
        ]
        for one in varied
    ]
    changed = [
        [
            el("a", one.before["id"], href=f"#{one.before['id']}"),
            f"{one.name}={spelled(one.value)}",
            _measured(one.before),
            verdict_mark(one.before),
            _measured(one.after),
            verdict_mark(one.after),
        ]
        for one in found
    ]
    intro = "Each assumption was varied alone, with the same seeds; figures that it does not concern were left out."
    headings = ["assumption", "claims", *tally(base), "changed"]
    parts = [el("p", intro, class_="note"), table(headings, counted, caption="Verdicts with each alternative")]
    if changed:
        headings = ["claim", "with", "measured", "verdict", "measured with it", "verdict with it"]
        parts.append(table(headings, changed, caption="Claims whose verdict changes"))
    else:
        parts.append(el("p", "No verdict changes."))
    return join(parts)


def _meaning() -> Html:
    explained = {
        "contradicted": "a claim that the authors' own runs, or runs of their tool, do not satisfy by the same judge; "
        "counted by itself, whatever was measured here",
        "tight": "a value whose mean over the seeds lies in the tight band",
        "loose": "a value whose mean lies in the loose band, but not in the tight one",
        "holds": f"a relation that is true of the means over all seeds and in at least {NEEDED_SHARE:.0%} of single "
        "runs",
        "undecided": "a relation that is true of the means and false in more single runs than it may be of those "
        "made, but not of as many as the study asks for",
        "failed": "neither; a claim that fails is not fixed by a tuned parameter",
        "not-run": "nothing was measured for it",
    }
    parts: list[str] = []
    for name, text in explained.items():
        parts += [el("dt", el("span", name, class_=f"verdict {name}")), el("dd", text)]
    bands = (
        "The bands are Sojourn's, not the paper's. A value after ± is the half width of a 95 % confidence interval "
        "(Student's t) over the seeds; n is their number. Where the authors' own runs or runs of their tool are known, "
        "the claim says whether they satisfy it."
    )
    return join([el("dl", *parts), el("p", bands)])


def _methods(done: Sequence[Reproduction]) -> Html:
    paper = done[0].paper
    seeds = sorted({len(one.study.study.seeds) for one in done})
    many = " or ".join(str(count) for count in seeds)
    references = [*paper.about.REFERENCES, f"Sojourn {_core.version()}, a simulator of queue management (software)."]
    assumed = spelled_all(_all_assumed(done))
    deviation = f" Assumptions other than in the package: {assumed}." if assumed else ""
    repeated = (
        f"Every point was replicated {many} times with independent seeds, the same for all queue managers (common "
        "random numbers). Values are means with 95 % confidence intervals after Student's t."
        if seeds != [1]
        else "Every point was run once."
    )
    by = BY[kind(done[0].engine)].format(version=_core.version(), ran_by=done[0].ran_by)
    text = f"We repeated the study of [1] with {by} [{len(references)}]. {paper.about.METHODS}{deviation} {repeated}"
    listed = [el("p", f"[{place}] {reference}") for place, reference in enumerate(references, 1)]
    return el("div", el("p", text), *listed, class_="methods")


BY = {
    "simulate": "the packet-level simulator Sojourn {version}",
    "emulate": "real programs and the TCP of this machine's kernel behind links emulated by Sojourn {version}",
    "kernel": "the Linux kernel in simulated time ({ran_by}), driven by Sojourn {version}, with its own queue managers "
    "and TCP in place of those named below",
    "ns2": "the simulator ns-2 ({ran_by}), driven by Sojourn {version}",
}
"""Description of the engine that ran the study."""
OWN = {
    "emulate": "TCP is that of this machine's kernel, and the servers and clients are programs.",
    "kernel": "The queue managers and TCP are this kernel's own; those that it lacks are left out.",
    "ns2": "TCP and the traffic are those of ns-2.",
}
"""Differences from the paper's package, by engine."""


def _provenance(done: Sequence[Reproduction], varied: Sequence[Variation], command: Sequence[str]) -> Html:
    spent = Cost.total([*done, *varied])
    facts = {
        "version": f"Sojourn {_core.version()}, Python {platform.python_version()}, {platform.machine()}",
        "command": shlex.join(command) or "called from Python",
        "engine": done[0].ran_by,
        "assumed": spelled_all(_all_assumed(done)) or "as in the paper's package",
        **spent.texts(),
    }
    parts: list[str] = []
    for name, text in facts.items():
        parts += [el("dt", name), el("dd", el("code", text) if name == "command" else text)]
    rows = [[one.figure_id, str(len(one.study.results)), _seeds(one), _digest(one)] for one in done]
    headings = ["figure", "runs", "seeds", "digest of fingerprints"]
    listings = [
        el("details", el("summary", f"{one.figure_id}: fingerprints"), el("pre", " ".join(_fingerprints(one))))
        for one in done
    ]
    note = (
        "A run's fingerprint covers every verdict and departure of its queues; the same version, scenario and seed "
        "give the same one. The digest is the first 16 digits of the SHA-256 of all fingerprints, in order, one per "
        "line."
    )
    return join([el("dl", *parts), table(headings, rows, caption="Runs of each figure"), el("p", note), *listings])


def _seeds(one: Reproduction) -> str:
    seeds = one.study.study.seeds
    whole = len(seeds) > 1 and seeds == list(range(seeds[0], seeds[-1] + 1))
    return f"{seeds[0]} to {seeds[-1]}" if whole else ", ".join(str(seed) for seed in seeds)


def _fingerprints(one: Reproduction) -> list[str]:
    return [run.fingerprint for run in one.study.results]


def _digest(one: Reproduction) -> str:
    return hashlib.sha256("\n".join(_fingerprints(one)).encode()).hexdigest()[:16]
