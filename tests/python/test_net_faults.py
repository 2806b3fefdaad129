"""The faults that `make net-faults` plants in the crates are edits of the sources as they are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

import net_faults


@pytest.mark.parametrize("fault", net_faults.FAULTS, ids=lambda fault: fault.name)
def test_the_text_of_a_fault_is_there_once(fault: net_faults.Fault) -> None:
    text = (net_faults.REPO / fault.file).read_text("utf-8")
    assert text.count(fault.before) == 1
    assert fault.after != fault.before


def test_names_of_faults_are_distinct() -> None:
    names = [fault.name for fault in (*net_faults.FAULTS, *net_faults.STACK_FAULTS)]
    assert len(set(names)) == len(names)
