//! A client with several connections that know of each other: it opens them, asks over them, and hears of every answer.
//! What it does with that is its application. The connections are flows like any other, in slots that are used again.

use super::browser::Browser;
use super::dialogue::{Exchange, Script};
use super::opening::{Ends, Job, Opening};
use super::rpm::Rpm;
use super::tcp::Template;
use super::video::Player;
use crate::responsiveness::{Confidence, Kind, Responsiveness};
use crate::scenario::TcpSpec;
use sojourn_aqm::{Duration, Instant, Rng};
use std::collections::{BTreeMap, VecDeque};

/// What a connection tells its client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum News {
    /// The handshake is over.
    Connected,
    /// The last byte of an answer has arrived.
    Answered,
    /// The same on a load-generating connection: the answer waited so long in the sender's socket.
    Probed { in_socket: Duration },
    /// So many bytes have arrived in order since it was opened.
    Counted(u64),
}

/// What a client does with connections.
pub(super) trait App {
    /// When it wants to act next.
    fn due(&self) -> Instant;
    /// That time has come.
    fn act(&mut self, now: Instant, orders: &mut Orders);
    /// Connection `number` tells something.
    fn hear(&mut self, now: Instant, number: u32, news: News, orders: &mut Orders);
    /// The run ends.
    fn close(&mut self, end: Instant, orders: &mut Orders) {
        let _ = (end, orders);
    }
    /// What the connections are made of.
    fn tcp(&self) -> &TcpSpec;
}

/// What an application has seen, for the books.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Record {
    /// A player began to play, so long after its start.
    Began(Duration),
    /// It fetches a segment in another rate than the one before.
    Switched,
    /// A segment of a video is there, and video of this `level` with it; the picture `stood` before.
    Segment {
        number: u32,
        asked: Instant,
        bytes: u64,
        rate_bps: u64,
        level: Duration,
        stood: Duration,
    },
    /// The goodput of a load was found saturated.
    Saturated(Instant),
    /// A probe got an answer.
    Probe {
        kind: Kind,
        begun: Instant,
        took: Duration,
        in_socket: Duration,
    },
    /// The result of a test of responsiveness: how sure it is, when it was there, goodput in bit/s, connections.
    Rpm(Responsiveness, Confidence, Instant, f64, u32),
    /// The picture came to a halt; and it stood from one instant to another.
    Stalled,
    Stood(Instant, Instant),
}

/// What an application wants done, in order.
#[derive(Debug, Default)]
pub(super) struct Orders {
    /// Connections that were ordered: the number of the next one.
    opened: u32,
    queue: VecDeque<Order>,
}

#[derive(Clone, Copy, Debug)]
enum Order {
    Open,
    Load(u64),
    Count(u32),
    Ask(u32, Exchange),
    Close(u32),
    Completed(u32, Instant, u64),
    Record(Record),
}

impl Orders {
    /// Opens a connection; returns its number.
    pub fn open(&mut self) -> u32 {
        self.queue.push_back(Order::Open);
        self.opened += 1;
        self.opened - 1
    }

    /// Opens a load-generating connection, whose server keeps so many bytes unsent; returns its number.
    pub fn load(&mut self, unsent: u64) -> u32 {
        self.queue.push_back(Order::Load(unsent));
        self.opened += 1;
        self.opened - 1
    }

    /// Connection `number` will tell what it has brought.
    pub fn count(&mut self, number: u32) {
        self.queue.push_back(Order::Count(number));
    }

    /// Asks over connection `number`, which has answered what was asked before; without the exchange's pause.
    pub fn ask(&mut self, number: u32, exchange: Exchange) {
        self.queue.push_back(Order::Ask(number, exchange));
    }

    /// Connection `number` will not be asked again.
    pub fn close(&mut self, number: u32) {
        self.queue.push_back(Order::Close(number));
    }

    /// A transfer of `bytes` that began at `begun` is over, by what connection `number` has brought.
    pub fn completed(&mut self, number: u32, begun: Instant, bytes: u64) {
        self.queue.push_back(Order::Completed(number, begun, bytes));
    }

    /// Something for the books.
    pub fn record(&mut self, record: Record) {
        self.queue.push_back(Order::Record(record));
    }
}

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
