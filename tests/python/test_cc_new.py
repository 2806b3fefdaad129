"""`sojourn cc new`: folders for congestion controls in C, Rust and Python, and around a file of Linux."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from cc_libraries import U32, Connection
from conftest import REPO, Cli
from sojourn.base.errors import InputError
from sojourn.model.ccs.new import write_control

needs_make = pytest.mark.skipif(
    shutil.which("make") is None or shutil.which("cc") is None, reason="needs make and a C compiler, which are absent"
)

MODULE = """\
#include <linux/module.h>
#include <net/tcp.h>
#include "tiny.h"

static int step __read_mostly = 2;
module_param(step, int, 0644);
static bool draws;
module_param(draws, bool, 0644);
static u32 twice;

struct tiny {
    u32 started, growths;
};

static void tiny_init(struct sock *sk)
{
    struct tiny *ca = inet_csk_ca(sk);
    ca->started = tcp_jiffies32;
    if (draws)
        tcp_snd_cwnd_set(tcp_sk(sk), 20 + prandom_u32_max(10));
}

static u32 tiny_ssthresh(struct sock *sk) { return max(tcp_snd_cwnd(tcp_sk(sk)) * TINY_SHARE / 4, 2U); }

static void tiny_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
    struct tiny *ca = inet_csk_ca(sk);
    if (!tcp_is_cwnd_limited(sk))
        return;
    ca->growths++;
    tcp_snd_cwnd_set(tcp_sk(sk), tcp_snd_cwnd(tcp_sk(sk)) + twice * acked);
}

static void tiny_event(struct sock *sk, enum tcp_ca_event event)
{
    if (event == CA_EVENT_LOSS)
        tcp_sk(sk)->snd_ssthresh = 3;
}

static struct tcp_congestion_ops tiny_ops __read_mostly = {
    .init = tiny_init,
    .ssthresh = tiny_ssthresh,
    .cong_avoid = tiny_cong_avoid,
    .cwnd_event = tiny_event,
    .undo_cwnd = tcp_reno_undo_cwnd,
    .owner = THIS_MODULE,
    .name = "tiny",
};

static int __init tiny_register(void)
{
    BUILD_BUG_ON(sizeof(struct tiny) > ICSK_CA_PRIV_SIZE);
    if (step < 1)
        return -EINVAL;
    twice = 2 * step;
    return tcp_register_congestion_control(&tiny_ops);
}

static void __exit tiny_unregister(void) { tcp_unregister_congestion_control(&tiny_ops); }

module_init(tiny_register);
module_exit(tiny_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A test of the header");
"""
"""A control in the way of the kernel's, written for this test."""


def made(folder: Path) -> None:
    done = subprocess.run(
        ["make", "-C", str(folder), "CFLAGS=-O2 -Wall -Wextra -Werror"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    (tmp_path / "tcp_tiny.c").write_text(MODULE)
    (tmp_path / "tiny.h").write_text("#define TINY_SHARE 3\n")
    folder, build, spelling = write_control("tiny", tmp_path / "tiny", linux=tmp_path / "tcp_tiny.c")
    assert (build, spelling) == (f"make -C {folder}", f"{folder}/libtiny.so")
    assert (folder / "tcp_tiny.c").read_text() == MODULE
    made(folder)
    return folder / "libtiny.so"


@needs_make
def test_a_module_of_linux_runs_with_its_parameters(tiny: Path) -> None:
    with Connection(tiny) as one:
        assert (one.library.name, one.library.summary) == (b"tiny", b"A test of the header")
        one.call("start")
        one.acked(3, 20_000_000)
        assert one.flight.cwnd == 10 + 3 * 4
        assert one.ssthresh() == 22 * 3 // 4
        assert one.ssthresh(cause=2) == 3, "CA_EVENT_LOSS follows ssthresh"
        assert one.ssthresh(cause=1) == 0, "set_state responds to a loss"
        one.flight.cwnd = 4
        assert one.call("undo", result=U32) == 22, "the window before the reduction"
        with pytest.raises(ValueError, match="the same for all connections of a process; they are the defaults"):
            Connection(tiny, "step 3")
    with Connection(tiny, "step 0x3") as other:
        other.acked(1, 20_000_000)
        assert other.flight.cwnd == 16, "the module derives values of its parameters"
    with Connection(tiny) as again:
        again.acked(1, 20_000_000)
        assert again.flight.cwnd == 14, "defaults return"


@needs_make
def test_draws_follow_the_stream_of_the_connection(tiny: Path) -> None:
    with Connection(tiny, "draws 1") as one:
        one.call("start")
        # splitmix64 from 7: the upper bits of the first draw, times 10.
        z = (7 + 0x9E3779B97F4A7C15) % 2**64
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        assert one.flight.cwnd == 20 + ((z ^ z >> 31) * 10 >> 64)


@needs_make
def test_a_module_refuses_what_it_cannot_do_in_one_line(tiny: Path) -> None:
    for parameters, text in [
        ("stp 3", "the module has no parameter stp"),
        ("step", "give a value after step"),
        ("step 3x", "value out of range: 3x"),
        ("step 4294967296", "value out of range: 4294967296"),
        ("step 0", "the module's init refuses these parameters"),
    ]:
        with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
            Connection(tiny, parameters)
    with pytest.raises(ValueError, match="has 250 ticks per second, the library has 1000; compile it with -DHZ=250"):
        Connection(tiny, ticks=250)
    with Connection(tiny) as one:
        one.acked(1, 20_000_000)
        assert one.flight.cwnd == 14, "refused parameters leave the defaults"


@needs_make
def test_reno_in_c_is_built_and_grows(tmp_path: Path) -> None:
    folder, _, _ = write_control("my_reno", tmp_path / "my_reno")
    made(folder)
    with Connection(folder / "libmy_reno.so") as one:
        assert one.library.name == b"my_reno"
        one.acked(2, 20_000_000)
        assert one.flight.cwnd == 12
        one.flight.ssthresh = one.ssthresh()
        one.flight.cwnd = 6
        for _ in range(3):
            one.acked(2, 20_000_000)
        assert (one.flight.cwnd, one.flight.cwnd_cnt) == (7, 0)
    with pytest.raises(ValueError, match="it has no parameters"):
        Connection(folder / "libmy_reno.so", "beta 3")


def test_rust_and_python_have_the_given_name(tmp_path: Path) -> None:
    crate, build, spelling = write_control("my_reno", tmp_path / "crate", "rust", sources=REPO)
    assert build == f"cargo build --release --manifest-path {crate}/Cargo.toml"
    assert spelling == f"{crate}/target/release/libmy_reno_cc.so"
    source = (crate / "src" / "lib.rs").read_text()
    assert 'export_cc!("my_reno"' in source and "struct MyReno {" in source and "libmy_reno_cc.so" in source
    assert f'path = "{REPO}/crates/tcp"' in (crate / "Cargo.toml").read_text()
    folder, build, spelling = write_control("my_reno", tmp_path / "class", "python")
    assert (build, spelling) == ("", f"{folder}/my_reno_cc.py:MyReno")
    compile((folder / "my_reno_cc.py").read_text(), "my_reno_cc.py", "exec")


def test_bad_input_is_one_line(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "empty.c").write_text("int x;\n")
    (tmp_path / "lone.c").write_text('#include "lone.h"\nstruct tcp_congestion_ops lone = { .name = "lone" };\n')
    for words, text in [
        (["Mine"], '"Mine" is not the name of a control'),
        (["there"], "there already exists; choose another folder"),
        (["a", "--linux", "nothere.c"], "nothere.c: No such file or directory; give a C file of Linux"),
        (["a", "--linux", "empty.c"], "empty.c: no struct tcp_congestion_ops; give a congestion control of Linux"),
        (["a", "--linux", "lone.c"], "lone.c includes lone.h, which is not in its folder"),
        (["a", "--linux", "lone.c", "--lang", "rust"], "a control of Linux is written in C; leave out --lang rust"),
        (["a", "--lang", "rust", "--sources", "there"], "the crates of Sojourn are missing; give its sources"),
    ]:
        shown = cli("cc", "new", *words)
        assert shown.exit_code == 2, words
        assert text in shown.stderr and shown.stderr.count("\n") == 1, shown.stderr
        assert not (tmp_path / "a").exists()
    with pytest.raises(InputError, match="class"):
        write_control("class", tmp_path / "class")


def test_the_folder_has_the_headers_of_the_checkout(cli: Cli) -> None:
    shown = cli("cc", "new", "mine")
    assert shown.exit_code == 0, shown.output
    assert "make -C mine" in shown.output and "flows.0.cc=./mine/libmine.so" in shown.output
    header = REPO / "crates" / "capi" / "include" / "sojourn_cc.h"
    assert Path("mine/include/sojourn_cc.h").read_bytes() == header.read_bytes()
