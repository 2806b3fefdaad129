"""Base class of users' congestion controls."""

from __future__ import annotations

from typing import ClassVar

from sojourn import _core
from sojourn.base.errors import InputError
from sojourn.model.aqms.hooks import hooks_of
from sojourn.model.aqms.user_class import UserClass, make, parameters
from sojourn.model.ccs.calls import Calls


class Cc(Calls, UserClass):
    """A congestion control: derive from it to write one, `class Mine(sojourn.Cc)`; see docs/own_cc.md.

    With `ssthresh` and `grow` the TCP stack recovers from losses, and the control grows the window and says what it
    falls to. With `ack` the control sets window and pacing rate itself. All other methods are optional: a method that
    a class does not define is not called. Windows are counted in segments, times are integer nanoseconds, rates bit/s.
    An instance stands for the class and its parameters; each connection creates its own instance. `text` is the
    spelling in files and on the command line.
    """

    needs: ClassVar[tuple[str, ...]] = ()
    """Services beyond the methods: "ecn", "ect1", "accurate_ecn", "echo_per_packet", "paces", "causes",
    "grows_unlimited", "partial_ack_ends", "ect_on_control", "wide_buffer", "long_recovery"."""

    @classmethod
    def _of_core(cls, name: str) -> _core.ControlClass:
        methods = hooks_of(cls, Calls, f"would never change the window; {_WRITE}")
        window, steers = {"ssthresh", "grow"} & set(methods), "ack" in methods
        if window and steers:
            raise InputError(f"{cls.__qualname__} defines ack and {sorted(window)[0]}; a control has one of the two")
        if not steers and len(window) < 2:
            raise InputError(f"{cls.__qualname__} lacks a method that it needs; {_WRITE}")
        if unfit := sorted((WINDOW_ONLY if steers else STEER_ONLY) & set(methods)):
            other = "ssthresh and grow" if steers else "ack"
            raise InputError(f"{cls.__qualname__}.{unfit[0]} is never called without {other}; leave it out")
        needs: object = cls.needs
        if not isinstance(needs, tuple | list) or not all(isinstance(need, str) for need in needs):
            raise InputError(f'{cls.__qualname__}.needs is not a tuple of names; write e.g. needs = ("ecn",)')
        return _core.ControlClass(name, parameters(cls), make(cls), (methods, list(needs)))


_WRITE = "write ssthresh(self, cx) and grow(self, cx, ack), or ack(self, cx, sample)"
WINDOW_ONLY = {"acked", "report", "reduced", "timed_out", "min_cwnd"}
"""Methods that are called only if the stack recovers from losses."""
STEER_ONLY = {"lost", "repaired", "congestion"}
"""Methods that are called only if the control sets the window itself."""
