//! How a link serves its queue: one kind, one file, one line in the list below.

mod rate;
mod trace;

pub use trace::TraceService;

use super::Error;
use super::keys::{Key, Table};
use serde_json::{Map, Value};
use sojourn_aqm::Rate;
use std::path::Path;

/// Declares the kinds: variant and specification. A link is of the kind whose first key it has.
macro_rules! services {
    ($( $(#[doc = $doc:literal])+ $variant:ident($spec:ty); )+) => {
        /// When and how fast a link sends packets.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Service { $( $(#[doc = $doc])+ $variant($spec), )+ }

        /// The keys of each kind.
        pub(super) static KINDS: &[&[Key]] = &[ $( <$spec as ServiceKind>::KEYS, )+ ];

        impl Service {
            /// The rate that a queue manager may take for the link's: of a varying one the mean. Above zero.
            pub fn mean_rate(&self, mtu: u32) -> Rate {
                match self { $( Self::$variant(spec) => spec.mean_rate(mtu), )+ }
            }

            pub(super) fn write(&self, out: &mut Map<String, Value>) {
                match self { $( Self::$variant(spec) => spec.write(out), )+ }
            }

            pub(super) fn write_way_back(&self, mtu: u32, out: &mut Map<String, Value>) {
                match self { $( Self::$variant(spec) => spec.write_way_back(mtu, out), )+ }
            }

            fn read_kind(first: &str, place: &str, values: &Map<String, Value>, base: &Path) -> Result<Self, Error> {
                $( if first == <$spec as ServiceKind>::KEYS[0].name {
                    let table = Table::new(place, values, <$spec as ServiceKind>::KEYS);
                    let others = KINDS.iter().copied().flatten();
                    table.refuse_foreign(super::link::KEYS, others, &format!("a link with {first}"))?;
                    return <$spec as ServiceKind>::read(&table, base).map(Self::$variant);
                } )+
                unreachable!("{first} is the first key of a kind")
            }
        }
    };
}

services! {
    /// A constant rate; above zero.
    Rate(Rate);
    /// A trace of delivery opportunities.
    Trace(TraceService);
}

/// What a kind of service must bring along.
trait ServiceKind: Sized {
    /// Its keys; the first tells that a link is of this kind.
    const KEYS: &'static [Key];
    /// Reads its keys; relative paths start from `base`.
    fn read(table: &Table, base: &Path) -> Result<Self, Error>;
    /// Writes its keys.
    fn write(&self, out: &mut Map<String, Value>);
    /// Writes the keys of the reverse link that does not say how it serves.
    fn write_way_back(&self, mtu: u32, out: &mut Map<String, Value>);
    /// The mean rate.
    fn mean_rate(&self, mtu: u32) -> Rate;
}

impl Service {
    /// Reads the service of the link at `place`.
    pub(super) fn read(place: &str, values: &Map<String, Value>, base: &Path) -> Result<Self, Error> {
        let firsts: Vec<&str> = KINDS.iter().map(|keys| keys[0].name).collect();
        let given: Vec<&str> = firsts.iter().copied().filter(|&first| values.contains_key(first)).collect();
        match given[..] {
            [first] => Self::read_kind(first, place, values, base),
            [] => {
                Err(Error::new(place, format!(r#"{} is missing; write e.g. rate = "10 Mbit/s""#, firsts.join(" or "))))
            }
            _ => Err(Error::new(place, format!("{} exclude each other; keep one", given.join(" and ")))),
        }
    }

    /// Whether the link's table says how it serves.
    pub(super) fn is_given(values: &Map<String, Value>) -> bool {
        KINDS.iter().any(|keys| values.contains_key(keys[0].name))
    }
}
