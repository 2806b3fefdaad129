"""Whether the module of `sojourn aqm build-module` works in an unmodified kernel of Debian, under QEMU.

`make module-rig` builds the module for `codel@act target 7ms`, once more with a fault planted in it, and boots the
distribution's kernel with both (`tests/rig/init.sh`). The packages come from apt into the folder SOJOURN_RIG, else
`~/.cache/sojourn/rig`; nothing is installed. Skipped with the reason if apt, a compiler or Rust's target is missing.
"""

from __future__ import annotations

import base64
import gzip
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

from sojourn import diff
from sojourn.base.caches import cache_folder
from sojourn.base.errors import MissingError
from sojourn.engines.kernel.module import build_module, compile_module

RIG = Path(__file__).parent / "rig"
LINE = "codel@act target 7ms"
PACKAGES = ("qemu-system-x86", "linux-image-amd64", "linux-headers-amd64", "busybox-static", "iproute2")
#: Parts of them that neither the machine nor the build uses.
UNUSED = re.compile(r"linux-image-amd64|linux-headers-amd64|initramfs|linux-compiler")
TOOLS = ("apt-get", "dpkg", "make", "gcc", "strip", "cargo")
MODULES = ("sch_tbf", "veth", "sch_codel", "dummy")
LIBRARIES = "usr/lib/x86_64-linux-gnu"
#: Seconds of the boot; it takes 60 to 200.
LIMIT_S = 600
#: First line of the translated enqueue, and the access outside the memory that replaces every 3000th call.
ENQUEUE = re.compile(r"(WASM u32 export_sojourn_qdisc_enqueue\([^;{]*\)\n\{.*?\n)(?=\tl\d+ = )", re.DOTALL)
FAULT = "\t{ static unsigned calls; if (++calls % 3000 == 0) goto bounds; }\n"


def unpacked(cache: Path) -> Path:
    """Fetch the packages that this machine lacks and return the folder of their files."""
    root, archives = cache / "root", cache / "archives"
    if (cache / "complete").exists():
        return root
    (archives / "partial").mkdir(parents=True, exist_ok=True)
    options = ["--yes", "--download-only", "--no-install-recommends", "--reinstall"]
    settings = ["-o", f"Dir::Cache::archives={archives}", "-o", "Debug::NoLocking=1", "-o", "APT::Sandbox::User=root"]
    fetched = subprocess.run(["apt-get", "install", *options, *settings, *PACKAGES], capture_output=True, text=True)
    if fetched.returncode:
        skip(f"apt-get: {fetched.stderr.strip().splitlines()[-1]}")
    for package in sorted(archives.glob("*.deb")):
        if not UNUSED.match(package.name):
            subprocess.run(["dpkg", "-x", package, root], check=True)
    # An absolute path of the common headers and a link of Debian's point to the system.
    for headers in (root / "usr/src").glob("linux-headers-*-amd64"):
        makefile = headers / "Makefile"
        makefile.write_text(re.sub(r"include .*(/usr/src/)", rf"include {root}\1", makefile.read_text()))
    (cache / "complete").touch()
    return root


def skip(reason: str) -> NoReturn:
    """End with the reason; what is missing on a machine is no failure."""
    print(f"module-rig: skipped: {reason}")
    sys.exit(0)


def one(root: Path, *patterns: str) -> Path:
    """Return the first file of the patterns in the packages, else on this machine."""
    for folder in (root, Path("/")):
        for pattern in patterns:
            if found := sorted(folder.glob(pattern)):
                return found[0]
    skip(f"{patterns[0]} is in no package")


def modules(work: Path, headers: Path) -> list[Path]:
    """Build the module, a second one whose queue manager fails, and the one that counts instructions."""
    module, planted = build_module(LINE, work / "module", headers), work / "fault"
    shutil.copytree(work / "module", planted, ignore=shutil.ignore_patterns("*.o", "*.ko", ".*"))
    code = planted / "discipline.c"
    text, count = ENQUEUE.subn(rf"\g<1>{FAULT}", code.read_text(), count=1)
    assert count == 1, "the translated enqueue has another form"
    code.write_text(text)
    subprocess.run(["make", "-C", work / "module", "q_sojourn.so"], check=True, capture_output=True)
    counter = work / "bench"
    counter.mkdir()
    shutil.copy(RIG / "bench.c", counter)
    (counter / "Kbuild").write_text("obj-m := bench.o\n")
    make = ["make", "-C", headers, f"M={counter}", "modules"]
    subprocess.run(make, check=True, capture_output=True)
    return [module, compile_module(planted, headers), counter / "bench.ko"]


def initrd(work: Path, root: Path, built: Sequence[Path]) -> Path:
    """Pack the machine's files: commands, their libraries, and the modules."""
    tree = work / "tree"
    for name in ("bin", "lib", "lib64", "dev", "proc", "sys", "run", "rig"):
        (tree / name).mkdir(parents=True)
    busybox = one(root, "bin/busybox", "usr/bin/busybox")
    shutil.copy(busybox, tree / "bin/busybox")
    for name in ("ip", "tc"):
        command = one(root, f"bin/{name}", f"sbin/{name}", f"usr/bin/{name}", f"usr/sbin/{name}")
        shutil.copy(command, tree / "rig" / name)
        environment = {**os.environ, "LD_LIBRARY_PATH": str(root / LIBRARIES)}
        needed = subprocess.run(["ldd", command], env=environment, capture_output=True, text=True, check=True).stdout
        for library in re.findall(r"=> (/\S+)", needed):
            shutil.copy(library, tree / "lib")
    shutil.copy("/lib64/ld-linux-x86-64.so.2", tree / "lib64")
    for name in MODULES:
        shutil.copy(one(root, f"lib/modules/*/kernel/**/{name}.ko"), tree / "rig")
    for module, name in zip(built, ("sojourn.ko", "fault.ko", "bench.ko"), strict=True):
        subprocess.run(["strip", "--strip-debug", "-o", tree / "rig" / name, module], check=True)
    shutil.copy(work / "module/q_sojourn.so", tree / "rig")
    subprocess.run(["gcc", "-O2", "-static", "-o", tree / "rig/traffic", RIG / "traffic.c"], check=True)
    for script, name in (("init.sh", "init"), ("bench.sh", "bench")):
        shutil.copy(RIG / script, tree / name)
        (tree / name).chmod(0o755)
    names = "\n".join(str(path.relative_to(tree)) for path in sorted(tree.rglob("*")))
    pack = subprocess.run([busybox, "cpio", "-o", "-H", "newc"], cwd=tree, input=names.encode(), capture_output=True)
    archive = work / "initrd"
    archive.write_bytes(pack.stdout)
    return archive


def boot(root: Path, archive: Path, first: str = "/init", *options: str) -> str:
    """Boot the kernel of the packages, with the process `first`, and return its console's text."""
    command = [str(one(root, "usr/bin/qemu-system-x86_64")), "-M", "pc", "-accel", "tcg,thread=single", "-cpu", "max"]
    command += ["-m", "512", "-smp", "2", "-display", "none", "-nodefaults", "-no-reboot", "-serial", "stdio"]
    for folder in ("seabios", "qemu"):
        command += ["-L", str(one(root, f"usr/share/{folder}"))]
    command += ["-kernel", str(one(root, "boot/vmlinuz-*")), "-initrd", str(archive)]
    command += ["-append", f"console=ttyS0 quiet panic=-1 rdinit={first}", *options]
    environment = {**os.environ, "LD_LIBRARY_PATH": f"{root / LIBRARIES}:{root / 'lib/x86_64-linux-gnu'}"}
    ran = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S, check=False
    )
    return ran.stdout.decode(errors="replace").replace("\r", "") + ran.stderr.decode(errors="replace")


@dataclass(frozen=True)
class Step:
    """A step's lines on the console."""

    text: str

    def has(self, *words: str) -> bool:
        """Whether the words are in the text."""
        return all(word in self.text for word in words)

    def number(self, pattern: str) -> int:
        """First number of a pattern in the text; -1 without one."""
        found = re.search(pattern, self.text)
        return int(found[1]) if found else -1

    def balances(self) -> bool:
        """Whether each packet sent was received or is in the discipline's drops, and each mark was received."""
        sent, received = self.number(r"sent (\d+)"), self.number(r"received (\d+)")
        dropped = self.number(r"qdisc sojourn[^(]*\(dropped (\d+)")
        marked = self.number(r"marked (\d+)")
        return sent == received + dropped > 0 and marked in (-1, self.number(r"CE (\d+)"))


def replays(step: Step) -> bool:
    """Whether the simulator gives each packet of a logged queue the verdict of the kernel; some are marked."""
    [*lines, packed] = re.split(r"(?<=\n)(?=H4sI)", step.text)
    with TemporaryDirectory(prefix="sojourn-rig-") as folder:
        log = Path(folder) / "v0-1"
        log.write_bytes(gzip.decompress(base64.b64decode(packed)))
        found = diff(None, log=log)
    received = Step("".join(lines)).number(r"received (\d+)")
    return found.agreeing == found.packets > received > 0 and step.has("-r--------") and step.number(r"CE (\d+)") > 0


#: Instructions for a packet in and one out, with twenty waiting, in the kernel RELEASE; `sojourn` is the module's
#: queue, `logged` the same with its log.
RELEASE = "6.1.0-56-amd64"
INSTRUCTIONS = {"pfifo": 59, "codel": 211, "fq_codel": 347, "sojourn": 1126, "logged": 1382}
TOLERANCE = 0.02
#: Steps of init.sh with what has to be true of them.
CHECKS: dict[str, Callable[[Step], bool]] = {
    "load": lambda step: step.has("loaded"),
    "mark": lambda step: step.balances() and step.number(r"CE (\d+)") > 0,
    "drop": lambda step: step.balances() and step.number(r"dropped-late (\d+)") > 0 and step.has("CE 0"),
    "record": replays,
    "change": lambda step: step.has("limit 50packets codel@act target 20ms ecn"),
    "refuse": lambda step: (
        step.has("this module has codel", '"5" has no unit', '"many" is not a limit', "smaller limit")
        and len(step.text.splitlines()) == 4
    ),
    "replace": lambda step: step.has("done 100") and step.text.count("backlog 0b 0p") == 2,
    "remove": lambda step: step.has("in use", "unloaded"),
    "reload": lambda step: step.text.count("again") == 20,
    "fault": lambda step: (
        step.balances()
        and step.has("failed (an access outside the memory)", "Error: the queue manager has failed; replace the qdisc")
    ),
    "recover": lambda step: step.balances() and step.number(r"CE (\d+)") > 0 and step.has("unloaded"),
    "log": lambda step: (
        len(re.findall("has failed", step.text)) == 1
        and not re.search("Oops|BUG|WARNING|Call Trace|stall|lockup", step.text)
    ),
}


def counted(root: Path, archive: Path, release: str) -> str:
    """Instructions per packet of several queues, as text; those of the recorded kernel are compared with the record."""
    # Each instruction takes a nanosecond of the machine's clock.
    console = boot(root, archive, "/bench", "-smp", "1", "-icount", "shift=0,sleep=off")
    counts = {name: int(count) for name, count in re.findall(r"^instructions (\w+) (\d+)", console, re.MULTILINE)}
    text = ", ".join(f"{name} {count}" for name, count in counts.items())
    is_close = all(abs(counts.get(name, 0) - count) <= TOLERANCE * count for name, count in INSTRUCTIONS.items())
    return text if release != RELEASE or is_close else f"{text}; recorded: {INSTRUCTIONS}: FAILED"


def main() -> None:
    """Build, boot and check; the exit code is 1 if a step fails."""
    if lacking := [tool for tool in TOOLS if shutil.which(tool) is None]:
        skip(f"{lacking[0]} is missing")
    root = unpacked(cache_folder("rig", "SOJOURN_RIG"))
    with TemporaryDirectory(prefix="sojourn-rig-") as folder:
        work = Path(folder)
        try:
            built = modules(work, one(root, "usr/src/linux-headers-*[0-9]-amd64"))
        except MissingError as error:
            skip(str(error))
        archive = initrd(work, root, built)
        before = os.times()
        console = boot(root, archive)
        after = os.times()
        steps = {name: Step(text) for name, text in re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", console, re.M | re.S)}
        kernel = steps["kernel"].text.strip() if "kernel" in steps else "no kernel"
        counts = counted(root, archive, kernel)
    failed = [name for name, holds in CHECKS.items() if name not in steps or not holds(steps[name])]
    cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
    print(f"module-rig: {kernel}: {len(CHECKS) - len(failed)} of {len(CHECKS)} steps, {cpu_s:.0f} s of CPU")
    print(f"module-rig: instructions per packet: {counts}")
    for name in failed:
        print(f"## {name}\n{steps[name].text if name in steps else console[-2000:]}")
    sys.exit(1 if failed or counts.endswith("FAILED") else 0)


if __name__ == "__main__":
    main()
