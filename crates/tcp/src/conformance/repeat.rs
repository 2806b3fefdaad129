//! Compares the calls of a connection with those of an earlier, equal one.

use super::recording::{CallObserver, CallRecord};
use super::words;
use crate::cc::foreign::ForeignControl;

/// Compares calls with the hashes of an earlier run.
#[derive(Debug, Default)]
pub(super) struct Repeat {
    expected: Vec<u64>,
    /// Compared calls.
    pub calls: u64,
    /// The first call that differs, in words.
    pub first: Option<String>,
}

impl Repeat {
    /// The calls to come.
    pub fn expect(&mut self, hashes: Vec<u64>) {
        self.expected = hashes;
    }

    /// Compares the next call.
    pub fn compare(&mut self, record: &CallRecord) {
        let expected = self.expected.get(self.calls as usize);
        self.calls += 1;
        if expected != Some(&record.digest()) && self.first.is_none() {
            self.first = Some(format!("call {}, {}", self.calls, words::record(record)));
        }
    }
}

impl CallObserver for Repeat {
    fn called(&mut self, record: &CallRecord, _: &dyn ForeignControl) {
        self.compare(record);
    }

    fn failed(&mut self, text: &str) {
        // The first run did not fail.
        self.first.get_or_insert_with(|| format!("call {}: {text}", self.calls + 1));
    }
}
