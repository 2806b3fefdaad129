"""A user's queue managers in Rust in the guest's kernel: crates and refusals; and a run, if a kernel is built."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import REPO
from sojourn import InputError, Scenario
from sojourn.engines.kernel import build, cache, own_crates
from sojourn.engines.kernel.cache import Kernel
from sojourn.engines.kernel.network import lay_out
from sojourn.engines.kernel.own_build import Additions
from sojourn.model.aqms.crate import write_crate
from sojourn.studies.difference import diff
from test_libraries import built

EXPORT = 'sojourn_library::export!("mine", "what", "who", MINE);\n'


def _crate(folder: Path, source: str = EXPORT, name: str = "mine_aqm", more: str = "") -> Path:
    (folder / "src").mkdir(parents=True)
    (folder / "Cargo.toml").write_text(f'[package]\nname = "{name}"\nedition = "2024"\n{more}')
    (folder / "src" / "lib.rs").write_text(source)
    return folder


def test_what_aqm_new_writes_is_read(tmp_path: Path) -> None:
    folder = write_crate("late", tmp_path / "late")
    [crate] = own_crates.read([folder])
    assert (crate.library, crate.edition, list(crate.sources)) == ("late_aqm", "2024", ["lib.rs"])
    source = folder / "src" / "lib.rs"
    source.write_text(source.read_text() + "// another\n")
    [changed] = own_crates.read([folder])
    assert changed.digest != crate.digest
    assert Additions(crates=[crate]).metadata["crates"] == {"late_aqm": crate.digest}


@pytest.mark.parametrize(
    ("source", "name", "more", "error"),
    [
        ("", "mine", "", "exports one queue manager from src/lib.rs, by sojourn_library::export!; here: none"),
        (EXPORT * 2, "mine", "", 'here: "mine" in src/lib.rs, "mine" in src/lib.rs'),
        (EXPORT, "codel", "", "Sojourn has a queue manager codel; give the crate another name"),
        (EXPORT, "", "", 'names no package; write e.g. [package] name = "my_aqm"'),
        (EXPORT, "mine", "[dependencies]\nrand = '1'\n", "needs rand, which a kernel does not get"),
        (EXPORT, "mine", "[lib]\npath = 'a.rs'\n", "lib.path is not read; move the library to src/lib.rs"),
    ],
)
def test_other_crates_are_refused(tmp_path: Path, source: str, name: str, more: str, error: str) -> None:
    with pytest.raises(InputError, match=re.escape(error)):
        own_crates.read([_crate(tmp_path / "crate", source, name, more)])


def test_two_crates_have_two_names(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="two crates have the name mine_aqm"):
        own_crates.read([_crate(tmp_path / "one"), _crate(tmp_path / "two")])
    with pytest.raises(InputError, match="No such file"):
        own_crates.read([tmp_path / "absent"])


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The crate of `aqm new`, with its shared library; skipped without cargo."""
    if shutil.which("cargo") is None:
        pytest.skip("cargo is missing")
    folder = write_crate("late", tmp_path_factory.mktemp("crate") / "late")
    shutil.copy(REPO / "Cargo.lock", folder)
    command = ["cargo", "build", "--offline", "--quiet", "--target-dir", str(REPO / "target" / "crate-of-a-user")]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    shutil.copy(REPO / "target" / "crate-of-a-user" / "debug" / "liblate_aqm.so", folder)
    return folder


def _scenario(aqm: str) -> Scenario:
    flow = {"kind": "tcp", "cc": "cubic", "count": 4, "rtt": "37 ms", "ecn": True}
    link = {"rate": "9.7 Mbit/s", "delay": "3 ms", "aqm": aqm}
    probes = {"packets": True}
    return Scenario.build({"duration": "5 s", "warmup": "1 s", "link": link, "flows": [flow], "probes": probes})


def test_a_library_is_that_of_its_crate(tmp_path: Path) -> None:
    for name in ("libblue_aqm.so", "blue.so"):
        built(REPO / "examples" / "c" / "blue.c", tmp_path / name)
    network = lay_out(_scenario(f"{tmp_path}/libblue_aqm.so increment 0.03").document)
    assert network.queues[0].line.endswith(" blue_aqm increment 0.03")
    with pytest.raises(InputError, match=r"cannot load .*blue\.so; name the library of a crate, libNAME\.so, and b"):
        lay_out(_scenario(f"{tmp_path}/blue.so").document)


def test_classes_and_policies_have_a_way(tmp_path: Path) -> None:
    text = "import sojourn\n\nclass Mine(sojourn.Aqm):\n    def dequeue(self, cx, queue):\n        return queue.pop()\n"
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(InputError, match=r"cannot load .*mine\.py:Mine; write it in Rust \(sojourn aqm new\) and b"):
        lay_out(_scenario(f"{tmp_path}/mine.py:Mine").document)


def test_the_queue_manager_of_a_user_is_the_simulators(kernel: Kernel, late: Path) -> None:
    """The arrivals of the guest, played through the shared library, have the guest's verdicts at the nanosecond."""
    assert kernel.version.startswith("6.1.")
    guest = build.build("6.1", cache.root(), own=Additions(crates=own_crates.read([late])))
    assert guest.own.crates == {"late_aqm"}
    aqm = f"{late}/liblate_aqm.so target 8ms ecn"
    result = _scenario(aqm).run(5, engine="kernel")
    assert guest.digest in result.engine
    found = diff(aqm, log=result)
    assert found.packets > 3000
    assert found.agreeing == found.packets


def test_an_error_of_a_crate_has_its_line(kernel: Kernel, late: Path, tmp_path: Path) -> None:
    folder = tmp_path / "late"
    shutil.copytree(late, folder)
    source = folder / "src" / "lib.rs"
    text = source.read_text().replace("late: 0 }", 'late: { std::println!("made"); 0 } }')
    line = text[: text.index("std::println")].count("\n") + 1
    source.write_text(text)
    place = rf"{re.escape(str(source))}:{line}:"
    with pytest.raises(InputError, match=rf"(?s)for a kernel \(without the standard library.*{place}") as refused:
        build.build("6.1", cache.root(), own=Additions(crates=own_crates.read([folder])))
    assert "core:: or alloc::" in str(refused.value) and kernel
