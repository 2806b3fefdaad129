//! Requests and responses, and the order in which a connection has them.

use crate::scenario::RequestSpec;
use sojourn_aqm::Duration;

/// A question and its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Exchange {
    /// What the client waits after the last answer before it asks; nothing the first time.
    pub pause: Duration,
    /// Bytes of the question.
    pub request: u64,
    /// What the server needs before it answers.
    pub think: Duration,
    /// Bytes of the answer.
    pub response: u64,
}

/// All exchanges of a connection.
#[derive(Clone, Debug)]
pub(super) enum Script {
    /// These, the next one last.
    List(Vec<Exchange>),
    /// This one, for ever.
    Endless(Exchange),
    /// Requests of the client, which is notified of the handshake and of every response.
    OnDemand { connected: bool },
}

impl Script {
    /// The exchanges in their order.
    pub fn list(mut exchanges: Vec<Exchange>) -> Self {
        exchanges.reverse();
        Self::List(exchanges)
    }

    /// The same exchange until the flow's stop.
    pub fn endless(spec: &RequestSpec) -> Self {
        let &RequestSpec { request, think, size: response, gap: pause, .. } = spec;
        Self::Endless(Exchange { pause, request, think, response })
    }

    /// Exchanges that a client asks for.
    pub fn on_demand() -> Self {
        Self::OnDemand { connected: false }
    }

    /// The next exchange of the script.
    pub fn next(&mut self) -> Option<Exchange> {
        match self {
            Self::List(list) => list.pop(),
            Self::Endless(exchange) => Some(*exchange),
            Self::OnDemand { .. } => None,
        }
    }

    /// The memory of its list, if it has one.
    pub fn into_memory(self) -> Option<Vec<Exchange>> {
        if let Self::List(list) = self { Some(list) } else { None }
    }

    /// Whether nothing more will be asked for.
    pub fn is_over(&self) -> bool {
        matches!(self, Self::List(list) if list.is_empty())
    }
}
