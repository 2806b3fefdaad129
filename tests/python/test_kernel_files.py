"""A user's C files in the guest's kernel: names, refusals, scenarios that name them; and runs, if a kernel is built."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import REPO, Process
from sojourn import InputError, Scenario
from sojourn.base.errors import MissingError
from sojourn.engines import check
from sojourn.engines.kernel import build, cache
from sojourn.engines.kernel.cache import Kernel, Own
from sojourn.engines.kernel.network import lay_out
from sojourn.engines.kernel.own_build import Additions
from sojourn.engines.kernel.own_files import CONTROL, QDISC, read, refuse_clashes

EXAMPLES = REPO / "examples" / "kernel"
QUEUE, SENDER = EXAMPLES / "sch_step.c", EXAMPLES / "tcp_gentle.c"
OPS = 'static struct Qdisc_ops {0}_ops __read_mostly = {{\n\t.id = "{0}",\n}};\n'


def _scenario(aqm: str, **keys: Any) -> Scenario:
    flow = {"kind": "tcp", "cc": "cubic", "count": 4, "rtt": "37 ms", "stack": "linux-6.1", "ecn": True, **keys}
    link = {"rate": "9.7 Mbit/s", "delay": "3 ms", "aqm": aqm}
    probes = {"packets": True}
    return Scenario.build({"duration": "5 s", "warmup": "1 s", "link": link, "flows": [flow], "probes": probes})


def _file(folder: Path, text: str, name: str = "sch_mine.c") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_file_says_its_name() -> None:
    assert [read(kind, [str(path)])[0].name for kind, path in ((QDISC, QUEUE), (CONTROL, SENDER))] == ["step", "gentle"]


def test_another_name_is_the_only_change(tmp_path: Path) -> None:
    text = f'/* struct Qdisc_ops a = {{ .id = "no" }}; */\nchar *x = "// {{";\n{OPS.format("codel")}'
    found = read(QDISC, [f"mine={_file(tmp_path, text)}"])[0]
    assert (found.name, found.text) == ("mine", text.replace('.id = "codel"', '.id = "mine"'))
    assert found.stem == "sch_mine"


def test_headers_of_the_folder_belong_to_a_file(tmp_path: Path) -> None:
    for name, text in (("one.h", '#include "two.h"\n'), ("two.h", '#include "one.h"\n')):
        (tmp_path / name).write_text(text)
    path = _file(tmp_path, f'#include <net/sch.h>\n#include "one.h"\n#include "absent.h"\n{OPS.format("mine")}')
    before = read(QDISC, [str(path)])[0]
    assert set(before.headers) == {"one.h", "two.h"}
    (tmp_path / "two.h").write_text("#define TWO 2\n")
    assert read(QDISC, [str(path)])[0].digest != before.digest


def test_the_digest_is_that_of_the_files_in_any_order(tmp_path: Path) -> None:
    own = [*read(QDISC, [str(QUEUE)]), *read(CONTROL, [str(SENDER)])]
    copy = read(QDISC, [str(shutil.copy(QUEUE, tmp_path))])
    assert Additions(own).digest == Additions([own[1], *copy]).digest != Additions(own[:1]).digest
    assert Additions().digest == ""


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("int x;\n", "none is here; write e.g. struct Qdisc_ops ops = { .id"),
        (f"{OPS.format('a')}\n{OPS.format('b')}", 'it registers 2 of them (line 2: "a", line 6: "b"); keep one'),
        (OPS.format("sixteen_letters_"), ':2: "sixteen_letters_" is not a name of up to 15 letters, digits, _; choose'),
        (OPS.format("mi-ne"), ':2: "mi-ne" is not a name'),
        (OPS.format(""), ':2: "" is not a name'),
        (f"/*\n{OPS.format('mine')}*/\n", "none is here"),
        ("\n".join(f'#include "h{number}.h"' for number in range(101)) + OPS.format("mine"), "more than 100 headers"),
        (f"{OPS.format('mine')}//{'x' * 4_000_000}", "has more than 4000000 bytes"),
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, text: str, error: str) -> None:
    for number in range(101):
        (tmp_path / f"h{number}.h").touch()
    path = _file(tmp_path, text)
    with pytest.raises(InputError, match=re.escape(error)) as refused:
        read(QDISC, [str(path)])
    assert str(path) in str(refused.value)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary.c").write_bytes(b"\x7fELF\xff")
    for name, error in (("absent.c", "No such file"), ("binary.c", "not a text file"), (".", "Is a directory")):
        with pytest.raises(InputError, match=error):
            read(CONTROL, [str(tmp_path / name)])
    with pytest.raises(InputError, match=r'--qdisc a/b=.*: "a/b" is not a name'):
        read(QDISC, [f"a/b={QUEUE}"])


def test_names_are_free(tmp_path: Path) -> None:
    """Only compiled files of the kernel take a name."""
    sched = tmp_path / "net" / "sched"
    sched.mkdir(parents=True)
    for name in ("codel", "other"):
        (sched / f"sch_{name}.c").write_text(OPS.format(name))
    (sched / "sch_codel.o").touch()
    own = _file(tmp_path, OPS.format("codel"))
    with pytest.raises(InputError, match=r'Linux has a queue discipline "codel"; give .*: --qdisc NAME=.*sch_mine\.c'):
        refuse_clashes(read(QDISC, [str(own)]), tmp_path)
    with pytest.raises(InputError, match='"sojourn"; give this one another name'):
        refuse_clashes(read(QDISC, [f"sojourn={own}"]), tmp_path)
    with pytest.raises(InputError, match=r"step\.c is a queue discipline \"step\""):
        refuse_clashes(read(QDISC, [str(QUEUE), f"step={own}"]), tmp_path)
    refuse_clashes([*read(QDISC, [f"other={own}"]), *read(CONTROL, [f"codel={SENDER}"])], tmp_path)


def test_a_scenario_names_files_of_a_kernel() -> None:
    scenario = _scenario("kernel:mine like codel target 7500us", cc="kernel:gentle")
    assert scenario.aqm == "kernel:mine like codel target 7.5ms"
    assert scenario.kernel_files == {"link.aqm": "kernel:mine", "flows[0].cc": "kernel:gentle"}
    assert Scenario.build(scenario.document) == scenario
    assert scenario.replace({"link.aqm.target": "9 ms"}).aqm == "kernel:mine like codel target 9ms"
    assert not scenario.user_code()


@pytest.mark.parametrize(
    ("aqm", "line"),
    [
        ("kernel:mine", "mine"),
        ("kernel:mine options 1:4:5000  2:8:7", "mine options 1:4:5000 2:8:7"),
        ("kernel:mine like codel target 7ms ecn", "mine like codel limit 1000 target 7000us interval 100000us ecn"),
        ("kernel:mine like cake", "mine like cake unlimited"),
        ("kernel:mine like red@linux min 20kB max 60kB", "mine like red limit 1000000000 "),
        ("kernel:mine like droptail", "mine like pfifo limit 1000"),
    ],
)
def test_tc_reads_its_words(aqm: str, line: str) -> None:
    keys = {"link.limit": "20000 packets"} if "cake" in aqm else {}
    network = lay_out(_scenario(aqm).replace(keys).document)
    assert network.queues[0].line.startswith(line)


@pytest.mark.parametrize("engine", ["simulate", "emulate", "ns2", "ns2-plugin"])
def test_other_engines_refuse_them(engine: str) -> None:
    for scenario, place in (
        (_scenario("kernel:mine like codel"), "link.aqm: the engine .* cannot run kernel:mine, a file"),
        (_scenario("codel", cc="kernel:gentle"), r"flows\[0\]\.cc: the engine .* cannot run kernel:gentle, a file"),
    ):
        with pytest.raises(InputError, match=f"{place} that is compiled into a kernel; choose --engine kernel"):
            check(engine, scenario)


def test_the_simulator_never_runs_one(process: Process) -> None:
    for words in ("link.aqm=kernel:mine", "flows.0.cc=kernel:mine"):
        done = process("run", REPO / "scenarios" / "ecn.toml", "--set", words)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert "kernel:mine, a file that is compiled into a kernel; choose --engine kernel" in done.stderr


def test_words_that_tc_lacks_are_refused() -> None:
    for aqm in (
        "kernel:mine like pi2",
        "kernel:mine like codel@act",
        "kernel:mine like tbf rate 1mbit burst 5kB latency 9ms",
    ):
        with pytest.raises(InputError, match=r"link\.aqm: the engine kernel has no words of tc for .*; name one of"):
            lay_out(_scenario(aqm).document)


def test_a_kernel_without_the_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOJOURN_KERNEL", str(tmp_path))
    with pytest.raises(MissingError, match=r"no kernel 6\.1 with the discipline mine and the control gentle is built"):
        cache.built(own=Own(frozenset({"mine"}), frozenset({"gentle"})))


DRAWS = {
    "net/sched/sch_pie.c": ("rnd = sojourn_random64();", "get_random_bytes(&rnd, 8);"),
    "net/sched/sch_cake.c": ("sojourn_random32() < vars->p_drop", "get_random_u32() < vars->p_drop"),
    "net/ipv4/tcp_bbr.c": ("sojourn_control_random(sk, bbr_cycle_rand)", "prandom_u32_max(bbr_cycle_rand)"),
}
"""In files of the tree: the random numbers that we edit, and as they are in Linux."""
RENAMED_FILES = ("net/sched/sch_codel.c", "net/sched/sch_cake.c", "net/sched/sch_pie.c")
RENAMED_CONTROLS = ("net/ipv4/tcp_cubic.c", "net/ipv4/tcp_bbr.c")


@pytest.fixture
def own_kernel(kernel: Kernel, tmp_path: Path) -> Kernel:
    """A kernel with renamed copies of Linux's files and the examples; skipped without the compiled tree."""
    root = cache.root()
    paths = build.BuildPaths("6.1", root)
    if not (paths.tree / "net" / "sched" / "sch_codel.c").is_file():
        pytest.skip("the compiled tree of the kernel was removed")

    def renamed(name: str) -> str:
        text = (paths.tree / name).read_text()
        edited, original = DRAWS.get(name, ("", ""))
        assert edited in text
        path = _file(tmp_path, text.replace(edited, original) if edited else text, Path(name).name)
        return f"my_{path.stem.partition('_')[2]}={path}"

    qdiscs = [str(QUEUE), *map(renamed, RENAMED_FILES)]
    controls = [str(SENDER), *map(renamed, RENAMED_CONTROLS)]
    return build.build("6.1", root, own=Additions([*read(QDISC, qdiscs), *read(CONTROL, controls)]))


RENAMED = [
    ("codel ecn", "cubic"),
    ("codel noecn", "bbr"),
    ("pie ecn", "cubic"),
    ("cake bandwidth 9mbit", "bbr"),
]


@pytest.mark.parametrize(("aqm", "cc"), RENAMED)
def test_renamed_files_of_linux_are_linuxs(own_kernel: Kernel, aqm: str, cc: str) -> None:
    assert own_kernel.own.controls >= {f"my_{cc}"}
    limit = {"link.limit": "20000 packets"} if aqm.startswith("cake") else {}
    name = aqm.split()[0]
    linux = _scenario(aqm, cc=cc).replace(limit).run(7, engine="kernel")
    own = _scenario(f"kernel:my_{name} like {aqm}", cc=f"kernel:my_{cc}").replace(limit).run(7, engine="kernel")
    assert linux.packets is not None and own.packets is not None
    assert linux.packets.height > 3000
    assert own.packets.equals(linux.packets)
    assert own.engine != linux.engine


def test_a_discipline_of_a_user_runs(own_kernel: Kernel) -> None:
    """It judges packets at their departure: marked are those that waited longer than the threshold."""
    result = _scenario("kernel:step options 1:4:9000", cc="kernel:gentle").run(3, engine="kernel")
    packets = result.packets
    assert packets is not None
    data = packets.filter(pl.col("link") == "forward")
    marked, sent = (data.filter(pl.col("fate") == fate)["sojourn_ms"].to_list() for fate in ("marked", "sent"))
    assert len(marked) > 100 and len(sent) > 1000
    assert min(marked) > 9.0 >= max(sent)


def test_a_file_with_an_error_is_refused_with_its_line(own_kernel: Kernel, tmp_path: Path) -> None:
    text = QUEUE.read_text().replace('"step"', '"wrong"')
    for old, new, error in (
        ("sch->limit = 1000;", "sch->limits = 1000;", "has no member named .limits."),
        ("#include <linux/module.h>", "#include <linux/modul.h>", "linux/modul.h: No such file"),
        ("return qdisc_enqueue_tail", "return step_tail", "implicit declaration of function .step_tail."),
        ("if (packets)", "if packets)", "expected .\\(. before .packets."),
    ):
        assert old in text
        path = _file(tmp_path, text.replace(old, new))
        line = text[: text.index(old)].count("\n") + 1
        with pytest.raises(InputError, match=rf"does not take it:\n  {re.escape(str(path))}:{line}:.*{error}"):
            build.build("6.1", cache.root(), own=Additions(read(QDISC, [str(path)])))
    path = _file(tmp_path, "int step_other(void);\n" + text.replace("sch->limit = 1000;", "sch->limit = step_other();"))
    with pytest.raises(InputError, match=rf"{re.escape(str(path))}: undefined reference to .step_other"):
        build.build("6.1", cache.root(), own=Additions(read(QDISC, [str(path)])))
