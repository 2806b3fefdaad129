//! The queues of a discipline.

/// Flag of every discipline: exclude CE-marked packets from the algorithm's measurements.
pub const EXCLUDE_CE: &str = "exclude_ce";

/// The queues of an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLayout {
    /// One queue.
    One,
    /// A queue per flow.
    PerFlow,
    /// A classic queue and one for L4S.
    Two,
    /// A queue per flow in each of several traffic classes.
    PerFlowAndClass,
    /// The queues of its children.
    Tree,
    /// Any of these, depending on its parameters: a shared library with several disciplines.
    Any,
}

impl QueueLayout {
    /// Whether each flow has a queue.
    pub const fn are_by_flow(self) -> bool {
        matches!(self, Self::PerFlow | Self::PerFlowAndClass)
    }

    /// Whether packets that carry CE can be excluded from measurements.
    pub const fn can_exclude_ce(self) -> bool {
        matches!(self, Self::One | Self::PerFlow)
    }
}
