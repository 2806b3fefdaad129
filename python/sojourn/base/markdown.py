"""Generated Markdown: tables, prose from doc comments, and parts of handwritten pages.

A part is the text between `<!-- KIND: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table; vertical bars in cells are escaped."""
    lines = [headings, ["---"] * len(headings), *rows]
    return [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines]


def parameter_table(params: Sequence[Mapping[str, Any]]) -> list[str]:
    """Table of parameters of the registry: name, meaning, default and range."""
    rows = [[f"`{p['name']}`", p["doc"], f"{p['default']}", _range(p)] for p in params]
    return table(["parameter", "meaning", "default", "range"], rows) if rows else ["None."]


def _range(param: Mapping[str, Any]) -> str:
    if param["choices"]:
        return ", ".join(f"`{word}`" for word in param["choices"])
    if param["kind"] == "flag":
        return "on or off"
    return f"{param['min']} to {param['max']}"


def module_source(folder: Path, name: str) -> str:
    """Source of a Rust module, `NAME.rs` or `NAME/mod.rs`."""
    files = [folder / f"{name}.rs", folder / name / "mod.rs"]
    return next(file for file in files if file.exists()).read_text(encoding="utf-8")


def doc_comment(name: str, source: str) -> tuple[list[str], list[str]]:
    """Split the `//!` comment of a Rust file into the paragraphs before and after `# When to use`."""
    comment = [line.removeprefix("//!").strip() for line in source.splitlines() if line.startswith("//!")]
    text, _, use = "\n".join(comment).partition("# When to use\n")
    if not use.strip():
        raise SystemExit(f"{name}: the source lacks a section `# When to use`")
    return _prose(text), _prose(use)


def _prose(text: str) -> list[str]:
    """Paragraphs of a comment, each on one line; links to modules become links to pages."""
    text = re.sub(r"\[([^\]]+)\]\(crate::(\w+)\)", r"[\1](\2.md)", text)
    text = re.sub(r"\[(`[^`\]]+`)\](?!\()", r"\1", text)
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n")]
    return [line for paragraph in paragraphs for line in (paragraph, "")][:-1]


def replace_part(page: str, kind: str, name: str, lines: Sequence[str]) -> str:
    """Replace the lines of one part of a page, which must exist."""
    found = _find(page, kind, name)
    inside = "\n".join(lines)
    return f"{page[: found.start(1)]}\n\n{inside}\n\n{page[found.end(1) :]}"


def part_names(page: str, kind: str) -> list[str]:
    """Names of the parts of a kind, in order."""
    return re.findall(rf"^<!-- {re.escape(kind)}: ([^>]+?) -->$", page, re.MULTILINE)


def read_part(page: str, kind: str, name: str) -> str:
    """Text of a part."""
    return _find(page, kind, name)[1].strip()


def _find(page: str, kind: str, name: str) -> re.Match[str]:
    found = re.search(rf"<!-- {re.escape(kind)}: {re.escape(name)} -->(.*?)<!-- end -->", page, re.DOTALL)
    assert found, f"the page has no part {kind}: {name}"
    return found
