//! Applications of clients: what connections tell them, what they order, what they record.

use super::exchange::Exchange;
use crate::responsiveness::{Confidence, ProbeKind, Responsiveness};
use crate::scenario::TcpSpec;
use sojourn_aqm::{Duration, Instant};
use std::collections::VecDeque;

/// An event of a connection, for its client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ConnectionEvent {
    /// The handshake is over.
    Connected,
    /// The last byte of an answer has arrived.
    ResponseReceived,
    /// The same on a load-generating connection: the answer waited so long in the sender's socket.
    ProbeAnswered { in_socket: Duration },
    /// So many bytes have arrived in order since it was opened.
    Counted(u64),
}

/// What a client does with connections.
pub(super) trait App {
    /// When it wants to act next.
    fn due(&self) -> Instant;
    /// That time has come.
    fn on_timer(&mut self, now: Instant, orders: &mut ActionQueue);
    /// Connection `number` tells something.
    fn on_event(&mut self, now: Instant, number: u32, news: ConnectionEvent, orders: &mut ActionQueue);
    /// The run ends.
    fn close(&mut self, end: Instant, orders: &mut ActionQueue) {
        let _ = (end, orders);
    }
    /// What the connections are made of.
    fn tcp(&self) -> &TcpSpec;
}

/// What an application has seen, for the books.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum AppRecord {
    /// A player began to play, so long after its start.
    Started(Duration),
    /// It fetches a segment in another rate than the one before.
    Switched,
    /// A segment of a video is there, and video of this `level` with it; the picture `stood` before.
    Segment {
        number: u32,
        requested_at: Instant,
        bytes: u64,
        rate_bps: u64,
        level: Duration,
        stalled_for: Duration,
    },
    /// The goodput of a load was found saturated.
    Saturated(Instant),
    /// A probe got an answer.
    Probe {
        kind: ProbeKind,
        sent_at: Instant,
        duration: Duration,
        in_socket: Duration,
    },
    /// The result of a test of responsiveness: how sure it is, when it was there, goodput in bit/s, connections.
    Rpm(Responsiveness, Confidence, Instant, f64, u32),
    /// The picture came to a halt; and it stood from one instant to another.
    Stalled,
    StallEnded(Instant, Instant),
}

/// What an application wants done, in order.
#[derive(Debug, Default)]
pub(super) struct ActionQueue {
    /// Connections that were ordered: the number of the next one.
    pub opened: u32,
    pub queue: VecDeque<Action>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    Open,
    Load(u64),
    Count(u32),
    Request(u32, Exchange),
    Close(u32),
    Completed(u32, Instant, u64),
    Record(AppRecord),
}

impl ActionQueue {
    /// Opens a connection; returns its number.
    pub fn open(&mut self) -> u32 {
        self.queue.push_back(Action::Open);
        self.opened += 1;
        self.opened - 1
    }

    /// Opens a load-generating connection, whose server keeps so many bytes unsent; returns its number.
    pub fn load(&mut self, unsent: u64) -> u32 {
        self.queue.push_back(Action::Load(unsent));
        self.opened += 1;
        self.opened - 1
    }

    /// Connection `number` will tell what it has brought.
    pub fn count(&mut self, number: u32) {
        self.queue.push_back(Action::Count(number));
    }

    /// Asks over connection `number`, which has answered what was asked before; without the exchange's pause.
    pub fn request(&mut self, number: u32, exchange: Exchange) {
        self.queue.push_back(Action::Request(number, exchange));
    }

    /// Connection `number` will not be asked again.
    pub fn close(&mut self, number: u32) {
        self.queue.push_back(Action::Close(number));
    }

    /// A transfer of `bytes` that began at `begun` is over, by what connection `number` has brought.
    pub fn completed(&mut self, number: u32, begun: Instant, bytes: u64) {
        self.queue.push_back(Action::Completed(number, begun, bytes));
    }

    /// Something for the books.
    pub fn record(&mut self, record: AppRecord) {
        self.queue.push_back(Action::Record(record));
    }
}
