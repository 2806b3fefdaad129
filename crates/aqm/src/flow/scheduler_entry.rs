//! Scheduling state of a flow.

use super::packet_list::NONE;

/// Scheduling state of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct SchedulerEntry {
    /// Remaining deficit, in bytes (scaled: units of 8 bytes).
    pub deficit: i64,
    /// The next flow in the list.
    pub next: u32,
    pub list: FlowList,
}

/// The list that contains a flow.
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

    /// Name of the list.
    pub fn list_name(&self) -> &'static str {
        match self.list {
            FlowList::Unscheduled => "",
            FlowList::New => "new",
            FlowList::Old => "old",
        }
    }
}
