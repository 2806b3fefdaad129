"""`sojourn net`: tools for programs that are tested on simulated networks."""

from __future__ import annotations

import click

from sojourn.apps.cli.groups import Group
from sojourn.apps.cli.net_check import check_command
from sojourn.apps.cli.net_replay import replay_command


@click.group("net", cls=Group)
def command() -> None:
    """Check programs that run simulated networks (sojourn-net) in their tests, and repeat their runs without them."""


for one in (check_command, replay_command):
    command.add_command(one)
