"""What can run a scenario: an engine is a module and a line in `ENGINES`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeGuard, cast

if TYPE_CHECKING:  # the command line names the engines before it needs any
    from sojourn.model.results.result import Result
    from sojourn.model.scenarios.scenario import Scenario

SIMULATE = "simulate"
EMULATE = "emulate"
KERNEL = "kernel"
ENGINES = {
    SIMULATE: "sojourn.engines.simulate",
    EMULATE: "sojourn.engines.emulated.engine",
    KERNEL: "sojourn.engines.kernel.engine",
    "kernel-6.12": "sojourn.engines.kernel.engine_6_12",
    "kernel-7.3": "sojourn.engines.kernel.engine_7_3",
    "ns2": "sojourn.engines.ns2.engine",
    "ns2-plugin": "sojourn.engines.ns2.engine_plugin",
}


class EngineModule(Protocol):
    """What the module of an engine offers."""

    def identity(self) -> str:
        """Name of the engine in the hash of a run, with its build where results depend on it."""

    def check(self, scenario: Scenario) -> None:
        """Refuse a scenario that it cannot run."""

    def run(self, scenario: Scenario, seed: int, progress: Callable[[float], None] | None, /) -> Result:
        """Run a scenario once."""


class WritingEngine(Protocol):
    """What the module of an engine offers that writes its tables while it runs."""

    def run_into(
        self, folder: Path, scenario: Scenario, seed: int, progress: Callable[[float], None] | None, /
    ) -> Result:
        """Run a scenario once, with the tables as files in `folder`."""


def kind(engine: str) -> str:
    """Name of an engine without its version: `kernel` of `kernel-6.12`."""
    return engine.partition("-")[0]


def identity(engine: str) -> str:
    """Name of an engine in the hash of a run."""
    return _module(engine).identity()


def check(engine: str, scenario: Scenario) -> None:
    """Refuse a scenario that an engine cannot run."""
    _refuse_changes(engine, scenario)
    _module(engine).check(scenario)


def _refuse_changes(engine: str, scenario: Scenario) -> None:
    """Refuse changes of queues and losses where an engine has none; those of rates and delays have become schedules."""
    if kind(engine) not in {SIMULATE, EMULATE, KERNEL} and "changes" in scenario.document:
        from sojourn.engines.refusal import refuse

        remedy = "leave out what changes besides rate and delay, or use --engine simulate, emulate or kernel"
        refuse(engine, "changes", "keeps queues and losses as they are", remedy)


def run(
    scenario: Scenario,
    seed: int,
    engine: str,
    progress: Callable[[float], None] | None = None,
    folder: Path | None = None,
) -> Result:
    """Run a scenario once; an engine that can write tables while it runs does so into `folder`."""
    _refuse_changes(engine, scenario)
    module = _module(engine)
    if folder is not None and _is_writing(module):
        result = module.run_into(folder, scenario, seed, progress)
    else:
        result = module.run(scenario, seed, progress)
    result.engine = identity(engine)
    return result


def writes(engine: str) -> bool:
    """Whether an engine writes tables while it runs."""
    return _is_writing(_module(engine))


def _is_writing(module: object) -> TypeGuard[WritingEngine]:
    # A protocol that is checked at run time takes as long as all else that is asked of an engine for a short run.
    return hasattr(module, "run_into")


def _module(engine: str) -> EngineModule:
    return cast(EngineModule, import_module(ENGINES[engine]))
