use super::*;
use crate::link::Link;
use crate::rate::Rate;
use crate::registry;
use crate::rng::Rng;
use alloc::boxed::Box;
use alloc::string::ToString;

/// NIC of 1 Gbit/s under `cake_mq` at 100 Mbit/s; flow n uses hardware queue n.
struct Nic {
    queue: Box<dyn Qdisc<u32> + Send>,
    now: Instant,
    /// Flows that keep three packets queued.
    busy: [bool; 4],
    /// Queued packets per flow.
    waiting: [u32; 4],
    sent: Vec<(Instant, u32)>,
}

impl Nic {
    fn new(words: &str) -> Self {
        let text = format!("cake_mq queues 4 bandwidth 100mbit besteffort hash modulo {words}");
        let config = registry::parse(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
        let host = Host { link: Link::new(Rate::from_bps(1_000_000_000), LEN), rng: Rng::from_state(1) };
        let queue = config.build(Limits::default(), host);
        Self { queue, now: Instant::ZERO, busy: [false; 4], waiting: [0; 4], sent: Vec::new() }
    }

    /// Keeps three packets of each busy flow queued until `end`, with a NIC that polls whenever the queue may have a
    /// packet.
    fn run(&mut self, end: Instant) {
        while self.now < end {
            for flow in (0..4).filter(|&flow| self.busy[flow as usize]) {
                while self.waiting[flow as usize] < 3 {
                    self.waiting[flow as usize] += 1;
                    self.queue
                        .enqueue(self.now, Meta::new(LEN, flow), flow, &mut |_, _, _| panic!("nothing is dropped"));
                }
            }
            self.now = match self.queue.dequeue(self.now, &mut |_, _, _| panic!("nothing is dropped")) {
                DequeueResult::Packet(meta, flow) => {
                    self.waiting[flow as usize] -= 1;
                    self.sent.push((self.now, meta.flow));
                    self.now + CARD.time_for(LEN as u64)
                }
                DequeueResult::NotBefore(at) => at,
                DequeueResult::Empty => end,
            };
        }
    }

    /// Bytes sent from `from` (inclusive) to `to` (exclusive).
    fn bytes(&self, from: Instant, to: Instant) -> u64 {
        self.sent.iter().filter(|&&(at, _)| from <= at && at < to).count() as u64 * LEN as u64
    }
}

const LEN: u32 = 1500;
const CARD: Rate = Rate::from_bps(1_000_000_000);
const SHARED: Rate = Rate::from_bps(100_000_000);
const SYNC: Duration = Duration::from_micros(200);

fn ms(n: u64) -> Instant {
    Instant::from_nanos(n * 1_000_000)
}

#[test]
fn busy_queues_have_the_rate_together_within_a_percent() {
    for busy in [[true; 4], [true, true, false, false], [false, true, false, false]] {
        let mut card = Nic::new("");
        card.busy = busy;
        card.run(ms(1000));
        let rate = card.bytes(ms(100), ms(1000)) as f64 / SHARED.bytes_in(ms(1000) - ms(100)) as f64;
        assert!((rate - 1.0).abs() < 0.01, "{busy:?}: {rate}");
        for flow in (0..4).filter(|&flow| busy[flow as usize]) {
            let own = card.sent.iter().filter(|&&(_, of)| of == flow).count() as f64 / card.sent.len() as f64;
            let share = 1.0 / busy.iter().filter(|&&is_busy| is_busy).count() as f64;
            assert!((own - share).abs() < 0.01, "flow {flow} of {busy:?}: {own}");
        }
    }
}

#[test]
fn a_queue_that_wakes_up_adds_at_most_the_rate_for_a_sync_time() {
    let mut card = Nic::new("");
    card.busy = [true, false, false, false];
    for (n, flow) in [1, 2, 3].into_iter().enumerate() {
        let woken = ms(100 * (n as u64 + 1));
        card.run(woken);
        card.busy[flow] = true;
        card.run(woken + Duration::from_millis(20));
        // At any later time, up to one packet that each queue may have started.
        for &(at, _) in card.sent.iter().filter(|&&(at, _)| at > woken) {
            let (sent, due) = (card.bytes(woken, at), SHARED.bytes_in(at - woken));
            let most = due + SHARED.bytes_in(SYNC) + (n as u64 + 2) * LEN as u64;
            assert!(sent <= most, "{sent} B where {due} B were due, {:?} behind {woken:?}", at - woken);
        }
    }
}

#[test]
fn a_queue_that_falls_silent_leaves_its_part_to_the_others() {
    let mut card = Nic::new("");
    card.busy = [true; 4];
    card.run(ms(100));
    card.busy = [true, false, false, false];
    card.run(ms(300));
    let rate = card.bytes(ms(110), ms(300)) as f64 / SHARED.bytes_in(ms(300) - ms(110)) as f64;
    assert!((rate - 1.0).abs() < 0.01, "{rate}");
}

#[test]
fn the_count_is_made_once_per_sync_time() {
    // With a long sync time an instance that has counted only itself keeps the whole rate while another one wakes up.
    let rate = |words: &str| {
        let mut card = Nic::new(words);
        card.busy[0] = true;
        card.run(ms(10));
        card.busy[1] = true;
        card.run(ms(110));
        card.bytes(ms(10), ms(110)) as f64 / SHARED.bytes_in(ms(110) - ms(10)) as f64
    };
    let (short, long) = (rate("sync_time 200us"), rate("sync_time 1s"));
    assert!((short - 1.0).abs() < 0.02 && (long - 1.5).abs() < 0.02, "{short}, {long}");
}

#[test]
fn what_tc_refuses_is_refused() {
    for (words, refusal) in [
        ("autorate-ingress", "cake_mq: autorate-ingress estimates the rate of one queue; leave it out, or use cake"),
        ("queues 1", "queues = 1 is out of range; from 2 to 256"),
        ("bandwidth 100bit", "bandwidth (100 bit/s) is below 512 bit/s (64 B/s), the minimum that Linux shapes to"),
    ] {
        let error = registry::parse(&format!("cake_mq {words}")).expect_err(words).to_string();
        assert!(error.starts_with(refusal), "{error}");
    }
}

#[test]
fn each_instance_has_its_statistics() {
    let mut card = Nic::new("");
    card.busy = [true, true, false, false];
    card.run(ms(100));
    let statistics = card.queue.statistics().expect("tc knows it");
    assert!(statistics.starts_with(r#"{"kind":"cake_mq","bytes":"#), "{statistics}");
    assert_eq!(statistics.matches(r#""kind":"cake""#).count(), 4);
    let mut active = None;
    card.queue.observe(&mut |name, value| active = active.or((name == "active_queues").then_some(value)));
    assert_eq!(active, Some(2.0));
}
