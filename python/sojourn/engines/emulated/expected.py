"""Sentences that must be true of a shell's link (`sojourn link --expect`)."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from sojourn.model.results.result import Result
from sojourn.studies.expectations import judge_run, read
from sojourn.studies.sentences import Vocabulary


def judge(result: Result, sentences: Sequence[str], *, quiet: bool) -> int:
    """Judge sentences on a shell's result, and print the verdicts, if `quiet` only those that are not met.

    Returns the exit code.
    """
    judgements = judge_run(read(sentences, Vocabulary([result.scenario]), 1), result)
    shown = [judged for judged in judgements if not (quiet and judged.is_met)]
    for line in (line for judged in shown for line in judged.lines):
        print(f"link: {line}", file=sys.stderr)
    return 0 if all(judged.is_met for judged in judgements) else 1
