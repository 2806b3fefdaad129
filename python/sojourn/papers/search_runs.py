"""Runs of a search: the figures of a paper under one set-up, stored in a file each, so that a search can resume."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sojourn import _core
from sojourn.base.files import write_file
from sojourn.base.inputs import parse_json, read_bytes
from sojourn.base.shapes import find_mismatch, is_number, is_scalar, is_text
from sojourn.papers import Paper
from sojourn.papers.engine import study_of
from sojourn.papers.judge import Verdict, claims_of, judge
from sojourn.papers.search import JudgedSetup, Setup, score
from sojourn.studies.runs.runner import Runner
from sojourn.studies.runs.store import run_hash
from sojourn.studies.study import Study

STORED_KEYS = ("id", "figure", "kind", "verdict", "expected", "measured", "tight", "loose")
"""Stored keys of a verdict."""


def _is_value(value: Any) -> bool:
    return value is None or is_scalar(value)


def _is_band(value: Any) -> bool:
    return value is None or (find_mismatch("", value, [is_number]) is None and len(value) == 2)


_VERDICT = {
    **dict.fromkeys(("id", "figure", "kind", "verdict"), is_text),
    **dict.fromkeys(("expected", "measured"), _is_value),
    **dict.fromkeys(("tight", "loose"), _is_band),
}
_STORED = {"verdicts": [_VERDICT]}


class SetupJudge:
    """Judges set-ups of a paper, with the same seeds for all; verdicts are cached in a folder."""

    def __init__(
        self,
        paper: Paper,
        figures: Sequence[str],
        folder: Path,
        *,
        seeds: Sequence[int] = (1,),
        jobs: int | None = None,
    ) -> None:
        self.paper = paper
        self.figures = tuple(figures)
        self.folder = folder
        self.seeds = list(seeds)
        self.jobs = jobs
        self.computed = 0
        """Set-ups that were run instead of found."""

    def __call__(self, setup: Setup) -> JudgedSetup:
        """Judge a set-up; an earlier judgement is reused if nothing has changed since."""
        studies = {figure_id: self._study(figure_id, setup) for figure_id in self.figures}
        file = self.folder / f"{self._name(studies)}.json"
        verdicts = self._found(file)
        if verdicts is None:
            verdicts = self._run(studies)
            self.computed += 1
            self._keep(file, setup, verdicts)
        scores = {verdict["id"]: score(verdict) for verdict in verdicts}
        return JudgedSetup(setup, scores, {verdict["id"]: verdict["verdict"] for verdict in verdicts})

    def _study(self, figure_id: str, setup: Setup) -> Study:
        return study_of(self.paper, figure_id, seeds=self.seeds, assumed=setup)

    def _run(self, studies: Mapping[str, Study]) -> list[Verdict]:
        """Verdicts on the claims of the figures; a run common to several figures is done once."""
        runner = Runner(None, self.jobs, progress=False)
        verdicts: list[Verdict] = []
        for figure_id, study in studies.items():
            measured = self.paper.figure(figure_id).measure(study.run_by(runner))
            verdicts += judge(claims_of(self.paper.id, figure_id), measured, full=study.own_seeds)
        return [{key: one.get(key) for key in STORED_KEYS} for one in verdicts if one["verdict"] != "not-run"]

    def _name(self, studies: Mapping[str, Study]) -> str:
        """Hash of everything that determines the verdicts: every run, the claims, the version."""
        runs = [run_hash(run.scenario, run.seed) for study in studies.values() for run in study.runs]
        claims = [claims_of(self.paper.id, figure_id) for figure_id in studies]
        text = json.dumps([_core.version(), runs, claims], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _found(self, file: Path) -> list[Verdict] | None:
        if not file.exists():
            return None
        try:
            kept = parse_json(read_bytes(file))
        except ValueError:
            return None
        # A file with other content is ignored; the set-up is judged again.
        found: list[Verdict] | None = None if find_mismatch("", kept, _STORED) is not None else kept["verdicts"]
        return found

    def _keep(self, file: Path, setup: Setup, verdicts: list[Verdict]) -> None:
        kept: dict[str, Any] = {"setup": dict(setup), "seeds": self.seeds, "verdicts": verdicts}
        text = json.dumps(kept, indent=1, ensure_ascii=False) + "\n"
        write_file(file, lambda stream: stream.write(text.encode()))
