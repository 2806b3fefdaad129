"""Name server of a replay: ``python -m sojourn.web.names FILE`` knows no name, and writes those that it is asked for.

The recorded names are in the hosts file of the replay, so a program asks for others only.
"""

from __future__ import annotations

import socket
import struct
import sys
from pathlib import Path

PORT = 53
NO_SUCH_NAME = 3
"""Response code NXDOMAIN (RFC 1035)."""
_HEADER = struct.Struct(">6H")


def main() -> None:
    """Answer queries over UDP until killed."""
    file = Path(sys.argv[1])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("", PORT))
        while True:
            query, client = server.recvfrom(1 << 16)
            if (found := answer(query)) is None:
                continue
            name, response = found
            with file.open("a", encoding="utf-8") as lines:
                lines.write(f"{name}\n")
            server.sendto(response, client)


def answer(query: bytes) -> tuple[str, bytes] | None:
    """Name in a query, and the response that it does not exist; None if it is no query."""
    if len(query) < _HEADER.size:
        return None
    number, flags, questions, *_ = _HEADER.unpack_from(query)
    if flags & 0x8000 or questions != 1:
        return None
    labels, at = [], _HEADER.size
    while at < len(query) and (length := query[at]):
        # A pointer (RFC 1035, 4.1.4) is never needed in the first name.
        if length > 63 or at + 1 + length > len(query):
            return None
        # One name is one line of the file.
        labels.append("".join(chr(byte) if 0x20 < byte < 0x7F else "?" for byte in query[at + 1 : at + 1 + length]))
        at += 1 + length
    end = at + 1 + 4
    if end > len(query):
        return None
    # Query, recursion desired and available; the rest of the query, such as EDNS, is left out.
    header = _HEADER.pack(number, 0x8080 | flags & 0x7900 | NO_SUCH_NAME, 1, 0, 0, 0)
    return ".".join(labels), header + query[_HEADER.size : end]


if __name__ == "__main__":
    main()
