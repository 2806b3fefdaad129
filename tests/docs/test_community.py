"""Files for citation, reports and contributions are true for this version."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_citation_names_this_version_and_licence() -> None:
    text = (ROOT / "CITATION.cff").read_text()
    done = subprocess.run([sys.executable, "-m", "sojourn", "--version"], capture_output=True, text=True, check=True)
    version = re.search(r"^version: (\S+)$", text, re.MULTILINE)
    assert version and done.stdout.split() == ["sojourn", version[1]]
    licences = re.findall(r"^  - (MIT|Apache-2\.0)$", text, re.MULTILINE)
    assert all((ROOT / f"LICENSE-{one.split('-')[0].upper()}").exists() for one in licences)
    assert len(licences) == 2


def test_reports_ask_for_commands_that_there_are() -> None:
    forms = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
    assert [form.stem for form in forms] == ["bug", "idea", "wrong-result"]
    yaml = pytest.importorskip("yaml")
    for form in forms:
        document = yaml.safe_load(form.read_text())
        assert {"name", "description", "body"} <= set(document)
        ids = [part["id"] for part in document["body"]]
        assert len(set(ids)) == len(ids)


def test_each_promise_about_security_names_tests_that_there_are() -> None:
    text = (ROOT / "SECURITY.md").read_text()
    tests = "".join(path.read_text() for path in sorted((ROOT / "tests").rglob("test_*.py")))
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 12
    for promise, named in rows:
        names = re.findall(r"`(\w+)`", named)
        assert names, promise
        assert [name for name in names if not re.search(rf"^def {name}\(", tests, re.MULTILINE)] == [], promise
