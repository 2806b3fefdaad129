"""The base of a user's own queue manager."""

from __future__ import annotations

from typing import Any, ClassVar, cast

from sojourn.model.aqms.algorithm import configure, make
from sojourn.model.aqms.hooks import Hooks
from sojourn.model.aqms.source import source_digest


class Configured(type):
    """Calls a user's class with numbers for texts: `MyAqm(target="5 ms")` gives its `__init__` nanoseconds."""

    def __call__(cls, *args: Any, **params: Any) -> Any:
        """An instance of a user's class; what it was called with is its spelling."""
        user = cast("type[Aqm]", cls)
        text, values = configure(user, args, params)
        made = make(user)(values)
        made._text = text
        return made


class Aqm(Hooks, metaclass=Configured):
    """A queue manager: derive from it to write one, `class MyAqm(sojourn.Aqm)`; docs/python_aqm.md tells how.

    The methods are those of the Rust trait, and none is needed: what a class does not define is not called. Times are
    whole nanoseconds. An instance that a program makes stands for the class and its parameters; each queue makes one
    of its own. `text` is the spelling in files and on the command line.
    """

    judges_overflow: ClassVar[bool] = False
    """Whether `enqueue` judges also packets that do not fit into the limits, and may make room for them."""

    _digest: ClassVar[str | None] = None
    _text: str = ""

    def __init_subclass__(cls) -> None:
        """Note the source, which is part of what a result is stored under."""
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
