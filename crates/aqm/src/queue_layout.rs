//! What queues a discipline consists of.

/// The flag of every discipline with which CE-marked packets are left out of what its algorithm measures.
pub const EXCLUDE_CE: &str = "exclude_ce";

/// What queues an algorithm consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLayout {
    /// A single one.
    One,
    /// Each flow's own.
    PerFlow,
    /// A classic one and one for L4S.
    Two,
    /// Each flow's own in each of several classes of traffic.
    PerFlowAndClass,
    /// Those of other disciplines, which it holds.
    Tree,
    /// Any of these, as its parameters say: a shared library with several disciplines.
    Any,
}

impl QueueLayout {
    /// Whether flows are queued apart.
    pub const fn are_by_flow(self) -> bool {
        matches!(self, Self::PerFlow | Self::PerFlowAndClass)
    }

    /// Whether packets that carry CE can be left out of what is measured.
    pub const fn can_exclude_ce(self) -> bool {
        matches!(self, Self::One | Self::PerFlow)
    }
}
