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

    /// A packet's transport header.
    #[inline]
    pub fn header(&self, handle: Handle) -> &Header {
        &self.headers[handle as usize]
    }
}
