//! Services of a link's queue. Each kind is a file and a line in the list below.

mod bucket;
mod cox;
mod poisson;
mod rate;
mod steps;
mod trace;
mod wlan;

pub use bucket::BucketService;
pub use cox::CoxService;
pub use poisson::PoissonService;
pub(super) use steps::SLOWEST_LATCH;
pub use steps::{RateChange, StepsService};
pub use trace::TraceService;
pub use wlan::WlanService;

use super::keys::{Key, Table};
use super::{Error, Files};
use serde_json::{Map, Value};
use sojourn_aqm::Rate;

/// Declares the kinds: variant and specification. The first key of a kind selects it; if two kinds share that key
/// (`rate`), its value decides.
macro_rules! services {
    ($( $(#[doc = $doc:literal])+ $variant:ident($spec:ty); )+) => {
        /// Service of a link's queue.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Service { $( $(#[doc = $doc])+ $variant($spec), )+ }

        /// Keys of each kind.
        pub(super) static KINDS: &[&[Key]] = &[ $( <$spec as ServiceKind>::KEYS, )+ ];

        impl Service {
            /// Rate that queue managers and limits in time assume; above zero.
            pub fn nominal_rate(&self, mtu: u32) -> Rate {
                match self { $( Self::$variant(spec) => spec.nominal_rate(mtu), )+ }
            }

            /// Checks that the service can send a packet of `largest` bytes; the error has the key and the text.
            pub(super) fn check(&self, largest: u32) -> Result<(), (&'static str, String)> {
                match self { $( Self::$variant(spec) => spec.check(largest), )+ }
            }

            pub(super) fn write(&self, out: &mut Map<String, Value>) {
                match self { $( Self::$variant(spec) => spec.write(out), )+ }
            }

            pub(super) fn write_reverse(&self, mtu: u32, out: &mut Map<String, Value>) {
                match self { $( Self::$variant(spec) => spec.write_reverse(mtu, out), )+ }
            }

            fn read_kind(
                first: &str,
                place: &str,
                (values, of_link): (&Map<String, Value>, &[Key]),
                files: &dyn Files,
            ) -> Result<Self, Error> {
                $( if <$spec as ServiceKind>::is_chosen(values) {
                    let table = Table::new(place, values, <$spec as ServiceKind>::KEYS);
                    let others = KINDS.iter().copied().flatten();
                    table.refuse_foreign(of_link, others, &format!("a link with {}", describe(first, values)))?;
                    return <$spec as ServiceKind>::read(&table, files).map(Self::$variant);
                } )+
                unreachable!("{first} is the first key of a kind")
            }
        }
    };
}

services! {
    /// Constant rate; above zero.
    Rate(Rate);
    /// Rate with a schedule.
    Steps(StepsService);
    /// Token bucket.
    Bucket(BucketService);
    /// Poisson process of delivery opportunities.
    Poisson(PoissonService);
    /// Cox process of delivery opportunities.
    Cox(CoxService);
    /// Trace of delivery opportunities.
    Trace(TraceService);
    /// Channel of a wireless LAN.
    Wlan(WlanService);
}

/// A kind of service.
trait ServiceKind: Sized {
    /// Its keys; the first one selects the kind.
    const KEYS: &'static [Key];
    /// Whether the link's table selects this kind.
    fn is_chosen(values: &Map<String, Value>) -> bool {
        values.contains_key(Self::KEYS[0].name)
    }
    /// Reads its keys; `files` gives access to traces.
    fn read(table: &Table, files: &dyn Files) -> Result<Self, Error>;
    /// Writes its keys.
    fn write(&self, out: &mut Map<String, Value>);
    /// Writes the keys of a reverse link without a service of its own; by default the same keys.
    fn write_reverse(&self, mtu: u32, out: &mut Map<String, Value>) {
        let _ = mtu;
        self.write(out);
    }
    /// Rate that queue managers assume: the mean of a varying rate, if there is one.
    fn nominal_rate(&self, mtu: u32) -> Rate;
    /// Checks that it can send a packet of `largest` bytes on the wire.
    fn check(&self, largest: u32) -> Result<(), (&'static str, String)> {
        let _ = largest;
        Ok(())
    }
}

impl Service {
    /// Reads the service of the link at `place`.
    pub(super) fn read(
        place: &str,
        (values, of_link): (&Map<String, Value>, &[Key]),
        files: &dyn Files,
    ) -> Result<Self, Error> {
        let firsts = first_keys();
        let given: Vec<&str> = firsts.iter().copied().filter(|&first| values.contains_key(first)).collect();
        match given[..] {
            [first] => Self::read_kind(first, place, (values, of_link), files),
            [] => {
                let alone = keys_without_wlan();
                let (last, others) = alone.split_last().expect("there are kinds of links");
                let text = format!(r#"{} or {last} is missing; write e.g. rate = "10 Mbit/s""#, others.join(", "));
                Err(Error::new(place, text))
            }
            _ => Err(Error::new(place, format!("{} exclude each other; keep one", given.join(" and ")))),
        }
    }

    /// Whether the link's table selects a service.
    pub(super) fn is_given(values: &Map<String, Value>) -> bool {
        KINDS.iter().any(|keys| values.contains_key(keys[0].name))
    }
}

/// Keys that select a service.
pub fn first_keys() -> Vec<&'static str> {
    let mut firsts: Vec<&str> = KINDS.iter().map(|keys| keys[0].name).collect();
    firsts.dedup();
    firsts
}

/// [`first_keys`] without that of a wireless LAN.
pub(super) fn keys_without_wlan() -> Vec<&'static str> {
    first_keys().into_iter().filter(|&first| first != WlanService::KEY).collect()
}

/// Name of the kind in errors.
fn describe(first: &str, values: &Map<String, Value>) -> String {
    let shared = KINDS.iter().filter(|keys| keys[0].name == first).count() > 1;
    if shared && !values.get(first).is_some_and(steps::are_steps) { format!("constant {first}") } else { first.into() }
}
