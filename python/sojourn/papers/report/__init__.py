"""Output of a reproduction beside its runs: figures, verdicts as data, and a page with everything."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from sojourn.base.files import write_file
from sojourn.engines import SIMULATE
from sojourn.figures.canvas import save
from sojourn.papers.report.page import page
from sojourn.papers.reproduction import Reproduction
from sojourn.papers.setup import Assumed, spelled
from sojourn.papers.vary import Variation

PAGE = "index.html"


def folder_of(root: Path, paper_id: str, assumed: Assumed, done: Reproduction | None = None) -> Path:
    """Folder of a reproduction; other assumptions, other engines and short studies have folders of their own."""
    names = [done.engine] if done and done.engine != SIMULATE else []
    names += ["short"] if done and done.short else []
    names += [re.sub(r"[^\w.-]+", "-", f"{name}-{spelled(value)}") for name, value in sorted(assumed.items())]
    return root / paper_id / "+".join(names) if names else root / paper_id


def write_figure(done: Reproduction, folder: Path, also: str | None = None) -> list[Path]:
    """Write a figure as raster and vector, optionally in a third format, with all runs and verdicts as data."""
    stem = folder / done.figure_id
    drawn = done.paper.figure(done.figure_id).draw(done.study, done.verdicts)
    formats = dict.fromkeys(filter(None, ("png", "svg", also)))
    paths = [save(drawn, stem.with_suffix(f".{suffix}")) for suffix in formats]
    text = json.dumps(done.verdicts, indent=1, ensure_ascii=False) + "\n"
    runs = done.study.runs
    paths.append(write_file(stem.with_suffix(".claims.json"), lambda file: file.write(text.encode())))
    paths.append(write_file(stem.with_suffix(".parquet"), lambda file: runs.write_parquet(file)))
    return paths


def write_page(
    done: Sequence[Reproduction],
    folder: Path,
    *,
    varied: Sequence[Variation] = (),
    command: Sequence[str] = (),
    left_out: Mapping[str, str] | None = None,
) -> Path:
    """Write a page about figures of one paper, whose files `write_figure` has written to `folder`.

    `left_out` has the figures that the engine cannot make, with reasons.
    """
    text = page(done, folder, varied=varied, command=command, left_out=left_out or {})
    return write_file(folder / PAGE, lambda file: file.write(text.encode()))
