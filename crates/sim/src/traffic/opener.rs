//! What opens connections: a generator, whose connections know nothing of each other, or a client, whose connections do.

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
    /// The group that the connections belong to.
    pub fn group(&self) -> u32 {
        match self {
            Self::Generator(generator) => generator.group,
            Self::Client(client) => client.group,
        }
    }

    /// When [`Self::next`] is to be called.
    pub fn due(&self) -> Instant {
        match self {
            Self::Generator(generator) => generator.due(),
            Self::Client(client) => client.due(),
        }
    }

    /// What is to be done now.
    pub fn next(&mut self, now: Instant) -> Option<ClientAction> {
        match self {
            Self::Generator(generator) => generator.next(now).map(|(opening, free)| ClientAction::Open(opening, free)),
            Self::Client(client) => client.next(now),
        }
    }

    /// What the connections are made of.
    pub fn ends(&self) -> &ConnectionTemplate {
        match self {
            Self::Generator(generator) => &generator.ends,
            Self::Client(client) => &client.ends,
        }
    }

    /// Memory of exchanges that are over.
    pub fn recycle(&mut self, exchanges: Vec<Exchange>) {
        if let Self::Generator(generator) = self {
            generator.recycle(exchanges);
        }
    }

    /// The run ends; returns what is left to be done.
    pub fn close(&mut self, end: Instant) -> Vec<ClientAction> {
        match self {
            Self::Generator(_) => Vec::new(),
            Self::Client(client) => {
                client.close(end);
                std::iter::from_fn(|| client.next_pending(end)).collect()
            }
        }
    }

    /// The connection that was opened last is in `slot`.
    pub fn set_slot(&mut self, slot: u32) {
        if let Self::Client(client) = self {
            client.set_slot(slot);
        }
    }

    /// The connection in `slot` tells something.
    pub fn on_event(&mut self, now: Instant, slot: u32, news: ConnectionEvent) {
        if let Self::Client(client) = self {
            client.on_event(now, slot, news);
        }
    }

    /// The connection in `slot` is over.
    pub fn on_closed(&mut self, now: Instant, slot: u32) {
        match self {
            Self::Generator(generator) => generator.on_closed(now, slot),
            Self::Client(client) => client.on_closed(slot),
        }
    }

    /// When connections are asked for until `end`, as far as that does not depend on what becomes of them.
    pub fn request_times_until(self, end: Instant) -> Vec<Instant> {
        match self {
            Self::Generator(generator) => generator.request_times_until(end),
            Self::Client(client) => Some(client.due()).filter(|&due| due <= end).into_iter().collect(),
        }
    }
}
