"""Writes a comparison as Flent data files."""

from __future__ import annotations

import re
from pathlib import Path

from sojourn.io.flent.export import export
from sojourn.io.flent.files import save_flent
from sojourn.model.analysis.labels import first_of_each
from sojourn.studies.comparison import Comparison


def save_comparison(found: Comparison, folder: Path) -> list[Path]:
    """Write a data file for each queue manager and load, of the first seed; Flent labels its curves with the names."""
    files = []
    for name, result in first_of_each(found.results, found.names).items():
        short = re.sub(r"[^\w.@-]+", "-", f"{found.test}-{name}").strip("-")
        data = export(result, test=found.test, title=str(name), batch={"name": str(found.test), "title": str(name)})
        files.append(save_flent(data, folder / f"{short}-{result.fingerprint[:8]}.flent.gz"))
    return files
