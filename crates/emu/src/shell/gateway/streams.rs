//! TCP relay: connects a connection inside with one outside.

use super::shared::{GatewayContext, STREAM, SocketKind};
use crate::sys::clock::{Interest, monotonic_ns};
use crate::sys::fds::{accept, transparent_listener};
use nix::sys::socket::{SockaddrStorage, connect};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// TCP connections of the gateway.
#[derive(Default)]
pub struct Streams {
    /// Connecting outside, by descriptor.
    pending: BTreeMap<i32, PendingConnection>,
    /// Connected outside, with the handshake inside in progress; by client and server address.
    awaited: BTreeMap<(SocketAddr, SocketAddr), AwaitedConnection>,
    listeners: BTreeMap<SocketAddr, Listener>,
    /// Relays, by the descriptor of their inner connection.
    relays: BTreeMap<i32, Relay>,
    /// Key in `relays` of each connection's descriptor.
    ends: BTreeMap<i32, i32>,
}

struct PendingConnection {
    from: SocketAddr,
    to: SocketAddr,
    stream: TcpStream,
    syn: Vec<u8>,
}

struct AwaitedConnection {
    stream: TcpStream,
    since_ns: u64,
}

struct Listener {
    fd: OwnedFd,
    /// Number of open and awaited connections.
    uses: u32,
}

/// Connections inside and outside, each with a buffer of bytes read from it and not yet written to the other.
struct Relay {
    to: SocketAddr,
    ends: [TcpStream; 2],
    buffers: [Buffer; 2],
    watched: [Interest; 2],
}

struct Buffer {
    bytes: Box<[u8]>,
    from: usize,
    until: usize,
    ended: bool,
    passed_on: bool,
}

impl Streams {
    /// Handles a SYN: connects outside first, and passes the SYN to the kernel when that has succeeded or failed.
    pub fn open(&mut self, from: SocketAddr, to: SocketAddr, syn: &[u8], shared: &mut GatewayContext<'_>) {
        let known = self.awaited.contains_key(&(from, to));
        if known || self.pending.values().any(|pending| (pending.from, pending.to) == (from, to)) {
            if known {
                shared.inject(syn);
            }
            return;
        }
        self.drop_abandoned(shared);
        let outside = shared.translate(to, SocketKind::Stream);
        let Ok(fd) = shared.sockets.socket(SocketKind::Stream, outside.ip()) else { return };
        let connected = connect(fd.as_raw_fd(), &SockaddrStorage::from(outside));
        let pending = PendingConnection { from, to, stream: fd.into(), syn: syn.to_vec() };
        match connected {
            Ok(()) => self.connected(pending, shared),
            Err(nix::Error::EINPROGRESS) => {
                let fd = pending.stream.as_raw_fd();
                let write = Interest { read: false, write: true };
                if shared.poll.add(pending.stream.as_fd(), token(fd), write).is_ok() {
                    self.pending.insert(fd, pending);
                }
            }
            Err(_) => shared.inject(syn),
        }
    }

    /// Handles readiness of a descriptor.
    pub fn on_ready(&mut self, fd: i32, shared: &mut GatewayContext<'_>) {
        if let Some(pending) = self.pending.remove(&fd) {
            let _ = shared.poll.remove(pending.stream.as_fd());
            match pending.stream.take_error() {
                Ok(None) => self.connected(pending, shared),
                // No socket listens inside either, so the kernel refuses the connection as the host outside did.
                Ok(Some(e)) if e.kind() != io::ErrorKind::TimedOut => shared.inject(&pending.syn),
                // Timed out outside: the SYN remains unanswered inside, too.
                _ => {}
            }
        } else if let Some(&number) = self.ends.get(&fd) {
            self.relay(number, shared);
        } else if let Some(to) = self.listeners.iter().find(|(_, l)| l.fd.as_raw_fd() == fd).map(|(&to, _)| to) {
            self.accept(to, shared);
        }
    }

    /// Connected outside: passes the SYN to the kernel.
    fn connected(&mut self, pending: PendingConnection, shared: &mut GatewayContext<'_>) {
        let PendingConnection { from, to, stream, syn } = pending;
        // Without a listener of ours, a program of this namespace has bound the port and gets the connection.
        if let Some(listener) = self.listener(to, shared) {
            listener.uses += 1;
            self.awaited.insert((from, to), AwaitedConnection { stream, since_ns: monotonic_ns() });
        }
        shared.inject(&syn);
    }

    /// The listener at `to`, opened if necessary; `None` if another program has bound the port.
    fn listener(&mut self, to: SocketAddr, shared: &mut GatewayContext<'_>) -> Option<&mut Listener> {
        match self.listeners.entry(to) {
            Entry::Occupied(entry) => Some(entry.into_mut()),
            Entry::Vacant(entry) => {
                let fd = transparent_listener(to).ok()?;
                shared.poll.add(fd.as_fd(), token(fd.as_raw_fd()), Interest::READ).ok()?;
                Some(entry.insert(Listener { fd, uses: 0 }))
            }
        }
    }

    fn accept(&mut self, to: SocketAddr, shared: &mut GatewayContext<'_>) {
        let Some(listener) = self.listeners.get(&to) else { return };
        let Ok(fd) = accept(listener.fd.as_fd()) else { return };
        let inside = TcpStream::from(fd);
        let outside =
            inside.peer_addr().ok().and_then(|from| self.awaited.remove(&(from, to))).map(|awaited| awaited.stream);
        // A connection without a counterpart outside is closed.
        let Some(outside) = outside else { return };
        let relay = Relay::new(to, [inside, outside]);
        let fds = relay.ends.each_ref().map(AsRawFd::as_raw_fd);
        for (end, fd) in relay.ends.iter().zip(fds) {
            let _ = shared.poll.add(end.as_fd(), token(fd), Interest::READ);
            self.ends.insert(fd, fds[0]);
        }
        self.relays.insert(fds[0], relay);
    }

    fn relay(&mut self, number: i32, shared: &mut GatewayContext<'_>) {
        let Some(relay) = self.relays.get_mut(&number) else { return };
        if relay.carry(|fd, interest| shared.poll.change(fd, token(fd.as_raw_fd()), interest)).is_ok_and(|open| open) {
            return;
        }
        let relay = self.relays.remove(&number).expect("the entry exists");
        for end in &relay.ends {
            self.ends.remove(&end.as_raw_fd());
            let _ = shared.poll.remove(end.as_fd());
        }
        self.release(relay.to, shared);
    }

    /// Closes outside connections whose client has not completed its handshake in time.
    fn drop_abandoned(&mut self, shared: &mut GatewayContext<'_>) {
        let now = monotonic_ns();
        let mut abandoned = Vec::new();
        self.awaited.retain(|&(_, to), awaited| {
            let keep = now - awaited.since_ns < HANDSHAKE_NS;
            abandoned.extend((!keep).then_some(to));
            keep
        });
        for to in abandoned {
            self.release(to, shared);
        }
    }

    /// Releases one use of the listener at `to`; closes it after the last.
    fn release(&mut self, to: SocketAddr, shared: &mut GatewayContext<'_>) {
        let Some(listener) = self.listeners.get_mut(&to) else { return };
        listener.uses -= 1;
        if listener.uses == 0 {
            let _ = shared.poll.remove(listener.fd.as_fd());
            self.listeners.remove(&to);
        }
    }
}

impl Relay {
    fn new(to: SocketAddr, ends: [TcpStream; 2]) -> Self {
        for end in &ends {
            // The endpoints have already applied Nagle's algorithm or turned it off.
            let _ = end.set_nodelay(true);
        }
        Self { to, ends, buffers: [Buffer::new(), Buffer::new()], watched: [Interest::READ; 2] }
    }

    /// Relays available bytes in both directions and updates the readiness to wait for with `watch`. Returns false when
    /// both directions are closed.
    fn carry(&mut self, watch: impl Fn(BorrowedFd<'_>, Interest) -> io::Result<()>) -> io::Result<bool> {
        for (from, to) in [(0, 1), (1, 0)] {
            self.buffers[from].carry(&self.ends[from], &self.ends[to])?;
        }
        for end in [0, 1] {
            let interest = Interest { read: self.buffers[end].has_room(), write: !self.buffers[1 - end].is_empty() };
            if interest != self.watched[end] {
                watch(self.ends[end].as_fd(), interest)?;
                self.watched[end] = interest;
            }
        }
        Ok(!self.buffers.iter().all(|buffer| buffer.passed_on))
    }
}

impl Buffer {
    fn new() -> Self {
        Self { bytes: vec![0; ROOM].into(), from: 0, until: 0, ended: false, passed_on: false }
    }

    fn is_empty(&self) -> bool {
        self.from == self.until
    }

    fn has_room(&self) -> bool {
        !self.ended && self.is_empty()
    }

    fn carry(&mut self, mut source: &TcpStream, mut sink: &TcpStream) -> io::Result<()> {
        for _ in 0..TURNS {
            if self.has_room() {
                match source.read(&mut self.bytes) {
                    Ok(0) => self.ended = true,
                    Ok(n) => (self.from, self.until) = (0, n),
                    Err(e) if would_block(&e) => return Ok(()),
                    Err(e) => return Err(e),
                }
            }
            while !self.is_empty() {
                match sink.write(&self.bytes[self.from..self.until]) {
                    Ok(n) => self.from += n,
                    Err(e) if would_block(&e) => return Ok(()),
                    Err(e) => return Err(e),
                }
            }
            if self.ended {
                if !self.passed_on {
                    self.passed_on = true;
                    let _ = sink.shutdown(Shutdown::Write);
                }
                return Ok(());
            }
        }
        Ok(())
    }
}

fn would_block(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

fn token(fd: i32) -> u64 {
    2 * fd as u64 + STREAM
}

/// Buffer size per direction of a connection, in bytes.
const ROOM: usize = 1 << 18;

/// Timeout of a handshake: Linux gives up a connection after six retransmissions of the SYN (`tcp_syn_retries`).
const HANDSHAKE_NS: u64 = 127_000_000_000;

/// Maximum buffers per turn of one connection.
const TURNS: usize = 8;
