"""aioquic's unmodified `connect` and `serve` in virtual time: an upload."""

from __future__ import annotations

import argparse
import asyncio
import time

import settings
from aioquic.asyncio import QuicConnectionProtocol, connect, serve
from aioquic.quic.events import QuicEvent, StreamDataReceived

import sojourn.net
from sojourn.net import Net, Report


class Receiver(QuicConnectionProtocol):
    """Counts the bytes of a stream."""

    def __init__(self, *arguments, **keywords) -> None:
        super().__init__(*arguments, **keywords)
        self.arrived = 0
        self.done = asyncio.Event()

    def quic_event_received(self, event: QuicEvent) -> None:
        """Count, and notice the end."""
        if isinstance(event, StreamDataReceived):
            self.arrived += len(event.data)
            if event.end_stream:
                self.done.set()


async def upload(net: Net, size: int) -> int:
    """Upload `size` bytes; return how many arrived."""
    receivers: list[Receiver] = []

    def create(*arguments, **keywords) -> Receiver:
        receivers.append(Receiver(*arguments, **keywords))
        return receivers[-1]

    server = await serve("call.sink", 443, configuration=settings.server(), create_protocol=create)
    async with connect("call.sink", 443, configuration=settings.client()) as client:
        begun = net.now
        _, writer = await client.create_stream()
        writer.write(bytes(size))
        writer.write_eof()
        [receiver] = receivers
        await receiver.done.wait()
        net.completed("call.sink", begun, size)
    server.close()
    return receiver.arrived


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
