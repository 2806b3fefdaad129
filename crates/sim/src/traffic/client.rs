//! A client with several connections that know of each other: it opens them, asks over them, and hears of every answer.
//! What it does with that is its application. The connections are flows like any other, in slots that are used again.

use super::app::{App, News, Order, Orders, Record};
use super::browser::Browser;
use super::exchange::{Exchange, Script};
use super::job::Job;
use super::opening::{Ends, Opening};
use super::rpm::Rpm;
use super::tcp::Template;
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
            fn act(&mut self, now: Instant, orders: &mut Orders) {
                match self { $( Self::$kind(app) => app.act(now, orders), )+ }
            }
            fn hear(&mut self, now: Instant, number: u32, news: News, orders: &mut Orders) {
                match self { $( Self::$kind(app) => app.hear(now, number, news, orders), )+ }
            }
            fn close(&mut self, end: Instant, orders: &mut Orders) {
                match self { $( Self::$kind(app) => app.close(end, orders), )+ }
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
    Rpm(Box<Rpm>);
}

/// A client and its connections.
pub(crate) struct Client {
    pub group: u32,
    /// Its number in the group.
    place: u32,
    app: AnyApp,
    orders: Orders,
    /// What the connections are made of, and what their congestion controls draw from.
    pub ends: Ends,
    rng: Rng,
    /// Slots whose connection has ended.
    free: Vec<u32>,
    /// The slot of each connection by its number, and the other way round while it is there.
    slots: Vec<u32>,
    numbers: BTreeMap<u32, u32>,
}

/// What its host does for a client.
pub(crate) enum Step {
    /// A connection is opened, in a slot that is free if there is one; [`Client::placed`] wants to know where.
    Open(Opening, Option<u32>),
    /// [`Client::hear`] wants to know what the connection in a slot has brought.
    Count(u32),
    /// The connection in a slot is asked.
    Ask(u32, Exchange),
    /// The connection in a slot is closed.
    Close(u32),
    /// A transfer that began at an instant is over, by what the connection in a slot has brought.
    Completed(u32, Instant, u64),
    /// Something for the books that a client of this number has seen.
    Record(u32, Record),
}

impl Client {
    pub(super) fn new(app: AnyApp, (group, place): (u32, u32), rng: Rng) -> Self {
        let ends = Ends::Tcp(Template::new(app.tcp()));
        let (orders, numbers) = (Orders::default(), BTreeMap::new());
        Self { group, place, app, orders, ends, rng, free: Vec::new(), slots: Vec::new(), numbers }
    }

    /// When [`Self::next`] is to be called.
    pub fn due(&self) -> Instant {
        self.app.due()
    }

    /// What is to be done now.
    pub fn next(&mut self, now: Instant) -> Option<Step> {
        while self.orders.queue.is_empty() && self.app.due() <= now {
            self.app.act(now, &mut self.orders);
        }
        self.rest(now)
    }

    /// The run ends; what is left to be done is [`Self::rest`].
    pub fn close(&mut self, end: Instant) {
        self.app.close(end, &mut self.orders);
    }

    /// What is to be done of what is decided.
    pub fn rest(&mut self, now: Instant) -> Option<Step> {
        let slot = |number: u32| self.slots[number as usize];
        Some(match self.orders.queue.pop_front()? {
            Order::Open => self.opening(now, Job::Dialogue(Script::told())),
            Order::Load(unsent) => self.opening(now, Job::Load(unsent)),
            Order::Count(number) => Step::Count(slot(number)),
            Order::Ask(number, exchange) => Step::Ask(slot(number), exchange),
            Order::Close(number) => Step::Close(slot(number)),
            Order::Record(record) => Step::Record(self.place, record),
            Order::Completed(number, begun, bytes) => Step::Completed(slot(number), begun, bytes),
        })
    }

    fn opening(&mut self, now: Instant, job: Job) -> Step {
        let rng = Rng::from_state(self.rng.next_u64());
        Step::Open(Opening { asked: now, rng, job }, self.free.pop())
    }

    /// The connection that was opened last is in `slot`.
    pub fn placed(&mut self, slot: u32) {
        self.numbers.insert(slot, self.slots.len() as u32);
        self.slots.push(slot);
    }

    /// The connection in `slot` tells something.
    pub fn hear(&mut self, now: Instant, slot: u32, news: News) {
        if let Some(&number) = self.numbers.get(&slot) {
            self.app.hear(now, number, news, &mut self.orders);
        }
    }

    /// The connection in `slot` is over.
    pub fn ended(&mut self, slot: u32) {
        self.numbers.remove(&slot);
        self.free.push(slot);
    }
}
