"""Sojourn: queue managers you can trust, simulated and checked against published results.

Everything is loaded on first use, so that ``import sojourn`` and ``sojourn --help`` are cheap. The queue managers are
not listed here: ``sojourn.Codel``, ``sojourn.Pie``, … come from the registry of the compiled core; type checkers read
them in ``managers.pyi``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sojourn.base import aliases

if TYPE_CHECKING:
    from sojourn._core import AqmError, InputError
    from sojourn.model.aqms.aqm import Aqm
    from sojourn.model.aqms.loading import no_code
    from sojourn.model.aqms.managers import *  # noqa: F403 (from the registry)
    from sojourn.model.aqms.queue import Queue
    from sojourn.model.ccs.cc import Cc
    from sojourn.model.results.result import Result
    from sojourn.model.scenarios.scenario import Scenario
    from sojourn.studies.comparison import Comparison, compare
    from sojourn.studies.difference import Difference, diff
    from sojourn.studies.runs.jobs import Job, start
    from sojourn.studies.runs.store import load
    from sojourn.studies.study import Study

__all__ = [
    "Aqm",
    "AqmError",
    "Cc",
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
    "Aqm": "sojourn.model.aqms.aqm",
    "AqmError": "sojourn._core",
    "Cc": "sojourn.model.ccs.cc",
    "Comparison": "sojourn.studies.comparison",
    "Difference": "sojourn.studies.difference",
    "InputError": "sojourn._core",
    "Job": "sojourn.studies.runs.jobs",
    "Queue": "sojourn.model.aqms.queue",
    "Result": "sojourn.model.results.result",
    "Scenario": "sojourn.model.scenarios.scenario",
    "Study": "sojourn.studies.study",
    "compare": "sojourn.studies.comparison",
    "diff": "sojourn.studies.difference",
    "load": "sojourn.studies.runs.store",
    "no_code": "sojourn.model.aqms.loading",
    "start": "sojourn.studies.runs.jobs",
}

aliases.install()


def __getattr__(name: str) -> Any:
    """Load a public name on first use; a capitalised one may be a queue manager of the registry."""
    from importlib import import_module

    if name == "__version__":
        from sojourn._core import version

        return version()
    if home := _HOMES.get(name):
        return getattr(import_module(home), name)
    if name[:1].isupper():
        return getattr(import_module("sojourn.model.aqms.managers"), name)
    raise AttributeError(f"module 'sojourn' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Public names and the registry's queue managers."""
    from sojourn.model.aqms.registry import class_names

    return sorted([*__all__, "__version__", *class_names()])
