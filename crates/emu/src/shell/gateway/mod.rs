//! Connections from inside a shell to beyond this machine, without a change to its routes or its firewall.
//!
//! A process of its own has a network namespace that takes every address for its own. What a shell sends to other
//! machines is delivered there: TCP ends in that kernel, as at any server, and the gateway carries the bytes on over an
//! ordinary connection of this machine. Before it lets the first segment of a connection pass, it connects to where
//! that segment goes; so a refusal inside is one outside. Datagrams are carried one by one.
//!
//! The sockets on the other side are made by the porter, a process that stays where the shell was started: the
//! gateway's user namespace may not allow it to go back.

mod datagrams;
mod frame;
mod streams;

use super::address::Block;
use super::end::{End, Site};
use crate::Error;
use crate::sys::clock::{Interest, Poll};
use crate::sys::fds::Channel;
use crate::sys::namespace::{enlarge_windows, new_network};
use crate::sys::netlink::{Netlink, Route};
use crate::sys::process;
use crate::sys::tun::Tun;
use datagrams::Datagrams;
pub use frame::{Frame, Outline};
use nix::sys::signal::Signal;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use nix::unistd::{Pid, getpid};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use streams::Streams;

/// What the gateway's process is started with.
pub struct Seat {
    /// From the shell: the frames that open something.
    frames: Channel,
    /// To the porter.
    porter: Porter,
    addresses: Addresses,
}

/// Which address represents which.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    /// The shell's own.
    pub block: Block,
    /// Whether the machine itself is to be reached through the gateway, at `$SOJOURN_HOST`.
    pub machine: bool,
    /// Addresses of the machine of both families that other machines have for it, where it has any.
    pub own: [Option<IpAddr>; 2],
    /// The name server behind [`Block::name_server`], where the machine has its own at a loopback address.
    pub name_server: Option<IpAddr>,
}

/// The way to a process that makes sockets where the shell was started.
pub struct Porter {
    channel: Channel,
}

/// What the porter makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// For a connection.
    Stream,
    /// For datagrams.
    Datagrams,
}

impl Seat {
    /// Starts the porter in the present network namespace; the shell's end of the channel, and the rest.
    pub fn prepare(addresses: Addresses) -> io::Result<(Channel, Self, Pid)> {
        let (shell, frames) = Channel::pair()?;
        let (channel, theirs) = Channel::pair()?;
        let me = getpid();
        let pid = process::spawn(move || {
            let _ = process::follow_parent(me, Signal::SIGKILL);
            serve(&theirs);
            0
        })?;
        Ok((shell, Self { frames, porter: Porter { channel }, addresses }, pid))
    }

    /// Starts the gateway in a network namespace of its own; the device that leads to it comes with the first message
    /// to the shell's end of the channel.
    pub fn spawn_apart(self, mtu: u32, cc: Option<&str>) -> io::Result<Pid> {
        let me = getpid();
        process::spawn(move || {
            let _ = process::follow_parent(me, Signal::SIGKILL);
            let end = match self.make_end(mtu, cc) {
                Ok(end) => end,
                Err(error) => {
                    let _ = self.frames.send(error.to_string().as_bytes(), &[], false);
                    return 1;
                }
            };
            let index = end.index.to_ne_bytes();
            let sent = self.frames.send(&index, &[end.tun.as_fd(), end.netlink.as_fd()], false);
            if sent.is_ok() { self.work(&end.tun) } else { 1 }
        })
    }

    /// Starts the gateway in the present network namespace, to which `tun` leads.
    pub fn spawn_here(self, tun: &Tun) -> io::Result<Pid> {
        take_every_address()?;
        let me = getpid();
        process::spawn(move || {
            let _ = process::follow_parent(me, Signal::SIGKILL);
            self.work(tun)
        })
    }

    fn make_end(&self, mtu: u32, cc: Option<&str>) -> Result<End, Error> {
        let no = |e: io::Error| Error::Machine(format!("gateway: {e}"));
        new_network(false).map_err(no)?;
        enlarge_windows();
        let block = self.addresses.block;
        let addresses = [(block.name_server(), block.v4().1), (block.name_server6(), block.v6().1)];
        let site = Site { name: "sojourn", mtu, addresses, reaches: block.tree_prefixes(), cc };
        let end = site.make()?;
        let mut netlink = Netlink::open().map_err(no)?;
        netlink.index("lo").and_then(|lo| netlink.up(lo, None)).map_err(no)?;
        take_every_address().map_err(no)?;
        Ok(end)
    }

    fn work(self, tun: &Tun) -> i32 {
        // Its end is that of the shell, or of the process that started it.
        i32::from(Gateway::new(self, tun).and_then(|mut gateway| gateway.run()).is_err())
    }
}

/// The present network namespace takes what is for nobody it knows.
fn take_every_address() -> io::Result<()> {
    let mut netlink = Netlink::open()?;
    let index = netlink.index("lo")?;
    netlink.add_route((Ipv4Addr::UNSPECIFIED.into(), 0), index, Route::Local, None, None)?;
    // A machine without IPv6 has no such routes.
    let _ = netlink.add_route((Ipv6Addr::UNSPECIFIED.into(), 0), index, Route::Local, None, None);
    Ok(())
}

struct Gateway<'a> {
    frames: Channel,
    shared: Shared<'a>,
    streams: Streams,
    datagrams: Datagrams,
}

/// What streams and datagrams both need.
struct Shared<'a> {
    poll: Poll,
    porter: Porter,
    tun: &'a Tun,
    addresses: Addresses,
}

impl<'a> Gateway<'a> {
    fn new(seat: Seat, tun: &'a Tun) -> io::Result<Self> {
        let Seat { frames, porter, addresses } = seat;
        let poll = Poll::new()?;
        poll.add(frames.as_fd(), FRAMES, Interest::READ)?;
        let shared = Shared { poll, porter, tun, addresses };
        Ok(Self { frames, shared, streams: Streams::default(), datagrams: Datagrams::default() })
    }

    fn run(&mut self) -> io::Result<()> {
        let mut room = vec![0; 1 << 17];
        let mut ready = Vec::new();
        loop {
            self.shared.poll.wait(None, &mut ready)?;
            for &token in &ready {
                match token {
                    FRAMES => {
                        let (length, _) = self.frames.receive(&mut room)?;
                        if length == 0 {
                            return Ok(());
                        }
                        self.open(&room[..length]);
                    }
                    token if token % 2 == STREAM => self.streams.on((token / 2) as i32, &mut self.shared),
                    token => self.datagrams.on((token / 2) as i32, &mut self.shared),
                }
            }
        }
    }

    fn open(&mut self, bytes: &[u8]) {
        match Frame::parse(bytes) {
            Some(Frame::Syn { from, to }) => self.streams.open(from, to, bytes, &mut self.shared),
            Some(Frame::Datagrams { from, to, payloads }) => {
                self.datagrams.carry(from, to, payloads, bytes, &mut self.shared);
            }
            None => {}
        }
    }
}

impl Shared<'_> {
    /// Where a destination inside lies outside.
    fn outside(&self, to: SocketAddr, wanted: Wanted) -> SocketAddr {
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
    fn let_pass(&self, frame: &[u8]) {
        let _ = self.tun.write(&[io::IoSlice::new(frame)]);
    }
}

/// Where the servers of this machine are reached that listen on all addresses, and not those at its loopback address
/// alone, as from a shell of root's.
fn machine([own, own6]: [Option<IpAddr>; 2], is_ipv4: bool, wanted: Wanted) -> IpAddr {
    match (is_ipv4, wanted) {
        (true, Wanted::Stream) => BESIDE_LOCALHOST.into(),
        // An answer has the address that the kernel chooses, which is the first loopback address for every other one.
        (true, Wanted::Datagrams) => own.unwrap_or(Ipv4Addr::LOCALHOST.into()),
        (false, Wanted::Stream) => own6.unwrap_or(BESIDE_LOCALHOST.to_ipv6_mapped().into()),
        (false, Wanted::Datagrams) => own6.unwrap_or(Ipv6Addr::LOCALHOST.into()),
    }
}

impl Porter {
    /// A socket for `address` that does not block.
    fn socket(&self, wanted: Wanted, address: IpAddr) -> io::Result<OwnedFd> {
        let request = [u8::from(wanted == Wanted::Stream), u8::from(address.is_ipv4())];
        self.channel.send(&request, &[], false)?;
        let mut answer = [0; 4];
        let (_, fds) = self.channel.receive(&mut answer)?;
        fds.into_iter().next().ok_or_else(|| io::Error::from_raw_os_error(i32::from_ne_bytes(answer)))
    }
}

/// The porter's work.
fn serve(gateway: &Channel) {
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

const FRAMES: u64 = 1 << 40;

/// An address of the machine as good as any, but one at which nobody listens alone.
const BESIDE_LOCALHOST: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// Tokens of descriptors: twice their number, plus one for streams.
const STREAM: u64 = 1;
