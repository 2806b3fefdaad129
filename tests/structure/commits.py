"""Subjects of commits: `area: verb object`, at most 72 characters, without measurements. `make commits` runs this.

Commits after `FIRST` are judged. A shallow clone that lacks `FIRST` is judged from its date on.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

FIRST = "0146fe23"
FIRST_DATE = "2026-11-27T22:07:39+00:00"
LONGEST = 72
SHAPE = re.compile(r"^[a-z][a-z0-9_.@-]*(?:, [a-z][a-z0-9_.@-]*)*: [a-z]\S*(?: \S+)+$|^Revert \"|^Merge ")
NOT_IMPERATIVE = re.compile(r": (?!embed|feed|need|seed|speed|bring|string|ring)[a-z]+(?:ed|ing)\b")
NAMED_NUMBER = r"(?:RFC|IEEE|Linux|BBR|draft|figure|table|section|version|Python|Rust|Debian|IPv|HTTP|page) "
MEASUREMENT = re.compile(r"(?<![\w.@-])\d[\d,.]*(?![\w@-])")


def faults_of(subject: str) -> Iterator[str]:
    """Yield what is wrong with a subject."""
    if len(subject) > LONGEST:
        yield f"{len(subject)} characters, at most {LONGEST}"
    if not SHAPE.match(subject):
        yield "not of the form `area: verb object`"
    if NOT_IMPERATIVE.search(subject):
        yield "the verb is not in the imperative"
    if MEASUREMENT.search(re.sub(rf"{NAMED_NUMBER}[\d.]+", "", subject)):
        yield "a number; measurements belong in the body"


def subjects(root: Path) -> list[tuple[str, str]]:
    """Return hash and subject of each commit to judge; none outside a repository."""

    def git(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["git", *words], cwd=root, text=True, capture_output=True, check=False)

    known = git("merge-base", "--is-ancestor", FIRST, "HEAD").returncode == 0
    scope = [f"{FIRST}..HEAD"] if known else [f"--since={FIRST_DATE}", "HEAD"]
    lines = git("log", "--no-merges", "--format=%h %s", *scope).stdout.splitlines()
    return [(commit, subject) for commit, _, subject in (line.partition(" ") for line in lines)]


def main() -> None:
    """Print each subject that breaks a rule; exit with 1 if there is one."""
    found = [
        (commit, subject, "; ".join(faults))
        for commit, subject in subjects(Path.cwd())
        if (faults := list(faults_of(subject)))
    ]
    for commit, subject, faults in found:
        print(f"{commit} {subject}\n    {faults}", file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
