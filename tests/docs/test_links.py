"""Links between the documents lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def prose(document: Path) -> str:
    return FENCE.sub("", document.read_text(encoding="utf-8"))


def anchors(document: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", prose(document), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_to_files_and_headings(document: Path) -> None:
    for link in LINK.findall(prose(document)):
        if link.startswith(("https://", "http://")):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), f"{document.name}: {link}: no such file"
        assert target.is_relative_to(ROOT), f"{document.name}: {link} leaves the project"
        if anchor:
            assert anchor in anchors(target), f"{document.name}: {link}: no such heading"


@pytest.mark.parametrize(
    "document",
    [ROOT / "CONTRIBUTING.md", ROOT / "README.md", ROOT / "docs" / "python_aqm.md"],
    ids=lambda path: path.name,
)
def test_paths_named_in_the_text_exist(document: Path) -> None:
    named = re.findall(r"`((?:crates|python|tests|docs|scenarios|bench|examples)/[\w./-]+)`", prose(document))
    for path in {path for path in named if "NAME" not in path}:
        assert (ROOT / path).exists(), f"{document.name}: {path}"


def test_the_check_sees_documents_and_links() -> None:
    assert {"README.md", "CONTRIBUTING.md", "design.md", "scenario.md", "results.md"} <= {d.name for d in DOCUMENTS}
    assert sum(len(LINK.findall(prose(document))) for document in DOCUMENTS) >= 5
    assert anchors(ROOT / "docs" / "scenario.md") >= {"the-run", "probes", "link-and-reverse"}
