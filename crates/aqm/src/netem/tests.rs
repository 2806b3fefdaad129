use super::crandom::{Crandom, RandomEvent, scaled};
use super::distribution::DelayDistribution;
use super::loss::LossState;
use super::{Config, Distribution, Settings, Table, below};
use crate::qdisc::drop_all;
use crate::registry::{AnyConfig, NamedConfig, parse};
use crate::{
    Backlog, DequeueResult, DropReason, Ecn, EnqueueResult, Host, Instant, Limits, Link, Meta, Qdisc, Rate, Rng, Sink,
};
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

const LINK: Link = Link::new(Rate::from_bps(1_000_000_000), 1514);

fn queue(text: &str, limits: Limits, seed: u64) -> Box<dyn Qdisc<u32> + Send> {
    parse(text).expect(text).build(limits, Host { link: LINK, rng: Rng::from_state(seed) })
}

fn settings(text: &str) -> Settings {
    let AnyConfig::Netem(Config { settings, .. }) = parse(text).expect(text) else { panic!("{text} is netem") };
    settings
}

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

/// Records the sink's callbacks.
#[derive(Default)]
struct RecordingSink {
    dropped: Vec<(u32, DropReason)>,
    damaged: Vec<(u32, u32, u8)>,
}

impl Sink<u32> for RecordingSink {
    fn dropped(&mut self, _: Meta, id: u32, reason: DropReason) {
        self.dropped.push((id, reason));
    }
    fn duplicated(&mut self, _: &Meta, id: &u32) -> Option<u32> {
        Some(id + 1000)
    }
    fn corrupt(&mut self, id: &mut u32, byte: u32, bit: u8) {
        self.damaged.push((*id, byte, bit));
    }
}

/// Departures on an infinitely fast link that polls when the queue allows.
fn departures(queue: &mut dyn Qdisc<u32>, mut now: Instant) -> Vec<(u32, u64)> {
    let mut left = Vec::new();
    loop {
        match queue.dequeue(now, &mut RecordingSink::default()) {
            DequeueResult::Packet(_, id) => left.push((id, now.as_nanos())),
            DequeueResult::NotBefore(later) => now = later,
            DequeueResult::Empty => return left,
        }
    }
}

fn offer(queue: &mut dyn Qdisc<u32>, now: Instant, ids: core::ops::Range<u32>, len: u32, sink: &mut RecordingSink) {
    for id in ids {
        queue.enqueue(now, Meta::new(len, 0), id, sink);
    }
}

#[test]
fn correlated_numbers_are_those_of_a_second_implementation() {
    // Computed in Python, whose integers do not wrap, from `get_crandom` with splitmix64 from 7; the first draw acts as
    // the previous number.
    let numbers = |percent: f64| {
        let mut rng = Rng::from_state(7);
        let mut numbers = Crandom::new(percent, rng.next_u32());
        [(); 5].map(|()| numbers.next(&mut rng))
    };
    assert_eq!(numbers(0.3), [76_911_777, 3_857_362_185, 2_507_727_631, 1_944_916_655, 1_073_921_079]);
    assert_eq!(numbers(25.0), [472_655_386, 3_019_717_093, 2_632_679_181, 2_115_587_151, 1_332_371_960]);
    assert_eq!(numbers(50.0), [873_205_597, 2_370_971_629, 2_437_319_086, 2_190_271_114, 1_630_785_672]);
    assert_eq!(numbers(99.9), [1_672_703_819, 1_674_899_852, 1_675_728_618, 1_675_996_112, 1_675_391_416]);
    // Full correlation keeps the number.
    let first = Rng::from_state(7).next_u32();
    assert_eq!(numbers(100.0), [first; 5]);
}

#[test]
fn percents_are_tcs() {
    // rint(p · (2³² - 1)) with tc's rounding: half to even.
    for (percent, bits) in [(0.0, 0), (100.0, u32::MAX), (50.0, 2_147_483_648), (0.1, 4_294_967), (1e-8, 0)] {
        assert_eq!(scaled(percent), bits, "{percent}");
    }
}

#[test]
fn tables_are_iproute2s() {
    // Sums of all 4096 entries, and entries at the ends and in the middle, of the tables from a Python version of
    // normal.c, pareto.c and paretonormal.c with the C library's erf and pow.
    let table = |of: Distribution| of.table().expect("it has one");
    let summed = |table: &[i16]| table.iter().fold(0u64, |sum, &v| sum.wrapping_mul(31).wrapping_add(v as u16 as u64));
    let (normal, pareto) = (table(Distribution::Normal), table(Distribution::Pareto));
    let both = table(Distribution::ParetoNormal);
    assert_eq!((&normal[..4], &normal[4094..]), (&[-32_768, -28_307, -26_871, -25_967][..], &[27_159, 28_858][..]));
    assert_eq!((&pareto[..4], pareto[2048]), (&[-5461, -5460, -5460, -5459][..], -2622));
    assert_eq!((&both[..4], &both[4094..]), (&[-12_305, -11_171, -10_812, -10_586][..], &[31_365, 31_789][..]));
    assert_eq!([normal.len(), pareto.len(), both.len()], [4096; 3]);
    assert_eq!(
        [summed(&normal), summed(&pareto), summed(&both)],
        [0x1cbf_85eb_a5f8_3a1b, 0xcaa7_196f_7e28_b604, 0x08b4_4021_c96c_7ca0]
    );
    assert!(Distribution::Uniform.table().is_none());
}

#[test]
fn jitter_is_that_of_a_second_implementation() {
    // 3.000001 ms ± 1.234567 ms, correlated by 33 %, from `tabledist` in Python.
    let times = |by| {
        let mut rng = Rng::from_state(11);
        let mut numbers = Crandom::new(33.0, rng.next_u32());
        let spread = DelayDistribution::new(3_000_001, 1_234_567, by);
        [(); 5].map(|()| spread.next(&mut numbers, &mut rng))
    };
    assert_eq!(times(Distribution::Uniform), [2_512_083, 2_777_781, 3_130_349, 1_973_988, 2_575_957]);
    assert_eq!(times(Distribution::Normal), [3_440_659, 3_812_898, 1_635_678, 3_431_768, 1_118_462]);
    assert_eq!(times(Distribution::Pareto), [2_843_570, 3_126_291, 2_258_236, 2_837_844, 2_213_477]);
    assert_eq!(times(Distribution::ParetoNormal), [2_992_918, 3_297_943, 2_102_710, 2_986_438, 1_939_799]);
}

fn losses(text: &str, seed: u64, packets: usize) -> String {
    let mut rng = Rng::from_state(seed);
    let mut loss = LossState::new(&settings(text), Crandom::new(0.0, 0));
    (0..packets).map(|_| if loss.loses(&mut rng) { 'x' } else { '.' }).collect()
}

#[test]
fn chains_lose_as_those_of_a_second_implementation() {
    let state = losses("netem loss state 30% 40% 20% 60% 10%", 5, 60);
    assert_eq!(state, "xx.x.xx....xx.....x.xx..xxx.xx.xx...x.x.xx.xxx..x..x.......x");
    let gemodel = losses("netem loss gemodel 20% 30% 70% 5%", 5, 60);
    assert_eq!(gemodel, "...xx.xxxx.x..x....xx.xx..xxx.x.x....x.x...............xx...");
    // tc's defaults for omitted values: R is 100 % minus P, and every packet is lost in the bad state.
    assert_eq!(settings("netem loss gemodel 20%"), settings("netem loss gemodel 20% 80% 100% 0%"));
    assert_eq!(settings("netem loss state 30"), settings("netem loss state 30 70 0 100 0"));
}

/// Whether `count` of `n` independent packets is within five standard deviations of `p`.
fn near(count: usize, n: usize, p: f64) -> bool {
    let deviation = libm::sqrt(n as f64 * p * (1.0 - p));
    libm::fabs(count as f64 - n as f64 * p) < 5.0 * deviation
}

#[test]
fn without_correlation_shares_are_the_probabilities() {
    let n = 200_000;
    for (seed, percent) in [(3, 0.7), (77, 13.0), (1 << 40, 96.5)] {
        let (mut rng, mut chance) = (Rng::from_state(seed), RandomEvent::new(percent, Crandom::new(0.0, 0)));
        let count = (0..n).filter(|_| chance.occurs(&mut rng)).count();
        assert!(near(count, n, percent / 100.0), "{count} of {n} at {percent} %");
    }
    // With a correlation of 50 % a number is the average of many, with weights 1/2, 1/4, 1/8, …: it is below 1 % only
    // if all of the first six are small, so in less than one of a thousand cases.
    let (mut rng, mut chance) = (Rng::from_state(3), RandomEvent::new(1.0, Crandom::new(50.0, 1 << 31)));
    assert!((0..n).filter(|_| chance.occurs(&mut rng)).count() < n / 1000);
}

#[test]
fn jitter_lies_about_its_mean_as_its_distribution_says() {
    let n = 100_000usize;
    let drawn = |by| {
        let (mut rng, mut numbers) = (Rng::from_state(99), Crandom::new(0.0, 0));
        let spread = DelayDistribution::new(50_000_000, 7_777_777, by);
        let mut times: Vec<i64> = (0..n).map(|_| spread.next(&mut numbers, &mut rng)).collect();
        times.sort_unstable();
        times
    };
    // Kolmogorov and Smirnov: above 1.95 / sqrt(n) once in a thousand.
    let bound = 1.95 / libm::sqrt(n as f64);
    let distance = |times: &[i64], cdf: &dyn Fn(f64) -> f64| {
        let gaps = times.iter().enumerate().map(|(i, &time)| {
            let x = (time as f64 - 50e6) / 7_777_777.0;
            libm::fabs(cdf(x) - (i as f64 + 0.5) / n as f64)
        });
        gaps.fold(0.0, f64::max)
    };
    let uniform = distance(&drawn(Distribution::Uniform), &|x| (x + 1.0) / 2.0);
    assert!(uniform < bound, "{uniform}");
    // A table of 4096 steps adds half a step.
    let normal = distance(&drawn(Distribution::Normal), &|x| 0.5 + 0.5 * libm::erf(x / libm::sqrt(2.0)));
    assert!(normal < bound + 1.0 / 4096.0, "{normal}");
    // Pareto, exponent 3, from 1 on: a mean of 3/2, scaled by 4/3 as the table is, and cut off at four units.
    let cdf = |x: f64| 1.0 - libm::pow(x * 0.75 + 1.5, -3.0);
    let pareto = distance(&drawn(Distribution::Pareto), &|x| if x >= 3.999 { 1.0 } else { cdf(x) });
    assert!(pareto < bound + 1.0 / 4096.0 + (1.0 - cdf(3.999)), "{pareto}");
    // Custom table: exponential, one standard deviation to the left, cut off at four units.
    let entry = |i: u32| (-libm::log(1.0 - (f64::from(i) + 0.5) / 1000.0) - 1.0) * 8192.0;
    let text: Vec<String> = (0..1000).map(|i| (libm::rint(entry(i)) as i32).min(32_767).to_string()).collect();
    let table: &'static Table = Box::leak(Box::new(Table::parse("made", &text.join("\n")).unwrap()));
    let cdf = |x: f64| 1.0 - libm::exp(-x - 1.0);
    let own = distance(&drawn(Distribution::Table(table)), &|x| if x >= 3.999 { 1.0 } else { cdf(x) });
    assert!(own < bound + 1.0 / 1000.0 + (1.0 - cdf(3.999)), "{own}");
    // Mirrored, it does not fit.
    let own = distance(&drawn(Distribution::Table(table)), &|x| 1.0 - cdf(-x));
    assert!(own > 0.1, "{own}");
}

#[test]
fn the_good_state_lasts_as_its_probability_says() {
    // P 2 %, R 25 %, all packets lost in the bad state: a share of P / (P + R), in bursts of 1 / R.
    let n = 400_000;
    let text = losses("netem loss gemodel 2% 25%", 9, n);
    let lost = text.matches('x').count() as f64 / n as f64;
    // The variance of such a share is p q (1 + λ) / (1 - λ) / n with λ = 1 - P - R.
    let (p, lambda) = (0.02 / 0.27, 0.73);
    let deviation = libm::sqrt(p * (1.0 - p) * (1.0 + lambda) / (1.0 - lambda) / n as f64);
    assert!(libm::fabs(lost - p) < 5.0 * deviation, "{lost} for {p}");
    let bursts: Vec<usize> = text.split('.').map(str::len).filter(|&len| len > 0).collect();
    let mean = bursts.iter().sum::<usize>() as f64 / bursts.len() as f64;
    // Geometric with mean 4: the deviation of one is sqrt(1 - R) / R.
    let error = 5.0 * libm::sqrt(0.75) / 0.25 / libm::sqrt(bursts.len() as f64);
    assert!(libm::fabs(mean - 4.0) < error, "{mean}");
}

#[test]
fn the_rate_counts_from_the_last_packets_time() {
    // 7777777 bit/s are 972222 B/s. With 14 B more, 1514 B are 1528 B in 32 cells of 48 + 5: 1696 B, 1744457 ns.
    let mut queue = queue("netem delay 20ms rate 7777777bit 14 48 5", Limits::default(), 1);
    offer(&mut *queue, at(0), 0..3, 1514, &mut RecordingSink::default());
    // The first packet has a delay of 20 ms; the delay of the others has passed by the time it leaves.
    let times = [21_744_457, 23_488_914, 25_233_371];
    assert_eq!(departures(&mut *queue, at(0)), (0..3).zip(times).collect::<Vec<_>>());
    // A delay that extends past the last packet's time: after 5 ms the last packet is due in 16.744457 ms, and 3.255543
    // ms of the delay are left.
    offer(&mut *queue, at(30_000_000), 3..4, 1514, &mut RecordingSink::default());
    offer(&mut *queue, at(35_000_000), 4..5, 1514, &mut RecordingSink::default());
    assert_eq!(departures(&mut *queue, at(35_000_000)), [(3, 51_744_457), (4, 56_744_457)]);
    // Overheads may be negative.
    let mut queue = self::queue("netem rate 8mbit -14", Limits::default(), 1);
    offer(&mut *queue, at(0), 0..1, 1514, &mut RecordingSink::default());
    assert_eq!(departures(&mut *queue, at(0)), [(0, 1_500_000)]);
}

#[test]
fn packets_leave_in_the_order_of_their_times() {
    let mut queue = queue("netem delay 10ms 10ms", Limits::default(), 3);
    let mut expected: Vec<(u64, u32)> = Vec::new();
    let (mut rng, mut numbers) = (Rng::from_state(3), Crandom::new(0.0, 0));
    let spread = DelayDistribution::new(10_000_000, 10_000_000, Distribution::Uniform);
    for id in 0..500u32 {
        let now = id as u64 * 100_000;
        expected.push((now + spread.next(&mut numbers, &mut rng) as u64, id));
        offer(&mut *queue, at(now), id..id + 1, 100, &mut RecordingSink::default());
    }
    expected.sort_unstable();
    let left = departures(&mut *queue, at(0));
    assert_eq!(left.iter().map(|&(id, time)| (time, id)).collect::<Vec<_>>(), expected);
    assert!(left.windows(2).any(|pair| pair[0].0 > pair[1].0), "some overtook others");
}

#[test]
fn each_gapth_packet_goes_at_once() {
    // Probability 100 %: two are delayed, the third is sent at once.
    let mut queue = queue("netem delay 10ms reorder 100% gap 3", Limits::default(), 1);
    offer(&mut *queue, at(0), 0..7, 100, &mut RecordingSink::default());
    let ten = 10_000_000;
    // Packets at the front leave in reverse order.
    assert_eq!(departures(&mut *queue, at(0)), [(5, 0), (2, 0), (0, ten), (1, ten), (3, ten), (4, ten), (6, ten)]);
}

#[test]
fn slots_let_packets_go_in_groups() {
    let mut queue = queue("netem slot 3ms packets 2", Limits::default(), 1);
    offer(&mut *queue, at(1_000), 0..5, 100, &mut RecordingSink::default());
    // The slot that started with the queue was over when the first packet arrived: it leaves in the next one.
    let times = [3_001_000, 3_001_000, 6_001_000, 6_001_000, 9_001_000];
    assert_eq!(departures(&mut *queue, at(1_000)), (0..5).zip(times).collect::<Vec<_>>());
    // The packet that uses up the bytes is still sent.
    let mut queue = self::queue("netem slot 3ms bytes 150", Limits::default(), 1);
    offer(&mut *queue, at(1_000), 0..3, 100, &mut RecordingSink::default());
    assert_eq!(departures(&mut *queue, at(1_000)), [(0, 3_001_000), (1, 3_001_000), (2, 6_001_000)]);
}

#[test]
fn a_duplicate_comes_first_and_is_counted() {
    let mut queue = queue("netem delay 1ms duplicate 100%", Limits::default(), 1);
    offer(&mut *queue, at(0), 0..2, 100, &mut RecordingSink::default());
    assert_eq!(queue.backlog(), Backlog { packets: 4, bytes: 400 });
    assert_eq!(departures(&mut *queue, at(0)).iter().map(|&(id, _)| id).collect::<Vec<_>>(), [1000, 0, 1001, 1]);
    assert_eq!((queue.stats().arrived.packets, queue.stats().departed.packets), (4, 4));
    // A packet that is both duplicated and lost is sent once.
    let mut queue = self::queue("netem duplicate 100% loss 100%", Limits::default(), 1);
    let mut sink = RecordingSink::default();
    offer(&mut *queue, at(0), 0..2, 100, &mut sink);
    assert_eq!((departures(&mut *queue, at(0)).len(), sink.dropped), (2, vec![]));
}

#[test]
fn parents_count_duplicates() {
    for parent in
        ["tbf rate 800mbit burst 9kB { netem delay 1ms duplicate 100% }", "prio { band 2 { netem duplicate 100% } }"]
    {
        let mut queue = queue(parent, Limits::default(), 1);
        offer(&mut *queue, at(0), 0..3, 100, &mut RecordingSink::default());
        assert_eq!(queue.backlog(), Backlog { packets: 6, bytes: 600 }, "{parent}");
        assert_eq!(departures(&mut *queue, at(0)).len(), 6, "{parent}");
        assert_eq!((queue.stats().arrived.packets, queue.stats().departed.packets), (6, 6), "{parent}");
    }
}

#[test]
fn damage_hits_a_bit_of_the_packet() {
    let mut sink = RecordingSink::default();
    offer(&mut *queue("netem corrupt 100% limit 200", Limits::default(), 4), at(0), 0..100, 77, &mut sink);
    assert_eq!(sink.damaged.len(), 100);
    assert!(sink.damaged.iter().all(|&(_, byte, bit)| byte < 77 && bit < 8));
    assert!(sink.damaged.iter().any(|&(_, byte, _)| byte > 70), "up to the end");
    assert_eq!(below(1, &mut Rng::from_state(1)), 0);
}

#[test]
fn ecn_marks_in_place_of_losses() {
    let mut queue = queue("netem loss 100% ecn", Limits::default(), 1);
    let fates = [Ecn::Ect0, Ecn::NotEct, Ecn::Ce]
        .map(|ecn| queue.enqueue(at(0), Meta::new(100, 0).with_ecn(ecn), 0, &mut RecordingSink::default()));
    assert_eq!(fates, [EnqueueResult::Marked, EnqueueResult::Dropped(DropReason::Early), EnqueueResult::Queued]);
    assert_eq!(queue.stats().marked.packets, 1);
}

#[test]
fn its_own_limit_counts_what_waits_in_the_braces_too() {
    let mut sink = RecordingSink::default();
    let mut queue = queue("netem delay 5ms limit 3 { droptail }", Limits::packets(4), 1);
    offer(&mut *queue, at(0), 0..5, 100, &mut sink);
    assert_eq!(sink.dropped, [(3, DropReason::Limit), (4, DropReason::Limit)]);
    // All three enter the braces when one is dequeued: the other two leave room for one.
    assert!(matches!(queue.dequeue(at(5_000_000), &mut sink), DequeueResult::Packet(_, 0)));
    offer(&mut *queue, at(5_000_000), 5..8, 100, &mut sink);
    assert_eq!(sink.dropped[2..], [(6, DropReason::Limit), (7, DropReason::Limit)]);
    assert_eq!(queue.backlog().packets, 3);
}

#[test]
fn the_discipline_in_braces_gets_packets_when_their_times_have_come() {
    let mut queue = queue("netem delay 5ms { tbf rate 8mbit burst 1514B limit 1MB }", Limits::default(), 1);
    offer(&mut *queue, at(0), 0..3, 1000, &mut RecordingSink::default());
    // 1514 B of tokens, then 1000 B per millisecond.
    assert_eq!(departures(&mut *queue, at(0)), [(0, 5_000_000), (1, 5_486_000), (2, 6_486_000)]);
}

#[test]
fn lines_of_testbeds_are_read_as_they_stand() {
    for (line, spelled) in [
        (
            "netem delay 20ms 5ms distribution normal loss 0.1%",
            "netem delay 20ms jitter 5ms distribution normal loss 0.1",
        ),
        ("netem latency 100ms 10ms 25%", "netem delay 100ms jitter 10ms delay_corr 25"),
        ("netem drop random 0.3% 25%", "netem loss 0.3 loss_corr 25"),
        ("netem loss gemodel 1% 10% 70% 0.1%", "netem loss_model gemodel ge_p 1 ge_r 10 ge_1_h 70 ge_1_k 0.1"),
        ("netem dup 1% corrupt 0.1% 5", "netem duplicate 1 corrupt 0.1 corrupt_corr 5"),
        ("netem delay 10ms reorder 25% 50% gap 5", "netem delay 10ms reorder 25 reorder_corr 50 gap 5"),
        (
            "netem rate 5mbit 20 100 -5 limit 50",
            "netem limit 50 rate 5Mbit/s packet_overhead 20 cell_size 100 cell_overhead -5",
        ),
        (
            "netem slot 800us 10ms packets 5 bytes 1500",
            "netem slot_min 800us slot_max 10ms slot_packets 5 slot_bytes 1500B",
        ),
        (
            "netem slot distribution pareto 10ms 2ms packets 3 { fq_codel }",
            "netem slot_distribution pareto slot_delay 10ms slot_jitter 2ms slot_packets 3 { fq_codel }",
        ),
        ("netem loss 1% ecn", "netem loss 1 ecn"),
    ] {
        let named = NamedConfig::parse(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        assert_eq!(named.spelling(), spelled);
        assert_eq!(NamedConfig::parse(spelled).unwrap(), named, "{line}");
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    for (line, why) in [
        ("netem ecn", "ecn marks packets instead of losing them and needs a loss; write e.g. loss 1% ecn"),
        ("netem delay 10ms distribution normal", "write e.g. delay 20ms 5ms distribution normal"),
        ("netem reorder 25%", "write e.g. delay 10ms reorder 25%"),
        ("netem delay 10ms gap 5", "gap needs reorder"),
        ("netem loss 1% loss state 1%", "loss"),
        ("netem loss always", "loss \"always\": unknown model"),
        ("netem loss 101%", "100"),
        ("netem delay 10ms 5ms distribution bell", "uniform, normal, pareto, paretonormal"),
        ("netem delay 20", "has no unit"),
        ("netem rate 5mbit 1.5", "packet_overhead: 1.5 is not a whole number"),
        ("netem packet_overhead 5", "overheads and cells need a rate"),
        ("netem slot 5ms 1ms", "below"),
        ("netem slot distribution normal 5ms 0ms", "slot distribution needs"),
        ("netem slot_packets 3", "write e.g. slot 10ms packets 5"),
        ("netem delay", "delay"),
        ("netem { fq_codel; codel }", "netem"),
    ] {
        let refusal = NamedConfig::parse(line).expect_err(line).to_string();
        assert!(refusal.contains(why), "{line}: {refusal}");
    }
}

#[test]
fn the_correlation_of_duplicates_needs_another_as_with_tc() {
    let fates = |text: &str| {
        let mut queue = queue(text, Limits::default(), 8);
        offer(&mut *queue, at(0), 0..60, 100, &mut RecordingSink::default());
        queue.stats().arrived.packets
    };
    assert_eq!(fates("netem duplicate 30% 90%"), fates("netem duplicate 30%"));
    assert_ne!(fates("netem duplicate 30% 90% loss 0% 1%"), fates("netem duplicate 30% loss 0% 1%"));
}

/// Packets that wait for their departure times keep their age when another discipline replaces netem, in any parent.
#[test]
fn replaced_packets_are_as_old_as_they_are() {
    for text in [
        "netem delay 90ms { pie }",
        "netem delay 90ms 7ms reorder 25% { fq_codel }",
        "tbf rate 9mbit burst 5kB { netem delay 90ms { codel } }",
        "prio { band 1 { netem delay 90ms { droptail } }; band 2 { netem delay 70ms { pie } } }",
        "htb default 2 { class 2 rate 1mbit { netem delay 90ms { netem delay 1s { codel } } } }",
    ] {
        let mut queue = queue(text, Limits::packets(50), 3);
        let mut none = |_: Meta, _: u32, _: DropReason| {};
        let mut kept = 0;
        for packet in 0..20 {
            let enqueued = queue.enqueue(at(311_007 * u64::from(packet)), Meta::new(700, packet), packet, &mut none);
            kept += u32::from(enqueued == EnqueueResult::Queued);
        }
        let mut left = 0;
        while let DequeueResult::Packet(..) = queue.dequeue(at(9_000_000), &mut none) {
            left += 1;
        }
        let mut dropped = 0;
        drop_all(&mut *queue, at(10_007_001), &mut |meta: Meta, packet: u32, reason: DropReason| {
            assert_eq!((meta.enqueued, reason), (at(311_007 * u64::from(packet)), DropReason::Replaced), "{text}");
            dropped += 1;
        });
        assert_eq!((left + dropped, queue.backlog().packets), (kept, 0), "{text}");
        assert_eq!(queue.stats().dropped[DropReason::Replaced as usize].packets, u64::from(dropped), "{text}");
    }
}
