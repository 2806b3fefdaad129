"""aioquic without asyncio: two connections take the events of the net one by one."""

from __future__ import annotations

import time

import settings
from aioquic.buffer import Buffer
from aioquic.quic import events
from aioquic.quic.connection import QuicConnection
from aioquic.quic.packet import pull_quic_header

from sojourn.net import End, Event, Net, Report, nanoseconds


class Peer:
    """A connection at one end."""

    def __init__(self, net: Net, end: End, connection: QuicConnection | None = None) -> None:
        self.net = net
        self.end = end
        self.quic = connection
        self.received = 0
        self.is_connected = False

    def handle(self, event: Event) -> None:
        """Pass an event on, and send what follows from it."""
        now = self.net.now / 1e9
        if event.kind == "datagram":
            if self.quic is None:
                header = pull_quic_header(Buffer(data=event.data), host_cid_length=8)
                self.quic = QuicConnection(
                    configuration=settings.server(), original_destination_connection_id=header.destination_cid
                )
            self.quic.receive_datagram(event.data, event.remote, now)
        elif event.kind == "wake" and self.quic is not None and self.is_due(now):
            self.quic.handle_timer(now)
        self.flush()

    def is_due(self, now: float) -> bool:
        """Whether the deadline has passed; one that was moved later may still wake the end."""
        timer = self.quic.get_timer()
        return timer is not None and timer <= now

    def flush(self) -> None:
        """Take the connection's events, send its datagrams, and set its deadline."""
        if self.quic is None:
            return
        while (event := self.quic.next_event()) is not None:
            if isinstance(event, events.HandshakeCompleted):
                self.is_connected = True
            elif isinstance(event, events.StreamDataReceived):
                self.received += len(event.data)
        for data, address in self.quic.datagrams_to_send(self.net.now / 1e9):
            self.net.send(self.end, data, address)
        timer = self.quic.get_timer()
        self.net.wake(self.end, None if timer is None else nanoseconds(timer))


def run(seed: int) -> Report:
    """Results of an upload of 6 MB."""
    net = Net(settings.HERE / "world.toml", seed)
    source, sink = net.pair("call")
    client = Peer(net, source, QuicConnection(configuration=settings.client()))
    server = Peer(net, sink)
    client.quic.connect(sink.address, now=0.0)
    begun = None
    for event in net:
        peer = client if event.end is source else server
        peer.handle(event)
        if begun is None and client.is_connected:
            begun = net.now
            client.quic.send_stream_data(client.quic.get_next_available_stream_id(), bytes(settings.SIZE), True)
            client.flush()
        if server.received == settings.SIZE:
            net.completed(sink, begun, settings.SIZE)
            break
    return net.finish()


def main() -> None:
    """Run once and demand the budgets."""
    begun = time.process_time()
    report = run(1)
    cpu = time.process_time() - begun
    report.expect("p50(completion, call) <= 7 s")
    report.expect("p99(delay, call) <= 100 ms and loss(call) <= 2 %")
    print(f"{report.datagrams} datagrams, decisions {report.decisions}")
    print(f"{cpu:.2f} s of CPU time", flush=True)


if __name__ == "__main__":
    main()
