//! Devices of hosts that several flows share: the bytes of each flow that wait in them.
//!
//! Source: Linux 6.1 `tcp_wfree`, `tsq_tasklet`, `tcp_gso_segment`, `skb_orphan`. A sender that is limited by TSQ (TCP
//! small queues) is woken when one of its packets starts to leave the device or is dropped. A super-packet is one
//! buffer until the device takes it; from then on each of its segments is one.
//!
//! A dumbbell and a row have no host node, so they pay nothing for this. Differs: a burst that the device's queue
//! refuses counts as sent (Linux keeps it and reduces its window, `tcp_enter_cwr`); a lost segment is retransmitted
//! while its first copy is still queued (Linux waits, `skb_still_in_host_queue`).

use crate::packet::{Handle, Packet};
use sojourn_aqm::Instant;
use sojourn_tcp::memory_below;

/// Backlogs of senders in the devices of their hosts.
#[derive(Debug)]
pub struct Devices {
    /// By link number: the device, if the link is one.
    links: Vec<Option<Device>>,
    /// By slot.
    senders: Vec<SenderBacklog>,
    /// Slots of senders that were blocked and have had a departure since; `resuming` are those that resume now.
    resumable: Vec<u32>,
    resuming: Vec<u32>,
    /// Departure time of the packet that is sent next.
    next_departure: Option<Instant>,
    /// Departure times of packets, by handle; valid only if one was set.
    departures: Vec<Instant>,
}

/// A link that is the device of a host.
#[derive(Clone, Copy, Debug, Default)]
struct Device {
    /// A super-packet is being sent: each of its segments has its own memory.
    cuts: bool,
    /// The queue holds segments only.
    splits: bool,
    /// The queue releases packets at their departure times.
    paces: bool,
}

/// Backlog of a sender in its device.
#[derive(Clone, Copy, Debug, Default)]
struct SenderBacklog {
    /// The device's link number; none if the sender has no device.
    device: Option<u16>,
    /// The flow that `bytes` belongs to.
    flow: u32,
    bytes: u64,
    /// The sender waits for a departure.
    is_blocked: bool,
}

impl Devices {
    /// No link of `links` is a device.
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

    /// Makes link `link` the device of a host. If it `splits`, its queue gets super-packets as segments; if it `paces`,
    /// its queue releases packets at their departure times.
    pub fn add(&mut self, link: usize, splits: bool, paces: bool) {
        self.links[link] = Some(Device { cuts: false, splits, paces });
    }

    /// Whether a link is the device of a host.
    #[inline]
    pub fn has(&self, link: usize) -> bool {
        self.links[link].is_some()
    }

    /// Adds the next slot: a sender whose first link is `link`, directly attached to it if `is_there`.
    pub fn add_sender(&mut self, link: u16, is_there: bool) {
        let device = Some(link).filter(|&link| is_there && self.has(link.into()));
        self.senders.push(SenderBacklog { device, ..SenderBacklog::default() });
    }

    /// Assigns the slot to a new flow, which has sent nothing.
    pub fn assign(&mut self, slot: u32, flow: u32) {
        let below = &mut self.senders[slot as usize];
        (below.flow, below.bytes, below.is_blocked) = (flow, 0, false);
    }

    /// Memory of the queued packets of the sender in `slot`; none if it has no device.
    #[inline]
    pub fn backlog_bytes(&self, slot: u32) -> Option<u64> {
        let below = &self.senders[slot as usize];
        below.device.map(|_| below.bytes)
    }

    /// Whether the device of the sender in `slot` releases packets at their departure times.
    pub fn paces(&self, slot: u32) -> bool {
        let device = self.senders[slot as usize].device;
        device.and_then(|link| self.links[usize::from(link)]).is_some_and(|device| device.paces)
    }

    /// Sets the departure time of the next packet.
    pub fn set_next_departure(&mut self, at: Instant) {
        self.next_departure = Some(at);
    }

    /// Assigns the pending departure time to packet `handle`. Returns whether there was one.
    pub fn take_departure(&mut self, handle: Handle) -> bool {
        let Some(at) = self.next_departure.take() else { return false };
        let index = handle as usize;
        if index >= self.departures.len() {
            self.departures.resize(index + 1, Instant::ZERO);
        }
        self.departures[index] = at;
        true
    }

    /// Departure time of packet `handle`, which must have one.
    pub fn departure(&self, handle: Handle) -> Instant {
        self.departures[handle as usize]
    }

    /// Blocks the sender in `slot` until one of its packets leaves.
    pub fn block(&mut self, slot: u32) {
        self.senders[slot as usize].is_blocked = true;
    }

    /// Returns the slot of a blocked sender that may resume. The current batch comes last in, first out (`tsq_tasklet`
    /// takes them from the end at which they are added), then those added meanwhile.
    #[inline]
    pub fn next_resumable(&mut self) -> Option<u32> {
        if self.resuming.is_empty() {
            std::mem::swap(&mut self.resumable, &mut self.resuming);
        }
        self.resuming.pop()
    }

    /// Counts a packet with `payload` bytes in `segments` segments that enters its sender's device.
    pub fn on_enqueue(&mut self, packet: &Packet, payload: u16, segments: u32) {
        let Some(link) = self.senders[packet.slot as usize].device else { return };
        let pieces = if self.links[usize::from(link)].is_some_and(|device| device.splits) { segments } else { 1 };
        self.change(link.into(), packet, memory_below(payload.into(), pieces) as i64);
    }

    /// Subtracts a packet that starts to leave link `link` or was dropped there.
    pub fn on_departure(&mut self, link: usize, packet: &Packet, payload: u16) {
        if self.change(link, packet, -(memory_below(payload.into(), 1) as i64)) {
            let below = &mut self.senders[packet.slot as usize];
            if std::mem::take(&mut below.is_blocked) {
                self.resumable.push(packet.slot);
            }
        }
    }

    /// Counts a duplicate that link `link` made; its sender did not send it.
    pub fn copy(&mut self, link: usize, packet: &Packet, payload: u16) {
        self.change(link, packet, memory_below(payload.into(), 1) as i64);
    }

    /// Notes what device `link` is sending: a super-packet with the number of segments left, or an ordinary packet.
    pub fn cut(&mut self, link: usize, remaining: Option<(&Packet, u32)>) {
        let Some(device) = &mut self.links[link] else { return };
        let cuts = std::mem::replace(&mut device.cuts, remaining.is_some());
        if let Some((packet, segments)) = remaining.filter(|_| !cuts) {
            self.change(link, packet, (memory_below(0, segments)) as i64);
        }
    }

    /// Adds `bytes` to the backlog of the packet's sender if the link is that sender's device. Returns whether it is.
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

    /// Link 1 is a device that slots 0 and 1 send into; slot 2 has an access link.
    fn devices(splits: bool) -> Devices {
        let mut devices = Devices::new(2);
        devices.add(1, splits, false);
        [true, true, false].iter().for_each(|&is_there| devices.add_sender(1, is_there));
        (0..3).for_each(|slot| devices.assign(slot, 10 + slot));
        devices
    }

    #[test]
    fn a_super_packet_is_one_piece_of_memory_until_it_is_sent() {
        // Linux: `truesize` is the payload and 768 bytes; `tcp_gso_segment` adds 768 bytes per segment.
        let (mut devices, burst) = (devices(false), packet(0, 10));
        devices.on_enqueue(&burst, 4_344, 3);
        devices.on_enqueue(&burst, 1_448, 1);
        let mut seen = vec![devices.backlog_bytes(0)];
        for left in [2, 1, 0] {
            devices.cut(1, (left > 0).then_some((&burst, left)));
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
