"""`sojourn aqm new`: a crate for a queue manager in Rust; `examples/rust-template` builds and runs its source."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import sojourn as sj
from conftest import REPO, Cli
from sojourn.base.errors import InputError
from sojourn.model.aqms.crate import source, write_crate

tomllib = pytest.importorskip("tomllib")


def test_the_crate_has_the_names_and_the_paths(cli: Cli, tmp_path: Path) -> None:
    made = cli("aqm", "new", "my_red", "--sources", REPO)
    assert made.exit_code == 0 and "cargo build --release --manifest-path my_red/Cargo.toml" in made.output
    manifest = tomllib.loads((tmp_path / "my_red" / "Cargo.toml").read_text())
    assert manifest["package"]["name"] == "my_red_aqm" and manifest["lib"]["crate-type"] == ["cdylib"]
    for crate in manifest["dependencies"].values():
        assert (Path(crate["path"]) / "Cargo.toml").is_file()
    text = (tmp_path / "my_red" / "src" / "lib.rs").read_text()
    assert 'export!("my_red",' in text and "type Aqm = MyRed;" in text and "static MY_RED" in text
    assert "libmy_red_aqm.so" in text and "libmy_aqm" not in text
    assert source("my") == (REPO / "python" / "sojourn" / "model" / "aqms" / "template" / "lib.rs").read_text()


@pytest.mark.parametrize("name", ["My", "7up", "", "a-b", "self", "x" * 60, "../up"])
def test_names_that_no_crate_has_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="not the name of a crate"):
        write_crate(name, tmp_path / "new", REPO)
    assert not list(tmp_path.iterdir())


def test_existing_files_are_kept(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "my").mkdir()
    for given, word in ((("my",), "already exists"), (("my", "other", "--sources", "."), "are missing")):
        shown = cli("aqm", "new", *given)
        assert shown.exit_code == 2 and word in shown.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["my"]


def test_it_builds_and_its_digest_is_in_the_hash(tmp_path: Path) -> None:
    """With the artefacts of an earlier cargo build; without them it would take minutes."""
    target = os.environ.get("SOJOURN_TEMPLATE_TARGET")
    if target is None or shutil.which("cargo") is None:
        pytest.skip("SOJOURN_TEMPLATE_TARGET names no folder for cargo's build of the crate")
    crate = write_crate("my", tmp_path / "my", REPO)
    command = ["cargo", "build", "--release", "--offline", "--quiet", "--manifest-path", str(crate / "Cargo.toml")]
    subprocess.run([*command, "--target-dir", target], check=True)
    library = Path(target) / "release" / "libmy_aqm.so"
    found = sj.compare(["droptail", f"{library} target 4ms"], duration="5 s", out=tmp_path / "out")
    tail, own = found.table["sojourn_p95_ms"].to_list()
    assert own < 7 < tail
    again = sj.compare([f"{library} target 4ms"], duration="5 s", out=tmp_path / "out")
    assert again.results[0].found
