//! Requests and responses, and their order on a connection.

use crate::scenario::RequestSpec;
use sojourn_aqm::Duration;

/// A request and its response.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Exchange {
    /// Delay between the previous response and this request; not used for the first one.
    pub pause: Duration,
    /// Bytes of the request.
    pub request: u64,
    /// Delay between request and response at the server.
    pub think: Duration,
    /// Bytes of the response.
    pub response: u64,
}

/// The exchanges of a connection.
#[derive(Clone, Debug)]
pub(super) enum Script {
    /// This list, in reverse order.
    List(Vec<Exchange>),
    /// This exchange, repeated.
    Endless(Exchange),
    /// Requests of the client, which is notified of the handshake and of every response.
    OnDemand { connected: bool },
}

impl Script {
    /// A script of these exchanges, in order.
    pub fn list(mut exchanges: Vec<Exchange>) -> Self {
        exchanges.reverse();
        Self::List(exchanges)
    }

    /// The same exchange until the flow's stop.
    pub fn endless(spec: &RequestSpec) -> Self {
        let &RequestSpec { request, think, size: response, gap: pause, .. } = spec;
        Self::Endless(Exchange { pause, request, think, response })
    }

    /// Exchanges that a client requests one by one.
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

    /// Whether no exchange is left.
    pub fn is_over(&self) -> bool {
        matches!(self, Self::List(list) if list.is_empty())
    }
}
