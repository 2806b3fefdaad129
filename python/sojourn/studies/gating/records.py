"""Records that finished networks write into the folder `SOJOURN_NET_OUT`; any of them may be damaged or hostile."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn.base.errors import InputError
from sojourn.base.inputs import parse_json, read_bytes
from sojourn.base.shapes import find_mismatch, is_count, is_text

FORMAT = 1
FOLDER, SEEDS, SEED = "SOJOURN_NET_OUT", "SOJOURN_SEEDS", "SOJOURN_SEED"
"""Environment of the tested program: folder of the records, range of seeds, one seed."""
MAX_BYTES = 64 << 20
"""Maximum size of a record."""
MAX_RECORDS = 100_000
MAX_SHOWN = 6
"""Maximum number of seeds or names listed in an error."""
REMEDY = "run the tests again with the same version of sojourn-net"


@dataclass(frozen=True)
class Record:
    """A finished network with one seed."""

    path: Path
    name: str
    world: str
    """Hash of the canonical scenario."""
    scenario: dict[str, Any]
    seed: int
    summary: dict[str, Any]
    histogram: dict[str, Any]
    fingerprint: str
    decisions: str
    """Hash of the decision log."""
    versions: dict[str, str]

    @property
    def log(self) -> Path:
        """Decision log beside the record."""
        return self.path.with_suffix(".decisions")


def read_records(folder: Path) -> list[Record]:
    """Read every record in a folder, sorted by name and seed; raises `InputError` about the first bad one."""
    paths = sorted(path for path in folder.glob("[!.]*.json"))
    if len(paths) > MAX_RECORDS:
        raise InputError(f"{folder}: {len(paths)} records, at most {MAX_RECORDS} are supported; use fewer seeds")
    found: dict[tuple[str, int], Record] = {}
    for path in paths:
        record = read_record(path)
        if other := found.get((record.name, record.seed)):
            raise InputError(
                f'{path.name}: second record of "{record.name}" with seed {record.seed} beside {other.path.name}; '
                "give each network of the tests a name of its own"
            )
        if path.name != f"{record.name}-{record.seed}.json":
            raise InputError(f'{path.name}: is of "{record.name}" with seed {record.seed}; {REMEDY}')
        if not record.log.is_file():
            raise InputError(f"{path.name}: its decision log {record.log.name} is missing; {REMEDY}")
        found[record.name, record.seed] = record
    return [found[key] for key in sorted(found)]


def read_record(path: Path) -> Record:
    """Read one record."""
    if not path.is_file():
        raise InputError(f"{path.name}: not a regular file; {REMEDY}")
    if (size := path.stat().st_size) > MAX_BYTES:
        raise InputError(f"{path.name}: {size >> 20} MiB, at most {MAX_BYTES >> 20} are read; {REMEDY}")
    try:
        document = parse_json(read_bytes(path, "record"))
    except InputError as error:
        raise InputError(f"{path.name}: {error}") from None
    except ValueError:
        raise InputError(f"{path.name}: truncated, or not JSON; {REMEDY}") from None
    if isinstance(document, dict) and document.get("format", FORMAT) != FORMAT:
        raise InputError(f"{path.name}: format {_shown(document['format'])}, this version reads {FORMAT}; {REMEDY}")
    if (place := find_mismatch("record", document, _SHAPE)) is not None:
        raise InputError(f"{path.name}: {place.removeprefix('record.')} is missing or of a wrong type; {REMEDY}")
    fields = {name: document[name] for name in _SHAPE if name != "format"}
    return Record(path, **fields)


def check_seeds(records: Sequence[Record], seeds: Sequence[int]) -> None:
    """Raise `InputError` unless every name has a record for each of the seeds, and for no other."""
    by_name: dict[str, dict[int, Record]] = {}
    for record in records:
        by_name.setdefault(record.name, {})[record.seed] = record
    for name, own in by_name.items():
        if other := sorted(own.keys() - set(seeds)):
            raise InputError(
                f"{own[other[0]].path.name}: seed {other[0]} is none of {seeds[0]}-{seeds[-1]}; "
                f"the tests must use the seeds of {SEEDS}"
            )
        if lacking := sorted(set(seeds) - own.keys()):
            several = "s" if len(lacking) > 1 else ""
            raise InputError(
                f'"{name}": no record of seed{several} {listed(lacking)}; the tests must run each network with '
                f"every seed of {SEEDS}"
            )
        worlds = {record.world: record for record in own.values()}
        if len(worlds) > 1:
            first, second = sorted(record.path.name for record in worlds.values())[:2]
            raise InputError(f'"{name}": {first} and {second} are of different worlds; name the networks differently')


def listed(items: Sequence[object]) -> str:
    """The first items of a list, for a line of text."""
    more = f" and {len(items) - MAX_SHOWN} more" if len(items) > MAX_SHOWN else ""
    return ", ".join(map(str, items[:MAX_SHOWN])) + more


def _shown(value: Any) -> str:
    return repr(value)[:40]


def _is_name(value: Any) -> bool:
    return is_text(value) and re.fullmatch(r"[^/\x00-\x1f\x7f]{1,200}", value) is not None


def _is_hash(value: Any) -> bool:
    return is_text(value) and re.fullmatch(r"[0-9a-f]{16}", value) is not None


def _is_version(value: Any) -> bool:
    return is_text(value) and len(value) <= 200


def _is_table(value: Any) -> bool:
    return isinstance(value, dict)


_SHAPE: dict[str, Any] = {
    "format": is_count,
    "name": _is_name,
    "world": _is_hash,
    "scenario": _is_table,
    "seed": is_count,
    "summary": _is_table,
    "histogram": _is_table,
    "fingerprint": _is_hash,
    "decisions": _is_hash,
    "versions": {"sojourn": _is_version, "*": _is_version},
}
