"""Base class of users' queue managers."""

from __future__ import annotations

from typing import ClassVar

from sojourn import _core
from sojourn.model.aqms.hooks import Hooks, hooks_of
from sojourn.model.aqms.user_class import UserClass, make, parameters, summary


class Aqm(Hooks, UserClass):
    """A queue manager: derive from it to write one, `class MyAqm(sojourn.Aqm)`; see docs/python_aqm.md.

    The methods are those of the Rust trait, and all are optional: a method that a class does not define is not called.
    Times are integer nanoseconds. An instance stands for the class and its parameters; each queue creates its own
    instance. `text` is the spelling in files and on the command line.
    """

    judges_overflow: ClassVar[bool] = False
    """Whether `enqueue` also judges packets beyond the limits, and may make room for them."""

    @classmethod
    def _of_core(cls, name: str) -> _core.Algorithm:
        methods = hooks_of(cls, Hooks, "would be tail drop; write e.g. def dequeue(self, cx, queue)")
        return _core.Algorithm(name, summary(cls), parameters(cls), make(cls), methods, bool(cls.judges_overflow))
