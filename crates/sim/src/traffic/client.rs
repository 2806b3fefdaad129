//! A client with several connections, driven by its application: it opens them, sends requests over them, and is
//! notified of each response. The connections are flows like any other, in slots that are reused.

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
    /// Index of the client in its group.
    pub index: u32,
    app: AnyApp,
    actions: ActionQueue,
    /// Parameters of the connections, and the generator that seeds those of their congestion controls.
    pub template: ConnectionTemplate,
    rng: Rng,
    /// Slots of closed connections.
    free: Vec<u32>,
    /// Slot of each connection by number, and number of each open connection by slot.
    slots: Vec<u32>,
    numbers: BTreeMap<u32, u32>,
}

/// An action of a client that the run carries out.
pub(crate) enum ClientAction {
    /// Open a connection, in a free slot if one is given; then call [`Client::set_slot`].
    Open(Opening, Option<u32>),
    /// Report the bytes delivered by the connection in this slot to [`Client::on_event`].
    Count(u32),
    /// Send a request on the connection in this slot.
    Request(u32, Exchange),
    /// Close the connection in this slot.
    Close(u32),
    /// Report a completed transfer: the slot of its connection, its start, its bytes.
    Completed(u32, Instant, u64),
    /// Add a record of the client with this index.
    Record(u32, AppRecord),
}

impl Client {
    pub(super) fn new(app: AnyApp, (group, index): (u32, u32), rng: Rng) -> Self {
        let template = ConnectionTemplate::Tcp(TcpTemplate::new(app.tcp()));
        let (actions, numbers) = (ActionQueue::default(), BTreeMap::new());
        Self { group, index, app, actions, template, rng, free: Vec::new(), slots: Vec::new(), numbers }
    }

    /// When [`Self::next`] must be called.
    pub fn due(&self) -> Instant {
        self.app.due()
    }

    /// The next action that is due now.
    pub fn next(&mut self, now: Instant) -> Option<ClientAction> {
        while self.actions.queue.is_empty() && self.app.due() <= now {
            self.app.on_timer(now, &mut self.actions);
        }
        self.next_pending(now)
    }

    /// Ends the run; [`Self::next_pending`] returns the remaining actions.
    pub fn close(&mut self, end: Instant) {
        self.app.close(end, &mut self.actions);
    }

    /// The next pending action.
    pub fn next_pending(&mut self, now: Instant) -> Option<ClientAction> {
        let slot = |number: u32| self.slots[number as usize];
        Some(match self.actions.queue.pop_front()? {
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

    /// Notes that the last connection opened is in `slot`.
    pub fn set_slot(&mut self, slot: u32) {
        self.numbers.insert(slot, self.slots.len() as u32);
        self.slots.push(slot);
    }

    /// Forwards an event of the connection in `slot` to the application.
    pub fn on_event(&mut self, now: Instant, slot: u32, event: ConnectionEvent) {
        if let Some(&number) = self.numbers.get(&slot) {
            self.app.on_event(now, number, event, &mut self.actions);
        }
    }

    /// Frees the slot of a closed connection.
    pub fn on_closed(&mut self, slot: u32) {
        self.numbers.remove(&slot);
        self.free.push(slot);
    }
}
