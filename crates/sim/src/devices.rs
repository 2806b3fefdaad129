//! The devices of hosts from which several flows send: what of each flow waits there.
//!
//! Source: Linux 6.1 `tcp_wfree`, `tsq_tasklet`, `tcp_gso_segment`, `skb_orphan`. A sender that has its fill below (TCP small
//! queues) is to be told when something of that has begun to leave, or was dropped. A super-packet is one piece of memory until
//! the device takes it; then each of its segments is one.

use crate::packet::{Handle, Packet};
use sojourn_aqm::Instant;
use sojourn_tcp::memory_below;

/// What waits in the devices of hosts, by the flows that they belong to.
#[derive(Debug)]
pub struct Devices {
    /// By the number of a link: whether it is such a device.
    links: Vec<Option<Device>>,
    /// By slot.
    senders: Vec<SenderBacklog>,
    /// Slots of senders that have been held, and of which something has left since; those that go on now.
    resumable: Vec<u32>,
    resuming: Vec<u32>,
    /// When what is sent next is to leave.
    next_departure: Option<Instant>,
    /// When packets are to leave, by their handles, where that was said.
    departures: Vec<Instant>,
}

/// A link that is the device of a host.
#[derive(Clone, Copy, Debug, Default)]
struct Device {
    /// A super-packet is being sent: its segments have memory of their own.
    cuts: bool,
    /// Its queue has segments only.
    splits: bool,
    /// Its queue lets packets go at their departure times.
    paces: bool,
}

/// What a sender has below.
#[derive(Clone, Copy, Debug, Default)]
struct SenderBacklog {
    /// The device: a link's number. None where the sender is elsewhere.
    device: Option<u16>,
    /// The flow of which that is known.
    flow: u32,
    bytes: u64,
    /// The sender waits.
    is_blocked: bool,
}

impl Devices {
    /// No device of a host is among so many links.
    pub fn new(links: usize) -> Self {
        Self {
            links: vec![None; links],
            senders: Vec::new(),
            resumable: Vec::new(),
            resuming: Vec::new(),
            next_departure: None,
            departures: Vec::new(),
        }
    }

    /// Link `link` is the device of a host; its queue gets super-packets in segments if it `splits`, and lets packets go at
    /// their departure times if it `paces`.
    pub fn add(&mut self, link: usize, splits: bool, paces: bool) {
        self.links[link] = Some(Device { cuts: false, splits, paces });
    }

    /// Whether a link is the device of a host.
    #[inline]
    pub fn has(&self, link: usize) -> bool {
        self.links[link].is_some()
    }

    /// The next slot is that of a sender whose first link is `link`, right behind it or not.
    pub fn add_sender(&mut self, link: u16, is_there: bool) {
        let device = Some(link).filter(|&link| is_there && self.has(link.into()));
        self.senders.push(SenderBacklog { device, ..SenderBacklog::default() });
    }

    /// A new flow has a slot: it has sent nothing.
    pub fn assign(&mut self, slot: u32, flow: u32) {
        let below = &mut self.senders[slot as usize];
        (below.flow, below.bytes, below.is_blocked) = (flow, 0, false);
    }

    /// Memory of what waits of the sender in `slot`; none if it has no device.
    #[inline]
    pub fn backlog_bytes(&self, slot: u32) -> Option<u64> {
        let below = &self.senders[slot as usize];
        below.device.map(|_| below.bytes)
    }

    /// Whether the device of the sender in `slot` lets packets go at their departure times.
    pub fn paces(&self, slot: u32) -> bool {
        let device = self.senders[slot as usize].device;
        device.and_then(|link| self.links[usize::from(link)]).is_some_and(|device| device.paces)
    }

    /// What is sent next is to leave at `at`.
    pub fn set_next_departure(&mut self, at: Instant) {
        self.next_departure = Some(at);
    }

    /// Packet `handle` is what is sent next. Whether there is a time at which it is to leave.
    pub fn take_departure(&mut self, handle: Handle) -> bool {
        let Some(at) = self.next_departure.take() else { return false };
        let place = handle as usize;
        if place >= self.departures.len() {
            self.departures.resize(place + 1, Instant::ZERO);
        }
        self.departures[place] = at;
        true
    }

    /// When packet `handle`, of which it was said, is to leave.
    pub fn departure(&self, handle: Handle) -> Instant {
        self.departures[handle as usize]
    }

    /// The sender in `slot` waits until something has left.
    pub fn block(&mut self, slot: u32) {
        self.senders[slot as usize].is_blocked = true;
    }

    /// The slot of a sender of which something has left since it was held: of all that are known now the last one first
    /// (`tsq_tasklet` takes them from the end at which they are put), then those that come meanwhile.
    #[inline]
    pub fn next_resumable(&mut self) -> Option<u32> {
        if self.resuming.is_empty() {
            std::mem::swap(&mut self.resumable, &mut self.resuming);
        }
        self.resuming.pop()
    }

    /// A packet with so many bytes of payload in so many `segments` enters the device of its sender.
    pub fn on_enqueue(&mut self, packet: &Packet, payload: u16, segments: u32) {
        let Some(link) = self.senders[packet.slot as usize].device else { return };
        let pieces = if self.links[usize::from(link)].is_some_and(|device| device.splits) { segments } else { 1 };
        self.change(link.into(), packet, memory_below(payload.into(), pieces) as i64);
    }

    /// A packet that was in link `link` has begun to leave, or was dropped there.
    pub fn on_departure(&mut self, link: usize, packet: &Packet, payload: u16) {
        if self.change(link, packet, -(memory_below(payload.into(), 1) as i64)) {
            let below = &mut self.senders[packet.slot as usize];
            if std::mem::take(&mut below.is_blocked) {
                self.resumable.push(packet.slot);
            }
        }
    }

    /// A second packet like one in link `link` was made there, which is none of its sender's.
    pub fn copy(&mut self, link: usize, packet: &Packet, payload: u16) {
        self.change(link, packet, memory_below(payload.into(), 1) as i64);
    }

    /// What device `link` is sending: a super-packet of which so many segments are to come, or nothing of the kind.
    pub fn cut(&mut self, link: usize, rest: Option<(&Packet, u32)>) {
        let Some(device) = &mut self.links[link] else { return };
        let cuts = std::mem::replace(&mut device.cuts, rest.is_some());
        if let Some((packet, segments)) = rest.filter(|_| !cuts) {
            self.change(link, packet, (memory_below(0, segments)) as i64);
        }
    }

    /// What waits of a packet's sender becomes so much more, if that is the sender's device. Whether it is.
    fn change(&mut self, link: usize, packet: &Packet, bytes: i64) -> bool {
        let below = &mut self.senders[packet.slot as usize];
        let counts = packet.to_sink && below.device.map(usize::from) == Some(link) && below.flow == packet.flow;
        if counts {
            below.bytes = below.bytes.saturating_add_signed(bytes);
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_aqm::Ecn;

    fn packet(slot: u32, flow: u32) -> Packet {
        Packet { flow, slot, len: 1_500, ecn: Ecn::NotEct, dscp: 0, hops_left: 0, segment: 0, to_sink: true }
    }

    /// Link 1 is a device, in which slots 0 and 1 send; slot 2 is behind an access link.
    fn devices(splits: bool) -> Devices {
        let mut devices = Devices::new(2);
        devices.add(1, splits, false);
        [true, true, false].iter().for_each(|&is_there| devices.add_sender(1, is_there));
        (0..3).for_each(|slot| devices.assign(slot, 10 + slot));
        devices
    }

    #[test]
    fn a_super_packet_is_one_piece_of_memory_until_it_is_sent() {
        // Linux: `truesize` is 768 bytes and the payload; each segment that `tcp_gso_segment` cuts off has 768 of its own.
        let (mut devices, burst) = (devices(false), packet(0, 10));
        devices.on_enqueue(&burst, 4_344, 3);
        devices.on_enqueue(&burst, 1_448, 1);
        let mut seen = vec![devices.backlog_bytes(0)];
        for rest in [2, 1, 0] {
            devices.cut(1, (rest > 0).then_some((&burst, rest)));
            devices.on_departure(1, &burst, 1_448);
            seen.push(devices.backlog_bytes(0));
        }
        devices.on_departure(1, &burst, 1_448);
        seen.push(devices.backlog_bytes(0));
        assert_eq!(seen, [5_112 + 2_216, 3 * 2_216, 2 * 2_216, 2_216, 0].map(Some));
    }

    #[test]
    fn a_queue_of_segments_has_the_memory_of_each() {
        let mut devices = devices(true);
        devices.on_enqueue(&packet(0, 10), 4_344, 3);
        assert_eq!(devices.backlog_bytes(0), Some(3 * 2_216));
    }

    #[test]
    fn who_is_held_goes_on_once_and_the_last_to_come_first() {
        let mut devices = devices(false);
        let (one, other) = (packet(0, 10), packet(1, 11));
        [&one, &one, &other, &other].into_iter().for_each(|packet| devices.on_enqueue(packet, 1_448, 1));
        devices.on_departure(1, &one, 1_448);
        assert_eq!(devices.next_resumable(), None, "nobody waits");
        [0, 1].into_iter().for_each(|slot| devices.block(slot));
        [&one, &other, &other].into_iter().for_each(|packet| devices.on_departure(1, packet, 1_448));
        assert_eq!(
            [devices.next_resumable(), devices.next_resumable(), devices.next_resumable()],
            [Some(1), Some(0), None]
        );
    }

    #[test]
    fn others_and_connections_of_before_do_not_count() {
        let mut devices = devices(false);
        assert_eq!((devices.backlog_bytes(2), devices.paces(2)), (None, false), "behind an access link");
        devices.on_enqueue(&packet(2, 12), 1_448, 1);
        devices.on_enqueue(&packet(0, 10), 1_448, 1);
        devices.on_departure(0, &packet(0, 10), 1_448);
        devices.on_departure(1, &Packet { to_sink: false, ..packet(0, 10) }, 1_448);
        assert_eq!(devices.backlog_bytes(0), Some(2_216), "another link, and an acknowledgment");
        devices.assign(0, 20);
        devices.on_departure(1, &packet(0, 10), 1_448);
        devices.on_enqueue(&packet(0, 20), 1_448, 1);
        assert_eq!(devices.backlog_bytes(0), Some(2_216), "of the flow before nothing counts");
    }
}
