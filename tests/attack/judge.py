"""Faults of a case: tracebacks, half-written files, escape characters, invalid JSON."""

from __future__ import annotations

import json
import re
import traceback
from pathlib import Path

from click.testing import Result

from attack.cases import Case
from attack.invariants import violations

CODES = {0, 2, 3, 130}
_MORE = {"aqm": {1}} | {key: {126, 127} for key in ("link", "delay", "loss")}
"""Further exit codes: 1 if `aqm diff` finds a difference; 126 and 127 if a shell's command cannot be started."""
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def judge(case: Case, result: Result, folder: Path) -> list[str]:
    """Faults in the outcome of a case."""
    faults = []
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        last = traceback.extract_tb(result.exc_info[2])[-1] if result.exc_info else None
        faults.append(f"traceback: {type(result.exception).__name__}: {str(result.exception)[:200]} at {last}")
    elif "Traceback" in result.output:
        faults.append("traceback in what is printed")
    allowed = CODES | _MORE.get("".join(case.words[:1]), set()) | ({1} if "--until" in case.words else set())
    if result.exit_code not in allowed:
        faults.append(f"exit code {result.exit_code}")
    if result.exit_code in (2, 3) and not result.stderr.strip():
        faults.append("refused without a word")
    if CONTROL.search(result.output):
        faults.append("a control character reaches the terminal")
    if result.exit_code == 0 and "--json" in case.words and "--help" not in case.words:
        try:
            json.loads(result.stdout)
        except ValueError:
            faults.append("--json is no JSON")
    faults += [f"half-written: {path.name}" for path in folder.rglob(".*.part")]
    if result.exit_code != 130:
        faults += [
            f"half a result: {found}"
            for found in (folder / "out").glob("*")
            if found.is_dir() and not (found / "manifest.json").is_file()
        ]
    if result.exit_code == 0:
        faults += violations(folder / "out")
    return faults
