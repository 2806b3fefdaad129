"""Running asyncio programs on a net."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from sojourn.apps.net.errors import RunEndedError
from sojourn.apps.net.loop import NetLoop
from sojourn.apps.net.patches import patched
from sojourn.apps.net.waiting import ordered_tasks

if TYPE_CHECKING:
    from sojourn._core import End
    from sojourn.apps.net.network import Net

T = TypeVar("T")


def run(
    main: Coroutine[Any, Any, T],
    net: Net,
    *,
    source: End | str | None = None,
    patch: Iterable[str] = (),
    executor: str | None = None,
) -> T:
    """Run a coroutine in the time of a net and return its result; afterwards call `net.finish()`.

    As `asyncio.run`: remaining tasks are cancelled at the end. `source` is the end of sockets without a local address
    (default: the first source of the world; `sojourn.net.at` sets it for a block). `patch` names clocks and random
    sources of the process that follow the net meanwhile: "time.time", "time.monotonic", "time.perf_counter",
    "os.urandom", "random". With `executor="inline"` functions for threads are called at once; otherwise they are
    refused, as are subprocesses, TCP and signals (`NotImplementedError`).

    Raises `RunEndedError` if the run of the net ends first, or the program turns at one instant for ever; its text
    names the lines that wait.
    """
    if not isinstance(main, Coroutine):
        raise TypeError(f"a coroutine was expected, got {main!r}; call the function: run(main(), net)")
    loop: NetLoop | None = None
    try:
        if asyncio._get_running_loop() is not None:
            raise RuntimeError(
                "sojourn.net.run() cannot be called from a running event loop; await the coroutine there"
            )
        loop = NetLoop(net, source=source, executor=executor)
        with patched(patch, loop):
            return _run(loop, main)
    finally:
        # No effect if it has run; otherwise it avoids a warning about a coroutine that was never awaited.
        main.close()
        if loop is not None:
            loop.close()


def _run(loop: NetLoop, main: Coroutine[Any, Any, T]) -> T:
    try:
        result: T = loop.run_until_complete(main)
    except BaseException:
        # The first error counts.
        with suppress(RunEndedError):
            _clean_up(loop)
        raise
    _clean_up(loop)
    return result


def _clean_up(loop: NetLoop) -> None:
    """Cancel the remaining tasks, in the order of their creation, and close asynchronous generators."""
    tasks = ordered_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
    for task in tasks:
        if not task.cancelled() and task.exception() is not None:
            loop.call_exception_handler(
                {"message": "exception while a task was cancelled", "exception": task.exception(), "task": task}
            )
    loop.run_until_complete(loop.shutdown_asyncgens())
