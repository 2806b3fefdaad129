"""A user's class as an algorithm of the core: its parameters, its methods, and its name."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from sojourn import _core
from sojourn.base.errors import InputError
from sojourn.model.aqms.hooks import hooks_of
from sojourn.model.aqms.source import digest_of
from sojourn.model.aqms.spelling import escape, param_text

if TYPE_CHECKING:
    from sojourn.model.aqms.aqm import Aqm

LIVE: dict[str, type[Aqm]] = {}
"""Classes that only this process can find, by name: defined in a notebook or a program."""


def algorithm(cls: type[Aqm]) -> _core.Algorithm:
    """The class as an algorithm of the core, created once."""
    name = reference(cls)
    known: dict[str, _core.Algorithm] = cls.__dict__.get("_algorithms") or {}
    if name not in known:
        doc = next(iter((cls.__doc__ or "").strip().splitlines()), "").rstrip(".")
        methods = hooks_of(cls)
        known[name] = _core.Algorithm(name, doc, _parameters(cls), make(cls), methods, bool(cls.judges_overflow))
        type.__setattr__(cls, "_algorithms", known)
    return known[name]


def configure(cls: type[Aqm], args: tuple[object, ...], given: Mapping[str, object]) -> tuple[str, dict[str, Any]]:
    """Spelling of the class with these arguments, and the values for its `__init__`."""
    names = [param.name for param in _parameters(cls)]
    if len(args) > len(names):
        raise InputError(f"{cls.__qualname__} takes {len(names)} parameters, {len(args)} were given")
    texts = {**dict(zip(names, args, strict=False)), **given}
    return algorithm(cls).configure([(name, param_text(value)) for name, value in texts.items()])


def make(cls: type[Aqm]) -> Any:
    """A factory that creates an instance from parsed `__init__` values."""

    def instance(params: dict[str, Any]) -> Aqm:
        aqm = cls.__new__(cls)
        cls.__init__(aqm, **params)
        return aqm

    return instance


def reference(cls: type[Aqm]) -> str:
    """Name by which every process finds the class; if none can, a name valid in this process."""
    module = sys.modules.get(cls.__module__)
    path = getattr(module, "__file__", None) or ""
    importable = cls.__module__ != "__main__" and "<locals>" not in cls.__qualname__
    if importable and path.endswith(".py") and cls._digest == digest_of(path):
        return f"{escape(path)}:{cls.__qualname__}"
    name = f"{cls.__module__}:{cls.__qualname__}"
    LIVE[name] = cls
    return name


class Parameter(NamedTuple):
    """Parameter of `__init__`; a `Literal` has choices."""

    name: str
    default: Any
    choices: list[str]


def _parameters(cls: type[Aqm]) -> list[Parameter]:
    """Parameters of `__init__`, each with a default."""
    if cls.__init__ is object.__init__:
        return []
    taken = list(inspect.signature(cls.__init__).parameters.values())[1:]
    found = [param for param in taken if param.kind not in (param.VAR_POSITIONAL, param.VAR_KEYWORD)]
    for param in found:
        if param.default is param.empty:
            raise InputError(f'{cls.__qualname__}: parameter {param.name} needs a default, e.g. {param.name}="5 ms"')
    words = _words(cls)
    return [Parameter(param.name, param.default, words.get(param.name, [])) for param in found]


def _words(cls: type[Aqm]) -> dict[str, list[str]]:
    """Words of the parameters annotated as Literal."""
    try:
        hints = get_type_hints(cls.__init__)
    except (NameError, AttributeError, TypeError):
        return {}
    return {name: [str(word) for word in get_args(hint)] for name, hint in hints.items() if get_origin(hint) is Literal}
