"""Parts of Markdown pages that commands write, between `<!-- KIND: NAME -->` and `<!-- end -->`."""

from __future__ import annotations

import re
from collections.abc import Sequence


def replaced(page: str, kind: str, name: str, lines: Sequence[str]) -> str:
    """Return the page with other lines in one of its parts, which has to be there."""
    found = _find(page, kind, name)
    inside = "\n".join(lines)
    return f"{page[: found.start(1)]}\n\n{inside}\n\n{page[found.end(1) :]}"


def part(page: str, kind: str, name: str) -> str:
    """Return what stands in a part."""
    return _find(page, kind, name)[1].strip()


def _find(page: str, kind: str, name: str) -> re.Match[str]:
    found = re.search(rf"<!-- {re.escape(kind)}: {re.escape(name)} -->(.*?)<!-- end -->", page, re.DOTALL)
    assert found, f"the page has no part {kind}: {name}"
    return found
