"""Learns a policy with two parameters by the cross-entropy method and evaluates it on held-out episodes.

It is compared with the best of twenty constant probabilities, chosen in hindsight on the same episodes, and with native
PIE and CoDel. Writes the policy to a file for the queue manager `policy:FILE`.

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
"""Observation: sojourn time of the head packet; action: logarithm of a drop probability."""
GRID = np.linspace(-13.0, -0.5, 20)
"""Constant actions, from almost no drops (tail drop) to almost only drops."""


def main() -> None:
    """Learn, evaluate and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--suite", default="wired", help="suite to learn in and to judge by")
    options.add_argument("--cpu-s", type=float, default=20.0, help="CPU seconds for the search")
    options.add_argument("--episodes", type=int, default=200, help="held-out episodes")
    options.add_argument("--constants", type=int, default=20, help="how many of the grid")
    options.add_argument("-o", "--out", type=Path, default=Path("learned.json"), help="file of the policy")
    args = options.parse_args()
    with progress("CPU seconds") as report:
        search = SearchConfig(candidates=16, best=4, episodes=5, cpu_s=args.cpu_s)

        def on_progress(share: float) -> None:
            report(share, round(share * args.cpu_s), round(args.cpu_s))

        learned_policy = learn(args.suite, SETTINGS, first=-8.0, search=search, progress=on_progress)
    learned_policy.network.save(args.out)
    [(slope,)], [bias] = learned_policy.network.layers[0].weights, learned_policy.network.layers[0].bias
    print(
        f"{len(learned_policy.rounds)} rounds in {learned_policy.cpu_s:.1f} CPU s: log2(p) = {slope:.2f} d + {bias:.2f}"
    )
    grid = {f"{2**action:.2g}": Constant(float(action)) for action in GRID[:: -(-len(GRID) // args.constants)]}
    names = {"learned": learned_policy.network, "pie": "pie", "codel": "codel"}
    judged = evaluate({**grid, **names}, args.suite, episodes=args.episodes, settings=SETTINGS)
    best = max(grid, key=lambda name: _mean(judged, name))
    table = Evaluation(judged.rewards, best).table()
    print(table.filter(table["candidate"].is_in([best, *names])))
    learned = paired_difference(judged.of(best), judged.of("learned"))
    share_of_pie = learned.difference / (_mean(judged, "pie") - _mean(judged, best))
    low = learned.difference - (learned.ci95 or float("nan"))
    print(f"best constant {best}; learned is {learned.difference:.3f} above it, 95 % interval from {low:.3f} on")
    print(f"that is {100 * share_of_pie:.0f} % of the way to PIE; first held-out seed {seed_of('held-out', 0)}")


def _mean(judged: Evaluation, name: str) -> float:
    return float(np.mean(judged.of(name)))


if __name__ == "__main__":
    main()
