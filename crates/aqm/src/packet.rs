//! Packet metadata as queue disciplines see it.

use crate::class::{self, ClassId};
use crate::time::Instant;

/// The ECN field of the IP header (RFC 3168 §5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: congestion is signalled by a drop.
    #[default]
    NotEct = 0,
    /// ECN-capable; the L4S identifier (RFC 9331).
    Ect1 = 1,
    /// ECN-capable.
    Ect0 = 2,
    /// Congestion experienced: marked.
    Ce = 3,
}

impl Ecn {
    /// Every codepoint, by number.
    pub const ALL: [Self; 4] = [Self::NotEct, Self::Ect1, Self::Ect0, Self::Ce];

    /// Whether the transport is ECN-capable: every codepoint but Not-ECT.
    pub const fn is_ect(self) -> bool {
        !matches!(self, Self::NotEct)
    }

    /// Whether it identifies a packet as L4S: ECT(1) or CE (RFC 9331 §5).
    pub const fn is_l4s(self) -> bool {
        matches!(self, Self::Ect1 | Self::Ce)
    }
}

/// A packet's metadata: everything an algorithm can see, stored beside the host's handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// Time of acceptance; stamped by the qdisc.
    pub enqueued: Instant,
    /// Size in bytes as this queue accounts it; for a super-packet the sum of its segments, headers included.
    pub len: u32,
    /// Identifier of the transport flow (its 5-tuple).
    pub flow: u32,
    /// Identifiers of the sending and the receiving host.
    pub hosts: (u32, u32),
    /// Differentiated services code point, 0..=63.
    pub dscp: u8,
    /// ECN field.
    pub ecn: Ecn,
    /// Class set by the sender instead of one derived from the DSCP: Linux's `skb->priority`.
    pub class: ClassId,
    /// Segments that segmentation offload later makes of a super-packet; 1 for a packet. Verdicts, counters and drops
    /// apply to the whole, as in Linux.
    pub segments: u16,
}

impl Meta {
    /// A packet of `len` bytes of `flow`, not ECN-capable, between unnamed hosts.
    pub const fn new(len: u32, flow: u32) -> Self {
        let (hosts, class) = ((0, 0), ClassId::NONE);
        Self { enqueued: Instant::ZERO, len, flow, hosts, dscp: 0, ecn: Ecn::NotEct, class, segments: 1 }
    }

    /// Linux's `skb->priority`: the class set by the sender, otherwise a priority of 0 to 15 from the DSCP.
    #[inline]
    pub const fn priority(&self) -> ClassId {
        if self.class.is_none() { class::by_dscp(self.dscp) } else { self.class }
    }

    /// The same packet as a super-packet of `segments` segments; at least 1.
    pub const fn with_segments(mut self, segments: u16) -> Self {
        self.segments = segments;
        self
    }

    /// The same packet with another ECN field.
    pub const fn with_ecn(mut self, ecn: Ecn) -> Self {
        self.ecn = ecn;
        self
    }
}
