"""pytest plugin: a net per seed for tests of transport stacks.

`@pytest.mark.net("world.toml", seeds=20)` runs a test that takes the fixture `net` with seeds 1 to 20.
pytest loads this module in every session, so it imports the rest only once a test is marked.
"""

from __future__ import annotations

import shlex
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from sojourn.apps.net import Net

USE = '@pytest.mark.net("world.toml", seeds=20)'


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    text = (
        "net(world, seeds=1): run the test with the fixture `net` for seeds 1 to `seeds`, or for a list of them; "
        "`world` is a scenario file beside the test, or its text. SOJOURN_SEED=7 or SOJOURN_SEEDS=1-40 select others."
    )
    config.addinivalue_line("markers", text)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per seed."""
    marker = metafunc.definition.get_closest_marker("net")
    if marker is None or "net" not in metafunc.fixturenames:
        return
    from sojourn.apps.net import chosen_seeds

    _, seeds = _arguments(*marker.args, **marker.kwargs)
    chosen = chosen_seeds(seeds)
    metafunc.parametrize("net", chosen, indirect=True, ids=[f"seed-{seed}" for seed in chosen])


@pytest.fixture
def net(request: pytest.FixtureRequest) -> Net:
    """A net of the marker's world with the seed of the test."""
    marker = request.node.get_closest_marker("net")
    if marker is None:
        pytest.fail(f"net: no world; mark the test: {USE}", pytrace=False)
    from sojourn.apps.net import Net

    world, _ = _arguments(*marker.args, **marker.kwargs)
    if "\n" not in str(world):
        world = request.path.parent / world
    return Net(world, request.param, name=request.node.originalname)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Add the decision log of a failed run to the report, and the command that repeats it."""
    outcome = yield
    report: pytest.TestReport = outcome.get_result()
    own = getattr(item, "funcargs", {}).get("net")
    if report.when != "call" or not report.failed or item.get_closest_marker("net") is None or own is None:
        return
    from sojourn.apps.net import Net

    # A finished net has failed in `Report.expect`, whose message has all this.
    if isinstance(own, Net) and not own.finished:
        report.sections.append(("sojourn", _story(own, item.nodeid)))


def _story(net: Net, nodeid: str) -> str:
    try:
        at = net.now / 1e9
        results = net.finish()
        log = results.write(Path(".pytest_cache") / "sojourn-net")
    except (OSError, RuntimeError, ValueError) as error:
        return f"no decision log: {error}"
    return (
        f"{results.name}: failed at {at:.9f} s of the net, seed {results.seed}, decisions {results.decisions} "
        f"({results.datagrams} datagrams)\ndecision log: {log}; without the programs: sojourn net replay {log}\n"
        f"repeat: SOJOURN_SEED={results.seed} python -m pytest {shlex.quote(nodeid)}"
    )


def _arguments(world: Any = None, seeds: Any = 1) -> tuple[Any, Any]:
    """World and seeds of a marker."""
    if world is None:
        raise pytest.UsageError(f"net: the marker names no world; write e.g. {USE}")
    return world, seeds
