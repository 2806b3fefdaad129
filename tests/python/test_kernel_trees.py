"""A user's kernel tree as the source of a build, and two builds compared with each other."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from conftest import Cli
from sojourn import InputError
from sojourn.base.errors import MissingError
from sojourn.engines.kernel import cache, compare_builds, own_tree
from sojourn.engines.kernel.cache import Kernel
from sojourn.engines.kernel.compare_builds import Build
from sojourn.engines.kernel.pattern import Packet, Pattern
from sojourn.io.traces.arrivals import Arrivals

MAKEFILE = "# SPDX\nVERSION = 6\nPATCHLEVEL = {}\nSUBLEVEL = 7\nEXTRAVERSION =\nNAME = X\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "linux"
    (folder / "net").mkdir(parents=True)
    (folder / "Makefile").write_text(MAKEFILE.format(1))
    (folder / "net" / "a.c").write_text("int a;\n")
    (folder / "net" / "link").symlink_to("a.c")
    return folder


def test_the_digest_is_that_of_the_source_alone(tree: Path) -> None:
    before = own_tree.read(tree, None)
    assert before.version == "6.1"
    (tree / "net" / "a.o").write_bytes(b"\x7fELF")
    (tree / ".git").mkdir()
    (tree / ".git" / "HEAD").touch()
    assert own_tree.read(tree, None) == before
    (tree / "net" / "a.c").write_text("int b;\n")
    assert own_tree.read(tree, None).digest != before.digest


def test_a_copy_has_no_traces_of_a_build(tree: Path, tmp_path: Path) -> None:
    for name in ("a.o", ".a.o.cmd", "built-in.a", "vmlinux.lds.S"):
        (tree / "net" / name).touch()
    for name in (".config", "vmlinux"):
        (tree / name).touch()
    copy = tmp_path / "copy"
    own_tree.read(tree, None).copy(copy)
    expected = ["Makefile", "net", "net/a.c", "net/link", "net/vmlinux.lds.S"]
    assert sorted(str(path.relative_to(copy)) for path in copy.rglob("*")) == expected
    assert (copy / "net" / "link").is_symlink()


def test_a_tree_of_another_version_needs_one_whose_edits_it_takes(tree: Path) -> None:
    (tree / "Makefile").write_text(MAKEFILE.format(6))
    with pytest.raises(InputError, match=r"--source .*: is Linux 6\.6; give the --version whose edits .*6\.12"):
        own_tree.read(tree, None)
    assert own_tree.read(tree, "6.12").version == "6.12"
    for wrong in (tree / "net", tree / "absent", tree / "Makefile"):
        with pytest.raises(InputError, match="is not the top folder of a Linux source tree"):
            own_tree.read(wrong, None)


def test_a_folder_has_the_kernels_of_one_tree(tree: Path, tmp_path: Path) -> None:
    root = tmp_path / "kernels"
    own_tree.read(tree, None).claim(root)
    kept = [root / name for name in ("linux-6.12-a", "packages", "notes-6.1")]
    for folder in (root / "linux-6.1-a-b", root / "tree-6.1-a", *kept):
        folder.mkdir()
    own_tree.read(tree, None).claim(root)
    assert (root / "linux-6.1-a-b").is_dir()
    (tree / "net" / "a.c").write_text("int b;\n")
    own_tree.read(tree, None).claim(root)
    assert sorted(path.name for path in root.iterdir()) == ["linux-6.12-a", "notes-6.1", "packages", "source"]
    (root / "source").unlink()
    with pytest.raises(InputError, match="has kernels of another source; give one of its own"):
        own_tree.read(tree, None).claim(root)
    assert all(folder.is_dir() for folder in kept)


def test_a_tree_needs_a_folder_for_its_kernels(cli: Cli, tree: Path) -> None:
    done = cli("kernel", "build", "--source", tree)
    assert done.exit_code == 2
    assert "--source needs --cache DIR" in done.output


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("6.1", '"6.1" are not two kernels; write e.g. 6.1,6.12 or 6.1,6.1:mine'),
        ("6.1,,6.12", "are not two kernels"),
        ("6.1,5.4", "unknown version 5.4; expected one of 6.1, 6.12, 7.3"),
        ("/a/b,6.1", "unknown version b"),
    ],
)
def test_wrong_pairs_of_builds_are_refused(tmp_path: Path, text: str, error: str) -> None:
    with pytest.raises((InputError, MissingError), match=re.escape(error)):
        compare_builds.parse(text, tmp_path)


def _arrivals(fates: list[int], times: list[int]) -> Arrivals:
    count = len(fates)
    columns = {
        "time_ns": np.arange(count, dtype=np.uint64) * 1000,
        "flow": np.zeros(count, np.uint32),
        "bytes": np.full(count, 1514, np.uint32),
        "ecn": np.full(count, 2, np.uint8),
    }
    recorded = {"fate": np.array(fates, np.uint8), "fate_ns": np.array(times, np.uint64)}
    return Arrivals("packets", columns, {}, recorded, None, "the kernel's", 0)


def test_the_first_difference_is_the_earliest_fate(tmp_path: Path) -> None:
    """The second packet leaves later in B, but before that the third one is dropped."""
    kernel = Kernel(tmp_path / "linux", tmp_path / "guest", "6.1.7", "0" * 12)
    builds = [Build(kernel), Build(kernel, "mine")]
    pattern = Pattern("codel@linux", "codel limit 9", 1_000_000, 0, 1, [Packet(at, 1514, 0, 2) for at in range(4)])
    one = _arrivals([0, 0, 0, 1], [5000, 9000, 9500, 9900])
    two = _arrivals([0, 0, 9, 1], [5000, 9001, 8000, 9900])
    found = compare_builds._difference(builds, pattern, [one, two])
    assert (found.packets, found.agreeing, found.same_verdicts) == (4, 2, 3)
    assert (found.a, found.b) == ("Linux 6.1.7: codel limit 9", "Linux 6.1.7 with mine: mine like codel limit 9")
    first = found.first_difference
    assert first is not None
    assert (first["index"], first["at_ns"]) == (2, 8000)
    assert (first["a"]["verdict"], first["a"]["departure_ns"]) == ("pass", 9500)
    assert (first["b"]["verdict"], first["b"]["dropped_ns"]) == ("drop", 8000)
    assert compare_builds._difference(builds, pattern, [one, one]).first_difference is None


def test_two_versions_of_linux_do_the_same(kernel: Kernel, cli: Cli) -> None:
    if cache.find("6.12") is None:
        pytest.skip("no kernel 6.12 is built here (sojourn kernel build --version 6.12)")
    done = cli("kernel", "compare", "--builds", "6.1,6.12", "--aqm", "codel,sfq", "--patterns", 3, "--json")
    assert done.exit_code == 0
    assert [one["agreement"] for one in json.loads(done.stdout)["compared"]] == [100, 100]
    assert kernel.version.startswith("6.1.")


def test_a_difference_has_both_states(kernel: Kernel) -> None:
    """Tail drop at one packet more, by another pattern's line, differs first when the shorter queue is full."""

    class Shorter(Build):
        def of(self, one: Pattern) -> Pattern:
            limit = int(one.line.split()[2])
            return Pattern(one.aqm, f"pfifo limit {limit - 1}", one.rate, one.overhead, one.seed, one.packets)

    pair = [Build(kernel), Shorter(kernel)]
    [found] = compare_builds.compare_builds(pair, ["pfifo"], patterns=1, packets=300, seed=5, jobs=1)
    assert found.first is not None
    first = found.first.first_difference
    assert first is not None
    assert (first["a"]["verdict"], first["b"]["verdict"]) == ("pass", "drop")
    states = [first[key]["state"] for key in "ab"]
    assert states[0]["qlen"] == states[1]["qlen"] == states[1]["options.limit"] == states[0]["options.limit"] - 1


def test_sojourns_discipline_does_what_linuxs_does(kernel: Kernel, cli: Cli) -> None:
    """The same arrivals through the kernel's own disciplines and through the library in the kernel."""
    assert kernel.version.startswith("6.1.")
    done = cli("kernel", "compare", "--builds", "6.1,6.1:sojourn", "--aqm", "all", "--patterns", 2, "--json")
    compared = json.loads(done.stdout)["compared"]
    assert len(compared) == 12
    assert [one["aqm"] for one in compared if one["agreement"] < 100] == []
    refused = cli("kernel", "compare", "--builds", "6.1,6.1:sojourn", "--aqm", "cake", "--patterns", 2)
    assert "cake: is not compared with sojourn, which has no filters; choose codel" in refused.output
