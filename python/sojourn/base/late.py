"""Numpy and Polars, imported on first use: importing them takes longer than a short run, which needs neither."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
else:

    class _Numpy:
        def __getattr__(self, name: str) -> Any:
            import numpy as np

            return getattr(np, name)

    class _Polars:
        def __getattr__(self, name: str) -> Any:
            import polars as pl

            return getattr(pl, name)

    np, pl = _Numpy(), _Polars()

__all__ = ["np", "pl"]
