use crate::params::Config as _;
use crate::qdisc::{DequeueResult, EnqueueResult, Host, Qdisc};
use crate::registry::{AnyConfig, NamedConfig, parse};
use crate::{Backlog, DropReason, Duration, Instant, Limits, Link, Meta, Rate, Rng};
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;

const LINK: Link = Link::new(Rate::from_bps(1_000_000_000), 1514);
const EXCEEDS: EnqueueResult = EnqueueResult::Dropped(DropReason::Early);

fn queue(text: &str) -> Box<dyn Qdisc<u32> + Send> {
    parse(text).expect(text).build(Limits::packets(100_000), Host { link: LINK, rng: Rng::from_state(1) })
}

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn offer(queue: &mut dyn Qdisc<u32>, now: Instant, meta: Meta) -> bool {
    match queue.enqueue(now, meta, 0, &mut |_, _, _| {}) {
        EnqueueResult::Queued => true,
        EXCEEDS => false,
        other => panic!("{other:?}"),
    }
}

/// Conforming packets of `count` of `len` bytes at one instant.
fn burst(queue: &mut dyn Qdisc<u32>, now: Instant, count: u32, len: u32) -> usize {
    (0..count).filter(|_| offer(queue, now, Meta::new(len, 0))).count()
}

#[test]
fn an_idle_bucket_passes_its_size() {
    for (text, len, passes) in [
        ("police rate 8mbit burst 15000B", 1500, 10),
        ("police rate 8mbit burst 14999B", 1500, 9),
        // An exact multiple passes at a rate whose times are rounded: the bucket is rounded up, packets down.
        ("police rate 7777777bit burst 15140B", 1514, 10),
        ("police rate 999999bit burst 3000B", 100, 30),
        // 1500 + 40 B fill 33 cells of 53 B.
        ("police rate 3mbit burst 17490B overhead 40 linklayer atm", 1500, 10),
        ("police rate 8mbit burst 840B mpu 84", 40, 10),
        ("police pkts_rate 1000 pkts_burst 7", 1500, 7),
        ("police", 1500, 100),
        ("police mtu 1499B", 1500, 0),
        ("police mtu 1500B", 1500, 100),
    ] {
        let mut queue = queue(text);
        assert_eq!(burst(&mut *queue, at(0), 100, len), passes, "{text}");
        // A long pause fills the bucket, and no more than that.
        assert_eq!(burst(&mut *queue, at(3_600_000_000_000), 100, len), passes, "{text}");
    }
}

#[test]
fn tokens_are_the_kernels_at_an_untidy_rate() {
    // 7,777,777 bit/s are 972,222 B/s, 2157071121 / 2^21 ns per byte: 1557257 ns for 1514 B. 5000 B are 5142858.0 ns,
    // 80357.2 ticks of 64 ns: rounded up 5142912 ns. Three packets leave 471141 ns; the fourth needs 1086116 more.
    let mut queue = queue("police rate 7777777bit burst 5kB");
    assert_eq!(burst(&mut *queue, at(0), 4, 1514), 3);
    assert!(!offer(&mut *queue, at(1_086_115), Meta::new(1514, 0)));
    assert!(offer(&mut *queue, at(1_086_116), Meta::new(1514, 0)));
    let tokens = |queue: &dyn Qdisc<u32>| {
        let mut tokens = f64::NAN;
        queue.observe(&mut |name, value| {
            if name == "tokens" {
                tokens = value;
            }
        });
        tokens
    };
    assert_eq!(tokens(&*queue), 0.0);
    // A packet that exceeds takes nothing: the next conforms as if it had not been.
    assert!(!offer(&mut *queue, at(2_000_000), Meta::new(1514, 0)));
    assert!(offer(&mut *queue, at(2_000_000), Meta::new(888, 0)));
}

#[test]
fn over_any_span_it_passes_at_most_the_rate_and_a_bucket() {
    for (text, bucket, rate) in
        [("police rate 3333333bit burst 7001B", 7001, 416_666u128), ("police rate 64kbit burst 1514B", 1514, 8000)]
    {
        let (mut queue, mut rng) = (queue(text), Rng::from_state(5));
        let (mut passed, mut now) = (Vec::new(), at(0));
        while passed.len() < 300 {
            let len = 40 + rng.below(1461) as u32;
            if offer(&mut *queue, now, Meta::new(len, 0)) {
                passed.push((now, len));
            }
            now += Duration::from_micros(rng.below(2000) as i64);
        }
        for i in 0..passed.len() {
            let mut bytes = 0;
            for j in i..passed.len() {
                bytes += passed[j].1 as u128;
                // A nanosecond is lost per packet, and a tick of 64 ns in the bucket.
                let nanos = (passed[j].0 - passed[i].0).as_nanos() as u128 + (j - i) as u128 + 65;
                assert!(bytes <= bucket + rate * nanos / 1_000_000_000 + 1, "{text}: {i} to {j}: {bytes} B");
            }
        }
    }
}

#[test]
fn an_overload_passes_the_rate() {
    // Offered 1514 B every 100 us, 121 Mbit/s, for 10 s.
    for (text, per_second) in [
        ("police rate 7777777bit burst 5kB", 972_222),
        ("police rate 33mbit burst 3028B", 4_125_000),
        // A bucket of one packet: every fourth conforms, because three arrive within the 367 us of a packet.
        ("police rate 33mbit burst 1514B", 2500 * 1514),
        ("police rate 99999999bit burst 9kB", 12_499_999),
        ("police pkts_rate 777 pkts_burst 3", 777 * 1514),
    ] {
        let mut queue = queue(text);
        // The bucket is emptied first.
        burst(&mut *queue, at(0), 1000, 1514);
        let before = queue.stats().dropped_total().bytes;
        let offered = (1..=100_000u64).map(|i| at(i * 100_000));
        let passed = 1514 * offered.filter(|&now| offer(&mut *queue, now, Meta::new(1514, 0))).count() as u64;
        assert!(passed.abs_diff(10 * per_second) <= 1514 + 10, "{text}: {passed} B");
        assert_eq!(queue.stats().dropped_total().bytes - before, 151_400_000 - passed, "{text}");
    }
}

#[test]
fn the_peak_rate_spreads_the_burst() {
    // 8 Mbit/s, one byte per microsecond; 20 Mbit/s peak rate, 400 ns per byte: 600 us per packet.
    let mut queue = queue("police rate 8mbit burst 4500B peakrate 20mbit mtu 1500B");
    let passed: Vec<_> = (0..60u64).filter(|i| offer(&mut *queue, at(i * 100_000), Meta::new(1500, 0))).collect();
    // As in tbf's test: the bucket has 4500 us, 600 more per packet, and from 1800 us on the rate applies.
    assert_eq!(passed, [0, 6, 12, 18, 30, 45]);
}

#[test]
fn a_super_packet_is_judged_as_a_whole_and_its_segments_by_the_mtu() {
    let whole = |segments: u16| Meta::new(1514 * u32::from(segments), 0).with_segments(segments);
    let mut small = queue("police rate 10mbit burst 20kB");
    assert!(!offer(&mut *small, at(0), whole(14)), "21196 B never fit");
    assert!(offer(&mut *small, at(0), whole(13)));
    let mut jumbo = queue("police rate 10mbit burst 200kB mtu 1513B");
    assert!(!offer(&mut *jumbo, at(0), whole(2)));
    // The last segment is short.
    assert!(offer(&mut *jumbo, at(0), Meta::new(2 * 1513 + 100, 0).with_segments(3)));
    // Packets per second count it once.
    let mut packets = queue("police pkts_rate 1000 pkts_burst 2");
    assert!(offer(&mut *packets, at(0), whole(40)) && offer(&mut *packets, at(0), whole(40)));
    assert!(!offer(&mut *packets, at(0), whole(1)));
}

#[test]
fn conforming_packets_go_to_the_child() {
    let mut queue = queue("police rate 8mbit burst 6kB { codel }");
    assert_eq!(burst(&mut *queue, at(0), 6, 1500), 4);
    assert_eq!(queue.backlog(), Backlog { packets: 4, bytes: 6000 });
    for _ in 0..4 {
        assert!(matches!(queue.dequeue(at(1), &mut |_, _, _| {}), DequeueResult::Packet(..)));
    }
    assert_eq!(queue.dequeue(at(1), &mut |_, _, _| {}), DequeueResult::Empty);
    let text = queue.statistics().expect("a parent");
    let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    let counted = ["packets", "drops", "overlimits", "qlen"].map(|key| json[key].as_u64().expect("a number"));
    assert_eq!(counted, [4, 2, 2, 0]);
    assert_eq!(queue.stats().dropped[DropReason::Early as usize].packets, 2);
}

#[test]
fn a_change_fills_the_bucket_and_keeps_the_packets() {
    let mut old = queue("police rate 8mbit burst 6kB");
    assert_eq!(burst(&mut *old, at(0), 6, 1500), 4);
    let mut new = queue("police rate 16mbit burst 3kB");
    new.inherit(old.as_any().expect("it can"), at(10), &mut |_, _, _| {}).expect("of one type");
    assert_eq!(new.backlog().packets, 4);
    assert_eq!(burst(&mut *new, at(10), 6, 1500), 2);
    assert_eq!(new.stats().arrived.packets, 12);
    assert_eq!(new.stats().dropped_total().packets, 6);
}

#[test]
fn tcs_spellings_and_the_shortest_ones() {
    for (text, spelling) in [
        ("police", "police"),
        ("police rate 10mbit burst 100k drop", "police rate 10Mbit/s burst 102400B"),
        ("police rate 10mbit buffer 20kB conform-exceed drop/ok", "police rate 10Mbit/s burst 20000B"),
        (
            "police rate 10mbit maxburst 20kB conform-exceed drop { codel }",
            "police rate 10Mbit/s burst 20000B { codel }",
        ),
        (
            "police rate 1mbit burst 5kB minburst 1514B peakrate 2mbit {pie}",
            "police rate 1Mbit/s burst 5000B peakrate 2Mbit/s mtu 1514B { pie }",
        ),
        ("police pkts_rate 1000 pkts_burst 50 { }", "police pkts_rate 1000 pkts_burst 50"),
        (
            "police rate 1mbit burst 5kB { tbf rate 900kbit burst 5kB { codel } }",
            "police rate 1Mbit/s burst 5000B { tbf rate 900kbit/s burst 5000B { codel } }",
        ),
    ] {
        let named = NamedConfig::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(named.spelling(), spelling, "{text}");
        assert_eq!(NamedConfig::parse(spelling).expect(spelling), named);
    }
}

#[test]
fn settings_that_tc_refuses_get_a_line() {
    for (text, error) in [
        ("police rate 10mbit", "police: rate needs a burst; write e.g. rate 10mbit burst 20kB"),
        ("police burst 5kB", "police: burst needs a rate; write e.g. rate 10mbit burst 20kB"),
        (
            "police peakrate 20mbit mtu 1514B",
            "police: peakrate needs a rate; write e.g. rate 10mbit burst 20kB peakrate 20mbit mtu 1514B",
        ),
        (
            "police rate 10mbit burst 5kB peakrate 20mbit",
            "police: peakrate needs an mtu; write e.g. peakrate 20mbit mtu 1514B",
        ),
        (
            "police pkts_rate 10",
            "police: pkts_rate and pkts_burst go together; write e.g. pkts_rate 1000 pkts_burst 100",
        ),
        (
            "police rate 10mbit burst 5kB pkts_rate 10 pkts_burst 3",
            "police has both rate and pkts_rate; leave one of them out",
        ),
        (
            "police rate 7bit burst 5kB",
            "rate (7 bit/s) is below 8 bit/s (one byte per second), the minimum that Linux shapes to",
        ),
        ("police rate 8bit burst 5kB", "burst is 274 s or more at its rate; write a smaller one"),
        (
            "police rate 10mbit burst 5kB conform-exceed pass",
            "police drops what exceeds it and passes the rest, which pass does not; write drop",
        ),
        (
            "police rate 10mbit burst 5kB continue",
            "police drops what exceeds it and passes the rest, which continue does not; write drop",
        ),
        ("police rate 10mbit burst 5kB conform-exceed", "conform-exceed of police needs a value"),
    ] {
        assert_eq!(parse(text).expect_err(text).to_string(), error, "{text}");
    }
    assert!(super::Settings { pkts_burst: 1, ..super::Settings::default() }.validate().is_err());
}

#[test]
fn buckets_that_drop_every_full_packet_are_refused() {
    let police = |text: &str, mtu: u32| {
        let AnyConfig::Police(config) = parse(text).expect(text) else { panic!("{text}") };
        config.settings.check_mtu(mtu).map_err(|error| error.to_string())
    };
    for (text, mtu, error) in [
        ("police", 9000, None),
        ("police rate 10mbit burst 1514B", 1514, None),
        ("police rate 7777777bit burst 1514B", 1514, None),
        ("police rate 10mbit burst 1513B", 1514, Some("burst (1513 B) is below")),
        ("police rate 10mbit burst 20kB", 9000, Some("mtu (2040 B) is below")),
        ("police rate 10mbit burst 20kB mtu 9000B", 9000, None),
        ("police rate 10mbit burst 1700B overhead 40 linklayer atm", 1500, Some("write at least burst 1749B")),
        ("police rate 10mbit burst 1749B overhead 40 linklayer atm", 1500, None),
        ("police pkts_rate 1 pkts_burst 1", 9000, None),
    ] {
        match (police(text, mtu), error) {
            (Ok(()), None) => {}
            (Err(found), Some(error)) => assert!(found.contains(error), "{text}: {found}"),
            (found, _) => panic!("{text}: {found:?}"),
        }
    }
}
