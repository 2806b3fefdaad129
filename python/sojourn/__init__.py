"""Sojourn: queue managers you can trust, simulated and checked against published results.

Everything is loaded on first use, so that ``import sojourn`` and ``sojourn --help`` cost next to nothing. The queue
managers are not listed here: ``sojourn.Codel``, ``sojourn.Pie``, … come from the registry of the compiled core. What
they are for type checkers is in ``managers.pyi``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sojourn._core import AqmError, InputError
    from sojourn.aqms.aqm import Aqm
    from sojourn.aqms.loading import no_code
    from sojourn.aqms.managers import *  # noqa: F403 (the registry says what there is)
    from sojourn.aqms.queue import Queue
    from sojourn.results.result import Result
    from sojourn.runs.jobs import Job, start
    from sojourn.runs.store import load
    from sojourn.scenarios.scenario import Scenario
    from sojourn.studies.comparison import Comparison, compare
    from sojourn.studies.difference import Difference, diff
    from sojourn.studies.study import Study

__all__ = [
    "Aqm",
    "AqmError",
    "Comparison",
    "Difference",
    "InputError",
    "Job",
    "Queue",
    "Result",
    "Scenario",
    "Study",
    "compare",
    "diff",
    "load",
    "no_code",
    "start",
]

_HOMES = {
    "Aqm": "sojourn.aqms.aqm",
    "AqmError": "sojourn._core",
    "Comparison": "sojourn.studies.comparison",
    "Difference": "sojourn.studies.difference",
    "InputError": "sojourn._core",
    "Job": "sojourn.runs.jobs",
    "Queue": "sojourn.aqms.queue",
    "Result": "sojourn.results.result",
    "Scenario": "sojourn.scenarios.scenario",
    "Study": "sojourn.studies.study",
    "compare": "sojourn.studies.comparison",
    "diff": "sojourn.studies.difference",
    "load": "sojourn.runs.store",
    "no_code": "sojourn.aqms.loading",
    "start": "sojourn.runs.jobs",
}


def __getattr__(name: str) -> Any:
    """Load a public name on first use; a capitalised one may be a queue manager of the registry."""
    from importlib import import_module

    if name == "__version__":
        from sojourn._core import version

        return version()
    if home := _HOMES.get(name):
        return getattr(import_module(home), name)
    if name[:1].isupper():
        return getattr(import_module("sojourn.aqms.managers"), name)
    raise AttributeError(f"module 'sojourn' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Public names and the registry's queue managers."""
    from sojourn.aqms.registry import class_names

    return sorted([*__all__, "__version__", *class_names()])
