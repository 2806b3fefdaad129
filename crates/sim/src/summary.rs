//! What every run reports, at no cost in memory per packet.

use crate::histogram::Histogram;
use crate::traffic::{Datagrams, Payload, mos, r_factor};
use crate::window::{Part, Parts, Window};
use crate::wlan::WlanSummary;
use serde::Serialize;
use sojourn_aqm::{DropReason, Duration, Instant, Meta};
use std::collections::BTreeMap;

/// Running counts of one link.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    parts: Parts<Counts>,
    /// Since the start of the run, for rates over time: bytes whose transmission began, and what was used of the link
    /// or is going to be for them.
    pub total_bytes: u64,
    pub total_used: u64,
    backlog: u32,
    backlog_since: Instant,
}

/// The counts of one link in a part of the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    sojourn: Histogram,
    arrived: u64,
    departed: u64,
    dropped: [u64; DropReason::ALL.len()],
    marked: u64,
    /// What was used of the link: time that the transmitter was busy, bits of a rate that varies, or bytes that
    /// opportunities carried.
    used: u64,
    lost: u64,
    bytes: u64,
    /// Packet-nanoseconds waited.
    area: u128,
}

impl Tally {
    pub fn new(window: &Window) -> Self {
        let (backlog, backlog_since) = (0, Instant::ZERO);
        Self { parts: Parts::new(window), total_bytes: 0, total_used: 0, backlog, backlog_since }
    }

    /// When the statistics can begin, and when they end.
    pub fn window(&self) -> &Window {
        self.parts.window()
    }

    /// The counts to which `now` belongs.
    #[inline(always)]
    fn counts(&mut self, now: Instant) -> &mut Counts {
        if now >= self.parts.next() {
            self.go_on(now);
        }
        self.parts.now()
    }

    #[cold]
    fn go_on(&mut self, now: Instant) {
        while now >= self.parts.next() {
            self.accumulate(self.parts.next());
            self.parts.go_on();
        }
    }

    /// A packet arrived at the queue; `queued` unless it was dropped at once.
    #[inline]
    pub fn arrival(&mut self, now: Instant, queued: bool) {
        self.counts(now).arrived += 1;
        if queued {
            self.accumulate(now);
            self.backlog += 1;
        }
    }

    /// A packet arrived at an idle link: it did not wait.
    #[inline]
    pub fn passage(&mut self, now: Instant, meta: &Meta) {
        self.total_bytes += meta.len as u64;
        let counts = self.counts(now);
        counts.arrived += 1;
        counts.departed += 1;
        counts.bytes += meta.len as u64;
        counts.sojourn.record(Duration::ZERO);
    }

    /// Transmission of a packet began.
    #[inline(always)]
    pub fn departure(&mut self, now: Instant, meta: &Meta, newly_marked: bool) {
        let counts = self.counts(now);
        counts.marked += newly_marked as u64;
        counts.departed += 1;
        counts.bytes += meta.len as u64;
        counts.sojourn.record(now - meta.enqueued);
        self.accumulate(now);
        self.backlog -= 1;
        self.total_bytes += meta.len as u64;
    }

    /// A packet was dropped.
    pub fn drop(&mut self, now: Instant, reason: DropReason, was_queued: bool) {
        self.counts(now).dropped[reason as usize] += 1;
        if was_queued {
            self.accumulate(now);
            self.backlog -= 1;
        }
    }

    /// Packets that wait.
    #[inline]
    pub fn waiting(&self) -> u32 {
        self.backlog
    }

    /// The transmitter is busy for a span, which begins at `now` or later; `capacity` is what it does in one.
    #[inline(always)]
    pub fn transmission(&mut self, start: Instant, end: Instant, capacity: impl Fn(Instant, Instant) -> u64) {
        let whole = capacity(start, end);
        self.total_used += whole;
        if end <= self.parts.until() {
            self.parts.now().used += whole;
        } else {
            self.use_in_pieces(start, end, &capacity);
        }
    }

    #[cold]
    #[inline(never)]
    fn use_in_pieces(&mut self, start: Instant, end: Instant, capacity: &dyn Fn(Instant, Instant) -> u64) {
        self.parts.pieces(start, end, |counts, from, to| counts.used += capacity(from, to));
    }

    /// A packet that left the server at `at` got lost on the medium.
    pub fn loss(&mut self, at: Instant) {
        self.parts.of(at).lost += (at <= self.window().end) as u64;
    }

    #[inline]
    pub fn opportunity(&mut self, now: Instant, bytes: u32) {
        self.total_used += bytes as u64;
        // An opportunity belongs to the part before an instant at which one begins, like the capacity.
        if now > Instant::ZERO {
            self.parts.of(now - Duration::from_nanos(1)).used += bytes as u64;
        }
    }

    /// Adds the time that the present backlog has waited.
    #[inline]
    fn accumulate(&mut self, now: Instant) {
        if now > self.backlog_since {
            let area = (self.backlog as u64 * (now - self.backlog_since).as_nanos() as u64) as u128;
            self.parts.now().area += area;
            self.backlog_since = now;
        }
    }

    /// Closes the books at the end of the window.
    pub fn close(&mut self) {
        let end = self.window().end;
        self.counts(end);
        self.accumulate(end);
    }

    /// The counts in each part, of books that are closed.
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = &Counts> + ExactSizeIterator {
        self.parts.parts()
    }

    /// The counts from instant `number` of the window on, of books that are closed.
    pub fn sum(&self, number: usize) -> Counts {
        self.parts.sum(number)
    }
}

impl Part for Counts {
    fn add(&mut self, other: &Self) {
        self.sojourn.merge(&other.sojourn);
        self.area += other.area;
        self.dropped.iter_mut().zip(&other.dropped).for_each(|(sum, more)| *sum += more);
        for (sum, more) in [
            (&mut self.arrived, other.arrived),
            (&mut self.departed, other.departed),
            (&mut self.marked, other.marked),
            (&mut self.used, other.used),
            (&mut self.lost, other.lost),
            (&mut self.bytes, other.bytes),
        ] {
            *sum += more;
        }
    }

    fn pack(&mut self) {
        self.sojourn.pack();
    }
}

impl Counts {
    /// The report of counts over a span in which `usable` could have been used.
    pub fn report(&self, span: Duration, usable: u64) -> LinkSummary {
        let utilisation = if usable > 0 { self.used as f64 / usable as f64 } else { 0.0 };
        let dropped: u64 = self.dropped.iter().sum();
        let share = |n: u64| if self.arrived > 0 { n as f64 / self.arrived as f64 } else { 0.0 };
        let by_reason = DropReason::ALL.iter().map(|&r| (r.name(), self.dropped[r as usize])).collect();
        LinkSummary {
            utilisation,
            packets: self.departed,
            bytes: self.bytes,
            arrived: self.arrived,
            dropped,
            dropped_by: by_reason,
            lost: self.lost,
            marked: self.marked,
            drop_rate: share(dropped),
            mark_rate: share(self.marked),
            mean_backlog_packets: self.area as f64 / span.as_nanos() as f64,
            sojourn_ms: Quantiles::of(&self.sojourn),
        }
    }

    /// Sojourn times of the packets sent.
    pub fn sojourn(&self) -> &Histogram {
        &self.sojourn
    }
}

/// A run in numbers.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Length of the run.
    pub duration_s: f64,
    /// Start of the statistics.
    pub warmup_s: f64,
    /// Where that was to be found from the run: whether a steady state was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled: Option<bool>,
    /// Why none was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_settled: Option<String>,
    /// Events processed.
    pub events: u64,
    /// Hash of every verdict and departure of every queue.
    pub fingerprint: String,
    /// Payload that arrived for the first time, of all forward flows and connections, per second.
    pub goodput_bps: f64,
    /// Payload delivered in order by the same, per second.
    pub delivered_bps: f64,
    /// Jain's fairness index of the goodputs of the forward flows in `flows`.
    pub jain: f64,
    /// The two directions of the bottleneck; where there are several, of the first.
    pub links: Links,
    /// The other bottlenecks.
    pub hops: Vec<HopSummary>,
    /// The channel, where the bottleneck is a wireless LAN: `forward` is the queue of the access point then, `reverse`
    /// those of the stations together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wlan: Option<WlanSummary>,
    /// Every group of flows.
    pub groups: Vec<GroupSummary>,
    /// Every flow that lasts for the whole run, but not the connections that come and go.
    pub flows: Vec<FlowSummary>,
}

/// A bottleneck behind the first one.
#[derive(Clone, Debug, Serialize)]
pub struct HopSummary {
    /// Its name in the scenario.
    pub name: String,
    /// Its two directions.
    #[serde(flatten)]
    pub links: Links,
}

/// The two directions of a bottleneck.
#[derive(Clone, Debug, Serialize)]
pub struct Links {
    /// The direction of the data.
    pub forward: LinkSummary,
    /// The reverse path.
    pub reverse: LinkSummary,
}

/// A link in numbers, inside the statistics window.
#[derive(Clone, Debug, Serialize)]
pub struct LinkSummary {
    /// Busy time of the transmitter by time; bits sent by bits possible where the rate changes (`fluid`); bytes carried
    /// by bytes of opportunity.
    pub utilisation: f64,
    /// Packets whose transmission began.
    pub packets: u64,
    /// Their bytes, as the queue counts them.
    pub bytes: u64,
    /// Packets that arrived at the queue.
    pub arrived: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets dropped, by reason.
    pub dropped_by: BTreeMap<&'static str, u64>,
    /// Packets sent that got lost between the server and the far end; no drops of the queue.
    pub lost: u64,
    /// Packets newly marked CE.
    pub marked: u64,
    /// Drops by arrivals.
    pub drop_rate: f64,
    /// Marks by arrivals.
    pub mark_rate: f64,
    /// Time average of waiting packets.
    pub mean_backlog_packets: f64,
    /// Sojourn time of the packets sent.
    pub sojourn_ms: Quantiles,
}

/// Times in milliseconds; `None` when there was none. Mean and maximum are exact, quantiles to 0.1 %.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Quantiles {
    pub mean: Option<f64>,
    pub p10: Option<f64>,
    pub p25: Option<f64>,
    pub p50: Option<f64>,
    pub p75: Option<f64>,
    pub p90: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    pub max: Option<f64>,
}

impl Quantiles {
    /// Of all times that a histogram counts.
    pub fn of(times: &Histogram) -> Self {
        let ms = |nanos: f64| nanos / 1e6;
        let [p10, p25, p50, p75, p90, p95, p99] =
            times.quantiles([0.10, 0.25, 0.50, 0.75, 0.90, 0.95, 0.99]).map(|quantile| quantile.map(ms));
        Self {
            mean: times.mean().map(ms),
            p10,
            p25,
            p50,
            p75,
            p90,
            p95,
            p99,
            max: times.max().map(|nanos| ms(nanos as f64)),
        }
    }
}

/// A flow in numbers, inside the statistics window where a rate is meant, over the whole run else.
#[derive(Clone, Debug, Serialize)]
pub struct FlowSummary {
    /// Index over all groups.
    pub id: u32,
    /// Kind of traffic.
    pub kind: &'static str,
    /// `forward` or `reverse`.
    pub direction: &'static str,
    /// What arrived and what was delivered.
    #[serde(flatten)]
    pub payload: PayloadSummary,
    /// Data packets sent, over the whole run.
    pub sent: u64,
    /// Data packets sent again.
    pub retransmissions: u64,
    /// Retransmission time-outs.
    pub timeouts: u64,
    /// Delay and loss of datagrams.
    #[serde(flatten)]
    pub datagrams: DatagramSummary,
}

/// Payload at its receivers in the statistics window.
///
/// A byte arrives once: copies of it do not count. It is delivered when all before it have arrived, so what waited at the
/// start of the window may be delivered in it though it arrived before.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct PayloadSummary {
    /// What arrived for the first time, per second.
    pub goodput_bps: f64,
    /// What arrived for the first time.
    pub bytes: u64,
    /// What was delivered in order, per second.
    pub delivered_bps: f64,
    /// What was delivered in order.
    pub delivered_bytes: u64,
}

impl PayloadSummary {
    /// Of bytes that another engine counted in a window of so many seconds: those that arrived for the first time, and
    /// those that were delivered.
    pub fn counted(arrived: u64, delivered: u64, window_s: f64) -> Self {
        Self::of(&Payload { arrived, delivered }, window_s)
    }

    pub(crate) fn of(payload: &Payload, window_s: f64) -> Self {
        let &Payload { arrived, delivered } = payload;
        let rate = |bytes: u64| bytes as f64 * 8.0 / window_s;
        Self { goodput_bps: rate(arrived), bytes: arrived, delivered_bps: rate(delivered), delivered_bytes: delivered }
    }
}

/// All flows of a group, and its connections that came and went: in the statistics window where nothing else is said.
#[derive(Clone, Debug, Serialize)]
pub struct GroupSummary {
    /// Kind of traffic.
    pub kind: &'static str,
    /// `forward` or `reverse`.
    pub direction: &'static str,
    /// What arrived and what was delivered.
    #[serde(flatten)]
    pub payload: PayloadSummary,
    /// Payload bytes of the transfers that were begun.
    pub offered_bytes: u64,
    /// Flows that started and connections that were opened.
    pub opened: u64,
    /// Connections that were closed.
    pub closed: u64,
    /// Transfers that were completed.
    pub transfers: u64,
    /// Their times from the start, connection set-up included, to the last byte.
    pub completion_ms: Quantiles,
    /// Data packets sent by the flows' sources, over the whole run.
    pub sent: u64,
    /// Data packets sent again, over the whole run.
    pub retransmissions: u64,
    /// Retransmission time-outs, over the whole run.
    pub timeouts: u64,
    /// Delay and loss of datagrams.
    #[serde(flatten)]
    pub datagrams: DatagramSummary,
}

/// What datagrams met with, inside the statistics window; `None` where none was received.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct DatagramSummary {
    /// Mean one-way delay.
    pub delay_ms: Option<f64>,
    /// Mean difference between the delays of successive datagrams, without its sign.
    pub delay_variation_ms: Option<f64>,
    /// Lost datagrams by those sent before the last one received.
    pub loss_rate: Option<f64>,
    /// Mean opinion score of a call (E-model); for a group the mean of its calls.
    pub mos: Option<f64>,
}

impl DatagramSummary {
    /// Of datagrams that another engine counted: those received, those that should have been, the sum of their delays
    /// and that of the differences between successive ones, in ns.
    pub fn counted(received: u64, expected: u64, delay_ns: u64, variation_ns: u64, is_voice: bool) -> Self {
        Self::of(&Datagrams { received, expected, delay_ns, variation_ns }, is_voice)
    }

    /// The same of a group of flows, whose score is the mean of those of its calls.
    pub fn of_calls(self, scores: &[f64]) -> Self {
        let mean = scores.iter().sum::<f64>() / scores.len() as f64;
        Self { mos: (!scores.is_empty()).then_some(mean), ..self }
    }

    pub(crate) fn of(seen: &Datagrams, is_voice: bool) -> Self {
        if seen.received == 0 {
            return Self::default();
        }
        let mean_ms = |sum_ns: u64| sum_ns as f64 / seen.received as f64 / 1e6;
        let (delay_ms, variation_ms) = (mean_ms(seen.delay_ns), mean_ms(seen.variation_ns));
        let loss = 1.0 - seen.received as f64 / seen.expected as f64;
        // A jitter buffer of twice the mean variation, which is Flent's approximation.
        let score = || mos(r_factor(delay_ms + 2.0 * variation_ms, 100.0 * loss));
        Self {
            delay_ms: Some(delay_ms),
            delay_variation_ms: Some(variation_ms),
            loss_rate: Some(loss),
            mos: is_voice.then(score),
        }
    }
}

/// Jain's fairness index; 1 for no flows or no bytes.
pub fn jain(goodputs: &[f64]) -> f64 {
    let (sum, squares) = goodputs.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    if squares > 0.0 { sum * sum / (goodputs.len() as f64 * squares) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_of_equals_and_of_one_hog() {
        assert_eq!(jain(&[3.0, 3.0, 3.0]), 1.0);
        assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), 0.25);
        assert_eq!(jain(&[]), 1.0);
    }

    #[test]
    fn busy_time_is_cut_at_the_window() {
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let mut tally = Tally::new(&Window::new([at(10)], at(20)));
        let time = |from: Instant, to: Instant| (to - from).as_nanos() as u64;
        tally.transmission(at(8), at(12), time);
        tally.transmission(at(18), at(24), time);
        tally.close();
        assert_eq!(tally.sum(1).report(at(20) - at(10), time(at(10), at(20))).utilisation, 0.4);
        assert_eq!(tally.sum(0).report(at(20) - at(0), time(at(0), at(20))).utilisation, 0.3);
    }

    #[test]
    fn mean_backlog_is_a_time_average_of_the_window() {
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let mut tally = Tally::new(&Window::new([at(10)], at(20)));
        (0..5).for_each(|_| tally.arrival(at(0), true));
        (0..4).for_each(|_| tally.drop(at(12), DropReason::Late, true));
        tally.departure(at(16), &Meta::new(1500, 0), false);
        // 5 packets for 2 ms, 1 for 4 ms, none for 4 ms.
        tally.close();
        assert!((tally.sum(1).report(at(20) - at(10), 1).mean_backlog_packets - 1.4).abs() < 1e-12);
    }
}
