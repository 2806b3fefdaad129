"""Words and constructions that readers of the field stumble over, in comments, docstrings and documents.

    python tests/structure/language.py [PATH …]

prints each place, and marks per 1,000 words of each path. The list names places to look at: a quarter of its hits read
well. docs/naming.md and CONTRIBUTING.md say how code and words look here.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

PATTERNS = {
    "opens with a pronoun": r"(?:^|[.:;] )(?:What|Whatever|Who|Whoever|That of|Those of|One that|So many)\b(?![^.]*\?)",
    "told, tells": r"\bt(?:old|ells?)\b(?! apart)",
    "of which": r"\b(?:of|in|by|to|from|at|under|on|with|for) which\b|\bwhom\b",
    "where for if or when": r"\b[Ww]here (?:there|it|they|an?|the|nothing|no|that|one|some)\b",
    "at the most": r"\bat the (?:most|least)\b",
    "heard": r"\bhears?\b|\bheard\b",
    "stands": r"\bstands?\b|\bstood\b",
    "anew": r"\banew\b|\bbut for\b",
    "nobody": r"\b(?:no|some)body\b|\bwhoever\b",
    "household verbs": r"\bthrough with\b|\bl(?:ent|ends?)\b|\bmend(?:s|ed|ing)?\b|\btakes? (?:it )?for\b",
}
COMPILED = {name: re.compile(pattern) for name, pattern in PATTERNS.items()}
CODE = (".rs", ".ts", ".c", ".h")
SUFFIXES = (*CODE, ".py", ".md")
GENERATED = ("CHANGELOG.md",)


class Mark(NamedTuple):
    """A place with one of the patterns."""

    file: str
    line: int
    pattern: str
    text: str


def prose_of(suffix: str, text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that are prose, with their numbers: comments, docstrings, paragraphs, list items."""
    inside = False
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if suffix == ".md":
            inside ^= stripped.startswith("```")
            if not inside and not stripped.startswith(("|", "```")):
                yield number, line
        elif suffix == ".py":
            quotes = stripped.count('"""')
            if inside or quotes:
                yield number, stripped.replace('"""', "")
                inside ^= quotes % 2 == 1
            elif "# " in stripped:
                yield number, stripped.split("# ", 1)[1]
        elif stripped.startswith(("//", "*", "/*")):
            yield number, stripped.lstrip("/*! ")
        elif " // " in stripped:
            yield number, stripped.split(" // ", 1)[1]


def marks_of(file: str, text: str) -> tuple[int, list[Mark]]:
    """Return the number of words of prose in a file, and its marks."""
    words, found = 0, []
    for number, line in prose_of(Path(file).suffix, text):
        words += len(line.split())
        found += [Mark(file, number, name, line.strip()) for name, one in COMPILED.items() for _ in one.findall(line)]
    return words, found


def files_of(root: Path, paths: Sequence[str] = ()) -> list[str]:
    """Return the files below `paths` that git knows and that have prose; all of `root` without paths."""
    listed = subprocess.run(["git", "ls-files", "--", *paths], cwd=root, text=True, capture_output=True, check=True)
    return [name for name in listed.stdout.split("\n") if name.endswith(SUFFIXES) and name not in GENERATED]


def rate_of(root: Path, path: str) -> tuple[float, list[Mark]]:
    """Return marks per 1,000 words below `path`, and the marks."""
    words, found = 0, []
    for name in files_of(root, [path]):
        count, marks = marks_of(name, (root / name).read_text(encoding="utf-8"))
        words += count
        found += marks
    return 1000 * len(found) / max(words, 1), found


def main() -> None:
    """Print the marks below the paths given, and their rates."""
    for path in sys.argv[1:] or ["."]:
        rate, found = rate_of(Path.cwd(), path)
        for mark in found:
            print(f"{mark.file}:{mark.line}: {mark.pattern}: {mark.text}")
        print(f"{path}: {rate:.2f} marks per 1,000 words")


if __name__ == "__main__":
    main()
