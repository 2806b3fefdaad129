"""Learns a policy of two numbers by the cross-entropy method and judges it on episodes that it has not seen.

It is compared with the best of twenty constant probabilities, chosen after the fact on the episodes that judge, and
with PIE and CoDel as they run natively. Writes the policy as a file for the queue manager `policy:FILE`.

    python examples/gym/cross_entropy.py --cpu-s 20 --episodes 200 -o learned.json
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from sojourn.analysis.stats import paired_difference
from sojourn.base.progress import progress
from sojourn.gym import seed_of
from sojourn.gym.baselines import Constant
from sojourn.gym.evaluation import Evaluation, evaluate
from sojourn.gym.learning import SearchConfig, learn
from sojourn.gym.settings import Settings

SETTINGS = Settings(action="probability-log", observe=["sojourn_now"])
"""It sees how long the first packet has waited, and says the logarithm of a probability."""
GRID = np.linspace(-13.0, -0.5, 20)
"""Constant actions; the ends behave as tail drop and as a closed link."""


def main() -> None:
    """Learn, judge, print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--suite", default="wired", help="suite to learn in and to judge by")
    options.add_argument("--cpu-s", type=float, default=20.0, help="CPU seconds for the search")
    options.add_argument("--episodes", type=int, default=200, help="held-out episodes")
    options.add_argument("--constants", type=int, default=20, help="how many of the grid")
    options.add_argument("-o", "--out", type=Path, default=Path("learned.json"), help="file of the policy")
    given = options.parse_args()
    with progress("CPU seconds") as told:
        search = SearchConfig(candidates=16, best=4, episodes=5, cpu_s=given.cpu_s)

        def gone(share: float) -> None:
            told(share, round(share * given.cpu_s), round(given.cpu_s))

        found = learn(given.suite, SETTINGS, first=-8.0, search=search, progress=gone)
    found.network.save(given.out)
    [(slope,)], [bias] = found.network.layers[0].weights, found.network.layers[0].bias
    print(f"{len(found.rounds)} rounds in {found.cpu_s:.1f} CPU s: log2(p) = {slope:.2f} d + {bias:.2f}")
    grid = {f"{2**action:.2g}": Constant(float(action)) for action in GRID[:: -(-len(GRID) // given.constants)]}
    names = {"learned": found.network, "pie": "pie", "codel": "codel"}
    judged = evaluate({**grid, **names}, given.suite, episodes=given.episodes, settings=SETTINGS)
    best = max(grid, key=lambda name: _mean(judged, name))
    table = Evaluation(judged.rewards, best).table()
    print(table.filter(table["candidate"].is_in([best, *names])))
    learned = paired_difference(judged.of(best), judged.of("learned"))
    way = learned.difference / (_mean(judged, "pie") - _mean(judged, best))
    low = learned.difference - (learned.ci95 or float("nan"))
    print(f"best constant {best}; learned is {learned.difference:.3f} above it, 95 % interval from {low:.3f} on")
    print(f"that is {100 * way:.0f} % of the way to PIE; first held-out seed {seed_of('held-out', 0)}")


def _mean(judged: Evaluation, name: str) -> float:
    return float(np.mean(judged.of(name)))


if __name__ == "__main__":
    main()
