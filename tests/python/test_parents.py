"""Classful disciplines in Python: their classes, and packets that name a class."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import sojourn as sj


def test_a_class_that_a_packet_names_chooses_its_band() -> None:
    for named, first in (("1:1", "urgent"), ("1", "urgent"), ("0:6", "urgent"), ("1:3", "bulk"), ("", "bulk")):
        queue = sj.Queue("prio")
        queue.push(0, tag="bulk")
        queue.push(0, tag="urgent", class_=named)
        popped = queue.pop(0)
        assert popped is not None
        assert popped.tag == first, named
    with pytest.raises(sj.InputError, match=r'class_: "1:x" is not a class; write e.g. "1:10"'):
        sj.Queue("prio").push(0, class_="1:x")


@pytest.mark.parametrize(
    ("aqm", "text"),
    [
        (lambda: sj.Tbf(rate="5 Mbit/s", burst="5 kB", inside=sj.FqCodel), "tbf rate 5Mbit/s burst 5000B { fq_codel }"),
        (
            lambda: sj.Tbf(rate="5 Mbit/s", burst="5 kB", inside=sj.Codel(target="7 ms")),
            "tbf rate 5Mbit/s burst 5000B { codel target 7ms }",
        ),
        (lambda: sj.Prio(bands=4, inside="band 1 match dscp EF"), "prio bands 4 { band 1 match dscp EF }"),
        (
            lambda: sj.Htb(default="2", inside="class 2 rate 3mbit { fq_codel }"),
            "htb default 2 { class 2 rate 3Mbit/s { fq_codel } }",
        ),
        (lambda: sj.Prio(), "prio"),
    ],
)
def test_a_child_is_an_argument(aqm: Callable[[], sj.Aqm], text: str) -> None:
    made = aqm()
    assert str(made) == text
    assert sj.Queue(made).push(0) == "queued"


def test_classless_disciplines_accept_no_child() -> None:
    with pytest.raises(sj.InputError, match="inside"):
        sj.Codel(inside="fq_codel")  # type: ignore[call-arg]


def test_the_instances_of_cake_mq_have_their_statistics() -> None:
    queue = sj.Queue("cake_mq queues 2 bandwidth 10mbit besteffort hash modulo")
    for flow in (0, 1, 1):
        assert queue.push(0, flow=flow) == "queued"
    assert queue.pop(0) is not None
    statistics = queue.statistics()
    assert statistics is not None
    assert (statistics["kind"], statistics["packets"], statistics["qlen"]) == ("cake_mq", 1, 2)
    assert [one["kind"] for one in statistics["queues"]] == ["cake", "cake"]
