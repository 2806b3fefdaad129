"""The engine `emulate`: a scenario's links in real time, its flows as real servers and clients of the host's TCP.

One bottleneck is a shell; several links, or a graph of them, are a topology.

What the host decides, the scenario cannot: `stack`, `mss`, delayed acknowledgments and SACK are the kernel's.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

from sojourn import _core
from sojourn.base.errors import InputError, MissingError, unknown
from sojourn.base.units import seconds
from sojourn.engines.emulated import programs, topology
from sojourn.engines.emulated.logs import ENGINE, Payload, result_of
from sojourn.model.aqms.spelling import is_library, is_policy
from sojourn.model.results.payload import bulk_groups, ends_of, payload_summary, windows_with_ends
from sojourn.model.results.result import Result
from sojourn.model.scenarios.scenario import Scenario

DEVICE = Path("/dev/net/tun")
PORT = 5001
"""Of the server; further ports, one for each class that flows name, follow."""
MOST_CLASSES = 100
LOOK_S = 0.05
GRACE_S = 30.0
"""How much longer than the scenario a run may take before it is ended."""

MOST_LATE = 0.01
"""Share of the time that the programs may have been too late: as many packets may be late before a shell says so."""

AT_ONCE = max(1, (os.cpu_count() or 1) // 2)
"""Runs at the same time: more would wait for each other."""

_free = threading.Semaphore(AT_ONCE)


def allow(runs: int) -> None:
    """Let so many runs go on at the same time, from the next one on, instead of `AT_ONCE`."""
    global _free
    _free = threading.Semaphore(runs)


def identity() -> str:
    """Name in the hash of a run. Real programs never give the same numbers twice; a finished run is kept."""
    return ENGINE


def check(scenario: Scenario) -> None:
    """Refuse what cannot be emulated."""
    document = scenario.document
    if document["probes"].get("senders"):
        raise InputError("probes.senders: only the programs know what their senders do; leave it out")
    for place, link in topology.links(document):
        for key, why in _NO_KEYS_OF_LINKS.items():
            if link.get(key):
                raise InputError(f"{place}.{key}: {why}")
    if document.get("wlan"):
        raise InputError("wlan: a wireless LAN cannot be emulated; simulate it")
    if not all(is_library(name) or is_policy(name) for name in scenario.user_aqms()):
        remedy = "write it as a library (sojourn aqm new NAME), or simulate it (leave --engine out)"
        raise InputError(f"link.aqm: a queue manager in Python is too slow for an emulated link; {remedy}")
    _check_flows(document)
    if not DEVICE.exists():
        raise MissingError(f"{DEVICE} is missing; `sojourn doctor` says what emulation needs")


_NO_KEYS_OF_LINKS = {
    "wlan": "a wireless LAN cannot be emulated; simulate it",
    "below": "an emulated link has no buffer there; leave it out",
    "gro": "an emulated link takes packets one by one; leave it out",
    "tick": "an emulated link has no clock of its own; leave it out",
}


def _check_flows(document: dict[str, Any]) -> None:
    known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    has = known.read_text(encoding="ascii").split() if known.exists() else ["cubic"]
    for index, flow in enumerate(document["flows"]):
        if flow["kind"] not in KINDS:
            raise InputError(f"flows[{index}].kind: {flow['kind']} cannot be emulated; there is {', '.join(KINDS)}")
        for key in sorted((REFUSED | REFUSED_OF.get(flow["kind"], set())) & flow.keys()):
            raise InputError(f"flows[{index}].{key}: cannot be emulated; leave it out")
        if flow["stack"].startswith("quic"):
            raise InputError(f"flows[{index}].stack: emulated flows are TCP of the host; leave it out")
        if flow["cc"] not in has:
            raise InputError(f"flows[{index}].cc: this kernel has no {flow['cc']}; it has {', '.join(has)}")
    for key, what in (("ecn", "ECN"), ("gso", "gso")):
        if len({bool(flow.get(key)) for flow in document["flows"]}) > 1:
            raise InputError(f"flows: all of an emulated run use {what}, or none; write the same everywhere")
    if len(_classes(document)) > MOST_CLASSES:
        raise InputError(f"flows: an emulated run has up to {MOST_CLASSES} classes; name fewer")


def run(
    scenario: Scenario,
    seed: int,
    progress: Callable[[float], None] | None = None,
    wishes: topology.Wishes = topology.Wishes(),  # noqa: B008 (it cannot change)
) -> Result:
    """Run a scenario once, in as long as it lasts.

    What `sojourn ctl` changed meanwhile is among the `[[changes]]` of the result's scenario.
    """
    check(scenario)
    with TemporaryDirectory(prefix="sojourn-") as name:
        folder = Path(name)
        spec = spec_of(scenario, seed)
        (folder / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
        document = scenario.document
        several = topology.is_one(document)
        words = (
            topology.words(scenario, seed, folder, spec, classes_of(document), wishes)
            if several
            else _words(scenario, seed, folder, wishes)
        )
        with _free:
            load = _emulate(words, spec, progress, shown=wishes.meter is not None)
        logs = topology.logs(folder, document) if several else None
        result, payload = result_of(folder, scenario, seed, traffic=True, logs=logs)
        reports = [json.loads((folder / f"group-{n}.json").read_text()) for n in range(len(spec["groups"]))]
        downward = [flow["direction"] == "forward" for flow in document["flows"]]
        lasts = topology.last_queues(folder) if several else [int(not down) for down in downward]
    _add_traffic(result, reports, payload, lasts)
    _add_load(result, reports, load)
    return result


def spec_of(scenario: Scenario, seed: int) -> dict[str, Any]:
    """What the clients are to do."""
    document = scenario.document
    groups, classes = [], _classes(document)
    for flow in document["flows"]:
        times = {key: seconds(flow[key]) for key in TIMES if key in flow}
        sizes = {key: _core.size_bytes(flow[key]) for key in ("size", "request") if key in flow}
        plain = {key: flow[key] for key in ("kind", "count", "cc", "direction", "random") if key in flow}
        about = {"delay": flow["access_delay"], "port": PORT + classes.index(flow.get("class"))}
        about |= {"dscp": _core.dscp(flow["dscp"])} if "dscp" in flow else {}
        groups.append({**plain, **times, **sizes, **about})
    mtu = max(_core.size_bytes(link["mtu"]) for _, link in topology.links(document))
    return {
        "groups": groups,
        "duration": seconds(document["duration"]),
        "seed": seed,
        "ecn": bool(document["flows"][0]["ecn"]),
        "sojourn": topology.SHELL,
        "delays": [f"--mtu={mtu}B", *_gso(document)],
    }


def _classes(document: dict[str, Any]) -> list[str | None]:
    """Classes that the flows name, none among them; the server has a port for each, by which the shell knows it."""
    return sorted({flow.get("class") for flow in document["flows"]}, key=lambda name: name or "")


def classes_of(document: dict[str, Any]) -> list[str]:
    """Classes with their ports, as `--class` takes them."""
    return [f"{PORT + number}={name}" for number, name in enumerate(_classes(document)) if name]


def _gso(document: dict[str, Any]) -> list[str]:
    return ["--gso=keep"] if document["flows"][0].get("gso") else []


def _words(scenario: Scenario, seed: int, folder: Path, wishes: topology.Wishes) -> list[str]:
    """Command line of the shell: both links, the server at the outer end, the clients inside."""
    document = scenario.document
    links = [f"--{side}={json.dumps(document[key])}" for side, key in (("down", "link"), ("up", "reverse"))]
    script = [sys.executable, programs.__file__]
    ports = [str(PORT + number) for number in range(len(_classes(document)))]
    server = f"--peer={shlex.join([*script, 'serve', *ports])}"
    named = [f"--class={one}" for one in classes_of(document)]
    changes = [f"--changes={json.dumps(document['changes'])}"] if "changes" in document else []
    changes += _wished(wishes)
    options = [f"--seed={seed}", f"--log={folder}", "--quiet", server, *named, *changes, *_gso(document)]
    return ["link", *links, *options, "--", *script, "clients", str(folder / "spec.json")]


def _wished(wishes: topology.Wishes) -> list[str]:
    """Options of a shell, whose only link is called `link`."""
    if wishes.meter not in (None, "link"):
        raise InputError(f"--meter: {unknown('link', str(wishes.meter), ['link'])}")
    named = [f"--name={wishes.name}"] if wishes.name else []
    return [*named, *(["--meter"] if wishes.meter else []), *([f"--pcap={wishes.pcap}"] if wishes.pcap else [])]


def _emulate(
    words: list[str], spec: dict[str, Any], progress: Callable[[float], None] | None, *, shown: bool
) -> list[float]:
    """Run a shell to its end; the machine's load average, minute by minute, and at both ends.

    What it says is for the terminal if a link is `shown` there, else for a message.
    """
    duration = spec["duration"]
    load = [os.getloadavg()[0]]
    environment = {**os.environ, "SOJOURN_ECN": "1" if spec["ecn"] else "0"}
    begun = time.monotonic()
    told = None if shown else subprocess.PIPE
    with subprocess.Popen([*spec["sojourn"], *words], env=environment, stderr=told, text=True) as shell:
        try:
            while shell.poll() is None:
                time.sleep(LOOK_S)
                passed = time.monotonic() - begun
                if passed > len(load) * 60:
                    load.append(os.getloadavg()[0])
                if progress:
                    progress(min(1.0, passed / duration))
                if passed > duration + GRACE_S:
                    raise MissingError(
                        f"the emulation did not end {GRACE_S:.0f} s after its time; see `sojourn doctor`"
                    )
        finally:
            if shell.poll() is None:
                shell.terminate()
                try:
                    shell.wait(5)
                except subprocess.TimeoutExpired:
                    shell.kill()
        said = shell.stderr.read() if shell.stderr else ""
    if shell.returncode:
        last = said.strip().splitlines()[-1:] or [f"exit code {shell.returncode}"]
        raise MissingError(f"the emulated run failed: {last[0].removeprefix('Error: ')}")
    return [*load, os.getloadavg()[0]]


def _add_load(result: Result, reports: list[dict[str, Any]], load: list[float]) -> None:
    """Add how busy the machine was, and whether the programs had the CPU that they needed."""
    emulation = result.totals["emulation"]
    late = max(report["late_s"] for report in reports) / result.duration_s
    emulation["load"] = {"mean": sum(load) / len(load), "most": max(load), "cpus": os.cpu_count()}
    emulation["programs_late"] = late
    if late > MOST_LATE:
        emulation["faults"].append(f"the clients waited for a CPU for {late:.1%} of the time (bound: {MOST_LATE:.0%})")


def _add_traffic(result: Result, reports: list[dict[str, Any]], payload: Payload, lasts: list[int]) -> None:
    """Add groups, flows and the table of transfers: what the clients saw, and the payload that left the links.

    `lasts` has of each group the last queue that its data pass.
    """
    totals, flows = result.totals, result.scenario.document["flows"]
    epoch_ns = totals["emulation"]["epoch_ns"]
    errors = [report["error"] for report in reports if report["error"]]
    if errors:
        totals["emulation"]["faults"].append(f"a connection failed: {errors[0]}")

    bulk = bulk_groups(result.scenario)

    def since(start_ns: int) -> dict[str, Any]:
        span = range(start_ns, round(1e9 * result.duration_s))
        return ends_of(*_ends(flows, reports, payload[start_ns], lasts, epoch_ns, span), bulk)

    totals |= since(round(1e9 * result.warmup_s))
    if "windows" in result.table_names:
        windows = result.table("windows")
        ends = {start: since(start) for start in windows["start_ns"].unique().sort()}
        for name, table in windows_with_ends(windows, ends).items():
            result.add_table(name, table)
    rows = [
        (number, 0, max(0, start - epoch_ns), duration, size)
        for number, report in enumerate(reports)
        for start, duration, size in report["transfers"]
    ]
    schema = {
        "group": pl.UInt32,
        "flow": pl.UInt32,
        "start_ns": pl.UInt64,
        "duration_ns": pl.UInt64,
        "bytes": pl.UInt64,
    }
    result.add_table("transfers", pl.DataFrame(rows, schema=schema, orient="row"))


def _ends(
    flows: list[dict[str, Any]],
    reports: list[dict[str, Any]],
    arrived: list[dict[int, int]],
    lasts: list[int],
    epoch_ns: int,
    span: range,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Groups and flows that last as the logs and the clients know them in `span`, ns of the run up to its end.

    `arrived` has the payload that left the queues in it, by queue and flow; `lasts` the last queue of each group.
    """
    steps = range(*((epoch_ns + at) // programs.STEP_NS for at in (span.start, span.stop)))
    window_s = len(span) / 1e9
    groups: list[dict[str, Any]] = []
    lasting: list[dict[str, Any]] = []
    for group, (flow, report, last) in enumerate(zip(flows, reports, lasts, strict=True)):
        downward = flow["direction"] == "forward"
        # What a program has read was delivered; of what it writes it knows nothing more.
        delivered, *each = (
            _within(told, steps) if downward else None
            for told in (report["delivered"], *(told for _, told in report["flows"]))
        )
        counts = [arrived[last].get(_flow_number(end, downward), 0) for end in report["ends"]]
        groups.append(_group(flow, report, payload_summary(sum(counts), delivered, window_s)))
        for (end, _), read in zip(report["flows"], each, strict=True):
            about = {"id": len(lasting), "group": group, "kind": flow["kind"], "direction": flow["direction"]}
            lasting.append(about | payload_summary(counts[end], read, window_s))
    return groups, lasting


def _within(arrived: dict[str, int], window: range) -> int:
    """Bytes that came in the statistics' window."""
    return sum(count for step, count in arrived.items() if int(step) in window)


def _flow_number(ends: list[list[Any]], downward: bool) -> int:
    """Number of a connection's data in the log, from its addresses and ports: the client's, then the server's."""
    (source, port), (destination, other) = reversed(ends) if downward else ends
    return _core.emulated_flow(ip_address(source).packed, ip_address(destination).packed, port, other)


def _group(flow: dict[str, Any], report: dict[str, Any], payload: dict[str, Any]) -> dict[str, Any]:
    times = np.array([duration for _, duration, _ in report["transfers"]], np.uint64)
    return {
        "kind": flow["kind"],
        "direction": flow["direction"],
        **payload,
        "opened": report["opened"],
        "closed": report["closed"],
        "transfers": len(report["transfers"]),
        "completion_ms": json.loads(_core.quantiles_ms(times)),
    }


KINDS = ("tcp", "web", "request")
TIMES = ("start", "spread", "interval", "stop", "think", "gap")
REFUSED = {
    *("middlebox", "initial_window", "receive_window", "access_rate", "at_once", "abc", "gro", "nagle"),
    *("pacing", "max_pacing_rate", "send_buffer", "stagger", "rtt_stagger"),
}
"""Keys of flows that the host's TCP or its programs do not know."""
REFUSED_OF = {"tcp": {"size", "pause"}}
"""Keys of some kinds."""
