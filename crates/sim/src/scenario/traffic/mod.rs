//! Kinds of traffic. Each kind is a file and a line in the list below.

mod browser;
mod cbr;
mod endpoint;
mod file;
mod ladder;
mod media;
mod packmime;
mod path_events;
mod pcap;
mod request;
mod rpm;
mod sizes;
mod tcp;
mod udp;
mod video;
mod voice;
mod web;

pub use browser::BrowserSpec;
pub use cbr::CbrSpec;
pub use endpoint::{Addresses, EndpointSpec};
pub use file::FileSpec;
pub use ladder::Ladder;
pub use media::MediaSpec;
pub(super) use packmime::HTTPS;
pub use packmime::{Http, PackMimeSpec};
pub use path_events::{NamedPaths, PathEffect, PathEvent, PathEvents};
pub use pcap::{PcapKeys, PcapSpec};
pub use request::RequestSpec;
pub use rpm::RpmSpec;
pub use sizes::SizeDistribution;
pub use tcp::TcpSpec;
pub use udp::UdpSpec;
pub use video::VideoSpec;
pub use voice::VoiceSpec;
pub use web::WebSpec;

use super::keys::{Key, Table};
use super::{Error, Files};
use serde_json::{Map, Value};
use sojourn_aqm::{Duration, Rate};

/// Declares the kinds: variant, specification, name and summary.
macro_rules! traffic {
    ($( $variant:ident($spec:ident) = $name:literal, $summary:literal; )+) => {
        /// Traffic of a flow.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Traffic { $( #[doc = $summary] $variant($spec), )+ }

        /// All kinds.
        pub(super) static KINDS: &[TrafficKind] =
            &[ $( TrafficKind { name: $name, summary: $summary, keys: $spec::KEYS }, )+ ];

        impl Traffic {
            /// Name of the kind in files.
            pub fn name(&self) -> &'static str {
                match self { $( Self::$variant(_) => $name, )+ }
            }

            /// Reads the keys of `kind`, which must be a known name; `files` gives access to captures.
            pub(super) fn read(
                kind: &str,
                place: &str,
                (values, of_flow): (&Map<String, Value>, &[Key]),
                files: &dyn Files,
            ) -> Result<Self, Error> {
                let others = KINDS.iter().flat_map(|kind| kind.keys);
                match kind {
                    $( $name => {
                        let table = Table::new(place, values, $spec::KEYS).with_files(files);
                        table.refuse_foreign(of_flow, others, concat!($name, " flows"))?;
                        let mut traffic = $spec::read(&table).map(Self::$variant)?;
                        traffic.load(&table, files)?;
                        traffic.check(&table)?;
                        Ok(traffic)
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
    Tcp(FileSpec) = "tcp", "A TCP connection whose application always has data, or transfers of one size.";
    Web(WebSpec) = "web", "Pages of one size at intervals, each over a connection of its own.";
    Browser(BrowserSpec) = "browser", "Pages of many objects over several connections that stay open.";
    Video(VideoSpec) = "video", "Adaptive video: segments over one connection, at the rate that it carries.";
    Rpm(RpmSpec) = "rpm", "A client that measures responsiveness under working conditions.";
    PackMime(PackMimeSpec) = "packmime", "PackMime-HTTP: the connections of many web users.";
    Request(RequestSpec) = "request", "Requests and responses in turn over one connection that stays open.";
    Cbr(CbrSpec) = "cbr", "Datagrams at a constant rate, or in bursts.";
    Poisson(UdpSpec) = "poisson", "Datagrams with exponentially distributed gaps (Poisson arrivals).";
    Streaming(UdpSpec) = "streaming", "Datagrams whose gaps are uniformly distributed between 0.5 and 1.5 of the mean.";
    Voice(VoiceSpec) = "voice", "One direction of a call: datagrams at a constant rate while a person talks.";
    Media(MediaSpec) = "media", "One direction of a video call whose rate a congestion control sets.";
    Endpoint(EndpointSpec) = "endpoint", "Datagrams between two programs outside the simulator, e.g. a transport stack.";
    Pcap(PcapSpec) = "pcap", "Replay of a capture: its packets at their times, or its connections as transfers.";
}

impl Traffic {
    /// Loads the files that the keys name.
    fn load(&mut self, table: &Table, files: &dyn Files) -> Result<(), Error> {
        match self {
            Self::Pcap(pcap) => pcap.load(table, files),
            _ => Ok(()),
        }
    }

    /// Checks dependencies between keys.
    fn check(&self, table: &Table) -> Result<(), Error> {
        if let Some(tcp) = self.tcp() {
            tcp.check(table)?;
            if tcp.is_quic() && !matches!(self, Self::Tcp(_)) {
                let text = format!(
                    "{} flows need both directions of TCP; QUIC sends files: write kind = \"tcp\"",
                    self.name()
                );
                return Err(table.error("stack", text));
            }
        }
        match self {
            Self::Tcp(file) => file.check(table),
            Self::Video(video) => video.check(table),
            Self::Media(media) => media.check(table),
            Self::Endpoint(endpoint) => endpoint.check(table),
            _ => Ok(()),
        }
    }

    /// Keys of its TCP connections, if it has any.
    pub fn tcp(&self) -> Option<&TcpSpec> {
        match self {
            Self::Tcp(spec) => Some(&spec.tcp),
            Self::Web(spec) => Some(&spec.tcp),
            Self::Browser(spec) => Some(&spec.tcp),
            Self::Video(spec) => Some(&spec.tcp),
            Self::Rpm(spec) => Some(&spec.tcp),
            Self::PackMime(spec) => Some(&spec.tcp),
            Self::Request(spec) => Some(&spec.tcp),
            Self::Pcap(spec) => spec.sends_transfers().then_some(&spec.keys.tcp),
            Self::Cbr(_) | Self::Poisson(_) | Self::Streaming(_) | Self::Voice(_) => None,
            Self::Media(_) | Self::Endpoint(_) => None,
        }
    }

    /// Whether its senders use segmentation offload and send super-packets.
    pub fn offloads(&self) -> bool {
        match self {
            Self::Pcap(spec) => spec.keys.tcp.gso == Some(true),
            Self::Endpoint(spec) => spec.gso,
            _ => self.tcp().is_some_and(|tcp| tcp.gso == Some(true)),
        }
    }

    /// Whether it opens connections during the run, instead of one flow for the whole run.
    pub fn opens_connections(&self) -> bool {
        match self {
            Self::Web(_) | Self::Browser(_) | Self::Video(_) | Self::Rpm(_) | Self::PackMime(_) => true,
            Self::Tcp(file) => file.pause.is_some(),
            Self::Pcap(spec) => spec.sends_transfers(),
            Self::Request(_)
            | Self::Cbr(_)
            | Self::Poisson(_)
            | Self::Streaming(_)
            | Self::Voice(_)
            | Self::Media(_)
            | Self::Endpoint(_) => false,
        }
    }

    /// Whether a duplicate that a link makes would count as another datagram.
    pub(super) fn counts_duplicates(&self) -> bool {
        self.tcp().is_none() && !matches!(self, Self::Endpoint(_))
    }

    /// Number of flows of a group if its traffic determines it, rather than `count`.
    pub(super) fn own_count(&self) -> Option<u32> {
        match self {
            Self::Pcap(spec) if spec.sends_transfers() => Some(1),
            Self::Pcap(spec) => Some(spec.replay.flows.len() as u32),
            _ => None,
        }
    }

    /// Estimate of the datagrams of one source in `span`, including media reports; `None` for traffic over TCP, whose
    /// number depends on the network.
    pub(crate) fn packets_in(&self, span: Duration) -> Option<f64> {
        let at = |rate: Rate, size: u32| rate.as_bps() as f64 * span.as_secs_f64() / (8.0 * f64::from(size));
        match self {
            Self::Cbr(CbrSpec { udp: spec, .. }) | Self::Poisson(spec) | Self::Streaming(spec) => {
                Some(at(spec.rate, spec.size))
            }
            Self::Voice(spec) => Some(at(spec.rate, spec.size)),
            // The last packet of each frame is not full, and each packet may trigger a report.
            Self::Media(spec) => {
                let frames = f64::from(spec.fps) * span.as_secs_f64();
                Some(2.0 * (at(spec.max_rate, spec.payload) + frames))
            }
            Self::Pcap(spec) if !spec.sends_transfers() => {
                let (cut, pieces) = spec.replay.cut(spec.keys.mtu);
                Some((spec.replay.packets() - cut + pieces) as f64 / spec.replay.flows.len().max(1) as f64)
            }
            _ => None,
        }
    }

    /// Connections that one source opens in `span` regardless of their progress; zero if each waits for the previous
    /// one.
    pub(super) fn connections_in(&self, span: Duration) -> f64 {
        match self {
            Self::Web(web) => span.as_secs_f64() / web.interval.as_secs_f64(),
            Self::PackMime(web) => span.as_secs_f64() * web.connections_per_second as f64,
            Self::Pcap(spec) if spec.sends_transfers() => spec.replay.transfers.len() as f64,
            _ => 0.0,
        }
    }
}

/// Entry of [`KINDS`].
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
