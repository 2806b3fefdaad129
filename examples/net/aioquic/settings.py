"""Configurations of both ends. The certificate is an input: another one changes the sizes of datagrams."""

from __future__ import annotations

from pathlib import Path

from aioquic.quic.configuration import QuicConfiguration

HERE = Path(__file__).parent
SIZE = 6_000_000


def client() -> QuicConfiguration:
    """The client's configuration, which trusts the server's certificate."""
    configuration = QuicConfiguration(is_client=True, alpn_protocols=["bulk"], server_name="call.sink")
    configuration.load_verify_locations(str(HERE / "cert.pem"))
    return configuration


def server() -> QuicConfiguration:
    """The server's configuration, with the Ed25519 certificate."""
    configuration = QuicConfiguration(is_client=False, alpn_protocols=["bulk"])
    configuration.load_cert_chain(HERE / "cert.pem", HERE / "key.pem")
    return configuration
