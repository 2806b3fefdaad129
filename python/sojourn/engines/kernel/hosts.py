"""Hosts of a scenario in the guest, where each source has an address of its own at either end.

If sources share hosts, traced queues see addresses of the hosts instead (trace.c of sojourn-kernel).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.engines.hosts import hosts_of

if TYPE_CHECKING:
    import numpy.typing as npt

HOST_NET = int(IPv4Address("10.128.0.0"))
CLIENT_PORTS = 65536 - 10_000


@dataclass(frozen=True)
class HostTable:
    """Numbers of the hosts of each source."""

    numbers: npt.NDArray[np.uint32]
    """Row per source: its host, and that of its sink."""

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> HostTable:
        """Hosts of a canonical scenario."""
        return cls(hosts_of(document))

    @property
    def is_shared(self) -> bool:
        """Whether any two ends are on one host."""
        return len(np.unique(self.numbers)) < self.numbers.size

    def addresses(self, source: int, own: tuple[str, str]) -> tuple[str, str]:
        """Addresses of a source and its sink in the traced queues; `own` are those elsewhere."""
        if not self.is_shared:
            return own
        near, far = (str(IPv4Address(HOST_NET | int(number))) for number in self.numbers[source])
        return near, far

    def table(self) -> bytes:
        """`struct hosts_of_source` of each source: sources of the same two hosts use different ports."""
        pairs = [tuple(sorted(map(int, pair))) for pair in self.numbers]
        counts, seen = Counter(pairs), Counter[tuple[int, ...]]()
        shifts = np.zeros(len(pairs), np.uint32)
        for source, pair in enumerate(pairs):
            shifts[source] = seen[pair] * (CLIENT_PORTS // counts[pair])
            seen[pair] += 1
        return np.column_stack([self.numbers, shifts]).astype("<u4").tobytes()
