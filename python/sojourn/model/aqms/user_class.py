"""Base of the classes that users derive from: queue managers and congestion controls."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple, cast, get_args, get_origin, get_type_hints

from sojourn import _core
from sojourn.base.errors import InputError
from sojourn.model.aqms.source import digest_of, source_digest
from sojourn.model.aqms.spelling import escape, param_text


class UserClassMeta(type):
    """Metaclass that parses texts into numbers: `MyAqm(target="5 ms")` passes nanoseconds to `__init__`."""

    def __call__(cls, *args: Any, **params: Any) -> Any:
        """Create an instance and store the call's arguments as its spelling."""
        user = cast("type[UserClass]", cls)
        text, values = configure(user, args, params)
        made = make(user)(values)
        made._text = text
        return made


class UserClass(metaclass=UserClassMeta):
    """A class with parameters; an instance represents both."""

    _digest: ClassVar[str | None] = None
    _text: str = ""

    def __init_subclass__(cls) -> None:
        """Record the digest of the source, which is part of the key of stored results."""
        cls._digest = source_digest(cls)

    @classmethod
    def _of_core(cls, name: str) -> _core.Algorithm | _core.ControlClass:
        """Make the class known to the core as `name`."""
        raise NotImplementedError

    @property
    def text(self) -> str:
        """Spelling in files and on the command line."""
        return self._text

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, UserClass) and bool(self.text) and other.text == self.text)

    def __hash__(self) -> int:
        return hash(self.text) if self.text else id(self)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.text}>"


LIVE: dict[str, type[UserClass]] = {}
"""Classes that only this process can find, by name: defined in a notebook or a program."""


def in_core(cls: type[UserClass]) -> _core.Algorithm | _core.ControlClass:
    """The class as the core knows it, created once."""
    name = reference(cls)
    known: dict[str, _core.Algorithm | _core.ControlClass] = cls.__dict__.get("_known") or {}
    if name not in known:
        known[name] = cls._of_core(name)
        type.__setattr__(cls, "_known", known)
    return known[name]


def configure(
    cls: type[UserClass], args: tuple[object, ...], given: Mapping[str, object]
) -> tuple[str, dict[str, Any]]:
    """Spelling of the class with these arguments, and the values for its `__init__`."""
    names = [param.name for param in parameters(cls)]
    if len(args) > len(names):
        raise InputError(f"{cls.__qualname__} takes {len(names)} parameters, {len(args)} were given")
    texts = {**dict(zip(names, args, strict=False)), **given}
    return in_core(cls).configure([(name, param_text(value)) for name, value in texts.items()])


def make(cls: type[UserClass]) -> Any:
    """A factory that creates an instance from parsed `__init__` values."""

    def instance(params: dict[str, Any]) -> UserClass:
        made = cls.__new__(cls)
        cls.__init__(made, **params)
        return made

    return instance


def reference(cls: type[UserClass]) -> str:
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


def parameters(cls: type[UserClass]) -> list[Parameter]:
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


def summary(cls: type[UserClass]) -> str:
    """First line of the docstring, without its full stop."""
    return next(iter((cls.__doc__ or "").strip().splitlines()), "").rstrip(".")


def _words(cls: type[UserClass]) -> dict[str, list[str]]:
    """Words of the parameters annotated as Literal."""
    try:
        hints = get_type_hints(cls.__init__)
    except (NameError, AttributeError, TypeError):
        return {}
    return {name: [str(word) for word in get_args(hint)] for name, hint in hints.items() if get_origin(hint) is Literal}
