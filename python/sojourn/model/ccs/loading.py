"""Loads congestion controls written in Python: `my_cc.py:Mine`."""

from __future__ import annotations

from typing import cast

from sojourn import _core
from sojourn.model.aqms.loading import Wanted, class_in_core
from sojourn.model.ccs.cc import Cc

CC = Wanted(Cc, "congestion control", "derive the class from sojourn.Cc", "my_cc.py:Mine")


def control_named(name: str, base: str) -> _core.ControlClass:
    """The class called `name` as a control of the core; called by the core. Relative paths start from `base`."""
    return cast(_core.ControlClass, class_in_core(name, base, CC))
