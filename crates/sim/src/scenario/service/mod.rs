//! How a link serves its queue: one kind, one file, one line in the list below.

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
pub use steps::{Change, StepsService};
pub use trace::TraceService;
pub use wlan::WlanService;

use super::keys::{Key, Table};
use super::{Error, Files};
use serde_json::{Map, Value};
use sojourn_aqm::Rate;

/// Declares the kinds: variant and specification. A link is of the kind whose first key it has;
/// where two kinds share it, its value tells.
macro_rules! services {
    ($( $(#[doc = $doc:literal])+ $variant:ident($spec:ty); )+) => {
        /// When and how fast a link sends packets.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Service { $( $(#[doc = $doc])+ $variant($spec), )+ }

        /// The keys of each kind.
        pub(super) static KINDS: &[&[Key]] = &[ $( <$spec as ServiceKind>::KEYS, )+ ];

        impl Service {
            /// The rate that a queue manager may take for the link's; above zero.
            pub fn nominal_rate(&self, mtu: u32) -> Rate {
                match self { $( Self::$variant(spec) => spec.nominal_rate(mtu), )+ }
            }

            /// Refuses what cannot carry a packet that the queue counts as `largest` bytes: the key and the remedy.
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
    /// A constant rate; above zero.
    Rate(Rate);
    /// A rate that changes in steps.
    Steps(StepsService);
    /// A token bucket.
    Bucket(BucketService);
    /// A Poisson process of delivery opportunities.
    Poisson(PoissonService);
    /// A Cox process of delivery opportunities.
    Cox(CoxService);
    /// A trace of delivery opportunities.
    Trace(TraceService);
    /// The channel of a wireless LAN.
    Wlan(WlanService);
}

/// What a kind of service must bring along.
trait ServiceKind: Sized {
    /// Its keys; the first tells that a link is of this kind.
    const KEYS: &'static [Key];
    /// Whether the link's table is of this kind.
    fn is_chosen(values: &Map<String, Value>) -> bool {
        values.contains_key(Self::KEYS[0].name)
    }
    /// Reads its keys; files are found among `files`.
    fn read(table: &Table, files: &dyn Files) -> Result<Self, Error>;
    /// Writes its keys.
    fn write(&self, out: &mut Map<String, Value>);
    /// Writes the keys of the reverse link that does not say how it serves; the same unless the kind knows better.
    fn write_reverse(&self, mtu: u32, out: &mut Map<String, Value>) {
        let _ = mtu;
        self.write(out);
    }
    /// The rate that a queue manager may take for the link's: of a varying one the mean, where there is one.
    fn nominal_rate(&self, mtu: u32) -> Rate;
    /// Refuses what cannot carry a packet of `largest` bytes on the wire.
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

    /// Whether the link's table says how it serves.
    pub(super) fn is_given(values: &Map<String, Value>) -> bool {
        KINDS.iter().any(|keys| values.contains_key(keys[0].name))
    }
}

/// The keys by which a link says how it serves.
pub fn first_keys() -> Vec<&'static str> {
    let mut firsts: Vec<&str> = KINDS.iter().map(|keys| keys[0].name).collect();
    firsts.dedup();
    firsts
}

/// The same where there is no channel.
pub(super) fn keys_without_wlan() -> Vec<&'static str> {
    first_keys().into_iter().filter(|&first| first != WlanService::KEY).collect()
}

/// The kind as an error names it.
fn describe(first: &str, values: &Map<String, Value>) -> String {
    let shared = KINDS.iter().filter(|keys| keys[0].name == first).count() > 1;
    if shared && !values.get(first).is_some_and(steps::are_steps) { format!("constant {first}") } else { first.into() }
}
