"""Shell as its own process, which forks and so has no threads: `python -m sojourn.emulated.shell link …`."""

from __future__ import annotations

import os
import sys

from sojourn._core import emulate

if __name__ == "__main__":
    code: int = emulate(sys.argv[1:])["code"]
    os._exit(code if code >= 0 else 128 - code)
