"""What a profile-guided build learns from (`make wheel PGO=1`): every shipped scenario that is one run, once.

The compiler lays out what these runs do often. Results are the same with any training, or none.
"""

from __future__ import annotations

import sys
from pathlib import Path

import sojourn as sj
from sojourn.base.inputs import parse_toml

SCENARIOS = Path(__file__).parent.parent / "scenarios"


def main() -> None:
    """Do the runs."""
    for path in sorted(SCENARIOS.rglob("*.toml")):
        if {"sweep", "draw"} & parse_toml(path.read_text(encoding="utf-8")).keys():
            continue
        print(path.relative_to(SCENARIOS), file=sys.stderr, flush=True)
        sj.Scenario.load(path).run()


if __name__ == "__main__":
    main()
