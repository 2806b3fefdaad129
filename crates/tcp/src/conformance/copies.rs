//! Compares a control with copies of itself that get the same calls.

use super::recording::{CallObserver, CallRecord, RESULTS, call_beside};
use super::repeat::Repeat;
use super::words;
use crate::cc::foreign::{ControlDefinition, ControlHost, Fault, FlightView, ForeignControl};

/// Copies the control in the middle of connections. If it cannot be copied, the connection's calls are made again to a
/// new control.
#[derive(Debug, Default)]
pub(super) struct Copies {
    original: Repeat,
    /// The current copy, the view that its last call left, and the number of calls until the next copy.
    copy: Option<(Box<dyn ForeignControl>, FlightView)>,
    calls_left: u32,
    host: Option<ControlHost>,
    /// Calls of the connection, for a control that cannot be copied.
    calls: Vec<CallRecord>,
    /// Copies, and connections made again.
    pub count: u64,
    pub replayed: u64,
    /// Why the control cannot be copied.
    pub refusal: Option<String>,
    /// The first call after which a copy differs.
    pub first: Option<String>,
}

impl Copies {
    /// The calls to come.
    pub fn expect(&mut self, hashes: Vec<u64>) {
        self.original.expect(hashes);
    }

    /// The first call that differs from that of a run without copies: a copy shares state with its original.
    pub fn disturbed(&self) -> Option<&str> {
        self.original.first.as_deref().filter(|_| self.count > 0)
    }

    /// A connection of a control of `definition` ends.
    pub fn end_connection(&mut self, definition: &dyn ControlDefinition) {
        let calls = std::mem::take(&mut self.calls);
        (self.copy, self.calls_left) = (None, FIRST);
        let (Some(host), false) = (self.host.take(), calls.is_empty()) else { return };
        self.replayed += 1;
        let result = definition.create(&host).map(|control| {
            let mut copy = (control, FlightView::EMPTY);
            calls.iter().find_map(|record| compare(&mut copy, record))
        });
        self.first = self.first.take().or(result.unwrap_or_else(|fault| Some(text(&fault))));
    }
}

impl CallObserver for Copies {
    fn created(&mut self, host: &ControlHost) {
        (self.host, self.calls_left) = (Some(*host), FIRST);
    }

    fn called(&mut self, record: &CallRecord, control: &dyn ForeignControl) {
        self.original.compare(record);
        if self.refusal.is_some() {
            self.calls.push(*record);
            return;
        }
        if let Some(copy) = self.copy.as_mut().filter(|_| self.first.is_none()) {
            self.first = compare(copy, record);
        }
        self.calls_left = self.calls_left.saturating_sub(1);
        if self.calls_left > 0 {
            return;
        }
        self.calls_left = EVERY;
        match control.copy() {
            Ok(copy) => {
                self.count += 1;
                self.copy = Some((copy, record.after));
            }
            Err(fault) => self.refusal = Some(text(&fault)),
        }
    }

    fn failed(&mut self, text: &str) {
        self.first.get_or_insert_with(|| text.to_string());
    }
}

/// Makes the call of `record` to a copy; a sentence if it has another result.
fn compare((copy, own): &mut (Box<dyn ForeignControl>, FlightView), record: &CallRecord) -> Option<String> {
    let CallRecord { call, before, after, value } = record;
    let (of_copy, value_of_copy) = match call_beside(&mut **copy, *call, before, own) {
        Ok(result) => result,
        Err(fault) => return Some(format!("{}: {}", words::record(record), text(&fault))),
    };
    *own = of_copy;
    let differing = RESULTS.iter().find(|(_, of)| of(after) != of(&of_copy));
    let (name, ours, theirs) = match differing {
        Some(&(name, of)) => (name, words::field(name, of(after)), words::field(name, of(&of_copy))),
        None if *value != value_of_copy => ("value", value.to_string(), value_of_copy.to_string()),
        None => return None,
    };
    Some(format!("{name} {ours}, of the copy {theirs}, after {}", words::record(record)))
}

fn text(fault: &Fault) -> String {
    match fault {
        Fault::Text(text) => text.clone(),
        Fault::Pending => "raised an exception".to_string(),
    }
}

/// Calls before the first copy, when the connection has left its handshake, and between copies.
const FIRST: u32 = 40;
const EVERY: u32 = 400;
