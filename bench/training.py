"""Training of a profile-guided build (`make wheel PGO=1`): each shipped scenario of a single run, once.

The compiler optimises the layout for the hot code of these runs. Results do not depend on the training.
"""

from __future__ import annotations

import sys
from pathlib import Path

import sojourn as sj
from sojourn.base.inputs import parse_toml

SCENARIOS = Path(__file__).parent.parent / "scenarios"


def main() -> None:
    """Run the scenarios."""
    for path in sorted(SCENARIOS.rglob("*.toml")):
        if {"sweep", "draw"} & parse_toml(path.read_text(encoding="utf-8")).keys():
            continue
        print(path.relative_to(SCENARIOS), file=sys.stderr, flush=True)
        sj.Scenario.load(path).run()


if __name__ == "__main__":
    main()
