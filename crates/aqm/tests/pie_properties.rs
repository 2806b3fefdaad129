//! Properties of PIE's versions and of PI2 under random load, observed from outside.

use sojourn_aqm::{
    DequeueResult, DropReason, Duration, EnqueueResult, Host, Instant, Limits, Link, Meta, Qdisc, Rate, Rng, registry,
};

/// Version; bytes, without the arriving packet, up to which it drops nothing; the maximum p.
const VERSIONS: [(&str, u64, f64); 7] = [
    ("pie", 2048, 1.0),
    ("pie@draft00", 2048, 1.0),
    ("pie@cisco2013", 2999, 1.0),
    ("pie@cisco2013-ticks", 2999, 1.0),
    ("pie@docsis", 2048, 13.6),
    // The kernel's p is bounded only by wrapping at 256.
    ("pie@linux", 2999, 256.0),
    ("pi2 drop_early", 2999, 1.0),
];

/// A queue above a link that always serves it in time.
struct Run {
    queue: Box<dyn Qdisc<()> + Send>,
    rate: Rate,
    free: Instant,
    early_drops: u32,
}

impl Run {
    fn new(aqm: &str, rate: Rate, seed: u64) -> Self {
        let config = registry::parse(aqm).expect("an AQM");
        let host = Host { link: Link::new(rate, 1500), rng: Rng::from_state(seed) };
        Self { queue: config.build(Limits::packets(90), host), rate, free: Instant::ZERO, early_drops: 0 }
    }

    /// Dequeues every packet that departs before `now`.
    fn serve_until(&mut self, now: Instant) {
        while self.free < now && self.queue.backlog().packets > 0 {
            if let DequeueResult::Packet(meta, ()) = self.queue.dequeue(self.free, &mut |_, (), _| {}) {
                self.free += self.rate.time_for(meta.len as u64);
            }
        }
    }

    /// Offers a packet at `now`. Returns whether the manager dropped it.
    fn offer(&mut self, now: Instant, len: u32) -> bool {
        self.serve_until(now);
        self.free = self.free.max(now);
        let dropped = self.queue.enqueue(now, Meta::new(len, 0), (), &mut |_, (), _| {});
        let early = dropped == EnqueueResult::Dropped(DropReason::Early);
        self.early_drops += u32::from(early);
        early
    }

    fn state(&self, name: &str) -> Option<f64> {
        let mut found = None;
        self.queue.observe(&mut |n, value| {
            if n == name {
                found = Some(value);
            }
        });
        found
    }
}

#[test]
fn nothing_is_dropped_in_bursts_or_small_backlogs_and_p_has_its_range() {
    for (aqm, small, largest) in VERSIONS {
        let (mut drops, mut highest) = (0, 0.0f64);
        for seed in 0..20 {
            let mut run = Run::new(aqm, Rate::from_bps(4_000_000), seed);
            let mut load = Rng::stream(seed, "load", 0);
            let (mut now, mut rate) = (Instant::ZERO, 0.0);
            for n in 0..6000 {
                if n % 500 == 0 {
                    rate = 2.5 * load.uniform();
                }
                let len = if load.uniform() < 0.3 { 100 } else { 1500 };
                now += run.rate.time_for(len as u64).mul_f64(load.exponential() / rate);
                run.serve_until(now);
                run.queue.settle(now);
                let (bytes, burst) = (run.queue.backlog().bytes, run.state("burst_allowance").unwrap_or(0.0));
                let p = run.state("p").expect("each has p");
                assert!((0.0..=largest).contains(&p), "{aqm}: p {p}");
                highest = highest.max(p);
                let early = run.offer(now, len);
                assert!(!early || bytes > small && burst == 0.0, "{aqm}: dropped at {bytes} bytes, burst {burst} s");
            }
            drops += run.early_drops;
        }
        assert!(drops > 1000 && highest > 0.1, "{aqm}: {drops} drops, p up to {highest}");
    }
}

/// From the museum: a bypass of two packets instead of two packets' bytes.
#[test]
fn many_tiny_packets_are_a_small_backlog_however_long_they_wait() {
    // At 10 kbit/s the integers of 2013 have a departure rate of zero, so no delay.
    for (aqm, _, _) in VERSIONS.into_iter().filter(|(aqm, ..)| *aqm != "pie@cisco2013-ticks") {
        // Thirty packets of 64 bytes are queued for a second and a half.
        let measured = if matches!(aqm, "pie" | "pie@draft00" | "pie@cisco2013") { " dq_threshold 500B" } else { "" };
        let mut dropped = [0, 0];
        for (len, dropped) in [64, 1500].into_iter().zip(&mut dropped) {
            let rate = Rate::from_bps(160 * len as u64);
            let mut run = Run::new(&format!("{aqm}{measured}"), rate, 1);
            let gap = rate.time_for(len as u64);
            for n in 0..3030 {
                run.offer(Instant::ZERO + gap * (n - 30).max(0), len);
            }
            assert!(run.queue.backlog().packets > 10 || len == 1500, "{aqm}: it is a long queue");
            *dropped = run.early_drops;
            assert!(len == 1500 || run.state("p").expect("each has p") > 0.2, "{aqm}: and its delay is seen");
        }
        assert!(dropped[0] == 0 && dropped[1] > 10, "{aqm}: {dropped:?} drops of tiny and of large packets");
    }
}

/// From the museum: updates at arrivals instead of periodic ones.
#[test]
fn p_falls_by_itself_while_nothing_arrives() {
    for (aqm, _, _) in VERSIONS {
        let mut run = Run::new(aqm, Rate::from_bps(4_000_000), 1);
        let mut now = Instant::ZERO;
        while now < Instant::ZERO + Duration::from_secs(6) {
            run.offer(now, 1500);
            now += Duration::from_millis(2);
        }
        let before = run.state("p").expect("each has p");
        run.serve_until(now + Duration::from_secs(1));
        run.queue.settle(now + Duration::from_secs(30));
        let after = run.state("p").expect("each has p");
        assert!(before > 0.1 && after < 1e-3 * before, "{aqm}: p {before}, after half a minute {after}");
    }
}
