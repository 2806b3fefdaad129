//! Link whose rate has a schedule.

use super::ServiceKind;
use crate::scenario::keys::{Datum, Field, Key, Kind, Need, Table, of_word, word_of, write};
use crate::scenario::steps::{RATES, Steps};
use crate::scenario::{Error, Files};
use serde_json::{Map, Value};
use sojourn_aqm::Rate;

/// Schedule of rates.
#[derive(Clone, Debug, PartialEq)]
pub struct StepsService {
    /// Rates; at least one is above zero.
    pub rate: Steps<Rate>,
    /// Effect of a step on the packet in transmission.
    pub change: RateChange,
}

/// Effect of a step of the rate on the packet in transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateChange {
    /// Its remainder is sent at the new rate.
    Fluid,
    /// It ends as planned at its start (ns-2's DelayLink, ns-3's point-to-point device).
    Latch,
    /// The link serves in opportunities of one MTU, each when the rate has added up to one, as Mahimahi does.
    Opportunity,
}

impl ServiceKind for StepsService {
    const KEYS: &'static [Key] = &[
        Key {
            name: "rate",
            kind: Kind::Custom(&RATES),
            need: Need::Optional,
            doc: "Rate on the wire, framing included: constant, e.g. `10 Mbit/s`, or a schedule, e.g. \
                  `100 Mbit/s@0s,10 Mbit/s@50s`, with the first step at 0 s and the others in order. A step may be \
                  `0 bit/s`.",
        },
        Key {
            name: "change",
            kind: Kind::Word("rate change", || CHANGES.iter().map(|&(word, _)| word).collect()),
            need: Need::Default("fluid"),
            doc: "Effect of a step of `rate` on the packet in transmission. `fluid`: its remainder is sent at the new \
                  rate. `latch`: it ends as planned, and the new rate holds from the next packet on (no rate below 1 \
                  kbit/s). `opportunity`: the link serves in opportunities of one MTU, each when the rate has added up \
                  to one.",
        },
    ];

    fn is_chosen(values: &Map<String, Value>) -> bool {
        values.get("rate").is_some_and(are_steps)
    }

    fn read(table: &Table, _files: &dyn Files) -> Result<Self, Error> {
        let steps = Self { rate: table.field("rate")?, change: table.field("change")? };
        if steps.rate.iter().all(|(_, rate)| rate.as_bps() == 0) {
            return Err(table.error("rate", "is 0 bit/s all the time; write at least one step above zero"));
        }
        let slow = steps.rate.iter().find(|&(_, rate)| rate < SLOWEST_LATCH);
        match slow.filter(|_| steps.change == RateChange::Latch) {
            None => Ok(steps),
            Some((at, rate)) => {
                let text = format!(
                    "{rate} at {at} is below {SLOWEST_LATCH}, too slow for change = \"latch\": a packet would block \
                     the link for minutes; write a higher rate or change = \"fluid\""
                );
                Err(table.error("rate", text))
            }
        }
    }

    fn write(&self, out: &mut Map<String, Value>) {
        // A single step keeps its time, so that it is read as a schedule again.
        let text = if self.rate.changes() { self.rate.to_string() } else { format!("{}@0 s", self.rate) };
        out.insert("rate".into(), text.into());
        write(Self::KEYS, "change", &self.change, out);
    }

    /// The first rate above zero; queue managers are not notified of changes.
    fn nominal_rate(&self, _mtu: u32) -> Rate {
        let rates = self.rate.iter().map(|(_, rate)| rate);
        rates.into_iter().find(|rate| rate.as_bps() > 0).expect("one of the rates is above zero")
    }
}

impl Field for RateChange {
    fn some(datum: Datum) -> Self {
        let Datum::Text(word) = datum else { unreachable!("a change is a word") };
        of_word(CHANGES, &word)
    }
    fn datum(&self) -> Option<Datum> {
        Some(Datum::Text(word_of(CHANGES, self)))
    }
}

/// Whether `rate` is a schedule.
pub(super) fn are_steps(rate: &Value) -> bool {
    rate.as_str().is_some_and(|text| text.contains(['@', ',']))
}

const CHANGES: &[(&str, RateChange)] =
    &[("fluid", RateChange::Fluid), ("latch", RateChange::Latch), ("opportunity", RateChange::Opportunity)];

/// Minimum rate for [`RateChange::Latch`]; below it one packet may take minutes.
pub(in super::super) const SLOWEST_LATCH: Rate = Rate::from_bps(1000);
