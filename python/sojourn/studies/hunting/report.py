"""Output of a hunt: a scenario file for each queue manager, a figure, and a record of the search."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sojourn.base.errors import InputError
from sojourn.base.files import write_if_changed
from sojourn.figures.api import Plots
from sojourn.model.analysis.labels import names_of
from sojourn.model.aqms.spelling import spelled_aqm
from sojourn.model.scenarios.advice import advice
from sojourn.model.scenarios.scenario import Scenario
from sojourn.studies.hunting.hunt import HuntResult
from sojourn.studies.hunting.search import Search
from sojourn.studies.hunting.space import SAMPLED_POINTS, Point, Space
from sojourn.studies.hunting.trials import Trials
from sojourn.studies.idle import idle_keys
from sojourn.studies.runs.runner import Run
from sojourn.studies.sentences import letter
from sojourn.studies.study import set_path

ENDS = (0.0, 1.0 - 2**-53)
"""Ends of the interval [0, 1) from which a key is drawn."""


def write_scenarios(hunted: HuntResult, space: Space, sentence: str, command: Sequence[str], out: Path) -> list[Path]:
    """Write the found scenario with each queue manager; the first file has no suffix."""
    files = []
    for place, aqm in enumerate(space.aqms):
        name = f"{space.path.stem}.found.toml" if place == 0 else f"{space.path.stem}.found-{letter(place)}.toml"
        text = _text(hunted, space, place, _heading(hunted, sentence, space, aqm, command))
        files.append(write_if_changed(out / name, lambda stream, text=text: stream.write(text.encode())))  # type: ignore[misc]
    return files


def draw(hunted: HuntResult, trials: Trials, file: Path) -> Path:
    """Draw the representative run of each queue manager."""
    scenarios = [
        trials.space.scenario(hunted.point, aqm).replace({"probes.packets": True})
        for aqm in range(len(trials.space.aqms))
    ]
    results = trials.runner([Run(scenario, hunted.seed) for scenario in scenarios])
    plots = Plots(lambda: (results, names_of(results)))
    drawn = plots.comparison() if len(results) > 1 else plots.timeseries()
    return drawn.save(file)


def idle(search: Search, hunted: HuntResult | None) -> list[str]:
    """A sentence for each drawn key that changes no run at the found, or nearest, point."""
    if hunted is not None:
        point, seed = hunted.found.point, hunted.seed
    elif search.best:
        _, point, seed = search.best
    else:
        return []
    space = search.trials.space
    ends: dict[str, list[tuple[Scenario, Scenario]]] = {}
    for name in space.active(point):
        low, high = (point.with_value(name, space.leaves[name](place)) for place in ENDS)
        try:
            ends[name] = [(space.scenario(low, aqm), space.scenario(high, aqm)) for aqm in range(len(space.aqms))]
        except InputError:
            continue  # an end that cannot run makes a difference
    return idle_keys(ends, seed, search.trials.runner)


def warnings(space: Space) -> list[str]:
    """Sentences about settings of the space without effect, judged by its first points."""
    found = []
    for seed in range(1, SAMPLED_POINTS + 1):
        try:
            found += [space.scenario(space.drawn(seed), aqm) for aqm in range(len(space.aqms))]
        except InputError:
            continue
    return advice(found)


def record_of(hunted: HuntResult | None, search: Search, sentence: str) -> dict[str, Any]:
    """Record of a hunt."""
    trials = search.trials
    about: dict[str, Any] = {
        "space": str(trials.space.path),
        "where": sentence,
        "aqms": list(trials.space.aqms),
        "free": len(trials.space.leaves),
        "seed": search.seed,
        "evaluations": search.evaluations,
        "refused": trials.refused,
        "runs": trials.runs,
        "found": hunted is not None,
        "best": None,
    }
    if search.best:
        margin, point, seed = search.best
        about["best"] = {"margin": margin, "seed": seed, "keys": trials.space.paths(point)}
    if hunted is None:
        return about
    proof = hunted.proof
    return about | {
        "found_by": hunted.found.by,
        "found_at": hunted.found.evaluations,
        "found_keys": trials.space.paths(hunted.found.point),
        "run_seed": hunted.seed,
        "shrink": {"tried": hunted.shrink.tried, "kept": len(hunted.shrink.kept), "done": hunted.shrink.done},
        "keys": keys_of(hunted.point, trials.space),
        "proof": {
            "seeds": len(proof.seeds),
            "distinct": proof.distinct,
            "holds": proof.holds,
            "share_ci95": [proof.low, proof.high],
            "is_proof": proof.is_proof,
            "comparisons": list(proof.sides),
        },
    }


def keys_of(point: Point, space: Space) -> dict[str, Any]:
    """Drawn keys of a point that are still present, by dotted path."""
    gone = tuple(f"flows.{group}." for group in point.dropped)
    found = {path: value for path, value in space.paths(point).items() if not (gone and path.startswith(gone))}
    return found | ({"duration": point.duration} if point.duration else {})


def write_record(about: Mapping[str, Any], file: Path) -> Path:
    """Write the record as JSON."""
    text = json.dumps(about, indent=1, ensure_ascii=False, default=str) + "\n"
    return write_if_changed(file, lambda stream: stream.write(text.encode()))


def _heading(hunted: HuntResult, sentence: str, space: Space, aqm: str, command: Sequence[str]) -> list[str]:
    proof = hunted.proof
    names = ", ".join(f"{letter(place)} = {name}" for place, name in enumerate(space.aqms))
    lines = [f"{sentence}" + (f" with {names}; here {aqm}" if len(space.aqms) > 1 else "")]
    share = f"95 % interval of the share {proof.low:.0%} to {proof.high:.0%}"
    lines.append(f"True with {proof.holds} of {proof.distinct} seeds ({share}).")
    lines += ["; ".join(side_texts(one)) for one in proof.sides]
    return [*lines, f"Found by: {shlex.join(command)}"]


def side_texts(comparison: Mapping[str, Any]) -> list[str]:
    """Both sides of a comparison with their means."""
    sides = (comparison["left"], comparison["right"])
    return [f"{side['text']} {_mean(side, comparison['unit'])}" for side in sides]


def _mean(side: Mapping[str, Any], unit: str) -> str:
    """A mean with its interval and unit."""
    if side["mean"] is None:
        return "–"
    half = f" ± {side['ci95']:.2g}" if side["ci95"] else ""
    return f"{side['mean']:.4g}{half} {unit}".rstrip()


def _text(hunted: HuntResult, space: Space, aqm: int, heading: Sequence[str]) -> str:
    """Scenario file: the space's keys with the found values."""
    import tomlkit

    document, parameters = space.written(hunted.point, aqm)
    scenario = space.scenario(hunted.point, aqm)
    for path in parameters:
        owner = path.rpartition(".")[0]
        set_path(document, owner, spelled_aqm(scenario.at(owner)), owner)
    document["seed"] = hunted.seed
    comments = "".join(f"# {line}\n" for line in heading)
    return comments + tomlkit.dumps(document)
