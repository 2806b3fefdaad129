"""A queue manager in Python with methods that are never called is rejected before any run."""

from __future__ import annotations

from pathlib import Path

import pytest

import sojourn as sj
from conftest import SHORT, Cli, entries
from sojourn.model.aqms.hooks import _distance

AQM = "import sojourn as sj\n\n\nclass Mine(sj.Aqm):\n    def {}(self, cx, queue):\n        return queue.pop()\n"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("dequeu", "dequeue"),
        ("deque", "dequeue"),
        ("deqeue", "dequeue"),
        ("deQueue", "dequeue"),
        ("on_dequeue", "dequeue"),
        ("Enqueue", "enqueue"),
        ("enque", "enqueue"),
        ("nextupdate", "next_update"),
        ("overflow", "overflowed"),
        ("updated", "update"),
        ("observes", "observe"),
    ],
)
def test_a_method_that_is_a_slip_for_a_hook_is_refused(cli: Cli, tmp_path: Path, name: str, meant: str) -> None:
    (tmp_path / "mine.py").write_text(AQM.format(name))
    ran = cli("compare", "--aqm", "mine.py:Mine", "--duration", "1 s", "-o", "out")
    assert ran.exit_code == 2, ran.output
    message = f'{tmp_path}/mine.py: line 5: Mine.{name} is never called; did you mean "{meant}"?'
    assert message in ran.stderr
    assert entries(tmp_path) == {"mine.py"}


def test_a_class_without_any_hook_is_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(AQM.format("judge"))
    (tmp_path / "mine.toml").write_text(SHORT.replace('"codel"', '"mine.py:Mine"'))
    ran = cli("run", "mine.toml", "-o", "out")
    assert ran.exit_code == 2
    assert f"link.aqm: {tmp_path}/mine.py: line 4: Mine defines no method that is ever called" in ran.stderr
    assert entries(tmp_path) == {"mine.py", "mine.toml"}


def test_custom_methods_are_ignored() -> None:
    class Base(sj.Aqm):
        def update_p(self) -> None: ...
        def drop_next(self) -> None: ...
        def control_law(self) -> None: ...
        def dequeued(self) -> None: ...
        def _dequeu(self) -> None: ...

    class Mine(Base):
        dequeu = 5

        def dequeue(self, cx: object, queue: object) -> None: ...
        def update(self, at: int, cx: object) -> None: ...

    assert Mine().text.endswith("Mine")


def test_a_slip_in_a_base_is_seen() -> None:
    class Mixin:
        @staticmethod
        def emptyed(cx: object) -> None: ...

    class Mine(Mixin, sj.Aqm):
        def dequeue(self, cx: object, queue: object) -> None: ...

    with pytest.raises(sj.InputError, match='did you mean "emptied"'):
        Mine()


@pytest.mark.parametrize(
    ("a", "b", "distance"),
    [("", "ab", 2), ("dequeu", "dequeue", 1), ("deqeue", "dequeue", 1), ("kitten", "sitting", 3), ("ab", "ba", 1)],
)
def test_distance_counts_letters_and_swaps(a: str, b: str, distance: int) -> None:
    assert _distance(a, b) == _distance(b, a) == distance
