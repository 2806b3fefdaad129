//! TCP: a connection inside and one outside, and the bytes between them.

use super::shared::{GatewayContext, STREAM, SocketKind};
use crate::sys::clock::{Interest, monotonic_ns};
use crate::sys::fds::{accept, transparent_listener};
use nix::sys::socket::{SockaddrStorage, connect};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Every connection, by descriptors.
#[derive(Default)]
pub struct Streams {
    /// Being connected outside.
    pending: BTreeMap<i32, PendingConnection>,
    /// Connected outside; the kernel here is shaking hands.
    awaited: BTreeMap<(SocketAddr, SocketAddr), AwaitedConnection>,
    listeners: BTreeMap<SocketAddr, Listener>,
    /// Relays by their lower descriptor, and the lower descriptor of each.
    relays: BTreeMap<i32, Relay>,
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
    /// Connections, open or awaited.
    uses: u32,
}

/// Two connections, each with what was read from it and not yet written to the other.
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
    /// A first segment from `from` to `to`: connects outside before it lets it pass.
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

    /// Something is ready.
    pub fn on_ready(&mut self, fd: i32, shared: &mut GatewayContext<'_>) {
        if let Some(pending) = self.pending.remove(&fd) {
            let _ = shared.poll.remove(pending.stream.as_fd());
            match pending.stream.take_error() {
                Ok(None) => self.connected(pending, shared),
                // Nobody listens here either, so the kernel refuses as the machine outside has.
                Ok(Some(e)) if e.kind() != io::ErrorKind::TimedOut => shared.inject(&pending.syn),
                _ => {}
            }
        } else if let Some(&number) = self.ends.get(&fd) {
            self.relay(number, shared);
        } else if let Some(to) = self.listeners.iter().find(|(_, l)| l.fd.as_raw_fd() == fd).map(|(&to, _)| to) {
            self.accept(to, shared);
        }
    }

    /// Connected outside: whoever asked may have his handshake.
    fn connected(&mut self, pending: PendingConnection, shared: &mut GatewayContext<'_>) {
        let PendingConnection { from, to, stream, syn } = pending;
        // Where a program of this namespace listens itself, it gets the connection.
        if let Some(listener) = self.listener(to, shared) {
            listener.uses += 1;
            self.awaited.insert((from, to), AwaitedConnection { stream, since_ns: monotonic_ns() });
        }
        shared.inject(&syn);
    }

    /// What listens at `to`; made if there is none and nobody else has the place.
    fn listener(&mut self, to: SocketAddr, shared: &mut GatewayContext<'_>) -> Option<&mut Listener> {
        match self.listeners.entry(to) {
            Entry::Occupied(there) => Some(there.into_mut()),
            Entry::Vacant(place) => {
                let fd = transparent_listener(to).ok()?;
                shared.poll.add(fd.as_fd(), token(fd.as_raw_fd()), Interest::READ).ok()?;
                Some(place.insert(Listener { fd, uses: 0 }))
            }
        }
    }

    fn accept(&mut self, to: SocketAddr, shared: &mut GatewayContext<'_>) {
        let Some(listener) = self.listeners.get(&to) else { return };
        let Ok(fd) = accept(listener.fd.as_fd()) else { return };
        let inside = TcpStream::from(fd);
        let outside =
            inside.peer_addr().ok().and_then(|from| self.awaited.remove(&(from, to))).map(|awaited| awaited.stream);
        // One that nobody awaits is closed.
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

    /// Closes what was connected outside for somebody who has not come back with the end of his handshake.
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

    /// One connection less to `to`.
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
            let _ = end.set_nodelay(true);
        }
        Self { to, ends, buffers: [Buffer::new(), Buffer::new()], watched: [Interest::READ; 2] }
    }

    /// Carries what there is in both directions; whether more may come. `watch` says what to wait for.
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

/// Bytes under way in each direction of a connection.
const ROOM: usize = 1 << 18;

/// A kernel gives up a handshake after this time (six retransmissions of SYN and ACK).
const HANDSHAKE_NS: u64 = 127_000_000_000;

/// Buffers in a row from one connection.
const TURNS: usize = 8;
