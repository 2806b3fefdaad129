//! Drives for programs: the same programs called by the run, fed by its events, or led by another clock.
#![allow(dead_code)] // each file of tests uses its part

use sojourn_net::{Cx, Datagram, Duration, End, Endpoint, Error, Event, Instant, Net, OtherEvent, Received, Report};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Programs of all ends.
pub type Programs = BTreeMap<End, Box<dyn Endpoint>>;

/// A copy of an event that does not borrow from the net.
#[derive(Clone, Debug)]
pub enum Owned {
    Begin(End),
    Wake(End),
    Other(End, OtherEvent),
    Datagram(End, SocketAddr, SocketAddr, sojourn_net::Ecn, u8, Vec<u8>),
    End,
}

impl Owned {
    pub fn of(event: Event<'_>) -> Self {
        match event {
            Event::Begin(end) => Self::Begin(end),
            Event::Wake(end) => Self::Wake(end),
            Event::Room(end) => Self::Other(end, OtherEvent::Room),
            Event::Stop(end) => Self::Other(end, OtherEvent::Stop),
            Event::TooBig { to, mtu, remote } => Self::Other(to, OtherEvent::TooBig { mtu, remote }),
            Event::Datagram { to, from, local, ecn, tag, bytes, .. } => {
                Self::Datagram(to, from, local, ecn, tag, bytes.to_vec())
            }
            Event::End => Self::End,
        }
    }
}

/// Lets a program answer an event; then it sends what it wants, and its deadline is set.
pub fn answer(net: &mut Net, programs: &mut Programs, peers: &BTreeMap<End, End>, event: Owned) {
    let end = match &event {
        Owned::Begin(end) | Owned::Wake(end) | Owned::Other(end, _) | Owned::Datagram(end, ..) => *end,
        Owned::End => return,
    };
    let (now, addresses) = (net.now(), [net.address(end), net.address(peers[&end])]);
    let program = programs.get_mut(&end).expect("every end has a program");
    let mut effects = Vec::new();
    let mut cx = Cx::new(now, addresses, &mut effects);
    match event {
        Owned::Begin(_) => program.begin(&mut cx),
        Owned::Wake(_) => program.on_wake(&mut cx),
        Owned::Other(_, other) => program.on_other(&mut cx, other),
        Owned::Datagram(_, from, local, ecn, tag, bytes) => {
            program.on_datagram(&mut cx, Received { bytes: &bytes, from, local, ecn, tag });
        }
        Owned::End => {}
    }
    let mut bytes = Vec::new();
    while net.has_room(end) {
        bytes.clear();
        let Some(transmit) = program.poll_transmit(now, &mut bytes) else { break };
        let sojourn_net::Transmit { remote, local, ecn, segment_size, at, tag } = transmit;
        net.send(end, &Datagram { bytes: &bytes, remote, local, ecn, segment_size, at, tag }).expect("it can be sent");
    }
    net.wake(end, program.wake_at());
}

/// Pairs of ends, both ways.
pub fn peers(net: &Net) -> BTreeMap<End, End> {
    let ends: Vec<End> = net.ends().collect();
    ends.chunks(2).flat_map(|pair| [(pair[0], pair[1]), (pair[1], pair[0])]).collect()
}

/// Runs programs by pull: the caller takes each event.
pub fn pulled(mut net: Net, mut programs: Programs) -> Result<Report, Error> {
    let peers = peers(&net);
    loop {
        let event = Owned::of(net.next()?);
        if matches!(event, Owned::End) {
            return net.finish();
        }
        answer(&mut net, &mut programs, &peers, event);
    }
}

/// Runs programs behind another clock, which asks when the net is due and leads it there, with steps of its own between.
pub fn followed(mut net: Net, mut programs: Programs) -> Result<Report, Error> {
    let peers = peers(&net);
    let mut own = Instant::ZERO;
    loop {
        let Some(due) = net.due() else { return net.finish() };
        // A step of the leader's own, which may be before or after the net's next event.
        own = own.max(net.now()) + Duration::from_micros(7_321);
        let step = due.min(own).max(net.now());
        loop {
            let event = Owned::of(net.advance(step)?);
            if matches!(event, Owned::End) {
                break;
            }
            answer(&mut net, &mut programs, &peers, event);
        }
    }
}

/// Sends datagrams of one size at a constant rate, without end.
pub struct Paced {
    pub size: usize,
    pub gap: Duration,
    next: Option<Instant>,
    peer: Option<SocketAddr>,
    is_due: bool,
}

impl Paced {
    pub fn new(size: usize, gap: Duration) -> Self {
        Self { size, gap, next: None, peer: None, is_due: false }
    }
}

impl Endpoint for Paced {
    fn begin(&mut self, cx: &mut Cx<'_>) {
        self.peer = Some(cx.peer());
        self.next = Some(cx.now());
        self.is_due = true;
    }

    fn on_datagram(&mut self, _: &mut Cx<'_>, _: Received<'_>) {}

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        self.is_due = self.next.is_some_and(|next| next <= cx.now());
    }

    fn poll_transmit(&mut self, _: Instant, into: &mut Vec<u8>) -> Option<sojourn_net::Transmit> {
        if !std::mem::take(&mut self.is_due) {
            return None;
        }
        self.next = self.next.map(|next| next + self.gap);
        into.resize(self.size, 0);
        self.peer.map(sojourn_net::Transmit::to)
    }

    fn wake_at(&mut self) -> Option<Instant> {
        self.next
    }
}

/// Returns every datagram with its tag and its ECN field.
#[derive(Default)]
pub struct Echo(Vec<(Vec<u8>, sojourn_net::Transmit)>);

impl Endpoint for Echo {
    fn on_datagram(&mut self, _: &mut Cx<'_>, datagram: Received<'_>) {
        let Received { bytes, from, ecn, tag, .. } = datagram;
        self.0.push((bytes.to_vec(), sojourn_net::Transmit { ecn, tag, ..sojourn_net::Transmit::to(from) }));
    }

    fn on_wake(&mut self, _: &mut Cx<'_>) {}

    fn poll_transmit(&mut self, _: Instant, into: &mut Vec<u8>) -> Option<sojourn_net::Transmit> {
        let (bytes, transmit) = if self.0.is_empty() { return None } else { self.0.remove(0) };
        into.extend_from_slice(&bytes);
        Some(transmit)
    }

    fn wake_at(&mut self) -> Option<Instant> {
        None
    }
}

/// Takes datagrams and sends none.
pub struct Silent;

impl Endpoint for Silent {
    fn on_datagram(&mut self, _: &mut Cx<'_>, _: Received<'_>) {}

    fn on_wake(&mut self, _: &mut Cx<'_>) {}

    fn poll_transmit(&mut self, _: Instant, _: &mut Vec<u8>) -> Option<sojourn_net::Transmit> {
        None
    }

    fn wake_at(&mut self) -> Option<Instant> {
        None
    }
}
