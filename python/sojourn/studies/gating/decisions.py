"""Decision logs: one line per datagram sent, and the first difference of two logs.

After the line `sojourn-decisions 1` and a line of JSON (name, world, seed, scenario) come lines of the form
`time_ns end local remote bytes ecn tag`, separated by single spaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import IO

from sojourn.base.errors import InputError
from sojourn.base.inputs import parse_json
from sojourn.studies.gating.records import REMEDY, Record

HEAD = b"sojourn-decisions 1\n"
MAX_LINE = 4096
MAX_HEADER = 16 << 20
"""Maximum bytes of a decision's line, and of the second line with the scenario."""
_LINE = re.compile(rb"(\d{1,19}) (\S+) (\S+) (\S+) (\d{1,10}) (-|ect0|ect1|ce) (\S+)\n")


@dataclass(frozen=True)
class Decision:
    """A datagram sent."""

    time_ns: int
    end: str
    local: str
    remote: str
    size: int
    ecn: str
    tag: str
    line: str


@dataclass(frozen=True)
class Difference:
    """First different decision of two logs; a log without it ended before."""

    number: int
    """Number of the datagram, from 1 on."""
    first: Decision | None
    second: Decision | None
    guess: str
    """Likely cause."""


def check_log(record: Record) -> None:
    """Raise `InputError` unless the beginning of a record's log is that of the record's network."""
    with record.log.open("rb") as file:
        _read_header(record, file)


def count_decisions(record: Record) -> int:
    """Number of datagrams in a log, each line checked."""
    return sum(1 for _ in _decisions(record))


def first_difference(first: Record, second: Record) -> Difference | None:
    """Compare the logs of two runs of a network; raises `InputError` if one is damaged."""
    one, two = _decisions(first), _decisions(second)
    number = 0
    while True:
        number += 1
        a, b = next(one, None), next(two, None)
        if a is None and b is None:
            return None
        if a is None or b is None or a.line != b.line:
            return Difference(number, a, b, _guess(a, b, is_reordered=_multiset(a, one) == _multiset(b, two)))


def _guess(a: Decision | None, b: Decision | None, *, is_reordered: bool) -> str:
    if is_reordered:
        return "the same datagrams in another order: threads, or the order of a hash table"
    if a is None or b is None:
        return "one run sends more: a random draw, or a clock that ends it"
    if (a.end, a.local, a.remote, a.size, a.ecn, a.tag) == (b.end, b.local, b.remote, b.size, b.ecn, b.tag):
        return "only the time differs: a real clock is read"
    if a.end != b.end:
        return "another end sends first: threads, or the order of a hash table"
    if a.size != b.size:
        return "the size differs: a random draw, such as the length of an identifier or of padding"
    return "addresses, ECN field or tag differ: a random draw"


def _multiset(first: Decision | None, rest: Iterator[Decision]) -> int:
    """Hash of the remaining lines that does not depend on their order."""
    total = _hash(first.line) if first else 0
    for decision in rest:
        total = (total + _hash(decision.line)) % 2**128
    return total


def _hash(line: str) -> int:
    return int.from_bytes(blake2b(line.encode(), digest_size=16).digest(), "little")


def _decisions(record: Record) -> Iterator[Decision]:
    with record.log.open("rb") as file:
        _read_header(record, file)
        last_ns = 0
        for number, line in enumerate(iter(lambda: file.readline(MAX_LINE), b""), 3):
            found = _LINE.fullmatch(line)
            if found is None:
                how = (
                    "truncated" if not line.endswith(b"\n") else "not a decision (time end local remote bytes ecn tag)"
                )
                raise InputError(f"{record.log.name}: line {number}: {how}; {REMEDY}")
            if int(found[1]) < last_ns:
                raise InputError(f"{record.log.name}: line {number}: earlier than the line before it; {REMEDY}")
            last_ns = int(found[1])
            end, local, remote, ecn, tag = (found[place].decode(errors="replace") for place in (2, 3, 4, 6, 7))
            text = line[:-1].decode(errors="replace")
            yield Decision(last_ns, end, local, remote, int(found[5]), ecn, tag, text)


def _read_header(record: Record, file: IO[bytes]) -> None:
    name = record.log.name
    if file.readline(len(HEAD)) != HEAD:
        raise InputError(f'{name}: line 1 is not "{HEAD.decode().strip()}"; {REMEDY}')
    line = file.readline(MAX_HEADER)
    try:
        about = parse_json(line) if line.endswith(b"\n") else None
    except ValueError:
        about = None
    if not isinstance(about, dict):
        raise InputError(f"{name}: line 2 is not a JSON object; {REMEDY}")
    for key, expected in (("name", record.name), ("world", record.world), ("seed", record.seed)):
        if about.get(key) != expected:
            raise InputError(f"{name}: its {key} is not that of {record.path.name}; {REMEDY}")
