"""Conversion of a shell's log (`sojourn link --log FOLDER`) to a result like a simulation's."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

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
"""Directions: the forward link of a result and its reverse path."""
Payload = dict[int, list[dict[int, int]]]
"""Payload bytes without retransmissions that left the links after a time in ns (the key): by queue and flow."""
SHELL = "shell.json"
"""Report that the shell writes at its end."""


def make_result(folder: Path | str) -> Result | None:
    """Add tables and manifest to the folder of a link's log; None for another kind of shell."""
    folder = Path(folder)
    if any(head["head"]["kind"] != "link" for head in _heads(folder)):
        return None
    with _explained_write_errors(folder):
        return store.save_in(read_result(folder), folder, list(shell_report(folder)["command"]))


def read_result(folder: Path | str) -> Result:
    """Result of a link's log, without files of its own."""
    folder = Path(folder)
    report = shell_report(folder)
    result, _ = result_of(folder, scenario_of(_heads(folder), report), int(report["seed"]))
    return result


def discard(folder: Path | str) -> None:
    """Remove the folder of a log that nobody keeps."""
    shutil.rmtree(folder, ignore_errors=True)


def repair(folder: Path | str) -> Result:
    """Make the result of a shell that was killed before it could, from the records on disk.

    The shell's CPU time and the drops of its devices are unknown; the manifest has this as a fault. A damaged report of
    the shell is kept beside the new one. Raises `InputError` if the log needs no repair, or is not a link's.
    """
    folder = Path(folder)
    if (folder / store.MANIFEST).exists():
        raise InputError(f"{folder}: already has its manifest; there is nothing to repair")
    remove_stale(folder)
    if _read_report(folder) is None:
        heads = _heads(folder)
        if (folder / SHELL).exists():
            (folder / SHELL).rename(folder / f"{SHELL}.damaged")
        down = heads[0]["head"]
        report = {
            "seed": down["seed"],
            "command": down["command"].split(" "),
            "epoch_ns": down["epoch_ns"],
            "wall_ns": max(head["end_ns"] for head in heads),
            "faults": [ENDED_EARLY],
        }
        text = json.dumps(dict.fromkeys(_REPORT_KEYS) | report)
        with _explained_write_errors(folder):
            write_file(folder / SHELL, lambda file: file.write(text.encode()))
    if (result := make_result(folder)) is None:
        raise InputError(f"{folder}: is the log of a delay or a loss; only a link's log can become a result")
    return result


@contextmanager
def _explained_write_errors(folder: Path) -> Iterator[None]:
    """Turn a write error, such as a full disk, into one that says how to go on with the records."""
    try:
        yield
    except OSError as error:
        remedy = f"free some space, then make a result of the records, which are complete: sojourn log repair {folder}"
        raise MissingError(f"{error.filename or folder}: {error.strerror or error}; {remedy}") from None


def _heads(folder: Path) -> list[dict[str, Any]]:
    """Header and time of the last record of each direction's file, down first."""
    heads = []
    for path in (folder / f"{side}.records" for side in SIDES):
        head = json.loads(_core.emulated_head(str(path)))
        if not _HEAD.keys() <= head["head"].keys() or any(
            not isinstance(head["head"][key], kind) for key, kind in _HEAD.items()
        ):
            raise InputError(f"{path}: has a damaged header; give the log as the shell wrote it")
        heads.append(head)
    return heads


def result_of(
    folder: Path, scenario: Scenario, seed: int, *, traffic: bool = False, logs: list[Path] | None = None
) -> tuple[Result, Payload]:
    """Result of a run of `scenario` with its `shell.json` in `folder`, and the payload that left the queues.

    `logs` are those of all queues in the scenario's order, by default a shell's in the folder. Flows are included if
    `traffic`.
    """
    report = shell_report(folder)
    paths = logs or [folder / f"{side}.records" for side in SIDES]
    output, link_reports, payload, lost = _core.emulated([str(path) for path in paths], scenario.canonical)
    result = Result.of(with_ordered_changes(scenario, paths) if traffic else _without_traffic(scenario), seed, output)
    result.engine = ENGINE
    if "packets" in result.table_names:
        result.add_table("packets", _with_losses(result.table("packets"), lost))
    links = json.loads(link_reports)
    if not traffic:
        links = _by_side(links, payload[round(1e9 * result.warmup_s)], result.duration_s - result.warmup_s)
    emulation = {key: report[key] for key in _REPORT_KEYS} | {"links": links}
    # Only the programs know the delivered payload and its process.
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


def _with_losses(packets: pl.DataFrame, lost: Sequence[Sequence[int]]) -> pl.DataFrame:
    """Table `packets` with the column `lost`; `lost` are positions among the arrivals of each queue."""
    pairs = [(link, arrival) for link, arrivals in enumerate(lost) for arrival in arrivals]
    key = ["link", "arrival"]
    found = pl.DataFrame(pairs, schema=key, orient="row").with_columns(pl.lit(True).alias("lost"))
    found = found.with_columns(pl.col(name).cast(packets.schema[name]) for name in key)
    joined = packets.join(found, on=key, how="left", maintain_order="left", validate="m:1")
    return joined.with_columns(pl.col("lost").fill_null(value=False))


def _by_side(links: Mapping[str, Any], left: Sequence[dict[int, int]], seconds: float) -> dict[str, Any]:
    """Report of each direction of a shell with its goodput over `seconds`, by the direction's name."""
    goodputs = [payload_summary(sum(flows.values()), None, seconds)["goodput_bps"] for flows in left]
    both = zip(SIDES, links.values(), goodputs, strict=True)
    return {side: {**report, "goodput_bps": goodput} for side, report, goodput in both}


def shell_report(folder: Path) -> dict[str, Any]:
    """Report that the shell wrote at its end; raises `InputError` without a valid one."""
    if (report := _read_report(folder)) is not None:
        return report
    if not any(folder.glob("*.records")):
        raise InputError(f"{folder}: not the log of a shell; give the folder of sojourn link --log")
    what = (
        "was not written by a shell"
        if (folder / SHELL).exists()
        else "is missing, the shell has not ended or was killed"
    )
    raise InputError(f"{folder / SHELL}: {what}; the records are there, repair the log: sojourn log repair {folder}")


def _read_report(folder: Path) -> dict[str, Any] | None:
    """Report that the shell wrote at its end; None if it is missing or damaged."""
    try:
        report = parse_json((folder / SHELL).read_bytes())
    except (OSError, ValueError):
        return None
    is_complete = isinstance(report, dict) and report.keys() >= {*_REPORT_KEYS, "seed", "command"}
    return report if is_complete and isinstance(report["command"], list) and isinstance(report["seed"], int) else None


def scenario_of(heads: list[dict[str, Any]], report: dict[str, Any]) -> Scenario:
    """Scenario of a shell: its two links. The command makes the traffic, so the flow is a placeholder."""
    down, up = (head["head"] for head in heads)
    end_ns = max(1, *(head["end_ns"] for head in heads))
    document = {
        "name": " ".join(report["command"]),
        "duration": f"{end_ns} ns",
        "seed": report["seed"],
        "link": down["link"],
        "reverse": up["link"],
        "flows": [{"kind": "tcp"}],
        "probes": PROBES,
    }
    if changes := _changes(down, up):
        document["changes"] = changes
    return Scenario.build(document)


def with_ordered_changes(scenario: Scenario, paths: Sequence[Path]) -> Scenario:
    """Scenario whose `[[changes]]` include those ordered by `sojourn ctl` during the run."""
    planned = scenario.document.get("changes", [])
    planned_keys = {(_core.duration_ns(entry["at"]), *one) for entry in planned for one in _keys(entry)}
    ordered = []
    for number, path in enumerate(paths):
        for change in json.loads(_core.emulated_head(str(path)))["head"].get("changes", ()):
            at, values = _core.duration_ns(change["at"]), {key: change[key] for key in change if key != "at"}
            entry = _entry(scenario.document, number, values)
            if any((at, *one) not in planned_keys for one in _keys(entry)):
                ordered.append({"at": change["at"], **entry})
    if not ordered:
        return scenario
    changes = sorted([*planned, *ordered], key=lambda entry: _core.duration_ns(entry["at"]))
    return Scenario.build({**scenario.document, "changes": changes})


def _entry(document: dict[str, Any], number: int, values: dict[str, Any]) -> dict[str, Any]:
    """Entry of `[[changes]]`, without its time, that sets values of the queue with this number."""
    first = 0 if "nodes" in document else 1
    if number < 2 * first:
        return {("link", "reverse")[number]: values}
    hop = document["links"][number // 2 - first]["name"]
    return {"links": {hop: {"reverse": values} if number % 2 else values}}


def _keys(entry: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Paths of the keys that an entry of `[[changes]]` changes."""
    return ((*path, key) for path, keys in changed_directions(entry) for key in keys)


def _changes(down: dict[str, Any], up: dict[str, Any]) -> list[dict[str, Any]]:
    """Changes of the links during the run as `[[changes]]`, in order of time."""
    entries = [
        {"at": change["at"], key: {name: value for name, value in change.items() if name != "at"}}
        for key, head in (("link", down), ("reverse", up))
        for change in head.get("changes", ())
    ]
    return sorted(entries, key=lambda entry: int(entry["at"].removesuffix(" ns")))


def _without_traffic(scenario: Scenario) -> Scenario:
    """Remove the placeholder flow from the scenario."""
    document = {**scenario.document, "flows": []}
    return Scenario(json.dumps(document, ensure_ascii=False))


PROBES = {"packets": True, "queue": "10 ms", "state": "10 ms", "utilisation": "1 s"}
"""Probes of a shell's result; all follow from the packets in the log."""
ENDED_EARLY = "the shell was killed before it wrote its report; unwritten records are missing"
"""Fault of a repaired log: the records of its last second may be missing."""
_HEAD = {"kind": str, "seed": int, "command": str, "epoch_ns": int}
"""Keys and types of a record file's header."""
_REPORT_KEYS = (
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
