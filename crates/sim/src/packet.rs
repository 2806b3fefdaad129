//! Packets in flight: a record of one cache line each. SACK blocks are stored separately, because few packets have any.

use crate::devices::Devices;
use crate::payload::{Payload, Payloads, Place};
use sojourn_aqm::class::ClassId;
use sojourn_aqm::{Ecn, Instant, Meta, TcpView};
use sojourn_tcp::{Flags, Header, Sack};

/// Index of a packet in flight.
pub type Handle = u32;

/// The part of a packet that every link reads.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Number of its flow, unique in the run.
    pub flow: u32,
    /// Index of the flow's ends and route.
    pub slot: u32,
    /// IP bytes.
    pub len: u32,
    /// ECN field of the packet, as sent.
    pub ecn: Ecn,
    /// DSCP, which a queue may clear.
    pub dscp: u8,
    /// Links left on its path after the current one.
    pub hops_left: u16,
    /// Payload per segment of a super-packet (the last may have less); 0 for a packet.
    pub segment: u16,
    /// Whether it travels from the flow's source to its sink; otherwise it is an acknowledgment on the reverse path.
    pub to_sink: bool,
}

/// A packet as its receiver sees it, without its header.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedPacket {
    /// IP bytes.
    pub len: u32,
    /// Payload per segment of a super-packet (the last may have less); 0 for a packet.
    pub segment: u16,
    /// ECN field as received.
    pub ecn: Ecn,
    /// Whether it has reached its sink; otherwise its source.
    pub to_sink: bool,
}

/// Properties of a packet that its queue gets from the sending flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Origin {
    /// Sending and receiving host.
    pub hosts: (u32, u32),
    /// The class that the flow names.
    pub class: ClassId,
    /// The number of the flow for queues: its own, or that of its tunnel.
    pub flow: u32,
}

/// A packet that is offered to a queue.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub handle: Handle,
    pub packet: Packet,
    pub origin: Origin,
}

impl Packet {
    /// The metadata for a queue that counts the packet as `len` bytes.
    #[inline(always)]
    pub fn meta(&self, len: u32, Origin { hosts, class, flow }: Origin) -> Meta {
        Meta { ecn: self.ecn, dscp: self.dscp, hosts, class, ..Meta::new(len, flow) }
    }
}

/// All packets in flight. Freed records are reused, so the table grows to the maximum number in flight and stays there.
#[derive(Debug)]
pub struct Packets {
    records: Vec<Record>,
    /// Head of the free list, linked through [`Record::next`]; [`NONE`] if it is empty.
    free: Handle,
    /// SACK blocks of packets that have any, and free entries among them.
    sacks: Vec<Sack>,
    free_sacks: Vec<u32>,
    /// The devices of hosts, if the scenario has any.
    pub devices: Option<Box<Devices>>,
    /// Payloads of the datagrams of endpoints.
    pub payloads: Payloads,
}

/// A packet with its transport header, without SACK blocks: one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Record {
    packet: Packet,
    seq: u64,
    ack: u64,
    ts_val: u32,
    ts_ecr: u32,
    window: u32,
    len: u16,
    flags: Flags,
    /// Bits [`SACKS`], [`DAMAGED`], [`TIMED`], [`PAYLOAD`].
    marks: u8,
    /// Index of its SACK blocks, if any; of a free record the next free one.
    next: u32,
}

impl Record {
    /// A free record.
    fn empty() -> Self {
        let (flow, slot, len, dscp, hops_left, segment) = (0, 0, 0, 0, 0, 0);
        let packet = Packet { flow, slot, len, ecn: Ecn::NotEct, dscp, hops_left, segment, to_sink: false };
        let (ts_val, ts_ecr, window, flags) = (0, 0, 0, Flags::default());
        Self { packet, seq: 0, ack: 0, ts_val, ts_ecr, window, len: 0, flags, marks: 0, next: NONE }
    }

    /// Writes field by field in place: a packet, or a header that another function may read, would first be built in
    /// memory and then copied.
    #[inline(always)]
    fn write_packet(&mut self, packet: Packet) {
        let Packet { flow, slot, len, ecn, dscp, hops_left, segment, to_sink } = packet;
        let own = &mut self.packet;
        (own.flow, own.slot, own.len, own.ecn) = (flow, slot, len, ecn);
        (own.dscp, own.hops_left, own.segment, own.to_sink) = (dscp, hops_left, segment, to_sink);
    }

    /// Writes a transport header, likewise field by field.
    #[inline(always)]
    fn set(&mut self, header: &Header) {
        (self.seq, self.ack) = (header.seq, header.ack);
        (self.ts_val, self.ts_ecr, self.window) = (header.ts_val, header.ts_ecr, header.window);
        (self.len, self.flags) = (header.len, header.flags);
        self.marks = if header.sack.is_empty() { 0 } else { SACKS };
    }

    /// Reads the transport header into `header`, likewise.
    #[inline(always)]
    fn write(&self, header: &mut Header, sacks: &[Sack]) {
        (header.seq, header.ack) = (self.seq, self.ack);
        (header.ts_val, header.ts_ecr, header.window) = (self.ts_val, self.ts_ecr, self.window);
        (header.len, header.flags) = (self.len, self.flags);
        if self.marks & SACKS != 0 {
            header.sack = sacks[self.next as usize];
        } else {
            header.sack.clear();
        }
    }
}

/// The packet has SACK blocks.
const SACKS: u8 = 1;
/// A bit was flipped in transit, so the receiver's checksum fails.
const DAMAGED: u8 = 2;
/// Its sender has set the time at which it may leave the host's device.
const TIMED: u8 = 4;
/// Its bytes are a program's: `seq` is a [`Place`] among [`Packets::payloads`].
const PAYLOAD: u8 = 8;

/// Bytes that a vector will allocate when it next grows, if that may happen within `more` elements; otherwise 0.
pub fn next_size<T>(list: &Vec<T>, more: u64) -> u64 {
    let (len, capacity) = (list.len() as u64, list.capacity() as u64);
    if len.saturating_add(more) > capacity { 2 * capacity * size_of::<T>() as u64 } else { 0 }
}

/// Sentinel: no record.
const NONE: Handle = Handle::MAX;

impl Default for Packets {
    fn default() -> Self {
        let (records, sacks, free_sacks) = (Vec::new(), Vec::new(), Vec::new());
        Self { records, free: NONE, sacks, free_sacks, devices: None, payloads: Payloads::default() }
    }
}

impl Packets {
    /// Bytes that the records will allocate when they next grow, if that may happen within `packets` more; otherwise 0.
    pub fn growth(&self, packets: u64) -> u64 {
        let Self { records, sacks, .. } = self;
        next_size(records, packets).max(next_size(sacks, packets))
    }

    /// Stores a packet.
    #[inline(always)]
    pub fn insert(&mut self, packet: Packet, header: &Header) -> Handle {
        let handle = self.allocate();
        let record = &mut self.records[handle as usize];
        record.write_packet(packet);
        record.set(header);
        if record.marks & SACKS != 0 {
            self.keep_sacks(handle, header.sack);
        }
        handle
    }

    /// Stores a packet whose payload is at the place in its header's `seq`; that place already counts it.
    #[inline(always)]
    pub fn insert_with_payload(&mut self, packet: Packet, header: &Header) -> Handle {
        let handle = self.insert(packet, header);
        self.records[handle as usize].marks |= PAYLOAD;
        handle
    }

    /// The payload that packet `handle` carries a part of, if it is a program's; valid also just after the packet was
    /// [taken](Packets::take).
    pub fn payload_of(&self, handle: Handle) -> Option<&Payload> {
        let record = &self.records[handle as usize];
        (record.marks & PAYLOAD != 0).then(|| self.payloads.get(Place::of(record.seq).index))
    }

    /// The TCP header of a packet as on the wire, if it has one.
    pub fn tcp_view(&self, handle: Handle) -> Option<TcpView> {
        match self.payload_of(handle) {
            None => self.header(handle).view(),
            Some(payload) if payload.info.is_ip => TcpView::of_ip(&payload.bytes),
            Some(_) => None,
        }
    }

    /// Releases the payload of a packet that was [taken](Packets::take), if it has one.
    pub fn release_payload(&mut self, handle: Handle) {
        let Record { marks, seq, .. } = self.records[handle as usize];
        if marks & PAYLOAD != 0 {
            self.payloads.release(Place::of(seq).index);
        }
    }

    /// Stores the SACK blocks of a packet.
    #[inline]
    fn keep_sacks(&mut self, handle: Handle, sack: Sack) {
        let index = match self.free_sacks.pop() {
            Some(index) => {
                self.sacks[index as usize] = sack;
                index
            }
            None => {
                self.sacks.push(sack);
                (self.sacks.len() - 1) as u32
            }
        };
        self.records[handle as usize].next = index;
    }

    /// Allocates a record: the one freed last, or a new one.
    #[inline(always)]
    fn allocate(&mut self) -> Handle {
        let handle = if self.free == NONE { self.append() } else { self.free };
        self.free = self.records[handle as usize].next;
        handle
    }

    /// Appends a record.
    #[cold]
    #[inline(never)]
    fn append(&mut self) -> Handle {
        self.records.push(Record::empty());
        (self.records.len() - 1) as Handle
    }

    /// Replaces a packet's header by one with the same SACK blocks.
    fn set_header(&mut self, handle: Handle, header: &Header) {
        let record = &mut self.records[handle as usize];
        let payload = record.marks & PAYLOAD;
        record.set(header);
        record.marks |= payload;
    }

    /// Removes a packet and writes its transport header into `header`. Its payload, if it has one, is the caller's to
    /// [release](Packets::release_payload).
    #[inline(always)]
    pub fn take(&mut self, handle: Handle, header: &mut Header) -> Packet {
        let record = &self.records[handle as usize];
        record.write(header, &self.sacks);
        let packet = record.packet;
        self.free_record(handle);
        packet
    }

    /// Duplicates packet `handle`, which is in link `link`.
    pub fn copy(&mut self, link: usize, handle: Handle) -> Handle {
        let copy = self.allocate();
        let record = self.records[handle as usize];
        self.records[copy as usize] = record;
        if record.marks & SACKS != 0 {
            self.keep_sacks(copy, self.sacks[record.next as usize]);
        }
        if record.marks & PAYLOAD != 0 {
            self.payloads.retain(Place::of(record.seq).index);
        }
        self.copy_in_device(link, copy);
        copy
    }

    /// Marks a packet as corrupted.
    pub fn damage(&mut self, handle: Handle) {
        self.records[handle as usize].marks |= DAMAGED;
    }

    /// Whether a packet was corrupted; valid also just after it was [taken](Packets::take).
    pub fn is_damaged(&self, handle: Handle) -> bool {
        self.records[handle as usize].marks & DAMAGED != 0
    }

    /// Removes a packet.
    #[inline(always)]
    pub fn remove(&mut self, handle: Handle) {
        if self.records[handle as usize].marks & PAYLOAD != 0 {
            self.release_payload(handle);
        }
        self.free_record(handle);
    }

    /// Frees a packet's record, and its SACK blocks.
    #[inline(always)]
    fn free_record(&mut self, handle: Handle) {
        let record = &mut self.records[handle as usize];
        if record.marks & SACKS != 0 {
            self.free_sacks.push(record.next);
        }
        record.next = std::mem::replace(&mut self.free, handle);
    }

    /// Removes a packet that link `link` dropped or lost.
    #[inline(always)]
    pub fn drop_in_link(&mut self, link: usize, handle: Handle) {
        if self.devices.is_some() {
            self.leave_device(link, handle);
        }
        self.remove(handle);
    }

    /// Subtracts a packet that starts to leave link `link`, or is dropped there, from its sender's device, if that is
    /// the link.
    #[inline(never)]
    pub fn leave_device(&mut self, link: usize, handle: Handle) {
        let Record { packet, len, .. } = &self.records[handle as usize];
        if let Some(devices) = &mut self.devices {
            devices.on_departure(link, packet, *len);
        }
    }

    /// Counts a packet that enters its sender's device.
    #[inline(never)]
    pub fn enter_device(&mut self, handle: Handle) {
        let (segments, _, _) = self.segments(handle);
        let Record { packet, len, .. } = &self.records[handle as usize];
        if let Some(devices) = &mut self.devices {
            devices.on_enqueue(packet, *len, segments);
            if devices.take_departure(handle) {
                self.records[handle as usize].marks |= TIMED;
            }
        }
    }

    /// Earliest departure time of a packet from its host's device, if its sender set one.
    pub fn departure(&self, handle: Handle) -> Option<Instant> {
        let devices = self.devices.as_ref().filter(|_| self.records[handle as usize].marks & TIMED != 0);
        devices.map(|devices| devices.departure(handle))
    }

    /// Notes what link `link` is sending: `rest`, the remainder of a super-packet, or an ordinary packet.
    pub fn cut_in_device(&mut self, link: usize, rest: Option<Handle>) {
        let rest = rest.map(|rest| (*self.packet(rest), self.segments(rest).0));
        if let Some(devices) = &mut self.devices {
            devices.cut(link, rest.as_ref().map(|(packet, segments)| (packet, *segments)));
        }
    }

    /// Counts the duplicate `copy` made in link `link`.
    fn copy_in_device(&mut self, link: usize, copy: Handle) {
        let Record { packet, len, .. } = &self.records[copy as usize];
        if let Some(devices) = &mut self.devices {
            devices.copy(link, packet, *len);
        }
    }

    /// The part of a packet that links read.
    #[inline]
    pub fn packet(&self, handle: Handle) -> &Packet {
        &self.records[handle as usize].packet
    }

    /// The part of a packet that links read, mutable.
    #[inline]
    pub fn packet_mut(&mut self, handle: Handle) -> &mut Packet {
        &mut self.records[handle as usize].packet
    }

    /// Segments of a super-packet (1 for a packet), IP bytes of each but the last, and of the last.
    pub fn segments(&self, handle: Handle) -> (u32, u32, u32) {
        let Record { packet, len, .. } = &self.records[handle as usize];
        if packet.segment == 0 {
            return (1, packet.len, packet.len);
        }
        let (payload, each) = (u32::from(*len), u32::from(packet.segment));
        let count = payload.div_ceil(each);
        let headers = (packet.len - payload) / count;
        (count, headers + each, headers + payload - (count - 1) * each)
    }

    /// Splits the first segment off a super-packet, as a packet of its own; the last one keeps the handle.
    pub fn take_segment(&mut self, handle: Handle) -> Handle {
        let (count, each, _) = self.segments(handle);
        let packet = self.packet_mut(handle);
        if count == 1 {
            packet.segment = 0;
            return handle;
        }
        let first = Packet { len: each, segment: 0, ..*packet };
        let size = packet.segment;
        packet.len -= each;
        let mut remainder = self.header(handle);
        let header = remainder.cut(size);
        self.set_header(handle, &remainder);
        if self.records[handle as usize].marks & PAYLOAD == 0 {
            return self.insert(first, &header);
        }
        self.payloads.retain(Place::of(header.seq).index);
        self.insert_with_payload(first, &header)
    }

    /// Appends `next` as a segment to packet or super-packet `head` if it continues it. Returns whether it did.
    pub fn join(&mut self, head: Handle, next: Handle) -> bool {
        let (first, second) = (*self.packet(head), *self.packet(next));
        let same = |packet: &Packet| (packet.flow, packet.slot, packet.to_sink, packet.ecn);
        let (mut header, next_header) = (self.header(head), self.header(next));
        let size = if first.segment > 0 { first.segment } else { header.len };
        let damaged = self.is_damaged(head) || self.is_damaged(next);
        if damaged || second.segment > 0 || same(&first) != same(&second) || !header.is_continued_by(&next_header, size)
        {
            return false;
        }
        header.join(&next_header);
        self.set_header(head, &header);
        let head = self.packet_mut(head);
        (head.segment, head.len) = (size, head.len + second.len);
        self.remove(next);
        true
    }

    /// Payload bytes of a packet.
    #[inline]
    pub fn payload(&self, handle: Handle) -> u16 {
        self.records[handle as usize].len
    }

    /// The transport header of a packet.
    #[inline]
    pub fn header(&self, handle: Handle) -> Header {
        let mut header = Header::default();
        self.records[handle as usize].write(&mut header, &self.sacks);
        header
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_tcp::Flags;

    fn insert(packets: &mut Packets, seq: u64, len: u16, flags: Flags) -> Handle {
        let header = Header { seq, len, flags: Flags::ACK.with(flags), ack: 1, ..Header::default() };
        let ip_len = header.ip_len();
        let packet =
            Packet { flow: 3, slot: 2, len: ip_len, ecn: Ecn::Ect0, dscp: 0, hops_left: 1, segment: 0, to_sink: true };
        packets.insert(packet, &header)
    }

    #[test]
    fn segments_are_joined_and_taken_off_again() {
        let mut packets = Packets::default();
        let lens = [1_001, 1_001, 1_001, 333];
        let none = Flags::default();
        let mut seq = 1;
        let handles = lens.map(|len| {
            let flags = if len == 333 { Flags::PSH } else { none };
            let handle = insert(&mut packets, seq, len, flags);
            seq += u64::from(len);
            handle
        });
        assert_eq!(packets.segments(handles[0]), (1, 1_053, 1_053));
        handles[1..].iter().for_each(|&next| assert!(packets.join(handles[0], next)));
        assert_eq!(packets.segments(handles[0]), (4, 1_053, 385));
        assert_eq!((packets.packet(handles[0]).len, packets.header(handles[0]).len), (3 * 1_053 + 385, 3_336));
        let other = insert(&mut packets, seq, 1_001, none);
        assert!(!packets.join(handles[0], other), "it has been pushed");
        let mut seen = Vec::new();
        loop {
            let segment = packets.take_segment(handles[0]);
            let (packet, header) = (packets.packet(segment), packets.header(segment));
            seen.push((packet.len, packet.segment, header.seq, header.len, header.flags.contains(Flags::PSH)));
            if segment == handles[0] {
                break;
            }
        }
        let expected = [
            (1_053, 0, 1, 1_001, false),
            (1_053, 0, 1_002, 1_001, false),
            (1_053, 0, 2_003, 1_001, false),
            (385, 0, 3_004, 333, true),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn packets_of_other_flows_directions_or_marks_stay_apart() {
        let mut packets = Packets::default();
        let change: [fn(&mut Packet); 4] = [|p| p.flow = 4, |p| p.slot = 3, |p| p.to_sink = false, |p| p.ecn = Ecn::Ce];
        for change in change {
            let head = insert(&mut packets, 1, 1_000, Flags::default());
            let next = insert(&mut packets, 1_001, 1_000, Flags::default());
            change(packets.packet_mut(next));
            assert!(!packets.join(head, next));
        }
    }

    #[test]
    fn sack_blocks_lie_apart_and_their_places_are_used_again() {
        let mut packets = Packets::default();
        let with = |blocks: &[(u64, u64)]| {
            let mut header = Header { flags: Flags::ACK, ack: 1, ..Header::default() };
            blocks.iter().for_each(|&block| header.sack.push(block));
            header
        };
        let put = |packets: &mut Packets, header: &Header| {
            let packet = Packet {
                flow: 0,
                slot: 0,
                len: 52,
                ecn: Ecn::NotEct,
                dscp: 0,
                hops_left: 0,
                segment: 0,
                to_sink: false,
            };
            packets.insert(packet, header)
        };
        let headers = [with(&[(5, 9)]), with(&[]), with(&[(7, 8), (2, 3)]), with(&[(1, 2)])];
        let handles = headers.map(|header| put(&mut packets, &header));
        assert_eq!(handles.map(|handle| packets.header(handle)), headers);
        let copy = packets.copy(0, handles[2]);
        let mut header = Header::default();
        packets.take(handles[2], &mut header);
        assert_eq!((header, packets.header(copy)), (headers[2], headers[2]));
        packets.remove(handles[0]);
        let again = [with(&[(11, 12)]), with(&[(13, 14)])];
        let handles_again = again.map(|header| put(&mut packets, &header));
        assert_eq!(handles_again.map(|handle| packets.header(handle)), again);
        assert_eq!((packets.header(copy), packets.header(handles[3])), (headers[2], headers[3]));
        assert_eq!(packets.sacks.len(), 4, "as many as there were at a time");
    }
}
