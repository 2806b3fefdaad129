//! What streams and datagrams of the gateway both need: addresses, and the porter, which makes sockets outside.

use crate::shell::address::AddressBlock;
use crate::sys::clock::Poll;
use crate::sys::fds::Channel;
use crate::sys::tun::Tun;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};

/// Which address represents which.
#[derive(Clone, Copy, Debug)]
pub struct AddressMap {
    /// The shell's own.
    pub block: AddressBlock,
    /// Whether the machine itself is to be reached through the gateway, at `$SOJOURN_HOST`.
    pub machine: bool,
    /// Addresses of the machine of both families that other machines have for it, where it has any.
    pub own: [Option<IpAddr>; 2],
    /// The name server behind [`AddressBlock::name_server`], where the machine has its own at a loopback address.
    pub name_server: Option<IpAddr>,
}

/// The way to a process that makes sockets where the shell was started.
pub struct SocketFactory {
    channel: Channel,
}

/// What the porter makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketKind {
    /// For a connection.
    Stream,
    /// For datagrams.
    Datagrams,
}

/// What streams and datagrams both need.
pub struct GatewayContext<'a> {
    /// What the gateway waits for; tokens are twice the number of a descriptor, plus [`STREAM`] for streams.
    pub poll: Poll,
    /// Makes sockets outside.
    pub sockets: SocketFactory,
    /// Leads to the shell.
    pub tun: &'a Tun,
    /// Which address represents which.
    pub addresses: AddressMap,
}

impl GatewayContext<'_> {
    /// Where a destination inside lies outside.
    pub fn translate(&self, to: SocketAddr, wanted: SocketKind) -> SocketAddr {
        let (host, host6) = self.addresses.block.host();
        let ip = match (to.ip(), self.addresses.name_server) {
            (ip, Some(server)) if ip == self.addresses.block.name_server() => server,
            (ip, _) if self.addresses.machine && (ip == host || ip == host6) => {
                machine(self.addresses.own, ip.is_ipv4(), wanted)
            }
            (ip, _) => ip,
        };
        SocketAddr::new(ip, to.port())
    }

    /// Lets a frame pass to the kernel of this namespace.
    pub fn inject(&self, frame: &[u8]) {
        let _ = self.tun.write(&[io::IoSlice::new(frame)]);
    }
}

/// Where the servers of this machine are reached that listen on all addresses, and not those at its loopback address
/// alone, as from a shell of root's.
fn machine([own, own6]: [Option<IpAddr>; 2], is_ipv4: bool, wanted: SocketKind) -> IpAddr {
    match (is_ipv4, wanted) {
        (true, SocketKind::Stream) => BESIDE_LOCALHOST.into(),
        // An answer has the address that the kernel chooses, which is the first loopback address for every other one.
        (true, SocketKind::Datagrams) => own.unwrap_or(Ipv4Addr::LOCALHOST.into()),
        (false, SocketKind::Stream) => own6.unwrap_or(BESIDE_LOCALHOST.to_ipv6_mapped().into()),
        (false, SocketKind::Datagrams) => own6.unwrap_or(Ipv6Addr::LOCALHOST.into()),
    }
}

impl SocketFactory {
    /// The porter at the other end of `channel`.
    pub fn over(channel: Channel) -> Self {
        Self { channel }
    }

    /// A socket for `address` that does not block.
    pub fn socket(&self, wanted: SocketKind, address: IpAddr) -> io::Result<OwnedFd> {
        let request = [u8::from(wanted == SocketKind::Stream), u8::from(address.is_ipv4())];
        self.channel.send(&request, &[], false)?;
        let mut answer = [0; 4];
        let (_, fds) = self.channel.receive(&mut answer)?;
        fds.into_iter().next().ok_or_else(|| io::Error::from_raw_os_error(i32::from_ne_bytes(answer)))
    }
}

/// The porter's work.
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

/// A local address on which no server listens alone.
const BESIDE_LOCALHOST: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// Tokens of descriptors: twice their number, plus one for streams.
pub const STREAM: u64 = 1;
