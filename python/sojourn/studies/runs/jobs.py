"""Awaitable jobs for an event loop: `await` a run, a study or a comparison, and follow its progress."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")


@dataclass(frozen=True)
class Step:
    """Progress of a job."""

    share: float
    """Completed share of the work, 0 to 1."""
    finished: int = 0
    """Completed runs, of `total`."""
    total: int = 1


class Job(Generic[T]):
    """A job in a thread: `await job` returns its result, `async for step in job` yields its progress.

    A step is yielded if there was progress since the last one. A cancelled job (`cancel()`, or cancellation of the
    awaiting task) stops within a fraction of a second and keeps the finished runs.
    """

    def __init__(self, call: Callable[..., T]) -> None:
        """Start the thread; users call `start`."""
        self._loop = asyncio.get_running_loop()
        self._stop = threading.Event()
        self._step = Step(0.0)
        self._changed = asyncio.Event()
        self._work = asyncio.ensure_future(_in_thread(partial(call, progress=self._tell)))
        self._work.add_done_callback(lambda _work: self._changed.set())

    def cancel(self) -> None:
        """Stop soon; awaiting the job then raises `asyncio.CancelledError`."""
        self._stop.set()

    @property
    def done(self) -> bool:
        """Whether it has ended, successfully or not."""
        return self._work.done()

    @property
    def step(self) -> Step:
        """Current progress."""
        return self._step

    def __await__(self) -> Generator[Any, None, T]:
        return self._result().__await__()

    async def __aiter__(self) -> AsyncIterator[Step]:
        last = None
        while True:
            changed, is_last = self._changed, self._work.done()
            if self._step != last:
                last = self._step
                yield last
            if is_last:
                return
            await changed.wait()

    async def _result(self) -> T:
        try:
            return await asyncio.shield(self._work)
        except asyncio.CancelledError:
            self.cancel()
            await asyncio.wait([self._work])  # the thread checks the flag every 50 ms
            raise

    def _tell(self, share: float, finished: int = 0, total: int = 1) -> None:
        if self._stop.is_set():
            raise _StoppedError
        self._loop.call_soon_threadsafe(self._set_step, Step(share, finished, total))

    def _set_step(self, step: Step) -> None:
        self._step = step
        before, self._changed = self._changed, asyncio.Event()
        before.set()
        if self._work.done():
            self._changed.set()


class _StoppedError(Exception):
    """Aborts the work of a job, like Ctrl-C."""


async def _in_thread(call: Callable[[], T]) -> T:
    """`call`'s result; a stopped call leaves a cancelled task, not an error that asyncio logs if nobody awaits it."""
    try:
        return await asyncio.to_thread(call)
    except _StoppedError:
        raise asyncio.CancelledError from None


def start(call: Callable[P, T], *args: P.args, **options: P.kwargs) -> Job[T]:
    """Start a run, a study or a comparison in a thread, from a running event loop such as a notebook's.

    >>> job = sj.start(sj.compare, ["codel", "pie"], flows=64)  # doctest: +SKIP
    >>> async for step in job:  # doctest: +SKIP
    ...     print(f"{step.share:.0%}")
    >>> found = await job  # doctest: +SKIP

    `call` is any function with the argument `progress`: `compare`, `Scenario.run`, `Study.run`.
    """
    return Job(partial(call, *args, **options))
