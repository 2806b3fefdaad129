//! Statistics of the TCP connections of a network namespace, by `NETLINK_SOCK_DIAG` (`linux/inet_diag.h`,
//! `linux/tcp.h`).

use super::netlink::{Message, Netlink, Prefix, find, u32_at};
use nix::sys::socket::SockProtocol;
use std::io;
use std::net::IpAddr;

/// A TCP connection, from its sender's `struct tcp_info`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Connection {
    /// Socket cookie (`SO_COOKIE`).
    pub cookie: u64,
    /// Local port.
    pub port: u16,
    /// Smoothed round-trip time in microseconds.
    pub rtt_us: u32,
    /// Bytes acknowledged (`tcpi_bytes_acked`).
    pub acked: u64,
    /// Microseconds with data to send or in flight (`tcpi_busy_time`).
    pub busy_us: u64,
    /// Microseconds of `busy_us` limited by the send buffer (`tcpi_sndbuf_limited`).
    pub buffer_us: u64,
}

/// A netlink socket that lists the connections of its network namespace.
#[derive(Debug)]
pub struct Connections(Netlink);

impl Connections {
    /// Opens the socket in the current network namespace.
    pub fn open() -> io::Result<Self> {
        Netlink::open_for(SockProtocol::NetlinkSockDiag).map(Self)
    }

    /// The connections to addresses in `prefixes`, including IPv4 connections of dual-stack sockets.
    pub fn list_to(&mut self, prefixes: &[Prefix]) -> io::Result<Vec<Connection>> {
        let mut found = Vec::new();
        for &(address, bits) in prefixes {
            let families: &[i32] = if address.is_ipv4() { &[libc::AF_INET, libc::AF_INET6] } else { &[libc::AF_INET6] };
            for &family in families {
                found.extend(self.0.request(request(family, address, bits))?.iter().filter_map(|body| read(body)));
            }
        }
        Ok(found)
    }
}

/// Dump request for the connections of a family to a prefix; the kernel filters them by a bytecode program.
fn request(family: i32, to: IpAddr, bits: u8) -> Message {
    let mut message = Message::new(SOCK_DIAG_BY_FAMILY, libc::NLM_F_DUMP as u16);
    let mut body = [0; 56];
    (body[0], body[1], body[2]) = (family as u8, libc::IPPROTO_TCP as u8, 1 << (INFO - 1));
    body[4..8].copy_from_slice(&OPEN.to_ne_bytes());
    let (own, octets) = match to {
        IpAddr::V4(to) => (libc::AF_INET, to.octets().to_vec()),
        IpAddr::V6(to) => (libc::AF_INET6, to.octets().to_vec()),
    };
    // One condition with its address; if it fails, the jump past the end of the program rejects the connection.
    let length = 4 + 8 + octets.len();
    let mut filter = vec![DESTINATION, length as u8];
    filter.extend((length as u16 + 4).to_ne_bytes());
    filter.extend([own as u8, bits, 0, 0]);
    filter.extend((-1i32).to_ne_bytes());
    filter.extend(octets);
    message.body(&body).attribute(BYTECODE, &filter);
    message
}

/// Parses a response: `struct inet_diag_msg` with `struct tcp_info` among its attributes.
fn read(body: &[u8]) -> Option<Connection> {
    let info = find(body, 72, INFO)?;
    let long = |at: usize| Some(u64::from_ne_bytes(info.get(at..at + 8)?.try_into().ok()?));
    Some(Connection {
        cookie: u64::from(u32_at(body, 44)?) | u64::from(u32_at(body, 48)?) << 32,
        port: u16::from_be_bytes(body.get(4..6)?.try_into().ok()?),
        rtt_us: u32_at(info, 68)?,
        acked: long(120)?,
        busy_us: long(168)?,
        buffer_us: long(184)?,
    })
}

const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// INET_DIAG_REQ_BYTECODE, INET_DIAG_BC_D_COND and INET_DIAG_INFO.
const BYTECODE: u16 = 1;
const DESTINATION: u8 = 8;
const INFO: u16 = 2;
/// ESTABLISHED, FIN_WAIT1, FIN_WAIT2 and CLOSE_WAIT (`include/net/tcp_states.h`): the states of a sender with data.
const OPEN: u32 = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 8;

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    #[test]
    fn only_connections_to_the_range_are_told() {
        let listener = TcpListener::bind((Ipv4Addr::new(127, 0, 0, 77), 0)).unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.write_all(&[1; 5000]).unwrap();
        server.read_exact(&mut [0; 5000]).unwrap();
        let mut connections = Connections::open().unwrap();
        let mut to = |text: &str, bits| connections.list_to(&[(text.parse().unwrap(), bits)]).unwrap();
        let ports = |found: Vec<Connection>| found.iter().map(|connection| connection.port).collect::<Vec<_>>();
        let port = client.local_addr().unwrap().port();
        assert_eq!(ports(to("127.0.0.77", 32)), [port]);
        assert!(ports(to("127.0.0.64", 26)).contains(&port));
        assert_eq!(ports(to("127.0.0.78", 32)), Vec::<u16>::new());
        assert!(!ports(to("::1", 128)).contains(&port));
        assert!(to("127.0.0.77", 32)[0].acked >= 5000);
    }
}
