"""The compiled core: scenarios, simulations and single queues."""

from collections.abc import Callable, Mapping
from typing import Any, final

import numpy as np
import numpy.typing as npt

__all__ = [
    "InputError",
    "Output",
    "Queue",
    "diff",
    "made_up_arrivals",
    "parse_aqm",
    "parse_scenario",
    "registry",
    "scenario_schema",
    "simulate",
    "tc_queue",
    "version",
]

class InputError(ValueError):
    """Wrong input; the text names the place and the mend."""

def version() -> str:
    """Version of the core."""

def parse_scenario(text: str, sets: list[tuple[str, str]], base: str) -> str:
    """Canonical JSON of a scenario in TOML or JSON, every default written out.

    `sets` are overrides by dotted path, e.g. ("link.rate", "20 Mbit/s"); an empty value removes the key. Relative
    paths of traces start from the folder `base`.
    """

def scenario_schema() -> str:
    """JSON Schema (draft 2020-12) of scenario files."""

def registry() -> str:
    """Everything registered, as JSON.

    Queue managers with parameters and profiles (`aqms`), TCP stacks (`stacks`), congestion controls (`ccs`) and kinds
    of traffic (`traffic`).
    """

def parse_aqm(text: str) -> str:
    """JSON of a queue manager given as a text ("codel@act target 5ms") or as a JSON table.

    It has name, profile, shortest spelling (`text`) and every parameter (`params`).
    """

def diff(
    a: str,
    b: str | None,
    setup: Mapping[str, object],
    arrivals: Mapping[str, npt.NDArray[Any]],
    recorded: Mapping[str, npt.NDArray[Any]] | None = None,
    progress: Callable[[float], object] | None = None,
) -> str:
    """Play arrivals through the discipline `a` and compare with `b` or with what was recorded; JSON.

    `setup`: `rate`, `overhead`, `mtu`, `limit`, `seed`, `kernel` (whose wire and random stream), `early_is_told`,
    `origin_ns`. `arrivals`: `time_ns` (uint64), `bytes`, `flow`, `from_host`, `to_host` (uint32), `ecn` (uint8), in the
    order of time. `recorded`: `fate` (uint8) and `fate_ns` (uint64); the codes are those of a log, then 6 dropped and
    told, 7 dropped and not told, 8 waiting at that time. `progress` as for `simulate`.
    """

def made_up_arrivals(seed: int, packets: int, rate: str) -> dict[str, npt.NDArray[Any]]:
    """Arrivals made up to bring out differences, as columns: `packets` of eight flows for a link of `rate`."""

def tc_queue(aqm: str, line: str, created_ns: int | None) -> tuple[str, str, bool]:
    """Spelling of `aqm` with the parameters of tc's `line` where it gives none itself, and the limit of its queue.

    The third value is whether the kernel tells the sender of that discipline's early drops.
    """

def simulate(scenario_json: str, seed: int, progress: Callable[[float], object] | None = None) -> Output:
    """Simulate a scenario (TOML or JSON text with absolute paths) once.

    The interpreter is free meanwhile; about every 50 ms signals are handled and `progress` is called with the share
    done, from 0 to 1. What either raises ends the run.
    """

@final
class Output:
    """What a run produced."""

    @property
    def summary(self) -> str:
        """Summary as JSON."""

    def tables(self) -> dict[str, dict[str, npt.NDArray[np.generic]]]:
        """Tables by name, each a dictionary of columns; the arrays are the same at every call."""

@final
class Queue:
    """A queue under a queue manager; the caller owns the clock.

    `aqm` in tc's spelling, `limit` like "1000 packets", `rate` of the link below like "10 Mbit/s", `mtu` in bytes.
    Times are integer nanoseconds and never go back. `ecn` is the field of the IP header: 0 Not-ECT, 1 ECT(1),
    2 ECT(0), 3 CE.
    """

    def __new__(
        cls, aqm: str, limit: str = "1000 packets", rate: str = "10 Mbit/s", mtu: int = 1500, seed: int = 1
    ) -> Queue: ...
    def push(self, now_ns: int, size: int, flow: int = 0, ecn: int = 0, tag: Any = None) -> str:
        """Offer a packet of `size` bytes at `now_ns`: "queued", "marked", or "dropped:" and the reason.

        `flow` is the number of its flow, and `tag` comes back when it leaves.
        """

    def pop(self, now_ns: int) -> tuple[Any, int, bool] | None:
        """Take the next packet at `now_ns`: its tag, its sojourn in nanoseconds, and whether it carries a mark.

        None when there is none. The manager may drop packets on the way.
        """

    def dropped(self) -> list[tuple[Any, str]]:
        """Tags and reasons of the packets dropped since the last call."""

    def backlog(self) -> tuple[int, int]:
        """Packets and bytes that wait."""

    def state(self) -> dict[str, float]:
        """State variables of the queue manager by name; times in seconds."""
