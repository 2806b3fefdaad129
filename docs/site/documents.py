"""Commands and programs in the documents, parsed and run for the tests and for the site.

A comment after commands, `<!-- ![caption](out/cdf.png) -->`, shows a figure drawn by them in the site.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"
FIGURE = re.compile(r"^<!-- !\[(?P<text>[^\]]+)\]\((?P<path>[^)\s]+)\) -->$", re.MULTILINE)
TIMEOUT_S = 120
# These set up the project or run its tests, which include the test of the documents.
NOT_RUN = ("make", "git ", "cd ", "uv ", "cargo ")
# Exit code 1 means a missed claim, comparison or goal; these have their own tests.
MAY_EXIT_1 = ("sojourn reproduce ", "sojourn aqm diff ", "python -m sojourn.labs ")


@dataclass
class Step:
    """A command or a program, with its output in the document."""

    program: list[str]
    text: str
    shown: list[str] = field(default_factory=list)

    def may_end_with(self, code: int) -> bool:
        """Whether the document expects an exit code."""
        return code == 0 or (code == 1 and self.text.startswith(MAY_EXIT_1))


@dataclass
class Section:
    """Steps under one heading, run in order in one folder, and paths of figures."""

    name: str
    steps: list[Step] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)


def documents() -> list[Path]:
    """Return every document of the project."""
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def sections(document: Path) -> Iterator[Section]:
    """Yield the sections of a document, including those without steps."""
    return sections_of(document.name, document.read_text(encoding="utf-8"))


def sections_of(name: str, text: str) -> Iterator[Section]:
    """Yield the sections of a text; `name` is for messages."""
    section, language, block = Section(name), "", []
    for line in text.splitlines():
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
            section = Section(f"{name}: {line.lstrip('# ')}")
        elif found := FIGURE.match(line):
            section.figures.append(found["path"])
    yield section


def console_steps(block: list[str]) -> list[Step]:
    """Return the commands of a block: `$ ` starts a command, `> ` continues it, other lines are output."""
    steps: list[Step] = []
    for line in block:
        if line.startswith("$ "):
            steps.append(Step(["bash", "-euo", "pipefail", "-c"], line[2:]))
        elif (line == ">" or line.startswith("> ")) and not steps[-1].shown:
            steps[-1].text += "\n" + line[2:]
        else:
            steps[-1].shown.append(line)
    return [step for step in steps if not step.text.startswith(NOT_RUN)]


def checkout(folder: Path) -> Path:
    """Prepare a folder in which the documents' relative paths work as in a checkout; output stays in it."""
    inside = folder / "checkout"
    inside.mkdir()
    for name in ("scenarios", "examples", "crates"):
        (inside / name).symlink_to(ROOT / name)
    (inside / ".venv").symlink_to(sys.prefix)
    if SHARED.is_dir():
        (folder / "shared").symlink_to(SHARED)
    return inside


def run(step: Step, folder: Path, *others: Path) -> subprocess.CompletedProcess[str]:
    """Run a step in a folder from `checkout`; programs in `others` precede those of the environment."""
    tools = os.pathsep.join(str(one) for one in (*others, Path(sys.executable).parent))
    return subprocess.run(
        [*step.program, step.text],
        cwd=folder,
        env=os.environ | {"PATH": f"{tools}:{os.environ['PATH']}", "COLUMNS": "120", "MPLBACKEND": "Agg"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
