"""Command groups that suggest the nearest name for a misspelled command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import click


class Group(click.Group):
    """A group of commands."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; for an unknown one, suggest the nearest."""
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            from sojourn.base.errors import InputError, unknown

            error = unknown("command", args[0], [*self.list_commands(ctx), *self.other_commands()])
            if args[0] in self.modules:
                raise InputError(f"{error}; {self.modules[args[0]]} are python -m sojourn.{args[0]}")
            raise error
        return super().resolve_command(ctx, args)

    def other_commands(self) -> list[str]:
        """Names of commands that are handled elsewhere."""
        return []

    modules: ClassVar[Mapping[str, str]] = {}
    """Modules for `python -m` with a name that could be taken for a command, and their contents in words."""
