//! A net as the network of s2n-quic's simulation, whose clock (bach) leads.

use bach::sync::oneshot;
use s2n_quic::provider::io::testing::network::{Buffers, Packet};
use s2n_quic::provider::io::testing::{Network, PathHandle, spawn};
use s2n_quic_core::inet::ExplicitCongestionNotification;
use sojourn_net::{Datagram, Ecn, End, Event, Instant, Net};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The net, shared with the tasks of the simulation, which run in one thread.
pub type Shared = Arc<Mutex<Net>>;

/// Carries packets between the buffers of the simulation and the ends of a group.
pub struct Link {
    net: Shared,
    ends: [End; 2],
    /// Receives a message when the source begins.
    begin: Option<oneshot::Sender<()>>,
    /// Time of the next wake-up that is scheduled.
    alarm: Instant,
}

impl Link {
    pub fn new(net: Shared, ends: [End; 2]) -> Self {
        Self { net, ends, begin: None, alarm: Instant::ZERO }
    }

    /// Notifies a task of the simulation when the source begins.
    pub fn notify(self, begin: oneshot::Sender<()>) -> Self {
        Self { begin: Some(begin), ..self }
    }
}

impl Network for Link {
    /// Runs after the tasks of each instant of the simulation; returns the number of packets moved.
    fn execute(&mut self, buffers: &Buffers) -> usize {
        // s2n-quic's own times are in microseconds, bach's in nanoseconds.
        let elapsed = bach::time::Instant::now().elapsed_since_start();
        let now = Instant::from_nanos(elapsed.as_nanos() as u64);
        let mut net = self.net.lock().expect("one thread");
        let mut moved = 0;
        loop {
            match net.advance(now).expect("the simulation's clock never goes back") {
                Event::Datagram { at, from, local, ecn, bytes, .. } => {
                    assert_eq!(at, now, "the simulation meets each event of the net");
                    moved += 1;
                    deliver(buffers, from, local, ecn, bytes);
                }
                Event::Begin(end) if end == self.ends[0] => {
                    if let Some(begin) = self.begin.take() {
                        moved += 1;
                        begin.send(()).expect("a task waits for it");
                    }
                }
                Event::End => break,
                _ => {}
            }
        }
        for packet in pending(buffers) {
            moved += 1;
            let (local, remote): (SocketAddr, _) = (packet.path.local_address.0.into(), packet.path.remote_address.0);
            let end = self.ends.into_iter().find(|end| net.address(*end).ip() == local.ip());
            let datagram = Datagram {
                ecn: Ecn::ALL[packet.ecn as usize],
                local: Some(local),
                ..Datagram::to(remote.into(), &packet.payload)
            };
            net.send(end.expect("the world has the socket's address"), &datagram).expect("hosts accept datagrams");
        }
        // A task without work whose timer makes the simulation stop at the net's next event.
        if let Some(due) = net.due().filter(|due| self.alarm <= now || *due < self.alarm) {
            self.alarm = due;
            spawn(bach::time::sleep(Duration::from_nanos(due.as_nanos() - now.as_nanos())));
        }
        moved
    }
}

fn deliver(buffers: &Buffers, from: SocketAddr, local: SocketAddr, ecn: Ecn, bytes: &[u8]) {
    let mut path = PathHandle { remote_address: Default::default(), local_address: Default::default() };
    (path.remote_address.0, path.local_address.0) = (from.into(), local.into());
    let ecn = ExplicitCongestionNotification::new(ecn as u8);
    buffers.rx(local.into(), |queue| queue.enqueue(Packet { path, ecn, payload: bytes.to_vec() }));
}

/// Packets to be sent, ordered by sender: the simulation's own order depends on the keys of a hash map.
fn pending(buffers: &Buffers) -> Vec<Packet> {
    let mut packets = Vec::new();
    buffers.drain_pending_transmissions(|packet| {
        packets.push(packet);
        Ok(())
    });
    packets.sort_by_key(|packet| SocketAddr::from(packet.path.local_address.0));
    packets
}
