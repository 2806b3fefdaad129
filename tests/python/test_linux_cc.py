"""Congestion controls of Linux 6.1, compiled unchanged with sojourn_linux_cc.h, beside those of the registry.

The kernel's source is not ours to ship: it is taken from the cache of the kernel engine (sojourn kernel build).
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from cc_libraries import Connection
from conftest import REPO, Cli, printed_json
from sojourn.engines.kernel import cache
from sojourn.model.ccs.new import write_control

ARCHIVE = cache.root() / "packages" / "linux-source-6.1.tar.xz"
pytestmark = [
    pytest.mark.skipif(not ARCHIVE.is_file(), reason="the source of Linux 6.1 is not cached (sojourn kernel build)"),
    pytest.mark.skipif(
        any(shutil.which(program) is None for program in ("make", "gcc", "tar")),
        reason="needs make, gcc and tar, which are absent",
    ),
]

CONTROLS = (
    *("bbr", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp", "nv", "scalable"),
    *("vegas", "veno", "westwood", "yeah"),
)
"""All controls in files of their own."""

SCENARIO = """
duration = "5 s"
warmup = "1 s"
seed = 3

[link]
rate = "20 Mbit/s"
limit = "60 packets"

[[flows]]
kind = "tcp"
stack = "linux-6.1"
cc = "reno"
count = 2
rtt = "30 ms"
"""


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a folder per control, built without a warning."""
    folder = tmp_path_factory.mktemp("linux")
    bpf = "linux-source-6.1/tools/testing/selftests/bpf/progs/bpf_cubic.c"
    names = ["linux-source-6.1/net/ipv4/tcp_*", bpf]
    subprocess.run(["tar", "-xJf", str(ARCHIVE), "-C", str(folder), "--wildcards", *names], check=True)
    for name in CONTROLS:
        source = folder / "linux-source-6.1" / "net" / "ipv4" / f"tcp_{name}.c"
        build(write_control(name, folder / name, linux=source)[0])
    build(write_control("bpf_cubic", folder / "bpf_cubic", linux=folder / bpf)[0])
    return folder


def build(folder: Path) -> None:
    # Before 6.16 and the stable kernels of 2025, in_ack_event came first; `dctcp` is as these kernels were.
    flags = "CFLAGS=-O2 -Wall -Wextra -Werror -DSOJOURN_LINUX_EARLY_EVENT"
    done = subprocess.run(["make", "-C", str(folder), "CC=gcc", flags], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", [*CONTROLS, "bpf_cubic"])
def test_the_file_is_unchanged_and_grows_a_window(libraries: Path, name: str) -> None:
    source = name if name.startswith("bpf") else f"tcp_{name}"
    [original] = (libraries / "linux-source-6.1").rglob(f"{source}.c")
    assert (libraries / name / f"{source}.c").read_bytes() == original.read_bytes()
    assert "under that file's licence, the GPL" in (libraries / name / "README.md").read_text()
    with Connection(libraries / name / f"lib{name}.so", ecn=1) as one:
        one.flight.srtt = one.flight.min_rtt = 20_000_000
        one.call("start")
        if one.library.face == 1:
            assert one.flight.pacing_rate > 10 * 1448 * 8 * 50, "more than the window per RTT"
            return
        for _ in range(10):
            one.acked(1, 20_000_000)
        assert one.flight.cwnd > 10
        assert 2 <= one.ssthresh() <= one.flight.cwnd


# `cubic` is absent: in Linux `usecs_to_jiffies(delay_min)` rounds up, and the RTTs of SACKed and of retransmitted
# segments count for `delay_min` and HyStart; in ours they do not.
@pytest.mark.skipif(
    not (REPO / "crates" / "library" / "src" / "control").is_dir(),
    reason="this checkout loads no libraries of congestion controls",
)
@pytest.mark.parametrize(
    ("name", "link"),
    [
        *((name, "droptail") for name in ("bbr", "bic", "highspeed", "htcp", "illinois", "scalable", "vegas")),
        *((name, "droptail") for name in ("westwood", "yeah")),
        ("dctcp", "codel ce_threshold 1ms ecn"),
    ],
)
def test_runs_are_those_of_the_registry(cli: Cli, libraries: Path, tmp_path: Path, name: str, link: str) -> None:
    (tmp_path / "s.toml").write_text(SCENARIO)

    def fingerprint(cc: str) -> str:
        ran = cli("run", "s.toml", "--json", "--set", f"link.aqm={link}", "--set", f"flows.0.cc={cc}")
        return str(printed_json(ran)["fingerprint"])

    assert fingerprint(name) == fingerprint(str(libraries / name / f"lib{name}.so"))


def test_parameters_are_those_of_the_module(libraries: Path) -> None:
    library = libraries / "cubic" / "libcubic.so"
    with Connection(library, "beta 512 hystart 0") as one:
        one.flight.cwnd = 100
        assert one.ssthresh() == 50
    with pytest.raises(ValueError, match="the module has no parameter alpha"):
        Connection(library, "alpha 3")
