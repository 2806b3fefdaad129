"""Whether programs in a net decide alike on other machines: x86-64 or the host, AArch64, WebAssembly.

`make net-machines` builds `crates/net/examples/machines.rs` for each, runs it, and compares what it prints: decisions
and fingerprints of quinn without cryptography and of datagrams that are echoed. AArch64 needs qemu-user
(`qemu-aarch64-static`, or the variable QEMU), WebAssembly Node.js, both their targets of Rust; a machine whose tool is
missing is skipped with the reason.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).parents[1]

#: Runs a WASI program in Node.js.
WASI = """
const { WASI } = require("node:wasi");
const fs = require("node:fs");
const wasi = new WASI({ version: "preview1", args: ["machines"] });
WebAssembly.instantiate(fs.readFileSync(process.argv[1]), wasi.getImportObject())
  .then(({ instance }) => wasi.start(instance));
"""


@dataclass(frozen=True)
class Machine:
    """A machine: its name, its target of Rust, and the command that runs a program of it."""

    name: str
    target: str | None
    runner: tuple[str, ...]
    program: str = "machines"


def machines() -> list[Machine]:
    """Return the machines; a runner's first word is the tool that may be missing."""
    qemu = os.environ.get("QEMU", "qemu-aarch64-static")
    return [
        Machine("this machine", None, ()),
        Machine("AArch64", "aarch64-unknown-linux-musl", (qemu,)),
        Machine("WebAssembly", "wasm32-wasip1", ("node", "--no-warnings", "-e", WASI), "machines.wasm"),
    ]


def missing(machine: Machine) -> str | None:
    """Return what a machine lacks here."""
    if machine.runner and shutil.which(machine.runner[0]) is None:
        return f"{machine.runner[0]} is missing"
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True).stdout.strip()
    if machine.target and not (Path(sysroot) / "lib/rustlib" / machine.target / "lib").is_dir():
        return f"its target is missing: rustup target add {machine.target}"
    return None


def output(machine: Machine) -> list[str]:
    """Build the example for a machine, run it, and return its lines."""
    command = ["cargo", "build", "--release", "--locked", "--package", "sojourn-net"]
    command += ["--features", "quinn", "--example", "machines"]
    environment = dict(os.environ)
    if machine.target:
        command += ["--target", machine.target]
        # The linker of Rust itself, so that no C compiler for the target is needed.
        linker = f"CARGO_TARGET_{machine.target.upper().replace('-', '_')}_LINKER"
        environment.setdefault(linker, "rust-lld")
    built = subprocess.run(command, cwd=REPO, env=environment, capture_output=True, text=True)
    if built.returncode:
        sys.exit(f"{machine.name}: {built.stderr.strip()}")
    folder = Path(environment.get("CARGO_TARGET_DIR", REPO / "target")) / (machine.target or "")
    program = folder / "release/examples" / machine.program
    run = subprocess.run([*machine.runner, str(program)], capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{machine.name}: {run.stderr.strip()}")
    return run.stdout.splitlines()


def main() -> None:
    """Compare the machines; the exit code is 1 if one differs."""
    first, *others = machines()
    expected = output(first)
    datagrams = sum(int(line.split()[0]) for line in expected)
    print(f"{first.name}: {len(expected)} worlds, {datagrams} datagrams of programs")
    is_equal = True
    for machine in others:
        if reason := missing(machine):
            print(f"{machine.name}: skipped: {reason}")
            continue
        lines = output(machine)
        different = [(ours, theirs) for ours, theirs in zip(expected, lines, strict=True) if ours != theirs]
        print(f"{machine.name}: {len(lines) - len(different)} of {len(lines)} worlds equal")
        for ours, theirs in different:
            print(f"  {ours}\n  {theirs}")
        is_equal &= not different
    sys.exit(0 if is_equal else 1)


if __name__ == "__main__":
    main()
