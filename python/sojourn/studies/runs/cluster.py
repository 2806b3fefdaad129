"""Runs on an existing Dask cluster: its executor, and its errors as one line.

A worker does a run and sends the numbers back; this process stores them. If a worker is lost, the scheduler repeats its
run, which counts once: it keeps its one future.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from sojourn._core import version
from sojourn.base.errors import MissingError

if TYPE_CHECKING:
    from concurrent.futures import Executor

CONNECT_S = 10.0
"""Timeout to find the scheduler, and a first worker, in seconds; less if Dask's `distributed.comm.timeouts.connect` is.
"""
GRACE_S = 30.0
"""Time without any worker after which the remaining runs are given up, in seconds."""


@contextmanager
def cluster(address: str) -> Iterator[tuple[Executor, Callable[[], None]]]:
    """Yield the executor of the cluster with its scheduler at `address`, and a watchdog that raises without workers.

    Any problem with the cluster, before or in the block, raises `MissingError`.
    """
    try:
        import distributed
        from dask import config, utils
        from distributed.comm import CommClosedError
    except ImportError:
        raise MissingError("--dask needs distributed, which is not installed; pip install 'sojourn[dask]'") from None
    _hush()
    timeout = min(CONNECT_S, utils.parse_timedelta(config.get("distributed.comm.timeouts.connect")))
    try:
        client = distributed.Client(address, timeout=timeout, set_as_default=False)
    except (OSError, ValueError, TimeoutError, asyncio.TimeoutError) as error:
        raise MissingError(f"{address}: no Dask scheduler answers ({_first_line(error)}); start one there") from None
    try:
        with suppress(TimeoutError, asyncio.TimeoutError):
            client.wait_for_workers(1, timeout=timeout)
        if not client.nthreads():
            raise MissingError(f"{address}: the Dask scheduler has no workers; start some: dask worker {address}")
        yield client.get_executor(pure=False), no_workers(lambda: len(client.nthreads()), address)
    except (concurrent.futures.CancelledError, asyncio.CancelledError, CommClosedError) as error:
        raise MissingError(f"{address}: the Dask scheduler was lost ({_first_line(error)}); {_GO_ON}") from None
    except distributed.KilledWorker as error:
        raise MissingError(f"{address}: too many workers died of one run ({_first_line(error)}); {_GO_ON}") from None
    except ModuleNotFoundError as error:
        raise MissingError(f"{address}: a worker has no {error.name}; install sojourn {version()} there") from None
    finally:
        with suppress(Exception):
            client.close(timeout=1)


def _hush() -> None:
    """Silence the loggers of Dask and its dependencies, also of parts loaded later: their errors are raised, too."""
    roots = ("asyncio", "distributed", "tornado")
    known = [name for name in logging.Logger.manager.loggerDict if name.startswith(tuple(f"{root}." for root in roots))]
    for name in (*roots, *known):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def no_workers(workers: Callable[[], int], address: str, clock: Callable[[], float] = time.monotonic) -> _Watchdog:
    """Create a watchdog that raises if `workers` returns zero for `GRACE_S`: a cluster may replace a lost worker."""
    last_seen = clock()

    def watch() -> None:
        nonlocal last_seen
        now = clock()
        if workers():
            last_seen = now
        elif now - last_seen >= GRACE_S:
            raise MissingError(f"{address}: no Dask worker is left for {GRACE_S:.0f} s; {_GO_ON}")

    return watch


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__


_Watchdog = Callable[[], None]
_GO_ON = "finished runs are kept, start it again to go on"
