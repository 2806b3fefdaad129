"""An audio call with aiortc 1.16 in virtual time: Opus over RTP, DTLS, ICE. Prints its statistics.

aiortc encodes and sends; what arrives is counted but not decoded, because it decodes in a thread, which has real time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aioice.ice
import aiortc.rtcrtpreceiver
from aiortc import RTCConfiguration, RTCPeerConnection
from aiortc.mediastreams import AudioStreamTrack

import sojourn.net
from sojourn.net import Net, Report, at

SECONDS = 15
PATCH = ("time.time", "os.urandom", "random")


@contextmanager
def host(net: Net, end: str) -> Iterator[None]:
    """Open sockets at an end, and let ICE gather its address."""
    gather = aioice.ice.get_host_addresses
    aioice.ice.get_host_addresses = lambda use_ipv4, use_ipv6: [net.address(end)[0]]
    try:
        with at(end):
            yield
    finally:
        aioice.ice.get_host_addresses = gather


async def call(net: Net) -> dict[str, float]:
    """Talk for a while; statistics of the receiver."""
    caller, callee = (RTCPeerConnection(RTCConfiguration(iceServers=[])) for _ in range(2))
    caller.addTrack(AudioStreamTrack())
    with host(net, "call.source"):
        await caller.setLocalDescription(await caller.createOffer())
    with host(net, "call.sink"):
        await callee.setRemoteDescription(caller.localDescription)
        await callee.setLocalDescription(await callee.createAnswer())
    await caller.setRemoteDescription(callee.localDescription)
    await asyncio.sleep(SECONDS)
    [inbound] = [one for one in (await callee.getStats()).values() if one.type == "inbound-rtp"]
    await asyncio.gather(caller.close(), callee.close())
    return {"packets": inbound.packetsReceived, "lost": inbound.packetsLost, "jitter": inbound.jitter}


def run(seed: int) -> tuple[Report, dict[str, float]]:
    """Results of a run."""
    aiortc.rtcrtpreceiver.decoder_worker = lambda *arguments: None
    net = Net(Path(__file__).parent / "world.toml", seed)
    statistics = sojourn.net.run(call(net), net, patch=PATCH, executor="inline")
    return net.finish(), statistics


def main() -> None:
    """Run once and demand the budgets."""
    begun = time.process_time()
    report, statistics = run(1)
    cpu = time.process_time() - begun
    report.expect("p99(delay, call) <= 60 ms and loss(call) <= 1 %")
    assert statistics["packets"] > 45 * SECONDS
    print(f"{report.datagrams} datagrams, decisions {report.decisions}")
    print("receiver: {packets} packets, {lost} lost, jitter {jitter} samples".format(**statistics))
    print(f"{cpu:.2f} s of CPU time", flush=True)


if __name__ == "__main__":
    main()
