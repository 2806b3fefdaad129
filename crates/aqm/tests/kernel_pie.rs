//! Linux 6.1's PIE with the same random stream, packet by packet and drop by drop: recorded vectors of the real kernel
//! against the profile `linux`; and its probability and delay, millisecond by millisecond.

use crate::kernel::{Vector, assert_agreement, folder, replay, vectors};
use sojourn_aqm::{Backlog, DequeueResult, Duration, EnqueueResult, Instant, Meta, Qdisc, Sink, Stats};
use std::cell::RefCell;
use std::io::Read;
use std::rc::Rc;

#[test]
fn linux_profile_agrees_with_the_kernel_on_every_packet() {
    assert_agreement("pie", |vector| build(vector, "pie@linux"));
}

/// There are no vectors of fq_pie. With all packets in one flow it is equivalent to PIE.
#[test]
fn fq_pie_with_one_flow_agrees_with_the_kernels_pie_on_every_packet() {
    assert_agreement("pie", |vector| build(vector, "fq_pie isolation host-pair"));
}

#[test]
fn probability_and_delay_are_the_kernels_at_every_millisecond() {
    for mut vector in vectors("pie_phase") {
        let queue = build(&mut vector, "pie@linux");
        let samples = Rc::new(RefCell::new(Vec::new()));
        replay(&vector, Box::new(SampledQueue { queue, next: vector.origin, samples: samples.clone() }));
        let kernel = statistics(&vector.name);
        assert!(samples.borrow().len() >= kernel.len() && kernel.len() > 100);
        for (i, (sample, kernel)) in samples.borrow().iter().zip(&kernel).enumerate() {
            assert_eq!(sample, kernel, "{} after {i} ms", vector.name);
        }
        println!("{} samples agree", kernel.len());
    }
}

/// The queue of a vector's tc line, under `aqm`.
fn build(vector: &mut Vector, aqm: &str) -> Box<dyn Qdisc<u32>> {
    // With recorded statistics, the first packet is sent a nanosecond after the instant of the script.
    let first = &vector.packets[0];
    let late = first.fate.departure.expect("an idle link takes the first packet") - first.arrival;
    vector.packets.iter_mut().for_each(|packet| packet.arrival += late);

    vector.build_as(aqm)
}

/// The kernel's output for PIE: probability and delay in tc's format, backlog in packets, drops.
#[derive(Clone, Debug, PartialEq)]
struct Sample {
    prob: String,
    delay_us: u64,
    backlog: u64,
    dropped: u64,
}

/// A queue whose state is sampled every millisecond, before any event at that instant.
struct SampledQueue {
    queue: Box<dyn Qdisc<u32>>,
    next: Instant,
    samples: Rc<RefCell<Vec<Sample>>>,
}

impl SampledQueue {
    fn sample_until(&mut self, now: Instant) {
        while self.next <= now {
            self.queue.settle(self.next);
            let (mut p, mut qdelay) = (f64::NAN, f64::NAN);
            self.queue.observe(&mut |name, value| match name {
                "p" => p = value,
                "qdelay" => qdelay = value,
                _ => {}
            });
            self.samples.borrow_mut().push(Sample {
                prob: six_digits(p),
                // Nanoseconds of whole ticks, so the product is an integer.
                delay_us: (qdelay * 1e9).round() as u64 / 1000,
                backlog: self.queue.backlog().packets as u64,
                dropped: self.queue.stats().dropped_total().packets,
            });
            self.next += Duration::from_millis(1);
        }
    }
}

impl Qdisc<u32> for SampledQueue {
    fn enqueue(&mut self, now: Instant, meta: Meta, packet: u32, sink: &mut dyn Sink<u32>) -> EnqueueResult {
        self.sample_until(now);
        self.queue.enqueue(now, meta, packet, sink)
    }
    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<u32>) -> DequeueResult<u32> {
        self.sample_until(now);
        self.queue.dequeue(now, sink)
    }
    fn settle(&mut self, now: Instant) {
        self.queue.settle(now);
    }
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }
    fn stats(&self) -> &Stats {
        self.queue.stats()
    }
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.queue.observe(see);
    }
}

/// The recorded statistics of a vector, one sample per line.
fn statistics(name: &str) -> Vec<Sample> {
    let file = std::fs::File::open(folder().join(format!("{name}.stats.gz"))).expect("the statistics");
    let mut lines = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut lines).expect("gzipped text");
    let sample = |line: &str| {
        let qdiscs: serde_json::Value = serde_json::from_str(line).expect("a line is JSON");
        let pie = &qdiscs[1];
        let number = |key: &str| pie[key].as_u64().expect("a number");
        Sample {
            prob: six_digits(pie["prob"].as_f64().expect("a probability")),
            delay_us: number("delay"),
            backlog: number("qlen"),
            dropped: number("dropped"),
        }
    };
    lines.lines().map(sample).collect()
}

/// A number to the six significant digits that tc prints.
fn six_digits(x: f64) -> String {
    format!("{x:.5e}")
}
