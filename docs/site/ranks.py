"""Ranks of pages in the site's search: pages for users come before those for maintainers.

The search plugin multiplies the weight of a page's words by `search.boost` of its front matter.
"""

from __future__ import annotations

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

# The first prefix of a page's path decides; other pages have 1.
BOOSTS = {
    "faq.md": 1.6,
    "install.md": 1.5,
    "cite.md": 2,
    "cluster.md": 1.5,
    "studies.md": 1.5,
    "trust.md": 1.5,
    "start/": 1.2,
    "concepts/": 2,
    "tutorials/": 1.2,
    "aqm/codel.md": 4,  # before codel_dt and cake_mq
    "aqm/cake.md": 2,
    "decisions/": 0.002,  # a word in a title weighs a thousand times as much as in the text
    "architecture.md": 0.1,
    "extending.md": 0.2,
    "CONTRIBUTING.md": 0.2,
    "CHANGELOG.md": 0.05,
    "validation": 0.1,
    "reproduction.md": 0.2,
    "searches.md": 0.1,
    "cost.md": 0.3,
    "kernel/": 0.2,
    "score/": 0.2,
    "emulator/measured.md": 0.3,
}


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Give the page its boost, unless its front matter has one."""
    boost = next((boost for prefix, boost in BOOSTS.items() if page.file.src_uri.startswith(prefix)), 1)
    page.meta["search"] = {"boost": boost, **page.meta.get("search", {})}
    return markdown
