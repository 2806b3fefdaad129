"""Plan of a row: its study with the requested queue managers, seeds, length and link."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sojourn.base.dotted import split_paths
from sojourn.base.errors import InputError
from sojourn.base.units import rates
from sojourn.engines import SIMULATE, check
from sojourn.studies.score import QUICK_SEEDS, QUICK_SHARE, ROWS, Row, studies
from sojourn.studies.score.profiles import Profile, fit_to_profile, shorten
from sojourn.studies.score.versions import VERSIONS, LackingError
from sojourn.studies.study import Study, read_document


@dataclass(frozen=True)
class ScoreSettings:
    """Settings of a scorecard, common to all rows."""

    aqms: tuple[str, ...]
    """Queue managers in their spelling, with absolute paths; includes the baseline."""
    baseline: str
    profile: Profile
    quick: bool = False
    seeds: int | None = None
    """Exact number of seeds; by default as many as the intervals need."""
    engine: str = SIMULATE


@dataclass(frozen=True)
class Plan:
    """Study of a row."""

    row_id: str
    row: Row
    study: Study | None = None
    """None if the row is not run."""
    document: Mapping[str, Any] = field(default_factory=dict)
    """The study in the form of a file, without its seeds."""
    own: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Variants that are run for each queue manager, as named by the study."""
    alone: Study | None = None
    """The transfers of the row's group `alone` on a link without other traffic."""
    slowness: float = 1.0
    """Factor by which the bands of delays widen, from the link's minimum rate in this row."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Queue managers without a variant for the row, and why."""
    shortened: Sequence[str] = ()
    """Changes made by `--quick`, in words."""
    why_not: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 of the study as run, without its seeds."""
        text = json.dumps(self.document, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


def plan(row_id: str, wanted: ScoreSettings) -> Plan:
    """Plan of a row; one that cannot be run has a reason."""
    row = ROWS[row_id]
    if row.facts:
        return Plan(row_id, row, own={aqm: [aqm] for aqm in wanted.aqms})
    with studies() as folder:
        document = read_document(folder / f"{row_id}.toml")
        document, shortened = _fitted(document, row, wanted)
        own, left_out = _versions(row, wanted.aqms)
        if not own:
            return Plan(row_id, row, left_out=left_out, why_not="no queue manager has such a version")
        texts = [text for texts in own.values() for text in texts]
        with_aqms = _with_aqms(document, [*texts, *(own if row.beside_plain else ())])
        seeds = _first_seeds(row, wanted)
        try:
            study = Study.of(with_aqms, row_id, folder, seeds=seeds)
            for point in study.points:
                check(wanted.engine, point.scenario)
        except InputError as error:
            if wanted.engine == SIMULATE:
                raise
            return Plan(row_id, row, why_not=str(error))
        return Plan(
            row_id,
            row,
            replace(study, engine=wanted.engine),
            with_aqms,
            own,
            _alone(document, row, wanted, folder),
            wanted.profile.slowness(min(rates(document["link"]["rate"]))),
            left_out,
            shortened,
        )


def _alone(document: Mapping[str, Any], row: Row, wanted: ScoreSettings, folder: Path) -> Study | None:
    """One flow group of a row's study on the same link with tail drop."""
    if row.alone is None:
        return None
    single = {**document, "flows": [document["flows"][row.alone]], "sweep": {"link.aqm": ["droptail"]}}
    return replace(Study.of(single, "alone", folder, seeds=_first_seeds(row, wanted)), engine=wanted.engine)


def _first_seeds(row: Row, wanted: ScoreSettings) -> int:
    return wanted.seeds or (QUICK_SEEDS if wanted.quick and not row.large else 1)


def _fitted(document: dict[str, Any], row: Row, wanted: ScoreSettings) -> tuple[dict[str, Any], list[str]]:
    document["sweep"].pop("seeds", None)
    document = fit_to_profile(document, row, wanted.profile)
    if not wanted.quick or row.fixed:
        return document, []
    short = shorten(document, QUICK_SHARE)
    changes = [f"{short['duration']} instead of {document['duration']}"]
    for path, values in document["sweep"].items():
        fewer = short["sweep"][path]
        if len(fewer) < len(values):
            changes.append(f"{len(fewer)} of {len(values)} values of {path}")
    return short, changes


def _versions(row: Row, aqms: Sequence[str]) -> tuple[dict[str, list[str]], dict[str, str]]:
    own: dict[str, list[str]] = {}
    left_out: dict[str, str] = {}
    for aqm in aqms:
        try:
            own[aqm] = VERSIONS[row.versions](aqm)
        except LackingError as reason:
            left_out[aqm] = str(reason)
    return own, left_out


def _with_aqms(document: Mapping[str, Any], texts: Sequence[str]) -> dict[str, Any]:
    """The document with its swept queue managers replaced."""
    changed = deepcopy(dict(document))
    [paths] = [paths for paths in changed["sweep"] if "link.aqm" in split_paths(paths)]
    count = len(split_paths(paths))
    distinct = list(dict.fromkeys(texts))
    changed["sweep"][paths] = distinct if count == 1 else [[text] * count for text in distinct]
    return changed
