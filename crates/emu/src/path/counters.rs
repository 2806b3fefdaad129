//! What a direction counts.

/// Counters of a direction; packets are those of at most one MTU, never superframes, also where the queue has these whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that arrived, and their bytes of IP.
    pub arrived: (u64, u64),
    /// What the queue was offered: packets, and super-packets as one.
    pub offered: u64,
    /// Packets that left, and their bytes of IP.
    pub departed: (u64, u64),
    /// Packets that the queue or the medium dropped.
    pub dropped: u64,
    /// Packets newly marked CE.
    pub marked: u64,
    /// Frames that were no IP packet and were thrown away.
    pub malformed: u64,
    /// Packets that the kernel refused to take; they left in virtual time.
    pub refused: u64,
    /// Packets waiting now, super-packets as one.
    pub backlog: u64,
    /// What the queue handed to the link: packets, super-packets as one, and the sum of their sojourn times in nanoseconds.
    pub sojourn: (u64, u64),
    /// Delay in the direction of the packet that left last, in nanoseconds.
    pub delay_ns: u64,
}

impl Counters {
    /// Packets that have arrived and neither left nor been dropped: in the queue, on the link or under way behind it.
    pub fn inside(&self) -> u64 {
        self.arrived.0 - self.departed.0 - self.dropped
    }
}
