//! Probes of every packet, of drops and of senders. Without a probe the hooks compile to nothing.

use crate::drops::DropRecorder;
use crate::packet::{Packet, Packets};
use crate::packet_capture::PacketCapture;
use crate::queue_event::{QueueEvent, SENT, SENT_MARKED, fate_of_drop};
use crate::scenario;
use crate::senders::{SenderId, SenderRecorder};
use crate::table::{Table, recorder};
use sojourn_aqm::{DropReason, Instant, Meta};
use sojourn_tcp::{Header, Sack, SenderEvent};
use std::io;

/// Observer of queues and senders. It cannot change anything.
pub(crate) trait Probe {
    /// A packet was offered to a link's queue and has no verdict yet; `packets` holds its headers.
    #[inline]
    fn arrived(&mut self, event: QueueEvent<'_>, packets: &Packets) {
        let _ = (event, packets);
    }

    /// Transmission of a packet started; `packets` holds its headers.
    #[inline]
    fn sent(&mut self, event: QueueEvent<'_>, newly_marked: bool, packets: &Packets) {
        let _ = (event, newly_marked, packets);
    }

    /// A packet was dropped; `packets` still holds its headers.
    #[inline]
    fn dropped(&mut self, event: QueueEvent<'_>, reason: DropReason, packets: &Packets) {
        let _ = (event, reason, packets);
    }

    /// Whether it observes senders.
    #[inline]
    fn observes_senders(&self) -> bool {
        false
    }

    /// An event of a sender; only for a probe that [observes senders](Probe::observes_senders).
    #[inline]
    fn on_sender_event(&mut self, now: Instant, sender: SenderId, event: SenderEvent<'_>) {
        let _ = (now, sender, event);
    }
}

/// A probe that records tables.
pub(crate) trait Recorder: Probe {
    /// A probe that records the tables that `wanted` lists.
    fn new(wanted: &scenario::Probes) -> Self;

    /// Captures packets from now on, if it is a probe of packets.
    fn start_capture(&mut self, _: PacketCapture) {}

    /// Writes the rest of the capture, if there is one.
    fn end_capture(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// The packets in the queues now, as table `waiting`; none if packets are not recorded.
    fn waiting(&self) -> Option<Table> {
        None
    }

    /// Takes the rows of packets that have left a queue; none if there are no rows.
    fn take_packets(&mut self) -> Option<Table> {
        None
    }

    /// Moves the rows of tables that have at least `min_rows` into `taken`.
    fn take(&mut self, min_rows: usize, taken: &mut Vec<Table>);

    /// Rows that have not been taken.
    fn tables(self) -> Vec<Table>;
}

/// No probe.
impl Probe for () {}

impl Recorder for () {
    fn new(_: &scenario::Probes) -> Self {}

    fn take(&mut self, _: usize, _: &mut Vec<Table>) {}

    fn tables(self) -> Vec<Table> {
        Vec::new()
    }
}

/// Records every packet, and on request its transport header.
pub(crate) struct PacketRecorder {
    log: Log,
    headers: Option<Headers>,
    /// By handle: packets that are or were queued.
    seen: Vec<ProbedPacket>,
    /// Arrivals at each link.
    arrivals: Vec<u32>,
}

/// A packet as it was offered to a queue.
#[derive(Clone, Copy)]
struct ProbedPacket {
    at: Instant,
    meta: Meta,
    link: u16,
    arrival: u32,
    is_queued: bool,
}

recorder! {
    Log("packets") {
        time_ns: u64 => U64,
        link: u16 => U16,
        flow: u32 => U32,
        bytes: u32 => U32,
        sojourn_ns: u64 => U64,
        fate: u8 => U8,
        arrival: u32 => U32,
        ecn: u8 => U8,
        from_host: u32 => U32,
        to_host: u32 => U32,
    }
}

recorder! {
    Waiting("waiting") {
        time_ns: u64 => U64,
        link: u16 => U16,
        flow: u32 => U32,
        bytes: u32 => U32,
        arrival: u32 => U32,
        ecn: u8 => U8,
        from_host: u32 => U32,
        to_host: u32 => U32,
    }
}

recorder! {
    Headers("headers") {
        link: u16 => U16,
        arrival: u32 => U32,
        to_sink: u8 => U8,
        ip_bytes: u32 => U32,
        seq: u64 => U64,
        ack: u64 => U64,
        payload: u32 => U32,
        flags: u8 => U8,
        ts_val: u32 => U32,
        ts_ecr: u32 => U32,
        sack1_from: u64 => U64,
        sack1_to: u64 => U64,
        sack2_from: u64 => U64,
        sack2_to: u64 => U64,
        sack3_from: u64 => U64,
        sack3_to: u64 => U64,
    }
}

impl Headers {
    fn record(&mut self, seen: &ProbedPacket, packet: &Packet, header: &Header) {
        let (to_sink, ip_bytes) = (packet.to_sink as u8, packet.len);
        let Header { seq, ack, ts_val, ts_ecr, .. } = *header;
        let (payload, flags) = (header.len as u32, header.flags.bits());
        let mut sack = [(0, 0); Sack::MAX_BLOCKS];
        let blocks = header.sack.blocks();
        sack[..blocks.len()].copy_from_slice(blocks);
        let [(a, b), (c, d), (e, f)] = sack;
        self.push(
            seen.link,
            seen.arrival,
            to_sink,
            ip_bytes,
            seq,
            ack,
            payload,
            flags,
            ts_val,
            ts_ecr,
            a,
            b,
            c,
            d,
            e,
            f,
        );
    }
}

impl PacketRecorder {
    /// Bytes per row of `packets`, and of `headers`.
    pub const ROW_BYTES: u64 = Log::ROW_BYTES;
    pub const HEADERS_ROW_BYTES: u64 = Headers::ROW_BYTES;
    /// Memory per packet in flight.
    pub const PACKET_BYTES: u64 = size_of::<ProbedPacket>() as u64;

    fn push(&mut self, event: QueueEvent<'_>, fate: u8) {
        let QueueEvent { at: now, link, packet, meta } = event;
        let sojourn = (now - meta.enqueued).as_nanos() as u64;
        let seen = &mut self.seen[packet as usize];
        seen.is_queued = false;
        let (ecn, (from, to)) = (seen.meta.ecn as u8, meta.hosts);
        let (time, arrival) = (now.as_nanos(), seen.arrival);
        self.log.push(time, link as u16, meta.flow, meta.len, sojourn, fate, arrival, ecn, from, to);
    }

    fn waiting(&self) -> Waiting {
        let mut left: Vec<&ProbedPacket> = self.seen.iter().filter(|seen| seen.is_queued).collect();
        left.sort_by_key(|seen| (seen.link, seen.arrival));
        let mut table = Waiting::default();
        for ProbedPacket { at, meta, link, arrival, .. } in left {
            let (from, to) = meta.hosts;
            table.push(at.as_nanos(), *link, meta.flow, meta.len, *arrival, meta.ecn as u8, from, to);
        }
        table
    }
}

impl Probe for PacketRecorder {
    fn arrived(&mut self, event: QueueEvent<'_>, packets: &Packets) {
        let QueueEvent { at, link, packet, meta } = event;
        let index = packet as usize;
        if link >= self.arrivals.len() {
            self.arrivals.resize(link + 1, 0);
        }
        let seen = ProbedPacket { at, meta: *meta, link: link as u16, arrival: self.arrivals[link], is_queued: true };
        if let Some(headers) = &mut self.headers {
            headers.record(&seen, packets.packet(packet), &packets.header(packet));
        }
        self.arrivals[link] += 1;
        if index >= self.seen.len() {
            // Handles in between belong to packets that have not reached a queue.
            self.seen.resize(index + 1, ProbedPacket { is_queued: false, ..seen });
        }
        self.seen[index] = seen;
    }

    fn sent(&mut self, event: QueueEvent<'_>, newly_marked: bool, _packets: &Packets) {
        self.push(event, if newly_marked { SENT_MARKED } else { SENT });
    }

    fn dropped(&mut self, event: QueueEvent<'_>, reason: DropReason, _packets: &Packets) {
        self.push(event, fate_of_drop(reason));
    }
}

impl Recorder for PacketRecorder {
    fn new(wanted: &scenario::Probes) -> Self {
        let headers = wanted.headers.then(Headers::default);
        Self { log: Log::default(), headers, seen: Vec::new(), arrivals: Vec::new() }
    }

    fn take(&mut self, min_rows: usize, taken: &mut Vec<Table>) {
        taken.extend(self.log.take(min_rows));
        taken.extend(self.headers.as_mut().and_then(|headers| headers.take(min_rows)));
    }

    fn tables(self) -> Vec<Table> {
        let waiting = self.waiting();
        let mut tables = vec![self.log.into_table(), waiting.into_table()];
        tables.extend(self.headers.map(Headers::into_table));
        tables
    }
}

/// Records every packet, drops, sender events, or several of these, and captures packets.
pub(crate) struct CombinedRecorder {
    capture: Option<Box<PacketCapture>>,
    packets: Option<PacketRecorder>,
    drops: Option<DropRecorder>,
    senders: Option<SenderRecorder>,
}

impl Probe for CombinedRecorder {
    fn arrived(&mut self, event: QueueEvent<'_>, packets: &Packets) {
        if let Some(capture) = &mut self.capture {
            capture.arrived(event, packets);
        }
        if let Some(probe) = &mut self.packets {
            probe.arrived(event, packets);
        }
        if let Some(probe) = &mut self.drops {
            probe.arrived(event);
        }
    }

    fn sent(&mut self, event: QueueEvent<'_>, newly_marked: bool, packets: &Packets) {
        if let Some(capture) = &mut self.capture {
            capture.sent(event, newly_marked, packets);
        }
        if let Some(probe) = &mut self.packets {
            probe.sent(event, newly_marked, packets);
        }
    }

    fn dropped(&mut self, event: QueueEvent<'_>, reason: DropReason, packets: &Packets) {
        if let Some(capture) = &mut self.capture {
            capture.dropped(event, reason, packets);
        }
        if let Some(probe) = &mut self.packets {
            probe.dropped(event, reason, packets);
        }
        if let Some(probe) = &mut self.drops {
            probe.dropped(event, reason);
        }
    }

    fn observes_senders(&self) -> bool {
        self.senders.is_some()
    }

    fn on_sender_event(&mut self, now: Instant, sender: SenderId, event: SenderEvent<'_>) {
        if let Some(probe) = &mut self.senders {
            probe.record(now, sender, event);
        }
    }
}

impl Recorder for CombinedRecorder {
    fn new(wanted: &scenario::Probes) -> Self {
        let packets = wanted.packets.then(|| PacketRecorder::new(wanted));
        let drops = wanted.of_drops().then(DropRecorder::default);
        Self { capture: None, packets, drops, senders: wanted.of_senders().then(SenderRecorder::default) }
    }

    fn start_capture(&mut self, capture: PacketCapture) {
        self.capture = Some(Box::new(capture));
    }

    fn end_capture(&mut self) -> io::Result<()> {
        self.capture.take().map_or(Ok(()), |capture| capture.finish())
    }

    fn waiting(&self) -> Option<Table> {
        self.packets.as_ref().map(|probe| probe.waiting().into_table())
    }

    fn take_packets(&mut self) -> Option<Table> {
        self.packets.as_mut().and_then(|probe| probe.log.take(1))
    }

    fn take(&mut self, min_rows: usize, taken: &mut Vec<Table>) {
        if let Some(probe) = &mut self.packets {
            probe.take(min_rows, taken);
        }
        taken.extend(self.drops.as_mut().and_then(|drops| drops.take(min_rows)));
        if let Some(probe) = &mut self.senders {
            probe.take(min_rows, taken);
        }
    }

    fn tables(self) -> Vec<Table> {
        let mut tables = self.packets.map_or_else(Vec::new, PacketRecorder::tables);
        tables.extend(self.drops.map(DropRecorder::into_table));
        tables.extend(self.senders.into_iter().flat_map(SenderRecorder::into_tables));
        tables
    }
}
