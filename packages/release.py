"""Checks of a release: `make release-check` builds the distributions and runs these checks.

Prints a line per check; a failed one names the problem and the file, and the exit code is 1. `--crates` runs those of
the crates on crates.io alone, which need no distributions (`make publish-check`). `--repository URL` writes the URL of
the project's repository to all files that need it.
"""

from __future__ import annotations

import argparse
import email
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
KERNEL = ROOT / "packages" / "kernel"
MANYLINUX = (2, 28)
"""Maximum glibc version that a wheel may need."""
MAX_CPU_S = 3.0
"""Maximum CPU time of a comparison, start-up included."""
LAB = ("index.html", "lab.js", "lab.css", "component.js", "sojourn.wasm")
EXPECTED = {
    "wheel": (
        *("sojourn/__init__.py", "sojourn/_core.pyi", "sojourn/py.typed", "sojourn/model/scenarios/shipped/codel.toml"),
        *(f"sojourn/apps/lab/static/{name}" for name in LAB),
        "sojourn/engines/kernel/guest/sojourn_qdisc.o.xz",
    ),
    "sdist": (
        *("README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE-MIT", "LICENSE-APACHE", "Makefile", "mkdocs.yml"),
        *("docs/index.md", "scenarios/codel.toml", "tests/python/test_package.py", "crates/aqm/src/lib.rs"),
        *("examples/c/blue.c", "bench/Cargo.toml", "requirements.lock"),
        *(f"python/sojourn/apps/lab/static/{name}" for name in LAB),
    ),
}


@dataclass(frozen=True)
class Dist:
    """Built distributions."""

    folder: Path

    def one(self, pattern: str) -> Path:
        """Newest file that matches a pattern; raises `ProblemError` if there is none."""
        found = sorted(self.folder.glob(pattern), key=lambda path: path.stat().st_mtime)
        if not found:
            raise ProblemError(f"{self.folder}/{pattern} not found; run make wheel")
        return found[-1]

    @cached_property
    def wheel(self) -> Path:
        """Wheel of Sojourn."""
        return self.one("sojourn-*.whl")

    @cached_property
    def sdist(self) -> Path:
        """Source distribution of Sojourn."""
        return self.one("sojourn-*.tar.gz")

    @cached_property
    def kernel_wheel(self) -> Path:
        """Wheel of sojourn-kernel."""
        return self.one("sojourn_kernel-*.whl")


class ProblemError(Exception):
    """A check cannot run; the text has the reason."""


def version() -> str:
    """Version of the workspace in Cargo.toml."""
    return _first(r'^version = "(.+)"', ROOT / "Cargo.toml")


def check_versions(dist: Dist) -> Iterator[str]:
    """Check that all files have the same version."""
    own = version()
    places = {
        "CITATION.cff": _first(r"^version: (\S+)", ROOT / "CITATION.cff"),
        "packages/kernel/pyproject.toml": _first(r'^version = "(.+?)"', KERNEL / "pyproject.toml"),
        dist.wheel.name: _metadata(dist.wheel)["Version"],
        dist.sdist.name: dist.sdist.name.split("-")[1].removesuffix(".tar.gz"),
        dist.kernel_wheel.name: _metadata(dist.kernel_wheel)["Version"],
    }
    for manifest in (ROOT / "Cargo.toml", *_manifests()):
        for name in re.findall(r'path = "[^"]+", version = "(.+?)"', _text(manifest)):
            places[f"{manifest.relative_to(ROOT)}, dependencies: {name}"] = name
    yield from (f"{place} has version {found}, Cargo.toml {own}" for place, found in places.items() if found != own)


def check_changelog_and_tag(_: Dist) -> Iterator[str]:
    """Check that the changelog has a dated section for this version, and that its tag, if set, is on this commit."""
    text = _text(ROOT / "CHANGELOG.md")
    headings = re.findall(r"^## \[(.+?)\]", text, re.MULTILINE)
    if not headings or headings[0] != "Unreleased":
        yield "CHANGELOG.md does not begin with ## [Unreleased]"
    own = version()
    if not re.search(rf"^## \[{re.escape(own)}\] - \d{{4}}-\d\d-\d\d$", text, re.MULTILINE):
        yield f"CHANGELOG.md has no section ## [{own}] - DATE"
    tags = _git("tag", "--list", "v*")
    here = _git("tag", "--points-at", "HEAD")
    if tags is None or here is None:
        return  # a source distribution
    if f"v{own}" in tags.split() and f"v{own}" not in here.split():
        yield f"v{own} is a tag of an earlier commit; raise the version"
    for tag in here.split():
        if tag.startswith("v") and tag != f"v{own}":
            yield f"this commit is tagged {tag}, the version is {own}"
        if tag == f"v{own}" and _git("status", "--porcelain"):
            yield f"the checkout differs from the tag {tag}; commit or stash the changes"


def check_licences(dist: Dist) -> Iterator[str]:
    """Check that Sojourn is MIT OR Apache-2.0 without GPL files, and that sojourn-kernel is GPL-2.0-only."""
    for path, licence, files in (
        (dist.wheel, "MIT OR Apache-2.0", {"LICENSE-MIT", "LICENSE-APACHE"}),
        (dist.kernel_wheel, "GPL-2.0-only", {"LICENSE"}),
    ):
        found = _metadata(path).get("License-Expression")
        if found != licence:
            yield f"{path.name}: licence {found}, not {licence}"
        lacking = files - {Path(name).name for name in _names(path)}
        yield from (f"{path.name}: {name} is missing" for name in sorted(lacking))
    for path in (dist.wheel, dist.sdist):
        for name, data in _contents(path):
            if b"SPDX-License-Identifier: GPL" in data[:LICENCE_BYTES]:
                yield f"{path.name}: {name} is under the GPL"


def check_contents(dist: Dist) -> Iterator[str]:
    """Check that wheel and source distribution have all expected files and no leftovers."""
    for kind, path in (("wheel", dist.wheel), ("sdist", dist.sdist)):
        names = {name.partition("/")[2] if kind == "sdist" else name for name in _names(path)}
        yield from (f"{path.name}: {name} is missing" for name in EXPECTED[kind] if name not in names)
        wrong = [name for name in names if name.endswith((".pyc", ".orig", ".rej")) or "/target/" in f"/{name}"]
        wrong += [name for name in names if name.endswith(".so") and (kind, name) != ("wheel", CORE)]
        yield from (f"{path.name}: {name} must not be in it" for name in sorted(wrong))
        for name, data in _contents(path):
            if str(ROOT).encode() in data and Path("/") != ROOT:
                yield f"{path.name}: {name} contains the path of its build folder"
    described = _metadata(dist.wheel)
    if described.get("Description-Content-Type", "").partition(";")[0] != "text/markdown":
        yield f"{dist.wheel.name}: README.md is not its description"


def check_glibc(dist: Dist) -> Iterator[str]:
    """Check that the wheel's symbols need no newer glibc than its name says."""
    name = re.search(r"manylinux_(\d+)_(\d+)", dist.wheel.name)
    if not name:
        yield f"{dist.wheel.name} is for this machine alone; install ziglang (pip install ziglang), and make wheel"
        return
    claimed = int(name[1]), int(name[2])
    if claimed > MANYLINUX:
        yield f"{dist.wheel.name} needs glibc {claimed[0]}.{claimed[1]}; {MANYLINUX[0]}.{MANYLINUX[1]} at most"
    with zipfile.ZipFile(dist.wheel) as archive:
        binary = archive.read(CORE)
    newest = max(tuple(map(int, one.split(b"."))) for one in re.findall(rb"GLIBC_(\d+\.\d+)", binary))
    if newest > claimed:
        yield f"{dist.wheel.name}: its symbols need glibc {newest[0]}.{newest[1]}"


def check_repository(_: Dist) -> Iterator[str]:
    """Check that the repository's URL is the same in all files, or in none."""
    found = {place: address for place, address in _repositories().items() if address}
    if found and (len(set(found.values())) > 1 or len(found) < len(_repositories())):
        yield f"the repository is {found}; python packages/release.py --repository URL writes all of them"


@cache
def crates() -> list[dict[str, Any]]:
    """Packages of `LIBRARY` and of the workspace's crates that it needs, each after those it needs itself."""
    listed = json.loads(_cargo("metadata", "--no-deps", "--format-version", "1", "--locked").stdout)["packages"]
    members = {package["name"]: package for package in listed}
    found: dict[str, dict[str, Any]] = {}

    def visit(name: str) -> None:
        if name in members and name not in found:
            needed = (one["name"] for one in members[name]["dependencies"] if one["kind"] != "dev")
            for dependency in needed:
                visit(dependency)
            found[name] = members[name]

    visit(LIBRARY)
    return list(found.values())


def check_crates(_: Dist) -> Iterator[str]:
    """Check what crates.io demands of a manifest, and that each package has its licences and its README."""
    for package in crates():
        manifest = Path(package["manifest_path"]).relative_to(ROOT)
        demanded = ("description", "license", "readme", "rust_version", "keywords", "categories")
        yield from (f"{manifest}: {key.replace('_', '-')} is missing" for key in demanded if not package[key])
        for key in ("keywords", "categories"):
            if len(package[key]) > MAX_WORDS:
                yield f"{manifest}: {len(package[key])} {key}; at most {MAX_WORDS}"
        yield from (f"{manifest}: keyword {word!r} is too long" for word in package["keywords"] if len(word) > 20)
        for needed in package["dependencies"]:
            if needed.get("path") and needed["req"] == "*" and needed["kind"] != "dev":
                yield f"{manifest}: {needed['name']} has a path and no version"
        listed = _cargo("package", "--list", "--allow-dirty", "--quiet", "--package", package["name"]).stdout.split()
        for name in ("LICENSE-MIT", "LICENSE-APACHE", "README.md", "src/lib.rs"):
            if name not in listed:
                yield f"{manifest}: its package lacks {name}"


def check_publishing(_: Dist) -> Iterator[str]:
    """Check that cargo packs and builds the crates as crates.io would give them; nothing is uploaded."""
    names = [word for package in crates() for word in ("--package", package["name"])]
    yield from _complaints(_cargo("publish", "--dry-run", "--locked", "--allow-dirty", *names))


def check_minimum_rust(_: Dist) -> Iterator[str]:
    """Check that the crates compile with the version of Rust that they state."""
    stated = _first(r'^rust-version = "(.+)"', ROOT / "Cargo.toml")
    toolchain = () if f" {stated}." in _cargo("--version").stdout else (f"+{stated}",)
    if toolchain and _cargo(*toolchain, "--version").returncode:
        raise ProblemError(f"Rust {stated} is not at hand; rustup toolchain install {stated} --profile minimal")
    names = [word for package in crates() for word in ("--package", package["name"])]
    target = str(ROOT / "target" / f"rust-{stated}")
    yield from _complaints(_cargo(*toolchain, "check", "--locked", "--all-features", "--target-dir", target, *names))


def _cargo(*words: str) -> subprocess.CompletedProcess[str]:
    cargo = os.environ.get("CARGO", "cargo")
    return subprocess.run([cargo, *words], cwd=ROOT, capture_output=True, text=True, check=False)


def _complaints(done: subprocess.CompletedProcess[str]) -> Iterator[str]:
    """Errors of a failed run of cargo, or its last lines."""
    if done.returncode:
        lines = done.stderr.splitlines()
        yield "\n".join([line for line in lines if line.startswith(("error", "  -->"))] or lines[-15:])


def check_links(_: Dist) -> Iterator[str]:
    """Check the links of the documents."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/docs/test_links.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        yield "\n".join(done.stdout.splitlines()[-15:])


def check_fresh(dist: Dist) -> Iterator[str]:
    """Check that a comparison takes less than 3 s of CPU in an empty environment installed without a compiler."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = make_environment(folder / "venv", [dist.wheel])
        (folder / "bin").mkdir()
        environment = {"PATH": str(folder / "bin"), "HOME": name, "MPLBACKEND": "Agg"}
        command = [str(python.parent / "sojourn"), "compare", "--aqm", "codel,pie", "--duration", "10 s"]
        before = os.times()
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        after = os.times()
        if done.returncode or not list(folder.glob("results/compare-*.png")):
            yield f"sojourn compare ends with {done.returncode}: {done.stderr or done.stdout}"
        spent = after.children_user + after.children_system - before.children_user - before.children_system
        if spent > MAX_CPU_S:
            yield f"sojourn compare took {spent:.1f} s of CPU, more than {MAX_CPU_S:g}"
        build = subprocess.run(
            [str(python.parent / "sojourn"), "kernel", "build"],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if "pip install sojourn-kernel" not in build.stderr:
            yield f"without sojourn-kernel, kernel build prints {build.stderr!r}"


def make_environment(folder: Path, wheels: Sequence[Path]) -> Path:
    """Make a virtual environment with wheels and their dependencies; returns its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    quiet = ["--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
    command = [str(python), "-m", "pip", "install", *quiet, *map(str, wheels)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ProblemError(f"pip cannot install it: {done.stderr.strip()}")
    return python


LICENCE_BYTES = 400
"""Bytes at the start of a file that are searched for its licence."""
CORE = "sojourn/_core.abi3.so"
CHECKS: dict[str, Callable[[Dist], Iterator[str]]] = {
    "versions": check_versions,
    "changelog and tag": check_changelog_and_tag,
    "licences": check_licences,
    "contents": check_contents,
    "glibc": check_glibc,
    "repository": check_repository,
    "crates": check_crates,
    "publishing": check_publishing,
    "minimum Rust": check_minimum_rust,
    "links": check_links,
    "a fresh environment": check_fresh,
}
CRATES = ("crates", "publishing", "minimum Rust")
"""Checks of the crates that crates.io gets."""
LIBRARY = "sojourn-net"
"""Crate for users of crates.io; the others are there because it needs them."""
MAX_WORDS = 5
"""Maximum number of keywords, and of categories, on crates.io."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all checks; returns 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "dist", type=Path, nargs="?", default=ROOT / "out" / "dist", help="folder of the built packages"
    )
    parser.add_argument(
        "--repository", metavar="URL", help="write this repository address wherever one belongs, and exit"
    )
    parser.add_argument("--crates", action="store_true", help="check the crates for crates.io alone")
    options = parser.parse_args(arguments)
    if options.repository:
        write_repository(options.repository)
        return 0
    dist, failed = Dist(options.dist), 0
    chosen = CRATES if options.crates else tuple(CHECKS)
    for name in chosen:
        try:
            problems = list(CHECKS[name](dist))
        except ProblemError as problem:
            problems = [str(problem)]
        failed += bool(problems)
        print(f"{'FAILED' if problems else 'ok':6} {name}", flush=True)
        for problem in problems:
            print(f"       {problem}")
    passed = f"{LIBRARY} {version()} can be published" if options.crates else f"Sojourn {version()} can be released"
    print(f"{failed} of {len(chosen)} checks failed" if failed else passed)
    return 1 if failed else 0


def _repositories() -> dict[str, str]:
    """URL of the repository by file; empty if missing."""
    own = _first(r'^repository = "(.+?)"', ROOT / "Cargo.toml", "")
    inherited = {str(path.relative_to(ROOT)): own if INHERITED in _text(path) else "" for path in _manifests()}
    return {
        "Cargo.toml": own,
        **inherited,
        "pyproject.toml": _first(r'^Repository = "(.+?)"', ROOT / "pyproject.toml", ""),
        "packages/kernel/pyproject.toml": _first(r'^Repository = "(.+?)"', KERNEL / "pyproject.toml", ""),
        "CITATION.cff": _first(r'^repository-code: "?(\S+?)"?$', ROOT / "CITATION.cff", ""),
    }


def _manifests() -> list[Path]:
    """Manifests of the crates that can be published."""
    return sorted(path for path in ROOT.glob("crates/**/Cargo.toml") if "publish = false" not in _text(path))


INHERITED = "repository.workspace = true\n"


def write_repository(url: str) -> None:
    """Write the repository's URL to all files of `_repositories`."""
    _write(ROOT / "Cargo.toml", r"^repository = .*\n", r"^readme = .*\n", f'repository = "{url}"\n')
    for name in _repositories():
        if name.startswith("crates/"):
            _write(ROOT / name, r"^repository\.workspace.*\n", r"^readme\b.*\n", INHERITED)
    for path in (ROOT / "pyproject.toml", KERNEL / "pyproject.toml"):
        text = re.sub(r"\[project\.urls\]\n(.+\n)*\n", "", _text(path))
        place = text.index("\n[tool.")
        path.write_text(f'{text[:place]}\n[project.urls]\nRepository = "{url}"\n{text[place:]}', encoding="utf-8")
    _write(ROOT / "CITATION.cff", r"^repository-code:.*\n", r"^type: .*\n", f'repository-code: "{url}"\n')


def _write(path: Path, old: str, before: str, line: str) -> None:
    """Insert a line after another one, replacing the old one."""
    text = re.sub(old, "", _text(path), flags=re.MULTILINE)
    changed = re.sub(before, lambda found: found[0] + line, text, count=1, flags=re.MULTILINE)
    path.write_text(changed, encoding="utf-8")


def _first(pattern: str, path: Path, default: str | None = None) -> str:
    found = re.search(pattern, _text(path), re.MULTILINE)
    if found:
        return found[1]
    if default is None:
        raise ProblemError(f"{path.relative_to(ROOT)} has no line like {pattern}")
    return default


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _git(*words: str) -> str | None:
    """Output of git; None outside of a checkout."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def _names(path: Path) -> list[str]:
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    with tarfile.open(path) as archive:
        return archive.getnames()


def _contents(path: Path) -> Iterator[tuple[str, bytes]]:
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            yield from ((name, archive.read(name)) for name in archive.namelist())
        return
    with tarfile.open(path) as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file:
                yield member.name, file.read()


def _metadata(path: Path) -> email.message.Message:
    with zipfile.ZipFile(path) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return email.message_from_bytes(archive.read(name))


if __name__ == "__main__":
    sys.exit(main())
