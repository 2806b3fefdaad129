"""aioquic's unmodified `connect` and `serve` in virtual time: an upload."""

from __future__ import annotations

import argparse
import asyncio
import time

import settings
from aioquic.asyncio import connect, serve

import sojourn.net
from sojourn.net import Net, Report


async def upload(net: Net, size: int) -> int:
    """Upload `size` bytes; return how many arrived."""
    arrived = 0
    done = asyncio.Event()

    async def receive(reader: asyncio.StreamReader) -> None:
        nonlocal arrived
        begun = net.now
        while data := await reader.read(65_536):
            arrived += len(data)
        net.completed("call.sink", begun, arrived)
        writers[0].close()
        done.set()

    tasks: list[asyncio.Task[None]] = []
    writers: list[asyncio.StreamWriter] = []

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        tasks.append(asyncio.get_running_loop().create_task(receive(reader)))

    server = await serve(
        "call.sink",
        443,
        configuration=settings.server(),
        stream_handler=accept,
    )
    async with connect("call.sink", 443, configuration=settings.client()) as client:
        _, writer = await client.create_stream()
        writer.write(bytes(size))
        writer.write_eof()
        await done.wait()
    server.close()
    return arrived


def run(seed: int, size: int = settings.SIZE) -> tuple[Report, int]:
    """The results of a run, and the bytes that arrived."""
    net = Net(settings.HERE / "world.toml", seed)
    arrived = sojourn.net.run(upload(net, size), net)
    return net.finish(), arrived


def main() -> None:
    """Run once and demand the budgets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=settings.SIZE, help="bytes, by default 6 MB; at most 28 MB pass")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    begun = time.process_time()
    report, arrived = run(args.seed, args.size)
    cpu = time.process_time() - begun
    assert arrived == args.size
    if args.size == settings.SIZE:
        report.expect("p50(completion, call) <= 7 s")
    report.expect("p99(delay, call) <= 100 ms and loss(call) <= 2 %")
    print(f"{report.datagrams} datagrams, decisions {report.decisions}")
    print(f"{cpu:.2f} s of CPU time", flush=True)


if __name__ == "__main__":
    main()
