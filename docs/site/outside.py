"""Pages of the site for files outside docs, and links out of docs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from posixpath import normpath, relpath

from documents import ROOT

DOCS = ROOT / "docs"
# Copied unchanged; the page of a scenario shows its text.
PAGES = ("CHANGELOG.md", "CONTRIBUTING.md")
SHOWN = ("scenarios/*.toml", "scenarios/score/*.toml")
# Text in backticks or fences is not a link.
PIECE = re.compile(r"^```.*?^```$|(`+)(?!`).*?(?<!`)\1(?!`)|\[(?P<text>[^\]]*)\]\((?P<link>[^)\s]+)\)", re.S | re.M)


def outside_pages() -> Iterator[tuple[str, str]]:
    """Yield path in the site and Markdown of the pages outside docs."""
    for name in PAGES:
        yield name, (ROOT / name).read_text(encoding="utf-8")
    for path in sorted(path for pattern in SHOWN for path in ROOT.glob(pattern)):
        name = path.relative_to(ROOT).as_posix()
        text = path.read_text(encoding="utf-8")
        # Low rank in the search: the keys are explained in other pages.
        yield f"{name}.md", f"---\nsearch: {{boost: 0.1}}\n---\n# {name}\n\n```toml\n{text.rstrip()}\n```\n"


def with_links(page: str, markdown: str, known: set[str]) -> str:
    """Return a page's text with links to pages of the site; a link to a file without a page becomes plain text.

    `known` has all pages and files of the site.
    """
    folder = (DOCS / page if (DOCS / page).exists() else ROOT / page).parent

    def replaced(found: re.Match[str]) -> str:
        link = found["link"]
        if not link or re.match(r"https?:|#", link):
            return found[0]
        path, _, anchor = link.partition("#")
        target = Path(normpath(folder / path))  # not resolved: scenarios is a symbolic link
        if not target.exists():
            return found[0]  # MkDocs reports it
        name = site_name(target)
        if name in known:
            return f"[{found['text']}]({relpath(name, Path(page).parent.as_posix())}{'#' * bool(anchor)}{anchor})"
        return f'<span class="source" title="{target.relative_to(ROOT).as_posix()}">{found["text"]}</span>'

    return PIECE.sub(replaced, markdown)


def site_name(target: Path) -> str:
    """Return the path in the site of a file of the project; of a folder, that of its README."""
    name = target.relative_to(DOCS if target.is_relative_to(DOCS) else ROOT).as_posix()
    if target.suffix == ".toml":
        return f"{name}.md"
    return f"{name}/README.md" if target.is_dir() else name
