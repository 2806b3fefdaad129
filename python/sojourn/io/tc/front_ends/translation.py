"""Commands of `tc` that a front end derives from its configuration, with the lines they come from."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field

from sojourn.io.tc.directions import ImportOptions


@dataclass
class Translation:
    """Commands of a front end, its unsupported parts and guesses."""

    options: ImportOptions
    """Options of the import, completed by the configuration."""
    commands: list[tuple[int, str]] = field(default_factory=list)
    """Commands, each with the line of the configuration behind it."""
    notes: list[str] = field(default_factory=list)
    """Unsupported parts, each with its line."""
    assumed: list[str] = field(default_factory=list)
    """Guesses, each with its line."""

    def add(self, line: int, command: str, device: str, *words: str) -> None:
        """Add a command about a device, such as `qdisc add`; each of `words` may hold several."""
        more = " ".join(shlex.quote(word) for text in words for word in text.split())
        self.commands.append((line, f"tc {command} dev {shlex.quote(device)} {more}"))

    def redirect(self, line: int, device: str, target: str) -> None:
        """Redirect the packets that a device receives to another device, which queues them."""
        self.add(line, "filter add", device, "parent ffff: matchall action mirred egress redirect dev", target)

    def note(self, line: int, text: str) -> None:
        """Record an unsupported part."""
        self.notes.append(f"line {line}: {text}")

    def note_line(self, line: int, text: str) -> None:
        """Record a line that is not understood; those of `ip route`, which are read with every configuration, are."""
        if not ROUTE.match(text):
            self.note(line, text.strip()[:MAX_SHOWN])

    def assume(self, line: int, text: str) -> None:
        """Record a guess."""
        self.assumed.append(f"line {line}: {text}")


ROUTE = re.compile(r"\s*(?:(?:unreachable |blackhole )?(?:default|[0-9a-f.:/]+)|nexthop)\b.* dev \S")
MAX_SHOWN = 100
"""Maximum characters of a line in a message."""
