"""Imported routers on the simulator and on the kernel engine: bulk goodput and mean sojourn time.

The gate has a short run of each, if a kernel is built. `SOJOURN_ROUTER_SEEDS=3` runs three seeds of 20 s, whose means
must be within 5 %, and prints the table of docs/routers.md (`pytest -s`).
"""

from __future__ import annotations

import os
from pathlib import Path
from statistics import fmean

import pytest

from sojourn import Result, Scenario
from sojourn.engines.kernel.cache import Kernel
from sojourn.io.tc.scenario import ImportedScenario, ImportOptions, import_text

ROUTERS = Path(__file__).parent / "routers"
CASES = {
    "docsis.sh": ImportOptions(),
    "openwrt-cake.sqm": ImportOptions(),
    "openwrt-adsl.sqm": ImportOptions(),
    "debian.txt": ImportOptions(rate="100 Mbit/s"),
    "pppoe.txt": ImportOptions(),
    "libreqos-node.txt": ImportOptions(download="ens20", class_id="1:5"),
    "qosify.txt": ImportOptions(),
}
DIFFERENT = {("openwrt-adsl.sqm", "forward", "sojourn")}
"""Values that three seeds do not settle: the upstream drops half of the acknowledgments, and runs differ."""
SEEDS = int(os.environ.get("SOJOURN_ROUTER_SEEDS", "0"))
"""Seeds of long runs; zero for a single short one."""
DURATION_S, WARMUP_S = (20, 5) if SEEDS else (6, 2)
BAND = 0.05 if SEEDS else 0.2
"""Maximum relative difference of the mean sojourn time."""
GOODPUT_BAND = 0.05


@pytest.mark.parametrize("name", CASES)
def test_an_imported_router_is_the_same_on_the_kernel(kernel: Kernel, name: str) -> None:
    del kernel
    text = (ROUTERS / name).read_text(encoding="utf-8")
    # The kernel engine has no ATM cells.
    scenario = without_pages(import_text(text.replace("linklayer 'atm'", "linklayer 'ethernet'"), name, CASES[name]))
    seeds = range(1, (SEEDS or 1) + 1)
    runs = [(scenario.run(seed), scenario.run(seed, engine="kernel")) for seed in seeds]
    for direction in ("forward", "reverse"):
        goodput = [fmean(bulk_mbps(run[engine], scenario, direction) for run in runs) for engine in (0, 1)]
        if not goodput[0]:
            continue
        sojourn = [
            fmean(run[engine].totals["links"][direction]["sojourn_ms"]["mean"] for run in runs) for engine in (0, 1)
        ]
        cells = [*(f"{one:.2f}" for one in goodput), *(f"{one:.2f}" for one in sojourn)]
        print(f"| {name} | {direction} | {' | '.join(cells)} | {100 * (sojourn[0] / sojourn[1] - 1):+.1f} % |")
        for kind, (mine, linux), band in (("goodput", goodput, GOODPUT_BAND), ("sojourn", sojourn, BAND)):
            assert mine == pytest.approx(linux, rel=band) or (name, direction, kind) in DIFFERENT


def without_pages(found: ImportedScenario) -> Scenario:
    """The scenario for a short run, without the browser, which the kernel engine lacks."""
    head, *groups = found.text.split("[[flows]]\n")
    text = "[[flows]]\n".join([head, *(group for group in groups if 'kind = "browser"' not in group)])
    text = text.replace('duration = "60 s"', f'duration = "{DURATION_S} s"')
    return Scenario.parse(text.replace('warmup = "10 s"', f'warmup = "{WARMUP_S} s"'))


def bulk_mbps(result: Result, scenario: Scenario, direction: str) -> float:
    """Goodput of the bulk transfers in a direction, in Mbit/s."""
    groups = zip(result.totals["groups"], scenario.document["flows"], strict=True)
    own = (group["goodput_bps"] for group, flow in groups if flow["kind"] == "tcp" and flow["direction"] == direction)
    return float(sum(own)) / 1e6
