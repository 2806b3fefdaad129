//! Samples of single acknowledgments, worked out by hand from tcp_rate.c.

use super::*;

/// Segment `n` of 1000 bytes; it starts at 1000 n.
fn segment(n: u64, sent_us: u64, tags: Tags) -> Segment {
    let sent = at(sent_us);
    let mut segment = Segment::new(1000 * n, 1000, false, sent);
    segment.tags.set(tags);
    segment
}

fn at(us: u64) -> Instant {
    // Fractions of a microsecond are ignored.
    Instant::from_nanos(us * 1_000 + 7)
}

fn out(out: usize) -> SendCounts {
    SendCounts { out: out as u32, ..SendCounts::default() }
}

fn us(span: Duration) -> i64 {
    span.as_nanos() / 1_000
}

/// A sampler with a minimum RTT of 10,007 µs, and the segments sent.
struct SamplerHarness {
    sampler: RateSampler,
    out: Vec<Segment>,
    next: u64,
}

impl SamplerHarness {
    fn new() -> Self {
        let mut sampler = RateSampler::new();
        sampler.observe_rtt(at(0), Duration::from_micros(10_007));
        Self { sampler, out: Vec::new(), next: 0 }
    }

    fn send(&mut self, us: u64) {
        let segment = segment(self.next, us, Tags::default());
        self.sampler.on_sent(&segment, out(self.out.len()));
        self.out.push(segment);
        self.next += 1;
    }

    fn resend(&mut self, n: u64, us: u64) {
        let i = self.out.iter().position(|s| s.seq == 1000 * n).expect("it is out");
        self.out[i] = segment(n, us, Tags::EVER_RETRANS);
        self.sampler.on_sent(&self.out[i], out(self.out.len()));
    }

    /// An acknowledgment at `us` of everything before segment `upto`, with SACKs of `sacks`.
    fn ack(&mut self, us: u64, upto: u64, sacks: &[u64], context: SampleInput) -> RateSample {
        let mut delivered = 0;
        for &n in sacks {
            let segment = self.out.iter_mut().find(|s| s.seq == 1000 * n).expect("it is out");
            self.sampler.on_sacked(segment);
            segment.tags.set(Tags::SACKED);
            delivered += 1;
        }
        while self.out.first().is_some_and(|s| s.end() <= 1000 * upto) {
            let segment = self.out.remove(0);
            self.sampler.on_acknowledged(&segment);
            delivered += !segment.tags.any(Tags::SACKED) as u32;
        }
        self.sampler.count(delivered, 0);
        self.sampler.generate(at(us), delivered, 0, &context)
    }
}

fn rtt(us: i64) -> SampleInput {
    SampleInput { rtt: Some(Duration::from_micros(us)), ..SampleInput::default() }
}

/// Packets; interval, send interval and ACK interval in µs.
fn values(sample: &RateSample) -> (Option<u32>, Option<i64>, i64, i64) {
    (sample.delivered, sample.interval.map(us), us(sample.send_interval), us(sample.ack_interval))
}

#[test]
fn a_window_is_sampled_over_the_time_in_which_it_was_acknowledged() {
    let mut rig = SamplerHarness::new();
    // Four segments at once, acknowledged 1.3 ms apart: the bottleneck's rate.
    (0..4).for_each(|_| rig.send(1_000));
    assert_eq!(values(&rig.ack(11_007, 1, &[], rtt(10_007))), (Some(1), Some(10_007), 0, 10_007));
    assert_eq!(values(&rig.ack(12_307, 2, &[], rtt(11_307))), (Some(2), Some(11_307), 0, 11_307));
    rig.send(12_307);
    assert_eq!(values(&rig.ack(14_907, 4, &[], rtt(13_907))), (Some(4), Some(13_907), 0, 13_907), "two at once");
    // It was sent after two deliveries, on the acknowledgment at 12,307 of a segment sent at 1,000.
    let sample = rig.ack(23_007, 5, &[], rtt(10_700));
    assert_eq!(values(&sample), (Some(3), Some(11_307), 11_307, 10_700));
    assert_eq!((sample.prior_delivered, sample.acked_sacked), (3, 1), "the SYN was the first");
    assert_eq!(sample.rate(1448).map(|rate| rate.as_bps()), Some(3_073_494), "3 · 1448 bytes in 11,307 µs");
}

#[test]
fn compressed_acknowledgments_do_not_hide_how_slowly_was_sent() {
    let mut rig = SamplerHarness::new();
    rig.send(0);
    rig.ack(10_007, 1, &[], rtt(10_007));
    // Six segments 4 ms apart; all their acknowledgments arrive at once.
    (0..6).for_each(|n| rig.send(10_007 + 4_000 * n));
    let sample = rig.ack(40_107, 7, &[], rtt(10_100));
    // They were sent into an empty network, so the interval begins with the first of them.
    assert_eq!(values(&sample), (Some(6), Some(30_100), 20_000, 30_100));
    (0..3).for_each(|n| rig.send(41_000 + 13_000 * n));
    assert_eq!(values(&rig.ack(70_000, 8, &[], rtt(29_000))), (Some(1), Some(29_000), 0, 29_000));
    assert_eq!(values(&rig.ack(77_100, 10, &[], rtt(10_100))), (Some(3), Some(36_100), 26_000, 36_100));
}

#[test]
fn the_send_phase_rules_where_it_was_the_longer_one() {
    let mut rig = SamplerHarness::new();
    (0..2).for_each(|n| rig.send(15_000 * n));
    rig.ack(25_000, 1, &[], rtt(25_000));
    // Sent at 25,100 on an acknowledgment of a segment sent at 0; both acknowledged within 10.1 ms of the last one.
    rig.send(25_100);
    let sample = rig.ack(35_200, 3, &[], rtt(10_100));
    assert_eq!(values(&sample), (Some(2), Some(25_100), 25_100, 10_200));
}

#[test]
fn a_segment_that_was_sacked_tells_once() {
    let mut rig = SamplerHarness::new();
    (0..4).for_each(|n| rig.send(n * 100));
    let sample = rig.ack(10_400, 0, &[2, 3], rtt(10_100));
    assert_eq!((values(&sample), sample.acked_sacked), ((Some(2), Some(10_400), 300, 10_400), 2));
    rig.resend(0, 10_400);
    rig.resend(1, 10_500);
    // Only the two holes count: they were retransmitted after two deliveries.
    let sample = rig.ack(20_600, 4, &[], rtt(10_100));
    assert_eq!(values(&sample), (Some(2), Some(10_200), 10_200, 10_200));
    assert_eq!((sample.acked_sacked, sample.is_retransmitted, sample.prior_delivered), (2, true, 3));
    // An acknowledgment that delivers nothing has no sample.
    assert_eq!(values(&rig.ack(20_700, 4, &[], SampleInput::default())), (None, None, 0, 0));
}

#[test]
fn the_segment_sent_last_is_sampled_and_the_higher_one_of_two_sent_at_once() {
    let mut rig = SamplerHarness::new();
    (0..3).for_each(|_| rig.send(0));
    rig.ack(10_100, 0, &[2], rtt(10_100));
    rig.resend(0, 10_100);
    // The retransmission of 0 was sent after 1, which is acknowledged with it.
    let sample = rig.ack(20_300, 2, &[], SampleInput::default());
    assert_eq!((sample.is_retransmitted, sample.prior_delivered, sample.delivered), (true, 2, Some(2)));
    rig.send(20_300);
    rig.sampler.mark_app_limited(1);
    rig.send(20_300);
    assert!(rig.ack(30_400, 5, &[], rtt(10_100)).is_app_limited, "the later one was, the earlier one was not");
}

#[test]
fn a_needless_retransmission_has_no_interval() {
    let mut rig = SamplerHarness::new();
    (0..3).for_each(|_| rig.send(0));
    rig.ack(10_100, 0, &[2], rtt(10_100));
    // The originals are late: each is acknowledged 2 ms after its retransmission.
    rig.resend(0, 20_000);
    let sample = rig.ack(22_000, 1, &[], SampleInput::default());
    assert_eq!(values(&sample), (Some(1), Some(20_000), 20_000, 11_900), "the time since the last one is long enough");
    rig.resend(1, 22_000);
    let sample = rig.ack(24_000, 3, &[], SampleInput::default());
    assert_eq!(values(&sample), (Some(1), None, 2_000, 2_000));
    assert_eq!(sample.rate(1448), None);
}

#[test]
fn a_bubble_of_the_application_marks_the_samples_of_what_is_sent_until_it_is_delivered() {
    let mut rig = SamplerHarness::new();
    (0..3).for_each(|_| rig.send(0));
    rig.sampler.mark_app_limited(3);
    rig.send(2_000);
    let mut limited = Vec::new();
    for n in 1..=2 {
        limited.push(rig.ack(10_000 + 100 * n, n, &[], rtt(10_100)).is_app_limited);
    }
    // The bubble ends after the third: segments sent before that is delivered still belong to it.
    rig.send(10_200);
    limited.push(rig.ack(10_300, 3, &[], rtt(10_300)).is_app_limited);
    assert!(rig.sampler.is_app_limited());
    limited.push(rig.ack(12_100, 4, &[], rtt(10_100)).is_app_limited);
    assert!(!rig.sampler.is_app_limited(), "more than the bubble is delivered");
    rig.send(12_100);
    limited.push(rig.ack(20_300, 5, &[], rtt(10_100)).is_app_limited);
    limited.push(rig.ack(22_200, 6, &[], rtt(10_100)).is_app_limited);
    assert_eq!(limited, [false, false, false, true, true, false]);
}

#[test]
fn marks_are_counted_over_the_sample() {
    let mut rig = SamplerHarness::new();
    rig.sampler.count(5, 2);
    (0..2).for_each(|_| rig.send(0));
    let first = rig.out.remove(0);
    rig.sampler.on_acknowledged(&first);
    rig.sampler.count(1, 1);
    let sample = rig.sampler.generate(at(10_100), 1, 1, &rtt(10_100));
    assert_eq!((sample.ce, sample.delivered_ce, rig.sampler.delivered_ce()), (1, 1, 3));
    rig.sampler.count(1, 0);
    let second = rig.out.remove(0);
    rig.sampler.on_acknowledged(&second);
    let sample = rig.sampler.generate(at(10_200), 1, 0, &rtt(10_200));
    assert_eq!((sample.ce, sample.delivered_ce, sample.delivered), (0, 1, Some(2)));
}

#[test]
fn a_delayed_acknowledgment_of_a_lone_runt_does_not_raise_the_least_rtt() {
    let lone = |us| SampleInput { lone_runt: true, ..rtt(us) };
    let mut rig = SamplerHarness::new();
    rig.send(0);
    let sample = rig.ack(50_000, 1, &[], lone(50_000));
    assert_eq!(
        (sample.is_ack_delayed, sample.rtt.map(us), rig.sampler.min_rtt().map(us)),
        (true, Some(50_000), Some(10_007))
    );
    rig.send(60_000);
    assert!(rig.ack(69_000, 2, &[], lone(9_000)).is_ack_delayed);
    assert_eq!(rig.sampler.min_rtt().map(us), Some(9_000), "a shorter one counts all the same");
    // Another segment was delivered during its round trip.
    (0..2).for_each(|_| rig.send(70_000));
    rig.ack(80_000, 3, &[], rtt(10_000));
    assert!(!rig.ack(90_000, 4, &[], lone(20_000)).is_ack_delayed);
}
