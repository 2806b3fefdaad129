//! Shared by the TCP and UDP relays of the gateway: address translation and the process that opens sockets outside.

use crate::shell::address::AddressBlock;
use crate::sys::clock::Poll;
use crate::sys::fds::Channel;
use crate::sys::tun::Tun;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};

/// Translation of addresses inside to addresses outside.
#[derive(Clone, Copy, Debug)]
pub struct AddressMap {
    /// Addresses of the shell.
    pub block: AddressBlock,
    /// Whether the gateway leads to the machine itself, too, at `$SOJOURN_HOST`.
    pub machine: bool,
    /// IPv4 and IPv6 address of this machine for other hosts, if it has any.
    pub own: [Option<IpAddr>; 2],
    /// The name server behind [`AddressBlock::name_server`], if the machine's own has a loopback address.
    pub name_server: Option<IpAddr>,
}

/// Client of the process that opens sockets in the namespace that started the shell.
pub struct SocketFactory {
    channel: Channel,
}

/// Kind of socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketKind {
    /// TCP.
    Stream,
    /// UDP.
    Datagrams,
}

/// State shared by the TCP and UDP relays.
pub struct GatewayContext<'a> {
    /// Events of the gateway. The token of a socket is twice its descriptor, plus [`STREAM`] for TCP.
    pub poll: Poll,
    /// Opens sockets outside.
    pub sockets: SocketFactory,
    /// Device to the shell.
    pub tun: &'a Tun,
    /// Address translation.
    pub addresses: AddressMap,
}

impl GatewayContext<'_> {
    /// Translates a destination address inside to its address outside.
    pub fn translate(&self, to: SocketAddr, kind: SocketKind) -> SocketAddr {
        let (host, host6) = self.addresses.block.host();
        let ip = match (to.ip(), self.addresses.name_server) {
            (ip, Some(server)) if ip == self.addresses.block.name_server() => server,
            (ip, _) if self.addresses.machine && (ip == host || ip == host6) => {
                machine(self.addresses.own, ip.is_ipv4(), kind)
            }
            (ip, _) => ip,
        };
        SocketAddr::new(ip, to.port())
    }

    /// Passes a frame to the kernel of this namespace.
    pub fn inject(&self, frame: &[u8]) {
        let _ = self.tun.write(&[io::IoSlice::new(frame)]);
    }
}

/// Address of this machine that reaches servers listening on all addresses, but not those listening on 127.0.0.1 only,
/// as from root's shells.
fn machine([own, own6]: [Option<IpAddr>; 2], is_ipv4: bool, kind: SocketKind) -> IpAddr {
    match (is_ipv4, kind) {
        (true, SocketKind::Stream) => BESIDE_LOCALHOST.into(),
        // The kernel chooses the source address of a wildcard socket's response: 127.0.0.1 for any loopback address.
        // The connected socket outside would drop that.
        (true, SocketKind::Datagrams) => own.unwrap_or(Ipv4Addr::LOCALHOST.into()),
        // IPv6 has only one loopback address.
        (false, SocketKind::Stream) => own6.unwrap_or(BESIDE_LOCALHOST.to_ipv6_mapped().into()),
        (false, SocketKind::Datagrams) => own6.unwrap_or(Ipv6Addr::LOCALHOST.into()),
    }
}

impl SocketFactory {
    /// Client of the socket process at the other end of `channel`.
    pub fn over(channel: Channel) -> Self {
        Self { channel }
    }

    /// Opens a nonblocking socket of the address family of `address`.
    pub fn socket(&self, kind: SocketKind, address: IpAddr) -> io::Result<OwnedFd> {
        let request = [u8::from(kind == SocketKind::Stream), u8::from(address.is_ipv4())];
        self.channel.send(&request, &[], false)?;
        let mut answer = [0; 4];
        let (_, fds) = self.channel.receive(&mut answer)?;
        fds.into_iter().next().ok_or_else(|| io::Error::from_raw_os_error(i32::from_ne_bytes(answer)))
    }
}

/// Main loop of the socket process.
pub fn serve(gateway: &Channel) {
    let mut request = [0; 2];
    while let Ok((2, _)) = gateway.receive(&mut request) {
        let kind = if request[0] == 1 { SockType::Stream } else { SockType::Datagram };
        let family = if request[1] == 1 { AddressFamily::Inet } else { AddressFamily::Inet6 };
        let sent = match socket(family, kind, SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK, None) {
            Ok(fd) => gateway.send(&[0; 4], &[fd.as_fd()], false),
            Err(e) => gateway.send(&(e as i32).to_ne_bytes(), &[], false),
        };
        if sent.is_err() {
            return;
        }
    }
}

/// A loopback address other than 127.0.0.1. Servers at 127.0.0.1 do not listen here, so none that trusts its loopback
/// interface is exposed; root's shells cannot reach them either.
const BESIDE_LOCALHOST: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// Bit of a token that marks a TCP socket.
pub const STREAM: u64 = 1;
