"""asyncio in the time of a net: tasks, sockets, names, refusals, ends of runs."""

from __future__ import annotations

import asyncio
import os
import random
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sojourn import InputError
from sojourn.net import Net, NetLoop, RunEndedError, at, run

WORLD = """
duration = "6.3 s"
[link]
rate = "4.7 Mbit/s"
delay = "9.3 ms"
aqm = "codel"
[[flows]]
kind = "endpoint"
name = "call"
rtt = "40 ms"
tags = ["rtp"]
[[flows]]
kind = "endpoint"
name = "many"
count = 3
rtt = "40 ms"
"""
needs_groups = pytest.mark.skipif(sys.version_info < (3, 11), reason="asyncio.TaskGroup is of Python 3.11")


class Echo(asyncio.DatagramProtocol):
    transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self.transport.sendto(data, addr)


class Box(asyncio.DatagramProtocol):
    """Keeps what arrives, and when."""

    def __init__(self) -> None:
        self.arrived: asyncio.Queue[tuple[bytes, Any, float]] = asyncio.Queue()
        self.calls: list[str] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.calls.append("made")

    def connection_lost(self, exc: Exception | None) -> None:
        self.calls.append("lost")

    def pause_writing(self) -> None:
        self.calls.append("pause")

    def resume_writing(self) -> None:
        self.calls.append("resume")

    def error_received(self, exc: Exception) -> None:
        self.calls.append(str(exc))

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self.arrived.put_nowait((data, addr, asyncio.get_running_loop().time()))


async def open_socket(protocol: Callable[[], Any] = Box, **options: Any) -> tuple[Any, Any]:
    loop = asyncio.get_running_loop()
    return await loop.create_datagram_endpoint(protocol, **options)


def net(seed: int = 1, **changes: str) -> Net:
    world = WORLD
    for key, value in changes.items():
        world = world.replace(f"{key} =", f"{key} = {value} #", 1)
    return Net(world, seed)


def test_an_echo_takes_a_round_trip() -> None:
    async def main() -> tuple[bytes, Any, float]:
        await open_socket(Echo, local_addr=("call.sink", 443))
        transport, box = await open_socket(remote_addr=("call.sink", 443))
        assert transport.get_extra_info("sockname") == ("10.0.0.1", 49152)
        assert transport.get_extra_info("peername") == ("10.0.0.2", 443)
        transport.sendto(b"hello")
        return await box.arrived.get()

    data, remote, at_s = run(main(), net())
    assert (data, remote) == (b"hello", ("10.0.0.2", 443))
    assert 0.04 < at_s < 0.0405


@needs_groups
def test_asyncio_s_own_means_work() -> None:
    async def main() -> list[object]:
        loop = asyncio.get_running_loop()
        seen: list[object] = [await asyncio.sleep(0, "zero"), loop.time()]
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.sleep(5), 0.25)
        seen += [loop.time(), *await asyncio.gather(asyncio.sleep(0.3, "b"), asyncio.sleep(0.1, "a"))]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(asyncio.sleep(delay, delay)) for delay in (0.2, 0.1, 0.0)]
        seen += [task.result() for task in tasks]
        done, pending = await asyncio.wait({*tasks, loop.create_task(asyncio.sleep(1))}, timeout=0.125)
        seen += [len(done), len(pending), loop.time()]
        async with asyncio.timeout(1):
            event = asyncio.Event()
            loop.call_later(0.5, event.set)
            await event.wait()
        return [*seen, loop.time()]

    begun = time.monotonic()
    assert run(main(), net()) == ["zero", 0.0, 0.25, "b", "a", 0.2, 0.1, 0.0, 3, 1, 0.875, 1.375]
    assert time.monotonic() - begun < 1.3, "virtual time"


def test_timers_fire_at_their_time_and_never_early() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        late: list[float] = []
        done = asyncio.Event()

        def check(when: float, left: int) -> None:
            late.append(loop.time() - when)
            if left == 0:
                done.set()
                return
            later = loop.time() + random.Random(left).random() / 517
            loop.call_at(later, check, later, left - 1)

        check(0.0, 2000)
        await done.wait()
        assert len(late) == 2001
        assert all(0 <= one < 1.1e-9 for one in late)

    run(main(), net())


def test_exceptions_and_results_pass_through() -> None:
    class OwnError(Exception):
        pass

    async def main() -> None:
        await asyncio.sleep(0.1)
        raise OwnError("mine")

    one = net()
    with pytest.raises(OwnError, match="mine"):
        run(main(), one)
    assert one.now == 100_000_000
    assert one.finish().datagrams == 0


def test_an_exception_in_a_callback_is_reported_and_the_loop_goes_on() -> None:
    reports: list[dict[str, Any]] = []

    class Broken(Box):
        def datagram_received(self, data: bytes, addr: Any) -> None:
            raise ValueError(data)

    async def main() -> str:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reports.append(context))
        await open_socket(Broken, local_addr=("call.sink", 443))
        transport, _ = await open_socket()
        transport.sendto(b"bad", ("call.sink", 443))
        await asyncio.sleep(1)
        return "on"

    assert run(main(), net()) == "on"
    assert [str(report["exception"]) for report in reports] == ["b'bad'"]


def test_remaining_tasks_are_cancelled_in_the_order_of_their_creation() -> None:
    order: list[int] = []

    async def wait(number: int) -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            order.append(number)
            await asyncio.sleep(0.5)

    async def main() -> None:
        tasks = [asyncio.create_task(wait(number)) for number in range(20)]
        await asyncio.sleep(0.1)
        assert not any(task.done() for task in tasks)

    one = net()
    run(main(), one)
    assert order == list(range(20))
    assert one.now == 600_000_000


@needs_groups
def test_sets_of_tasks_have_one_order_in_every_process() -> None:
    program = """
import asyncio
from test_net_loop import *
order = []
async def wait(number):
    try:
        await asyncio.sleep(5)
    except asyncio.CancelledError:
        order.append(number)
        raise
async def generate(number):
    try:
        yield number
    finally:
        order.append(100 + number)
async def main():
    junk = [object() for _ in range(int(sys.argv[1]))]
    try:
        async with asyncio.TaskGroup() as group:
            for number in range(30):
                group.create_task(wait(number))
            await asyncio.sleep(0.1)
            raise ValueError
    except* ValueError:
        pass
    done, _ = await asyncio.wait([asyncio.create_task(asyncio.sleep(0, number)) for number in range(30)])
    order.extend(task.result() for task in done)
    global kept
    kept = [generate(number) for number in range(9)]
    for one in kept:
        await anext(one)
run(main(), net())
print(order)
"""
    outputs = set()
    for number in ("1", "77", "1234"):
        command = [sys.executable, "-c", program, str(int(number) * 37)]
        path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONHASHSEED": number, "PYTHONPATH": path}
        outputs.add(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert len(outputs) == 1
    assert outputs.pop().count(",") == 68


@pytest.mark.parametrize(
    ("wait", "text"),
    [
        ("asyncio.Event().wait()", " in main (<string>:4)"),
        ("asyncio.sleep(3600)", " in main (<string>:4)"),
        ("asyncio.gather(inner(), inner())", "in main (<string>:4), inner-1 in inner (<string>:2), inner-2 in inner"),
    ],
)
def test_a_program_that_never_ends_is_named(wait: str, text: str) -> None:
    space: dict[str, Any] = {"asyncio": asyncio}
    source = f"async def inner():\n    await asyncio.sleep(99)\nasync def main():\n    await {wait}\n"
    if "inner" in wait:
        source = source.replace(
            wait, "asyncio.gather(*[asyncio.create_task(inner(), name=f'inner-{n}') for n in (1, 2)])"
        )
    exec(source, space)
    with pytest.raises(RunEndedError) as caught:
        run(space["main"](), net())
    message = str(caught.value)
    assert "the run of 6.3 s has ended, and the program waits since 0.000000000 s; give the world a longer" in message
    assert text in message


def test_datagrams_without_a_socket_are_named() -> None:
    async def main() -> None:
        transport, _ = await open_socket()
        for _ in range(3):
            transport.sendto(b"x", ("call.sink", 4433))
        await asyncio.Event().wait()

    with pytest.raises(RunEndedError, match=r"datagrams without a socket: 3 at call\.sink port 4433$"):
        run(main(), net())


def test_a_program_that_turns_at_one_instant_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sojourn.apps.net.loop.MAX_TURNS", 3000)

    async def main() -> None:
        while True:
            await asyncio.sleep(0)

    with pytest.raises(
        RunEndedError, match=r"3000 turns of the loop at 0\.0+ s; await what takes time.*Task-\d+ in test_a"
    ):
        run(main(), net())


def test_ctrl_c_ends_a_run_and_cleans_up() -> None:
    cleaned = []

    async def main() -> None:
        try:
            while True:
                await asyncio.sleep(1e-6)
                if asyncio.get_running_loop().time() > 0.01:
                    os.kill(os.getpid(), signal.SIGINT)
        finally:
            cleaned.append(True)

    with pytest.raises(KeyboardInterrupt):
        run(main(), net())
    assert cleaned == [True]
    assert run(asyncio.sleep(0.1, "again"), net()) == "again"


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("create_connection", (asyncio.Protocol, "call.sink", 80), "UDP only; use create_datagram_endpoint"),
        ("create_server", (asyncio.Protocol, "call.sink", 80), "UDP only"),
        ("subprocess_exec", (asyncio.SubprocessProtocol, "ls"), "a subprocess runs in real time"),
        ("subprocess_shell", (asyncio.SubprocessProtocol, "ls"), "a subprocess runs in real time"),
        ("add_signal_handler", (2, print), "signals arrive in real time"),
        ("run_in_executor", (None, time.sleep, 1), "run_in_executor: a thread runs sleep in real time"),
        ("sock_recv", (None, 1), "no file descriptors"),
        ("add_reader", (0, print), "no file descriptors"),
        ("create_unix_server", (asyncio.Protocol,), "no pipes or Unix sockets"),
        ("connect_read_pipe", (asyncio.Protocol, None), "no pipes"),
    ],
)
def test_what_a_net_cannot_do_is_refused(name: str, arguments: tuple[Any, ...], text: str) -> None:
    async def main() -> None:
        await getattr(asyncio.get_running_loop(), name)(*arguments)

    with pytest.raises(NotImplementedError, match=text):
        run(main(), net())


def test_other_threads_are_refused_and_an_inline_executor_is_not() -> None:
    async def main() -> list[Any]:
        loop = asyncio.get_running_loop()
        errors: list[str] = []

        def call() -> None:
            try:
                loop.call_soon_threadsafe(print)
            except NotImplementedError as error:
                errors.append(str(error))

        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
        loop.call_soon_threadsafe(errors.append, "own thread")
        await asyncio.sleep(0)
        result = await asyncio.to_thread(pow, 2, 5)
        with pytest.raises(ZeroDivisionError):
            await loop.run_in_executor(None, divmod, 1, 0)
        return [*errors, result]

    refused, own, result = run(main(), net(), executor="inline")
    assert (own, result) == ("own thread", 32)
    assert refused.startswith("call_soon_threadsafe: another thread runs in real time")
    with pytest.raises(ValueError, match="executor: 'pool'; give None"):
        run(asyncio.sleep(0), net(), executor="pool")


def test_names_and_addresses() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert await loop.getaddrinfo("call.sink", 443) == [
            (socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_UDP, "", ("10.0.0.2", 443))
        ]
        [(family, *_, address)] = await loop.getaddrinfo(
            "call.sink", "80", family=socket.AF_INET6, flags=socket.AI_V4MAPPED
        )
        assert (family, address) == (socket.AF_INET6, ("::ffff:10.0.0.2", 80, 0, 0))
        [(*_, address)] = await loop.getaddrinfo("192.0.2.7", None)
        assert address == ("192.0.2.7", 0)
        assert await loop.getnameinfo(("10.0.0.2", 443)) == ("call.sink", "443")
        for arguments, options, text in [
            (("example.org", 443), {}, "a net knows the names of its ends, call.source, call.sink, many.0.source"),
            (("call.sink", "https"), {}, "port: 'https' is not a number; write e.g. 443"),
            (("call.sink", 1), {"family": socket.AF_INET6}, "which is of the other family"),
            (("call.sink", 1), {"type": socket.SOCK_STREAM}, "UDP only"),
        ]:
            with pytest.raises(socket.gaierror, match=text):
                await loop.getaddrinfo(*arguments, **options)
        with pytest.raises(OSError, match=r"192\.0\.2\.7 is not the address of a host of this net"):
            await open_socket(local_addr=("192.0.2.7", 1))
        await open_socket(local_addr=("call.sink", 443))
        with pytest.raises(OSError, match=r"in use: 10.0.0.2 port 443"):
            await open_socket(local_addr=("10.0.0.2", 443))

    run(main(), net())


def test_sockets_belong_to_the_end_of_the_context() -> None:
    async def bind(port: int = 0) -> Any:
        transport, _ = await open_socket(local_addr=("0.0.0.0", port))
        return transport.get_extra_info("sockname")

    async def main() -> list[Any]:
        with at("call.sink"):
            task = asyncio.create_task(bind(7))
        names = [await bind(), await bind(), await task]
        with at("many.1.source"):
            names.append(await bind())
        error = pytest.raises(InputError, match=r"end: 'nobody' is not an end of this net; choose from call\.source")
        with error, at("nobody"):
            await bind()
        return names

    ports = [("10.0.0.1", 49152), ("10.0.0.1", 49153), ("10.0.0.2", 7), ("10.0.0.3", 49153)]
    assert run(main(), net()) == ports
    assert run(bind(), net(), source="many.2.source") == ("10.0.0.3", 49154)


def test_one_server_answers_the_clients_of_a_group() -> None:
    async def client(number: int) -> tuple[bytes, Any]:
        with at(f"many.{number}.source"):
            transport, box = await open_socket()
        await asyncio.sleep(number / 1000)
        transport.sendto(b"%d" % number, ("many.0.sink", 443))
        data, remote, _ = await box.arrived.get()
        return data, remote

    async def main() -> list[Any]:
        await open_socket(Echo, local_addr=("many.0.sink", 443))
        return await asyncio.gather(*[client(number) for number in range(3)])

    assert run(main(), net()) == [(b"%d" % number, ("10.0.0.4", 443)) for number in range(3)]


def test_a_dual_stack_socket_sees_mapped_addresses() -> None:
    """As aioquic's client: it makes the socket itself, and sends to a mapped address."""

    async def main() -> None:
        await open_socket(Echo, local_addr=("call.sink", 443))
        sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        transport, box = await open_socket(sock=sock)
        assert sock.fileno() == -1, "the machine's socket is closed"
        assert transport.get_extra_info("sockname") == ("::ffff:10.0.0.1", 49152, 0, 0)
        for _ in range(2):
            transport.sendto(b"x", ("::ffff:10.0.0.2", 443, 0, 0))
            _, remote, _ = await box.arrived.get()
            assert remote == ("::ffff:10.0.0.2", 443, 0, 0)
        with pytest.raises(ValueError, match="A UDP Socket was expected"), socket.socket() as stream:
            await open_socket(sock=stream)

    run(main(), net())


def test_a_full_host_pauses_the_protocol() -> None:
    async def main() -> list[str]:
        _, server = await open_socket(local_addr=("call.sink", 443))
        transport, box = await open_socket(remote_addr=("call.sink", 443))
        assert transport.get_write_buffer_limits() == (16_384, 65_536)
        for number in range(100):
            transport.sendto(bytearray(b"%03d" % number) + bytes(1197))
        assert transport.get_write_buffer_size() > 65_536
        transport.close()
        assert transport.is_closing()
        got = [await server.arrived.get() for _ in range(100)]
        assert [data[:3] for data, *_ in got] == [b"%03d" % number for number in range(100)]
        await asyncio.sleep(0)
        return list(box.calls)

    world = WORLD.replace("tags =", 'access_rate = "3.7 Mbit/s"\nsocket_buffer = "5 kB"\ntags =')
    assert run(main(), Net(world, 1)) == ["made", "pause", "resume", "lost"]


def test_oversized_packets_are_errors_of_the_protocol() -> None:
    async def main() -> list[str]:
        transport, box = await open_socket()
        transport.sendto(bytes(1300), ("call.sink", 443))
        with pytest.raises(ValueError, match="sendto: no address; give one"):
            transport.sendto(b"x")
        with pytest.raises(InputError, match="at most 65507 B"):
            transport.sendto(bytes(70_000), ("call.sink", 443))
        await asyncio.sleep(1)
        transport.abort()
        await asyncio.sleep(0)
        transport.sendto(b"x", ("call.sink", 443))
        return list(box.calls)

    world = WORLD.replace("tags =", 'mtu = "1280 B"\noversize = "report"\ntags =')
    made, error, lost = run(main(), Net(world, 1))
    assert (made, lost) == ("made", "lost")
    assert "was too big; the path's MTU is 1280 B" in error


def test_ecn_and_tags_of_sockets() -> None:
    ecns: list[str] = []

    class Marks(Echo):
        def datagram_received(self, data: bytes, addr: Any) -> None:
            ecns.append(self.transport.received_ecn)

    async def main() -> None:
        await open_socket(Marks, local_addr=("call.sink", 443))
        transport, _ = await open_socket()
        for ecn in ("ect1", "not-ect", "ect0"):
            transport.ecn, transport.tag = ecn, "rtp"
            transport.sendto(b"x", ("call.sink", 443))
        await asyncio.sleep(0.1)

    one = net()
    run(main(), one)
    report = one.finish()
    assert ecns == ["ect1", "not-ect", "ect0"]
    report.expect("p50(delay, call.rtp) <= 30 ms")


def test_clocks_and_random_sources_are_patched_and_restored() -> None:
    before = (time.time, time.time_ns, time.monotonic, os.urandom, random._urandom)  # type: ignore[attr-defined]
    state = random.getstate()

    async def main() -> list[Any]:
        await asyncio.sleep(1.5)
        clocks = [time.time(), time.time_ns(), time.monotonic(), time.perf_counter_ns()]
        return [*clocks, os.urandom(8), random.random(), secrets.token_hex(4)]

    names = ("time.time", "time.monotonic", "time.perf_counter", "os.urandom", "random")
    first, second = (run(main(), net(9), patch=names) for _ in range(2))
    assert first == second
    assert first[:4] == [1_767_225_601.5, 1_767_225_601_500_000_000, 1.5, 1_500_000_000]
    assert run(main(), net(10), patch=names)[4:] != first[4:]
    with pytest.raises(ZeroDivisionError):
        run(_divide(), net(), patch=names)
    assert (time.time, time.time_ns, time.monotonic, os.urandom, random._urandom) == before  # type: ignore[attr-defined]
    assert random.getstate() == state
    with pytest.raises(InputError, match=r"patch: 'time.sleep' cannot be replaced; choose from time.time"):
        run(main(), net(), patch=("time.sleep",))


async def _divide() -> None:
    raise ZeroDivisionError


def test_a_run_needs_a_coroutine_and_no_other_loop() -> None:
    with pytest.raises(TypeError, match=r"a coroutine was expected, got .*; call the function: run\(main\(\), net\)"):
        run(_divide, net())  # type: ignore[arg-type]

    async def outer() -> None:
        run(asyncio.sleep(0), net())

    with pytest.raises(RuntimeError, match="cannot be called from a running event loop"):
        asyncio.run(outer())
    finished = net()
    finished.finish()
    with pytest.raises(InputError, match="net: it is finished; make another one"):
        run(asyncio.sleep(0), finished)


def test_a_loop_can_be_used_by_hand() -> None:
    loop = NetLoop(net())
    try:
        assert loop.run_until_complete(_time()) == 0.25
    finally:
        loop.close()
    with pytest.raises(RuntimeError, match="closed"):
        loop.call_soon(print)


async def _time() -> float:
    await asyncio.sleep(0.25)
    return asyncio.get_running_loop().time()
