"""`import tc` of single lines: every word that tc prints comes back in the scenario or as not understood."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from sojourn.io.tc.scenario import ImportedScenario, ImportOptions, import_text, load
from sojourn.io.tc.words import PRINTED
from tc_lines import drawn_option


def imported(text: str) -> ImportedScenario:
    return import_text(text, "a", ImportOptions(rate="93 Mbit/s", download="eth0"))


def spelled(found: ImportedScenario) -> str:
    """The discipline of eth0 in our syntax."""
    return next(text.split("eth0, ")[1] for text in found.understood if "eth0, " in text)


@pytest.mark.parametrize(
    ("words", "text", "notes"),
    [
        (
            "cake 1: {} bandwidth 2200Kbit diffserv3 dual-srchost nat rtt 100.0ms noatm overhead 18 via-ethernet "
            "mpu 64 (docsis)",
            "cake bandwidth 2.2Mbit/s isolation dual-srchost overhead 18 mpu 64",
            ["cake: via-ethernet: tc ignores it", "cake: (docsis)"],
        ),
        (
            "cake 1: {} bandwidth 11Mbit no-sce raw overhead 0 mpu 84",
            "cake bandwidth 11Mbit/s mpu 84",
            ["cake: no-sce"],
        ),
        ("cake 1: {} unheard 7 of bandwidth 3Mbit", "cake bandwidth 3Mbit/s", ["cake: unheard 7", "cake: of"]),
        ("cake 1: {} bandwidth 3Mbit (?diffserv?) wash", "cake bandwidth 3Mbit/s wash", ["cake: (?diffserv?)"]),
        ("cake 1: {} fwmark 0xff", "cake", ["cake: fwmark 0xff: packets have no firewall marks here"]),
        ("cake 1: {} overhead -4 mpu 20", "cake overhead -4 mpu 20", []),
        (
            "red 1: {} limit 400000b min 30000b max 90000b ecn adaptive",
            "red@linux min 30000B max 90000B ecn adaptive aimd",
            [],
        ),
        (
            "red 1: {} limit 400000b min 30000b max 90000b harddrop nodrop ewma 6 probability 0.03 Scell_log 9",
            "red@linux min 30000B max 90000B probability 0.03 burst 56 harddrop",
            ["red: Scell_log 9", "red: nodrop: nodrop needs ecn; write e.g. ecn nodrop"],
        ),
        (
            "sfq 1: {} limit 127p quantum 1514b depth 63 flows 128 divisor 1024 perturb 10sec ewma 3 min 8333b "
            "max 25000b probability 0.02 ecn",
            "sfq_red perturb_period 10s depth 63 min 8333B max 25000B ecn",
            [],
        ),
        (
            "fq_codel 1: {} limit 10240p ce_threshold 99us ce_threshold_selector 0x1/0x3",
            "fq_codel@linux ce_threshold 99us ce_threshold_selector 1 ce_threshold_mask 3",
            [],
        ),
        (
            "fq 1: {} limit 10000p buckets 2048 orphan_mask 255 nopacing horizon_cap weights 589825 196609 65537",
            "sch_fq orphan_mask 255 nopacing nohorizon_drop weight_1 589825 weight_2 196609 weight_3 65537",
            ["fq: buckets 2048"],
        ),
        (
            "dualpi2 1: {} limit 7000p memlimit 99999B step_thresh 5p min_qlen_step 3p coupling_factor 3 overflow "
            "drop_dequeue classic_protection 7% any_ect no_split_gso",
            "",
            [],
        ),
        ("sfb 1: {} penalty_rate 9pps penalty_burst 19p target 21p max 26p", "", []),
        ("sfq 1: {} limit 127p quantum 1514b depth 127 flows 64/1024 divisor 1024", "sfq flows 64", []),
    ],
)
def test_a_line_is_read_around_what_is_unknown(words: str, text: str, notes: list[str]) -> None:
    found = imported(f"qdisc {words.format('dev eth0 root refcnt 2')}")
    if text:
        assert set(spelled(found).split()) == set(text.split())
    assert [note.removeprefix("line 1: ") for note in found.notes] == notes


def test_values_out_of_range_are_said() -> None:
    found = imported("qdisc fq_codel 1: dev eth0 root limit 7p flows 100000 quantum 300")
    assert spelled(found) == "fq_codel@linux limit 7 quantum 300B"
    assert len(found.notes) == 1 and "fq_codel: flows 100000: flows = 100000 is out of range" in found.notes[0]


def test_overheads_of_cake_add_up_in_order() -> None:
    for words, overhead in (
        ("overhead 10 ether-vlan", 14),
        ("ether-vlan ether-vlan", 8),
        ("docsis overhead 20", 20),
        ("pppoe-ptm ether-vlan", 34),
    ):
        assert f"overhead {overhead}" in spelled(imported(f"tc qdisc add dev eth0 root cake {words}"))


def test_adaptive_red_in_commands_and_json() -> None:
    command = (
        "tc qdisc add dev eth0 root red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 ecn {} bandwidth 10Mbit"
    )
    options = {"limit": 400000, "min": 30000, "max": 90000, "ecn": True, "harddrop": False, "adaptive": True}
    of_json = [{"kind": "red", "handle": "1:", "dev": "eth0", "root": True, "options": {**options, "nodrop": False}}]
    for text in (command.format("adaptive"), command.format("adaptative"), json.dumps(of_json)):
        found = imported(text)
        assert "adaptive aimd" in spelled(found) and not found.notes


def test_json_of_fq_and_dualpi2() -> None:
    options: dict[str, Any] = {"limit": 10000, "flow_limit": 99, "pacing": False, "bands": 3, "priomap ": [0] * 16}
    options |= {"weights ": [589825, 196609, 65537], "horizon_cap": None}
    one = {"kind": "fq", "handle": "1:", "dev": "eth0", "root": True, "options": options}
    found = imported(json.dumps([one]))
    for part in ("nopacing", "priomap 0,0", "weight_3 65537", "flow_limit 99", "nohorizon_drop"):
        assert part in spelled(found)
    assert not found.notes
    options = {"limit": 10000, "memory-limit": 99999, "target": 14000, "step-thresh-pkts": 5, "coupling": 3}
    options |= {"drop-overload": "overflow", "drop-early": "drop-enqueue", "c-protection": 7, "ecn-mask": "any-ect"}
    found = imported(json.dumps([{**one, "kind": "dualpi2", "options": options}]))
    for part in ("memlimit 99999B", "step_packets 5", "coupling_factor 3", "nodrop_on_overload", "drop_enqueue"):
        assert part in spelled(found)
    for part in ("classic_protection 7", "classify any-ect", "nosplit_gso", "target 14ms"):
        assert part in spelled(found)
    assert not found.notes


def test_queues_of_cake_mq() -> None:
    head = "qdisc cake_mq 1: dev eth0 root refcnt 9 bandwidth 18Mbit diffserv4 nonat rtt 100ms raw overhead 0\n"
    queues = "".join(f"qdisc cake 0: dev eth0 parent 1:{number} bandwidth 18Mbit diffserv4\n" for number in (3, 2, 1))
    found = imported(head + queues)
    assert spelled(found) == "cake_mq queues 3 bandwidth 18Mbit/s tins diffserv4" and not found.notes
    found = imported("qdisc cake_mq 1: dev eth0 root refcnt 9 bandwidth 18Mbit autorate-ingress")
    assert spelled(found) == "cake_mq bandwidth 18Mbit/s"
    assert "autorate-ingress estimates the rate of one queue" in found.notes[0]
    assert any("the card has 4 queues" in one for one in found.assumed)


@pytest.mark.parametrize(
    ("commands", "error"),
    [
        ("root cake_mq autorate-ingress", "line 1: cake_mq: Linux refuses autorate-ingress"),
        ("root handle 1: cake_mq\nparent 1:2 cake besteffort", "line 2: cake, parent 1:2: Linux refuses a discipline"),
        ("root handle 1: cake_mq\nparent 1:1 fq_codel", "line 2: fq_codel, parent 1:1: Linux refuses a discipline"),
        ("root handle 1: prio\nparent 1:1 cake_mq", "cake_mq shapes all hardware queues of a card"),
        ("root handle 1: tbf rate 1mbit burst 5k latency 9ms\nparent 1: cake_mq", "cannot be attached to a class"),
    ],
)
def test_refusals_of_cake_mq(commands: str, error: str) -> None:
    with pytest.raises(sj.InputError, match=error):
        imported("\n".join(f"tc qdisc add dev eth0 {one}" for one in commands.split("\n")))


@pytest.mark.parametrize("name", ["07/router.txt", "08/tc.sh", "08/show.txt"])
def test_cases_from_the_field(shared: Path, name: str) -> None:
    found = load(shared / "cases" / name, ImportOptions(rate="100 Mbit/s"))
    notes = "\n".join(found.notes)
    for word in {"07": ["via-ethernet", "(docsis)", "no-sce"]}.get(name[:2], []):
        assert word in notes
    if name.startswith("08"):
        assert "adaptive aimd" in found.text


NETEM = "qdisc netem 1: dev eth0 root refcnt 2 limit 1000{}"


@pytest.mark.parametrize(
    ("shown", "text", "is_assumed"),
    [
        (
            " slot 10ms 20ms packets 5 bytes 3000",
            "netem slot_min 10ms slot_max 20ms slot_packets 5 slot_bytes 3000B",
            False,
        ),
        (" slot 800us  10ms", "netem slot_min 800us slot_max 10ms", False),
        (
            " slot distribution 10ms  2ms packets 5",
            "netem slot_delay 10ms slot_jitter 2ms slot_packets 5",
            True,
        ),
        (" delay 20ms  5ms 25%", "netem delay 20ms jitter 5ms delay_corr 25", True),
        (" delay 20ms", "netem delay 20ms", False),
        (" loss state p13 1% p31 99% p32 0% p23 100% p14 0%", "netem loss_model state p13 1 p31 99", False),
        (" reorder 25% 50% gap 5 delay 3ms", "netem delay 3ms reorder 25 reorder_corr 50 gap 5", False),
        (" rate 7Mbit packetoverhead -4 cellsize 48", "netem rate 7Mbit/s packet_overhead -4 cell_size 48", False),
        (" loss 1.5% 25% ecn ", "netem loss 1.5 loss_corr 25 ecn", False),
    ],
)
def test_netem_as_shown(shown: str, text: str, is_assumed: bool) -> None:
    found = imported(NETEM.format(shown))
    assert spelled(found) == text and found.notes == ()
    assert any("is uniform; tc does not print it" in one for one in found.assumed) == is_assumed


@pytest.mark.parametrize(
    ("slot", "text"),
    [
        (
            {"min-delay": 0.01, "max-delay": 0.02, "packets": 5, "bytes": 3000},
            "slot_min 10ms slot_max 20ms slot_packets 5",
        ),
        ({"distribution": 0.01, "jitter": 0.002, "packets": 0, "bytes": 0}, "slot_delay 10ms slot_jitter 2ms"),
    ],
)
def test_slots_of_netem_in_json(slot: dict[str, float], text: str) -> None:
    options = {"limit": 1000, "slot": slot, "ecn": False, "gap": 0}
    found = imported(json.dumps([{"kind": "netem", "handle": "1:", "dev": "eth0", "root": True, "options": options}]))
    assert text in spelled(found) and found.notes == ()


TREES = {
    "tbf": "qdisc tbf 1: dev eth0 root refcnt 2 rate 9Mbit burst 15Kb lat 50ms {}",
    "htb": "qdisc htb 1: dev eth0 root refcnt 2 default 0x1\nclass htb 1:1 root rate 9Mbit {}",
    "hfsc": "qdisc hfsc 1: dev eth0 root refcnt 2 default 0x1\nclass hfsc 1:1 parent 1: rt m2 9Mbit ul {}",
    "mqprio": "qdisc mqprio 1: dev eth0 root {}\nqdisc fq_codel 2: dev eth0 parent 1:1 limit 7p",
}
IN_TREES = {
    "tbf": {"latency"},
    "htb": {"r2q", "direct_qlen", "direct_packets_stat", "ver", "offload", "level", "burst_cell", "cburst_cell"},
    "hfsc": {"sc", "ls"},
    "mqprio": set[str](),
}
"""Words of the discipline of a class, of a class's state, and names of curves."""


@pytest.mark.parametrize("kind", TREES)
def test_no_word_of_a_tree_is_lost(kind: str) -> None:
    draw = random.Random(kind)
    before = imported(TREES[kind].format(""))
    for word in PRINTED[kind].words:
        if word not in {*TREES[kind].split(), *IN_TREES[kind]}:
            given = drawn_option(draw, kind, word).text(is_command=False)
            found = imported(TREES[kind].format(given))
            assert any(word in note for note in found.notes) or found.text != before.text, word
    found = imported(TREES[kind].format("warp odd 7"))
    assert [note.split(": ")[-1] for note in found.notes if note not in before.notes] == ["warp", "odd 7"]


@pytest.mark.parametrize(
    ("text", "spelling", "notes"),
    [
        ("qdisc prio 1: {} bands few priomap 1 2 9", "prio", ["prio: bands few", "prio: priomap 1,2,9"]),
        ("qdisc prio 1: {} bands 5 priomap", "prio bands 5", ["prio: priomap"]),
        ("qdisc prio 1: {} bands", "prio", ["prio: bands"]),
        (
            "qdisc tbf 1: {} rate 9Mbit burst 15Kb lat 50ms mpu -3 peakrate fast",
            "",
            ["tbf: peakrate fast", "tbf: mpu -3"],
        ),
        (
            "qdisc htb 1: {} r2q many default 0x1\nclass htb 1:1 root rate 9Mbit prio 99",
            "",
            ["htb: r2q many", "class 1:1: prio 99"],
        ),
        ("qdisc htb 1: {} default 0x1\nclass htb 1:1 root rate 9Mbit ceil up", "", ["class 1:1: ceil up"]),
        (
            "qdisc htb 1: {} default 0x1\nclass htb 1:1 root rate 9Mbit\nclass hfsc 1:2 root rt m2 9Mbit",
            "",
            ["class 1:2: qdisc 1: is htb, not hfsc"],
        ),
        ("qdisc pfifo 1: {} limit 99999999999p", "droptail", ["pfifo: limit: "]),
        ("qdisc fq_codel 1: {} limit 99999999999p flows 7", "fq_codel@linux flows 7", ["fq_codel: limit: "]),
        (
            "qdisc hfsc 1: {} default 0x1\nclass hfsc 1:1 root rt m2 9Mbit\nclass htb 1:1 root rate 5Mbit",
            "",
            ["hfsc is not supported", "class 1:1: qdisc 1: is hfsc, not htb"],
        ),
        ("qdisc cake 1: {} bandwidth fast besteffort", "cake tins besteffort", ["cake: bandwidth fast"]),
        ("qdisc ets 1: {} bands 3 strict all warp", "", ["ets: strict all", "ets: warp", "ets is not supported"]),
    ],
)
def test_unreadable_values_of_trees_never_refuse_a_file(text: str, spelling: str, notes: list[str]) -> None:
    found = imported(text.format("dev eth0 root refcnt 2"))
    assert not spelling or spelled(found) == spelling
    shortened = [note.split(": ", 1)[1] for note in found.notes]
    assert len(shortened) == len(notes) and all(map(str.startswith, shortened, notes)), shortened


def test_unreadable_values_of_commands_are_refused() -> None:
    for command, error in (
        ("root prio bands few", "line 1: prio bands: "),
        ("root prio bands 99", "line 1: prio: bands = 99 is out of range"),
        ("root tbf rate fast burst 5k latency 9ms", "line 1: tbf rate: "),
        ("root handle 1: htb r2q many", "line 1: htb r2q: "),
    ):
        with pytest.raises(sj.InputError, match=error):
            imported(f"tc qdisc add dev eth0 {command}")


def test_netems_output_never_refuses_a_file() -> None:
    found = imported(NETEM.format(" gap 5 delay 2000s loss weird warp 3 duplicate 7%"))
    assert spelled(found) == "netem duplicate 7"
    for word in ("gap 5", "delay 2000", "weird", "warp 3"):
        assert any(word in note for note in found.notes), word


def test_commands_may_be_abbreviated_and_have_units() -> None:
    found = imported("tc q a dev eth0 root netem del 20ms 3s dist normal dup 1% lim 2k lo 1% gap 0x5 reord 25%")
    assert spelled(found) == (
        "netem limit 2048 delay 20ms jitter 2.147483647s distribution normal loss 1 duplicate 1 reorder 25 gap 5"
    )
    assert "Linux reduces the jitter of 3000000000ns to 2147483647ns" in found.notes[0]
    assert 'limit = "4096 packets"' in imported("tc qdisc add dev eth0 root pfifo limit 4k").text
    assert spelled(imported("tc qdisc add dev eth0 root sfb rehash 700 db 90")) == "sfb@tc rehash 700ms db 90ms"


def test_a_shaper_keeps_its_child_and_its_size_table() -> None:
    head = "qdisc tbf 1: dev eth0 root refcnt 2 rate 9Mbit burst {} lat 50ms\n  linklayer atm overhead 10"
    found = imported(head.format("5Kb") + "\nqdisc red 2: dev eth0 parent 1:1 limit 400000b ecn")
    assert '"tbf rate 9Mbit/s burst 5120B { red@linux max 100000B ecn }"' in found.text
    found = imported(head.format("1550b"))
    assert "burst (1550 B) is below the largest packet of the link (1696 B)" in found.notes[0]


def test_curves_of_hfsc_in_json_and_with_low_limits() -> None:
    head = [{"kind": "hfsc", "handle": "1:", "dev": "eth0", "root": True, "options": {"default": "0x1"}}]
    curves = '"m1": 0, "d": 0, "m2": 1250000, "m1": 125, "d": 7, "m2": 2500000'
    found = imported(json.dumps(head) + '\n[{"class": "hfsc", "handle": "1:1", "root": true, ' + curves + "}]")
    assert "class 1 rate 10Mbit/s" in found.text
    assert [note.split("1:1: ")[1] for note in found.notes[1:]] == ["m1 1000bit", "d 7us", "m2 20000000bit"]
    found = imported("qdisc hfsc 1: dev eth0 root default 0x1\nclass hfsc 1:1 root rt m2 9Mbit ls m2 5Mbit ul m2 7Gbit")
    assert "rate 9Mbit/s ceil 7Gbit/s" in found.text
    assert found.notes[1] == "line 2: class 1:1: ls 5000000bit: htb here has 9000000bit"


def test_further_lines_of_mqprio() -> None:
    found = imported(
        "qdisc mqprio 1: dev eth0 root tc 2 map 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1\n"
        "             queues:(0:0) (1:1)\n             mode:channel\n"
        "             shaper:bw_rlimit   max_rate:1Gbit 2Gbit\n"
        " Sent 5 bytes 3 pkt\nqdisc fq_codel 2: dev eth0 parent 1:1 limit 7p"
    )
    notes = "\n".join(found.notes)
    for word in ("queues:(0:0)", "mode:channel", "shaper:bw_rlimit", "max_rate:1Gbit 2Gbit"):
        assert word in notes
