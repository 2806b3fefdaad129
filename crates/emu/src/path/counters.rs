//! Counters of a direction.

/// Counters of a direction. Packets have at most one MTU: a superframe counts as its segments, even if the queue holds
/// it whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that arrived, and their bytes of IP.
    pub arrived: (u64, u64),
    /// Packets offered to the queue, a super-packet as one.
    pub offered: u64,
    /// Packets that left, and their bytes of IP.
    pub departed: (u64, u64),
    /// Packets dropped by the queue or lost on the medium.
    pub dropped: u64,
    /// Packets newly marked CE.
    pub marked: u64,
    /// Frames discarded because they were not IP packets.
    pub malformed: u64,
    /// Packets that the kernel rejected; in virtual time they left.
    pub refused: u64,
    /// Packets waiting, a super-packet as one.
    pub backlog: u64,
    /// Packets dequeued, a super-packet as one, and the sum of their sojourn times in nanoseconds.
    pub sojourn: (u64, u64),
    /// Delay, through the whole direction, of the packet that left last, in nanoseconds.
    pub delay_ns: u64,
}

impl Counters {
    /// Packets in the queue, on the link, or delayed after it.
    pub fn inside(&self) -> u64 {
        self.arrived.0 - self.departed.0 - self.dropped
    }
}
