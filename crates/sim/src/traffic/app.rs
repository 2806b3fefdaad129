//! Applications of clients: events of connections, actions on them, records.

use super::exchange::Exchange;
use crate::responsiveness::{Confidence, ProbeKind, Responsiveness};
use crate::scenario::TcpSpec;
use sojourn_aqm::{Duration, Instant};
use std::collections::VecDeque;

/// An event of a connection, for its client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ConnectionEvent {
    /// The handshake is complete.
    Connected,
    /// The last byte of a response has arrived.
    ResponseReceived,
    /// The last byte of a response on a load-generating connection has arrived; `in_socket` is its time in the sender's
    /// socket.
    ProbeAnswered { in_socket: Duration },
    /// Bytes delivered in order since the connection was opened.
    Counted(u64),
}

/// An application of a client with connections.
pub(super) trait App {
    /// When it acts next.
    fn due(&self) -> Instant;
    /// Acts, because the application is due.
    fn on_timer(&mut self, now: Instant, actions: &mut ActionQueue);
    /// Handles an event of connection `number`.
    fn on_event(&mut self, now: Instant, number: u32, event: ConnectionEvent, actions: &mut ActionQueue);
    /// Ends the run.
    fn close(&mut self, end: Instant, actions: &mut ActionQueue) {
        let _ = (end, actions);
    }
    /// Parameters of its connections.
    fn tcp(&self) -> &TcpSpec;
}

/// A record of an application for the counters and tables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum AppRecord {
    /// A player started to play, this long after its start.
    Started(Duration),
    /// A player requested a segment in another rate than the previous one.
    Switched,
    /// A video segment arrived; `level` is the buffer with it, `stalled_for` the stall before it.
    Segment {
        number: u32,
        requested_at: Instant,
        bytes: u64,
        rate_bps: u64,
        level: Duration,
        stalled_for: Duration,
    },
    /// The goodput of a load was found saturated at this time.
    Saturated(Instant),
    /// A probe was answered.
    Probe {
        kind: ProbeKind,
        sent_at: Instant,
        duration: Duration,
        in_socket: Duration,
    },
    /// Result of a responsiveness test: its confidence, end, goodput in bit/s, and number of connections.
    Rpm(Responsiveness, Confidence, Instant, f64, u32),
    /// Playback stalled; and the start and end of a stall.
    Stalled,
    StallEnded(Instant, Instant),
}

/// Pending actions of an application, in order.
#[derive(Debug, Default)]
pub(super) struct ActionQueue {
    /// Connections opened so far, and the number of the next one.
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

    /// Opens a load-generating connection whose server keeps `unsent` bytes unsent; returns its number.
    pub fn load(&mut self, unsent: u64) -> u32 {
        self.queue.push_back(Action::Load(unsent));
        self.opened += 1;
        self.opened - 1
    }

    /// Requests the event [`ConnectionEvent::Counted`] of connection `number`.
    pub fn count(&mut self, number: u32) {
        self.queue.push_back(Action::Count(number));
    }

    /// Sends a request over connection `number`, which must have no response pending. The exchange's pause is not used.
    pub fn request(&mut self, number: u32, exchange: Exchange) {
        self.queue.push_back(Action::Request(number, exchange));
    }

    /// Closes connection `number`, after its last request.
    pub fn close(&mut self, number: u32) {
        self.queue.push_back(Action::Close(number));
    }

    /// Reports a completed transfer of `bytes` that started at `begun` and ended on connection `number`.
    pub fn completed(&mut self, number: u32, begun: Instant, bytes: u64) {
        self.queue.push_back(Action::Completed(number, begun, bytes));
    }

    /// Adds a record.
    pub fn record(&mut self, record: AppRecord) {
        self.queue.push_back(Action::Record(record));
    }
}
