"""Whether captures of public test suites are read, and counted as tcpdump counts them.

`make capture-suites` fetches the files of `capture_suites.csv` from GitHub into the folder SOJOURN_SUITES, else
`~/.cache/sojourn/suites`, checks their hashes, reads each, and prints tables by link type and of the files that are not
read. The list has tcpdump's counts: all packets, those of IP, and the TCP and UDP packets with the sum of their IP
lengths; tcpdump gives no protocol behind most extension headers of IPv6, so the last two may differ. `--record TCPDUMP`
counts them again with that program and writes the list. Exit code 1 if a file crashes the reader, if a file that is not
damaged has another number of packets, or if less than 90 % of those with TCP or UDP are read.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import re
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from urllib.request import urlopen

from sojourn.base.caches import cache_folder
from sojourn.base.errors import InputError
from sojourn.io.pcap.capture import GZIP, load_capture

LIST = Path(__file__).with_suffix(".csv")
ADDRESS = "https://raw.githubusercontent.com/{repository}/{commit}/{path}"
LINK_TYPES = {
    0: "BSD loopback",
    1: "Ethernet",
    8: "SLIP",
    101: "raw IP",
    106: "Linux CLIP",
    113: "Linux cooked",
    127: "radiotap",
    129: "ARCnet",
    165: "BACnet MS/TP",
    228: "raw IPv4",
    230: "IEEE 802.15.4",
}
"""Names of the list's link types (tcpdump.org/linktypes.html)."""
SHARE_READ = 0.9
"""Minimum share of read files among those with TCP or UDP."""
HEADER = re.compile(r"proto (\w+) \(\d+\), length (\d+)|next-header (\w+) \(\d+\),? payload length:? (\d+)")
"""IP header as `tcpdump -v` prints it."""


@dataclass(frozen=True)
class Listed:
    """A file of a suite, with the counts of tcpdump."""

    repository: str
    path: str
    commit: str
    sha256: str
    size: int
    packets: int
    """All packets."""
    ip: int
    """Packets with an IP header."""
    transport: int
    """TCP and UDP packets, as tcpdump names their innermost IP header."""
    ip_bytes: int
    """Sum of the IP lengths of these."""


@dataclass(frozen=True)
class Read:
    """A file as read here."""

    packets: int
    """TCP and UDP packets, and those left out."""
    transport: int
    ip_bytes: int
    note: str
    """Kinds of packets that are left out, or the reason of a refusal."""
    link_types: tuple[int, ...]


def main() -> None:
    """Read the arguments and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", metavar="TCPDUMP", help="count with this program and write the list")
    program = parser.parse_args().record
    listed = [_listed(row) for row in csv.DictReader(LIST.open(encoding="utf-8"))]
    folder = cache_folder("suites", "SOJOURN_SUITES")
    files = [_fetched(one, folder) for one in listed]
    if program:
        listed = [_counted(one, path, program) for one, path in zip(listed, files, strict=True)]
        _write(listed)
    read = [_read(path) for path in files]
    print_links(listed, read)
    print_unread(listed, read)
    sys.exit(not is_right(listed, read))


def _listed(row: dict[str, str]) -> Listed:
    return Listed(**{one.name: int(row[one.name]) if one.type == "int" else row[one.name] for one in fields(Listed)})  # type: ignore[arg-type]


def _write(listed: Sequence[Listed]) -> None:
    with LIST.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [one.name for one in fields(Listed)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(map(asdict, listed))


def _fetched(one: Listed, folder: Path) -> Path:
    """The file in the folder, fetched if it is missing; exits if its hash is another one."""
    path = folder / one.repository / one.path
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with urlopen(ADDRESS.format(**asdict(one)), timeout=60) as answer:
            path.write_bytes(answer.read())
    if hashlib.sha256(path.read_bytes()).hexdigest() != one.sha256:
        sys.exit(f"{path}: another file than in {LIST.name}; delete it to fetch it again")
    return path


def _read(path: Path) -> Read:
    data = path.read_bytes()
    links = tuple(sorted(set(_link_types(gzip.decompress(data) if data[:2] == GZIP else data))))
    try:
        found = load_capture(path)
    except InputError as error:
        note = str(error).removeprefix(f"{path}: ")
        return Read(_left_out(note), 0, 0, note, links)
    note = (found.warning or "").removeprefix(f"{path}: ")
    packets = found.packets
    return Read(packets.height + _left_out(note), packets.height, int(packets["ip_bytes"].sum()), note, links)


def _left_out(note: str) -> int:
    found = re.search(r"(\d+) packets are left out", note)
    return int(found[1]) if found else 0


def _link_types(data: bytes) -> Iterator[int]:
    """Yield the link types of a file, of pcapng those of its interfaces."""
    if data[:4] != b"\x0a\x0d\x0d\x0a":
        order = ">" if data[:1] == b"\xa1" else "<"
        yield struct.unpack_from(f"{order}I", data, 20)[0] & 0xFFFF
        return
    at, order = 0, "<"
    while at + 12 <= len(data):
        if data[at : at + 4] == b"\x0a\x0d\x0d\x0a":
            order = ">" if data[at + 8] == 0x1A else "<"
        kind, size = struct.unpack_from(f"{order}II", data, at)
        if kind == 1:
            yield struct.unpack_from(f"{order}H", data, at + 8)[0]
        at += max(size, 12)


def _counted(one: Listed, path: Path, program: str) -> Listed:
    """Count with tcpdump, of a file that is compressed its contents."""
    with tempfile.NamedTemporaryFile() as plain:
        data = path.read_bytes()
        plain.write(gzip.decompress(data) if data[:2] == GZIP else data)
        plain.flush()
        words = ("-nn", "-tt", "-v", "-K", "-r", plain.name), ("--count", "-r", plain.name)
        text, count = (
            subprocess.run([program, *call], capture_output=True, check=False).stdout.decode("latin-1")
            for call in words
        )
    # A packet begins with its time; it may have further lines.
    packets = re.split(r"\n(?=[0-9]+\.[0-9]{6,} )", text) if text else []
    heads = [[(found[1] or found[3], found) for found in HEADER.finditer(packet)] for packet in packets]
    chosen = [found for head in heads if (found := _transport(head)) is not None]
    size = sum(int(found[2]) if found[1] else int(found[4]) + 40 for found in chosen)
    with_ip = sum(bool(head) for head in heads)
    return replace(one, packets=int(count.split()[0]), ip=with_ip, transport=len(chosen), ip_bytes=size)


def _transport(head: Sequence[tuple[str, re.Match[str]]]) -> re.Match[str] | None:
    """Header of the first TCP or UDP; one inside of ICMP is a quotation."""
    for protocol, found in head:
        if protocol in ("TCP", "UDP"):
            return found
        if protocol.startswith("ICMP"):
            return None
    return None


def print_links(listed: Sequence[Listed], read: Sequence[Read]) -> None:
    """Print files, packets and bytes by link type, those with several together."""
    print("| link type | files | with IP | with TCP or UDP | read | packets | TCP and UDP | their bytes of IP |")
    print("|---|---|---|---|---|---|---|---|")
    kinds = sorted({one.link_types for one in read})
    for kind in [*kinds, None]:
        group = [both for both in zip(listed, read, strict=True) if kind in (None, both[1].link_types)]
        name = "all" if kind is None else ", ".join(f"{LINK_TYPES.get(one, 'unnamed')} ({one})" for one in kind)
        files, ip, transport = (
            len(group),
            sum(one.ip > 0 for one, _ in group),
            sum(one.transport > 0 for one, _ in group),
        )
        cells = [files, ip, transport, sum(found.transport > 0 for _, found in group)]
        cells += [sum(getattr(found, key) for _, found in group) for key in ("packets", "transport", "ip_bytes")]
        print(f"| {name} | {' | '.join(f'{cell:,}' for cell in cells)} |")


def print_unread(listed: Sequence[Listed], read: Sequence[Read]) -> None:
    """Print how many files with IP are not read, by what they have."""
    reasons = Counter(
        ", ".join(sorted(set(re.findall(r"\d+ ([^,;]+)", found.note.partition("left out: ")[2])))) or found.note
        for one, found in zip(listed, read, strict=True)
        if one.ip and not found.transport
    )
    print("\nNot read, with IP:")
    for reason, count in reasons.most_common():
        print(f"{count:4d}  {reason}")


def is_right(listed: Sequence[Listed], read: Sequence[Read]) -> bool:
    """Whether the counts are tcpdump's and enough files are read; prints the others."""
    both = list(zip(listed, read, strict=True))
    print("\nCounted otherwise than by tcpdump:")
    wrong = [(one, found) for one, found in both if found.packets != one.packets]
    other = [one for one in both if (one[0].transport, one[0].ip_bytes) != (one[1].transport, one[1].ip_bytes)]
    for one, found in both:
        if (one, found) in wrong or (one, found) in other:
            print(f"  {one.repository}/{one.path}: {_counts(one)} by tcpdump, {_counts(found)} here; {found.note}")
    with_transport = [found for one, found in both if one.transport]
    share = sum(found.transport > 0 for found in with_transport) / len(with_transport)
    with_ip = [found for one, found in both if one.ip]
    of_ip = sum(found.transport > 0 for found in with_ip) / len(with_ip)
    print(
        f"\n{len(both)} files: {of_ip:.1%} of {len(with_ip)} with IP and {share:.1%} of {len(with_transport)} with TCP "
        f"or UDP are read; {len(both) - len(wrong)} have tcpdump's number of packets, {len(both) - len(other)} its TCP "
        f"and UDP packets and their bytes"
    )
    return all("damaged" in found.note for _, found in wrong) and share >= SHARE_READ


def _counts(of: Listed | Read) -> str:
    return f"{of.packets} packets, {of.transport} of TCP and UDP with {of.ip_bytes} B"


if __name__ == "__main__":
    main()
