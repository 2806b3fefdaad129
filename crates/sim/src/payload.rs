//! Payloads of datagrams in flight: the bytes that a program sends, beside the records of the packets that carry them.
//!
//! A packet's header has the index of its payload and the offset of its first byte in `seq` ([`Place`]). Links may
//! duplicate, cut, merge and drop packets: a payload is freed with the last packet that carries any part of it.

use crate::endpoint::Side;
use sojourn_aqm::headers::{UDP_BYTES, ip_bytes, set_ecn};
use sojourn_aqm::{Ecn, Instant};
use sojourn_tcp::Header;
use std::borrow::Cow;
use std::net::SocketAddr;

/// A datagram as its sender sent it, or several of one size (GSO).
#[derive(Clone, Debug)]
pub(crate) struct Payload {
    pub bytes: Vec<u8>,
    pub info: PayloadInfo,
    /// Packets, and events not yet taken, that carry a part of it.
    pub carriers: u32,
    /// Bitmap of the datagrams that have arrived.
    pub arrived: u64,
}

/// Properties of a payload, which do not change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PayloadInfo {
    /// Addresses on the wire.
    pub from: SocketAddr,
    pub to: SocketAddr,
    /// When it left its host, and its ECN field then.
    pub sent_at: Instant,
    pub ecn: Ecn,
    /// Whether the bytes are a whole IP packet; otherwise they are above UDP.
    pub is_ip: bool,
    /// Number of the tag that its sender gave it; 0 for none.
    pub tag: u8,
    /// Number of its first datagram among those of its end.
    pub number: u64,
    /// Group of the flow, and the end that sent it.
    pub group: u32,
    pub side: Side,
    /// Bytes of each datagram but the last, and number of datagrams.
    pub segment: u32,
    pub datagrams: u32,
}

/// Maximum number of datagrams that leave with one call (Linux `UDP_MAX_SEGMENTS`).
pub const MAX_SEGMENTS: u32 = 64;

/// Index of a payload and offset of a packet's first byte in it, as the packet's header carries them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub index: u32,
    pub offset: u32,
}

impl Place {
    /// The place that is in a header's `seq`.
    pub fn of(seq: u64) -> Self {
        Self { index: (seq >> 32) as u32, offset: seq as u32 }
    }

    /// As a header's `seq`: super-packets are cut and merged along it.
    pub fn seq(self) -> u64 {
        (u64::from(self.index) << 32) | u64::from(self.offset)
    }
}

/// A packet that carries a payload, as its end sends it.
#[derive(Clone, Debug)]
pub(crate) struct PayloadPacket {
    /// Place of the payload in `seq`.
    pub header: Header,
    /// IP bytes.
    pub len: u32,
    /// Payload per datagram of a super-packet (the last may have less); 0 for a packet.
    pub segment: u16,
    pub ecn: Ecn,
    /// DSCP of the packet; by default that of the flow.
    pub dscp: Option<u8>,
    /// Number of the flow that queues see.
    pub flow: u32,
}

/// Datagrams that no packet carries any more and that have not arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LostDatagrams {
    pub group: u32,
    pub side: Side,
    pub tag: u8,
    pub count: u64,
}

/// All payloads in flight. Freed entries keep their memory for the next datagrams.
#[derive(Debug, Default)]
pub(crate) struct Payloads {
    entries: Vec<Payload>,
    free: Vec<u32>,
    /// By group, end and tag, since the last [`Payloads::take_lost`].
    lost: Vec<LostDatagrams>,
}

/// A datagram of a payload as it arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceivedBytes {
    pub place: Place,
    pub size: u32,
    pub ecn: Ecn,
    /// Whether one bit is to be flipped.
    pub is_damaged: bool,
}

impl Payload {
    /// Bytes of IP and UDP headers of each datagram, beside its bytes.
    pub fn headers(&self) -> u32 {
        header_bytes(self.info.is_ip, &self.info.from)
    }

    /// Bytes of a datagram as its program receives them: an IP packet has the ECN field of its arrival.
    #[inline]
    pub fn received(&self, ReceivedBytes { place, size, ecn, is_damaged }: ReceivedBytes) -> Cow<'_, [u8]> {
        let bytes = &self.bytes[place.offset as usize..(place.offset + size) as usize];
        let is_marked = self.info.is_ip && ecn != self.info.ecn;
        if !is_marked && !is_damaged {
            return Cow::Borrowed(bytes);
        }
        Cow::Owned(self.changed(bytes.to_vec(), is_marked.then_some(ecn), is_damaged.then_some(place.offset)))
    }

    /// The bytes of a datagram, with another ECN field, or with one bit flipped in the datagram at an offset.
    #[cold]
    fn changed(&self, mut copy: Vec<u8>, mark: Option<Ecn>, damaged_at: Option<u32>) -> Vec<u8> {
        if let Some(ecn) = mark {
            set_ecn(&mut copy, ecn);
        }
        if let Some(offset) = damaged_at {
            // A damaged IP header would be dropped by its checksum, or reach another host.
            let at = if self.info.is_ip { ip_bytes(self.info.from.ip()).min(copy.len()) } else { 0 };
            flip_bit(&mut copy[at..], self.number_at(offset));
        }
        copy
    }

    /// Number of the datagram at `offset` among those of its end.
    #[inline]
    pub fn number_at(&self, offset: u32) -> u64 {
        self.info.number + u64::from(self.datagram_at(offset))
    }

    /// Number of the datagram at `offset`, counted from the payload's first.
    #[inline]
    fn datagram_at(&self, offset: u32) -> u32 {
        if self.info.datagrams == 1 { 0 } else { offset / self.info.segment }
    }

    /// Notes that the datagram at `offset` has arrived. Returns whether it is new.
    #[inline]
    pub fn arrive(&mut self, offset: u32) -> bool {
        let bit = 1 << self.datagram_at(offset);
        let is_new = self.arrived & bit == 0;
        self.arrived |= bit;
        is_new
    }
}

/// Bytes of IP and UDP headers that a datagram from `source` has beside its own; none if it is an IP packet itself.
#[inline]
pub(crate) fn header_bytes(is_ip: bool, source: &SocketAddr) -> u32 {
    if is_ip { 0 } else { (ip_bytes(source.ip()) + UDP_BYTES) as u32 }
}

/// Flips one bit, which depends on the datagram's number only.
fn flip_bit(bytes: &mut [u8], number: u64) {
    let bits = 8 * bytes.len() as u64;
    if bits > 0 {
        let bit = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % bits;
        bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
    }
}

impl Payloads {
    /// Stores a payload with a copy of `bytes`, for the packet that is about to carry it. A function creates its
    /// properties, so that they are built in their place.
    #[inline(always)]
    pub fn insert(&mut self, bytes: &[u8], info: impl FnOnce() -> PayloadInfo) -> u32 {
        let Some(index) = self.free.pop() else {
            self.entries.push(Payload { bytes: bytes.to_vec(), info: info(), carriers: 1, arrived: 0 });
            return (self.entries.len() - 1) as u32;
        };
        let entry = &mut self.entries[index as usize];
        entry.bytes.clear();
        entry.bytes.extend_from_slice(bytes);
        entry.info = info();
        (entry.carriers, entry.arrived) = (1, 0);
        index
    }

    /// The payload at `index`, which a packet carries.
    #[inline]
    pub fn get(&self, index: u32) -> &Payload {
        &self.entries[index as usize]
    }

    /// The payload at `index`, mutable.
    #[inline]
    pub fn get_mut(&mut self, index: u32) -> &mut Payload {
        &mut self.entries[index as usize]
    }

    /// Counts one more packet that carries a part of a payload.
    pub fn retain(&mut self, index: u32) {
        self.entries[index as usize].carriers += 1;
    }

    /// Counts one packet less; with the last one the payload is freed.
    #[inline]
    pub fn release(&mut self, index: u32) {
        let entry = &mut self.entries[index as usize];
        entry.carriers -= 1;
        if entry.carriers > 0 {
            return;
        }
        if entry.arrived != u64::MAX >> (u64::BITS - entry.info.datagrams) {
            self.count_lost(index);
        }
        self.free.push(index);
    }

    /// Counts the datagrams of a payload that have not arrived.
    #[cold]
    fn count_lost(&mut self, index: u32) {
        let Payload { info: PayloadInfo { group, side, tag, datagrams, .. }, arrived, .. } =
            self.entries[index as usize];
        let count = u64::from(datagrams - arrived.count_ones());
        let same = |lost: &&mut LostDatagrams| (lost.group, lost.side, lost.tag) == (group, side, tag);
        match self.lost.iter_mut().find(same) {
            Some(lost) => lost.count += count,
            None => self.lost.push(LostDatagrams { group, side, tag, count }),
        }
    }

    /// Payloads that some packet carries.
    pub fn in_flight(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Takes the datagrams that have been lost since the last call.
    pub fn take_lost(&mut self) -> Vec<LostDatagrams> {
        std::mem::take(&mut self.lost)
    }
}
