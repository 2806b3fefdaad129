//! What a flow sends: one kind, one file, one line in the list below.

mod tcp;
mod udp;

pub use tcp::TcpSpec;
pub use udp::UdpSpec;

use super::Error;
use super::keys::{Key, Table};
use serde_json::{Map, Value};

/// Declares the kinds: variant, specification, name and one sentence.
macro_rules! traffic {
    ($( $variant:ident($spec:ident) = $name:literal, $summary:literal; )+) => {
        /// What a flow sends.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Traffic { $( #[doc = $summary] $variant($spec), )+ }

        /// Every kind.
        pub(super) static KINDS: &[TrafficKind] =
            &[ $( TrafficKind { name: $name, summary: $summary, keys: $spec::KEYS }, )+ ];

        impl Traffic {
            /// The kind's name in files.
            pub fn name(&self) -> &'static str {
                match self { $( Self::$variant(_) => $name, )+ }
            }

            /// Reads the keys of `kind`, a name that is known.
            pub(super) fn read(kind: &str, place: &str, values: &Map<String, Value>) -> Result<Self, Error> {
                let others = KINDS.iter().flat_map(|kind| kind.keys);
                match kind {
                    $( $name => {
                        let table = Table::new(place, values, $spec::KEYS);
                        table.refuse_foreign(super::flow::KEYS, others, concat!($name, " flows"))?;
                        $spec::read(&table).map(Self::$variant)
                    } )+
                    _ => unreachable!("{kind} is a kind of traffic"),
                }
            }

            pub(super) fn write(&self, out: &mut Map<String, Value>) {
                match self { $( Self::$variant(spec) => spec.write(out), )+ }
            }
        }
    };
}

traffic! {
    Tcp(TcpSpec) = "tcp", "A TCP connection whose application always has data.";
    Cbr(UdpSpec) = "cbr", "Datagrams at a constant rate.";
    Poisson(UdpSpec) = "poisson", "Datagrams with exponentially distributed gaps.";
}

/// A kind of traffic as its list shows it.
pub(super) struct TrafficKind {
    pub name: &'static str,
    pub summary: &'static str,
    pub keys: &'static [Key],
}

/// Name and summary of every kind of traffic.
pub fn kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
    KINDS.iter().map(|kind| (kind.name, kind.summary))
}

pub(super) fn names() -> Vec<&'static str> {
    KINDS.iter().map(|kind| kind.name).collect()
}
