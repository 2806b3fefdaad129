"""Queue managers in Python: the same verdicts as the built-in ones, for every way of naming them."""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path
from typing import Any, Literal

import pytest

import sojourn as sj
from conftest import REPO, SHORT, Cli, Process, entries, printed_json
from sojourn import _core
from sojourn.model.aqms import loading
from sojourn.studies.runs import store
from sojourn.studies.runs.order import ORDER

EXAMPLE = REPO / "examples" / "python-aqm" / "my_codel.py"
MY_CODEL = f"{EXAMPLE}:MyCodel"

BASE = {
    "duration": "10 s",
    "link": {"rate": "10 Mbit/s"},
    "flows": [
        {"kind": "tcp", "stack": "linux-2.6.29", "cc": "reno", "count": 4, "rtt": "40 ms", "spread": "1 s"},
    ],
}


def scenario(aqm: object, **sets: object) -> sj.Scenario:
    return sj.Scenario.build(BASE).replace({"link.aqm": aqm, **{k.replace("__", "."): v for k, v in sets.items()}})


@pytest.mark.parametrize(
    ("builtin", "own", "sets"),
    [
        ("codel", "{}", {}),
        ("codel", "{}", {"link__limit": "30 packets", "flows.0.count": 16}),
        ("codel target 15ms interval 300ms", "{} target 15ms interval 300ms", {"flows.0.access_delay": "150 ms"}),
        ("codel ecn", "{} ecn", {"flows.0.ecn": True}),
        ("codel ecn", "{} ecn", {}),  # not ECN-capable: drops
        ("fq(codel)", "fq({})", {"flows.0.count": 8}),
        ("fq(codel ecn) quantum 300B flows 4", "fq({} ecn) quantum 300B flows 4", {"flows.0.ecn": True}),
    ],
)
def test_codel_in_python_is_the_built_in_verdict_for_verdict(builtin: str, own: str, sets: dict[str, object]) -> None:
    runs = [
        scenario(aqm, probes__packets=True, **sets).run(seed=seed)
        for seed in (1, 2)
        for aqm in (builtin, own.format(MY_CODEL))
    ]
    for reference, local in (runs[:2], runs[2:]):
        assert local.fingerprint == reference.fingerprint
        assert local.packets.equals(reference.packets)
        forward = local.totals["links"]["forward"]
        assert forward["dropped_by"]["late"] + forward["marked"] > 10
    assert runs[0].fingerprint != runs[2].fingerprint


def test_codel_in_python_is_the_built_in_packet_by_packet_in_a_queue() -> None:
    draw = random.Random(1)
    queues = [sj.Queue(aqm, limit="200 packets") for aqm in ("codel ecn", f"{MY_CODEL} ecn")]
    now, drops = 0, 0
    for tag in range(20_000):
        now += draw.randrange(1_500_000)
        size, ecn = draw.choice([64, 576, 1500]), draw.choice([0, 2])
        pushed = [queue.push(now, size, ecn=ecn, tag=tag) for queue in queues]
        popped = [queue.pop(now) for queue in queues] if draw.random() < 0.9 else [None, None]
        removed = [queue.dropped() for queue in queues]
        assert pushed[0] == pushed[1]
        assert popped[0] == popped[1]
        assert removed[0] == removed[1]
        drops += len(removed[0])
    assert drops > 500
    state = queues[1].state()
    assert {"count", "drop_next", "dropping"} <= set(state)
    assert {name: queues[0].state()[name] for name in state} == state


def test_the_state_probe_records_observe() -> None:
    frames = [scenario(aqm, probes__state="10 ms").run().state for aqm in ("codel", MY_CODEL)]
    names = ["time_s", "link", "count", "drop_next", "dropping"]
    assert frames[1].select(names).equals(frames[0].select(names))


def test_it_manages_300_000_packets_per_second() -> None:
    fast = scenario(MY_CODEL, link__rate="100 Mbit/s")
    rates = []
    for _ in range(3):
        began = time.process_time()
        result = fast.run()
        links = result.totals["links"]
        assert links["reverse"]["packets"] > 0
        rates.append(links["forward"]["packets"] / (time.process_time() - began))
    assert max(rates) >= 300_000


class Shallow(sj.Aqm):
    """Drops packets that find `depth` packets queued."""

    def __init__(self, depth: int = 5) -> None:
        self.depth = depth

    def enqueue(self, cx: _core.Cx, meta: _core.Meta, queue: _core.Fifo) -> Literal["accept", "drop"]:
        return "drop" if len(queue) >= self.depth else "accept"


def test_classes_and_instances_replace_names() -> None:
    managers = ["codel", MY_CODEL, Shallow, Shallow(depth=9)]
    found = sj.compare(managers, duration="3 s", warmup="300 ms", flows=2, stack="linux-2.6.29", cc="reno")
    longest = dict(zip(found.table["aqm"], found.table["sojourn_max_ms"], strict=True))
    assert len(longest) == 4
    assert found.aqms[2].endswith("test_user_aqms.py:Shallow")
    assert found.aqms[3] == found.aqms[2] + " depth 9"
    assert [result.scenario.aqm for result in found.results] == found.aqms
    assert longest[found.aqms[2]] < longest[found.aqms[3]] < longest["codel"]
    assert found.results[0].fingerprint == found.results[1].fingerprint
    assert Shallow(9) == Shallow(depth=9) != Shallow()
    assert sj.Scenario.build({**BASE, "link": {"rate": "1 Mbit/s", "aqm": Shallow}}).aqm == found.aqms[2]


def test_a_class_without_a_file_runs_in_this_process() -> None:
    class Local(Shallow):
        """A class that is not in any module."""

    queue = sj.Queue(Local(depth=1))
    assert [queue.push(0), queue.push(0)] == ["queued", "dropped:early"]
    found = sj.compare([Local, Shallow], duration="2 s", seeds=2)
    assert found.results[0].fingerprint == found.results[2].fingerprint


def test_limits_and_counters_are_the_disciplines() -> None:
    queue = sj.Queue(Shallow, limit="3 packets")
    fates = [queue.push(0, tag=tag) for tag in range(5)]
    assert fates == ["queued"] * 3 + ["dropped:limit"] * 2
    assert queue.dropped() == [(3, "limit"), (4, "limit")]
    forward = scenario(Shallow(depth=3)).run().totals["links"]["forward"]
    assert forward["dropped_by"]["early"] > 0
    assert forward["dropped"] == sum(forward["dropped_by"].values())


def test_a_scenario_names_the_file_relative_to_itself(tmp_path: Path, cli: Cli) -> None:
    folder = tmp_path / "a folder, with (signs) @ 100%"
    folder.mkdir()
    (folder / "mine.py").write_text(EXAMPLE.read_text())
    (folder / "s.toml").write_text(SHORT.replace('"codel"', '"mine.py:MyCodel target 7ms"'))
    reference = printed_json(cli("run", folder / "s.toml", "--set", "link.aqm=codel target 7ms", "--json"))
    local = printed_json(cli("run", folder / "s.toml", "--json"))
    assert local["fingerprint"] == reference["fingerprint"]
    assert local["aqm"].endswith("mine.py:MyCodel target 7ms")
    assert " " not in local["scenario"]["link"]["aqm"]["name"]
    nested = printed_json(cli("run", folder / "s.toml", "--json", "--set", "link.aqm=fq(mine.py:MyCodel) flows 16"))
    assert nested["aqm"].startswith("fq(")
    assert nested["aqm"].endswith("mine.py:MyCodel) flows 16")


def test_a_command_names_the_file_relative_to_the_current_folder(tmp_path: Path, cli: Cli, scenario_file: Path) -> None:
    (tmp_path / "mine.py").write_text(EXAMPLE.read_text())
    table = printed_json(cli("compare", "--aqm", "codel,mine.py:MyCodel target 7ms", "--duration", "2s", "--json"))
    assert [row["aqm"] for row in table["table"]] == ["codel", "mine.py:MyCodel target 7ms"]
    ran = printed_json(cli("run", scenario_file, "--set", "link.aqm=mine.py:MyCodel", "--json"))
    assert ran["aqm"] == "mine.py:MyCodel"
    shown = cli("aqm", "show", "mine.py:MyCodel").output
    assert "CoDel: drops at the head" in shown
    assert "100 ms" in shown


def test_a_class_is_its_own_file_wherever_the_scenario_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("mine", "theirs"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.py").write_text(EXAMPLE.read_text())
    (tmp_path / "theirs" / "s.toml").write_text(SHORT)
    monkeypatch.chdir(tmp_path / "mine")
    cls = loading.find("same.py:MyCodel")
    for aqm in (cls, cls(target="7 ms")):
        found = sj.Scenario.load(tmp_path / "theirs" / "s.toml", {"link.aqm": aqm})
        assert found.user_aqms() == [f"{tmp_path}/mine/same.py:MyCodel"]
        assert found.aqm.startswith("same.py:MyCodel")


STUDY = SHORT + '\n[sweep]\n"link.aqm" = ["codel", "mine.py:MyCodel", "fq(mine.py:MyCodel ecn)"]\nseeds = 2\n'


def test_a_study_sweeps_over_it_in_processes(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        EXAMPLE.read_text().replace("        now, ok", '        print("noise")\n        now, ok')
    )
    (tmp_path / "study.toml").write_text(STUDY)
    study = sj.Study.load(tmp_path / "study.toml")
    stored = study.run(tmp_path / "out", jobs=2)
    alone = [point.scenario.run(seed) for point in study.points for seed in study.seeds]
    unstored = study.run(jobs=2)
    for results in (stored.results, unstored.results):
        assert [result.fingerprint for result in results] == [result.fingerprint for result in alone]
    assert unstored.results[2].table("sojourn_histogram").equals(alone[2].table("sojourn_histogram"))
    assert unstored.runs.equals(stored.runs)
    assert len(entries(tmp_path / "out") - {ORDER}) == 6


def test_the_source_is_part_of_the_hash(tmp_path: Path) -> None:
    def run_hash(folder: str, text: str, aqm: str = "mine.py:MyCodel") -> str:
        path = tmp_path / folder / "mine.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return store.run_hash(sj.Scenario.parse(SHORT, {"link.aqm": aqm}, base=path.parent), 1)

    text = EXAMPLE.read_text()
    first = run_hash("a", text)
    assert run_hash("b", text) == first, "a copy elsewhere is the same"
    assert run_hash("a", text + "# changed\n") != first
    assert run_hash("a", text) == first
    assert run_hash("a", text, "mine.py:MyCodel target 7500us") == run_hash("b", text, "mine.py:MyCodel target 7.5ms")
    assert run_hash("a", text, "fq(mine.py:MyCodel)") != run_hash("a", text + "#", "fq(mine.py:MyCodel)")


def test_a_changed_source_is_run_again_and_old_results_are_read_without_it(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "mine.py"
    path.write_text(EXAMPLE.read_text())
    compare = ("compare", "--aqm", "codel,mine.py:MyCodel", "--duration", "2s", "--json", "-o", "out")
    first = printed_json(cli(*compare))["runs"]
    again = printed_json(cli(*compare))["runs"]
    assert [run["folder"] for run in again] == [run["folder"] for run in first]
    manifest = json.loads((Path(first[1]["folder"]) / "manifest.json").read_text())
    assert list(manifest["aqms"]) == [str(path) + ":MyCodel"]
    path.write_text(EXAMPLE.read_text().replace('"5 ms"', '"50 ms"'))
    changed = printed_json(cli(*compare))["runs"]
    assert changed[0]["folder"] == first[0]["folder"]
    assert changed[1]["fingerprint"] != first[1]["fingerprint"]
    path.unlink()
    loaded = sj.load(first[1]["folder"])
    assert (loaded.scenario.aqm, loaded.fingerprint) == ("mine.py:MyCodel", first[1]["fingerprint"])
    assert cli("plot", "cdf", first[0]["folder"], first[1]["folder"], "-o", "x.png").exit_code == 0


def test_random_draws_come_from_the_queues_own_stream() -> None:
    class Lottery(sj.Aqm):
        def enqueue(self, cx: _core.Cx, meta: _core.Meta, queue: _core.Fifo) -> Literal["accept", "drop"]:
            assert 0 <= cx.below(7) < 7
            return "drop" if cx.random() < 0.02 else "accept"

    first, second = (scenario(Lottery).run(seed=3) for _ in range(2))
    assert first.fingerprint == second.fingerprint
    assert first.totals["links"]["forward"]["dropped_by"]["early"] > 20
    assert scenario(Lottery).run(seed=4).fingerprint != first.fingerprint


def test_every_method_is_called_as_documented() -> None:
    ms = 1_000_000
    log: list[Any] = []

    class Recorder(sj.Aqm):
        judges_overflow = False

        def __init__(self) -> None:
            self.due = 10 * ms

        def attach(self, limits: _core.Limits, link: _core.Link) -> None:
            log.append(("attach", limits.packets, limits.bytes, limits.time, link.rate, link.mtu))

        def enqueue(self, cx: _core.Cx, meta: _core.Meta, queue: _core.Fifo) -> Literal["mark"]:
            log.append(("enqueue", cx.now, meta.len, meta.ecn, meta.is_ect, meta.flow, len(queue), cx.packets))
            return "mark"

        def next_update(self) -> int:
            return self.due

        def update(self, at: int, cx: _core.Cx) -> None:
            assert at == cx.now
            log.append(("update", at, cx.packets, cx.bytes))
            self.due += 10 * ms

        def overflowed(self, cx: _core.Cx, meta: _core.Meta) -> None:
            log.append(("overflowed", cx.now, meta.len))

        def emptied(self, cx: _core.Cx) -> None:
            log.append(("emptied", cx.now))

    queue = sj.Queue(Recorder, limit="1 packets", rate="8 Mbit/s", mtu=1000)
    assert queue.push(5 * ms, 100, ecn=2) == "marked"
    assert queue.push(6 * ms, 200, ecn=2) == "dropped:limit"
    popped = queue.pop(25 * ms)
    assert popped is not None
    assert popped.marked
    assert queue.push(26 * ms, 300, flow=3) == "dropped:early", "a mark on what is not ECN-capable"
    attached = ("attach", 1, None, None, 8_000_000, 1000)
    assert log == [
        *[attached] * log.count(attached),
        ("enqueue", 5 * ms, 100, 2, True, 0, 0, 0),
        ("overflowed", 6 * ms, 200),
        ("update", 10 * ms, 1, 100),
        ("update", 20 * ms, 1, 100),
        ("emptied", 25 * ms),
        ("enqueue", 26 * ms, 300, 0, False, 3, 0, 0),
    ]


def test_flows_report_shed_packets_and_lost_turns_to_their_managers() -> None:
    log: list[Any] = []

    class LoggingAqm(sj.Aqm):
        def shed(self, cx: _core.Cx, n: int) -> None:
            log.append(("shed", n))

        def unscheduled(self) -> None:
            log.append("unscheduled")

    queue = sj.Queue(f"fq({LoggingAqm()})", limit="8 packets")
    for tag in range(9):
        queue.push(tag, tag=tag)
    assert log == [("shed", 5)], "until half of the bytes are gone"
    while queue.pop(100):
        pass
    assert log[1:] == ["unscheduled"]


def test_a_manager_may_make_room() -> None:
    class HeadDrop(sj.Aqm):
        judges_overflow = True

        def attach(self, limits: _core.Limits, link: _core.Link) -> None:
            self.most = limits.packets or 0

        def enqueue(self, cx: _core.Cx, meta: _core.Meta, queue: _core.Fifo) -> None:
            while len(queue) >= self.most:
                queue.drop(0, "limit")

    sets = {"link__limit": "50 packets", "probes__packets": True}
    reference, local = (scenario(aqm, **sets).run() for aqm in ("drophead", HeadDrop))
    assert local.packets.equals(reference.packets)
    assert local.totals["links"]["forward"]["dropped_by"]["limit"] > 20


def test_parameters_have_the_types_of_their_defaults() -> None:
    got: dict[str, object] = {}

    class Kinds(sj.Aqm):
        def __init__(
            self,
            span: str = "5 ms",
            rate: str = "2 Mbit/s",
            size: str = "1500 B",
            count: int = 3,
            gain: float = 0.5,
            on: bool = False,
            law: Literal["sqrt", "linear"] = "sqrt",
        ) -> None:
            got.update(span=span, rate=rate, size=size, count=count, gain=gain, on=on, law=law)

        def emptied(self, cx: Any) -> None: ...

    Kinds()
    assert list(got.values()) == [5_000_000, 2_000_000, 1500, 3, 0.5, False, "sqrt"]
    made = Kinds("7.5 ms", size="2 kB", gain=-1, on=True, law="linear")
    assert list(got.values()) == [7_500_000, 2_000_000, 2000, 3, -1.0, True, "linear"]
    assert made.text.endswith("Kinds span 7.5ms size 2000B gain -1 on law linear")
    for wrong, message in [
        ({"span": 5}, 'span: "5" has no unit'),
        ({"spam": "5 ms"}, 'unknown parameter "spam"; did you mean "span"?'),
        ({"law": "cubic"}, 'law: "cubic" is not one of sqrt, linear'),
        ({"count": -1}, "count: "),
    ]:
        with pytest.raises(sj.InputError, match=message.replace("?", r"\?")):
            Kinds(**wrong)  # type: ignore[arg-type]


def test_invalid_classes_are_refused(tmp_path: Path) -> None:
    class Needy(sj.Aqm):
        def __init__(self, target: str) -> None: ...

    class Odd(sj.Aqm):
        def __init__(self, target: object = None) -> None: ...

        def emptied(self, cx: Any) -> None: ...

    with pytest.raises(sj.InputError, match="target needs a default"):
        Needy("5 ms")
    with pytest.raises(sj.InputError, match="target: the default None"):
        Odd()
    with pytest.raises(TypeError, match="cannot be extended"):
        type("Mine", (sj.Codel,), {})
    (tmp_path / "mine.py").write_text("class Other: pass\n")
    for name, message in [
        ("mine.py:Other", "is not a queue manager"),
        ("mine.py:Others", "has no class 'Others'"),
        ("their.py:Mine", "no such file"),
        ("no.such.module:Mine", "no such module"),
        ("mine.py:Other@act", "is not a queue manager"),
        (f"{MY_CODEL}@act", 'unknown profile "act"'),
        (f"{MY_CODEL} target 1s", "target must be below interval"),
    ]:
        with pytest.raises(sj.InputError, match=f"link.aqm: .*{message}"):
            sj.Scenario.parse(SHORT, {"link.aqm": name}, base=tmp_path)


def test_a_script_needs_no_file_and_no_guard(tmp_path: Path) -> None:
    import subprocess

    program = tmp_path / "program.py"
    text = EXAMPLE.read_text() + 'print(sj.compare(["codel", MyCodel], duration="2 s", seeds=2).table["fingerprint"])\n'
    program.write_text(text)
    for command in ([program], ["-c", text]):
        ran = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, timeout=60)
        assert ran.returncode == 0, ran.stderr
        prints = [line.strip().strip('"') for line in ran.stdout.splitlines() if line.startswith('\t"')]
        assert len(prints) == 2
        assert prints[0] == prints[1]


def test_a_result_of_a_class_without_source_is_not_stored(tmp_path: Path) -> None:
    import subprocess

    made = "class A(sj.Aqm):\n    def emptied(self, cx): pass\n"
    text = f'import sojourn as sj\n{made}sj.compare([A], duration="1 s", out="out")\n'
    ran = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert "InputError: __main__:A: its source cannot be read" in ran.stderr
    assert not entries(tmp_path)


@pytest.mark.parametrize(
    ("aqm", "is_valid"),
    [
        ("my_aqm.py:MyAqm target 5ms", True),
        ("fq(my_aqm.py:MyAqm target 5ms) quantum 300B", True),
        ({"name": "my_aqm.py:MyAqm", "target": "5 ms"}, True),
        ({"name": "fq(my_aqm.py:MyAqm)", "flows": 16}, True),
        ({"name": "fq(my_aqm.py:MyAqm)", "flwos": 16}, False),
        ("my_aqm.py", False),
    ],
)
def test_the_schema_accepts_classes_in_files(aqm: object, is_valid: bool) -> None:
    import jsonschema

    schema = json.loads(_core.scenario_schema())
    document = {**BASE, "link": {"rate": "1 Mbit/s", "aqm": aqm}}
    assert jsonschema.Draft202012Validator(schema).is_valid(document) == is_valid


def test_a_file_that_starts_runs_when_it_is_loaded_is_refused(tmp_path: Path, process: Process) -> None:
    (tmp_path / "program.py").write_text(EXAMPLE.read_text() + 'sj.compare(["codel"], duration="1 s")\n')
    ran = process("compare", "--aqm", "program.py:MyCodel", "--duration", "1s")
    assert ran.returncode == 2
    assert "starts runs while it is loaded; move them below `if __name__" in ran.stderr
    assert "Traceback" not in ran.stderr
