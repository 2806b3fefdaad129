"""From the folder that a shell writes (`sojourn link --log FOLDER`) to a result as a simulation's."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sojourn import _core
from sojourn.base.errors import InputError, MissingError
from sojourn.base.files import remove_stale, write_file
from sojourn.base.inputs import parse_json
from sojourn.model.results.payload import payload_summary, windows_with_ends
from sojourn.model.results.result import Result
from sojourn.model.scenarios.scenario import Scenario, changed_directions
from sojourn.studies.runs import store

ENGINE = "emulate"
SIDES = ("down", "up")
"""The directions: the forward link of a result, and the reverse path."""
Payload = dict[int, list[dict[int, int]]]
"""Payload in bytes that left the links for the first time from an instant on, in ns: by queue and flow."""
SHELL = "shell.json"
"""What the shell says about itself."""


def make_result(folder: Path | str) -> Result | None:
    """Add the tables and the manifest of a result to the folder of a link's logs; None for another kind of shell."""
    folder = Path(folder)
    told = told_by_shell(folder)
    heads = _heads(folder)
    if any(head["head"]["kind"] != "link" for head in heads):
        return None
    scenario = scenario_of(heads, told)
    result, _ = result_of(folder, scenario, int(told["seed"]))
    with _writing(folder):
        return store.save_in(result, folder, list(told["command"]))


def repair(folder: Path | str) -> Result:
    """Make the result of a shell that was ended before it could, such as by kill -9, from the records that are there.

    What only the shell knew is absent: its CPU time, and what the devices lost. The manifest names this as a fault.
    What the shell has told in a damaged file stays beside the new one. Raises `InputError` where there is nothing to
    repair, or no link's records.
    """
    folder = Path(folder)
    if (folder / store.MANIFEST).exists():
        raise InputError(f"{folder}: has its manifest already; there is nothing to repair")
    remove_stale(folder)
    if _told(folder) is None:
        heads = _heads(folder)
        if (folder / SHELL).exists():
            (folder / SHELL).rename(folder / f"{SHELL}.damaged")
        down = heads[0]["head"]
        told = {
            "seed": down["seed"],
            "command": down["command"].split(" "),
            "epoch_ns": down["epoch_ns"],
            "wall_ns": max(head["end_ns"] for head in heads),
            "faults": [ENDED_EARLY],
        }
        text = json.dumps(dict.fromkeys(_TOLD) | told)
        with _writing(folder):
            write_file(folder / SHELL, lambda file: file.write(text.encode()))
    if (result := make_result(folder)) is None:
        raise InputError(f"{folder}: is the log of a delay or a loss; only a link's becomes a result")
    return result


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Say of a full disk, or whatever keeps a file from being written, how to go on with the records."""
    try:
        yield
    except OSError as error:
        remedy = f"free some space, then make a result of the records, which are whole: sojourn log repair {folder}"
        raise MissingError(f"{error.filename or folder}: {error.strerror or error}; {remedy}") from None


def _heads(folder: Path) -> list[dict[str, Any]]:
    """What each direction's file says about itself, and when its last record was, down first."""
    heads = []
    for path in (folder / f"{side}.records" for side in SIDES):
        head = json.loads(_core.emulated_head(str(path)))
        if not _HEAD.keys() <= head["head"].keys() or any(
            not isinstance(head["head"][key], kind) for key, kind in _HEAD.items()
        ):
            raise InputError(f"{path}: has a damaged head; give the log as the shell wrote it")
        heads.append(head)
    return heads


def result_of(
    folder: Path, scenario: Scenario, seed: int, *, traffic: bool = False, logs: list[Path] | None = None
) -> tuple[Result, Payload]:
    """Result of a run of `scenario` whose `shell.json` is in `folder`; without its flows unless `traffic`.

    `logs` are those of all queues in the order of the scenario, or those of a shell in the folder. And the payload that
    left the queues for the first time.
    """
    told = told_by_shell(folder)
    paths = logs or [folder / f"{side}.records" for side in SIDES]
    output, about, payload = _core.emulated([str(path) for path in paths], scenario.canonical)
    result = Result.of(as_it_ran(scenario, paths) if traffic else _without_traffic(scenario), seed, output)
    result.engine = ENGINE
    links = json.loads(about)
    if not traffic:
        links = _by_side(links, payload[round(1e9 * result.warmup_s)], result.duration_s - result.warmup_s)
    emulation = {key: told[key] for key in _TOLD} | {"links": links}
    # What was delivered, and to which process, only the programs know.
    result.totals |= {"delivered_bps": None, "jain": None, "emulation": emulation}
    if "windows" in result.table_names:
        windows = result.table("windows")
        ends = {
            start: payload_summary(sum(payload[start][0].values()), None, result.duration_s - start / 1e9)
            for start in windows["start_ns"].unique().sort()
        }
        for name, table in windows_with_ends(windows, ends).items():
            result.add_table(name, table)
    return result, payload


def _by_side(links: Mapping[str, Any], left: Sequence[dict[int, int]], seconds: float) -> dict[str, Any]:
    """What is told of each direction of a shell, with the goodput of what left it in so many seconds, by its name."""
    goodputs = [payload_summary(sum(flows.values()), None, seconds)["goodput_bps"] for flows in left]
    both = zip(SIDES, links.values(), goodputs, strict=True)
    return {side: {**told, "goodput_bps": goodput} for side, told, goodput in both}


def told_by_shell(folder: Path) -> dict[str, Any]:
    """Return what the shell wrote at its end."""
    if (told := _told(folder)) is not None:
        return told
    if not any(folder.glob("*.records")):
        raise InputError(f"{folder}: not the log of a shell; give the folder of sojourn link --log")
    what = (
        "is not what a shell writes"
        if (folder / SHELL).exists()
        else "is missing, the shell has not ended or was killed"
    )
    raise InputError(f"{folder / SHELL}: {what}; the records are there, repair the log: sojourn log repair {folder}")


def _told(folder: Path) -> dict[str, Any] | None:
    """What the shell wrote at its end; None if it has not, or if that is damaged."""
    try:
        told = parse_json((folder / SHELL).read_bytes())
    except (OSError, ValueError):
        return None
    is_whole = isinstance(told, dict) and told.keys() >= {*_TOLD, "seed", "command"}
    return told if is_whole and isinstance(told["command"], list) and isinstance(told["seed"], int) else None


def scenario_of(heads: list[dict[str, Any]], told: dict[str, Any]) -> Scenario:
    """Scenario of a shell: its two links. Its traffic is the command's, so there are no flows in it."""
    down, up = (head["head"] for head in heads)
    end_ns = max(1, *(head["end_ns"] for head in heads))
    document = {
        "name": " ".join(told["command"]),
        "duration": f"{end_ns} ns",
        "seed": told["seed"],
        "link": down["link"],
        "reverse": up["link"],
        "flows": [{"kind": "tcp"}],
        "probes": PROBES,
    }
    if changes := _changes(down, up):
        document["changes"] = changes
    return Scenario.build(document)


def as_it_ran(scenario: Scenario, paths: Sequence[Path]) -> Scenario:
    """Scenario with what its links were ordered to change while it ran: beside what it planned, as `[[changes]]`."""
    planned = scenario.document.get("changes", [])
    known = {(_core.duration_ns(entry["at"]), *one) for entry in planned for one in _keys(entry)}
    ordered = []
    for number, path in enumerate(paths):
        for change in json.loads(_core.emulated_head(str(path)))["head"].get("changes", ()):
            at, values = _core.duration_ns(change["at"]), {key: change[key] for key in change if key != "at"}
            entry = _entry(scenario.document, number, values)
            if any((at, *one) not in known for one in _keys(entry)):
                ordered.append({"at": change["at"], **entry})
    if not ordered:
        return scenario
    changes = sorted([*planned, *ordered], key=lambda entry: _core.duration_ns(entry["at"]))
    return Scenario.build({**scenario.document, "changes": changes})


def _entry(document: dict[str, Any], number: int, values: dict[str, Any]) -> dict[str, Any]:
    """What an entry of `[[changes]]` has of values of the direction of a link with this number."""
    first = 0 if "nodes" in document else 1
    if number < 2 * first:
        return {("link", "reverse")[number]: values}
    hop = document["links"][number // 2 - first]["name"]
    return {"links": {hop: {"reverse": values} if number % 2 else values}}


def _keys(entry: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Paths of what an entry of `[[changes]]` changes."""
    return ((*path, key) for path, keys in changed_directions(entry) for key in keys)


def _changes(down: dict[str, Any], up: dict[str, Any]) -> list[dict[str, Any]]:
    """What changed in the links while they ran, as `[[changes]]`: in the order of time."""
    entries = [
        {"at": change["at"], key: {name: value for name, value in change.items() if name != "at"}}
        for key, head in (("link", down), ("reverse", up))
        for change in head.get("changes", ())
    ]
    return sorted(entries, key=lambda entry: int(entry["at"].removesuffix(" ns")))


def _without_traffic(scenario: Scenario) -> Scenario:
    """Return the scenario as it is in a result; the placeholder for a command's traffic is no traffic."""
    document = {**scenario.document, "flows": []}
    return Scenario(json.dumps(document, ensure_ascii=False))


PROBES = {"packets": True, "queue": "10 ms", "state": "10 ms", "utilisation": "1 s"}
"""What a result of a shell has: the packets are in the log, the rest follows from them."""
ENDED_EARLY = "the shell was ended before it could tell how it went; what it had not yet written is missing"
"""The fault of a repaired log: the records of its last second may never have reached the file."""
_HEAD = {"kind": str, "seed": int, "command": str, "epoch_ns": int}
"""What the head of a direction's file has, and of what type."""
_TOLD = (
    "epoch_ns",
    "wall_ns",
    "cpu_ns",
    "realtime",
    "hidden_drops",
    "stalls",
    "cpu_waiting",
    "cpu_steal",
    "faults",
)
