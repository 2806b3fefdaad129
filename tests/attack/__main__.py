"""`python -m attack`: many mutated inputs and some kills; the exit code is 1 if anything came of them that must not."""

from __future__ import annotations

import argparse
import os
import sys

from attack import inputs, kills

LEAST_RAN = 0.2
"""Share of the inputs that were drawn so that they run, and did."""
LEAST_IN_A_RUN = 0.3
"""Share of the kills that hit a run in the middle."""


def main() -> int:
    """Attack, print what came of it, and give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m attack", description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    asked = parser.parse_args()
    failed = False
    if asked.inputs:
        found = inputs.attack(asked.inputs, asked.seed, asked.jobs, lambda outcomes: _tell(asked.seed, outcomes))
        print("\n".join(found.table()))
        print(f"{found.ran} of {len(found.outcomes)} inputs were drawn so that they run, and did")
        failed |= bool(found.faults) or found.ran < LEAST_RAN * len(found.outcomes)
    if asked.kills:
        killed = kills.attack(asked.kills, asked.seed)
        print(*killed.faults, sep="\n")
        print(
            f"{killed.count} kills: {killed.in_a_run} in a run, {killed.in_storing} while a result was stored, "
            f"{killed.too_late} after the end; {len(killed.faults)} faults"
        )
        failed |= bool(killed.faults) or killed.in_a_run < LEAST_IN_A_RUN * killed.count
    return int(failed)


def _tell(seed: int, outcomes: list[inputs.Outcome]) -> None:
    """Print what went wrong as soon as it did, and now and then how far it is."""
    for one in outcomes:
        if one["faults"]:
            print(f"seed {seed}, number {one['number']}: {' '.join(one['words'])!a}: {'; '.join(one['faults'])!a}")
        if one["number"] % 5000 == 4999:
            print(f"{one['number'] + 1} inputs", file=sys.stderr)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
