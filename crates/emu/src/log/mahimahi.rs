//! Mahimahi's log of one direction of a link, in whole milliseconds.
//!
//! Source: ravinet/mahimahi, `src/frontend/link_queue.cc`: `T # BYTES` for an opportunity, used or not, `T + BYTES` for
//! an arrival, `T - BYTES DELAY` for a departure, `T d PACKETS BYTES` for a drop. Differs: bytes are those of IP,
//! without 4 for a tunnel header; head drops are logged too; a departure is the start of a transmission. A link with a
//! rate has an opportunity whenever the rate has accumulated a full packet.

use super::error::WriteError;
use super::output::Output;
use super::record::Record;
use super::{LogWriter, RecordKind};
use crate::Error;
use crate::path::config::{DirectionConfig, LogConfig, Side};
use sojourn_aqm::Instant;
use sojourn_sim::opportunities;
use sojourn_sim::scenario::{LinkSpec, Service};
use std::io::Write;
use std::iter::Peekable;

/// Writer of this format.
pub struct Mahimahi {
    output: Output,
    opportunities: Peekable<Box<dyn Iterator<Item = Instant> + Send>>,
    mtu: u32,
}

impl Mahimahi {
    pub fn create(log: &LogConfig, config: &DirectionConfig, spec: &LinkSpec, seed: u64) -> Result<Self, Error> {
        let mut output = Output::create(&log.path)?;
        let name = match config.side {
            Side::Up => "Uplink",
            Side::Down => "Downlink",
        };
        let trace = match &spec.service {
            Service::Trace(trace) => trace.path.display().to_string(),
            service => format!("{} on average", service.nominal_rate(spec.mtu)),
        };
        let text = format!(
            "# mahimahi mm-link ({name}) [{trace}] > {}\n# command line: {}\n# queue: {} [{}]\n\
             # init timestamp: {}\n# base timestamp: 0\n",
            log.path.display(),
            log.command.replace('\n', " "),
            spec.aqm.text,
            spec.limits,
            config.epoch_ns / NANOS_PER_MS
        );
        output.buffer.extend(text.bytes());
        output.flush()?;
        let none = || Box::new(std::iter::empty()) as Box<dyn Iterator<Item = Instant> + Send>;
        let opportunities = opportunities(&spec.service, spec.mtu, seed, config.number).unwrap_or_else(none).peekable();
        Ok(Self { output, opportunities, mtu: spec.mtu })
    }

    /// Writes the opportunities up to and including `now`.
    fn catch_up(&mut self, now: Instant) -> Result<(), WriteError> {
        while let Some(at) = self.opportunities.next_if(|&at| at <= now && at < Instant::NEVER) {
            let mtu = self.mtu;
            self.line(at, format_args!("# {mtu}"));
            self.output.settle()?;
        }
        Ok(())
    }

    fn line(&mut self, at: Instant, event: std::fmt::Arguments) {
        let ms = at.as_nanos() / NANOS_PER_MS;
        writeln!(self.output.buffer, "{ms} {event}").expect("a vector takes what it is given");
    }
}

impl LogWriter for Mahimahi {
    fn write(&mut self, records: &[Record]) -> Result<(), WriteError> {
        for &Record { at, bytes, kind, value, .. } in records {
            self.catch_up(at)?;
            match kind {
                RecordKind::Arrival => self.line(at, format_args!("+ {bytes}")),
                RecordKind::Sent | RecordKind::Marked => {
                    let arrived_ms = (at.as_nanos() - value) / NANOS_PER_MS;
                    let delay = at.as_nanos() / NANOS_PER_MS - arrived_ms;
                    self.line(at, format_args!("- {bytes} {delay}"));
                }
                RecordKind::Limit
                | RecordKind::Early
                | RecordKind::Late
                | RecordKind::HardLimit
                | RecordKind::Replaced => {
                    self.line(at, format_args!("d 1 {bytes}"));
                }
                RecordKind::Idle
                | RecordKind::Lost
                | RecordKind::Refused
                | RecordKind::Overdue
                | RecordKind::Payload
                | RecordKind::More
                | RecordKind::End => {}
                RecordKind::Tcp
                | RecordKind::TcpTimes
                | RecordKind::TcpSack
                | RecordKind::Changed
                | RecordKind::Text => {}
            }
            self.output.settle()?;
        }
        self.output.flush()
    }

    fn finish(&mut self, end: Instant) -> Result<(), WriteError> {
        self.catch_up(end)?;
        self.output.flush()
    }
}

const NANOS_PER_MS: u64 = 1_000_000;
