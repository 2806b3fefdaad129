"""Folders for new congestion controls: in C, in Rust, in Python, or from a file of Linux."""

from __future__ import annotations

import keyword
import re
import shutil
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path

from sojourn import _core
from sojourn.base.errors import InputError
from sojourn.base.files import new_folder
from sojourn.model.aqms.crate import RESERVED, manifest

KERNEL_FOLDERS = ("asm", "asm-generic", "bpf", "linux", "net", "uapi", "vmlinux.h")
"""First parts of names in `#include <…>` that stand for headers of the kernel."""
BPF_HEADERS = ("bpf_tcp_helpers.h", "bpf_tracing_net.h", "vmlinux.h")
"""Headers of BPF programs that sojourn_linux_cc.h replaces."""


def write_control(
    name: str, folder: Path, lang: str = "c", linux: Path | None = None, sources: Path | None = None
) -> tuple[Path, str, str]:
    """Write a folder for the control `name`; return it, the command that builds it and the control's spelling.

    With `linux`, a file like net/ipv4/tcp_cubic.c, the library is made of that file. A crate depends on Sojourn's
    crates in `sources`, by default this checkout. Raises `InputError` if the name, the file or the folder does not fit.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,40}", name) or name in RESERVED or keyword.iskeyword(name):
        raise InputError(f'"{name}" is not the name of a control; write lower-case letters, digits and _, e.g. my_reno')
    if folder.exists():
        raise InputError(f"{folder} already exists; choose another folder")
    if linux is not None and lang != "c":
        raise InputError(f"a control of Linux is written in C; leave out --lang {lang}, or --linux")
    writers: dict[str, Callable[[Path], None]] = {
        "c": lambda part: _write_c(name, part),
        "rust": lambda part: _write_rust(name, part, sources),
        "python": lambda part: _write_python(name, part),
    }
    with new_folder(folder) as part:
        if linux is not None:
            _write_linux(name, part, linux)
        else:
            writers[lang](part)
    if lang == "python":
        return folder, "", f"{folder / name}_cc.py:{_camel(name)}"
    if lang == "rust":
        library = folder / "target" / "release" / f"lib{name}_cc.so"
        return folder, f"cargo build --release --manifest-path {folder / 'Cargo.toml'}", _spelling(library)
    return folder, f"make -C {folder}", _spelling(folder / f"lib{name}.so")


def _spelling(library: Path) -> str:
    return str(library) if library.is_absolute() else f"./{library}"


def _write_c(name: str, part: Path) -> None:
    text = _template("reno_cc.c").replace("libreno.so", f"lib{name}.so").replace("reno_cc.c", f"{name}_cc.c")
    _write(part / f"{name}_cc.c", text.replace('.name = "reno"', f'.name = "{name}"'))
    _write_headers(part, "sojourn_cc.h")
    _write(part / "Makefile", _makefile(name, f"{name}_cc.c", [], "-std=c99 -Wall -Wextra"))
    _write(
        part / "README.md",
        f"# {name}\n\nA congestion control in C for Sojourn: `{name}_cc.c`. `include/sojourn_cc.h` documents the "
        f'interface. `make` builds `lib{name}.so`, which a scenario names: `cc = "./lib{name}.so"`.\n',
    )


def _write_rust(name: str, part: Path, sources: Path | None) -> None:
    about = f"The congestion control {name} for Sojourn {_core.version()}"
    _write(part / "Cargo.toml", manifest(f"{name}_cc", about, ("library", "tcp"), sources))
    text = _template("lib.rs").replace("libmy_cc", f"lib{name}_cc").replace('"my"', f'"{name}"')
    _write(part / "src" / "lib.rs", re.sub(r"\bMy\b", _camel(name), text))


def _write_python(name: str, part: Path) -> None:
    text = _template("my_cc.py").replace("my_cc.py", f"{name}_cc.py")
    _write(part / f"{name}_cc.py", re.sub(r"\bMyCc\b", _camel(name), text))


def _write_linux(name: str, part: Path, source: Path) -> None:
    text = _read(source)
    operations = re.findall(r"\bstruct tcp_congestion_ops (\w+)[^;=]*=", text)
    if not operations:
        raise InputError(f"{source}: no struct tcp_congestion_ops; give a congestion control of Linux")
    local = dict(_local_files(source))
    copied = [source, *local.values()]
    for file in copied:
        shutil.copyfile(file, part / file.name)
    _write_headers(part, "sojourn_cc.h", "sojourn_linux_cc.h")
    for file in copied:
        for header in _kernel_headers(_read(file)):
            if header not in local:
                _write(part / "include" / header, '#include "sojourn_linux_cc.h"\n')
    flags = "-std=gnu11 -fwrapv -fno-strict-aliasing"
    if re.search(r"\bSEC\(", text):
        flags += " -DSOJOURN_LINUX_BPF"
    if "module_init(" not in text:
        flags += f" -DSOJOURN_LINUX_OPS={operations[-1]}"
    companions = [file.name for file in local.values() if file.suffix == ".c"]
    _write(part / "Makefile", _makefile(name, source.name, companions, flags))
    licence = re.search(r"SPDX-License-Identifier:\s*([^*\n]+)", text)
    under = licence[1].strip() if licence else "as a rule the GPL, version 2"
    _write(
        part / "README.md",
        f"# {name}\n\n`{source.name}` of Linux, unchanged, as a congestion control for Sojourn. `make` builds "
        f'`lib{name}.so`, which a scenario names: `cc = "./lib{name}.so"`. Words after the name set parameters of the '
        f"module. `include/sojourn_linux_cc.h` lists what differs from the kernel.\n\n"
        f"The library contains {source.name} and is under that file's licence, the GPL of the kernel ({under}). Pass "
        f"it on under that licence only, with its source.\n",
    )


def _local_files(source: Path) -> Iterator[tuple[str, Path]]:
    """Files that `#include "…"` of `source` names, and the C files whose functions they declare."""
    for header in re.findall(r'^\s*#\s*include\s+"([^"]+)"', _read(source), re.MULTILINE):
        found = source.parent / header
        if found.is_file() and header not in BPF_HEADERS:
            yield header, found
            code = found.with_suffix(".c")
            if code.is_file() and code.name != source.name:
                yield code.name, code
        elif header not in BPF_HEADERS:
            raise InputError(f"{source} includes {header}, which is not in its folder; copy it there from the kernel")


def _kernel_headers(text: str) -> Iterator[str]:
    for header in re.findall(r'^\s*#\s*include\s+[<"]([\w./-]+)[>"]', text, re.MULTILINE):
        if header.split("/")[0] in KERNEL_FOLDERS + BPF_HEADERS and ".." not in header:
            yield header


def _makefile(name: str, file: str, companions: list[str], flags: str) -> str:
    objects = [Path(companion).stem + ".o" for companion in companions]
    rules = "".join(
        f"\n{made}: {companion}\n\t$(CC) $(FLAGS) -DSOJOURN_LINUX_COMPANION -c -o $@ $<\n"
        for made, companion in zip(objects, companions, strict=True)
    )
    return f"""\
CFLAGS = -O2
FLAGS = {flags} $(CFLAGS) -fPIC -I include

lib{name}.so: {" ".join([file, *objects])} $(wildcard include/*.h)
\t$(CC) $(FLAGS) -shared -o $@ $(filter-out %.h,$^)
{rules}"""


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def _write_headers(part: Path, *names: str) -> None:
    for name in names:
        _write(part / "include" / name, _template(f"include/{name}"))


def _template(name: str) -> str:
    return files("sojourn.model.ccs").joinpath("template", *name.split("/")).read_text(encoding="utf-8")


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}; give a C file of Linux, like net/ipv4/tcp_cubic.c") from error


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
