//! Events on the path between a pair of ends, at the times of the scenario.

use crate::scenario::{EndpointSpec, PathEffect};
use sojourn_aqm::{Duration, Instant};

/// Events that are still to come; the next one is last.
#[derive(Default)]
pub(super) struct PathSchedule(Vec<(Instant, PathAction)>);

/// Effect of an event on the path.
#[derive(Clone, Copy)]
pub(super) enum PathAction {
    /// A NAT gives the source another port, and another address if it moves.
    Rebind { moves: bool },
    /// Later packets take this path of the group.
    Switch(u32),
    /// Packets are lost on leaving their host, for this time.
    Down(Duration),
}

impl PathSchedule {
    /// The events of a group.
    pub fn new(spec: &EndpointSpec) -> Self {
        let action = |effect: &PathEffect| match effect {
            PathEffect::RebindPort => PathAction::Rebind { moves: false },
            PathEffect::RebindAddress => PathAction::Rebind { moves: true },
            PathEffect::Path(name) => PathAction::Switch(spec.path_number(name).expect("the name was checked")),
            PathEffect::Down(span) => PathAction::Down(*span),
        };
        let events = spec.events.iter().flat_map(|events| events.0.iter().rev());
        Self(events.map(|event| (event.at, action(&event.effect))).collect())
    }

    /// When the next event is due.
    pub fn due(&self) -> Instant {
        self.0.last().map_or(Instant::NEVER, |&(at, _)| at)
    }

    /// Removes the next event if it is due.
    pub fn take_due(&mut self, now: Instant) -> Option<PathAction> {
        if self.due() > now {
            return None;
        }
        self.0.pop().map(|(_, action)| action)
    }
}
