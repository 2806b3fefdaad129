//! Packets in flight: small fixed records in a slab, transport headers in a parallel slab.

use sojourn_aqm::class::ClassId;
use sojourn_aqm::{Ecn, Meta};
use sojourn_tcp::Header;

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
    pub more: u16,
    /// Payload of each segment but the last of a super-packet; 0 for a packet.
    pub segment: u16,
    /// Whether it travels from the flow's source to its sink (else: an acknowledgment on the reverse path).
    pub to_sink: bool,
}

/// What a queue learns of a packet from the flow that sends it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Origin {
    /// The sending and the receiving host.
    pub hosts: (u32, u32),
    /// The class that the flow names.
    pub class: ClassId,
}

impl Packet {
    /// What a queue that counts it as `len` bytes knows of it.
    #[inline(always)]
    pub fn meta(&self, len: u32, Origin { hosts, class }: Origin) -> Meta {
        Meta { ecn: self.ecn, dscp: self.dscp, hosts, class, ..Meta::new(len, self.flow) }
    }
}

/// All packets in flight. A freed place is used again, so it grows to the largest number at a time and stays.
#[derive(Debug, Default)]
pub struct Packets {
    hot: Vec<Packet>,
    headers: Vec<Header>,
    free: Vec<Handle>,
}

impl Packets {
    /// Stores a packet.
    #[inline]
    pub fn insert(&mut self, packet: Packet, header: &Header) -> Handle {
        if let Some(handle) = self.free.pop() {
            self.hot[handle as usize] = packet;
            self.headers[handle as usize] = *header;
            return handle;
        }
        self.hot.push(packet);
        self.headers.push(*header);
        (self.hot.len() - 1) as Handle
    }

    /// Forgets a packet.
    #[inline]
    pub fn remove(&mut self, handle: Handle) {
        self.free.push(handle);
    }

    /// A packet's record.
    #[inline]
    pub fn packet(&self, handle: Handle) -> &Packet {
        &self.hot[handle as usize]
    }

    /// A packet's record.
    #[inline]
    pub fn packet_mut(&mut self, handle: Handle) -> &mut Packet {
        &mut self.hot[handle as usize]
    }

    /// Segments of a super-packet, 1 of a packet; the IP bytes of each but the last, and of the last.
    pub fn segments(&self, handle: Handle) -> (u32, u32, u32) {
        let (packet, header) = (&self.hot[handle as usize], &self.headers[handle as usize]);
        if packet.segment == 0 {
            return (1, packet.len, packet.len);
        }
        let (payload, each) = (u32::from(header.len), u32::from(packet.segment));
        let count = payload.div_ceil(each);
        let headers = (packet.len - payload) / count;
        (count, headers + each, headers + payload - (count - 1) * each)
    }

    /// Takes the first segment off a super-packet, as a packet of its own. The last one is what is left of it.
    pub fn take_segment(&mut self, handle: Handle) -> Handle {
        let (count, each, _) = self.segments(handle);
        let place = handle as usize;
        if count == 1 {
            self.hot[place].segment = 0;
            return handle;
        }
        let size = self.hot[place].segment;
        let header = self.headers[place].cut(size);
        let packet = Packet { len: each, segment: 0, ..self.hot[place] };
        self.hot[place].len -= each;
        self.insert(packet, &header)
    }

    /// Makes `next` a segment of the packet or super-packet `head`, if it goes on where that ends. Whether it does.
    pub fn join(&mut self, head: Handle, next: Handle) -> bool {
        let (first, second) = (self.hot[head as usize], self.hot[next as usize]);
        let same = |packet: &Packet| (packet.flow, packet.slot, packet.to_sink, packet.ecn);
        let (header, next_header) = (self.headers[head as usize], self.headers[next as usize]);
        let size = if first.segment > 0 { first.segment } else { header.len };
        if second.segment > 0 || same(&first) != same(&second) || !header.is_continued_by(&next_header, size) {
            return false;
        }
        self.headers[head as usize].join(&next_header);
        let head = &mut self.hot[head as usize];
        (head.segment, head.len) = (size, head.len + second.len);
        self.remove(next);
        true
    }

    /// A packet's transport header.
    #[inline]
    pub fn header(&self, handle: Handle) -> &Header {
        &self.headers[handle as usize]
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
            Packet { flow: 3, slot: 2, len: ip_len, ecn: Ecn::Ect0, dscp: 0, more: 1, segment: 0, to_sink: true };
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
}
