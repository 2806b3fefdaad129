//! A datagram transport with a managed send queue: an example of a QUIC or WebRTC stack that hosts this crate.
//!
//! The transport owns its packets and its clock, like any sans-I/O stack: each call gets `now`; nothing sleeps or reads
//! a timer. The queue stores the datagrams and returns each one, sent or dropped. `main` sends a stream at twice the
//! rate of a paced path, on a virtual clock.
//!
//! Run it with `cargo run --example embedding`; `cargo test` runs it as well.

use sojourn_aqm::registry::{self, AnyConfig};
use sojourn_aqm::{
    DequeueResult, DropReason, Duration, Ecn, EnqueueResult, Host, Instant, Limits, Link, Meta, Qdisc, Rate, Rng,
    Serializer,
};

/// A queued datagram.
#[derive(Debug)]
struct Datagram {
    number: u64,
    payload: Vec<u8>,
}

/// Counters for the user of the transport.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SendCounts {
    sent: u64,
    marked: u64,
    dropped: u64,
}

/// A connection's sending half: a managed queue and a pacer.
struct Sender {
    queue: Box<dyn Qdisc<Datagram> + Send>,
    pacer: Serializer,
    /// Earliest time of the next datagram, set by the pacer.
    next_send: Instant,
    counts: SendCounts,
}

impl Sender {
    /// A sender on a path of `rate`, with a queue under the AQM of `config`.
    fn new(config: &AnyConfig, rate: Rate, seed: u64) -> Self {
        let host = Host { link: Link::new(rate, 1200), rng: Rng::stream(seed, "send-queue", 0) };
        let queue = config.build(Limits::packets(512), host);
        Self { queue, pacer: Serializer::new(rate), next_send: Instant::ZERO, counts: SendCounts::default() }
    }

    /// Queues a datagram of the application. Returns whether it was queued; otherwise it is dropped.
    fn send(&mut self, now: Instant, datagram: Datagram, ecn: Ecn) -> bool {
        let meta = Meta::new(datagram.payload.len() as u32, 0).with_ecn(ecn);
        let dropped = &mut self.counts.dropped;
        let fate = self.queue.enqueue(now, meta, datagram, &mut |_, _, _: DropReason| *dropped += 1);
        !matches!(fate, EnqueueResult::Dropped(_))
    }

    /// The next datagram to send at `now`, with the ECN field for its IP header; `None` until [`Sender::next_timeout`].
    fn poll_transmit(&mut self, now: Instant) -> Option<(Datagram, Ecn)> {
        if now < self.next_send {
            return None;
        }
        let dropped = &mut self.counts.dropped;
        let lose = &mut |_: Meta, datagram: Datagram, _: DropReason| {
            drop(datagram); // a stack would notify its retransmission or its media encoder here
            *dropped += 1;
        };
        let DequeueResult::Packet(meta, datagram) = self.queue.dequeue(now, lose) else { return None };
        self.next_send = now + self.pacer.time_for(meta.len);
        self.counts.sent += 1;
        self.counts.marked += u64::from(meta.ecn == Ecn::Ce);
        Some((datagram, meta.ecn))
    }

    /// Time of the next call to [`Sender::poll_transmit`].
    fn next_timeout(&self) -> Option<Instant> {
        (self.queue.backlog().packets > 0).then_some(self.next_send)
    }
}

/// Two seconds of a stream of 10 Mbit/s over a path of 5 Mbit/s. Returns the counters and the maximum delay of a
/// datagram.
fn overload(aqm: &str, ecn: Ecn) -> (SendCounts, Duration) {
    let config = registry::parse(aqm).expect("a queue manager by name");
    let mut sender = Sender::new(&config, Rate::from_bps(5_000_000), 1);
    let interval = Duration::from_micros(960); // 1200 bytes at 10 Mbit/s
    let end = Instant::ZERO + Duration::from_secs(2);
    let (mut now, mut next_frame, mut number, mut in_order) = (Instant::ZERO, Instant::ZERO, 0, 0);
    let mut handed_over = Vec::new();
    let mut longest = Duration::ZERO;
    while now < end {
        if now == next_frame {
            handed_over.push(now);
            sender.send(now, Datagram { number, payload: vec![0; 1200] }, ecn);
            number += 1;
            next_frame += interval;
        }
        while let Some((datagram, _)) = sender.poll_transmit(now) {
            assert!(datagram.number >= in_order, "in order");
            in_order = datagram.number;
            longest = longest.max(now - handed_over[datagram.number as usize]);
        }
        now = sender.next_timeout().map_or(next_frame, |at| at.min(next_frame));
    }
    (sender.counts, longest)
}

fn main() {
    for (aqm, ecn) in
        [("droptail", Ecn::NotEct), ("codel", Ecn::NotEct), ("codel ecn", Ecn::Ect0), ("pie", Ecn::NotEct)]
    {
        let (counts, longest) = overload(aqm, ecn);
        println!("{aqm:<10} longest wait {:>6.1} ms, {counts:?}", longest.as_nanos() as f64 / 1e6);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_runs() {
        main();
    }

    #[test]
    fn every_datagram_is_sent_dropped_or_waits() {
        let (counts, longest) = overload("droptail", Ecn::NotEct);
        // 512 datagrams of 1200 bytes at 5 Mbit/s are 983 ms; the stream lasts for 2084 datagrams.
        assert_eq!(counts.sent, 1042);
        assert_eq!(counts.dropped, 2084 - 1042 - 512);
        assert!((980..=985).contains(&(longest.as_nanos() / 1_000_000)), "{longest}");
    }

    #[test]
    fn a_manager_keeps_the_wait_below_tail_drops() {
        let (_, full) = overload("droptail", Ecn::NotEct);
        for aqm in ["codel", "pie"] {
            let (counts, longest) = overload(aqm, Ecn::NotEct);
            assert!(longest < full, "{aqm}: {longest}");
            assert!(counts.dropped > 10);
        }
        let (counts, _) = overload("codel ecn", Ecn::Ect0);
        assert!(counts.marked > 10);
    }
}
