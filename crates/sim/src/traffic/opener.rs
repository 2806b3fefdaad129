//! Openers of connections: a generator of independent connections, or a client whose application uses several.
//!
//! A connection that starts at once does so within its opener's event if nothing else is due at that instant, and
//! counts as the event that it replaces.

use super::app::ConnectionEvent;
use super::client::{Client, ClientAction};
use super::exchange::Exchange;
use super::generator::Generator;
use super::opening::ConnectionTemplate;
use sojourn_aqm::Instant;

/// A source of connections.
pub(crate) enum Opener {
    Generator(Generator),
    Client(Client),
}

impl Opener {
    /// The group of the connections.
    pub fn group(&self) -> u32 {
        match self {
            Self::Generator(generator) => generator.group,
            Self::Client(client) => client.group,
        }
    }

    /// Number in its group of the flow that the last connection opened is part of.
    pub fn member(&self) -> u32 {
        match self {
            Self::Generator(generator) => generator.member(),
            Self::Client(client) => client.index,
        }
    }

    /// When [`Self::next`] must be called.
    pub fn due(&self) -> Instant {
        match self {
            Self::Generator(generator) => generator.due(),
            Self::Client(client) => client.due(),
        }
    }

    /// The next action that is due now.
    pub fn next(&mut self, now: Instant) -> Option<ClientAction> {
        match self {
            Self::Generator(generator) => generator.next(now).map(|(opening, free)| ClientAction::Open(opening, free)),
            Self::Client(client) => client.next(now),
        }
    }

    /// Parameters of the connections.
    pub fn template(&self) -> &ConnectionTemplate {
        match self {
            Self::Generator(generator) => &generator.template,
            Self::Client(client) => &client.template,
        }
    }

    /// Keeps the memory of completed exchanges for reuse.
    pub fn recycle(&mut self, exchanges: Vec<Exchange>) {
        if let Self::Generator(generator) = self {
            generator.recycle(exchanges);
        }
    }

    /// Ends the run; returns the remaining actions.
    pub fn close(&mut self, end: Instant) -> Vec<ClientAction> {
        match self {
            Self::Generator(_) => Vec::new(),
            Self::Client(client) => {
                client.close(end);
                std::iter::from_fn(|| client.next_pending(end)).collect()
            }
        }
    }

    /// Notes that the last connection opened is in `slot`.
    pub fn set_slot(&mut self, slot: u32) {
        if let Self::Client(client) = self {
            client.set_slot(slot);
        }
    }

    /// Handles an event of the connection in `slot`.
    pub fn on_event(&mut self, now: Instant, slot: u32, event: ConnectionEvent) {
        if let Self::Client(client) = self {
            client.on_event(now, slot, event);
        }
    }

    /// Frees the slot of a closed connection.
    pub fn on_closed(&mut self, now: Instant, slot: u32) {
        match self {
            Self::Generator(generator) => generator.on_closed(now, slot),
            Self::Client(client) => client.on_closed(slot),
        }
    }

    /// Times of the connections requested until `end`, as far as they are independent of the fate of earlier ones.
    pub fn request_times_until(self, end: Instant) -> Vec<Instant> {
        match self {
            Self::Generator(generator) => generator.request_times_until(end),
            Self::Client(client) => Some(client.due()).filter(|&due| due <= end).into_iter().collect(),
        }
    }
}
