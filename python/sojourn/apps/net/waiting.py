"""Unfinished tasks of a loop, and the lines that they wait in, as text."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType

MAX_TASKS = 8
"""Maximum number of tasks that a message names."""
_ASYNCIO = str(Path(asyncio.__file__).parent)


def ordered_tasks(loop: asyncio.AbstractEventLoop) -> list[asyncio.Task[Any]]:
    """Unfinished tasks in the order of their creation."""
    return sorted(asyncio.all_tasks(loop), key=lambda task: int(getattr(task, "number", -1)))


def waiting_tasks(loop: asyncio.AbstractEventLoop) -> str:
    """Unfinished tasks, each with its waiting line."""
    tasks = ordered_tasks(loop)
    texts = [f"{task.get_name()} in {_line(task.get_coro())}" for task in tasks[:MAX_TASKS]]
    if len(tasks) > MAX_TASKS:
        texts.append(f"{len(tasks) - MAX_TASKS} more")
    return ", ".join(texts) or "callbacks"


def _line(coroutine: Any) -> str:
    """The innermost line of a coroutine that is not asyncio's own."""
    name, frame = getattr(coroutine, "__qualname__", "?"), _frame(coroutine)
    while (coroutine := getattr(coroutine, "cr_await", None) or getattr(coroutine, "ag_await", None)) is not None:
        inner = _frame(coroutine)
        if inner is not None and not inner.f_code.co_filename.startswith(_ASYNCIO):
            name, frame = coroutine.__qualname__, inner
    return name if frame is None else f"{name} ({Path(frame.f_code.co_filename).name}:{frame.f_lineno})"


def _frame(coroutine: Any) -> FrameType | None:
    frame: FrameType | None = getattr(coroutine, "cr_frame", None) or getattr(coroutine, "ag_frame", None)
    return frame
