//! Gateway: connects programs inside a shell to hosts beyond this machine, without changes to its routes or firewall.
//!
//! Every address is local in the gateway process's network namespace. Packets of a shell to other hosts are
//! delivered there: the TCP connection terminates in that namespace, as at a server, and the gateway relays its bytes
//! over an ordinary connection of this machine. It connects to the destination before it passes the SYN to the kernel,
//! so a refusal outside becomes a refusal inside. UDP datagrams are forwarded one by one.
//!
//! No address translation: it needs the machine's firewall and forwarding, which a user may not switch on and root
//! should not have to undo.
//!
//! A separate socket process, which stays in the namespace that started the shell, opens the sockets outside: the
//! gateway may not return from its user namespace.

mod datagrams;
mod frame;
mod shared;
mod streams;

use super::endpoint::{Endpoint, EndpointConfig};
use crate::Error;
use crate::sys::clock::{Interest, Poll};
use crate::sys::fds::Channel;
use crate::sys::namespace::{enlarge_windows, new_network};
use crate::sys::netlink::{Netlink, Route, RouteKind};
use crate::sys::process;
use crate::sys::tun::Tun;
use datagrams::Datagrams;
pub use frame::{Frame, PacketSummary};
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getpid};
pub use shared::AddressMap;
use shared::{GatewayContext, STREAM, SocketFactory, serve};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::AsFd;
use streams::Streams;

/// Configuration of the gateway process.
pub struct GatewayConfig {
    /// From the shell: frames with TCP SYNs and UDP datagrams.
    frames: Channel,
    /// To the socket process.
    sockets: SocketFactory,
    addresses: AddressMap,
}

impl GatewayConfig {
    /// Starts the socket process in the current network namespace. Returns the shell's end of the frame channel, the
    /// configuration, and the PID of the socket process.
    pub fn prepare(addresses: AddressMap) -> io::Result<(Channel, Self, Pid)> {
        let (shell, frames) = Channel::pair()?;
        let (channel, child_end) = Channel::pair()?;
        let me = getpid();
        let pid = process::spawn(move || {
            let _ = process::follow_parent(me, Signal::SIGKILL);
            serve(&child_end);
            0
        })?;
        Ok((shell, Self { frames, sockets: SocketFactory::over(channel), addresses }, pid))
    }

    /// Starts the gateway in a new network namespace. The first message on the shell's end of the channel passes the
    /// device that leads to it.
    pub fn spawn_in_namespace(self, mtu: u32, cc: Option<&str>) -> io::Result<Pid> {
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
            if sent.is_ok() { self.run_process(&end.tun) } else { 1 }
        })
    }

    /// Starts the gateway in the current network namespace; `tun` is the device to the shell.
    pub fn spawn_in_place(self, tun: &Tun) -> io::Result<Pid> {
        take_every_address()?;
        let me = getpid();
        process::spawn(move || {
            let _ = process::follow_parent(me, Signal::SIGKILL);
            self.run_process(tun)
        })
    }

    fn make_end(&self, mtu: u32, cc: Option<&str>) -> Result<Endpoint, Error> {
        let no = |e: io::Error| Error::Machine(format!("gateway: {e}"));
        new_network(false).map_err(no)?;
        enlarge_windows();
        let block = self.addresses.block;
        let addresses = [(block.name_server(), block.v4().1), (block.name_server6(), block.v6().1)];
        let site = EndpointConfig { name: "sojourn", mtu, addresses, reaches: block.tree_prefixes(), cc };
        let end = site.make()?;
        let mut netlink = Netlink::open().map_err(no)?;
        netlink.index("lo").and_then(|lo| netlink.set_up(lo, None)).map_err(no)?;
        take_every_address().map_err(no)?;
        Ok(end)
    }

    fn run_process(self, tun: &Tun) -> i32 {
        // Ends when the shell closes the channel, or by the parent-death signal.
        i32::from(Gateway::new(self, tun).and_then(|mut gateway| gateway.run()).is_err())
    }
}

/// Makes every address local in the current network namespace.
fn take_every_address() -> io::Result<()> {
    let mut netlink = Netlink::open()?;
    let index = netlink.index("lo")?;
    let everything = |to: IpAddr| Route { kind: RouteKind::Local, ..Route::to((to, 0), index) };
    netlink.add_route(&everything(Ipv4Addr::UNSPECIFIED.into()))?;
    // Fails on a machine without IPv6, which needs no such route.
    let _ = netlink.add_route(&everything(Ipv6Addr::UNSPECIFIED.into()));
    Ok(())
}

struct Gateway<'a> {
    frames: Channel,
    shared: GatewayContext<'a>,
    streams: Streams,
    datagrams: Datagrams,
}

impl<'a> Gateway<'a> {
    fn new(config: GatewayConfig, tun: &'a Tun) -> io::Result<Self> {
        let GatewayConfig { frames, sockets, addresses } = config;
        let poll = Poll::new()?;
        poll.add(frames.as_fd(), FRAMES, Interest::READ)?;
        let shared = GatewayContext { poll, sockets, tun, addresses };
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
                    token if token % 2 == STREAM => self.streams.on_ready((token / 2) as i32, &mut self.shared),
                    token => self.datagrams.on_readable((token / 2) as i32, &mut self.shared),
                }
            }
        }
    }

    fn open(&mut self, bytes: &[u8]) {
        match Frame::parse(bytes) {
            Some(Frame::Syn { from, to }) => self.streams.open(from, to, bytes, &mut self.shared),
            Some(Frame::Datagrams(burst)) => self.datagrams.carry(burst, bytes, &mut self.shared),
            None => {}
        }
    }
}

const FRAMES: u64 = 1 << 40;
