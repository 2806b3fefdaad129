//! str0m 0.25.0 called by `sojourn-net`: video with bandwidth estimation over a link that falls from 20 to 2 Mbit/s.
//! `sojourn-net-str0m 7` runs it with the seed 7, `sojourn-net-str0m 7 droptail` behind another queue manager.

mod peer;
mod video;

use peer::Peer;
use sojourn_net::{Instant, Net, Report, expect};
use std::net::SocketAddr;
use str0m::bwe::Bitrate;
use str0m::media::{Direction, MediaKind};
use str0m::{Candidate, Rtc, RtcConfig, crypto};
use video::{Camera, Player};

const CERTIFICATE: &[u8] = include_bytes!("../cert.der");
const KEY: &[u8] = include_bytes!("../key.der");

fn main() {
    let seed = std::env::args().nth(1).map_or(1, |text| text.parse().expect("the seed is a number"));
    let aqm = std::env::args().nth(2).unwrap_or_else(|| "pie".to_string());
    let world = include_str!("../world.toml").replace("\"pie\"", &format!("{aqm:?}"));
    let report = call(Net::parse(&world, seed).expect("the world is valid"));
    println!("seed {seed}: {} datagrams, decisions of media {:016x}", report.datagrams(), media(&report));
    println!("decisions {}, run {}", report.decisions(), report.fingerprint());
    let group = &report.summary().groups[0];
    let captured = group.endpoint.as_ref().expect("it has endpoints").notes["source.frame"].count;
    println!("{} frames shown, {captured} captured", group.transfers);
    assert!(group.transfers * 20 >= captured * 19, "frames");
    println!("{GOAL}: {}", report.judge(GOAL).expect("it can be read").holds);
    expect!(report, "p95(delay, call.rtp) <= 100 ms and p99(delay, call.rtp) <= 150 ms and loss(call.rtp) <= 3 %");
    // Frames that were captured before the estimate fell wait in str0m's pacer, not in the network.
    expect!(report, "p10(completion, call) <= 60 ms and p99(completion, call) <= 2.5 s");
    expect!(report, "0.5 <= note(call.source.target) <= 2 and min(note, call.source.target) >= 0.15");
}

/// Holds with 19 of the seeds 1 to 20.
const GOAL: &str = "p99(delay, call.rtp) <= 100 ms";

/// Runs a call, whose caller sends video.
fn call(mut net: Net) -> Report {
    let seed = net.seed();
    // str0m draws SSRCs, sequence numbers and identifiers of ICE from the generator of its thread.
    fastrand::seed(seed);
    crypto::from_feature_flags().install_process_default();
    let tags = ["rtp", "rtcp"].map(|tag| net.tag("call", tag).expect("the group has it"));
    let zero = net.std(Instant::ZERO);
    let (source, sink) = net.pair("call").expect("the group is there");
    let mut caller = rtc(config().enable_bwe(Some(video::START)), net.address(source), zero);
    let mut callee = rtc(config(), net.address(sink), zero);
    caller.bwe().set_bitrate(Bitrate::ZERO, video::MAX);
    // Signalling takes no time: an offer and its answer.
    let mut change = caller.sdp_api();
    let mid = change.add_media(MediaKind::Video, Direction::SendOnly, None, None, None);
    let (offer, pending) = change.apply().expect("it adds media");
    let answer = callee.sdp_api().accept_offer(offer).expect("both are str0m");
    caller.sdp_api().accept_answer(pending, answer).expect("both are str0m");
    let caller = Peer::new(caller, zero, tags, Camera::new(mid, seed));
    let callee = Peer::new(callee, zero, tags, Player);
    net.attach("call", caller, callee).expect("the group is there");
    net.run().expect("no program fails")
}

/// Hash (FNV-1a) of time, end and size of every RTP and RTCP packet.
fn media(report: &Report) -> u64 {
    let tagged = report.log().iter().filter(|datagram| datagram.tag != 0);
    let words = tagged.flat_map(|one| [one.at.as_nanos(), one.end.side as u64, u64::from(one.bytes)]);
    words.fold(0xcbf2_9ce4_8422_2325, |hash, word| (hash ^ word).wrapping_mul(0x0100_0000_01b3))
}

fn config() -> RtcConfig {
    let certificate = crypto::dtls::DtlsCert { certificate: CERTIFICATE.into(), private_key: KEY.into() };
    Rtc::builder().clear_codecs().enable_vp8(true).set_dtls_cert(certificate)
}

fn rtc(config: RtcConfig, address: SocketAddr, zero: std::time::Instant) -> Rtc {
    let mut rtc = config.build(zero);
    let candidate = Candidate::host(address, "udp").expect("the address is valid");
    rtc.add_local_candidate(candidate);
    rtc
}
