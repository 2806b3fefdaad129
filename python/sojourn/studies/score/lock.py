"""`score.lock`: inputs and fingerprints of a scorecard's runs, so that others can verify a part by running it again."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from sojourn import _core, engines
from sojourn.base.errors import InputError
from sojourn.base.inputs import parse_json, read_text
from sojourn.base.shapes import find_mismatch, is_count, is_flag, is_text
from sojourn.studies.runs.runner import Run, Runner
from sojourn.studies.runs.store import run_hash
from sojourn.studies.score import ROWS
from sojourn.studies.score.card import Scorecard
from sojourn.studies.score.plan import Plan, ScoreSettings, plan
from sojourn.studies.score.profiles import profile

FORMAT = 1
_RUN = {"point": is_count, "seed": is_count, "hash": is_text, "fingerprint": is_text}
_LOCK = {
    **dict.fromkeys(("sojourn", "engine", "identity", "profile", "baseline"), is_text),
    "quick": is_flag,
    "aqms": [is_text],
    "rows": {"*": {"study_sha256": is_text, "runs": [_RUN]}},
}
SHARE = 0.1
"""Share of the runs that `--verify` repeats."""


@dataclass(frozen=True)
class VerifiedRun:
    """A repeated run."""

    row: str
    what: str
    seed: int
    locked: str
    """Fingerprint in the lock."""
    now: str
    """Fingerprint now; empty if the scenario differs, which is not run."""

    @property
    def same(self) -> bool:
        """Whether it is the run of the lock, bit for bit."""
        return self.locked == self.now


def lock_of(card: Scorecard) -> dict[str, Any]:
    """Content of `score.lock` for a scorecard."""
    wanted = card.wanted
    rows = {
        one.plan.row_id: {
            "study_sha256": one.plan.digest,
            "runs": [
                {
                    "point": place // len(one.seeds),
                    "seed": result.seed,
                    "hash": run_hash(result.scenario, result.seed, result.engine),
                    "fingerprint": result.fingerprint,
                }
                for place, result in enumerate(one.results)
            ],
        }
        for one in card.done
        if one.results
    }
    return {
        "format": FORMAT,
        "sojourn": _core.version(),
        "engine": wanted.engine,
        "identity": engines.identity(wanted.engine),
        "profile": wanted.profile.name,
        "quick": wanted.quick,
        "aqms": [card.names[aqm] for aqm in wanted.aqms],
        "baseline": card.names[wanted.baseline],
        "rows": rows,
    }


def read_lock(path: Path) -> dict[str, Any]:
    """Read a lock file; raises `InputError` if it is invalid, or written by another version."""
    try:
        found = parse_json(read_text(path, "score.lock"))
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: {error}; give the score.lock that `sojourn score` wrote") from None
    if not isinstance(found, dict) or "format" not in found:
        raise InputError(f"{path}: not a lock of a scorecard; give the score.lock that `sojourn score` wrote")
    if found["format"] != FORMAT:
        raise InputError(f"{path}: format {found['format']}, not {FORMAT}; verify it with the version that wrote it")
    if (place := find_mismatch("", found, _LOCK)) is not None:
        raise InputError(
            f"{path}: {place.removeprefix('.')} is missing or invalid; give the score.lock that `sojourn score` wrote"
        )
    return found


def verify(lock: Mapping[str, Any], wanted: ScoreSettings, runner: Runner, seed: int) -> list[VerifiedRun]:
    """Repeat a tenth of a lock's runs, chosen by `seed`, at least one; stored results are not used."""
    picked = chosen_runs(lock, seed)
    plans = {row_id: _plan(row_id, wanted) for row_id in dict.fromkeys(row for row, _ in picked)}
    runs: dict[int, Run] = {}
    for place, (row_id, about) in enumerate(picked):
        study = plans[row_id].study
        points = study.points if study else []
        if about["point"] < len(points):
            run = Run(points[about["point"]].at(about["seed"]), about["seed"], wanted.engine)
            if run_hash(run.scenario, run.seed, run.identity) == about["hash"]:
                runs[place] = run
    results = dict(zip(runs, runner(list(runs.values())), strict=True))
    return [
        VerifiedRun(
            row_id,
            runs[place].scenario.aqm if place in runs else "the scenario differs now",
            about["seed"],
            about["fingerprint"],
            results[place].fingerprint if place in results else "",
        )
        for place, (row_id, about) in enumerate(picked)
    ]


def chosen_runs(lock: Mapping[str, Any], seed: int) -> list[tuple[str, Mapping[str, Any]]]:
    """The tenth of the runs that a seed chooses, in their order: the row and the lock's entry."""
    every = [(row_id, about) for row_id, row in lock["rows"].items() for about in row["runs"]]
    if not every:
        raise InputError("score.lock: holds no run, so there is nothing to verify")
    picked = sorted(random.Random(seed).sample(range(len(every)), ceil(SHARE * len(every))))
    return [every[place] for place in picked]


def wanted_of(lock: Mapping[str, Any], aqms: Sequence[str], baseline: str) -> ScoreSettings:
    """Settings of a lock's scorecard; `aqms` are its queue managers with absolute paths."""
    return ScoreSettings(tuple(aqms), baseline, profile(lock["profile"]), lock["quick"], None, lock["engine"])


def _plan(row_id: str, wanted: ScoreSettings) -> Plan:
    if row_id not in ROWS:
        raise InputError(f"score.lock: no row {row_id!r} in this version; verify it with the one that wrote it")
    return plan(row_id, wanted)
