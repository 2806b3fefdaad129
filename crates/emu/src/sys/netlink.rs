//! Addresses, routes and devices of a network namespace through rtnetlink (`linux/rtnetlink.h`).

use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send, socket,
};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// A netlink socket. It belongs to the network namespace that opened it, even if another process uses it.
#[derive(Debug)]
pub struct Netlink {
    fd: OwnedFd,
    sequence: u32,
}

/// An address prefix: first address and prefix length in bits.
pub type Prefix = (IpAddr, u8);

/// Type of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteKind {
    /// RTN_UNICAST: forwards packets to a device.
    Device,
    /// RTN_LOCAL: delivers packets to this host.
    Local,
}

/// A route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route<'a> {
    /// Destination prefix.
    pub to: Prefix,
    /// Interface index of its device.
    pub index: u32,
    /// Its type.
    pub kind: RouteKind,
    /// Preferred source address (RTA_PREFSRC).
    pub source: Option<IpAddr>,
    /// TCP congestion control along it (RTAX_CC_ALGO), instead of the namespace's default. EINVAL if unknown.
    pub cc: Option<&'a str>,
}

impl Route<'_> {
    /// A unicast route to a device, without options.
    pub fn to(to: Prefix, index: u32) -> Self {
        Self { to, index, kind: RouteKind::Device, source: None, cc: None }
    }
}

/// Packets lost in a TUN device (`struct rtnl_link_stats64`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Sent by the kernel and dropped before they were read, because the device's queue was full.
    pub sent: u64,
    /// Written to the device and dropped by the kernel.
    pub written: u64,
}

impl Netlink {
    /// Opens a socket in the current network namespace.
    pub fn open() -> io::Result<Self> {
        Self::open_for(SockProtocol::NetlinkRoute)
    }

    /// Opens a socket of another netlink family.
    pub(super) fn open_for(protocol: SockProtocol) -> io::Result<Self> {
        let fd = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol)?;
        bind(fd.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        Ok(Self::from_fd(fd))
    }

    /// Wraps a descriptor received from another process.
    pub fn from_fd(fd: OwnedFd) -> Self {
        Self { fd, sequence: 0 }
    }

    /// Interface index of the device `name`.
    pub fn index(&mut self, name: &str) -> io::Result<u32> {
        let mut message = Message::new(libc::RTM_GETLINK, 0);
        message.body(&[0; 16]).attribute(libc::IFLA_IFNAME, &zero_ended(name));
        let answer = self.request(message)?;
        let index = answer.first().and_then(|link| u32_at(link, 4));
        index.ok_or_else(|| io::Error::from_raw_os_error(libc::ENODEV))
    }

    /// Brings a device up. With `shape` (MTU, transmit queue length), first sets these and turns off automatic IPv6
    /// link-local addresses.
    pub fn set_up(&mut self, index: u32, shape: Option<(u32, u32)>) -> io::Result<()> {
        if let Some((mtu, queue)) = shape {
            let mut message = Message::new(libc::RTM_SETLINK, libc::NLM_F_ACK as u16);
            message.body(&link_body(index, 0));
            message.attribute(libc::IFLA_MTU, &mtu.to_ne_bytes());
            message.attribute(libc::IFLA_TXQLEN, &queue.to_ne_bytes());
            self.request(message)?;
            // Fails on a kernel without IPv6, which assigns no addresses anyway.
            let mut message = Message::new(libc::RTM_SETLINK, libc::NLM_F_ACK as u16);
            let mode = attribute(ADDR_GEN_MODE, &[ADDR_GEN_NONE]);
            message.body(&link_body(index, 0)).attribute(AF_SPEC, &attribute(libc::AF_INET6 as u16, &mode));
            let _ = self.request(message);
        }
        let mut message = Message::new(libc::RTM_SETLINK, libc::NLM_F_ACK as u16);
        message.body(&link_body(index, libc::IFF_UP as u32));
        self.request(message).map(|_| ())
    }

    /// Adds the point-to-point address `own` with `peer` to a device, without a prefix route.
    pub fn add_address(&mut self, index: u32, own: IpAddr, peer: IpAddr) -> io::Result<()> {
        let flags = (libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL) as u16;
        let mut message = Message::new(libc::RTM_NEWADDR, flags);
        let mut body = [0; 8];
        (body[0], body[1]) = (family(own), bits(own));
        body[4..8].copy_from_slice(&index.to_ne_bytes());
        message.body(&body);
        message.attribute(libc::IFA_LOCAL, &octets(own));
        message.attribute(libc::IFA_ADDRESS, &octets(peer));
        message.attribute(
            libc::IFA_FLAGS,
            &(libc::IFA_F_NODAD | libc::IFA_F_PERMANENT | libc::IFA_F_NOPREFIXROUTE).to_ne_bytes(),
        );
        self.request(message).map(|_| ())
    }

    /// Adds a route to the main table.
    pub fn add_route(&mut self, route: &Route<'_>) -> io::Result<()> {
        let flags = (libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL) as u16;
        self.route(libc::RTM_NEWROUTE, flags, route)
    }

    /// Removes a route to a device.
    pub fn remove_route(&mut self, to: Prefix, index: u32) -> io::Result<()> {
        self.route(libc::RTM_DELROUTE, libc::NLM_F_ACK as u16, &Route::to(to, index))
    }

    /// Destinations of the routes in all tables, except default routes.
    pub fn route_destinations(&mut self) -> io::Result<Vec<Prefix>> {
        let mut message = Message::new(libc::RTM_GETROUTE, libc::NLM_F_DUMP as u16);
        message.body(&[0; 12]);
        let routes = self.request(message)?;
        let prefix = |route: &Vec<u8>| Some((address(find(route, 12, libc::RTA_DST)?)?, *route.get(1)?));
        Ok(routes.iter().filter_map(prefix).collect())
    }

    /// Addresses of all devices of the namespace.
    pub fn addresses(&mut self) -> io::Result<Vec<IpAddr>> {
        let mut message = Message::new(libc::RTM_GETADDR, libc::NLM_F_DUMP as u16);
        message.body(&[0; 8]);
        let found = self.request(message)?;
        let own =
            |entry: &Vec<u8>| address(find(entry, 8, libc::IFA_LOCAL).or_else(|| find(entry, 8, libc::IFA_ADDRESS))?);
        Ok(found.iter().filter_map(own).collect())
    }

    /// Packets that a device has lost since its creation.
    pub fn losses(&mut self, index: u32) -> io::Result<Losses> {
        let mut message = Message::new(libc::RTM_GETLINK, 0);
        message.body(&link_body(index, 0));
        let answer = self.request(message)?;
        let stats = answer.first().and_then(|link| find(link, 16, libc::IFLA_STATS64));
        let field = |i: usize| stats.and_then(|s| s.get(8 * i..8 * i + 8)).and_then(|s| s.try_into().ok());
        let count = |i| field(i).map_or(0, u64::from_ne_bytes);
        // struct rtnl_link_stats64: …, rx_errors, tx_errors, rx_dropped, tx_dropped, …
        Ok(Losses { sent: count(5) + count(7), written: count(6) })
    }

    fn route(&mut self, message_type: u16, flags: u16, route: &Route<'_>) -> io::Result<()> {
        let &Route { to: (to, length), index, kind, source, cc } = route;
        let mut message = Message::new(message_type, flags);
        let (kind, scope) = match kind {
            RouteKind::Device => (libc::RTN_UNICAST, libc::RT_SCOPE_LINK),
            RouteKind::Local => (libc::RTN_LOCAL, libc::RT_SCOPE_HOST),
        };
        let protocol = libc::RTPROT_STATIC;
        message.body(&[family(to), length, 0, 0, libc::RT_TABLE_MAIN, protocol, scope, kind, 0, 0, 0, 0]);
        message.attribute(libc::RTA_DST, &octets(to));
        message.attribute(libc::RTA_OIF, &index.to_ne_bytes());
        if let Some(source) = source {
            message.attribute(libc::RTA_PREFSRC, &octets(source));
        }
        if let Some(cc) = cc {
            message.attribute(libc::RTA_METRICS, &attribute(CONGESTION_CONTROL, &zero_ended(cc)));
        }
        self.request(message).map(|_| ())
    }

    /// Sends a request and collects the bodies of the responses. An NLMSG_ERROR response is returned as an error.
    pub(super) fn request(&mut self, message: Message) -> io::Result<Vec<Vec<u8>>> {
        self.sequence += 1;
        let several = message.flags & libc::NLM_F_DUMP as u16 == libc::NLM_F_DUMP as u16;
        send(self.fd.as_raw_fd(), &message.finish(self.sequence), MsgFlags::empty())?;
        let mut bodies = Vec::new();
        let mut room = vec![0; 1 << 16];
        loop {
            let length = recv(self.fd.as_raw_fd(), &mut room, MsgFlags::empty())?;
            let mut rest = &room[..length];
            while let (Some(size), Some(kind), Some(sequence)) = (u32_at(rest, 0), u32_at(rest, 4), u32_at(rest, 8)) {
                let size = (size as usize).clamp(HEADER, rest.len().max(HEADER));
                let body = rest.get(HEADER..size).unwrap_or(&[]);
                // Responses to an earlier request that returned early may still be queued.
                let is_current = sequence == self.sequence;
                match i32::from((kind & 0xffff) as u16) {
                    _ if !is_current => {}
                    libc::NLMSG_ERROR => {
                        let errno = u32_at(body, 0).unwrap_or(0) as i32;
                        return if errno == 0 { Ok(bodies) } else { Err(io::Error::from_raw_os_error(-errno)) };
                    }
                    libc::NLMSG_DONE => return Ok(bodies),
                    _ => bodies.push(body.to_vec()),
                }
                rest = rest.get(size.next_multiple_of(4)..).unwrap_or(&[]);
            }
            if !several && !bodies.is_empty() {
                return Ok(bodies);
            }
        }
    }
}

impl AsFd for Netlink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A request under construction.
pub(super) struct Message {
    bytes: Vec<u8>,
    flags: u16,
}

impl Message {
    pub(super) fn new(kind: u16, flags: u16) -> Self {
        let flags = flags | libc::NLM_F_REQUEST as u16;
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        Self { bytes, flags }
    }

    pub(super) fn body(&mut self, body: &[u8]) -> &mut Self {
        self.bytes.extend(body);
        self
    }

    pub(super) fn attribute(&mut self, kind: u16, value: &[u8]) -> &mut Self {
        self.bytes.extend(attribute(kind, value));
        self
    }

    fn finish(mut self, sequence: u32) -> Vec<u8> {
        let length = self.bytes.len() as u32;
        self.bytes[0..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.bytes
    }
}

/// Encodes an attribute (`struct rtattr`), padded to four bytes.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(4 + value.len());
    bytes.extend((4 + value.len() as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// `struct ifinfomsg` that sets `flags`.
fn link_body(index: u32, flags: u32) -> [u8; 16] {
    let mut body = [0; 16];
    body[4..8].copy_from_slice(&index.to_ne_bytes());
    body[8..12].copy_from_slice(&flags.to_ne_bytes());
    body[12..16].copy_from_slice(&flags.to_ne_bytes());
    body
}

/// Value of the first attribute of type `kind`, after a header of `head` bytes.
pub(super) fn find(body: &[u8], head: usize, kind: u16) -> Option<&[u8]> {
    let mut rest = body.get(head..)?;
    loop {
        let (size, found) = (u16_at(rest, 0)? as usize, u16_at(rest, 2)?);
        let value = rest.get(4..size)?;
        if found == kind {
            return Some(value);
        }
        rest = rest.get(size.next_multiple_of(4)..)?;
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let four: Result<[u8; 4], _> = bytes.try_into();
    let sixteen: Result<[u8; 16], _> = bytes.try_into();
    four.map(|b| Ipv4Addr::from(b).into()).or_else(|_| sixteen.map(|b| Ipv6Addr::from(b).into())).ok()
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

fn family(address: IpAddr) -> u8 {
    if address.is_ipv4() { libc::AF_INET as u8 } else { libc::AF_INET6 as u8 }
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn zero_ended(name: &str) -> Vec<u8> {
    name.bytes().chain([0]).collect()
}

/// Size of `struct nlmsghdr` in bytes.
const HEADER: usize = 16;

/// RTAX_CC_ALGO. The default control of a namespace (`tcp_congestion_control`) must be one that the machine allows; a
/// route can name any.
const CONGESTION_CONTROL: u16 = 16;

/// IFLA_AF_SPEC, IFLA_INET6_ADDR_GEN_MODE and IN6_ADDR_GEN_MODE_NONE.
const AF_SPEC: u16 = 26;
const ADDR_GEN_MODE: u16 = 8;
const ADDR_GEN_NONE: u8 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_found_behind_others_and_padding() {
        let mut body = vec![9; 12];
        body.extend(attribute(7, &[1]));
        body.extend(attribute(1, &[192, 0, 2, 1]));
        assert_eq!(find(&body, 12, 1).and_then(address), Some("192.0.2.1".parse().unwrap()));
        assert_eq!(find(&body, 12, 7), Some(&[1][..]));
        assert_eq!(find(&body, 12, 2), None);
        assert_eq!(find(&body[..15], 12, 7), None, "cut off");
    }

    #[test]
    fn this_machine_has_a_loopback() {
        let mut netlink = Netlink::open().unwrap();
        assert_eq!(netlink.index("lo").unwrap(), 1);
        assert_eq!(netlink.index("no-such-device").unwrap_err().raw_os_error(), Some(libc::ENODEV));
        assert_eq!(netlink.losses(1).unwrap().written, 0);
    }
}
