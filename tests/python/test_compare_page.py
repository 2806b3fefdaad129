"""`sojourn compare --html`: tables, figure and an embedded run, in one page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, printed_json
from sojourn.apps.lab import static
from sojourn.model.analysis.metrics import BY_COLUMN

COMPARE = ["compare", "--aqm", "codel,pie target 7ms", "--rate", "7300 kbit/s", "--flows", "2", "--duration", "4s"]


def compared(cli: Cli, folder: Path, *more: str) -> tuple[str, dict[str, Any]]:
    page = folder / "page.html"
    document = printed_json(cli(*COMPARE, *more, "-o", folder, "--html", page, "--json"))
    assert document["page"] == str(page)
    return page.read_text(encoding="utf-8"), document


def test_the_page_has_the_printed_output(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static, "is_built", lambda: False)
    text, document = compared(cli, tmp_path, "--seeds", "2", "--plot", str(tmp_path / "figure.pdf"))
    for run in document["runs"]:
        assert run["summary"]["fingerprint"] in text
    mean = BY_COLUMN["sojourn_mean_ms"]
    for row in document["table"]:
        assert mean.show(row["sojourn_mean_ms"], row["sojourn_mean_ms_ci95"]) in text
    assert "Difference to codel" in text and "marks" not in text, "nobody uses ECN"
    # The page embeds its own picture; nothing is loaded from elsewhere.
    assert text.count("data:image/png;base64,") == 1
    assert not re.search(r"""(src|href)=["'](?!data:|#)""", text) and "<script" not in text


def test_the_first_run_can_be_looked_into_where_the_lab_is_built(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(static, "is_built", lambda: True)
    monkeypatch.setattr(static, "read", lambda name: f"text of {name}".encode())
    text, document = compared(cli, tmp_path)
    assert "Difference to" not in text, "one seed"
    start = json.loads(re.search(r"Object\.entries\((.*)\)\) \{", text)[1])["lab"]  # type: ignore[index]
    assert start["seed"] == 1 and '"7.3 Mbit/s"' in start["text"] and "codel" in start["text"]
    assert len(document["runs"]) == 2


def test_a_page_that_cannot_be_written_is_refused_before_there_is_work(cli: Cli, tmp_path: Path) -> None:
    page = tmp_path / "no" / "such" / "folder.html"
    done = cli(*COMPARE, "-o", tmp_path, "--html", page)
    assert done.exit_code != 0 and "no such folder" in done.output
    assert not any(tmp_path.iterdir())
