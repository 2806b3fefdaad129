"""The JSON Schema of `scorecard.json`."""

from __future__ import annotations

from importlib.resources import files


def schema_text() -> str:
    """Text of the schema, as `sojourn score --schema` prints it."""
    return (files("sojourn.studies.score") / "scorecard.schema.json").read_text(encoding="utf-8")
