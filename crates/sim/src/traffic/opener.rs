//! What opens connections: a generator, whose connections know nothing of each other, or a client, whose connections do.

use super::app::News;
use super::client::{Client, Step};
use super::exchange::Exchange;
use super::generator::Generator;
use super::opening::Ends;
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
    pub fn next(&mut self, now: Instant) -> Option<Step> {
        match self {
            Self::Generator(generator) => generator.next(now).map(|(opening, free)| Step::Open(opening, free)),
            Self::Client(client) => client.next(now),
        }
    }

    /// What the connections are made of.
    pub fn ends(&self) -> &Ends {
        match self {
            Self::Generator(generator) => &generator.ends,
            Self::Client(client) => &client.ends,
        }
    }

    /// Memory of exchanges that are over.
    pub fn reuse(&mut self, exchanges: Vec<Exchange>) {
        if let Self::Generator(generator) = self {
            generator.reuse(exchanges);
        }
    }

    /// The run ends; returns what is left to be done.
    pub fn close(&mut self, end: Instant) -> Vec<Step> {
        match self {
            Self::Generator(_) => Vec::new(),
            Self::Client(client) => {
                client.close(end);
                std::iter::from_fn(|| client.rest(end)).collect()
            }
        }
    }

    /// The connection that was opened last is in `slot`.
    pub fn placed(&mut self, slot: u32) {
        if let Self::Client(client) = self {
            client.placed(slot);
        }
    }

    /// The connection in `slot` tells something.
    pub fn hear(&mut self, now: Instant, slot: u32, news: News) {
        if let Self::Client(client) = self {
            client.hear(now, slot, news);
        }
    }

    /// The connection in `slot` is over.
    pub fn ended(&mut self, now: Instant, slot: u32) {
        match self {
            Self::Generator(generator) => generator.ended(now, slot),
            Self::Client(client) => client.ended(slot),
        }
    }

    /// When connections are asked for until `end`, as far as that does not depend on what becomes of them.
    pub fn asked_until(self, end: Instant) -> Vec<Instant> {
        match self {
            Self::Generator(generator) => generator.asked_until(end),
            Self::Client(client) => Some(client.due()).filter(|&due| due <= end).into_iter().collect(),
        }
    }
}
