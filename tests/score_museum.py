"""Rows of the scorecard that detect a bug: mutants of the bug museum as shared libraries, compared with the original.

`make museum-score` builds `libsojourn_aqm.so` with one mutant of crates/aqm/tests/museum after the other (in a copy of
the crates), scores it with the unchanged queue manager as the baseline, and writes docs/data/museum.csv.
"""

from __future__ import annotations

import argparse
import ast
import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).parents[1]
FILE = REPO / "docs" / "data" / "museum.csv"
COLUMNS = ("mutant", "queue_manager", "rows_with_another_grade", "rows_with_a_significant_difference")
OF = {
    "codel-time-inside-the-root": "codel",
    "codel-law-in-milliseconds": "codel",
    "codel-forgets-its-count": "codel",
    "codel-one-drop-per-dequeue": "codel",
    "cobalt-the-state-does-not-decay": "cobalt",
    "pie-bypass-in-packets": "pie",
    "pie-no-derivative": "pie",
    "pie-marks-in-overload": "pie ecn",
    "pi2-one-draw": "pi2",
    "red-limit-ignored": "red",
    "red-idle-time-ignored": "red",
    "ared-stale-gentle-slope": "ared",
    "choke-spares-the-match": "choke",
    "blue-never-frozen": "blue",
    "sfb-warm-up-forgotten": "sfb",
    "pi-reference-with-the-other-sign": "pi",
    "rem-what-is-refused-never-came": "rem",
    "avq-capacity-above-the-links": "avq",
    "fq-batch-of-one": "fq_codel",
    "fq-emptied-new-flow-leaves": "fq_codel",
    "drr-credit-not-reset": "drr",
    "dualpi2-gains-in-another-unit": "dualpi2@linux",
    "cake-failsafe-forgotten": "cake bandwidth 19mbit ingress",
    "cake-idle-time-is-saved": "cake bandwidth 19mbit",
}
"""Mutants to score, at least one of each family, with the queue manager that they modify."""
NOT_TRIED = {"rtt", "params", "lbe"}
"""Rows of many runs, which are skipped."""


@dataclass(frozen=True)
class Mutant:
    """Textual edits of a source file of crates/aqm."""

    name: str
    file: str
    edits: list[tuple[str, str]]


def mutants(text: str) -> Iterator[Mutant]:
    """Parse the museum's mutants from its source."""
    for block in re.split(r"\n    Mutant \{\n", text)[1:]:
        name, file = (re.search(rf'        {key}: ("[^"]*")', block) for key in ("name", "file"))
        edits = re.search(r"        edits: &\[(.*?)\],\n        caught_by", block, re.DOTALL)
        assert name and file and edits
        yield Mutant(ast.literal_eval(name[1]), ast.literal_eval(file[1]), ast.literal_eval(f"[{edits[1]}]"))


def build(copy: Path, mutant: Mutant | None) -> Path:
    """Build the library with a mutant, or unchanged."""
    if mutant is not None:
        source = copy / "crates" / "aqm" / mutant.file
        text = source.read_text(encoding="utf-8")
        for before, after in mutant.edits:
            assert text.count(before) == 1, f"{mutant.name}: its text is there {text.count(before)} times"
            text = text.replace(before, after)
        source.write_text(text, encoding="utf-8")
    command = [
        os.environ.get("CARGO", "cargo"),
        "rustc",
        "--package",
        "sojourn-capi",
        "--release",
        "--crate-type",
        "cdylib",
    ]
    quick = {"CARGO_PROFILE_RELEASE_LTO": "off", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16"}
    subprocess.run([*command, "--quiet"], cwd=copy, env=os.environ | quick, check=True)
    if mutant is not None:
        shutil.copy(REPO / "crates" / "aqm" / mutant.file, copy / "crates" / "aqm" / mutant.file)
    library = copy / f"{mutant.name if mutant else 'unchanged'}.so"
    shutil.copy(copy / "target" / "release" / "libsojourn_capi.so", library)
    return library


def scored(library: Path, aqm: str, out: Path, jobs: int) -> tuple[list[str], list[str], bool]:
    """Rows with another grade than the original, rows with a significant difference, and whether all runs are equal."""
    from sojourn.studies.score import ROWS

    rows = [name for name, row in ROWS.items() if not row.facts and row.versions == "plain" and name not in NOT_TRIED]
    command = [sys.executable, "-m", "sojourn", "score", f"{library} {aqm}", "--baseline", aqm, "--quick", "--json"]
    command += ["--only", ",".join(rows), "--jobs", str(jobs), "-o", str(out)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode in (0, 1), ran.stderr
    found = json.loads(ran.stdout)
    mine, real = found["aqms"]
    graded, different, same = [], [], []
    for row in found["rows"]:
        columns = row["columns"]
        numbers = columns[mine]["numbers"]
        if any(number["grade"] != columns[real]["numbers"][name]["grade"] for name, number in numbers.items()):
            graded.append(row["id"])
        differences = [number["difference"] for number in numbers.values() if number["difference"]]
        if any(one["significant"] for one in differences):
            different.append(row["id"])
        same += [one["same"] for one in differences]
    return graded, different, all(same)


def main() -> None:
    """Try the mutants that are named, all without a name, and write their lines into the page."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("names", nargs="*", help="mutants [all]")
    parser.add_argument("--copy", type=Path, default=REPO / "target" / "museum-score", help="folder of the copy")
    parser.add_argument("--jobs", type=int, default=1)
    chosen = parser.parse_args()
    copy: Path = chosen.copy
    for name in ("crates", "bench", "examples", "Cargo.toml", "Cargo.lock"):
        source, there = REPO / name, copy / name
        if source.is_dir():
            shutil.rmtree(there, ignore_errors=True)
            shutil.copytree(source, there, ignore=shutil.ignore_patterns("target"))
        else:
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, there)
    every = {one.name: one for one in mutants((REPO / "crates/aqm/tests/museum/mutants.rs").read_text("utf-8"))}
    with FILE.open(encoding="utf-8", newline="") as file:
        lines = {cells[0]: cells for cells in csv.reader(file)}
    for name in chosen.names or ["unchanged", *OF]:
        aqm = OF.get(name, "codel")
        library = build(copy, every[name] if name in OF else None)
        graded, different, same = scored(library, aqm, copy / "runs" / name, chosen.jobs)
        if name == "unchanged":
            assert same, "the unchanged library does not give the runs of the registered queue manager"
            continue
        lines[name] = [name, aqm, joined(graded), joined(different)]
        print(f"{name}: {joined(graded)} | {joined(different)}", flush=True)
        with FILE.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows([COLUMNS, *(lines[one] for one in OF if one in lines)])


def joined(rows: list[str]) -> str:
    """Format rows as a table cell."""
    return ", ".join(rows) or "none"


if __name__ == "__main__":
    main()
