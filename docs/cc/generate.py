"""Writes the page of every congestion control from the registry and the doc comments of its source.

`python docs/cc/generate.py` writes the pages beside this file; a test compares them with its output.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sojourn.base.markdown import doc_comment, module_source, parameter_table, table
from sojourn.model.aqms.controls import constant_text, stacks_text
from sojourn.model.aqms.registry import registry

HERE = Path(__file__).parent
SOURCES = HERE.parents[1] / "crates" / "tcp" / "src" / "cc"
MODULE = re.compile(
    r'^    "(?P<name>[^"]+)"(?: \| "[^"]+")? => (?:\[Box\] )?(?P<module>\w+)::(?P<type>\w+),', re.MULTILINE
)


def pages() -> dict[str, str]:
    """Return all pages by file name."""
    entries = registry()["ccs"]
    return {"README.md": _index(entries)} | {f"{entry['name']}.md": _page(entry) for entry in entries}


def _index(entries: list[dict[str, Any]]) -> str:
    rows = [
        [f"[`{entry['name']}`]({entry['name']}.md)", entry["summary"], f"{entry['state_bytes']} bytes"]
        for entry in entries
    ]
    return "\n".join(
        [
            "# Congestion controls",
            "",
            "One page each, written by `docs/cc/generate.py` from the registry and the source. "
            "`sojourn cc list` and `sojourn cc show NAME` print the same.",
            "",
            *table(["name", "what it does", "state"], rows),
            "",
        ]
    )


def _page(entry: dict[str, Any]) -> str:
    name = entry["name"]
    source, kind = _source(name)
    text, use = doc_comment(name, source)
    lines = [f"# `{name}`", "", *text, "", "## When to use it", "", *use, ""]
    lines += ["## How to write it", "", "```toml", "[[flows]]", 'kind = "tcp"', f'cc = "{name}"', "```", ""]
    lines += [f"{stacks_text(entry)}", "", "## Parameters", "", *parameter_table(entry["params"])]
    lines += ["", "## Constants", ""]
    constants = [[f"`{c['name']}`", constant_text(c), c["meaning"]] for c in entry["constants"]]
    lines += table(["constant", "value", "meaning"], constants) if constants else ["None of its own."]
    lines += ["", "## State", "", f"{entry['state_bytes']} bytes per connection beside the window.", ""]
    fields = _fields(source, kind)
    lines += [*table(["variable", "meaning"], fields), ""] if fields else []
    lines += ["## Sources", "", f"{entry['source']}.", ""]
    return "\n".join(lines)


def _source(name: str) -> tuple[str, str]:
    """Return the source of a control, and the name of its type."""
    registered = {match["name"]: match for match in MODULE.finditer((SOURCES / "mod.rs").read_text(encoding="utf-8"))}
    module, kind = registered[name]["module"], registered[name]["type"]
    return module_source(SOURCES, module), kind


def _fields(source: str, kind: str) -> list[list[str]]:
    """Return the documented fields of a control's type; fields without a comment are not state of the algorithm."""
    found = re.search(rf"^pub struct {kind} {{\n(?P<body>.*?)^}}", source, re.MULTILINE | re.DOTALL)
    rows, comment = [], []
    for line in found["body"].splitlines() if found else []:
        text = line.strip()
        if text.startswith("///"):
            comment.append(text.removeprefix("///").strip())
        else:
            if comment:
                rows.append([f"`{text.removeprefix('pub ').split(':')[0]}`", " ".join(comment)])
            comment = []
    return rows


if __name__ == "__main__":
    for page, text in pages().items():
        (HERE / page).write_text(text, encoding="utf-8")
