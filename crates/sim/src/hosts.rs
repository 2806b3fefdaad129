//! Hosts of endpoints: addresses, the events that their programs have not taken yet, and every datagram sent.
//!
//! A host has one address, so two groups with one address share a host; a 5-tuple is a flow of the queues, whichever end
//! opened it.

use crate::endpoint::{EndEvent, EndId, SendError, Side, Transmit};
use crate::payload::Place;
use crate::scenario::{HostTable, Scenario, Traffic};
use sojourn_aqm::{Ecn, Instant};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Hosts of all endpoints of a run.
#[derive(Debug)]
pub(crate) struct Hosts {
    /// By number of a host: its address.
    addresses: BTreeMap<u32, IpAddr>,
    /// By group: whether its ends have addresses.
    groups: Vec<bool>,
    /// By slot: the addresses of its ends.
    pairs: Vec<Option<Pair>>,
    /// Flow of each 5-tuple in use, by its lower and its higher address.
    flows: BTreeMap<(SocketAddr, SocketAddr), u32>,
    /// Addresses that NATs have handed out.
    bindings: u32,
    /// Events that no program has taken yet, in order.
    pub events: VecDeque<PendingEvent>,
    pub decisions: Decisions,
    /// Reason to end the run: the end at fault, and what is wrong.
    pub fault: Option<(EndId, String)>,
    /// Bit to flip in the datagram that is being delivered.
    pub damage: bool,
}

/// Addresses of the two ends of a slot.
#[derive(Clone, Debug)]
struct Pair {
    ends: [SocketAddr; 2],
    /// Local ports that the source has sent from.
    ports: BTreeSet<u16>,
    /// Binding of the source behind a NAT: its address on the wire, and the difference of the ports.
    nat: Option<(IpAddr, u16)>,
    /// The 5-tuple last used, and its flow.
    last: Option<((SocketAddr, SocketAddr), u32)>,
    /// Whether a 5-tuple has the slot's own flow number.
    is_flow_used: bool,
}

/// An event of an end, with the payload that it refers to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingEvent {
    pub end: EndId,
    pub event: EndEvent,
    /// Place and length of a datagram's bytes; the event owns one reference to the payload.
    pub payload: Option<(Place, u32)>,
    /// Whether one bit of the bytes is to be flipped.
    pub is_damaged: bool,
}

/// A datagram that has left its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// When it left.
    pub at: Instant,
    /// The end that sent it.
    pub end: EndId,
    /// Source address on the wire.
    pub from: SocketAddr,
    /// Destination.
    pub to: SocketAddr,
    /// Payload above UDP.
    pub bytes: u32,
    /// ECN field.
    pub ecn: Ecn,
    /// Number of its tag; 0 for none.
    pub tag: u8,
}

/// All datagrams sent: their hash, and themselves if they are recorded.
#[derive(Debug)]
pub(crate) struct Decisions {
    hash: u64,
    /// Addresses of the last datagram.
    last: Option<(SocketAddr, SocketAddr)>,
    pub count: u64,
    pub log: Option<Vec<Decision>>,
}

impl Hosts {
    /// The hosts of a scenario's endpoints; none without any.
    pub fn new(scenario: &Scenario, table: &HostTable) -> Option<Box<Self>> {
        let is_endpoint = |traffic: &Traffic| match traffic {
            Traffic::Endpoint(_) => true,
            #[cfg(feature = "quinn")]
            Traffic::Tcp(file) => file.tcp.is_quinn(),
            _ => false,
        };
        let groups: Vec<bool> = scenario.flows.iter().map(|flow| is_endpoint(&flow.traffic)).collect();
        groups.iter().find(|&&is_endpoint| is_endpoint)?;
        let mut addresses = table.addresses().clone();
        let taken: BTreeSet<IpAddr> = addresses.values().copied().collect();
        let mut free = (1..).map(|number| IpAddr::from(Ipv4Addr::from_bits(FIRST_ADDRESS + number)));
        let mut next = || free.find(|address| !taken.contains(address)).expect("10/8 has more addresses than hosts");
        let specs = (0..).zip(&scenario.flows).filter(|&(group, _)| groups[group as usize]);
        for (source, sink) in specs.flat_map(|(group, flow)| (0..flow.count).map(move |i| table.pair(group, i))) {
            addresses.entry(source).or_insert_with(&mut next);
            addresses.entry(sink).or_insert_with(&mut next);
        }
        Some(Box::new(Self {
            addresses,
            groups,
            pairs: Vec::new(),
            flows: BTreeMap::new(),
            bindings: 0,
            events: VecDeque::new(),
            decisions: Decisions::default(),
            fault: None,
            damage: false,
        }))
    }

    /// Gives the ends of member `index` of a group the addresses of its two hosts; nothing for groups without addresses.
    pub fn add(&mut self, slot: u32, (group, index): (u32, u32), (source, sink): (u32, u32)) {
        if !self.groups[group as usize] {
            return;
        }
        let (source, sink) = (self.addresses[&source], self.addresses[&sink]);
        let (slot, ports) = (slot as usize, u32::from(u16::MAX - EPHEMERAL) + 1);
        if slot >= self.pairs.len() {
            self.pairs.resize(slot + 1, None);
        }
        let of = |address: IpAddr, port: u32| SocketAddr::new(address, port as u16);
        let ends = [of(source, u32::from(EPHEMERAL) + index % ports), of(sink, u32::from(SERVICE) + index / ports)];
        let ports = BTreeSet::from([ends[0].port()]);
        self.pairs[slot] = Some(Pair { ends, ports, nat: None, last: None, is_flow_used: false });
    }

    /// Address of an end.
    pub fn address(&self, end: EndId) -> SocketAddr {
        self.pair(end.slot).ends[end.side as usize]
    }

    fn pair(&self, slot: u32) -> &Pair {
        self.pairs[slot as usize].as_ref().expect("the slot is one of endpoints")
    }

    fn pair_mut(&mut self, slot: u32) -> &mut Pair {
        self.pairs[slot as usize].as_mut().expect("the slot is one of endpoints")
    }

    /// Source address on the wire of a datagram that an end sends; its local address is by default the end's own.
    #[inline]
    pub fn leave(&mut self, end: EndId, transmit: &Transmit) -> Result<SocketAddr, SendError> {
        let pair = self.pair_mut(end.slot);
        let own = &pair.ends[end.side as usize];
        if transmit.local.is_none() && pair.nat.is_none() && own.is_ipv4() == transmit.remote.is_ipv4() {
            return Ok(*own);
        }
        pair.leave_from(end.side, transmit)
    }

    /// The local address of a datagram that reaches an end and is addressed to `to`; none if no host has that address.
    #[inline]
    pub fn enter(&self, end: EndId, to: &SocketAddr) -> Option<SocketAddr> {
        let pair = self.pair(end.slot);
        let own = &pair.ends[end.side as usize];
        match pair.nat.filter(|_| end.side == Side::Source) {
            None => (to.ip() == own.ip()).then_some(*to),
            Some((address, shift)) => {
                let port = shifted(to.port(), (PORTS - shift) % PORTS);
                (to.ip() == address && pair.ports.contains(&port)).then(|| SocketAddr::new(own.ip(), port))
            }
        }
    }

    /// Gives the source of a slot another port on the wire, and another address if `moves`. Datagrams to the former
    /// ones no longer reach it.
    pub fn rebind(&mut self, slot: u32, moves: bool) {
        self.bindings += 1;
        let number = self.bindings;
        let pair = self.pair_mut(slot);
        let own = pair.ends[Side::Source as usize].ip();
        let (address, shift) = pair.nat.unwrap_or((own, 0));
        let address = match (moves, own) {
            (false, _) => address,
            (true, IpAddr::V4(_)) => Ipv4Addr::from_bits(SHARED_SPACE + number).into(),
            (true, IpAddr::V6(_)) => Ipv6Addr::from_bits(DOCUMENTATION + u128::from(number)).into(),
        };
        pair.nat = Some((address, (shift + PORT_STEP) % PORTS));
    }

    /// Number of the flow that queues see for a 5-tuple of a slot: the slot's own, `own`, for its first one, and the
    /// next free number for others.
    #[inline]
    pub fn flow(&mut self, slot: u32, (from, to): (&SocketAddr, &SocketAddr), own: u32, next: &mut u32) -> u32 {
        if let Some(((low, high), flow)) = &self.pair(slot).last {
            if (low, high) == (from, to) || (low, high) == (to, from) {
                return *flow;
            }
        }
        self.flow_of(slot, (*from, *to), own, next)
    }

    /// The same for another 5-tuple than the slot's last one.
    #[cold]
    fn flow_of(&mut self, slot: u32, (from, to): (SocketAddr, SocketAddr), own: u32, next: &mut u32) -> u32 {
        let tuple = if from < to { (from, to) } else { (to, from) };
        let is_first = !std::mem::replace(&mut self.pair_mut(slot).is_flow_used, true);
        let flow =
            *self.flows.entry(tuple).or_insert_with(|| if is_first { own } else { std::mem::replace(next, *next + 1) });
        self.pair_mut(slot).last = Some((tuple, flow));
        flow
    }
}

impl Pair {
    /// Source address on the wire of a datagram from a given local address, or through a NAT.
    fn leave_from(&mut self, side: Side, transmit: &Transmit) -> Result<SocketAddr, SendError> {
        let (own, remote) = (self.ends[side as usize], transmit.remote);
        let local = transmit.local.unwrap_or(own);
        if local.ip() != own.ip() {
            return Err(SendError::Local(local, own.ip()));
        }
        if local.is_ipv4() != remote.is_ipv4() {
            return Err(SendError::Family(local, remote));
        }
        if side == Side::Source {
            self.ports.insert(local.port());
        }
        match self.nat.filter(|_| side == Side::Source) {
            None => Ok(local),
            Some((address, shift)) => Ok(SocketAddr::new(address, shifted(local.port(), shift))),
        }
    }
}

/// A port moved by the shift of a NAT; port 0 means none and is left out.
fn shifted(port: u16, shift: u16) -> u16 {
    ((u32::from(port.max(1)) - 1 + u32::from(shift)) % u32::from(PORTS) + 1) as u16
}

impl Decisions {
    /// Counts a datagram that leaves its host.
    #[inline]
    pub fn add(&mut self, decision: Decision) {
        self.count += 1;
        let Decision { at, end, bytes, ecn, tag, .. } = decision;
        let fields = (u64::from(bytes) << 16) | ((ecn as u64) << 8) | u64::from(tag);
        let side = (u64::from(end.slot) << 1) | end.side as u64;
        [at.as_nanos(), side, fields].into_iter().for_each(|word| self.mix(word));
        let is_last = |(from, to): &(SocketAddr, SocketAddr)| *from == decision.from && *to == decision.to;
        if !self.last.as_ref().is_some_and(is_last) {
            self.mix_addresses((decision.from, decision.to));
        }
        if let Some(log) = &mut self.log {
            log.push(decision);
        }
    }

    /// Addresses enter the hash when they change.
    #[cold]
    fn mix_addresses(&mut self, (from, to): (SocketAddr, SocketAddr)) {
        self.last = Some((from, to));
        for address in [from, to] {
            let bits = match address.ip() {
                IpAddr::V4(ip) => u128::from(ip.to_bits()),
                IpAddr::V6(ip) => ip.to_bits(),
            };
            let words = [(bits >> 64) as u64, bits as u64, u64::from(address.port())];
            words.into_iter().for_each(|word| self.mix(word));
        }
    }

    /// Multiply and rotate, as in fxhash; equal on every machine.
    fn mix(&mut self, word: u64) {
        self.hash = (self.hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    /// Hash of all datagrams so far.
    pub fn hash(&self) -> u64 {
        self.hash
    }
}

impl Default for Decisions {
    fn default() -> Self {
        Self { hash: 0x50_6a_6f_75_72_6e, last: None, count: 0, log: None }
    }
}

/// 10.0.0.0.
const FIRST_ADDRESS: u32 = 10 << 24;
/// 100.64.0.0, the shared address space of carriers' NATs (RFC 6598).
const SHARED_SPACE: u32 = (100 << 24) | (64 << 16);
/// 2001:db8::, for documentation (RFC 3849).
const DOCUMENTATION: u128 = 0x2001_0db8 << 96;
/// First port of sources, and port of sinks.
const EPHEMERAL: u16 = 49_152;
const SERVICE: u16 = 443;
/// Number of ports, and their distance from one binding of a NAT to the next.
const PORTS: u16 = u16::MAX;
const PORT_STEP: u16 = 1_009;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_move_and_come_back() {
        for port in [1, 443, 49_152, u16::MAX] {
            for shift in [0, 1, 1_009, PORTS - 1] {
                let moved = shifted(port, shift);
                assert_eq!(shifted(moved, (PORTS - shift) % PORTS), port, "{port} by {shift}");
            }
        }
    }
}
