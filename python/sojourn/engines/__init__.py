"""Engines, which run scenarios: each is a module and a line in `ENGINES`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeGuard, cast

if TYPE_CHECKING:  # the command line lists the engines before it loads one
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
    """Interface of an engine's module."""

    def identity(self, scenario: Scenario | None = None, /) -> str:
        """Name of the engine in the hash of a run, with the build that runs the scenario if results depend on it."""

    def check(self, scenario: Scenario) -> None:
        """Raise `InputError` for a scenario that the engine cannot run."""

    def run(self, scenario: Scenario, seed: int, progress: Callable[[float], None] | None, /) -> Result:
        """Run a scenario once."""


class WritingEngine(Protocol):
    """Interface of an engine's module that writes tables during the run."""

    def run_into(
        self, folder: Path, scenario: Scenario, seed: int, progress: Callable[[float], None] | None, /
    ) -> Result:
        """Run a scenario once; the tables become files in `folder`."""


def kind(engine: str) -> str:
    """Name of an engine without its version: `kernel` for `kernel-6.12`."""
    return engine.partition("-")[0]


def identity(engine: str, scenario: Scenario | None = None) -> str:
    """Name of an engine in the hash of a run of a scenario, or of those that any build of the engine runs."""
    return _module(engine).identity(scenario)


def check(engine: str, scenario: Scenario) -> None:
    """Raise `InputError` for a scenario that an engine cannot run."""
    _refuse_changes(engine, scenario)
    _refuse_kernel_files(engine, scenario)
    _module(engine).check(scenario)


def _refuse_changes(engine: str, scenario: Scenario) -> None:
    """Refuse changes of queues and losses if the engine has none; changes of rate and delay are schedules by now."""
    if kind(engine) not in {SIMULATE, EMULATE, KERNEL} and "changes" in scenario.document:
        from sojourn.engines.refusal import refuse

        remedy = "leave out changes of other keys than rate and delay, or use --engine simulate, emulate or kernel"
        refuse(engine, "changes", "cannot change queues or losses", remedy)


def _refuse_kernel_files(engine: str, scenario: Scenario) -> None:
    """Refuse queue managers and congestion controls that only a kernel has."""
    if kind(engine) != KERNEL and (named := scenario.kernel_files):
        from sojourn.engines.refusal import refuse

        place, name = next(iter(named.items()))
        refuse(engine, place, f"cannot run {name}, a file that is compiled into a kernel", "choose --engine kernel")


def run(
    scenario: Scenario,
    seed: int,
    engine: str,
    progress: Callable[[float], None] | None = None,
    folder: Path | None = None,
) -> Result:
    """Run a scenario once; tables go to `folder` if the engine can write them during the run."""
    _refuse_changes(engine, scenario)
    _refuse_kernel_files(engine, scenario)
    module = _module(engine)
    if folder is not None and _is_writing(module):
        result = module.run_into(folder, scenario, seed, progress)
    else:
        result = module.run(scenario, seed, progress)
    result.engine = identity(engine, scenario)
    return result


def writes(engine: str) -> bool:
    """Whether an engine writes tables during the run."""
    return _is_writing(_module(engine))


def _is_writing(module: object) -> TypeGuard[WritingEngine]:
    # A runtime_checkable protocol would double an engine's overhead for a short run.
    return hasattr(module, "run_into")


def _module(engine: str) -> EngineModule:
    return cast(EngineModule, import_module(ENGINES[engine]))
