"""Files of a scorecard beside its runs: page, document, lock, badges, studies, figures, Flent data files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import tomlkit

from sojourn.base.files import write_if_changed
from sojourn.figures.canvas import save
from sojourn.io.flent.export import export
from sojourn.io.flent.files import save_flent
from sojourn.studies.score.badge import badge
from sojourn.studies.score.card import Scorecard
from sojourn.studies.score.lock import lock_of
from sojourn.studies.score.page import page
from sojourn.studies.score.pictures import pictures
from sojourn.studies.score.runs import RowResult, by_aqm

PAGE, DOCUMENT, LOCK, STUDIES = "scorecard.html", "scorecard.json", "score.lock", "studies"
FIGURES, FLENT = "figures", "flent"


def write(card: Scorecard, folder: Path) -> list[Path]:
    """Write everything; files with unchanged content are left alone."""
    figures = {
        name: save(figure, folder / FIGURES / f"{_file_name(name)}.svg")
        for name, figure in pictures(card.done, card.names).items()
    }
    texts = {f"{STUDIES}/{one.plan.row_id}.toml": study_text(one) for one in card.done if one.results}
    texts |= {
        DOCUMENT: _json(card.document),
        LOCK: _json(lock_of(card)),
        PAGE: page(card, figures),
    }
    totals = card.document["totals"]
    for aqm, total in totals.items():
        texts[f"badge-{_file_name(aqm)}.svg"] = badge(aqm, card.wanted.profile.name, total["overall"]) + "\n"
    return [
        *(_write(folder / name, text) for name, text in texts.items()),
        *figures.values(),
        *(path for one in card.done for path in _recordings(one, card, folder / FLENT)),
    ]


def _recordings(one: RowResult, card: Scorecard, folder: Path) -> Iterator[Path]:
    """Flent data files of a row that samples its flows: the first seed's run of each queue manager."""
    if not one.results or "flows" not in one.plan.document.get("probes", {}):
        return
    batch = {"name": one.plan.row_id, "title": one.plan.row.title}
    for aqm, (first, *_) in by_aqm(one).items():
        if first.totals["flows"]:  # an emulated run has no data about its programs
            name = _file_name(f"{one.plan.row_id}-{card.names[aqm]}")
            yield save_flent(export(first, title=card.names[aqm], batch=batch), folder / f"{name}.flent.gz")


def study_text(one: RowResult) -> str:
    """Study of a row as it was run: a file for `sojourn sweep`."""
    about = one.plan.row
    document = tomlkit.document()
    document.add(tomlkit.comment(f"{one.plan.row_id}: {about.title} ({about.section}), as `sojourn score` ran it."))
    table = json.loads(json.dumps(one.plan.document))
    table["sweep"]["seeds"] = list(one.seeds)
    for key, value in table.items():
        document.add(key, tomlkit.item(value))
    return tomlkit.dumps(document)


def _file_name(text: str) -> str:
    return re.sub(r"[^\w.-]+", "-", text).strip("-")


def _json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def _write(path: Path, text: str) -> Path:
    return write_if_changed(path, lambda file: file.write(text.encode()))
