"""Files beside docs that the site has pages for, and links that lead out of docs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from posixpath import normpath, relpath

from documents import ROOT

DOCS = ROOT / "docs"
# As they are; of a scenario the page shows the text.
PAGES = ("CHANGELOG.md", "CONTRIBUTING.md")
SHOWN = ("scenarios/*.toml", "scenarios/score/*.toml")
# What is between backticks or in a fence is no link.
PIECE = re.compile(r"^```.*?^```$|(`+)(?!`).*?(?<!`)\1(?!`)|\[(?P<text>[^\]]*)\]\((?P<link>[^)\s]+)\)", re.S | re.M)


def outside_pages() -> Iterator[tuple[str, str]]:
    """Yield the pages that are not in docs: where they lie in the site, and their Markdown."""
    for name in PAGES:
        yield name, (ROOT / name).read_text(encoding="utf-8")
    for path in sorted(path for pattern in SHOWN for path in ROOT.glob(pattern)):
        name = path.relative_to(ROOT).as_posix()
        text = path.read_text(encoding="utf-8")
        # Found by its page's title only: the keys are found in the pages that explain them.
        yield f"{name}.md", f"---\nsearch: {{boost: 0.1}}\n---\n# {name}\n\n```toml\n{text.rstrip()}\n```\n"


def with_links(page: str, markdown: str, known: set[str]) -> str:
    """Return a page's text with links to pages of the site; of a link to a file without one the text remains.

    `known` has the names of all pages and files of the site.
    """
    folder = (DOCS / page if (DOCS / page).exists() else ROOT / page).parent

    def replaced(found: re.Match[str]) -> str:
        link = found["link"]
        if not link or re.match(r"https?:|#", link):
            return found[0]
        path, _, anchor = link.partition("#")
        target = Path(normpath(folder / path))  # not resolved: scenarios is a symbolic link
        if not target.exists():
            return found[0]  # for MkDocs to complain of
        name = site_name(target)
        if name in known:
            return f"[{found['text']}]({relpath(name, Path(page).parent.as_posix())}{'#' * bool(anchor)}{anchor})"
        return f'<span class="source" title="{target.relative_to(ROOT).as_posix()}">{found["text"]}</span>'

    return PIECE.sub(replaced, markdown)


def site_name(target: Path) -> str:
    """Return what the site calls a file of the project; a folder is its README."""
    name = target.relative_to(DOCS if target.is_relative_to(DOCS) else ROOT).as_posix()
    if target.suffix == ".toml":
        return f"{name}.md"
    return f"{name}/README.md" if target.is_dir() else name
