//! A client with several connections that know of each other: it opens them, asks over them, and hears of every answer.
//! What it does with that is its application. The connections are flows like any other, in slots that are used again.

use super::app::{Action, ActionQueue, App, AppRecord, ConnectionEvent};
use super::browser::Browser;
use super::exchange::{Exchange, Script};
use super::job::Job;
use super::opening::{ConnectionTemplate, Opening};
use super::rpm::RpmClient;
use super::tcp::TcpTemplate;
use super::video::Player;
use crate::scenario::TcpSpec;
use sojourn_aqm::{Instant, Rng};
use std::collections::BTreeMap;

macro_rules! apps {
    ($( $kind:ident($type:ty); )+) => {
        /// Any kind of application.
        pub(super) enum AnyApp { $( $kind($type), )+ }

        impl App for AnyApp {
            fn due(&self) -> Instant {
                match self { $( Self::$kind(app) => app.due(), )+ }
            }
            fn on_timer(&mut self, now: Instant, actions: &mut ActionQueue) {
                match self { $( Self::$kind(app) => app.on_timer(now, actions), )+ }
            }
            fn on_event(&mut self, now: Instant, number: u32, event: ConnectionEvent, actions: &mut ActionQueue) {
                match self { $( Self::$kind(app) => app.on_event(now, number, event, actions), )+ }
            }
            fn close(&mut self, end: Instant, actions: &mut ActionQueue) {
                match self { $( Self::$kind(app) => app.close(end, actions), )+ }
            }
            fn tcp(&self) -> &TcpSpec {
                match self { $( Self::$kind(app) => app.tcp(), )+ }
            }
        }
    };
}

apps! {
    Browser(Browser);
    Video(Player);
    Rpm(Box<RpmClient>);
}

/// A client and its connections.
pub(crate) struct Client {
    pub group: u32,
    /// Its number in the group.
    index: u32,
    app: AnyApp,
    orders: ActionQueue,
    /// What the connections are made of, and what their congestion controls draw from.
    pub ends: ConnectionTemplate,
    rng: Rng,
    /// Slots whose connection has ended.
    free: Vec<u32>,
    /// The slot of each connection by its number, and the other way round while it is there.
    slots: Vec<u32>,
    numbers: BTreeMap<u32, u32>,
}

/// What its host does for a client.
pub(crate) enum ClientAction {
    /// A connection is opened, in a slot that is free if there is one; [`Client::placed`] wants to know where.
    Open(Opening, Option<u32>),
    /// [`Client::hear`] wants to know what the connection in a slot has brought.
    Count(u32),
    /// The connection in a slot is asked.
    Request(u32, Exchange),
    /// The connection in a slot is closed.
    Close(u32),
    /// A transfer that began at an instant is over, by what the connection in a slot has brought.
    Completed(u32, Instant, u64),
    /// Something for the books that a client of this number has seen.
    Record(u32, AppRecord),
}

impl Client {
    pub(super) fn new(app: AnyApp, (group, place): (u32, u32), rng: Rng) -> Self {
        let ends = ConnectionTemplate::Tcp(TcpTemplate::new(app.tcp()));
        let (orders, numbers) = (ActionQueue::default(), BTreeMap::new());
        Self { group, index: place, app, orders, ends, rng, free: Vec::new(), slots: Vec::new(), numbers }
    }

    /// When [`Self::next`] is to be called.
    pub fn due(&self) -> Instant {
        self.app.due()
    }

    /// What is to be done now.
    pub fn next(&mut self, now: Instant) -> Option<ClientAction> {
        while self.orders.queue.is_empty() && self.app.due() <= now {
            self.app.on_timer(now, &mut self.orders);
        }
        self.next_pending(now)
    }

    /// The run ends; what is left to be done is [`Self::rest`].
    pub fn close(&mut self, end: Instant) {
        self.app.close(end, &mut self.orders);
    }

    /// What is to be done of what is decided.
    pub fn next_pending(&mut self, now: Instant) -> Option<ClientAction> {
        let slot = |number: u32| self.slots[number as usize];
        Some(match self.orders.queue.pop_front()? {
            Action::Open => self.opening(now, Job::Dialogue(Script::on_demand())),
            Action::Load(unsent) => self.opening(now, Job::Load(unsent)),
            Action::Count(number) => ClientAction::Count(slot(number)),
            Action::Request(number, exchange) => ClientAction::Request(slot(number), exchange),
            Action::Close(number) => ClientAction::Close(slot(number)),
            Action::Record(record) => ClientAction::Record(self.index, record),
            Action::Completed(number, begun, bytes) => ClientAction::Completed(slot(number), begun, bytes),
        })
    }

    fn opening(&mut self, now: Instant, job: Job) -> ClientAction {
        let rng = Rng::from_state(self.rng.next_u64());
        ClientAction::Open(Opening { requested_at: now, rng, job }, self.free.pop())
    }

    /// The connection that was opened last is in `slot`.
    pub fn set_slot(&mut self, slot: u32) {
        self.numbers.insert(slot, self.slots.len() as u32);
        self.slots.push(slot);
    }

    /// The connection in `slot` tells something.
    pub fn on_event(&mut self, now: Instant, slot: u32, news: ConnectionEvent) {
        if let Some(&number) = self.numbers.get(&slot) {
            self.app.on_event(now, number, news, &mut self.orders);
        }
    }

    /// The connection in `slot` is over.
    pub fn on_closed(&mut self, slot: u32) {
        self.numbers.remove(&slot);
        self.free.push(slot);
    }
}
