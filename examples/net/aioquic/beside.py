"""The same upload in virtual time and in real time behind `sojourn link`: goodput within 5 %, median RTT within 1 ms.

`python beside.py` runs five links both ways and prints a table. Real time needs an idle machine: on a busy one it ends
with 3 and the reason, unless `--busy` is given.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass

import settings
from aioquic.asyncio import QuicConnectionProtocol, connect, serve
from aioquic.quic.events import QuicEvent, StreamDataReceived

import sojourn.net
from sojourn.net import Net

SIZE = 3_000_000
PORT = 4433
RTT_EVERY_S = 0.02


@dataclass(frozen=True)
class Link:
    """A link with the same queue in both directions, and the delay of the path each way."""

    rate: int  # Mbit/s
    delay: int  # ms
    aqm: str

    def world(self) -> str:
        """Return the scenario; the path's delay is on the far side of the queue in both worlds."""
        return (
            f'duration = "60 s"\n[link]\nrate = "{self.rate} Mbit/s"\naqm = "{self.aqm}"\n'
            f'[reverse]\nrate = "{self.rate} Mbit/s"\naqm = "{self.aqm}"\n'
            f'[[flows]]\nkind = "endpoint"\nname = "call"\nrtt = "{2 * self.delay} ms"\n'
        )

    def command(self, inside: list[str], peer: list[str]) -> list[str]:
        """Return the command of the shells with a program inside, and one at the other end."""
        shells = ["link", "--rate", f"{self.rate}mbit", "--aqm", self.aqm, "--peer", " ".join(peer), "--"]
        return ["sojourn", *shells, "sojourn", "delay", f"{self.delay}ms", "--", *inside]


LINKS = (
    Link(4, 20, "droptail"),
    Link(8, 30, "codel"),
    Link(8, 10, "fq_codel"),
    Link(12, 25, "pie"),
    Link(6, 40, "cake"),
)


class Receiver(QuicConnectionProtocol):
    """Answers the end of a stream with one byte."""

    def quic_event_received(self, event: QuicEvent) -> None:
        """Answer."""
        if isinstance(event, StreamDataReceived) and event.end_stream:
            self._quic.send_stream_data(event.stream_id, b"!", end_stream=True)
            self.transmit()


async def upload(host: str, port: int) -> dict[str, float]:
    """Upload to a server; goodput in Mbit/s and the median of the client's latest RTTs in ms."""
    loop, rtts = asyncio.get_running_loop(), []
    async with connect(host, port, configuration=settings.client()) as client:

        async def sample() -> None:
            while True:
                rtts.append(client._quic._loss._rtt_latest)
                await asyncio.sleep(RTT_EVERY_S)

        begun = loop.time()
        reader, writer = await client.create_stream()
        writer.write(bytes(SIZE))
        writer.write_eof()
        sampler = loop.create_task(sample())
        await reader.read()
        spent = loop.time() - begun
        sampler.cancel()
    return {"goodput": SIZE * 8e-6 / spent, "rtt": statistics.median(rtts) * 1e3}


async def listen(host: str, port: int) -> None:
    """Serve uploads for ever."""
    await serve(host, port, configuration=settings.server(), create_protocol=Receiver)
    await asyncio.Event().wait()


def in_virtual_time(link: Link) -> dict[str, float]:
    """Run the upload in a net."""

    async def both() -> dict[str, float]:
        server = await serve("call.sink", 443, configuration=settings.server(), create_protocol=Receiver)
        result = await upload("call.sink", 443)
        server.close()
        return result

    net = Net(link.world(), 1)
    return sojourn.net.run(both(), net)


def in_real_time(link: Link) -> dict[str, float]:
    """Run the upload behind the emulator."""
    own = [sys.executable, str(settings.HERE / "beside.py")]
    command = link.command([*own, "--client"], [*own, "--serve"])
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    line = next((line for line in done.stdout.splitlines() if line.startswith("{")), None)
    if done.returncode or line is None:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return json.loads(line)


def compare() -> bool:
    """Print the table; whether every link is within its bounds."""
    is_good = True
    print("link                       goodput, Mbit/s          median RTT, ms")
    print("                           virtual  real    diff    virtual  real   diff")
    for link in LINKS:
        ours, real = in_virtual_time(link), in_real_time(link)
        relative, apart = real["goodput"] / ours["goodput"] - 1, real["rtt"] - ours["rtt"]
        is_good &= abs(relative) <= 0.05 and abs(apart) <= 1
        name = f"{link.rate} Mbit/s, {link.delay} ms, {link.aqm}"
        print(
            f"{name:26} {ours['goodput']:7.2f} {real['goodput']:6.2f} {relative:+6.1%}"
            f"    {ours['rtt']:6.1f} {real['rtt']:6.1f} {apart:+6.1f}",
            flush=True,
        )
    return is_good


def main() -> None:
    """Compare, or be one of the two programs behind the emulator."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--busy", action="store_true", help="also run on a busy machine")
    parser.add_argument("--client", action="store_true", help="upload to $SOJOURN_HOST")
    parser.add_argument("--serve", action="store_true", help="serve uploads")
    args = parser.parse_args()
    if args.serve:
        asyncio.run(listen("0.0.0.0", PORT))
    elif args.client:
        print(json.dumps(asyncio.run(upload(os.environ["SOJOURN_HOST"], PORT))))
    elif (load := os.getloadavg()[0]) > 0.5 and not args.busy:
        print(f"skipped: the machine is busy (load {load:.1f}); real time needs an idle one, or --busy")
        sys.exit(3)
    else:
        sys.exit(0 if compare() else 1)


if __name__ == "__main__":
    main()
