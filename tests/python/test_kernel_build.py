"""Building a kernel: missing tools are reported first, failed edits are errors, an interrupted build continues."""

from __future__ import annotations

import json
import lzma
import os
import re
import shutil
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conftest import REPO, Process
from sojourn import InputError, Scenario, _core
from sojourn.base.errors import MissingError
from sojourn.engines.kernel import build as build_module
from sojourn.engines.kernel import cache, guest, library, needs, selftest, source
from sojourn.engines.kernel.build import build
from sojourn.engines.kernel.cache import GUEST_SOURCES, Kernel
from sojourn.engines.kernel.guest import processor
from sojourn.engines.kernel.patch import Edit, apply_edits, read_edits
from sojourn.studies.runs.runner import Run, Runner

MAKEFILE = "# SPDX\nVERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 7\nEXTRAVERSION =\nNAME = X\n"
if cache.gpl_part() is None:
    pytest.skip("sojourn-kernel is not installed", allow_module_level=True)
GPL = cache.require_gpl_part()
TEXT_OF_EDITS = (GPL / "edits.toml").read_text(encoding="utf-8")
EDITS = read_edits(TEXT_OF_EDITS, "6.1")


def test_edits_apply_all_or_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("one\n\ttwo(1);\nthree\n")
    (tmp_path / "b.c").write_text("two two\n")
    first = Edit("a.c", r"\ttwo\((\d)\);\n", r"\tfour(\g<1>);\n", "why")
    assert apply_edits([first, Edit("b.c", "two", "2", "both", 2)], tmp_path) == ["a.c", "b.c"]
    assert (tmp_path / "a.c").read_text() == "one\n\tfour(1);\nthree\n"
    before = (tmp_path / "a.c").read_text()
    for wrong, text in (
        (Edit("b.c", "two", "", "it is not there any more"), "found 0 times instead of 1 (it is not there any more)"),
        (Edit("b.c", "2", "", "it is there twice"), "b.c: the place for an edit was found 2 times instead of 1"),
        (Edit("c.c", "x", "", "no file"), "c.c: No such file or directory in the kernel's source"),
    ):
        with pytest.raises(MissingError, match=re.escape(text)):
            apply_edits([Edit("a.c", "one", "1", "first"), wrong], tmp_path)
        assert (tmp_path / "a.c").read_text() == before, "all or nothing"


def test_each_edit_has_a_reason_and_does_not_find_its_place_twice() -> None:
    assert len(EDITS) > 15
    for edit in EDITS:
        assert len(edit.why) > 5 and re.compile(edit.anchor)
    of_pie = [edit for edit in EDITS if edit.file == "net/sched/sch_pie.c"]
    text = "#include <net/pie.h>\nvoid f(void)\n{\n\tget_random_bytes(&rnd, 8);\n}\n"
    for edit in of_pie:
        text = edit.apply(text)
    assert "rnd = sojourn_random64();" in text and "u64 sojourn_random64(void);" in text
    with pytest.raises(MissingError):
        of_pie[0].apply(text)


def test_an_edit_may_be_for_some_versions_only() -> None:
    by_version = {version: read_edits(TEXT_OF_EDITS, version) for version in cache.VERSIONS}
    older, later, newest = by_version.values()
    assert older != later, "netem and BBR draw through other functions"
    draw = ("net/sched/sch_netem.c", "net/ipv4/tcp_bbr.c")
    assert [edit for edit in older if edit.file not in draw] == [edit for edit in later if edit.file not in draw]
    assert [edit for edit in later if edit.file not in draw] != [edit for edit in newest if edit.file not in draw]
    for edits in by_version.values():
        output = [edit for edit in edits if "sojourn_refused(to_free);" in edit.new]
        assert len(output) == 1, "each version tells drops during an arrival from later ones, in its own way"


def test_a_version_of_another_suite_is_fetched_with_separate_apt_state(
    tools: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "KEYRING", tmp_path / "none.gpg")
    log = tools()
    with pytest.raises(MissingError, match=r"none\.gpg: not found; install the package debian-archive-keyring"):
        build("7.3", tmp_path / "kernels")
    (tmp_path / "none.gpg").touch()
    log = tools(
        apt_get=f'{LAST}; cat "$2" > {tmp_path}/conf; cat "$(dirname "$2")/sources.list" > {tmp_path}/sources; {GIVE}'
    )
    build("7.3", tmp_path / "kernels")
    assert (tmp_path / "sources").read_text() == (
        f"deb [arch=amd64 signed-by={tmp_path}/none.gpg] http://deb.debian.org/debian trixie-backports main\n"
    )
    settings = (tmp_path / "conf").read_text()
    assert 'Dir::Etc::sourceparts "/dev/null";' in settings and "#clear APT::Update::Post-Invoke;" in settings
    assert [line for line in log.read_text().splitlines() if line.startswith("apt-get")] == ["apt-get -c"] * 2
    tools(apt_get="echo 'E: Unable to locate package' >&2; exit 100")
    with pytest.raises(MissingError, match=r"linux-source-7\.3: cannot be downloaded; .* still in trixie-backports"):
        build("7.3", tmp_path / "others")


def test_kernel_sources_are_separate_under_their_licence() -> None:
    parts = [path for path in GPL.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert {path.suffix for path in parts} == {".c", ".h", ".toml", ".py", ""}
    for path in parts:
        assert "SPDX-License-Identifier: GPL-2.0" in path.read_text(), path
    assert "Version 2, June 1991" in (REPO / "packages" / "kernel" / "LICENSE").read_text()
    for path in [*GUEST_SOURCES.glob("tool/*"), *GUEST_SOURCES.parent.glob("*.py")]:
        assert "GPL-2.0" not in path.read_text(encoding="utf-8"), path


def test_without_the_gpl_part_the_error_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "CHECKOUT", tmp_path / "sojourn_kernel")
    monkeypatch.setattr(cache, "find_spec", lambda _name: None)
    assert cache.find("6.1", tmp_path) is None
    for ask in (lambda: build("6.1", tmp_path), lambda: cache.built("6.1", tmp_path)):
        with pytest.raises(MissingError) as message:
            ask()
        text = str(message.value)
        assert "pip install sojourn-kernel==" in text and "\n" not in text


def test_an_installed_gpl_part_makes_the_same_kernel_if_it_is_of_this_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "sojourn_kernel"
    shutil.copytree(GPL, installed)
    before = cache.recipe()
    monkeypatch.setattr(cache, "CHECKOUT", tmp_path / "no checkout")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(cache, "distribution_version", lambda _name: _core.version())
    cache.recipe.cache_clear()
    assert cache.require_gpl_part() == installed and cache.recipe() == before
    monkeypatch.setattr(cache, "distribution_version", lambda _name: "0.0.7")
    with pytest.raises(MissingError, match=r"sojourn-kernel 0\.0\.7 is not that of Sojourn"):
        cache.require_gpl_part()


def test_missing_tools_are_reported_before_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "TOOLS", {"no-such-compiler": "gcc", "sh": "dash"})
    monkeypatch.setattr(needs, "RUN_TOOLS", {})
    monkeypatch.setattr(needs, "DISK_BYTES", 10**18)
    monkeypatch.setattr(needs, "_TRACE_ME", "raise SystemExit(1)")
    with pytest.raises(MissingError) as error:
        build("6.1", tmp_path / "kernels")
    lines = str(error.value).splitlines()
    assert lines[0] == "this machine lacks:"
    assert "  no-such-compiler: install the package gcc" in lines
    assert "  ptrace: allow it (in a container, --cap-add SYS_PTRACE)" in lines
    assert any(re.fullmatch(r"  space in .*: [\d.]+ of \d+ GB; free some or give --cache", line) for line in lines)
    assert not (tmp_path / "kernels").exists()
    with pytest.raises(InputError, match=r"--version: unknown version 5\.4; expected one of 6\.1, 6\.12"):
        build("5.4", tmp_path)


LAST = "for last; do :; done"
GIVE = '[ "$last" = update ] || echo > "${last}_${last#linux-source-}.7-1_all.deb"'


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Stubs of apt-get, dpkg-deb, tar, make and gcc that record their calls and may fail."""
    folder = tmp_path / "bin"
    folder.mkdir()
    log = tmp_path / "log"
    edited = "".join(f'mkdir -p "$(dirname {e.file})"; ' for e in EDITS)
    scripts = {
        "apt-get": f"{LAST}; {GIVE}",
        "dpkg-deb": 'mkdir -p usr/src; echo > "usr/src/$(ls *.deb | cut -d_ -f1).tar.xz"',
        "tar": f"{edited} mkdir -p drivers/net; printf '{MAKEFILE}' > Makefile",
        "make": 'case "$*" in *allnoconfig*) grep "^CONFIG" "${3#KCONFIG_ALLCONFIG=}" > .config;; '
        "*) echo '  CC x.o'; echo kernel > linux;; esac",
        "gcc": 'case "$*" in *-print-file-name*) echo /bin/sh;; *--version*) echo gcc 12;; '
        '*) while [ "$1" != -o ]; do shift; done; echo program > "$2";; esac',
        "strip": 'cp "$3" "$2"',
    }

    def write(**failing: str) -> Path:
        for name, text in scripts.items():
            text = failing.get(name.replace("-", "_"), text)
            path = folder / name
            path.write_text(f'#!/bin/sh\nset -e\necho "{name} $1" >> {log}\n{text}\n')
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
        log.write_text("")
        return log

    write()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setattr(build_module, "apply_edits", lambda _edits, _tree: [])
    monkeypatch.setattr(needs, "missing", lambda _place: [])
    monkeypatch.setattr(selftest, "run", lambda _kernel: None)
    monkeypatch.setattr(library, "make", lambda into: Path(shutil.copy(__file__, into / "sojourn_qdisc.o")))
    return write


def test_a_build_goes_on_where_it_was_interrupted(tools: Callable[..., Path], tmp_path: Path) -> None:
    root = tmp_path / "kernels"
    log = tools(
        make='case "$*" in *allnoconfig*) grep "^CONFIG" "${3#KCONFIG_ALLCONFIG=}" > .config;; '
        "*) echo 'x.c:1: error: no good' >&2; exit 2;; esac"
    )
    with pytest.raises(MissingError, match=r"cannot be compiled:\n  x\.c:1: error: no good"):
        build("6.1", root)
    assert cache.find("6.1", root) is None
    assert {line.split()[0] for line in log.read_text().splitlines()} == {"apt-get", "dpkg-deb", "tar", "make"}
    log = tools()
    output: list[tuple[float, str]] = []
    kernel = build("6.1", root, jobs=3, progress=lambda share, what: output.append((share, what)))
    assert [line.split()[0] for line in log.read_text().splitlines()][:1] == ["make"], "only what was left"
    assert kernel == cache.find("6.1", root) and kernel.version == "6.1.7"
    assert (kernel.image.read_text(), kernel.program.read_text()) == ("kernel\n", "program\n")
    assert [share for share, _ in output] == sorted(share for share, _ in output) and output[-1] == (1.0, "built")
    log.write_text("")
    assert build("6.1", root) == kernel and log.read_text() == ""


def test_changed_queue_disciplines_are_linked_into_the_compiled_tree(
    tools: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tools()
    kernel = build("6.1", tmp_path)
    log.write_text("")
    monkeypatch.setattr(cache, "qdisc_recipe", lambda: "changed")
    assert cache.find("6.1", tmp_path) is None
    other = build("6.1", tmp_path)
    assert other.image.parent.name.endswith("-changed") and other.image.parent != kernel.image.parent
    assert [line.split()[0] for line in log.read_text().splitlines()] == ["make", "gcc", "strip", "gcc"]
    assert kernel.image.exists(), "the other kernel stays"
    placed = next(tmp_path.glob("tree-6.1-*/linux/drivers/net/sojourn/qdisc"))
    assert {path.name for path in placed.iterdir()} >= {"Makefile", "sch_sojourn.c", "library.o_shipped"}


def test_a_kernel_names_the_package_of_its_version(
    tools: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "keyring").touch()
    monkeypatch.setattr(source, "KEYRING", tmp_path / "keyring")
    tools()
    for version in cache.VERSIONS:
        build(version, tmp_path)
    abouts = [json.loads((cache.folder_of(one, tmp_path) / cache.METADATA).read_text()) for one in cache.VERSIONS]
    assert [about["package"] for about in abouts] == ["6.1.7-1", "6.12.7-1", "7.3.7-1"]


def test_a_package_server_out_of_reach(tools: Callable[..., Path], tmp_path: Path) -> None:
    tools(apt_get="echo 'E: Failed to fetch: Could not resolve host' >&2; exit 100")
    with pytest.raises(MissingError) as error:
        build("6.1", tmp_path)
    assert str(error.value).startswith("linux-source-6.1: cannot be downloaded; is the package server reachable")
    assert "Could not resolve host" in str(error.value)


def test_a_source_that_does_not_take_the_configuration(tools: Callable[..., Path], tmp_path: Path) -> None:
    tools(make="echo CONFIG_64BIT=y > .config")
    with pytest.raises(MissingError, match="CONFIG_EXPERT=y: this kernel source does not accept it"):
        build("6.1", tmp_path)


def test_a_full_disk_while_compiling(tools: Callable[..., Path], tmp_path: Path) -> None:
    tools(
        make='case "$*" in *allnoconfig*) grep "^CONFIG" "${3#KCONFIG_ALLCONFIG=}" > .config;; '
        "*) echo 'ld: final link failed: No space left on device' >&2; exit 2;; esac"
    )
    with pytest.raises(MissingError, match="No space left on device"):
        build("6.1", tmp_path)


def test_a_kernel_that_fails_its_test_is_not_kept(
    tools: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_kernel: Kernel) -> None:
        raise MissingError("two runs of the kernel differ")

    monkeypatch.setattr(selftest, "run", fails)
    with pytest.raises(MissingError, match="two runs of the kernel differ"):
        build("6.1", tmp_path)
    assert cache.find("6.1", tmp_path) is None


def test_two_builds_do_not_share_a_folder(tools: Callable[..., Path], tmp_path: Path) -> None:
    place = build_module.BuildPaths("6.1", tmp_path)
    place.work.mkdir(parents=True)
    with build_module._locked(place.work), pytest.raises(MissingError, match="another build is running there"):
        build("6.1", tmp_path)


def test_a_new_recipe_makes_a_new_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = cache.folder_of("6.1", tmp_path)
    monkeypatch.setattr(cache, "recipe", lambda: "another")
    assert cache.folder_of("6.1", tmp_path) != before
    assert cache.folder_of("6.12", tmp_path) != cache.folder_of("6.1", tmp_path)


def test_a_wheel_has_the_library_as_an_object_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = tmp_path / "sojourn_qdisc.o.xz"
    monkeypatch.setattr(library, "CHECKOUT", tmp_path)
    monkeypatch.setattr(library, "PACKED", packed)
    library.digest.cache_clear()
    assert cache.find("6.1", tmp_path) is None
    with pytest.raises(MissingError, match=r"sojourn_qdisc\.o\.xz is missing, which only a wheel of Sojourn has"):
        library.digest()
    packed.write_bytes(lzma.compress(b"object"))
    assert len(library.digest()) == 12 and library.make(tmp_path).read_bytes() == b"object"
    library.digest.cache_clear()


def test_the_library_changes_with_its_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("crates/aqm/src/lib.rs", "crates/qdisc/src/lib.rs"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("one")
    for name in ("crates/aqm/Cargo.toml", "crates/qdisc/Cargo.toml", "Cargo.toml", "Cargo.lock"):
        (tmp_path / name).touch()
    monkeypatch.setattr(library, "CHECKOUT", tmp_path)
    digests = set()
    for name, text in (("aqm/src/lib.rs", "one"), ("aqm/src/lib.rs", "two"), ("qdisc/src/lib.rs", "two")):
        (tmp_path / "crates" / name).write_text(text)
        library.digest.cache_clear()
        digests.add(library.digest())
    assert len(digests) == 3
    library.digest.cache_clear()


def test_the_place_of_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOJOURN_KERNEL", str(tmp_path / "named"))
    assert cache.root() == tmp_path / "named" and cache.root(tmp_path) == tmp_path
    monkeypatch.delenv("SOJOURN_KERNEL")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.root() == tmp_path / "sojourn" / "kernel"


def test_the_source_s_version(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text(MAKEFILE)
    assert source.full_version(tmp_path) == "6.1.7"


def test_a_processor_for_each_guest() -> None:
    with processor() as first:
        assert first in os.sched_getaffinity(0)
        if len(os.sched_getaffinity(0)) > 1:
            with processor() as second:
                assert second != first
    with processor() as again:
        assert again == first


def test_a_machine_that_forbids_ptrace_runs_no_guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "_TRACE_ME", "raise SystemExit(1)")
    guest._check_machine.cache_clear()
    kernel = Kernel(Path("/bin/true"), Path("/bin/true"), "6.1", "x")
    with pytest.raises(MissingError, match=r"this machine lacks:\n  ptrace: allow it"):
        guest.boot(kernel, tmp_path, {"job": ""}, seed=1)
    guest._check_machine.cache_clear()


def test_a_guest_runs_on_this_machine_only(scenario_file: Path) -> None:
    runner = Runner(executor=ThreadPoolExecutor(1))
    with pytest.raises(InputError, match="engine kernel: runs on this machine only; leave out the executor"):
        runner([Run(Scenario.load(scenario_file), 1, "kernel")])


def test_help_describes_the_commands(process: Process) -> None:
    text = process("kernel", "--help").stdout
    assert "build" in text and "compare" in text
