//! Addresses, routes and devices of a network namespace, by rtnetlink (`linux/rtnetlink.h`).

use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send, socket,
};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// A socket to the network namespace in which it was opened, wherever its user is.
#[derive(Debug)]
pub struct Netlink {
    fd: OwnedFd,
    sequence: u32,
}

/// A range of addresses: the first and the length of the prefix.
pub type Prefix = (IpAddr, u8);

/// What a route does with packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteKind {
    /// Sends them to a device.
    Device,
    /// Takes them for this machine.
    Local,
}

/// A route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route<'a> {
    /// What it leads to.
    pub to: Prefix,
    /// Number of its device.
    pub index: u32,
    /// Where packets go.
    pub kind: RouteKind,
    /// The address from which this machine sends along it.
    pub source: Option<IpAddr>,
    /// TCP's congestion control along it, whatever the default of its namespace is; a name that the kernel does not know
    /// is an invalid argument.
    pub cc: Option<&'a str>,
}

impl Route<'_> {
    /// A route to a device, without more.
    pub fn to(to: Prefix, index: u32) -> Self {
        Self { to, index, kind: RouteKind::Device, source: None, cc: None }
    }
}

/// Packets that a device lost, as its kernel counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Sent by the kernel, not yet read, and no room.
    pub sent: u64,
    /// Written to the device and not taken.
    pub written: u64,
}

impl Netlink {
    /// Opens a socket in the present network namespace.
    pub fn open() -> io::Result<Self> {
        Self::open_for(SockProtocol::NetlinkRoute)
    }

    /// Opens a socket of another family of netlink.
    pub(super) fn open_for(protocol: SockProtocol) -> io::Result<Self> {
        let fd = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol)?;
        bind(fd.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        Ok(Self::from_fd(fd))
    }

    /// The socket of a descriptor that came from another process.
    pub fn from_fd(fd: OwnedFd) -> Self {
        Self { fd, sequence: 0 }
    }

    /// Number of the device called `name`.
    pub fn index(&mut self, name: &str) -> io::Result<u32> {
        let mut message = Message::new(libc::RTM_GETLINK, 0);
        message.body(&[0; 16]).attribute(libc::IFLA_IFNAME, &zero_ended(name));
        let answer = self.ask(message)?;
        let index = answer.first().and_then(|link| u32_at(link, 4));
        index.ok_or_else(|| io::Error::from_raw_os_error(libc::ENODEV))
    }

    /// Switches a device on; `mtu` and `queue` are set if given, its IPv6 has no addresses of its own accord.
    pub fn up(&mut self, index: u32, shape: Option<(u32, u32)>) -> io::Result<()> {
        if let Some((mtu, queue)) = shape {
            let mut message = Message::new(libc::RTM_SETLINK, libc::NLM_F_ACK as u16);
            message.body(&link_body(index, 0));
            message.attribute(libc::IFLA_MTU, &mtu.to_ne_bytes());
            message.attribute(libc::IFLA_TXQLEN, &queue.to_ne_bytes());
            self.ask(message)?;
            // A kernel without IPv6 refuses this, and needs it not.
            let mut message = Message::new(libc::RTM_SETLINK, libc::NLM_F_ACK as u16);
            let mode = attribute(ADDR_GEN_MODE, &[ADDR_GEN_NONE]);
            message.body(&link_body(index, 0)).attribute(AF_SPEC, &attribute(libc::AF_INET6 as u16, &mode));
            let _ = self.ask(message);
        }
        let mut message = Message::new(libc::RTM_SETLINK, libc::NLM_F_ACK as u16);
        message.body(&link_body(index, libc::IFF_UP as u32));
        self.ask(message).map(|_| ())
    }

    /// Gives a device the address `own` with `peer` at its other end; no route comes along.
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
        self.ask(message).map(|_| ())
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

    /// What the routes of all tables lead to, without the routes to everywhere.
    pub fn routed(&mut self) -> io::Result<Vec<Prefix>> {
        let mut message = Message::new(libc::RTM_GETROUTE, libc::NLM_F_DUMP as u16);
        message.body(&[0; 12]);
        let routes = self.ask(message)?;
        let prefix = |route: &Vec<u8>| Some((address(find(route, 12, libc::RTA_DST)?)?, *route.get(1)?));
        Ok(routes.iter().filter_map(prefix).collect())
    }

    /// The addresses of this machine.
    pub fn addresses(&mut self) -> io::Result<Vec<IpAddr>> {
        let mut message = Message::new(libc::RTM_GETADDR, libc::NLM_F_DUMP as u16);
        message.body(&[0; 8]);
        let found = self.ask(message)?;
        let own =
            |entry: &Vec<u8>| address(find(entry, 8, libc::IFA_LOCAL).or_else(|| find(entry, 8, libc::IFA_ADDRESS))?);
        Ok(found.iter().filter_map(own).collect())
    }

    /// What a device has lost since it was made.
    pub fn losses(&mut self, index: u32) -> io::Result<Losses> {
        let mut message = Message::new(libc::RTM_GETLINK, 0);
        message.body(&link_body(index, 0));
        let answer = self.ask(message)?;
        let stats = answer.first().and_then(|link| find(link, 16, libc::IFLA_STATS64));
        let field = |i: usize| stats.and_then(|s| s.get(8 * i..8 * i + 8)).and_then(|s| s.try_into().ok());
        let count = |i| field(i).map_or(0, u64::from_ne_bytes);
        // struct rtnl_link_stats64: …, rx_errors, tx_errors, rx_dropped, tx_dropped, …
        Ok(Losses { sent: count(5) + count(7), written: count(6) })
    }

    fn route(&mut self, what: u16, flags: u16, route: &Route<'_>) -> io::Result<()> {
        let &Route { to: (to, length), index, kind, source, cc } = route;
        let mut message = Message::new(what, flags);
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
        self.ask(message).map(|_| ())
    }

    /// Sends a message and collects the bodies of the answer; an answer that is an error is one.
    pub(super) fn ask(&mut self, message: Message) -> io::Result<Vec<Vec<u8>>> {
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
                let ours = sequence == self.sequence;
                match i32::from((kind & 0xffff) as u16) {
                    _ if !ours => {}
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

/// A request being written.
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

/// An attribute, padded to four bytes.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(4 + value.len());
    bytes.extend((4 + value.len() as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// struct ifinfomsg with `flags` to be switched on.
fn link_body(index: u32, flags: u32) -> [u8; 16] {
    let mut body = [0; 16];
    body[4..8].copy_from_slice(&index.to_ne_bytes());
    body[8..12].copy_from_slice(&flags.to_ne_bytes());
    body[12..16].copy_from_slice(&flags.to_ne_bytes());
    body
}

/// The value of the first attribute of `kind` behind a head of `head` bytes.
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

/// Bytes of struct nlmsghdr.
const HEADER: usize = 16;

/// RTAX_CC_ALGO.
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
