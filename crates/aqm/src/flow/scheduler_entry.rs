//! A flow's place in the schedule.

use super::packet_list::NONE;

/// What the scheduler keeps for a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct SchedulerEntry {
    /// What the flow may still send, in bytes (scaled: units of 8 bytes).
    pub deficit: i64,
    /// The flow behind it.
    pub next: u32,
    pub list: FlowList,
}

/// The list that a flow is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlowList {
    Unscheduled,
    New,
    Old,
}

impl Default for SchedulerEntry {
    fn default() -> Self {
        Self { deficit: 0, next: NONE, list: FlowList::Unscheduled }
    }
}

impl SchedulerEntry {
    /// Whether the flow is not scheduled.
    #[inline]
    pub fn is_unscheduled(&self) -> bool {
        self.list == FlowList::Unscheduled
    }

    /// The word for the list that the flow is in.
    pub fn list_name(&self) -> &'static str {
        match self.list {
            FlowList::Unscheduled => "",
            FlowList::New => "new",
            FlowList::Old => "old",
        }
    }
}
