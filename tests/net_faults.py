"""Faults planted in the network for programs and in a stack, quinn. A named test must find each.

`make net-faults` applies one edit after the other to a copy of the crates or of quinn-proto, runs the test that is
named beside it, and fails if it passes. The unchanged copy must pass all of them first.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).parents[1]
FLOW = "crates/sim/src/traffic/endpoint/mod.rs"
SENDING = "crates/sim/src/traffic/endpoint/sending.rs"
HOSTS = "crates/sim/src/hosts.rs"


@dataclass(frozen=True)
class Fault:
    """A textual edit of a source file, and the test that finds it."""

    name: str
    file: str
    before: str
    after: str
    package: str
    test: str


FAULTS = (
    Fault(
        "a GSO train is one packet",
        SENDING,
        "let is_whole = self.gso && bytes.len() > segment",
        "let is_whole = bytes.len() > segment",
        "sojourn-net",
        "world::offload_sends_one_packet_or_several",
    ),
    Fault(
        "ECN is lost on the way to a program that is called",
        FLOW,
        "Received { bytes, from, local, ecn, tag }",
        "Received { bytes, from, local, ecn: Ecn::NotEct, tag }",
        "sojourn-net",
        "world::marks_reach_a_program_that_is_called",
    ),
    Fault(
        "ECN is lost on the way to an event",
        FLOW,
        "EndEvent::Datagram { from, local, ecn, tag }, Some((place, size))",
        "EndEvent::Datagram { from, local, ecn: Ecn::NotEct, tag }, Some((place, size))",
        "sojourn-net",
        "world::marks_reach_the_other_end",
    ),
    Fault(
        "damage stays behind a datagram without a host",
        FLOW,
        "let is_damaged = std::mem::take(&mut parts.hosts.damage);",
        "let is_damaged = parts.hosts.damage;",
        "sojourn-net",
        "world::damage_of_a_datagram_without_a_host_stays_with_it",
    ),
    Fault(
        "sizes have no IP header",
        "crates/sim/src/payload.rs",
        "(ip_bytes(source.ip()) + UDP_BYTES) as u32",
        "UDP_BYTES as u32",
        "sojourn-net",
        "world::a_datagram_has_its_headers_and_its_bytes",
    ),
    Fault(
        "wake-ups come a nanosecond late",
        FLOW,
        ".min(end.wake)",
        ".min(if end.wake == Instant::NEVER { end.wake } else { end.wake + Duration::from_nanos(1) })",
        "sojourn-net",
        "world::a_constant_rate_from_outside_has_the_fingerprint_of_cbr",
    ),
    Fault(
        "duplicates are not delivered",
        FLOW,
        "counts.duplicates += 1;",
        "counts.duplicates += 1;\n            return;",
        "sojourn-net",
        "world::payloads_are_those_of_the_packets_in_flight",
    ),
    Fault(
        "a rebinding keeps the 5-tuple",
        HOSTS,
        "pair.nat = Some((address, (shift + PORT_STEP) % PORTS));",
        "let _ = (address, shift);",
        "sojourn-net",
        "world::a_rebound_source_is_another_flow_and_the_old_address_is_dead",
    ),
    Fault(
        "a packet has the bytes of another",
        "crates/sim/src/payload.rs",
        "entry.bytes.extend_from_slice(bytes);",
        "entry.bytes.resize(bytes.len(), 0);",
        "sojourn-net",
        "world::payloads_are_those_of_the_packets_in_flight",
    ),
    Fault(
        "the far side runs ahead",
        "crates/sim/src/network/lookahead.rs",
        "if self.hosts.is_some()\n            || self.ns2_order",
        "if self.ns2_order",
        "sojourn-sim",
        "endpoint::programs_act_in_order_of_time",
    ),
    Fault(
        "a payload outlives its packets",
        FLOW,
        "host.payloads().release(index);",
        "let _ = index;",
        "sojourn-net",
        "world::payloads_are_those_of_the_packets_in_flight",
    ),
    Fault(
        "a dropped packet keeps its payload",
        "crates/sim/src/packet.rs",
        "            self.release_payload(handle);\n        }\n        self.free_record(handle);",
        "        }\n        self.free_record(handle);",
        "sojourn-net",
        "world::payloads_are_those_of_the_packets_in_flight",
    ),
    Fault(
        "all 5-tuples are one flow",
        HOSTS,
        "let is_first = !std::mem::replace(&mut self.pair_mut(slot).is_flow_used, true);",
        "let is_first = true;",
        "sojourn-net",
        "world::a_five_tuple_is_a_flow_of_the_queue",
    ),
    Fault(
        "every group has hosts of its own",
        "crates/sim/src/scenario/hosts.rs",
        "Some(name) => *known.entry(name).or_insert_with(new),",
        "Some(name) => *known.entry(name).insert_entry(new()).get(),",
        "sojourn-net",
        "world::one_address_is_one_host",
    ),
    Fault(
        "a moved deadline waits for the old one",
        "crates/sim/src/run/programs.rs",
        "true => self.flows.move_end(end, &mut self.network),",
        "true => self.flows.arm_end(end, &mut self.network),",
        "sojourn-net",
        "quinn::every_drive_has_the_fingerprint_of_quinn_inside",
    ),
)


STACK = "quinn-proto"
STACK_FAULTS = (
    Fault(
        "the stack is deaf to CE",
        "src/connection/mod.rs",
        "Ok(false) => {}",
        "Ok(_) if newly_acked > 0 => {}\n            Ok(false) => {}",
        "sojourn-net",
        "stack_budgets::marks_lower_the_rate",
    ),
    Fault(
        "the stack does not pace",
        "src/connection/pacing.rs",
        "if window > u64::from(u32::MAX) {",
        "if window > 0 {",
        "sojourn-net",
        "stack_budgets::bursts_fit_a_short_queue",
    ),
    Fault(
        "the stack's window never falls",
        "src/congestion/cubic.rs",
        "self.window = self.ssthresh;",
        "",
        "sojourn-net",
        "stack_budgets::losses_lower_the_window",
    ),
    Fault(
        "the stack's probes come ten times as late",
        "src/connection/mod.rs",
        "self.path.rtt.pto_base() * backoff;",
        "self.path.rtt.pto_base() * (10 * backoff);",
        "sojourn-net",
        "stack_budgets::a_lost_message_arrives_after_a_probe",
    ),
    Fault(
        "the stack's MTU search trusts a lost probe",
        "src/connection/mod.rs",
        "self.path.mtud.on_probe_lost();",
        "if !self.path.mtud.on_acked(SpaceId::Data, packet, info.size) { self.path.mtud.on_probe_lost(); }",
        "sojourn-net",
        "stack_budgets::the_search_for_the_mtu_rejects_a_black_hole",
    ),
    Fault(
        "the stack never suspects a black hole",
        "src/connection/mtud.rs",
        "const BLACK_HOLE_THRESHOLD: usize = 3;",
        "const BLACK_HOLE_THRESHOLD: usize = 1_000_000;",
        "sojourn-net",
        "stack_budgets::a_black_hole_is_found",
    ),
    Fault(
        "the stack's migration keeps the old window",
        "src/connection/mod.rs",
        "let mut new_path = if remote.is_ipv4() && remote.ip() == self.path.remote.ip() {",
        "let mut new_path = if remote.is_ipv4() {",
        "sojourn-net",
        "stack_budgets::another_address_has_a_window_of_its_own",
    ),
    Fault(
        "the stack delays acknowledgments by two seconds",
        "src/connection/mod.rs",
        ".set(Timer::MaxAckDelay, now + self.ack_frequency.max_ack_delay);",
        ".set(Timer::MaxAckDelay, now + Duration::from_secs(2));",
        "sojourn-net",
        "stack_budgets::a_message_is_acknowledged_in_time",
    ),
    Fault(
        "the stack reads the real clock",
        "src/connection/packet_builder.rs",
        "time_sent: now,",
        "time_sent: Instant::now(),",
        "sojourn-net",
        "stack_budgets::two_runs_make_equal_decisions",
    ),
)


@dataclass(frozen=True)
class Copy:
    """A copy of the crates, the folder of the files that faults edit, and options of cargo there."""

    crates: Path
    edited: Path
    options: tuple[str, ...]

    @classmethod
    def of_crates(cls, folder: Path) -> Copy:
        """Copy the tracked files of the crates."""
        places = ("Cargo.lock", "*.toml", "crates", "examples", "bench")
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *places]
        files = subprocess.run(command, cwd=REPO, check=True, capture_output=True, text=True).stdout.splitlines()
        copy_files(REPO, folder, files)
        return cls(folder, folder, ("--locked",))

    @classmethod
    def of_stack(cls, folder: Path) -> Copy:
        """Copy the crates, and the stack beside them in the version that they lock."""
        crates = cls.of_crates(folder).crates
        # A path dependency inside the workspace's folder would become its member.
        stack = folder.with_name(f"{folder.name}-{STACK}")
        command = ["cargo", "metadata", "--locked", "--all-features", "--format-version", "1"]
        metadata = json.loads(subprocess.run(command, cwd=crates, check=True, capture_output=True).stdout)
        [manifest] = [package["manifest_path"] for package in metadata["packages"] if package["name"] == STACK]
        source = Path(manifest).parent
        copy_files(source, stack, [str(path.relative_to(source)) for path in source.rglob("*")])
        # Another source of a package changes the lock file.
        return cls(crates, stack, ("--offline", "--config", f"patch.crates-io.{STACK}.path={json.dumps(str(stack))}"))


def copy_files(source: Path, target: Path, files: list[str]) -> None:
    """Copy files that differ; the others keep their times, so an earlier build serves."""
    for file in files:
        before, after = source / file, target / file
        if before.is_file() and (not after.exists() or after.read_bytes() != before.read_bytes()):
            after.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(before, after)


def passes(copy: Copy, package: str, tests: list[str]) -> bool:
    """Whether the tests of a package pass in the copy; a build that fails does not count as a found fault."""
    features = ["--features", "quinn"] if package == "sojourn-net" else []
    command = ["cargo", "test", *copy.options, "--package", package, *features, "--tests"]
    environment = os.environ | {"CARGO_TARGET_DIR": str(copy.crates / "target")}
    subprocess.run([*command, "--no-run", "--quiet"], cwd=copy.crates, env=environment, check=True)
    done = subprocess.run(
        [*command, "--", "--exact", *tests], cwd=copy.crates, env=environment, capture_output=True, text=True
    )
    ran = sum(done.stdout.count(f"test {test} ... ") for test in tests)
    if ran < len(tests):
        raise SystemExit(f"{', '.join(tests)}: not among the tests of {package}; correct its name")
    return done.returncode == 0


def missed(copy: Copy, faults: list[Fault]) -> list[str]:
    """Plant one fault after the other, print each verdict, and return the names of those that no test found."""
    for package in sorted({fault.package for fault in faults}):
        tests = sorted({fault.test for fault in faults if fault.package == package})
        if not passes(copy, package, tests):
            raise SystemExit(f"{package}: the unchanged copy fails; correct that first")
    names = []
    for fault in faults:
        file = copy.edited / fault.file
        text = file.read_text("utf-8")
        if text.count(fault.before) != 1:
            raise SystemExit(
                f"{fault.file}: {fault.before!r} is there {text.count(fault.before)} times; correct the fault"
            )
        file.write_text(text.replace(fault.before, fault.after), "utf-8")
        try:
            found = not passes(copy, fault.package, [fault.test])
        finally:
            file.write_text(text, "utf-8")
        print(f"{'found ' if found else 'MISSED'}  {fault.name}: {fault.test}", flush=True)
        names += [] if found else [fault.name]
    return names


def main() -> None:
    """Try the faults whose names contain one of the words given, all without any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="words of the faults to try [all]")
    parser.add_argument("--folder", type=Path, default=REPO / "out" / "net-faults", help="folder of the copy")
    arguments = parser.parse_args()
    names = []
    for faults, copy in ((FAULTS, Copy.of_crates), (STACK_FAULTS, Copy.of_stack)):
        chosen = [
            fault for fault in faults if not arguments.words or any(word in fault.name for word in arguments.words)
        ]
        if chosen:
            names += missed(copy(arguments.folder), chosen)
    sys.exit(1 if names else 0)


if __name__ == "__main__":
    main()
