//! A link alone: departures and next calls for each call.

use super::*;
use crate::packet::{Origin, Packet, Packets};
use sojourn_aqm::class::ClassId;
use sojourn_aqm::{Ecn, Instant};
use sojourn_tcp::Header;
use std::path::Path;

/// A link with its packets.
struct Bench {
    link: Link,
    packets: Packets,
}

impl Bench {
    fn new(spec: &str) -> Self {
        let table = toml::from_str::<serde_json::Value>(spec).unwrap();
        let spec = LinkSpec::parse("link", &table, Path::new("/")).unwrap();
        let link = Link::new(&spec, 0, 1, &Window::new([], Instant::NEVER), false);
        Self { link, packets: Packets::default() }
    }

    /// A result in microseconds: arrival of the departing packet at the far end, and when to call next.
    fn summary(served: ServiceResult) -> (Option<u64>, NextCall) {
        (served.departure.map(|left| left.at.as_nanos() / 1000), served.next_call)
    }

    fn arrive(&mut self, us: u64, len: u32) -> (Option<u64>, NextCall) {
        self.arrive_for(us, len, ClassId::NONE)
    }

    fn arrive_for(&mut self, us: u64, len: u32, class: ClassId) -> (Option<u64>, NextCall) {
        let packet =
            Packet { flow: 0, slot: 0, len, ecn: Ecn::NotEct, dscp: 0, hops_left: 0, segment: 0, to_sink: true };
        let origin = Origin { hosts: (0, 1), class, flow: 0 };
        let handle = self.packets.insert(packet, &Header::default());
        let arrival = Arrival { handle, packet, origin };
        let mut cx = LinkContext { link: 0, packets: &mut self.packets, probe: &mut () };
        let now = Instant::from_nanos(us * 1000);
        Self::summary(match self.link.as_plain() {
            Some(mut plain) => {
                let passed = plain.arrive(now, arrival, &mut cx);
                passed.unwrap_or_else(|| plain.enqueue_and_serve(now, &arrival, &mut cx))
            }
            None => self.link.on_arrival(now, arrival, &mut cx),
        })
    }

    fn on_server(&mut self, us: u64) -> (Option<u64>, NextCall) {
        let mut cx = LinkContext { link: 0, packets: &mut self.packets, probe: &mut () };
        let now = Instant::from_nanos(us * 1000);
        Self::summary(match self.link.as_plain() {
            Some(mut plain) => {
                let passed = plain.try_serve(now, &mut cx);
                passed.unwrap_or_else(|| plain.on_server(now, &mut cx))
            }
            None => self.link.on_server(now, &mut cx),
        })
    }
}

fn at(us: u64) -> NextCall {
    NextCall::At(Instant::from_nanos(us * 1000))
}

const IDLE: NextCall = NextCall::At(Instant::NEVER);

#[test]
fn a_link_sends_packet_after_packet_and_delays() {
    // 1250 B at 10 Mbit/s take 1 ms. An explicit loss of zero makes a link not plain.
    let (nanoseconds, bits) = ((3_000_000, 9_500_000), (30_000, 95_000));
    for (spec, is_plain, used_and_usable) in [
        ("rate = \"10 Mbit/s\"\ndelay = \"5 ms\"", true, nanoseconds),
        ("rate = \"10 Mbit/s\"\ndelay = \"5 ms\"\nloss = 0.0", false, nanoseconds),
        ("rate = \"10 Mbit/s@0s,20 Mbit/s@1s\"\ndelay = \"5 ms\"", false, bits),
    ] {
        let mut bench = Bench::new(spec);
        assert_eq!(bench.link.is_plain(), is_plain, "{spec}");
        assert_eq!(bench.arrive(0, 1250), (Some(6000), NextCall::Unchanged), "{spec}: it passes");
        assert_eq!(bench.arrive(300, 1250), (None, at(1000)), "{spec}: it waits for the transmitter");
        assert_eq!(bench.arrive(700, 625), (None, NextCall::Unchanged), "{spec}");
        assert_eq!(bench.on_server(1000), (Some(7000), at(2000)), "{spec}");
        assert_eq!(bench.on_server(2000), (Some(7500), IDLE), "{spec}: nothing waits behind it");
        assert_eq!(bench.arrive(9000, 1250), (Some(15_000), NextCall::Unchanged), "{spec}");
        assert_eq!(bench.link.used_and_usable(Instant::from_nanos(9_500_000)), used_and_usable, "{spec}");
    }
}

#[test]
fn an_opportunity_is_used_up_by_calls_at_once() {
    // One opportunity of 1500 B per 1.2 ms.
    let mut bench = Bench::new("rate = \"10 Mbit/s@0s\"\nchange = \"opportunity\"\ndelay = \"5 ms\"");
    assert_eq!(bench.arrive(0, 600), (None, at(1200)));
    assert_eq!(bench.arrive(10, 600), (None, NextCall::Unchanged));
    assert_eq!(bench.arrive(20, 600), (None, NextCall::Unchanged));
    assert_eq!(bench.on_server(1200), (Some(6200), NextCall::Now));
    assert_eq!(bench.on_server(1200), (Some(6200), NextCall::Now));
    assert_eq!(bench.on_server(1200), (None, at(2400)), "300 of 600 B have been carried");
    assert_eq!(bench.on_server(2400), (Some(7400), NextCall::Now));
    assert_eq!(bench.on_server(2400), (None, IDLE), "the rest of the opportunity is lost");
    assert_eq!(bench.link.used_and_usable(Instant::from_nanos(2_400_000)), (1800, 3000));
}

#[test]
fn what_gets_lost_does_not_leave_and_frees_its_place() {
    let mut bench = Bench::new("rate = \"10 Mbit/s\"\nloss = 1.0");
    assert_eq!(bench.arrive(0, 1250), (None, NextCall::Unchanged));
    let packet =
        Packet { flow: 0, slot: 0, len: 40, ecn: Ecn::NotEct, dscp: 0, hops_left: 0, segment: 0, to_sink: true };
    assert_eq!(bench.packets.insert(packet, &Header::default()), 0, "the first place is free again");
}

#[test]
fn what_may_go_earlier_is_sent_while_something_else_waits_for_its_tokens() {
    // Class 10: 1000 B/s with a bucket of 100 B, so it waits 900 ms after 1000 B. 1000 B take 80 us on the link.
    for buffered in ["", "below = \"3028 B\"\n"] {
        let mut bench = Bench::new(&format!(
            "{buffered}rate = \"100 Mbit/s\"\naqm = \"htb {{ class 10 rate 8kbit burst 100B; class 20 rate 80mbit }}\""
        ));
        let (slow, fast) = (ClassId::new(1, 0x10), ClassId::new(1, 0x20));
        assert_eq!(bench.arrive_for(0, 1000, slow).0, Some(80));
        bench.on_server(80);
        assert_eq!(bench.arrive_for(100, 1000, slow), (None, at(900_000)), "no tokens");
        assert_eq!(bench.arrive_for(200, 1000, fast), (Some(280), at(280)), "another class has some");
        assert_eq!(bench.arrive_for(250, 1000, fast), (None, NextCall::Unchanged), "the transmitter is busy");
        assert_eq!(bench.on_server(280), (Some(360), at(360)));
        assert_eq!(bench.on_server(360), (None, at(900_000)));
        assert_eq!(bench.on_server(900_000), (Some(900_080), IDLE));
    }
}
