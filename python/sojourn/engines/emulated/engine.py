"""The engine `emulate`: links in real time, flows as real servers and clients over the host's TCP.

One bottleneck is a shell; several links, or a graph of them, are a topology. The host decides `stack`, `mss`, delayed
acknowledgments and SACK, not the scenario.
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
from sojourn.engines.emulated.ports import Ports
from sojourn.model.aqms.spelling import is_library, is_policy
from sojourn.model.results.payload import bulk_groups, ends_of, payload_summary, windows_with_ends
from sojourn.model.results.result import Result
from sojourn.model.scenarios.scenario import Scenario

DEVICE = Path("/dev/net/tun")
MAX_PORTS = 1000
POLL_S = 0.05
GRACE_S = 30.0
"""Time after the scenario's end when a run is killed."""

MAX_LATE = 0.01
"""Maximum fraction of the time that the programs may be late; a shell allows the same fraction of late packets."""

AT_ONCE = max(1, (os.cpu_count() or 1) // 2)
"""Concurrent runs; more would compete for CPUs."""

_slots = threading.Semaphore(AT_ONCE)


def set_concurrency(runs: int) -> None:
    """Set the number of concurrent runs, `AT_ONCE` by default, from the next run on."""
    global _slots
    _slots = threading.Semaphore(runs)


def identity(_scenario: Scenario | None = None, /) -> str:
    """Name in the hash of a run. Real programs are not reproducible, so a finished run is kept."""
    return ENGINE


def check(scenario: Scenario) -> None:
    """Raise `InputError` or `MissingError` if the scenario cannot be emulated here."""
    document = scenario.document
    if document["probes"].get("senders"):
        raise InputError("probes.senders: an emulated run does not record senders; leave it out")
    for place, link in topology.links(document):
        for key, why in _REFUSED_LINK_KEYS.items():
            if link.get(key):
                raise InputError(f"{place}.{key}: {why}")
    if document.get("wlan"):
        raise InputError("wlan: a wireless LAN cannot be emulated; simulate it")
    if not all(is_library(name) or is_policy(name) for name in scenario.user_aqms()):
        remedy = "write it as a library (sojourn aqm new NAME), or simulate it (leave --engine out)"
        raise InputError(f"link.aqm: a queue manager in Python is too slow for an emulated link; {remedy}")
    _check_flows(document)
    if not DEVICE.exists():
        raise MissingError(f"{DEVICE} is missing; see `sojourn doctor`")


_REFUSED_LINK_KEYS = {
    "wlan": "a wireless LAN cannot be emulated; simulate it",
    "below": "an emulated link has no buffer below its queue; leave it out",
    "gro": "an emulated link has no receive offload; leave it out",
    "tick": "an emulated link has no clock of its own; leave it out",
}


def _check_flows(document: dict[str, Any]) -> None:
    known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    available = known.read_text(encoding="ascii").split() if known.exists() else ["cubic"]
    for index, flow in enumerate(document["flows"]):
        if flow["kind"] not in KINDS:
            raise InputError(
                f"flows[{index}].kind: {flow['kind']} cannot be emulated; expected one of {', '.join(KINDS)}"
            )
        for key in sorted((REFUSED | REFUSED_BY_KIND.get(flow["kind"], set())) & flow.keys()):
            raise InputError(f"flows[{index}].{key}: cannot be emulated; leave it out")
        if flow["kind"] == "web" and flow["direction"] == "reverse":
            raise InputError(f"flows[{index}].direction: pages are emulated as downloads only; leave it out")
        if flow["stack"].startswith("quic"):
            raise InputError(f"flows[{index}].stack: emulated flows are TCP of the host; leave it out")
        if flow["cc"] not in available:
            raise InputError(f"flows[{index}].cc: this kernel has no {flow['cc']}; it has {', '.join(available)}")
    for key, what in (("ecn", "ECN"), ("gso", "gso")):
        if len({bool(flow.get(key)) for flow in document["flows"]}) > 1:
            raise InputError(f"flows: all of an emulated run use {what}, or none; write the same everywhere")
    if len(Ports.of(document).all) > MAX_PORTS:
        raise InputError(f"flows: an emulated run tells up to {MAX_PORTS} classes and pairs of hosts apart; name fewer")


def run(
    scenario: Scenario,
    seed: int,
    progress: Callable[[float], None] | None = None,
    live: topology.LiveOptions = topology.LiveOptions(),  # noqa: B008 (it cannot change)
) -> Result:
    """Run a scenario once, in real time.

    Changes made by `sojourn ctl` during the run are in `[[changes]]` of the result's scenario.
    """
    check(scenario)
    with TemporaryDirectory(prefix="sojourn-") as name:
        folder = Path(name)
        spec = spec_of(scenario, seed)
        (folder / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
        document = scenario.document
        several = topology.is_topology(document)
        words = (topology.arguments if several else _words)(scenario, spec, folder, live)
        with _slots:
            load = _emulate(words, spec, progress, shown=live.meter is not None)
        logs = topology.logs(folder, document) if several else None
        result, payload = result_of(folder, scenario, seed, traffic=True, logs=logs)
        reports = [json.loads((folder / f"group-{n}.json").read_text()) for n in range(len(spec["groups"]))]
        downward = [flow["direction"] == "forward" for flow in document["flows"]]
        last_queues = topology.last_queues(folder) if several else [int(not down) for down in downward]
    _add_traffic(result, reports, payload, last_queues)
    _add_load(result, reports, load)
    return result


def spec_of(scenario: Scenario, seed: int) -> dict[str, Any]:
    """Specification of the clients' traffic and of the server's ports, for spec.json."""
    document = scenario.document
    ports = Ports.of(document)
    groups = []
    for flow, used in zip(document["flows"], ports.by_group, strict=True):
        times = {key: seconds(flow[key]) for key in TIMES if key in flow}
        sizes = {key: _core.size_bytes(flow[key]) for key in ("size", "request") if key in flow}
        plain = {key: flow[key] for key in ("kind", "count", "cc", "direction", "random") if key in flow}
        path = {"delay": flow["access_delay"], "ports": used}
        path |= {"dscp": _core.dscp(flow["dscp"])} if "dscp" in flow else {}
        groups.append({**plain, **times, **sizes, **path})
    mtu = max(_core.size_bytes(link["mtu"]) for _, link in topology.links(document))
    return {
        "groups": groups,
        "duration": seconds(document["duration"]),
        "seed": seed,
        "ecn": bool(document["flows"][0]["ecn"]),
        "sojourn": topology.SHELL,
        "delays": [f"--mtu={mtu}B", *_gso(document)],
        "ports": ports.all,
        "classes": ports.classes,
        "hosts": ports.hosts,
    }


def _gso(document: dict[str, Any]) -> list[str]:
    return ["--gso=keep"] if document["flows"][0].get("gso") else []


def _words(scenario: Scenario, spec: dict[str, Any], folder: Path, live: topology.LiveOptions) -> list[str]:
    """Command line of the shell: both links, the server outside, the clients inside."""
    document = scenario.document
    links = [f"--{side}={json.dumps(document[key])}" for side, key in (("down", "link"), ("up", "reverse"))]
    script = [sys.executable, programs.__file__]
    server = f"--peer={shlex.join([*script, 'serve', *map(str, spec['ports'])])}"
    rules = [*(f"--class={one}" for one in spec["classes"]), *(f"--hosts={one}" for one in spec["hosts"])]
    changes = [f"--changes={json.dumps(document['changes'])}"] if "changes" in document else []
    changes += _live_options(live)
    options = [f"--seed={spec['seed']}", f"--log={folder}", "--quiet", server, *rules, *changes, *_gso(document)]
    return ["link", *links, *options, "--", *script, "clients", str(folder / "spec.json")]


def _live_options(live: topology.LiveOptions) -> list[str]:
    """Shell options of the live options; a shell's only link is called `link`."""
    if live.meter not in (None, "link"):
        raise InputError(f"--meter: {unknown('link', str(live.meter), ['link'])}")
    name = [f"--name={live.name}"] if live.name else []
    return [*name, *(["--meter"] if live.meter else []), *([f"--pcap={live.pcap}"] if live.pcap else [])]


def _emulate(
    words: list[str], spec: dict[str, Any], progress: Callable[[float], None] | None, *, shown: bool
) -> list[float]:
    """Run a shell to its end; returns the load average at the start, each minute, and at the end.

    Stderr goes to the terminal if a link is `shown` there, otherwise into the error message.
    """
    duration = spec["duration"]
    load = [os.getloadavg()[0]]
    environment = {**os.environ, "SOJOURN_ECN": "1" if spec["ecn"] else "0"}
    start = time.monotonic()
    stderr = None if shown else subprocess.PIPE
    with subprocess.Popen([*spec["sojourn"], *words], env=environment, stderr=stderr, text=True) as shell:
        try:
            while shell.poll() is None:
                time.sleep(POLL_S)
                passed = time.monotonic() - start
                if passed > len(load) * 60:
                    load.append(os.getloadavg()[0])
                if progress:
                    progress(min(1.0, passed / duration))
                if passed > duration + GRACE_S:
                    raise MissingError(
                        f"the emulation did not end within {GRACE_S:.0f} s of its scheduled end; see `sojourn doctor`"
                    )
        finally:
            if shell.poll() is None:
                shell.terminate()
                try:
                    shell.wait(5)
                except subprocess.TimeoutExpired:
                    shell.kill()
        errors = shell.stderr.read() if shell.stderr else ""
    if shell.returncode:
        last = errors.strip().splitlines()[-1:] or [f"exit code {shell.returncode}"]
        raise MissingError(f"the emulated run failed: {last[0].removeprefix('Error: ')}")
    return [*load, os.getloadavg()[0]]


def _add_load(result: Result, reports: list[dict[str, Any]], load: list[float]) -> None:
    """Add the machine's load and the share of time that the programs waited for a CPU."""
    emulation = result.totals["emulation"]
    late = max(report["late_s"] for report in reports) / result.duration_s
    emulation["load"] = {"mean": sum(load) / len(load), "most": max(load), "cpus": os.cpu_count()}
    emulation["programs_late"] = late
    if late > MAX_LATE:
        emulation["faults"].append(f"the clients waited for a CPU for {late:.1%} of the time (bound: {MAX_LATE:.0%})")


def _add_traffic(result: Result, reports: list[dict[str, Any]], payload: Payload, last_queues: list[int]) -> None:
    """Add groups, flows and the table of transfers, from the clients' reports and the payload that left the links.

    `last_queues` has the last queue on each group's data path.
    """
    totals, flows = result.totals, result.scenario.document["flows"]
    epoch_ns = totals["emulation"]["epoch_ns"]
    errors = [report["error"] for report in reports if report["error"]]
    if errors:
        totals["emulation"]["faults"].append(f"a connection failed: {errors[0]}")

    bulk = bulk_groups(result.scenario)

    def since(start_ns: int) -> dict[str, Any]:
        span = range(start_ns, round(1e9 * result.duration_s))
        return ends_of(*_ends(flows, reports, payload[start_ns], last_queues, epoch_ns, span), bulk)

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
    last_queues: list[int],
    epoch_ns: int,
    span: range,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Groups and long-lived flows in `span`, in ns of the run up to its end, from logs and clients' reports.

    `arrived` is the payload that left the queues in the span, by queue and flow; `last_queues` is by group.
    """
    steps = range(*((epoch_ns + at) // programs.STEP_NS for at in (span.start, span.stop)))
    window_s = len(span) / 1e9
    groups: list[dict[str, Any]] = []
    long_lived: list[dict[str, Any]] = []
    for group, (flow, report, last) in enumerate(zip(flows, reports, last_queues, strict=True)):
        downward = flow["direction"] == "forward"
        # Bytes read by a client are delivered; a sending client does not know what arrived.
        delivered, *each = (
            _within(read, steps) if downward else None
            for read in (report["delivered"], *(read for _, read in report["flows"]))
        )
        counts = [arrived[last].get(_flow_number(end, downward), 0) for end in report["ends"]]
        groups.append(_group(flow, report, payload_summary(sum(counts), delivered, window_s)))
        for (end, _), read in zip(report["flows"], each, strict=True):
            header = {"id": len(long_lived), "group": group, "kind": flow["kind"], "direction": flow["direction"]}
            long_lived.append(header | payload_summary(counts[end], read, window_s))
    return groups, long_lived


def _within(arrived: dict[str, int], window: range) -> int:
    """Bytes read within the window of steps."""
    return sum(count for step, count in arrived.items() if int(step) in window)


def _flow_number(ends: list[list[Any]], downward: bool) -> int:
    """Flow number of a connection's data in the log, from (address, port) of the client and of the server."""
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
"""Keys of flows that the host's TCP or our programs lack."""
REFUSED_BY_KIND = {"tcp": {"size", "pause"}}
"""Further refused keys by kind."""
