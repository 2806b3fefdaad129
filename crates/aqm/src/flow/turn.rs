//! A flow's place in the schedule.

use super::line::NONE;

/// What the scheduler keeps for a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    /// What the flow may still send, in bytes (scaled: units of 8 bytes).
    pub deficit: i64,
    /// The flow behind it.
    pub next: u32,
    pub place: Place,
}

/// The list that a flow is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Off,
    New,
    Old,
}

impl Default for Turn {
    fn default() -> Self {
        Self { deficit: 0, next: NONE, place: Place::Off }
    }
}

impl Turn {
    /// Whether the flow is not scheduled.
    #[inline]
    pub fn is_off(&self) -> bool {
        self.place == Place::Off
    }

    /// The word for the list that the flow is in.
    pub fn list(&self) -> &'static str {
        match self.place {
            Place::Off => "",
            Place::New => "new",
            Place::Old => "old",
        }
    }
}
