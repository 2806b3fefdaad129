"""Link layers, tunnels, fragments and compression of captures: the flows in them are those of plain Ethernet."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

import sojourn as sj
from captures import pcap
from conftest import Cli, printed_json
from sojourn.base.errors import InputError
from sojourn.io.pcap.capture import is_capture, load_capture

Wrap = Callable[[bytes], bytes]
HOME, SERVER = bytes([192, 168, 1, 10]), bytes([203, 0, 113, 5])
MACS = b"\2\0\0\0\0\1\2\0\0\0\0\2"
WIFI = b"\2\0\0\0\0\1" * 3 + b"\0\0"
SNAP = b"\xaa\xaa\3\0\0\0\x08\0"


def ip4(
    source: bytes, destination: bytes, protocol: int, payload: bytes, *, fragment: int = 0, number: int = 1
) -> bytes:
    size = 20 + len(payload)
    head = struct.pack(">BBHHHBBH", 0x45, 0, size, number, fragment, 64, protocol, 0)
    return head + source + destination + payload


def ip6(next_header: int, payload: bytes) -> bytes:
    ends = bytes(15) + b"\1" + bytes(15) + b"\2"
    return struct.pack(">IHBB", 0x6000_0000, len(payload), next_header, 64) + ends + payload


def tcp(seq: int, size: int) -> bytes:
    return struct.pack(">HHIIBBHHH", 80, 4000, seq, 1, 0x50, 16, 65535, 0, 0) + bytes(size)


SEGMENTS = [ip4(SERVER, HOME, 6, tcp(1000 + 1400 * at, 1400)) for at in range(20)]


def file(folder: Path, link: int, wrap: Wrap, packets: list[bytes]) -> Path:
    path = folder / "own.pcap"
    path.write_bytes(pcap([(at * 1_000_000, wrap(packet)) for at, packet in enumerate(packets)], nano=True, link=link))
    return path


def nflog(order: str) -> Wrap:
    def wrap(packet: bytes) -> bytes:
        prefix = struct.pack(order + "HH", 7, 10) + b"in\0\0"
        return b"\2\0\0\1" + prefix + struct.pack(order + "HH", 4 + len(packet), 9) + packet

    return wrap


READ: dict[str, tuple[int, Wrap]] = {
    "pppoe": (1, lambda p: MACS + b"\x88\x64\x11\0\0\x17" + struct.pack(">H", len(p) + 2) + b"\0\x21" + p),
    "pppoe in a vlan": (1, lambda p: MACS + b"\x81\0\0\7\x88\x64\x11\0\0\x17\0\0\0\x21" + p),
    "pppoe, compressed protocol": (1, lambda p: MACS + b"\x88\x64\x11\0\0\x17\0\0\x21" + p),
    "mpls": (1, lambda p: MACS + b"\x88\x47\0\1\1\x40" + p),
    "two labels": (1, lambda p: MACS + b"\x88\x47\0\1\0\x40\0\2\1\x40" + p),
    "pseudowire": (1, lambda p: MACS + b"\x88\x47\0\1\1\x40" + bytes(4) + MACS + b"\x08\0" + p),
    "ipip": (1, lambda p: MACS + b"\x08\0" + ip4(b"\x0a\0\0\1", b"\x0a\0\0\2", 4, p)),
    "ip4 in ip6": (1, lambda p: MACS + b"\x86\xdd" + ip6(4, p)),
    "gre": (1, lambda p: MACS + b"\x08\0" + ip4(b"\x0a\0\0\1", b"\x0a\0\0\2", 47, b"\0\0\x08\0" + p)),
    "gre with key and number": (101, lambda p: ip4(HOME, SERVER, 47, b"\x30\0\x08\0" + bytes(8) + p)),
    "gre of ethernet": (101, lambda p: ip4(HOME, SERVER, 47, b"\0\0\x65\x58" + MACS + b"\x08\0" + p)),
    "pptp": (101, lambda p: ip4(HOME, SERVER, 47, b"\x30\x81\x88\x0b" + bytes(12) + b"\xff\3\0\x21" + p)),
    "ppp": (9, lambda p: b"\xff\3\0\x21" + p),
    "ppp without its address": (9, lambda p: b"\0\x21" + p),
    "ppp over hdlc": (50, lambda p: b"\xff\3\0\x21" + p),
    "cisco hdlc": (104, lambda p: b"\x0f\0\x08\0" + p),
    "pppoe alone": (51, lambda p: b"\x11\0\0\x17\0\0\0\x21" + p),
    "llc": (1, lambda p: MACS + struct.pack(">H", len(p) + 8) + SNAP + p),
    "nflog": (239, nflog("<")),
    "nflog, big endian": (239, nflog(">")),
    "dsa": (284, lambda p: MACS + b"\xc0\0\0\1\x08\0" + p),
    "edsa": (285, lambda p: MACS + b"\xda\xda\0\0\xc0\0\0\1\x08\0" + p),
    "edsa as ethernet": (1, lambda p: MACS + b"\xda\xda\0\0\xc0\0\0\1\x08\0" + p),
    "broadcom": (281, lambda p: MACS + b"\0\0\0\1\x08\0" + p),
    "broadcom, before the addresses": (282, lambda p: b"\0\0\0\1" + MACS + b"\x08\0" + p),
    "erspan, type I": (101, lambda p: ip4(HOME, SERVER, 47, b"\0\0\x88\xbe" + MACS + b"\x08\0" + p)),
    "erspan, type II": (
        101,
        lambda p: ip4(HOME, SERVER, 47, b"\x10\0\x88\xbe" + bytes(12) + MACS + b"\x08\0" + p),
    ),
    "erspan, type III": (
        101,
        lambda p: ip4(HOME, SERVER, 47, b"\x10\0\x22\xeb" + bytes(16) + MACS + b"\x08\0" + p),
    ),
    "erspan, type III with a subheader": (
        101,
        lambda p: ip4(HOME, SERVER, 47, b"\x10\0\x22\xeb" + bytes(15) + b"\1" + bytes(8) + MACS + b"\x08\0" + p),
    ),
    "token ring": (6, lambda p: b"\x10\x40" + bytes(12) + SNAP + p),
    "token ring with a route": (6, lambda p: b"\x10\x40" + bytes(6) + b"\x80" + bytes(5) + b"\6" + bytes(5) + SNAP + p),
    "fddi": (10, lambda p: b"\x50" + bytes(12) + SNAP + p),
    "slip": (8, lambda p: bytes(16) + p),
    "frame relay": (107, lambda p: b"\x18\x41\3\xcc" + p),
    "frame relay with a long address and a pad byte": (107, lambda p: b"\x18\x40\x41\3\0\xcc" + p),
    "frame relay, snap": (107, lambda p: b"\x18\x41\3\0\x80\0\0\0\x08\0" + p),
    "frame relay, cisco": (107, lambda p: b"\x18\x41\x08\0" + p),
    "arcnet, rfc 1201": (129, lambda p: bytes(4) + b"\xd4\0\0\1" + p),
    "arcnet, rfc 1051": (129, lambda p: bytes(4) + b"\xf0" + p),
    "ip over infiniband": (242, lambda p: bytes(40) + b"\x08\0\0\0" + p),
    "ppi": (192, lambda p: struct.pack("<BBHI", 0, 0, 8, 1) + MACS + b"\x08\0" + p),
    "pktap": (258, lambda p: struct.pack("<III", 16, 1, 1) + bytes(4) + MACS + b"\x08\0" + p),
    "wi-fi": (105, lambda p: b"\x08\2\0\0" + WIFI + SNAP + p),
    "wi-fi with priority": (105, lambda p: b"\x88\2\0\0" + WIFI + b"\0\0" + SNAP + p),
    "radiotap": (127, lambda p: b"\0\0\x08\0\0\0\0\0\x08\2\0\0" + WIFI + SNAP + p),
    "radiotap, padded": (
        127,
        lambda p: b"\0\0\x19\0\3\0\0\0" + bytes(8) + b"\x20" + bytes(8) + b"\x88\2\0\0" + WIFI + bytes(4) + SNAP + p,
    ),
}
"""Link type, and the frame of an IP packet."""


@pytest.mark.parametrize("name", READ)
def test_a_flow_is_the_same_in_every_encapsulation(tmp_path: Path, name: str) -> None:
    link, wrap = READ[name]
    found = load_capture(file(tmp_path, link, wrap, SEGMENTS))
    plain = load_capture(file(tmp_path, 1, lambda p: MACS + b"\x08\0" + p, SEGMENTS))
    assert found.warning is None
    assert found.packets.equals(plain.packets)
    assert found.packets["payload"].to_list() == [1400] * 20


def test_6in4_is_read(tmp_path: Path) -> None:
    packets = [ip4(HOME, SERVER, 41, ip6(6, tcp(1000, 100)))]
    found = load_capture(file(tmp_path, 101, lambda p: p, packets)).packets
    assert (found["source"][0], found["payload"][0], found["ip_bytes"][0]) == ("::1", 100, 160)


NAMED: dict[str, tuple[int, bytes]] = {
    "ARP": (1, MACS + b"\x08\x06" + bytes(28)),
    "PPPoE discovery": (1, MACS + b"\x88\x63" + bytes(20)),
    "spanning tree": (1, MACS + b"\0\x26\x42\x42\3" + bytes(35)),
    "EtherType 0x1234": (1, MACS + b"\x12\x34" + bytes(30)),
    "PPP control": (9, b"\xff\3\xc0\x21" + bytes(8)),
    "ICMP": (101, ip4(HOME, SERVER, 1, bytes(8))),
    "ESP": (101, ip4(HOME, SERVER, 50, bytes(40))),
    "SCTP": (101, ip4(HOME, SERVER, 132, bytes(40))),
    "IP protocol 253": (101, ip4(HOME, SERVER, 253, bytes(40))),
    "ICMPv6": (101, ip6(58, bytes(8))),
    "truncated": (101, SEGMENTS[0][:18]),
    "Wi-Fi management and control": (105, b"\x80\0\0\0" + WIFI),
    "encrypted Wi-Fi": (105, b"\x08\x42\0\0" + WIFI + SNAP),
    "aggregated Wi-Fi (A-MSDU)": (105, b"\x88\2\0\0" + WIFI + b"\x80\0" + SNAP),
    "USB": (220, bytes(64)),
    "Bluetooth": (201, bytes(9)),
    "PPI": (192, struct.pack("<BBHI", 0, 0, 8, 192) + bytes(56)),
    "frame relay NLPID 0x81": (107, b"\x18\x41\3\x81" + bytes(30)),
    "ARCnet type 213": (129, bytes(4) + b"\xd5" + bytes(30)),
    "NHRP": (101, ip4(HOME, SERVER, 47, b"\0\0\x20\1" + bytes(40))),
    "IPv6 mobility": (101, ip6(135, bytes(40))),
    "link type 999": (999, bytes(64)),
    "fragments without their first": (101, ip4(HOME, SERVER, 17, bytes(64), fragment=9)),
}


@pytest.mark.parametrize("kind", NAMED)
def test_other_packets_are_named_by_their_kind(tmp_path: Path, kind: str) -> None:
    link, frame = NAMED[kind]
    with pytest.raises(InputError) as refused:
        load_capture(file(tmp_path, link, lambda p: p, [frame, frame]))
    assert f"2 packets are left out: 2 {kind}; no TCP or UDP packet in it" in str(refused.value)


def test_nested_headers_end_without_a_crash(tmp_path: Path) -> None:
    frame = MACS + b"\x81\0\0\1" * 500_000
    with pytest.raises(InputError, match="1 packets are left out: 1 truncated"):
        load_capture(file(tmp_path, 1, lambda p: p, [frame]))


def fragments(version: int, protocol: int, datagram: bytes, number: int) -> list[bytes]:
    found = []
    for at in range(0, len(datagram), 1480):
        part, more = datagram[at : at + 1480], at + 1480 < len(datagram)
        if version == 4:
            found.append(ip4(SERVER, HOME, protocol, part, fragment=more << 13 | at >> 3, number=number))
        else:
            found.append(ip6(44, struct.pack(">BBHI", protocol, 0, at | more, number) + part))
    return found


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("is_reversed", [False, True])
def test_fragments_belong_to_the_flow_of_the_first(cli: Cli, tmp_path: Path, version: int, is_reversed: bool) -> None:
    packets = []
    for number in range(1, 51):
        head = struct.pack(">HHHH", 5000, 5201, 7980, 0)
        parts = fragments(version, 17, head + bytes(7972), number)
        packets += parts[::-1] if is_reversed else parts
    own = file(tmp_path, 101, lambda p: p, packets)
    found = load_capture(own)
    assert found.warning is None
    assert found.packets["ip_bytes"].sum() == sum(map(len, packets))
    assert found.packets["payload"].sum() == 50 * 7972
    flows = printed_json(cli("pcap", "show", own, "--json"))["flows"]
    assert {flow["packets"] for flow in flows} == {300}
    assert cli("import", "pcap", own, "--rate", "100mbit", "-o", "out.toml").exit_code == 0
    result = sj.Scenario.load(tmp_path / "out.toml").run()
    assert result.groups["capture_packets"].to_list() == [300]


def test_fragments_of_a_segment_have_its_sequence_numbers(tmp_path: Path) -> None:
    packets = [*fragments(4, 6, tcp(1000, 4000), 7), ip4(SERVER, HOME, 6, tcp(5000, 100))]
    found = load_capture(file(tmp_path, 101, lambda p: p, packets)).packets
    ends = [seq + payload for seq, payload in zip(found["seq"], found["payload"], strict=True)]
    assert found["seq"].to_list() == [1000, *ends[:-1]]
    assert found["payload"].sum() == 4100


@pytest.mark.parametrize("suffix", [".pcap.gz", ".cap"])
def test_a_compressed_capture_is_read_and_replayed(cli: Cli, tmp_path: Path, suffix: str) -> None:
    plain = file(tmp_path, 101, lambda p: p, SEGMENTS)
    packed = tmp_path / f"packed{suffix}"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert load_capture(packed).packets.equals(load_capture(plain).packets)
    assert cli("import", "pcap", packed, "-o", "out.toml").exit_code == 0
    assert cli("run", "out.toml", "-o", "out").exit_code == 0
    assert is_capture(packed)
    packed.write_bytes(packed.read_bytes()[:-20])
    found = load_capture(packed)
    assert "truncated at byte" in str(found.warning)
    packed.write_bytes(packed.read_bytes()[:10] + b"\xff" * 50)
    with pytest.raises(InputError, match="not a valid gzip file"):
        load_capture(packed)
