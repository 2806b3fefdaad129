//! Logs of a direction: every packet's fate in virtual time.
//!
//! Records are buffered in memory and written in blocks, between two waits of the event loop. A full disk ends a log,
//! not the run.

mod capture;
mod error;
mod mahimahi;
mod output;
mod record;
mod records;
mod replay;
mod results;
mod tcp;

pub use error::{LogError, WriteError};
pub use record::{RECORD_BYTES, Record, RecordKind};
pub use records::{HEAD_UNIT, MAGIC, read};
pub use replay::{Agreement, replay, replay_with};
pub use results::{Log, LogFileError, Payload, Results, end, results};

use crate::Error;
use crate::path::config::{DirectionConfig, LogFormat, PathKind};
use crate::path::packets::{Packet, Packets};
use capture::Capture;
use serde_json::{Map, Value};
use sojourn_aqm::{Duration, Instant, Meta, TcpView};

/// Writer of a direction's logs.
pub struct Recorder {
    records: Vec<Record>,
    /// Number of changes written.
    changes: u32,
    logs: Vec<Box<dyn LogWriter>>,
    /// Captures of arrivals and of departures.
    captures: Option<[Capture; 2]>,
    written: Instant,
    error: Option<WriteError>,
}

/// A log format.
pub(crate) trait LogWriter {
    /// Writes records in time order; the first I/O error ends the log.
    fn write(&mut self, records: &[Record]) -> Result<(), WriteError>;
    /// Ends the log at `end`.
    fn finish(&mut self, end: Instant) -> Result<(), WriteError>;
}

/// A queue's decision on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketFate {
    /// Time of the decision.
    pub at: Instant,
    /// The decision.
    pub kind: RecordKind,
    /// Sojourn time of the packet.
    pub sojourn: Duration,
}

impl Recorder {
    /// Opens the logs of `config` in a run with `seed`.
    pub fn new(config: &DirectionConfig, seed: u64) -> Result<Self, Error> {
        let mut logs: Vec<Box<dyn LogWriter>> = Vec::new();
        for log in &config.logs {
            logs.push(match (log.format, &config.kind) {
                (LogFormat::Records, _) => Box::new(records::Records::create(log, config, seed)?),
                (LogFormat::Mahimahi, PathKind::Link(spec)) => {
                    Box::new(mahimahi::Mahimahi::create(log, config, spec, seed)?)
                }
                (LogFormat::Mahimahi, _) => {
                    let text = "only a link writes a log in Mahimahi's format; leave it out";
                    return Err(Error::Input(format!("{}: {text}", log.path.display())));
                }
            });
        }
        let captures = config.pcap.as_ref().map(|prefix| Capture::pair(prefix, config)).transpose()?;
        let records = Vec::with_capacity(if logs.is_empty() { 0 } else { BLOCK });
        Ok(Self { records, changes: 0, logs, captures, written: Instant::ZERO, error: None })
    }

    /// Logs an arrival, before the queue's decision.
    #[inline]
    pub fn arrived(&mut self, now: Instant, meta: &Meta, packet: &Packet, packets: &Packets) {
        if !self.logs.is_empty() {
            self.push(Record::arrival(now, meta, packet.number));
        }
        if self.captures.is_some() {
            self.capture(0, now, packet, packets);
        }
    }

    /// Logs the TCP header of the packet that arrives next, number `number`.
    pub fn header(&mut self, now: Instant, number: u32, view: &TcpView) {
        for record in tcp::records(now, number, view) {
            self.push(record);
        }
    }

    /// Logs the queue's decision on a packet.
    #[inline]
    pub fn decided(&mut self, fate: PacketFate, meta: &Meta, packet: &Packet) {
        if !self.logs.is_empty() {
            self.push(Record::fate(fate.at, fate.kind, meta, packet.number, fate.sojourn));
        }
    }

    /// Captures a packet whose transmission begins.
    #[inline]
    pub fn leaves(&mut self, now: Instant, packet: &Packet, packets: &Packets) {
        if self.captures.is_some() {
            self.capture(1, now, packet, packets);
        }
    }

    /// Whether any log is written, captures aside.
    #[inline]
    pub fn logs(&self) -> bool {
        !self.logs.is_empty()
    }

    /// Logs another event; `number` and `value` depend on the kind.
    #[inline]
    pub fn event(&mut self, now: Instant, kind: RecordKind, number: u32, value: u64) {
        if self.logs() {
            self.push(Record::event(now, kind, number, value));
        }
    }

    /// Logs a change of the direction to `keys` at `now`.
    pub fn changed(&mut self, now: Instant, keys: &Map<String, Value>) {
        if self.logs() {
            let text = Value::Object(keys.clone()).to_string();
            Record::of_change(now, self.changes, &text).for_each(|record| self.push(record));
            self.changes += 1;
        }
    }

    /// Flushes the buffers once a second, for programs that follow the files.
    pub fn tick(&mut self, now: Instant) {
        if now - self.written > Duration::from_secs(1) {
            self.written = now;
            self.flush();
        }
    }

    /// Ends the logs; returns the first write error.
    pub fn finish(mut self, end: Instant) -> Option<WriteError> {
        self.flush();
        for mut log in self.logs {
            if let Err(error) = log.finish(end) {
                self.error.get_or_insert(error);
            }
        }
        for capture in self.captures.into_iter().flatten() {
            if let Err(error) = capture.finish() {
                self.error.get_or_insert(error);
            }
        }
        self.error
    }

    #[inline(never)]
    fn capture(&mut self, index: usize, now: Instant, packet: &Packet, packets: &Packets) {
        let Some(captures) = &mut self.captures else { return };
        captures[index].packet(now, packet, packets);
        if !keep(captures[index].settle(), &mut self.error) {
            self.captures = None;
        }
    }

    fn push(&mut self, record: Record) {
        if self.records.len() == BLOCK {
            self.flush();
        }
        self.records.push(record);
    }

    #[inline(never)]
    fn flush(&mut self) {
        let (records, error) = (&self.records, &mut self.error);
        self.logs.retain_mut(|log| keep(log.write(records), error));
        self.records.clear();
        if let Some(captures) = &mut self.captures {
            if !captures.iter_mut().all(|capture| keep(capture.flush(), error)) {
                self.captures = None;
            }
        }
    }
}

/// Returns whether the write succeeded; saves the first error.
fn keep(written: Result<(), WriteError>, error: &mut Option<WriteError>) -> bool {
    match written {
        Ok(()) => true,
        Err(first) => {
            error.get_or_insert(first);
            false
        }
    }
}

/// Records buffered in memory: 256 kB.
const BLOCK: usize = 8192;

#[cfg(test)]
mod tests;
