//! Packets in flight: a record of one cache line each, and apart from them the SACK blocks that few of them have.

use crate::devices::Devices;
use sojourn_aqm::class::ClassId;
use sojourn_aqm::{Ecn, Instant, Meta};
use sojourn_tcp::{Flags, Header, Sack};

/// Names a packet in flight.
pub type Handle = u32;

/// The part of a packet that every link touches.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Number of the flow it belongs to, which no other flow of the run has.
    pub flow: u32,
    /// Where the flow's ends and its route are.
    pub slot: u32,
    /// IP bytes.
    pub len: u32,
    /// ECN field as sent.
    pub ecn: Ecn,
    /// Differentiated services code point, which a queue may clear.
    pub dscp: u8,
    /// Links of its path that it has still to cross behind the present one.
    pub hops_left: u16,
    /// Payload of each segment but the last of a super-packet; 0 for a packet.
    pub segment: u16,
    /// Whether it travels from the flow's source to its sink (else: an acknowledgment on the reverse path).
    pub to_sink: bool,
}

/// What an end learns of a packet that reaches it, besides its header.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedPacket {
    /// IP bytes.
    pub len: u32,
    /// Payload of each segment but the last of a super-packet; 0 for a packet.
    pub segment: u16,
    /// ECN field as received.
    pub ecn: Ecn,
    /// Whether it has reached its sink, else its source.
    pub to_sink: bool,
}

/// What a queue learns of a packet from the flow that sends it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Origin {
    /// The sending and the receiving host.
    pub hosts: (u32, u32),
    /// The class that the flow names.
    pub class: ClassId,
    /// The number by which queues know the flow, or the tunnel that it is in.
    pub flow: u32,
}

/// A packet that arrives at a queue.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub handle: Handle,
    pub packet: Packet,
    pub origin: Origin,
}

impl Packet {
    /// What a queue that counts it as `len` bytes knows of it.
    #[inline(always)]
    pub fn meta(&self, len: u32, Origin { hosts, class, flow }: Origin) -> Meta {
        Meta { ecn: self.ecn, dscp: self.dscp, hosts, class, ..Meta::new(len, flow) }
    }
}

/// All packets in flight. A freed place is used again, so it grows to the largest number at a time and stays.
#[derive(Debug)]
pub struct Packets {
    records: Vec<Record>,
    /// The place that was freed last, which names the one before; [`NONE`] if there is none.
    free: Handle,
    /// The SACK blocks of packets that have any, and the places of those that are no more.
    sacks: Vec<Sack>,
    free_sacks: Vec<u32>,
    /// What waits in the devices of hosts, where there are any.
    pub devices: Option<Box<Devices>>,
}

/// A packet with its transport header, but for the SACK blocks: one cache line.
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
    /// [`SACKS`], [`DAMAGED`], [`TIMED`].
    marks: u8,
    /// Where its SACK blocks lie, if there are any; of a free place the one that was freed before.
    next: u32,
}

impl Record {
    /// A place for a packet.
    fn empty() -> Self {
        let (flow, slot, len, dscp, more, segment) = (0, 0, 0, 0, 0, 0);
        let packet = Packet { flow, slot, len, ecn: Ecn::NotEct, dscp, hops_left: more, segment, to_sink: false };
        let (ts_val, ts_ecr, window, flags) = (0, 0, 0, Flags::default());
        Self { packet, seq: 0, ack: 0, ts_val, ts_ecr, window, len: 0, flags, marks: 0, next: NONE }
    }

    /// Field by field, where it lies: what is made elsewhere first is copied.
    #[inline(always)]
    fn write_packet(&mut self, packet: Packet) {
        let Packet { flow, slot, len, ecn, dscp, hops_left: more, segment, to_sink } = packet;
        let place = &mut self.packet;
        (place.flow, place.slot, place.len, place.ecn) = (flow, slot, len, ecn);
        (place.dscp, place.hops_left, place.segment, place.to_sink) = (dscp, more, segment, to_sink);
    }

    /// The same of a transport header.
    #[inline(always)]
    fn set(&mut self, header: &Header) {
        (self.seq, self.ack) = (header.seq, header.ack);
        (self.ts_val, self.ts_ecr, self.window) = (header.ts_val, header.ts_ecr, header.window);
        (self.len, self.flags) = (header.len, header.flags);
        self.marks = if header.sack.is_empty() { 0 } else { SACKS };
    }

    /// The same the other way.
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

/// There are SACK blocks.
const SACKS: u8 = 1;
/// A bit was flipped on the way, so that the checksum at the end is wrong.
const DAMAGED: u8 = 2;
/// Its sender has said when it is to leave its host's device.
const TIMED: u8 = 4;

/// Bytes that a list takes when it grows next, if it may within so many elements more; else none.
pub fn next_size<T>(list: &Vec<T>, more: u64) -> u64 {
    let (len, capacity) = (list.len() as u64, list.capacity() as u64);
    if len.saturating_add(more) > capacity { 2 * capacity * size_of::<T>() as u64 } else { 0 }
}

/// No place.
const NONE: Handle = Handle::MAX;

impl Default for Packets {
    fn default() -> Self {
        Self { records: Vec::new(), free: NONE, sacks: Vec::new(), free_sacks: Vec::new(), devices: None }
    }
}

impl Packets {
    /// Bytes that the records are to take when they grow next, if they may within so many packets more; else none.
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

    /// Keeps the SACK blocks of a packet.
    #[inline]
    fn keep_sacks(&mut self, handle: Handle, sack: Sack) {
        let place = match self.free_sacks.pop() {
            Some(place) => {
                self.sacks[place as usize] = sack;
                place
            }
            None => {
                self.sacks.push(sack);
                (self.sacks.len() - 1) as u32
            }
        };
        self.records[handle as usize].next = place;
    }

    /// A place for a packet: the one that was freed last, or a new one.
    #[inline(always)]
    fn allocate(&mut self) -> Handle {
        let handle = if self.free == NONE { self.append() } else { self.free };
        self.free = self.records[handle as usize].next;
        handle
    }

    /// A new place.
    #[cold]
    #[inline(never)]
    fn append(&mut self) -> Handle {
        self.records.push(Record::empty());
        (self.records.len() - 1) as Handle
    }

    /// Puts a header with the same SACK blocks in the place of a packet's own.
    fn set_header(&mut self, handle: Handle, header: &Header) {
        self.records[handle as usize].set(header);
    }

    /// A packet, whose transport header goes into the place of `header`; it is forgotten.
    #[inline(always)]
    pub fn take(&mut self, handle: Handle, header: &mut Header) -> Packet {
        let record = &self.records[handle as usize];
        record.write(header, &self.sacks);
        let packet = record.packet;
        self.remove(handle);
        packet
    }

    /// Stores a second packet like `handle`, which waits in link `link`.
    pub fn copy(&mut self, link: usize, handle: Handle) -> Handle {
        let copy = self.allocate();
        let record = self.records[handle as usize];
        self.records[copy as usize] = record;
        if record.marks & SACKS != 0 {
            self.keep_sacks(copy, self.sacks[record.next as usize]);
        }
        self.copy_in_device(link, copy);
        copy
    }

    /// A bit of a packet is flipped.
    pub fn damage(&mut self, handle: Handle) {
        self.records[handle as usize].marks |= DAMAGED;
    }

    /// Whether a bit of a packet was flipped, also of one that was just [taken](Packets::take).
    pub fn is_damaged(&self, handle: Handle) -> bool {
        self.records[handle as usize].marks & DAMAGED != 0
    }

    /// Forgets a packet.
    #[inline(always)]
    pub fn remove(&mut self, handle: Handle) {
        let record = &mut self.records[handle as usize];
        if record.marks & SACKS != 0 {
            self.free_sacks.push(record.next);
        }
        record.next = std::mem::replace(&mut self.free, handle);
    }

    /// Forgets a packet that link `link` has dropped or lost.
    #[inline(always)]
    pub fn drop_in_link(&mut self, link: usize, handle: Handle) {
        if self.devices.is_some() {
            self.leave_device(link, handle);
        }
        self.remove(handle);
    }

    /// A packet has begun to leave link `link`, or is dropped there: if that is its sender's device, it waits no longer.
    #[inline(never)]
    pub fn leave_device(&mut self, link: usize, handle: Handle) {
        let Record { packet, len, .. } = &self.records[handle as usize];
        if let Some(devices) = &mut self.devices {
            devices.on_departure(link, packet, *len);
        }
    }

    /// A packet enters link `link`: if that is its sender's device, it waits there.
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

    /// When a packet is to leave its host's device at the earliest, if its sender has said so.
    pub fn departure(&self, handle: Handle) -> Option<Instant> {
        let devices = self.devices.as_ref().filter(|_| self.records[handle as usize].marks & TIMED != 0);
        devices.map(|devices| devices.departure(handle))
    }

    /// What link `link` is sending: the `rest` of a super-packet, or nothing of the kind.
    pub fn cut_in_device(&mut self, link: usize, rest: Option<Handle>) {
        let rest = rest.map(|rest| (*self.packet(rest), self.segments(rest).0));
        if let Some(devices) = &mut self.devices {
            devices.cut(link, rest.as_ref().map(|(packet, segments)| (packet, *segments)));
        }
    }

    /// A second packet `copy` was made in link `link`.
    fn copy_in_device(&mut self, link: usize, copy: Handle) {
        let Record { packet, len, .. } = &self.records[copy as usize];
        if let Some(devices) = &mut self.devices {
            devices.copy(link, packet, *len);
        }
    }

    /// A packet's record.
    #[inline]
    pub fn packet(&self, handle: Handle) -> &Packet {
        &self.records[handle as usize].packet
    }

    /// A packet's record.
    #[inline]
    pub fn packet_mut(&mut self, handle: Handle) -> &mut Packet {
        &mut self.records[handle as usize].packet
    }

    /// Segments of a super-packet, 1 of a packet; the IP bytes of each but the last, and of the last.
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

    /// Takes the first segment off a super-packet, as a packet of its own. The last one is what is left of it.
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
        let mut rest = self.header(handle);
        let header = rest.cut(size);
        self.set_header(handle, &rest);
        self.insert(first, &header)
    }

    /// Makes `next` a segment of the packet or super-packet `head`, if it goes on where that ends. Whether it does.
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

    /// Bytes of a packet's payload.
    #[inline]
    pub fn payload(&self, handle: Handle) -> u16 {
        self.records[handle as usize].len
    }

    /// A packet's transport header.
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
