"""Sojourn: queue managers you can trust, simulated and checked against published results.

Everything is loaded on first use, so that ``import sojourn`` and ``sojourn --help`` cost next to nothing. The queue
managers are not listed here: ``sojourn.Codel``, ``sojourn.Pie``, … come from the registry of the compiled core. What
they are for type checkers is in ``managers.pyi``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sojourn._core import AqmError, InputError
    from sojourn.aqms import Aqm
    from sojourn.comparison import Comparison, compare
    from sojourn.difference import Difference, diff
    from sojourn.jobs import Job, start
    from sojourn.managers import *  # noqa: F403 (the registry says what there is)
    from sojourn.queues import Queue
    from sojourn.result import Result
    from sojourn.scenario import Scenario
    from sojourn.store import load
    from sojourn.study import Study
    from sojourn.user_aqms import no_code

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
    "Aqm": "sojourn.aqms",
    "AqmError": "sojourn._core",
    "Comparison": "sojourn.comparison",
    "Difference": "sojourn.difference",
    "InputError": "sojourn._core",
    "Job": "sojourn.jobs",
    "Queue": "sojourn.queues",
    "Result": "sojourn.result",
    "Scenario": "sojourn.scenario",
    "Study": "sojourn.study",
    "compare": "sojourn.comparison",
    "diff": "sojourn.difference",
    "load": "sojourn.store",
    "no_code": "sojourn.user_aqms",
    "start": "sojourn.jobs",
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
        return getattr(import_module("sojourn.managers"), name)
    raise AttributeError(f"module 'sojourn' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Public names and the registry's queue managers."""
    from sojourn.aqms import class_names

    return sorted([*__all__, "__version__", *class_names()])
