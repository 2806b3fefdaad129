"""The command line, with a log of each run's start, end and storing, to classify kills.

`python -m attack.marked NOTES WORDS...` appends letters to the file NOTES: b at the start of a run, e at its end, and s
when it is stored.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any


def main() -> None:
    from sojourn.__main__ import main as command
    from sojourn.base.interrupt import stop_at_ctrl_c

    stop_at_ctrl_c()
    from sojourn import engines
    from sojourn.studies.runs import store, worker

    notes = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    engines.run = _noted(engines.run, notes, b"b", b"e")
    store.save = _noted(store.save, notes, b"", b"s")
    worker.Worker.do = _noted(worker.Worker.do, notes, b"b", b"es")  # type: ignore[method-assign]
    sys.argv[1:2] = []
    sys.argv[0] = "sojourn"
    command()


def _noted(call: Callable[..., Any], notes: int, before: bytes, after: bytes) -> Callable[..., Any]:
    def noted(*args: Any, **options: Any) -> Any:
        os.write(notes, before)
        found = call(*args, **options)
        os.write(notes, after)
        return found

    return noted


if __name__ == "__main__":
    main()
