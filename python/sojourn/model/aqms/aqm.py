"""Base class of users' queue managers."""

from __future__ import annotations

from typing import Any, ClassVar, cast

from sojourn.model.aqms.algorithm import configure, make
from sojourn.model.aqms.hooks import Hooks
from sojourn.model.aqms.source import source_digest


class AqmMeta(type):
    """Metaclass that parses texts into numbers: `MyAqm(target="5 ms")` passes nanoseconds to `__init__`."""

    def __call__(cls, *args: Any, **params: Any) -> Any:
        """Create an instance and store the call's arguments as its spelling."""
        user = cast("type[Aqm]", cls)
        text, values = configure(user, args, params)
        made = make(user)(values)
        made._text = text
        return made


class Aqm(Hooks, metaclass=AqmMeta):
    """A queue manager: derive from it to write one, `class MyAqm(sojourn.Aqm)`; see docs/python_aqm.md.

    The methods are those of the Rust trait, and all are optional: a method that a class does not define is not called.
    Times are integer nanoseconds. An instance stands for the class and its parameters; each queue creates its own
    instance. `text` is the spelling in files and on the command line.
    """

    judges_overflow: ClassVar[bool] = False
    """Whether `enqueue` also judges packets beyond the limits, and may make room for them."""

    _digest: ClassVar[str | None] = None
    _text: str = ""

    def __init_subclass__(cls) -> None:
        """Record the digest of the source, which is part of the key of stored results."""
        cls._digest = source_digest(cls)

    @property
    def text(self) -> str:
        """Spelling in files and on the command line."""
        return self._text

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Aqm) and bool(self.text) and other.text == self.text)

    def __hash__(self) -> int:
        return hash(self.text) if self.text else id(self)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.text}>"
