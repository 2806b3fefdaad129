"""The queue managers of the registry as classes; `managers.pyi` beside this file lists them with their parameters.

The stub is written by `python/stubs.py` (`make stubs`); a test compares it with the registry.
"""

from __future__ import annotations

from sojourn.model.aqms.registered import RegistryAqm, aqm_class
from sojourn.model.aqms.registry import class_names

__all__ = class_names()


def __getattr__(name: str) -> type[RegistryAqm]:
    """Create a class on first use."""
    if found := aqm_class(name):
        return found
    raise AttributeError(f"module 'sojourn' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Names of the classes."""
    return class_names()
