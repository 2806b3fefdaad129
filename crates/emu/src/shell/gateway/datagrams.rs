//! UDP relay: forwards each datagram, and sends responses from the original destination address.

use super::frame::Burst;
use super::shared::{GatewayContext, SocketKind};
use crate::sys::clock::{Interest, monotonic_ns};
use crate::sys::fds::transparent_socket;
use nix::sys::socket::{SockaddrStorage, connect};
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::rc::Rc;

/// UDP flows, by outside descriptor.
#[derive(Default)]
pub struct Datagrams {
    flows: BTreeMap<i32, Flow>,
    /// Transparent sockets that send the responses, by the address that responds.
    answering: BTreeMap<SocketAddr, Rc<UdpSocket>>,
}

struct Flow {
    from: SocketAddr,
    to: SocketAddr,
    outside: UdpSocket,
    answering: Rc<UdpSocket>,
    used_ns: u64,
}

impl Datagrams {
    /// Forwards the datagrams of `frame` to the outside.
    pub fn carry(&mut self, burst: Burst<'_>, frame: &[u8], shared: &mut GatewayContext<'_>) {
        let Burst { from, to, payloads } = burst;
        let known = self.flows.iter().find(|(_, flow)| (flow.from, flow.to) == (from, to)).map(|(&fd, _)| fd);
        let fd = match known.map_or_else(|| self.open(from, to, shared), Ok) {
            Ok(fd) => fd,
            // A program of this namespace has bound the port: its kernel delivers the frame.
            Err(e) if e.raw_os_error() == Some(libc::EADDRINUSE) => return shared.inject(frame),
            Err(_) => return,
        };
        let Some(flow) = self.flows.get_mut(&fd) else { return };
        flow.used_ns = monotonic_ns();
        for payload in payloads.iter() {
            let _ = flow.outside.send(payload);
        }
    }

    /// Forwards responses to the inside.
    pub fn on_readable(&mut self, fd: i32, _shared: &mut GatewayContext<'_>) {
        let Some(flow) = self.flows.get_mut(&fd) else { return };
        flow.used_ns = monotonic_ns();
        let mut room = [0; 1 << 16];
        for _ in 0..TURNS {
            // No datagram left, or the ICMP error of an earlier one; epoll is level-triggered, so nothing is missed.
            let Ok(length) = flow.outside.recv(&mut room) else { return };
            let _ = flow.answering.send_to(&room[..length], flow.from);
        }
    }

    fn open(&mut self, from: SocketAddr, to: SocketAddr, shared: &mut GatewayContext<'_>) -> io::Result<i32> {
        self.close_idle(shared);
        let answering = match self.answering.get(&to) {
            Some(socket) => socket.clone(),
            None => {
                let socket = Rc::new(UdpSocket::from(transparent_socket(to)?));
                self.answering.insert(to, socket.clone());
                socket
            }
        };
        let outside = shared.translate(to, SocketKind::Datagrams);
        let socket = shared.sockets.socket(SocketKind::Datagrams, outside.ip())?;
        connect(socket.as_raw_fd(), &SockaddrStorage::from(outside))?;
        let fd = socket.as_raw_fd();
        shared.poll.add(socket.as_fd(), 2 * fd as u64, Interest::READ)?;
        let flow = Flow { from, to, outside: socket.into(), answering, used_ns: monotonic_ns() };
        self.flows.insert(fd, flow);
        Ok(fd)
    }

    /// Closes idle flows, and the longest idle flow if there are [`MAX_FLOWS`].
    fn close_idle(&mut self, shared: &mut GatewayContext<'_>) {
        let now = monotonic_ns();
        let oldest = self.flows.values().map(|flow| flow.used_ns).min().filter(|_| self.flows.len() >= MAX_FLOWS);
        self.flows.retain(|_, flow| {
            let keep = now - flow.used_ns < IDLE_NS && Some(flow.used_ns) != oldest;
            if !keep {
                let _ = shared.poll.remove(flow.outside.as_fd());
            }
            keep
        });
        self.answering.retain(|_, socket| Rc::strong_count(socket) > 1);
    }
}

/// Idle timeout of a flow (RFC 4787, REQ-5: at least two minutes).
const IDLE_NS: u64 = 120_000_000_000;

const MAX_FLOWS: usize = 256;

/// Maximum datagrams per turn of one flow.
const TURNS: usize = 64;
