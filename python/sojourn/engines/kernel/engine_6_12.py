"""The engine `kernel-6.12`."""

from __future__ import annotations

from functools import partial

from sojourn.engines.kernel import engine

__all__ = ["check", "identity", "run"]

VERSION = "6.12"

check = engine.check
identity = partial(engine.identity, version=VERSION)
run = partial(engine.run, version=VERSION)
