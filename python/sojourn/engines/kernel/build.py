"""Build of a kernel from a source package, in steps; an interrupted build is resumed.

The compiled tree is kept: when our queue disciplines change, only they are compiled and the kernel is linked again; so
are the files of a user.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from sojourn.base.commands import run_command
from sojourn.base.errors import InputError, MissingError
from sojourn.base.files import new_folder
from sojourn.engines.kernel import cache, needs, own_build, selftest
from sojourn.engines.kernel.cache import Kernel
from sojourn.engines.kernel.own_build import NOTHING, Additions
from sojourn.engines.kernel.own_files import QDISC, refuse_clashes
from sojourn.engines.kernel.patch import apply_edits, read_edits
from sojourn.engines.kernel.source import fetch, full_version, unpack, version_file

Progress = Callable[[float, str], None]
"""Called with the fraction done (0 to 1) and the name of the step."""

# Reproducible build: the version string seeds the kernel's random number generator.
STAMP = {"KBUILD_BUILD_TIMESTAMP": "2026-01-01", "KBUILD_BUILD_USER": "sojourn", "KBUILD_BUILD_HOST": "sojourn"}
PLUGINS = "plugins"
"""Folder with the parts of tc for the disciplines that it does not know."""
OUTPUT_LINES = 200
"""Lines of a failed make that an error may show; its first error matters."""
OBJECTS = 900
"""Approximate number of compiled files, for the progress only."""


@dataclass(frozen=True)
class BuildPaths:
    """Folders of a build."""

    version: str
    root: Path
    own: Additions = NOTHING

    @property
    def packages(self) -> Path:
        """Downloaded source packages."""
        return self.root / "packages"

    @property
    def work(self) -> Path:
        """Working folder with the compiled tree."""
        return self.root / f"tree-{self.version}-{cache.recipe()}"

    @property
    def tree(self) -> Path:
        """Kernel source tree."""
        return self.work / "linux"

    @property
    def done(self) -> Path:
        """Built kernel."""
        return cache.folder_of(self.version, self.root, self.own.digest)


def build(
    version: str,
    root: Path,
    *,
    own: Additions = NOTHING,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Kernel:
    """Build and test a kernel with a user's sources `own`, unless it is built already; resumes an interrupted build.

    With a tree all kernels in `root` are of that tree. Raises `InputError` for an unknown version and for files that
    do not compile, `MissingError` if the machine lacks something or the build fails.
    """
    if version not in cache.VERSIONS:
        raise InputError(f"--version: unknown version {version}; expected one of {', '.join(cache.VERSIONS)}")
    report = progress or (lambda _share, _step: None)
    cache.require_gpl_part()
    if own.tree:
        own.tree.claim(root)
    paths = BuildPaths(version, root, own)
    if found := cache.read(paths.done):
        os.utime(paths.done / cache.METADATA)  # of several builds that have a name, the last one runs
        return found
    needs.refuse(needs.missing(root), "this machine")
    paths.work.mkdir(parents=True, exist_ok=True)
    guest = cache.GUEST_SOURCES
    with _locked(paths.work):
        steps: list[tuple[float, str, Callable[[], None]]] = [
            (0.00, "fetching the source", lambda: _prepare(paths)),
            (0.12, "configuring", lambda: _configure(paths, guest)),
            (0.15, "compiling", lambda: _compile(paths, jobs or os.cpu_count() or 1, report)),
            (0.96, "compiling the guest's program", lambda: _program(paths, guest)),
        ]
        for share, name, step in steps:
            stamp = paths.work / f"{name.replace(' ', '-')}.done"
            if not stamp.exists():  # otherwise an earlier build has finished it
                report(share, name)
                step()
                stamp.touch()
        report(0.97, "linking the queue disciplines")
        refuse_clashes(own.files, paths.tree)
        _link(paths)
        report(0.99, "trying it")
        kernel = _assemble(paths)
    report(1.0, "built")
    return kernel


@contextmanager
def _locked(work: Path) -> Any:
    """Lock the folder against a second build."""
    import fcntl

    with (work / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise MissingError(
                f"{work}: another build is running there; wait for it, or give another --cache"
            ) from None
        yield


def _prepare(paths: BuildPaths) -> None:
    """Fetch, unpack and edit the source; a partly edited tree is replaced."""
    archive = None if paths.own.tree else fetch(paths.version, paths.packages, run_command)
    shutil.rmtree(paths.tree, ignore_errors=True)
    if paths.own.tree:
        paths.own.tree.copy(paths.tree)
        for architecture in ("x86", "um"):
            run_command(["make", "-s", f"ARCH={architecture}", "mrproper"], paths.tree)
    if archive:
        unpack(archive, paths.tree, run_command)
    gpl_part = cache.require_gpl_part()
    edits = (gpl_part / "edits.toml").read_text(encoding="utf-8")
    apply_edits(read_edits(edits, paths.version), paths.tree)
    links = paths.tree / "drivers" / "net" / "sojourn"
    links.mkdir()
    for path in [gpl_part / "Makefile", *gpl_part.glob("*.[ch]")]:
        shutil.copyfile(path, links / path.name)
    for name in (cache.QDISC, cache.OWN):
        (links / name).mkdir()
        (links / name / "Makefile").touch()


def _configure(paths: BuildPaths, guest: Path) -> None:
    texts = [
        path.read_text(encoding="utf-8")
        for name in ("config", f"config-{paths.version}")
        if (path := guest / name).exists()
    ]
    wanted = paths.work / "config"
    wanted.write_text("".join(texts), encoding="utf-8")
    _make(paths, f"KCONFIG_ALLCONFIG={wanted}", "allnoconfig")
    lines = set((paths.tree / ".config").read_text(encoding="utf-8").splitlines())
    for option in re.findall(r"^CONFIG_\S+$", wanted.read_text(encoding="utf-8"), re.MULTILINE):
        if option not in lines:
            raise MissingError(f"{option}: this kernel source does not accept it and cannot be used")


def _make(paths: BuildPaths, *words: str) -> None:
    command = ["make", "-s", "ARCH=um", *words]
    run_command(command, paths.tree, environment=os.environ | STAMP, last_lines=OUTPUT_LINES)


def _compile(paths: BuildPaths, jobs: int, report: Progress) -> None:
    """Run make, which continues after an interruption."""
    with (paths.work / "make.log").open("w+") as log:
        command = ["make", "ARCH=um", f"-j{jobs}", "linux"]
        pipe = subprocess.PIPE
        make = subprocess.Popen(
            command,
            cwd=paths.tree,
            env=os.environ | STAMP,
            stdin=subprocess.DEVNULL,
            stdout=pipe,
            stderr=log,
            text=True,
            start_new_session=True,
        )
        assert make.stdout is not None
        try:
            _follow(make.stdout, report)
        except BaseException:
            os.killpg(make.pid, 15)
            raise
        finally:
            make.wait()
            make.stdout.close()
        if make.returncode:
            raise MissingError(_compile_error(log))


def _follow(lines: IO[str], report: Progress) -> None:
    for number, line in enumerate(lines):
        if number % 10 == 0:
            report(0.15 + 0.81 * min(number / OBJECTS, 1), f"compiling {line.split()[-1] if line.split() else ''}")


def _compile_error(log: IO[str]) -> str:
    """Error message with the errors in make's output."""
    log.seek(0)
    lines = [line.rstrip() for line in log]
    words = ("error", "no space left", "no rule to make target")
    errors = [line for line in lines if any(word in line.lower() for word in words)] or lines[-8:]
    return "\n  ".join(["the kernel cannot be compiled:", *errors[:8]])


def _program(paths: BuildPaths, guest: Path) -> None:
    sources = sorted(str(path) for path in (guest / "tool").glob("*.c"))
    run_command(["gcc", "-O2", "-Wall", "-Wextra", "-static", "-o", str(paths.work / "guest"), *sources], paths.work)


def _link(paths: BuildPaths) -> None:
    """Compile the discipline `sojourn`, a user's files and their parts of tc; link the kernel with the library."""
    place, sources = paths.tree / "drivers" / "net" / "sojourn" / cache.QDISC, cache.require_gpl_part() / cache.QDISC
    for pattern in cache.QDISC_FILES:
        for path in sources.glob(pattern):
            shutil.copyfile(path, place / path.name)
    shutil.copyfile(paths.own.object_file(paths.work), place / "library.o_shipped")
    own_build.write(paths.own.files, place.parent / cache.OWN)
    own_build.explained(paths.own.files, lambda: _make(paths, "linux"))
    plugins = paths.work / PLUGINS
    shutil.rmtree(plugins, ignore_errors=True)
    plugins.mkdir()
    _compile_plugin(sources / "q_sojourn.c", plugins, "sojourn")
    for file in (file for file in paths.own.files if file.kind is QDISC):
        _compile_plugin(cache.require_gpl_part() / cache.OWN / "q_own.c", plugins, file.name)


def _compile_plugin(source: Path, folder: Path, name: str) -> None:
    """Compile the part of tc for a discipline, which tc loads from $TC_LIB_DIR."""
    words = ["-O2", "-Wall", "-fPIC", "-shared", f'-DNAME="{name}"']
    run_command(["gcc", *words, "-o", str(folder / f"q_{name}.so"), str(source)], folder)


def _assemble(paths: BuildPaths) -> Kernel:
    """Install the kernel in the cache if it passes its self-test."""
    with new_folder(paths.done) as part:
        run_command(["strip", "-o", str(part / "linux"), str(paths.tree / "linux")], paths.work)
        for path in (paths.work / "guest", *(paths.work / PLUGINS).iterdir()):
            shutil.copy(path, part / path.name)
        shutil.copy(paths.tree / ".config", part / "config")
        digest = hashlib.sha256((part / "linux").read_bytes() + (part / "guest").read_bytes()).hexdigest()[:12]
        kernel = Kernel(part / "linux", part / "guest", full_version(paths.tree), digest)
        selftest.run(kernel)
        compiler = run_command(["gcc", "--version"], paths.work).splitlines()[0]
        metadata = {"linux": kernel.version, "digest": digest, "package": _package(paths), "compiler": compiler}
        text = json.dumps(metadata | paths.own.metadata, indent=1)
        (part / cache.METADATA).write_text(f"{text}\n", encoding="utf-8")
    if found := cache.read(paths.done):
        return found
    raise MissingError(f"{paths.done}: the built kernel cannot be read; check the folder's permissions")


def _package(paths: BuildPaths) -> str:
    """Origin of the source."""
    if paths.own.tree:
        return paths.own.tree.package
    return version_file(paths.version, paths.packages).read_text(encoding="utf-8").strip()
