"""Clocks and random sources of a process that follow a net for the duration of a run.

A module that has copied a function (`from time import time`) before keeps the original one.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from sojourn.base.errors import InputError

if TYPE_CHECKING:
    from sojourn.apps.net.loop import NetLoop

EPOCH = 1_767_225_600
"""Unix time of the start of a run: 2026-01-01 00:00 UTC."""
NAMES = ("time.time", "time.monotonic", "time.perf_counter", "os.urandom", "random")
"""Clocks and random sources that can be replaced."""


@contextmanager
def patched(names: Iterable[str], loop: NetLoop) -> Iterator[None]:
    """Replace clocks and random sources by those of a loop, and restore them."""
    names = [names] if isinstance(names, str) else list(names)
    for name in names:
        if name not in NAMES:
            raise InputError(f"patch: {name!r} cannot be replaced; choose from {', '.join(NAMES)}")
    with ExitStack() as stack:
        for name in names:
            if name == "os.urandom":
                source = random.Random(f"sojourn.net {loop.net.seed} {name}")
                _replace(stack, os, "urandom", source.randbytes)
                # The source of random.SystemRandom, and so of the module secrets.
                _replace(stack, random, "_urandom", source.randbytes)
            elif name == "random":
                stack.callback(random.setstate, random.getstate())
                random.seed(f"sojourn.net {loop.net.seed} {name}")
            else:
                clock = name.partition(".")[2]
                start = EPOCH if clock == "time" else 0
                _replace(stack, time, clock, _seconds(loop, start))
                _replace(stack, time, f"{clock}_ns", _nanoseconds(loop, start))
        yield


def _replace(stack: ExitStack, module: Any, name: str, value: Callable[..., Any]) -> None:
    stack.callback(setattr, module, name, getattr(module, name))
    setattr(module, name, value)


def _seconds(loop: NetLoop, start: int) -> Callable[[], float]:
    return lambda: start + loop.time()


def _nanoseconds(loop: NetLoop, start: int) -> Callable[[], int]:
    return lambda: start * 1_000_000_000 + round(loop.time() * 1e9)
