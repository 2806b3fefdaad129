use crate::params::{Bytes, Config as _};
use crate::qdisc::{DequeueResult, EnqueueResult, Host, Qdisc};
use crate::registry::{NamedConfig, parse};
use crate::{Backlog, DropReason, Duration, Instant, Limits, Link, Meta, Rate, Rng};
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;

const LINK: Link = Link::new(Rate::from_bps(1_000_000_000), 1514);

fn queue(text: &str, limits: Limits) -> Box<dyn Qdisc<u32> + Send> {
    parse(text).expect(text).build(limits, Host { link: LINK, rng: Rng::from_state(1) })
}

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

/// Departures of an infinitely fast link that polls when the queue allows.
fn departures(queue: &mut dyn Qdisc<u32>, mut now: Instant) -> Vec<(u32, u64)> {
    let mut left = Vec::new();
    loop {
        match queue.dequeue(now, &mut |_, _, _| {}) {
            DequeueResult::Packet(_, id) => left.push((id, now.as_nanos())),
            DequeueResult::NotBefore(later) => now = later,
            DequeueResult::Empty => return left,
        }
    }
}

fn offer(queue: &mut dyn Qdisc<u32>, now: Instant, ids: core::ops::Range<u32>, len: u32) -> Vec<EnqueueResult> {
    ids.map(|id| queue.enqueue(now, Meta::new(len, 0), id, &mut |_, _, _| {})).collect()
}

#[test]
fn tokens_are_the_kernels_at_an_untidy_rate() {
    // 7,777,777 bit/s are 972,222 B/s, 2157071121 / 2^21 ns per byte: 1557257 ns for 1514 B, 5142858 ns for the bucket.
    let mut queue = queue("tbf rate 7777777bit burst 5kB limit 1MB", Limits::default());
    offer(&mut *queue, at(0), 0..6, 1514);
    // Three at once leave 471087 ns; the fourth waits for 1557257 - 471087, the others for a whole packet time.
    let times = [0, 0, 0, 1_086_170, 2_643_427, 4_200_684];
    assert_eq!(departures(&mut *queue, at(0)), (0..6).zip(times).collect::<Vec<_>>());
    // After an idle time at most the bucket: 40 ms are 7 times as much.
    offer(&mut *queue, at(44_200_684), 6..10, 1514);
    let times = [44_200_684, 44_200_684, 44_200_684, 45_286_854];
    assert_eq!(departures(&mut *queue, at(44_200_684)), (6..10).zip(times).collect::<Vec<_>>());
}

#[test]
fn the_peak_rate_spreads_the_burst() {
    // 8 Mbit/s, one byte per microsecond; 20 Mbit/s peak rate, 400 ns per byte.
    let mut queue = queue("tbf rate 8mbit burst 4500B limit 1MB peakrate 20mbit mtu 1500B", Limits::default());
    offer(&mut *queue, at(0), 0..8, 1500);
    // Spaced by 600 us: the bucket has 4500, 3000 + 600, 2700, 1800, 900 … us. The fifth packet finds 4500 - 4 · 1500 +
    // 2400 = 900 us and waits for 600 more, 1200 us after the fourth; from then on the rate applies.
    let times = [0, 600, 1200, 1800, 3000, 4500, 6000, 7500].map(|us| us * 1000);
    assert_eq!(departures(&mut *queue, at(0)), (0..8).zip(times).collect::<Vec<_>>());
}

#[test]
fn what_exceeds_a_bucket_is_dropped_when_it_comes() {
    let mut queue = queue("tbf rate 8mbit burst 3kB latency 50ms peakrate 20mbit mtu 1500B", Limits::default());
    let dropped = EnqueueResult::Dropped(DropReason::Limit);
    assert_eq!(offer(&mut *queue, at(0), 0..1, 1501), [dropped]);
    assert_eq!(offer(&mut *queue, at(0), 1..2, 1500), [EnqueueResult::Queued]);
    let stats = queue.stats();
    assert_eq!((stats.arrived.bytes, stats.dropped[DropReason::Limit as usize].bytes), (3001, 1501));
    assert_eq!(queue.backlog(), Backlog { packets: 1, bytes: 1500 });
}

#[test]
fn latency_is_a_limit_in_bytes_and_the_packet_at_the_door_counts() {
    // 1,000,000 B/s · 4.5 ms + 3000 B = 7500 B: five packets, even if the first of them has been peeked at.
    for looks in [false, true] {
        let mut queue = queue("tbf rate 8mbit burst 3kB latency 4500us", Limits::default());
        // First, empty the bucket.
        offer(&mut *queue, at(0), 0..2, 1500);
        let sent = [0, 1].map(|_| queue.dequeue(at(0), &mut |_, _, _| {}));
        assert!(sent.iter().all(|sent| matches!(sent, DequeueResult::Packet(..))));
        offer(&mut *queue, at(0), 2..3, 1500);
        if looks {
            assert_eq!(queue.dequeue(at(0), &mut |_, _, _| {}), DequeueResult::NotBefore(at(1_500_000)));
        }
        let rest = offer(&mut *queue, at(0), 3..8, 1500);
        assert_eq!(rest.iter().filter(|fate| **fate == EnqueueResult::Queued).count(), 4, "{looks}");
        assert_eq!(queue.backlog(), Backlog { packets: 5, bytes: 7500 }, "{looks}");
    }
    // With a peak rate the smaller of both: 2,500,000 B/s · 1 ms + 1500 B = 4000 B.
    let two = parse("tbf rate 16mbit burst 9kB latency 1ms peakrate 20mbit mtu 1500B").unwrap();
    let crate::registry::AnyConfig::Tbf(config) = two else { panic!("it is tbf") };
    assert_eq!(config.settings.limit_bytes(), Some(4000));
}

#[test]
fn over_any_span_it_sends_at_most_the_rate_and_a_bucket() {
    // Every start and end of 200 departures, at untidy sizes.
    let mut queue = queue("tbf rate 3333333bit burst 7001B { fq_codel }", Limits::default());
    let (mut rng, mut left, mut now) = (Rng::from_state(5), Vec::new(), at(0));
    let mut id = 0;
    while left.len() < 200 {
        for _ in 0..rng.below(4) {
            id += 1;
            queue.enqueue(now, Meta::new(40 + rng.below(1461) as u32, id % 3), id, &mut |_, _, _| {});
        }
        match queue.dequeue(now, &mut |_, _, _| {}) {
            DequeueResult::Packet(meta, _) => left.push((now, meta.len)),
            DequeueResult::NotBefore(later) => now = later,
            DequeueResult::Empty => now += Duration::from_micros(rng.below(9000) as i64),
        }
    }
    for i in 0..left.len() {
        let mut bytes = 0;
        for j in i..left.len() {
            bytes += left[j].1 as u128;
            // At most one nanosecond is lost per packet.
            let nanos = (left[j].0 - left[i].0).as_nanos() as u128 + (j - i) as u128 + 1;
            assert!(bytes <= 7001 + 416_667 * nanos / 1_000_000_000 + 1, "{i} to {j}: {bytes} B");
        }
    }
    // And not less while packets wait: from one departure to another, the bytes after the first match the rate.
    let mut queue = self::queue("tbf rate 3333333bit burst 7001B limit 1MB", Limits::default());
    offer(&mut *queue, at(0), 0..200, 1400);
    let left = departures(&mut *queue, at(0));
    let throttled = &left[left.iter().position(|&(_, at)| at > 0).expect("the bucket is small")..];
    let (first, last) = (throttled[0].1, throttled[throttled.len() - 1].1);
    let (bytes, carried) = (1400 * (throttled.len() as u64 - 1), 416_666 * (last - first) / 1_000_000_000);
    assert!(throttled.len() > 190 && bytes.abs_diff(carried) <= 1, "{bytes} B where the rate carries {carried}");
}

#[test]
fn with_a_child_it_judges_when_it_looks_and_hands_out_what_it_holds() {
    let mut queue = queue("tbf rate 8mbit burst 1500B { codel target 1ms interval 10ms }", Limits::packets(100));
    let (mut dropped, mut sent) = (0, 0);
    let mut now = at(0);
    for round in 0..400u32 {
        for one in 0..2 {
            queue.enqueue(now, Meta::new(1500, 0), 2 * round + one, &mut |_, _, _| dropped += 1);
        }
        while let DequeueResult::Packet(..) = queue.dequeue(now, &mut |_, _, _| dropped += 1) {
            sent += 1;
        }
        now += Duration::from_micros(1500);
    }
    let late = queue.stats().dropped[DropReason::Late as usize].packets;
    assert!(late > 20, "{late}");
    let backlog = queue.backlog();
    assert_eq!(sent + dropped + backlog.packets as u64, 800);
    assert!((399..=401).contains(&sent), "{sent}");
    assert!(backlog.packets <= 100);
}

#[test]
fn tcs_spellings_and_the_shortest_ones() {
    for (text, spelling) in [
        ("tbf", "tbf"),
        ("tbf rate 10mbit burst 5kB latency 50ms", "tbf rate 10Mbit/s burst 5000B latency 50ms"),
        ("tbf rate 10mbit buffer 5kB limit 30kB", "tbf rate 10Mbit/s burst 5000B limit 30000B"),
        (
            "tbf rate 1mbit maxburst 5kB minburst 1514B peakrate 2mbit {pie}",
            "tbf rate 1Mbit/s burst 5000B peakrate 2Mbit/s mtu 1514B { pie }",
        ),
        (
            "tbf rate 1mbit burst 5kB { fq(codel@act ecn) flows 16 }",
            "tbf rate 1Mbit/s burst 5000B { fq(codel@act ecn) flows 16 }",
        ),
        ("tbf { tbf rate 1mbit burst 5kB { codel } }", "tbf { tbf rate 1Mbit/s burst 5000B { codel } }"),
        ("tbf rate 1mbit burst 5kB latency 5ms { }", "tbf rate 1Mbit/s burst 5000B latency 5ms"),
        ("tbf { codel exclude_ce }", "tbf { codel exclude_ce }"),
    ] {
        let named = NamedConfig::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(named.spelling(), spelling, "{text}");
        assert_eq!(NamedConfig::parse(spelling).expect(spelling), named);
        // As in a table: the braces belong to the name.
        let params: Vec<_> =
            named.changed().into_iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        assert_eq!(NamedConfig::configure(&named.name(), named.profile, &params), Ok(named));
    }
}

#[test]
fn statistics_are_spelled_as_tcs() {
    let mut queue = queue("tbf rate 1mbit burst 2kB { cake besteffort }", Limits::default());
    for handle in 0..3 {
        queue.enqueue(Instant::ZERO, Meta::new(1500, 1), handle, &mut |_, _, _| {});
    }
    queue.dequeue(Instant::ZERO, &mut |_, _, _| {});
    assert!(matches!(queue.dequeue(Instant::ZERO, &mut |_, _, _| {}), DequeueResult::NotBefore(_)));
    let text = queue.statistics().expect("tc knows it");
    let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    let counted = ["packets", "overlimits", "qlen"].map(|key| json[key].as_u64().expect("a number"));
    assert_eq!(counted, [1, 1, 2], "the packet that is looked at waits");
    assert_eq!(json["classes"][0]["qdisc"]["kind"], "cake");
}

#[test]
fn what_tc_would_refuse_gets_a_line() {
    for (text, error) in [
        ("tbf rate 10mbit", "tbf needs a burst with its rate; write e.g. rate 10mbit burst 5kB latency 50ms"),
        ("tbf burst 5kB", "tbf: burst needs a rate; write e.g. rate 10mbit burst 5kB latency 50ms"),
        (
            "tbf rate 10mbit burst 5kB",
            "tbf needs limit or latency, or a child discipline in braces; write e.g. latency 50ms, or { fq_codel }",
        ),
        (
            "tbf rate 10mbit burst 5kB latency 50ms limit 3kB",
            "tbf has both limit and latency, which set the same bound; leave one of them out",
        ),
        (
            "tbf rate 10mbit burst 5kB latency 5ms peakrate 20mbit",
            "tbf needs an mtu with its peakrate; write e.g. peakrate 20mbit mtu 1514B",
        ),
        (
            "tbf rate 10mbit burst 5kB latency 5ms peakrate 10mbit mtu 1514B",
            "peakrate (10 Mbit/s) must be above rate (10 Mbit/s); write a higher one, or leave it out",
        ),
        (
            "tbf rate 7bit burst 5kB latency 5ms",
            "rate (7 bit/s) is below 8 bit/s (one byte per second), the minimum that Linux shapes to",
        ),
        ("tbf rate 10mbit buffer 5kB burst 5kB latency 5ms", "burst of tbf is given twice; leave one of them out"),
        ("tbf rate 10mbit buffer", "buffer of tbf needs a value"),
        ("tbf { codle }", r#"unknown AQM "codle"; did you mean "codel"?"#),
        ("tbf { codel; pie }", r#"tbf: cannot hold "codel; pie"; write e.g. "tbf rate 10mbit burst 5kB { fq_codel }""#),
        ("tbf { codel", r#""tbf { codel" has an unclosed brace; write e.g. "tbf rate 10mbit burst 5kB { fq_codel }""#),
        (
            "tbf exclude_ce",
            "exclude_ce: tbf does not measure its queue; write it after the discipline in the braces, e.g. { fq_codel exclude_ce }",
        ),
        (
            "tbf rate 1gbit burst 5kB { cake_mq }",
            "cake_mq shapes all hardware queues of a card and cannot be attached to a class; use cake",
        ),
        ("fq(tbf)", r#"tbf holds other disciplines itself; write e.g. "fq(codel)""#),
    ] {
        assert_eq!(parse(text).expect_err(text).to_string(), error, "{text}");
    }
    assert!(parse("codel { pie }").unwrap_err().to_string().starts_with("codel takes no child discipline; tbf, prio"));
    assert!(super::Settings { burst: Bytes(1), ..super::Settings::default() }.validate().is_err());
}
