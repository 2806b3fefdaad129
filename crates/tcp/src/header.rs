//! Headers of segments.

use crate::sack::{SACK_HEADER, Sack};
use crate::stack::Stack;

/// A segment's header. Sequence numbers are absolute: they start at 0 with the SYN and do not wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// First sequence number.
    pub seq: u64,
    /// Acknowledgment: the next byte expected.
    pub ack: u64,
    /// Payload bytes.
    pub len: u16,
    /// SYN, FIN, ACK, ECE, CWR, PSH, AE.
    pub flags: Flags,
    /// Timestamp option: the sender's clock in ticks.
    pub ts_val: u32,
    /// Timestamp option: the clock value echoed.
    pub ts_ecr: u32,
    /// Advertised window, in units of [`Header::WINDOW_UNIT`] bytes; 0 if the host advertises none.
    pub window: u32,
    /// Selective acknowledgments.
    pub sack: Sack,
}

impl Header {
    /// Bytes per unit of the window: a window scale of 11, which Linux uses if a buffer may grow to 64 MB.
    pub const WINDOW_UNIT: u64 = 1 << 11;

    /// The sequence number after this segment: SYN and FIN take one each.
    pub fn end_seq(&self) -> u64 {
        self.seq + self.len as u64 + self.flags.contains(Flags::SYN) as u64 + self.flags.contains(Flags::FIN) as u64
    }

    /// IP bytes of the segment with timestamps: IPv4 and TCP headers, options padded to four bytes, payload.
    pub fn ip_len(&self) -> u32 {
        let options = match () {
            // MSS, SACK permitted, timestamps, window scale.
            () if self.flags.contains(Flags::SYN) => 20,
            () if self.sack.blocks().is_empty() => TIMESTAMPS,
            () => TIMESTAMPS + SACK_HEADER + 8 * self.sack.blocks().len() as u32,
        };
        IP_HEADER + TCP_HEADER + options + self.len as u32
    }

    /// IP bytes of a data segment without its payload, as `stack` sends it.
    pub(crate) fn ip_overhead_of(stack: &Stack) -> u32 {
        Self { flags: Flags::ACK, ..Self::default() }.ip_len_of(stack)
    }

    /// IP bytes of the segment as `stack` sends it.
    #[inline]
    pub(crate) fn ip_len_of(&self, stack: &Stack) -> u32 {
        let without = if stack.timestamps { 0 } else { TIMESTAMPS };
        self.ip_len() - without - if stack.pads_options { 0 } else { self.option_padding() }
    }

    /// Bytes of the options beside timestamps and SACK blocks.
    fn option_padding(&self) -> u32 {
        match () {
            () if self.flags.contains(Flags::SYN) => 8,
            () if self.sack.blocks().is_empty() => 0,
            () => SACK_HEADER,
        }
    }
}

/// Header flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u16);

impl Flags {
    /// Opens a connection.
    pub const SYN: Self = Self(1);
    /// Ends the sender's data.
    pub const FIN: Self = Self(2);
    /// The acknowledgment field is valid.
    pub const ACK: Self = Self(4);
    /// ECN echo.
    pub const ECE: Self = Self(8);
    /// Congestion window reduced.
    pub const CWR: Self = Self(16);
    /// Push: the end of a burst.
    pub const PSH: Self = Self(32);
    /// Accurate ECN; with CWR and ECE it forms a counter of three bits.
    pub const AE: Self = Self(128);
    /// Initial value of the counter of accurate ECN (RFC 9768 §3.2.1).
    pub const ACE_START: u64 = 5;
    /// No bit of the wire: the segment belongs to the server's sending half of a connection. Each half has its
    /// own sequence numbers in both directions, whereas real segments share them.
    pub const ANSWER: Self = Self(64);
    /// No bit of the wire: the segment was cut out of a super-packet in its host, and occupies no more memory than it
    /// needs.
    pub const CUT: Self = Self(256);

    /// Union of both sets.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Union with `other` if `condition`.
    pub const fn with_if(self, other: Self, condition: bool) -> Self {
        if condition { self.with(other) } else { self }
    }

    /// AE, CWR and ECE as a number of three bits, the most significant first (RFC 9768 §3.2).
    pub const fn ace(self) -> u8 {
        (self.contains(Self::AE) as u8) << 2 | (self.contains(Self::CWR) as u8) << 1 | self.contains(Self::ECE) as u8
    }

    /// With the three lowest bits of `count` as AE, CWR and ECE, which must not be set.
    pub const fn with_ace(self, count: u64) -> Self {
        let high = self.with_if(Self::AE, count & 4 != 0).with_if(Self::CWR, count & 2 != 0);
        high.with_if(Self::ECE, count & 1 != 0)
    }

    /// The flags as bits: SYN 1, FIN 2, ACK 4, ECE 8, CWR 16, PSH 32, AE 128. Every segment has SYN or ACK.
    pub const fn bits(self) -> u8 {
        self.0 as u8
    }

    /// Whether any of `other` is set.
    pub const fn has_any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The flags without those of `other`.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether all of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

const IP_HEADER: u32 = 20;
const TCP_HEADER: u32 = 20;
/// Timestamp option with padding.
const TIMESTAMPS: u32 = 12;

/// Sequence number of the first data byte: the SYN takes 0.
pub(crate) const FIRST_BYTE: u64 = 1;
