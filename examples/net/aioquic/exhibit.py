"""Records for the page on real stacks: `exhibit.py WORLDS RECORDS [SEEDS]` in the worlds of `real_stacks`.

Reno, aioquic's default, and CUBIC upload for the whole run; goodput is the payload of the datagrams.
"""

from __future__ import annotations

import argparse
import json
from importlib.metadata import version
from pathlib import Path

import settings
from aioquic.quic.connection import QuicConnection
from sans_io import Peer

from sojourn.net import Net, Report

CONTROLS = {"reno": "Reno", "cubic": "CUBIC"}
SIZE = 100_000_000
"""Bytes; at 20 Mbit/s at most 75 MB pass in 30 s."""


def upload(net: Net, control: str) -> Report:
    """Results of an upload that outlasts the run."""
    source, sink = net.pair("stack")
    configuration = settings.client()
    configuration.congestion_control_algorithm = control
    client, server = Peer(net, source, QuicConnection(configuration=configuration)), Peer(net, sink)
    is_begun = False
    for event in net:
        if event.kind == "begin" and event.end is source:
            client.quic.connect(sink.address, now=net.now / 1e9)
        (client if event.end is source else server).handle(event)
        if client.is_connected and not is_begun:
            is_begun = True
            client.quic.send_stream_data(client.quic.get_next_available_stream_id(), bytes(SIZE))
            client.flush()
    return net.finish()


def main() -> None:
    """Write `aioquic VERSION, CONTROL.QUEUE.LOAD-SEED.json` for every world, control and seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("worlds", type=Path)
    parser.add_argument("records", type=Path)
    parser.add_argument("seeds", type=int, nargs="?", default=20)
    args = parser.parse_args()
    args.records.mkdir(parents=True, exist_ok=True)
    for seed in range(1, args.seeds + 1):
        for world in sorted(args.worlds.glob("*.toml")):
            for control, label in CONTROLS.items():
                name = f"aioquic {version('aioquic')}, {label}.{world.stem}"
                report = upload(Net(world, seed, name=name), control)
                (args.records / f"{name}-{seed}.json").write_text(json.dumps(report.record))


if __name__ == "__main__":
    main()
