//! Traffic: the two ends of a flow, and openers of connections. Each kind has a file and a line in [`AnyFlow`], in
//! [`generator::AnyPattern`] or in [`client::AnyApp`].

mod app;
mod browser;
mod client;
mod dialogue;
mod endpoint;
mod exchange;
mod flow;
mod generator;
mod host;
mod job;
mod load;
mod media;
mod nic_queue;
mod opener;
mod opening;
mod packmime;
mod pattern;
mod plan;
mod port;
mod quic;
#[cfg(feature = "quinn")]
mod quinn;
mod replay;
mod rpm;
mod super_packet;
mod tcp;
mod udp;
mod video;
mod web;

pub(crate) use app::{AppRecord, ConnectionEvent};
pub(crate) use client::ClientAction;
pub(crate) use endpoint::EndpointFlow;
pub(crate) use flow::AnyFlow;
pub(crate) use host::Host;
pub(crate) use opener::Opener;
pub(crate) use opening::Opening;
pub use plan::{PlannedSource, plan};
pub(crate) use port::Port;
#[cfg(feature = "quinn")]
pub use quinn::QuinnEnd;
pub(crate) use super_packet::SuperPacket;

#[cfg(feature = "quinn")]
use crate::endpoint::Endpoint;
#[cfg(feature = "quinn")]
use crate::scenario::Scenario;
use crate::scenario::{FlowSpec, Traffic};
use browser::Browser;
use client::{AnyApp, Client};
use dialogue::{ConnectionTimes, DialogueFlow};
use exchange::Script;
use generator::{AnyPattern, Generator};
use media::MediaFlow;
use quic::QuicFlow;
use replay::ReplayFlow;
use rpm::RpmClient;
use sojourn_aqm::{Duration, Instant, Rng};
use sojourn_tcp::cc::AnyCc;
use tcp::{TcpFlow, TcpTemplate};
use udp::UdpFlow;
use video::Player;

/// Source of traffic: a flow for the whole run, or an opener of connections.
#[allow(clippy::large_enum_variant)] // moved once
pub(crate) enum TrafficSource {
    Flow(AnyFlow),
    Opener(Box<Opener>),
}

impl TrafficSource {
    /// Source `index` of a run with `seed`, which is number `member` of its `group`. A TCP flow for the whole run uses
    /// `cc` if it is given.
    pub fn new(spec: &FlowSpec, (group, member): (u32, u32), index: u32, seed: u64, cc: Option<AnyCc>) -> Self {
        let (start, stop) = span(spec, member, index, seed);
        let rng = Rng::stream(seed, "source", index as u64);
        let udp = |flow| Self::Flow(AnyFlow::Udp(flow));
        let of_control = Rng::stream(seed, "cc", index as u64);
        let opener = |opener| Self::Opener(Box::new(opener));
        let generator =
            |pattern| opener(Opener::Generator(Generator::new(pattern, (group, member), stop, of_control.clone())));
        let client = |app| opener(Opener::Client(Client::new(app, (group, member), of_control.clone())));
        match &spec.traffic {
            #[cfg(feature = "quinn")]
            Traffic::Tcp(file) if file.tcp.is_quinn() => {
                let mut flow = EndpointFlow::between_hosts((start, stop));
                flow.attach(quinn::pair(&file.tcp, start, file.size, of_control));
                Self::Flow(AnyFlow::Endpoint(Box::new(flow)))
            }
            Traffic::Tcp(file) if file.tcp.is_quic() && file.pause.is_none() => {
                let ends =
                    cc.map_or_else(|| quic::QuicTemplate::new(&file.tcp), |cc| quic::QuicTemplate::of(&file.tcp, cc));
                Self::Flow(AnyFlow::Quic(Box::new(QuicFlow::new(&ends, start, stop, file.size, of_control))))
            }
            Traffic::Tcp(file) => match file.pause {
                None => Self::Flow(AnyFlow::Tcp(TcpFlow::new(
                    &cc.map_or_else(|| TcpTemplate::new(&file.tcp), |cc| TcpTemplate::of(&file.tcp, cc)),
                    (start, stop),
                    file.size,
                    of_control,
                ))),
                Some(_) => generator(generator::files(file, start)),
            },
            Traffic::Web(web) => generator(AnyPattern::Pages(web::pages(web, start, rng))),
            Traffic::Browser(spec) => client(AnyApp::Browser(Browser::new(spec, (start, stop), rng))),
            Traffic::Video(spec) => client(AnyApp::Video(Player::new(spec, (start, stop)))),
            Traffic::Rpm(spec) => client(AnyApp::Rpm(Box::new(RpmClient::new(spec, (start, stop), rng)))),
            Traffic::PackMime(web) => {
                generator(AnyPattern::PackMime(Box::new(packmime::packmime(web, start, seed, index))))
            }
            Traffic::Request(spec) => {
                let script = Script::endless(spec);
                let flow = DialogueFlow::new(
                    &TcpTemplate::new(&spec.tcp),
                    script,
                    ConnectionTimes { requested_at: start, start, stop },
                    of_control,
                );
                Self::Flow(AnyFlow::Dialogue(Box::new(flow)))
            }
            Traffic::Cbr(spec) => udp(UdpFlow::constant(spec, start, stop)),
            Traffic::Poisson(spec) => udp(UdpFlow::poisson(spec, start, stop, rng)),
            Traffic::Streaming(spec) => udp(UdpFlow::jittered(spec, start, stop, rng)),
            Traffic::Voice(spec) => udp(UdpFlow::voice(spec, start, stop, rng)),
            Traffic::Pcap(spec) if spec.sends_transfers() => {
                generator(AnyPattern::Transfers(Box::new(replay::transfers(spec, start))))
            }
            Traffic::Pcap(spec) => Self::Flow(AnyFlow::Replay(Box::new(ReplayFlow::new(spec, member, start, stop)))),
            Traffic::Endpoint(endpoint) => {
                let flow = EndpointFlow::new(endpoint, spec, member, (start, stop));
                Self::Flow(AnyFlow::Endpoint(Box::new(flow)))
            }
            Traffic::Media(media) => {
                let flow = MediaFlow::new(media, (start, stop), spec.propagation(member), rng);
                Self::Flow(AnyFlow::Media(Box::new(flow)))
            }
        }
    }
}

/// quinn's client and server for member `index` of flow group `group`, whose stack is quinn: the programs that a run with
/// `seed` has there; none for other groups.
#[cfg(feature = "quinn")]
pub fn quinn_programs(scenario: &Scenario, seed: u64, (group, index): (usize, u32)) -> Option<[Box<dyn Endpoint>; 2]> {
    let Traffic::Tcp(file) = &scenario.flows.get(group)?.traffic else { return None };
    let before: u32 = scenario.flows[..group].iter().map(|flow| flow.count).sum();
    let source = before + index;
    let (start, _) = span(&scenario.flows[group], index, source, seed);
    let rng = Rng::stream(seed, "cc", source.into());
    file.tcp.is_quinn().then(|| quinn::pair(&file.tcp, start, file.size, rng))
}

/// Start and stop of source `index`, number `member` of its group.
fn span(spec: &FlowSpec, member: u32, index: u32, seed: u64) -> (Instant, Instant) {
    let mut rng = Rng::stream(seed, "start", index as u64);
    let zero = Instant::ZERO + spec.stagger.unwrap_or(Duration::ZERO) * i64::from(member);
    let start = zero + spec.start + spec.spread.mul_f64(rng.uniform());
    (start, spec.stop.map_or(Instant::NEVER, |stop| zero + stop))
}
