"""Release artefacts: a complete source distribution, a wheel that needs no compiler, and their checks."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from conftest import REPO


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "maturin", "sdist", "--out", str(folder)]
    made = subprocess.run(command, cwd=REPO, capture_output=True, text=True, timeout=240)
    assert made.returncode == 0, made.stderr
    [file] = folder.glob("sojourn-*.tar.gz")
    return file


@pytest.fixture(scope="module")
def names(sdist: Path) -> set[str]:
    """Return the names in the source distribution."""
    with tarfile.open(sdist) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "CHANGELOG.md",
        "CITATION.cff",
        "LICENSE-MIT",
        "LICENSE-APACHE",
        "Makefile",
        "requirements.lock",
        "mkdocs.yml",
        "docs/index.md",
        "scenarios/codel.toml",
        "python/sojourn/model/scenarios/shipped/outages.down",
        "tests/python/test_package.py",
        "crates/aqm/src/lib.rs",
        "bench/Cargo.toml",
    ],
)
def test_the_source_distribution_has(names: set[str], name: str) -> None:
    assert name in names


def test_nothing_that_is_built_is_in_it(names: set[str]) -> None:
    wrong = [name for name in names if name.endswith((".so", ".pyc")) or Path(name).parts[:1] == ("target",)]
    assert not wrong


def test_every_file_of_the_package_is_in_it(names: set[str]) -> None:
    listed = subprocess.run(["git", "ls-files", "python/sojourn"], cwd=REPO, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a checkout of git")
    assert set(listed.stdout.split()) <= names


def test_the_gpl_part_is_not_in_it(names: set[str]) -> None:
    assert not any("edits.toml" in name or name.startswith("packages/kernel") for name in names)


def test_its_crates_are_whole(sdist: Path, tmp_path: Path) -> None:
    """The wheel is built from them with the locked versions, in a workspace without crates that no wheel needs."""
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    [root] = tmp_path.iterdir()
    command = ["cargo", "metadata", "--offline", "--format-version", "1"]
    reported = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert reported.returncode == 0, reported.stderr
    locked = (REPO / "Cargo.lock").read_text(encoding="utf-8")
    entries = (root / "Cargo.lock").read_text(encoding="utf-8").split("[[package]]")[1:]
    assert len(entries) > 50
    assert all(entry.strip() in locked for entry in entries)


@pytest.fixture(scope="module")
def wheel() -> Path:
    """Return the wheel of `make wheel`, if built from these sources."""
    found = sorted((REPO / "out" / "dist").glob("sojourn-*.whl"))
    if not found:
        pytest.skip("no wheel is built (make wheel)")
    newest = max(path.stat().st_mtime for path in (REPO / "crates").rglob("*.rs"))
    if found[-1].stat().st_mtime < newest:
        pytest.skip("the wheel is older than the sources (make wheel)")
    return found[-1]


def test_the_wheel_works_in_an_environment_without_a_compiler(wheel: Path, tmp_path: Path) -> None:
    """Its dependencies come from the environment of the tests, so no package index is queried."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    [site] = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    python = tmp_path / "venv" / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]
    subprocess.run([*pip, str(wheel)], check=True)
    (site / "lent.pth").write_text(f"{Path(pytest.__file__).parents[1]}\n")
    (tmp_path / "bin").mkdir()
    environment = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path), "MPLBACKEND": "Agg"}
    command = [str(python.parent / "sojourn"), "compare", "--aqm", "codel,pie", "--duration", "3 s"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("results/compare-*.png"))
    where = "import sojourn; print(sojourn.__file__)"
    reported = subprocess.run(
        [str(python), "-c", where], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert Path(reported.strip()).is_relative_to(site)


def release() -> ModuleType:
    """Return the release checks as a module."""
    spec = spec_from_file_location("release", REPO / "packages" / "release.py")
    assert spec is not None and spec.loader is not None
    found = module_from_spec(spec)
    sys.modules["release"] = found
    spec.loader.exec_module(found)
    return found


def _wheel(folder: Path, name: str, files: dict[str, str], **headers: str) -> Path:
    path = folder / name
    about = "\n".join(f"{key.replace('_', '-')}: {value}" for key, value in headers.items())
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.dist-info/METADATA", f"Metadata-Version: 2.4\n{about}\n\ntext\n")
        for file, text in files.items():
            archive.writestr(file, text)
    return path


def _dist(folder: Path, version: str, glibc: str = "2.28") -> None:
    """Write minimal release artefacts."""
    licences = {"x/LICENSE-MIT": "", "x/LICENSE-APACHE": ""}
    core = {"sojourn/_core.abi3.so": f"GLIBC_2.17 GLIBC_{glibc}"}
    package = dict.fromkeys(release().EXPECTED["wheel"], "")
    _wheel(
        folder,
        f"sojourn-{version}-cp310-abi3-manylinux_2_28_x86_64.whl",
        licences | core | package,
        Version=version,
        License_Expression="MIT OR Apache-2.0",
        Description_Content_Type="text/markdown; charset=UTF-8",
    )
    _wheel(
        folder,
        f"sojourn_kernel-{version}-py3-none-any.whl",
        {"x/LICENSE": ""},
        Version=version,
        License_Expression="GPL-2.0-only",
    )
    with tarfile.open(folder / f"sojourn-{version}.tar.gz", "w:gz") as archive:
        for name in release().EXPECTED["sdist"]:
            (folder / "file").write_text("")
            archive.add(folder / "file", f"sojourn-{version}/{name}")


QUICK = ("versions", "licences", "contents", "glibc", "repository", "changelog and tag")


def test_the_checks_pass_valid_artefacts_and_name_faults(tmp_path: Path) -> None:
    module = release()
    own = module.version()
    _dist(tmp_path, own)
    dist = module.Dist(tmp_path)
    for name in QUICK:
        assert list(module.CHECKS[name](dist)) == [], name
    wheel = dist.wheel
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("sojourn/left.pyc", "")
        archive.writestr("sojourn/engines/kernel/a.c", "// SPDX-License-Identifier: GPL-2.0")
    assert any("left.pyc must not be in it" in one for one in module.CHECKS["contents"](dist))
    assert any("a.c is under the GPL" in one for one in module.CHECKS["licences"](dist))
    wheel.rename(tmp_path / f"sojourn-{own}-cp310-abi3-linux_x86_64.whl")
    assert any("this machine alone" in one for one in module.CHECKS["glibc"](module.Dist(tmp_path)))
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    _dist(tmp_path, "9.9.9", "2.34")
    assert sum("has version 9.9.9" in one for one in module.CHECKS["versions"](module.Dist(tmp_path))) == 3
    assert any("need glibc 2.34" in one for one in module.CHECKS["glibc"](module.Dist(tmp_path)))


def test_a_version_without_a_dated_section_is_not_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = release()
    own = module.version()
    text = (REPO / "CHANGELOG.md").read_text()
    for name in ("Cargo.toml", "CHANGELOG.md"):
        shutil.copy(REPO / name, tmp_path / name)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    check = module.CHECKS["changelog and tag"]
    assert list(check(None)) == []
    (tmp_path / "CHANGELOG.md").write_text(re.sub(rf"## \[{re.escape(own)}\] - \S+", f"## [{own}]", text))
    assert list(check(None)) == [f"CHANGELOG.md has no section ## [{own}] - DATE"]
    (tmp_path / "CHANGELOG.md").write_text(text.replace("## [Unreleased]", ""))
    assert list(check(None)) == ["CHANGELOG.md does not begin with ## [Unreleased]"]


def test_the_repositorys_address_is_written_everywhere_from_one_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = release()
    for name in ("Cargo.toml", "pyproject.toml", "CITATION.cff", "packages/kernel/pyproject.toml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPO / name, tmp_path / name)
    for path in REPO.glob("crates/**/Cargo.toml"):
        folder = tmp_path / path.parent.relative_to(REPO)
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "KERNEL", tmp_path / "packages" / "kernel")
    check = module.CHECKS["repository"]
    assert list(check(None)) == []
    for url in ("https://example.org/one", "https://example.org/two"):
        module.write_repository(url)
        assert set(module._repositories().values()) == {url} and list(check(None)) == []
    tomllib = pytest.importorskip("tomllib")
    for name in ("pyproject.toml", "packages/kernel/pyproject.toml"):
        assert tomllib.loads((tmp_path / name).read_text())["project"]["urls"] == {"Repository": url}
    (tmp_path / "CITATION.cff").write_text((REPO / "CITATION.cff").read_text())
    assert any("--repository URL" in one for one in check(None))
