"""Links between the documents have existing targets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from documents import FIGURE, ROOT, documents

DOCUMENTS = documents()
DECISIONS = sorted(path for path in (ROOT / "docs" / "decisions").glob("*.md") if path.name != "README.md")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)(?: \"[^\"]*\")?\)")
DEFINITION = re.compile(r"^\[[^\]]+\]: (\S+)$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def prose(document: Path) -> str:
    return FENCE.sub("", document.read_text(encoding="utf-8"))


def name(document: Path) -> str:
    return str(document.relative_to(ROOT))


def links(document: Path) -> list[str]:
    """Targets of links and pictures, without text in backticks and figures that commands draw."""
    text = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "code", FIGURE.sub("", prose(document)))
    return LINK.findall(text) + DEFINITION.findall(text)


def anchors(document: Path) -> set[str]:
    """Anchors of headings; repeated headings have the suffixes -1, -2, …"""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", prose(document), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", plain.lower()).strip().replace(" ", "-")
        again = (f"{anchor}-{number}" for number in range(1, 100))
        found.add(anchor if anchor not in found else next(one for one in again if one not in found))
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_links_lead_to_files_and_headings(document: Path) -> None:
    for link in links(document):
        if link.startswith(("https://", "http://")):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), f"{name(document)}: {link}: no such file"
        assert target.is_relative_to(ROOT), f"{name(document)}: {link} leaves the project"
        if anchor:
            assert anchor in anchors(target), f"{name(document)}: {link}: no such heading"


@pytest.mark.parametrize(
    "document",
    [
        ROOT / "CONTRIBUTING.md",
        ROOT / "README.md",
        ROOT / "docs" / "architecture.md",
        ROOT / "docs" / "extending.md",
        ROOT / "docs" / "python_aqm.md",
        *DECISIONS,
    ],
    ids=name,
)
def test_paths_named_in_the_text_exist(document: Path) -> None:
    named = re.findall(r"`((?:crates|python|tests|docs|scenarios|bench|examples)/[\w./-]+)`", prose(document))
    for path in {path for path in named if "NAME" not in path}:
        assert (ROOT / path).exists(), f"{name(document)}: {path}"


def test_decisions_have_titles_and_dates_and_are_indexed() -> None:
    index = (ROOT / "docs" / "decisions" / "README.md").read_text(encoding="utf-8")
    seen: dict[str, str] = {}
    for document in DECISIONS:
        _, *records = re.split(r"^## ", document.read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert f"| [{document.name}]({document.name}) |" in index, f"{document.name} is not in the index"
        for record in records:
            title, date, text = (part.strip() for part in record.split("\n\n", 2))
            assert re.fullmatch(r"\*20\d\d-\d\d-\d\d\*", date), f"{document.name}: {title}: {date!r} is no date"
            assert text, f"{document.name}: {title}: says nothing"
            assert title not in seen, f"{document.name}: {title}: also in {seen[title]}"
            seen[title] = document.name
    assert len(seen) >= 100


def test_the_check_sees_documents_and_links() -> None:
    assert {"README.md", "CONTRIBUTING.md", "extending.md", "scenario.md", "results.md"} <= {d.name for d in DOCUMENTS}
    assert {"CHANGELOG.md", "architecture.md", "queues.md"} <= {document.name for document in DOCUMENTS}
    assert sum(len(links(document)) for document in DOCUMENTS) >= 200
    assert anchors(ROOT / "docs" / "scenario" / "link.md") >= {"link-and-reverse", "links"}


def test_names_of_concepts_exist_in_the_crates() -> None:
    text = (ROOT / "docs" / "naming.md").read_text(encoding="utf-8")
    cells = [line.split(" | ")[1] for line in text.splitlines() if line.startswith("| ")]
    names = {name.split("::")[-1] for cell in cells for name in re.findall(r"`([A-Za-z_:]{3,})`", cell)}
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "crates").rglob("*.rs"))
    known = {word for source in sources for word in re.findall(r"\w+", source)}
    assert len(names) > 80
    assert not {name for name in names if name not in known and not name.startswith("sojourn_")}
