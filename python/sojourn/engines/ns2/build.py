"""Build of the plugin from ns-2's headers (of the distribution's source package), our C++ file and libsojourn_aqm."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from sojourn import _core
from sojourn.base.commands import run_command
from sojourn.base.errors import MissingError
from sojourn.base.files import new_folder, temporary_folder
from sojourn.base.progress import Steps
from sojourn.engines.ns2 import installed
from sojourn.engines.ns2.plugin import METADATA, PLUGIN, SOURCE, Plugin, built, folder_of, recipe, root

VERSION = "2.35"
ARCHIVE = "ns2_2.35+dfsg.orig.tar.xz"
TREE = f"ns-{VERSION}"
TOOLS = {"g++": "g++", "tar": "tar", "xz": "xz-utils"}
HEADERS = {"tcl.h": "tcl-dev", "tclcl.h": "libtclcl1-dev", "otcl.h": "libotcl1-dev"}
PLACES = ("/usr/include", "/usr/include/tclcl", "/usr/include/tcl8.6", "/usr/include/tcl")
FOLDERS = (
    "",
    "common",
    "queue",
    "lib",
    "link",
    "trace",
    "tools",
    "apps",
    "mobile",
    "mac",
    "routing",
    "classifier",
    "tcp",
)
"""Folders of ns-2's source on the include path."""
LIBRARY, HEADER = "lib/libsojourn_aqm.a", "include/sojourn_aqm.h"


def build(library: Path, cache: Path | None, source: Path | None, progress: Steps | None = None) -> Plugin:
    """Build the plugin in `cache`; `library` is the folder of `make capi`, `source` is ns-2's source, if given."""
    report = progress or (lambda _share, _step: None)
    place = folder_of(root(cache))
    _refuse(missing(library))
    library = library.absolute()  # the compiler has another working directory
    with temporary_folder("sojourn-ns2-build-") as work:
        report(0.0, "fetching ns-2's headers")
        headers = _source_tree(source, work)
        report(0.6, "compiling")
        with new_folder(place) as part:
            _compile(headers, library, part / PLUGIN)
            metadata = {
                "sojourn": _core.version(),
                "recipe": recipe(),
                "digest": installed.digest(part / PLUGIN),
                "ns2": VERSION,
            }
            report(0.9, "trying it")
            _smoke_test(part / PLUGIN, work)
            (part / METADATA).write_text(json.dumps(metadata, indent=1) + "\n", encoding="utf-8")
            shutil.rmtree(place, ignore_errors=True)
    report(1.0, "built")
    return built(cache)


def missing(library: Path) -> list[str]:
    """Missing prerequisites of a build, as sentences with the remedy."""
    found = [] if installed.find() else [f"ns: install the package {installed.PACKAGE}"]
    found += [f"{tool}: install the package {package}" for tool, package in TOOLS.items() if not shutil.which(tool)]
    found += [
        f"{header}: install the package {package}"
        for header, package in HEADERS.items()
        if not any((Path(place) / header).is_file() for place in PLACES)
    ]
    for name in (LIBRARY, HEADER):
        if not (library / name).is_file():
            found.append(f"{library / name}: run make capi, or name the folder that it wrote with --library")
    return found


def _refuse(lacking: Sequence[str]) -> None:
    if lacking:
        raise MissingError("\n  ".join(["building the plugin needs:", *lacking]))


def _source_tree(source: Path | None, work: Path) -> Path:
    """Folder of ns-2's source: the given folder, the given archive unpacked, or the distribution's source package."""
    if source is not None and source.is_dir():
        if not (source / "queue" / "queue.h").is_file():
            raise MissingError(f"{source}: has no queue/queue.h; give ns-{VERSION}'s source or its archive")
        return source
    if source is not None and not source.is_file():
        raise MissingError(f"{source}: no such file or folder; give ns-{VERSION}'s source, or leave --source out")
    archive = source or _download(work)
    names = ["--wildcards", f"{TREE}/*.h"]
    run_command(["tar", "-xJf", str(archive.absolute()), *names], work, failure=f"{archive}: cannot be unpacked")
    return work / TREE


def _download(work: Path) -> Path:
    """Download the archive by `apt-get source` with our own sources.list: the machine's may lack deb-src lines."""
    if not shutil.which("apt-get"):
        raise MissingError(f"apt-get: not found; give ns-{VERSION}'s source with --source")
    lists = work / "apt"
    for folder in ("lists/partial", "cache/archives/partial"):
        (lists / folder).mkdir(parents=True)
    (lists / "sources.list").write_text(_deb_src(), encoding="utf-8")
    settings = {
        "Dir::Etc::sourcelist": str(lists / "sources.list"),
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State::lists": str(lists / "lists"),
        "Dir::Cache": str(lists / "cache"),
        "APT::Sandbox::User": "",
    }
    apt = ["apt-get", *(word for key, value in settings.items() for word in ("-o", f"{key}={value}"))]
    remedy = f"is the package server reachable? Or give ns-{VERSION}'s source with --source"
    run_command([*apt, "update"], work, failure=f"the list of source packages cannot be downloaded; {remedy}")
    subprocess.run(
        [*apt, "source", "--download-only", installed.PACKAGE], cwd=work, capture_output=True, check=False
    )  # apt fails if only the distribution's patches are missing; we need the original archive
    found = next(work.glob("ns2_*.orig.tar.*"), None)
    if found is None:
        raise MissingError(f"the source package {installed.PACKAGE} cannot be downloaded; {remedy}")
    return found


def _deb_src() -> str:
    """deb-src lines for the machine's package sources."""
    form = "$(SITE) $(RELEASE) $(COMPONENT)"
    output = run_command(
        ["apt-get", "indextargets", "--format", form, "Created-By: Packages"], Path("/"), failure="apt-get fails"
    )
    keys = [path for path in Path("/usr/share/keyrings").glob("*-archive-keyring.gpg") if "removed" not in path.name]
    signed = f"[signed-by={','.join(str(path) for path in sorted(keys))}] " if keys else ""
    sites = [line.split() for line in dict.fromkeys(output.splitlines()) if re.search(r"debian|ubuntu", line)]
    return "".join(f"deb-src {signed}{site} {release} {part}\n" for site, release, part in sites)


def _compile(headers: Path, library: Path, out: Path) -> None:
    folders = [SOURCE, library / "include", *(headers / name for name in FOLDERS), *map(Path, PLACES[1:])]
    flags = ["-std=gnu++11", "-O2", "-fpermissive", "-w", "-fPIC", "-shared", "-DUSE_INTERP_RESULT"]
    flags += [f"-ffile-prefix-map={headers}=ns"]
    command = ["g++", *flags, "-o", str(out), str(SOURCE / "queue.cc"), *(f"-I{folder}" for folder in folders)]
    command += [
        str(library / LIBRARY),
        "-Wl,--exclude-libs,ALL",
        "-Wl,--gc-sections",
        "-Wl,--build-id=none",
        "-s",
        "-lpthread",
        "-ldl",
        "-lm",
    ]
    run_command(command, out.parent, failure="the plugin cannot be compiled")


def _smoke_test(plugin: Path, work: Path) -> None:
    """Check that ns can create a queue with the plugin, and that it refuses a wrong name."""
    script = work / "try.tcl"
    script.write_text(
        f"load {plugin} Sojourn\nset ns [new Simulator]\nset q [new Queue/Sojourn]\n"
        "set for {9 0 0 1000000 1500 0 1 0}\n$q manage codel {*}$for\n"
        "puts [catch {$q manage nonsense {*}$for}]\nexit 0\n"
    )
    output = run_command([str(installed.ns()), str(script)], work, failure="ns cannot load the plugin")
    if output.split() != ["1"]:
        raise MissingError(f"the plugin does not work: it prints {output[:80]!r}")
