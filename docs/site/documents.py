"""The commands and programs that the documents show: one reader for the tests that run them and for the site."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
# These set the project up or run its tests, which contain the test that runs the documents.
NOT_RUN = ("make", "git ", "cd ", "uv ", "cargo ")


@dataclass
class Step:
    """A command or a program, and the lines of its output that the document shows."""

    program: list[str]
    text: str
    shown: list[str] = field(default_factory=list)


@dataclass
class Section:
    """The steps under one heading; they follow each other in one folder."""

    name: str
    steps: list[Step] = field(default_factory=list)


def documents() -> list[Path]:
    """Return every document of the project."""
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def sections(document: Path) -> Iterator[Section]:
    """Yield what is under each heading; sections without steps too."""
    section, language, block = Section(document.name), "", []
    for line in document.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            if language == "console":
                section.steps += console_steps(block)
            elif language == "python":
                section.steps.append(Step([sys.executable, "-c"], "\n".join(block)))
            language, block = ("" if language else line[3:].strip() or "text"), []
        elif language:
            block.append(line)
        elif line.startswith("#"):
            yield section
            section = Section(f"{document.name}: {line.lstrip('# ')}")
    yield section


def console_steps(block: list[str]) -> list[Step]:
    """Return the commands of a block: `$ ` begins one, `> ` goes on, other lines are output."""
    steps: list[Step] = []
    for line in block:
        if line.startswith("$ "):
            steps.append(Step(["bash", "-euo", "pipefail", "-c"], line[2:]))
        elif line.startswith("> ") and not steps[-1].shown:
            steps[-1].text += "\n" + line[2:]
        else:
            steps[-1].shown.append(line)
    return [step for step in steps if not step.text.startswith(NOT_RUN)]
