"""A queue manager as a module of an unmodified Linux kernel: a folder that any kernel's build compiles.

The discipline is compiled for WebAssembly, with no other one, and translated into C without floating point. The folder
has that C, the discipline `sojourn` of `packages/kernel` over it, and what Kbuild, DKMS and OpenWrt need.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from sojourn import _core
from sojourn.base.commands import run_command
from sojourn.base.errors import InputError, MissingError
from sojourn.base.files import new_folder, temporary_folder
from sojourn.engines.kernel import own_crates
from sojourn.engines.kernel.cache import require_gpl_part
from sojourn.engines.kernel.library import CHECKOUT, cargo, is_checkout
from sojourn.engines.kernel.own_crates import OwnCrate
from sojourn.engines.kernel.own_qdisc import refuse_needs
from sojourn.model.aqms.registry import registry
from sojourn.model.aqms.spelling import references

TARGET = "wasm32-unknown-unknown"
LIBRARY = ("--locked", "--package", "sojourn-qdisc", "--features", "freestanding")
"""Cargo's words for Sojourn's disciplines alone; a workspace with a user's crate needs none."""
COMPILE = (
    *("--profile", "kernel", "--target", TARGET, "--crate-type", "cdylib"),
    *("--", "-C", "link-arg=-zstack-size=65536", "-C", "strip=symbols"),
)
TRANSLATE = ("--locked", "--package", "sojourn-module", "--")
DEFAULT = "droptail"
"""Discipline of children and flows that a line leaves out."""
SOURCES = ("qdisc/sch_sojourn.c", "qdisc/sojourn_qdisc.h", "qdisc/log.h", "qdisc/q_sojourn.c", "qdisc/tc.h")
"""Files of sojourn-kernel in the folder, beside all of its `module`."""


def build_module(line: str, folder: Path, headers: Path | None = None, *, crate: Path | None = None) -> Path:
    """Write the folder of a module for the queue manager `line`, and compile it against a kernel's prepared headers.

    With the folder of a user's `crate`, `line` begins with the name of its library. Returns the module, or without
    `headers` the folder. Raises `InputError` for a line that is refused or a folder that exists, `MissingError` without
    Rust, its target for WebAssembly, or a C compiler.
    """
    crates = own_crates.read([crate] if crate else [])
    text = _line_of(crates[0], line) if crates else _line(line)
    if folder.exists():
        raise InputError(f"{folder} already exists; choose another folder")
    if headers is not None and not (headers / "Makefile").is_file():
        raise InputError(f"{headers}: no prepared kernel; give e.g. /lib/modules/$(uname -r)/build")
    code = _translated(disciplines(text), crates)
    gpl_part = require_gpl_part()
    with new_folder(folder) as part:
        for source in [*(gpl_part / name for name in SOURCES), *(gpl_part / "module").iterdir()]:
            shutil.copy(source, part / source.name)
        shutil.copy(gpl_part.parent / "LICENSE", part)
        (part / "discipline.c").write_text(code, encoding="utf-8")
        (part / "line.h").write_text(f"#define SOJOURN_LINE {json.dumps(text)}\n", encoding="utf-8")
        _fill(part, text)
    return folder if headers is None else compile_module(folder, headers)


def _line(line: str) -> str:
    """Shortest spelling of a line; refuses what a kernel cannot have."""
    chosen = json.loads(_core.parse_aqm(line))
    text = str(chosen["text"])
    refuse_needs("aqm", {"name": text, **chosen["params"]})
    if references({"name": text}):
        raise InputError(f"aqm: a module cannot have {text}; choose an AQM of sojourn aqm list, or give a --crate")
    return text


def _line_of(crate: OwnCrate, line: str) -> str:
    """A line of a crate's queue manager; its parameters are read by the module."""
    text = " ".join(line.split())
    if not re.match(rf"{crate.library}\b", text):
        raise InputError(f'"{line}" does not begin with the crate\'s library; write e.g. "{crate.library}"')
    return text


def compile_module(folder: Path, headers: Path) -> Path:
    """Compile the folder's module against prepared headers and return it; raises `MissingError` with the errors."""
    tree = ["make", "-C", str(headers.resolve()), f"M={folder.resolve()}"]
    run_command([*tree, "modules"], folder, failure="the module does not compile")
    return folder / "sojourn.ko"


def disciplines(text: str) -> list[str]:
    """Names of the registered disciplines in a line: its own, those in its brackets and braces, and their default."""
    words = set(re.findall(r"\w+", text))
    named = [entry for entry in registry()["aqms"] if entry["name"] in words]
    default = {DEFAULT} if any(entry["holds"] or entry["name"] == "fq" for entry in named) else set()
    return sorted({entry["name"] for entry in named} | default)


def _translated(names: Sequence[str], crates: Sequence[OwnCrate]) -> str:
    """C text of the disciplines and a user's crates, by cargo."""
    if not is_checkout():
        raise MissingError("the sources of Sojourn's crates are missing; run this in a checkout of Sojourn")
    _require_target()
    with temporary_folder("sojourn-module-") as into:
        only = " ".join(["--cfg", "sojourn_only", *(f'--cfg sojourn_only="{name}"' for name in names)])
        settings = {"RUSTFLAGS": only, "CARGO_PROFILE_KERNEL_OPT_LEVEL": "s"}
        built, code = into / TARGET / "kernel", into / "discipline.c"
        if crates:
            own_crates.write(crates, into / "crates")
            with own_crates.errors_at_users(crates, into / "crates"):
                cargo("rustc", COMPILE, into / "crates", into, settings)
        else:
            cargo("rustc", (*LIBRARY, *COMPILE), CHECKOUT, into, settings)
        wasm = built / f"{own_crates.NAME if crates else 'sojourn_qdisc'}.wasm"
        cargo("run", (*TRANSLATE, str(wasm), str(code)), CHECKOUT, into)
        return code.read_text(encoding="utf-8")


def _require_target() -> None:
    if shutil.which("cargo") is None:
        raise MissingError("cargo is missing; install Rust from https://rustup.rs")
    command = ["rustc", "--print", "target-libdir", "--target", TARGET]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    if done.returncode or not Path(done.stdout.strip()).is_dir():
        raise MissingError(f"Rust's target {TARGET} is missing; run rustup target add {TARGET}")


def _fill(folder: Path, text: str) -> None:
    """Write the templates into a folder."""
    template = files("sojourn.engines.kernel.module_template")
    for name in ("Makefile", "README.md", "dkms.conf", "openwrt.mk"):
        contents = template.joinpath(name).read_text(encoding="utf-8")
        contents = contents.replace("@LINE@", text).replace("@VERSION@", _core.version())
        target = folder / ("openwrt/Makefile" if name == "openwrt.mk" else name)
        target.parent.mkdir(exist_ok=True)
        target.write_text(contents, encoding="utf-8")
