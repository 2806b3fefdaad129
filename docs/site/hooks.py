"""Hooks of MkDocs for the site."""

from __future__ import annotations

import os
import re
from pathlib import PurePosixPath
from posixpath import relpath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from documents import FIGURE, sections_of
from figures import drawn, forget, key
from outside import DOCS, outside_pages, with_links
from reference import reference_pages
from reports import PAGE, report_files, report_page
from tables import with_tables

# Omit figures that are not cached, and run no commands.
STORED_ONLY = os.environ.get("SITE_FIGURES") == "stored"
KEYS: set[str] = set()


def on_config(config: MkDocsConfig) -> None:
    """Expand NAME/* in the navigation to the pages of a folder."""
    names = {path.relative_to(DOCS).as_posix() for path in DOCS.glob("**/*.md")}
    names |= {name for name, _ in (*outside_pages(), *reference_pages())} | {PAGE}
    config.nav = expanded(config.nav, names)


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add pages from outside docs."""
    for name, markdown in (*outside_pages(), *reference_pages()):
        files.append(File.generated(config, name, content=markdown))
    files.append(File.generated(config, PAGE, content=report_page()))
    for name, path in report_files():
        files.append(File.generated(config, name, abs_src_path=str(path)))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Insert the figures; turn links out of docs into links of the site, or into text."""
    name = page.file.src_uri
    with_own_links = with_links(name, markdown, set(files.src_uris))
    with_data = with_tables(name, with_own_links, {uri: file.dest_uri for uri, file in files.src_uris.items()})
    figures: dict[str, str] = {}
    for section in sections_of(name, markdown):
        if section.figures:
            KEYS.add(key(section))
            try:
                found = drawn(section, STORED_ONLY)
            except ValueError as error:
                raise PluginError(str(error)) from None
            for path, file in found.items():
                where = f"figures/{file.parent.name}-{file.name}"
                files.append(File.generated(config, where, abs_src_path=str(file)))
                figures[path] = relpath(where, PurePosixPath(name).parent.as_posix())
    return FIGURE.sub(lambda found: shown(found, figures), with_data)


def on_post_build(config: MkDocsConfig) -> None:
    """Remove unused figures from the cache."""
    if not STORED_ONLY:
        forget(KEYS)


def shown(found: re.Match[str], figures: dict[str, str]) -> str:
    """Return the Markdown of a figure."""
    if found["path"] not in figures:
        return f"*{found['text']}* (not drawn yet: `make site`)"
    return f"![{found['text']}]({figures[found['path']]})"


def expanded(nav: Any, names: set[str]) -> Any:
    """Return the navigation with NAME/* expanded."""
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
