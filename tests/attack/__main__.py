"""`python -m attack`: many mutated inputs and some kills; exits with 1 if any of them causes a fault."""

from __future__ import annotations

import argparse
import os
import sys

from attack import inputs, kills

MIN_RAN = 0.2
"""Minimum share of inputs that are valid and have run."""
MIN_IN_A_RUN = 0.3
"""Minimum share of kills that hit a run in progress."""


def main() -> int:
    """Run the attack, print the summary and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m attack", description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    failed = False
    if options.inputs:
        summary = inputs.attack(
            options.inputs, options.seed, options.jobs, lambda outcomes: _report(options.seed, outcomes)
        )
        print("\n".join(summary.table()))
        print(f"{summary.ran} of {len(summary.outcomes)} inputs were drawn so that they run, and did")
        failed |= bool(summary.faults) or summary.ran < MIN_RAN * len(summary.outcomes)
    if options.kills:
        killed = kills.attack(options.kills, options.seed)
        print(*killed.faults, sep="\n")
        print(
            f"{killed.count} kills: {killed.in_a_run} in a run, {killed.in_storing} while a result was stored, "
            f"{killed.too_late} after the end; {len(killed.faults)} faults"
        )
        failed |= bool(killed.faults) or killed.in_a_run < MIN_IN_A_RUN * killed.count
    return int(failed)


def _report(seed: int, outcomes: list[inputs.Outcome]) -> None:
    """Print each fault at once, and progress every 5,000 inputs."""
    for case in outcomes:
        if case["faults"]:
            print(f"seed {seed}, number {case['number']}: {' '.join(case['words'])!a}: {'; '.join(case['faults'])!a}")
        if case["number"] % 5000 == 4999:
            print(f"{case['number'] + 1} inputs", file=sys.stderr)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
