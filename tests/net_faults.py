"""Faults planted in the network for programs, each of which a named test must find.

`make net-faults` applies one edit after the other to a copy of the crates, runs the test that is named beside it, and
fails if it passes. The unchanged copy must pass all of them first.
"""

from __future__ import annotations

import argparse
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
        "if self.gso && passes",
        "if passes",
        "sojourn-net",
        "offload_sends_one_packet_or_several",
    ),
    Fault(
        "ECN is lost on the way to a program that is called",
        FLOW,
        "Received { bytes, from, local, ecn, tag }",
        "Received { bytes, from, local, ecn: Ecn::NotEct, tag }",
        "sojourn-net",
        "marks_reach_a_program_that_is_called",
    ),
    Fault(
        "ECN is lost on the way to an event",
        FLOW,
        "(EndEvent::Datagram { from, local, ecn, tag }, Some((place, size)));",
        "(EndEvent::Datagram { from, local, ecn: Ecn::NotEct, tag }, Some((place, size)));",
        "sojourn-net",
        "marks_reach_the_other_end",
    ),
    Fault(
        "damage stays behind a datagram without a host",
        FLOW,
        "let is_damaged = std::mem::take(&mut parts.hosts.damage);",
        "let is_damaged = parts.hosts.damage;",
        "sojourn-net",
        "damage_of_a_datagram_without_a_host_stays_with_it",
    ),
    Fault(
        "sizes have no IP header",
        SENDING,
        "const UDP_IPV4: u32 = 28;",
        "const UDP_IPV4: u32 = 8;",
        "sojourn-net",
        "a_datagram_has_its_headers_and_its_bytes",
    ),
    Fault(
        "wake-ups come a nanosecond late",
        FLOW,
        ".min(end.wake)",
        ".min(if end.wake == Instant::NEVER { end.wake } else { end.wake + Duration::from_nanos(1) })",
        "sojourn-net",
        "a_constant_rate_from_outside_has_the_fingerprint_of_cbr",
    ),
    Fault(
        "duplicates are not delivered",
        FLOW,
        "counts.duplicates += 1;",
        "counts.duplicates += 1;\n            return;",
        "sojourn-net",
        "payloads_are_those_of_the_packets_in_flight",
    ),
    Fault(
        "a rebinding keeps the 5-tuple",
        HOSTS,
        "pair.nat = Some((address, (shift + PORT_STEP) % PORTS));",
        "let _ = (address, shift);",
        "sojourn-net",
        "a_rebound_source_is_another_flow_and_the_old_address_is_dead",
    ),
    Fault(
        "a packet has the bytes of another",
        "crates/sim/src/payload.rs",
        "payload.bytes.extend_from_slice(bytes);",
        "payload.bytes.resize(bytes.len(), 0);",
        "sojourn-net",
        "payloads_are_those_of_the_packets_in_flight",
    ),
    Fault(
        "the far side runs ahead",
        "crates/sim/src/network/lookahead.rs",
        "if self.hosts.is_some()\n            || self.ns2_order",
        "if self.ns2_order",
        "sojourn-sim",
        "programs_act_in_order_of_time",
    ),
    Fault(
        "a payload outlives its packets",
        FLOW,
        "host.program_parts().payloads.release(index);",
        "let _ = index;",
        "sojourn-net",
        "payloads_are_those_of_the_packets_in_flight",
    ),
    Fault(
        "a dropped packet keeps its payload",
        "crates/sim/src/packet.rs",
        "            self.release_payload(handle);\n        }\n        self.free_record(handle);",
        "        }\n        self.free_record(handle);",
        "sojourn-net",
        "payloads_are_those_of_the_packets_in_flight",
    ),
    Fault(
        "all 5-tuples are one flow",
        HOSTS,
        "let is_first = !std::mem::replace(&mut self.pair_mut(slot).is_flow_used, true);",
        "let is_first = true;",
        "sojourn-net",
        "a_five_tuple_is_a_flow_of_the_queue",
    ),
    Fault(
        "every group has hosts of its own",
        HOSTS,
        "numbers.entry(address).or_insert((2 * group + end) as u32);",
        "numbers.insert(address, (2 * group + end) as u32);",
        "sojourn-net",
        "one_address_is_one_host",
    ),
    Fault(
        "a moved deadline waits for the old one",
        "crates/sim/src/run/programs.rs",
        "true => self.flows.move_end(end, &mut self.network),",
        "true => self.flows.arm_end(end, &mut self.network),",
        "sojourn-net",
        "every_drive_has_the_fingerprint_of_quinn_inside",
    ),
)


def copied(folder: Path) -> Path:
    """Copy the tracked files, with times that let an earlier build serve."""
    places = ("Cargo.lock", "*.toml", "crates", "examples", "bench")
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *places]
    files = subprocess.run(command, cwd=REPO, check=True, capture_output=True, text=True).stdout.splitlines()
    for file in files:
        source, target = REPO / file, folder / file
        if source.is_file() and (not target.exists() or target.read_bytes() != source.read_bytes()):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    return folder


def passes(copy: Path, package: str, tests: list[str]) -> bool:
    """Whether the tests of a package pass in the copy; a build that fails does not count as a found fault."""
    features = ["--features", "quinn"] if package == "sojourn-net" else []
    command = ["cargo", "test", "--locked", "--package", package, *features, "--tests"]
    environment = os.environ | {"CARGO_TARGET_DIR": str(copy / "target")}
    subprocess.run([*command, "--no-run", "--quiet"], cwd=copy, env=environment, check=True)
    done = subprocess.run(
        [*command, "--", "--exact", *tests], cwd=copy, env=environment, capture_output=True, text=True
    )
    ran = sum(done.stdout.count(f"test {test} ... ") for test in tests)
    if ran < len(tests):
        raise SystemExit(f"{', '.join(tests)}: not among the tests of {package}; correct its name")
    return done.returncode == 0


def main() -> None:
    """Try the faults whose names contain one of the words given, all without any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="words of the faults to try [all]")
    parser.add_argument("--folder", type=Path, default=REPO / "out" / "net-faults", help="folder of the copy")
    arguments = parser.parse_args()
    chosen = [fault for fault in FAULTS if not arguments.words or any(word in fault.name for word in arguments.words)]
    copy = copied(arguments.folder)
    for package in sorted({fault.package for fault in chosen}):
        tests = sorted({fault.test for fault in chosen if fault.package == package})
        if not passes(copy, package, tests):
            raise SystemExit(f"{package}: the unchanged copy fails; correct that first")
    missed = []
    for fault in chosen:
        file = copy / fault.file
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
        missed += [] if found else [fault.name]
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
