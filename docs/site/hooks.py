"""What MkDocs calls while it builds the site."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from outside import DOCS, outside_pages, with_links


def on_config(config: MkDocsConfig) -> None:
    """Put the pages of folders where the navigation has NAME/*."""
    names = {path.relative_to(DOCS).as_posix() for path in DOCS.glob("**/*.md")} | {name for name, _ in outside_pages()}
    config.nav = expanded(config.nav, names)


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the pages that are not in docs."""
    for name, markdown in outside_pages():
        files.append(File.generated(config, name, content=markdown))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Make links that leave docs links of the site, or text."""
    return with_links(page.file.src_uri, markdown, set(files.src_uris))


def expanded(nav: Any, names: set[str]) -> Any:
    """Return the navigation with the pages of a folder in the place of NAME/*."""
    if isinstance(nav, dict):
        return {title: expanded(below, names) for title, below in nav.items()}
    if not isinstance(nav, list):
        return nav
    found = []
    for entry in nav:
        if isinstance(entry, str) and entry.endswith("/*"):
            inside = [name for name in names if PurePosixPath(name).parent.as_posix() == entry[:-2]]
            found += sorted(name for name in inside if name not in nav)
        else:
            found.append(expanded(entry, names))
    return found
