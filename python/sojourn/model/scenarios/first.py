"""Template for a first scenario."""

from __future__ import annotations

from tomlkit import string

from sojourn.base.inputs import parse_toml
from sojourn.model.scenarios.scenario import Scenario


def first_scenario(*, rate: str, rtt: str, flows: int, aqm: str) -> str:
    """Text of a commented first scenario: one or several downloads and a call over one link.

    Raises `InputError` for values that no scenario can have.
    """
    words = {key: string(value).as_string() for key, value in {"rate": rate, "rtt": rtt, "aqm": aqm}.items()}
    text = _FIRST.format(**words, flows=flows)
    Scenario.build(parse_toml(text))
    return text


_FIRST = """\
# A first scenario: a link that downloads fill, and a call beside them. Change a value and run it again.
# docs/scenario.md has every key; units are obligatory.
name = "first"
duration = "30 s"

[link]
rate = {rate:22}  # also a schedule: "20 Mbit/s@0s,5 Mbit/s@10s"
aqm = {aqm:23}  # "codel target 10ms", "pie ecn", "cake", …: sojourn aqm list
limit = "1000 packets"

[[flows]]
kind = "tcp"
count = {flows}
rtt = {rtt:23}  # without the time in queues
cc = "cubic"                   # sojourn cc list
spread = "1 s"                 # each starts at random within this time

[[flows]]
kind = "voice"

[probes]
packets = true                 # every packet, for figures: sojourn plot timeseries
"""
