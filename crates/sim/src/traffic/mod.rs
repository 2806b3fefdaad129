//! What runs at the two ends of a flow, and what opens connections. One kind, one file, one line in [`AnyFlow`], in
//! [`generator::AnyPattern`] or in [`client::AnyApp`].

mod browser;
mod card;
mod client;
mod dialogue;
mod generator;
mod joined;
mod load;
mod media;
mod opener;
mod opening;
mod packmime;
mod pages;
mod plan;
mod quic;
#[cfg(feature = "quinn")]
mod quinn;
mod replay;
mod rpm;
mod tcp;
mod udp;
mod video;

pub(crate) use client::{News, Record, Step};
pub(crate) use joined::Joined;
pub(crate) use opener::Opener;
pub(crate) use opening::Opening;
pub use plan::{Planned, plan};

use crate::media::MediaNews;
use crate::network::{Network, Topology};
use crate::packet::Arrived;
use crate::probe::Probe;
use crate::scenario::{FlowSpec, Traffic};
use crate::senders::Who;
use crate::status::Status;
use browser::Browser;
use client::{AnyApp, Client};
use dialogue::{DialogueFlow, Exchange, Script, Times};
use generator::Generator;
use load::LoadFlow;
use media::MediaFlow;
use quic::QuicFlow;
use replay::ReplayFlow;
use rpm::Rpm;
use sojourn_aqm::{Duration, Ecn, Instant, Rng};
use sojourn_tcp::cc::AnyCc;
use sojourn_tcp::{Event, Header, Wire};
use tcp::{TcpFlow, Template};
use udp::UdpFlow;
use video::Player;

/// A flow's two ends.
trait Endpoints {
    /// The source's deadline has come, or an earlier one.
    fn on_source_timer(&mut self, now: Instant, host: &mut impl Host);
    /// The sink's deadline has come, or an earlier one.
    fn on_sink_timer(&mut self, now: Instant, host: &mut impl Host);
    /// The host of one end, the source or the sink, takes data again.
    fn on_room(&mut self, now: Instant, at_source: bool, host: &mut impl Host) {
        let _ = (now, at_source, host);
    }
    /// Something of what the source has sent has left its host's device, for which it was waiting.
    fn on_departure(&mut self, now: Instant, host: &mut impl Host) {
        let _ = (now, host);
    }
    /// The client of a connection, which is at the sink, asks.
    fn ask(&mut self, now: Instant, exchange: Exchange, host: &mut impl Host) {
        let _ = (now, exchange, host);
        unreachable!("only the connections of a client are asked");
    }
    /// The client of a connection closes it.
    fn close(&mut self, now: Instant, host: &mut impl Host) {
        let _ = (now, host);
        unreachable!("only the connections of a client are closed by it");
    }
    /// A packet reached the sink.
    fn on_sink_packet(&mut self, now: Instant, header: &Header, packet: Arrived, host: &mut impl Host);
    /// A packet reached the source.
    fn on_source_packet(&mut self, now: Instant, header: &Header, packet: Arrived, host: &mut impl Host);
    /// When the source's timer is due.
    fn source_deadline(&self) -> Instant;
    /// When the sink's timer is due.
    fn sink_deadline(&self) -> Instant;
    /// What there is to see.
    fn status(&self) -> Status;
    /// The statistics can begin now.
    fn begin(&mut self) {}
    /// Datagrams that were received after instant `number` of the window, from 0 on, and sent before it.
    fn strays(&self, number: usize) -> u64 {
        let _ = number;
        0
    }
}

/// What a flow's end can do: send, and tell what has happened.
pub(crate) trait Host: Wire {
    /// A transfer of `bytes` begins, or is asked for.
    fn offered(&mut self, bytes: u64);
    /// The last byte of a transfer has arrived that began at `begun`.
    fn completed(&mut self, begun: Instant, bytes: u64);
    /// Both ends know that nothing more will come. Said once.
    fn closed(&mut self);
    /// The client of the connection wants to know.
    fn news(&mut self, news: News);
    /// A flow of media has something for the books.
    fn media(&mut self, news: &MediaNews);
}

/// The first one is what most flows are: it is asked for before the others, and compiled into the caller.
macro_rules! flows {
    ($first:ident($first_type:ty); $( $(#[$only:meta])? $kind:ident($type:ty); )+) => {
        /// Any kind of flow. With a tag of its own: one hidden in another field costs instructions on every packet.
        #[allow(clippy::large_enum_variant)]
        #[repr(u8)]
        pub(crate) enum AnyFlow { $first($first_type), $( $(#[$only])? $kind($type), )+ }

        impl AnyFlow {
            /// A packet reached one of the ends; tells when that end's timer is due. All in one, so that a packet costs
            /// one decision about the kind.
            #[inline(always)]
            pub fn on_packet(&mut self, now: Instant, header: &Header, packet: Arrived, host: &mut impl Host) -> Instant {
                match self {
                    Self::$first(flow) if packet.to_sink => {
                        flow.on_sink_packet(now, header, packet, host);
                        flow.sink_deadline()
                    }
                    Self::$first(flow) => {
                        flow.on_source_packet(now, header, packet, host);
                        flow.source_deadline()
                    }
                    _ => self.on_packet_of_others(now, header, packet, host),
                }
            }

            #[inline(never)]
            fn on_packet_of_others(
                &mut self,
                now: Instant,
                header: &Header,
                packet: Arrived,
                host: &mut impl Host,
            ) -> Instant {
                match self {
                    Self::$first(_) => unreachable!("it has been asked for"),
                    $( $(#[$only])? Self::$kind(flow) if packet.to_sink => {
                        flow.on_sink_packet(now, header, packet, host);
                        flow.sink_deadline()
                    }
                    $(#[$only])? Self::$kind(flow) => {
                        flow.on_source_packet(now, header, packet, host);
                        flow.source_deadline()
                    } )+
                }
            }

            /// The source's deadline has come, or an earlier one; tells the next one.
            #[inline(always)]
            pub fn on_source_timer(&mut self, now: Instant, host: &mut impl Host) -> Instant {
                match self {
                    Self::$first(flow) => {
                        flow.on_source_timer(now, host);
                        flow.source_deadline()
                    }
                    $( $(#[$only])? Self::$kind(flow) => {
                        flow.on_source_timer(now, host);
                        flow.source_deadline()
                    } )+
                }
            }

            /// The sink's deadline has come, or an earlier one.
            pub fn on_sink_timer(&mut self, now: Instant, host: &mut impl Host) {
                match self { Self::$first(flow) => flow.on_sink_timer(now, host), $( $(#[$only])? Self::$kind(flow) => flow.on_sink_timer(now, host), )+ }
            }

            /// The host of one end, the source or the sink, takes data again.
            pub fn on_room(&mut self, now: Instant, at_source: bool, host: &mut impl Host) {
                match self { Self::$first(flow) => flow.on_room(now, at_source, host), $( $(#[$only])? Self::$kind(flow) => flow.on_room(now, at_source, host), )+ }
            }

            /// Something of what the source has sent has left its host's device.
            pub fn on_departure(&mut self, now: Instant, host: &mut impl Host) {
                match self { Self::$first(flow) => flow.on_departure(now, host), $( $(#[$only])? Self::$kind(flow) => flow.on_departure(now, host), )+ }
            }

            /// The client of a connection asks.
            pub fn ask(&mut self, now: Instant, exchange: Exchange, host: &mut impl Host) {
                match self { Self::$first(flow) => flow.ask(now, exchange, host), $( $(#[$only])? Self::$kind(flow) => flow.ask(now, exchange, host), )+ }
            }

            /// The client of a connection closes it.
            pub fn close(&mut self, now: Instant, host: &mut impl Host) {
                match self { Self::$first(flow) => flow.close(now, host), $( $(#[$only])? Self::$kind(flow) => flow.close(now, host), )+ }
            }

            /// When the source's timer is due.
            pub fn source_deadline(&self) -> Instant {
                match self { Self::$first(flow) => flow.source_deadline(), $( $(#[$only])? Self::$kind(flow) => flow.source_deadline(), )+ }
            }

            /// When the sink's timer is due.
            pub fn sink_deadline(&self) -> Instant {
                match self { Self::$first(flow) => flow.sink_deadline(), $( $(#[$only])? Self::$kind(flow) => flow.sink_deadline(), )+ }
            }

            /// The statistics can begin now.
            pub fn begin(&mut self) {
                match self { Self::$first(flow) => flow.begin(), $( $(#[$only])? Self::$kind(flow) => flow.begin(), )+ }
            }

            /// Datagrams that were received after instant `number` of the window, from 0 on, and sent before it.
            pub fn strays(&self, number: usize) -> u64 {
                match self { Self::$first(flow) => flow.strays(number), $( $(#[$only])? Self::$kind(flow) => flow.strays(number), )+ }
            }

            /// What there is to see.
            pub fn status(&self) -> Status {
                match self { Self::$first(flow) => flow.status(), $( $(#[$only])? Self::$kind(flow) => flow.status(), )+ }
            }
        }
    };
}

flows! {
    Tcp(TcpFlow);
    Quic(Box<QuicFlow>);
    #[cfg(feature = "quinn")]
    Quinn(Box<quinn::QuinnFlow>);
    Dialogue(Box<DialogueFlow>);
    Load(Box<LoadFlow>);
    Udp(UdpFlow);
    Media(Box<MediaFlow>);
    Replay(Box<ReplayFlow>);
}

/// What an entry of a group is: a flow for the whole run, or something that opens connections.
#[allow(clippy::large_enum_variant)] // moved once
pub(crate) enum Source {
    Flow(AnyFlow),
    Opener(Box<Opener>),
}

impl Source {
    /// Source `index` of a run with `seed`, which is number `place` of its `group`; a TCP flow for the whole run has `cc`, if
    /// that is given.
    pub fn new(spec: &FlowSpec, (group, place): (u32, u32), index: u32, seed: u64, cc: Option<AnyCc>) -> Self {
        let (start, stop) = span(spec, place, index, seed);
        let rng = Rng::stream(seed, "source", index as u64);
        let udp = |flow| Self::Flow(AnyFlow::Udp(flow));
        let of_control = Rng::stream(seed, "cc", index as u64);
        let opener = |opener| Self::Opener(Box::new(opener));
        let generator = |pattern| opener(Opener::Generator(Generator::new(pattern, group, stop, of_control.clone())));
        let client = |app| opener(Opener::Client(Client::new(app, (group, place), of_control.clone())));
        match &spec.traffic {
            #[cfg(feature = "quinn")]
            Traffic::Tcp(file) if file.tcp.is_quinn() => {
                let flow = quinn::QuinnFlow::new(&file.tcp, (start, stop), file.size, of_control);
                Self::Flow(AnyFlow::Quinn(Box::new(flow)))
            }
            Traffic::Tcp(file) if file.tcp.is_quic() && file.pause.is_none() => {
                let ends = cc.map_or_else(|| quic::Template::new(&file.tcp), |cc| quic::Template::of(&file.tcp, cc));
                Self::Flow(AnyFlow::Quic(Box::new(QuicFlow::new(&ends, start, stop, file.size, of_control))))
            }
            Traffic::Tcp(file) => match file.pause {
                None => Self::Flow(AnyFlow::Tcp(TcpFlow::new(
                    &cc.map_or_else(|| Template::new(&file.tcp), |cc| Template::of(&file.tcp, cc)),
                    (start, stop),
                    file.size,
                    of_control,
                ))),
                Some(_) => generator(generator::files(file, start)),
            },
            Traffic::Web(web) => generator(pages::pages(web, start, rng)),
            Traffic::Browser(spec) => client(AnyApp::Browser(Browser::new(spec, (start, stop), rng))),
            Traffic::Video(spec) => client(AnyApp::Video(Player::new(spec, (start, stop)))),
            Traffic::Rpm(spec) => client(AnyApp::Rpm(Box::new(Rpm::new(spec, (start, stop), rng)))),
            Traffic::PackMime(web) => generator(packmime::packmime(web, start, seed, index)),
            Traffic::Request(spec) => {
                let script = Script::endless(spec);
                let flow = DialogueFlow::new(
                    &Template::new(&spec.tcp),
                    script,
                    Times { asked: start, start, stop },
                    of_control,
                );
                Self::Flow(AnyFlow::Dialogue(Box::new(flow)))
            }
            Traffic::Cbr(spec) => udp(UdpFlow::constant(spec, start, stop)),
            Traffic::Poisson(spec) => udp(UdpFlow::poisson(spec, start, stop, rng)),
            Traffic::Streaming(spec) => udp(UdpFlow::jittered(spec, start, stop, rng)),
            Traffic::Voice(spec) => udp(UdpFlow::voice(spec, start, stop, rng)),
            Traffic::Pcap(spec) if spec.sends_transfers() => generator(replay::transfers(spec, start)),
            Traffic::Pcap(spec) => Self::Flow(AnyFlow::Replay(Box::new(ReplayFlow::new(spec, place, start, stop)))),
            Traffic::Media(media) => {
                let flow = MediaFlow::new(media, (start, stop), spec.propagation(place), rng);
                Self::Flow(AnyFlow::Media(Box::new(flow)))
            }
        }
    }
}

/// When source `index`, number `place` of its group, starts and stops.
fn span(spec: &FlowSpec, place: u32, index: u32, seed: u64) -> (Instant, Instant) {
    let mut rng = Rng::stream(seed, "start", index as u64);
    let zero = Instant::ZERO + spec.stagger.unwrap_or(Duration::ZERO) * i64::from(place);
    let start = zero + spec.start + spec.spread.mul_f64(rng.uniform());
    (start, spec.stop.map_or(Instant::NEVER, |stop| zero + stop))
}

/// Where an end's packets go: into the network, on its flow's route; and its news: into the ledger.
pub(crate) struct Port<'a, P: Probe, T: Topology> {
    pub network: &'a mut Network<P, T>,
    pub now: Instant,
    pub slot: u32,
    pub from_source: bool,
    /// What is sent now is a burst, of which this was sent so far.
    burst: Option<Option<Joined>>,
}

impl<'a, P: Probe, T: Topology> Port<'a, P, T> {
    /// The port of one end of the flow in `slot`.
    #[inline(always)]
    pub fn new(network: &'a mut Network<P, T>, now: Instant, slot: u32, from_source: bool) -> Self {
        Self { network, now, slot, from_source, burst: None }
    }

    /// A segment of a burst.
    #[inline(never)]
    fn add(&mut self, header: &Header, len: u32, ecn: Ecn) {
        let Some(burst) = &mut self.burst else { return };
        if burst.as_mut().is_some_and(|burst| burst.add(header, len, ecn)) {
            return;
        }
        if let Some(before) = burst.replace(Joined::new(header, len, ecn)) {
            self.network.send_joined(self.now, self.slot, self.from_source, &before);
        }
    }
}

impl<P: Probe, T: Topology> Wire for Port<'_, P, T> {
    #[inline(never)]
    fn transmit(&mut self, header: &Header, len: u32, ecn: Ecn) {
        if self.burst.is_some() {
            self.add(header, len, ecn);
        } else if self.from_source {
            self.network.send_from_source(self.now, self.slot, header, (len, ecn));
        } else {
            self.network.send_from_sink(self.now, self.slot, header, (len, ecn));
        }
    }

    #[inline(always)]
    fn send_data(&mut self, header: &Header, len: u32, ecn: Ecn) {
        if self.burst.is_none() && self.from_source {
            return self.network.send_from_source(self.now, self.slot, header, (len, ecn));
        }
        // A copy, so that the header itself need not be in memory.
        let header = *header;
        self.transmit(&header, len, ecn);
    }

    #[inline(always)]
    fn send_ack(&mut self, header: &Header, len: u32, ecn: Ecn) {
        if self.burst.is_none() && !self.from_source {
            return self.network.send_from_sink(self.now, self.slot, header, (len, ecn));
        }
        let header = *header;
        self.transmit(&header, len, ecn);
    }

    fn begin_burst(&mut self) {
        self.burst = Some(None);
    }

    fn end_burst(&mut self) {
        if let Some(Some(burst)) = self.burst.take() {
            self.network.send_joined(self.now, self.slot, self.from_source, &burst);
        }
    }

    #[inline]
    fn has_room(&self) -> bool {
        self.network.has_room(self.slot, self.from_source)
    }

    #[inline]
    fn leaves(&self) -> Instant {
        self.network.leaves(self.slot, self.from_source)
    }

    #[inline(always)]
    fn waits_below(&self) -> Option<u64> {
        if self.from_source { self.network.waits_below(self.slot) } else { None }
    }

    fn hold(&mut self) {
        self.network.hold(self.slot);
    }

    fn paces(&self) -> bool {
        self.from_source && self.network.paces(self.slot)
    }

    fn departs(&mut self, at: Instant) {
        self.network.departs(at);
    }

    #[inline]
    fn watches(&self) -> bool {
        self.network.probe.watches()
    }

    #[inline]
    fn tell<'e>(&mut self, event: impl FnOnce() -> Event<'e>) {
        if self.network.probe.watches() {
            let (flow, _) = self.network.tenant(self.slot);
            let who = Who { flow, slot: self.slot, at_source: self.from_source };
            self.network.probe.noticed(self.now, who, event());
        }
    }
}

impl<P: Probe, T: Topology> Host for Port<'_, P, T> {
    fn offered(&mut self, bytes: u64) {
        let (_, group) = self.network.tenant(self.slot);
        self.network.ledger.offered(self.now, group, bytes);
    }

    fn completed(&mut self, begun: Instant, bytes: u64) {
        let tenant = self.network.tenant(self.slot);
        self.network.ledger.completed(self.now, tenant, begun, bytes);
    }

    fn closed(&mut self) {
        self.network.ledger.ended.push(self.slot);
    }

    fn news(&mut self, news: News) {
        self.network.ledger.news.push_back((self.slot, news));
    }

    fn media(&mut self, news: &MediaNews) {
        let tenant = self.network.tenant(self.slot);
        self.network.ledger.media(self.now, tenant, news);
    }
}
