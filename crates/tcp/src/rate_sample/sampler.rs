//! The counters of a connection and the snapshots of its segments.

use super::RateSample;
use crate::cc::LostSegment;
use crate::micros_at;
use crate::min_filter::MinFilter;
use crate::scoreboard::Scoreboard;
use crate::segment::{Segment, Tags};
use sojourn_aqm::deque::Deque;
use sojourn_aqm::{Duration, Instant};

/// Takes a rate sample per acknowledgment.
#[derive(Clone, Debug)]
pub(crate) struct RateSampler {
    /// Packets delivered since the start, the SYN included (`delivered`).
    delivered: u64,
    /// … with a CE mark (`delivered_ce`).
    delivered_ce: u64,
    /// Time of the last delivery (`delivered_mstamp`).
    delivered_at: Micros,
    /// Send time of the segment delivered last (`first_tx_mstamp`).
    first_tx: Micros,
    /// The flow is application-limited until `delivered` exceeds this (`app_limited`).
    app_limited: Option<u64>,
    min_rtt: MinFilter,
    /// One per segment in the retransmission queue, in the same order. Kept apart from it, so that segments of flows
    /// without samples do not grow.
    snapshots: Deque<Snapshot>,
    sampled: Option<SampledSegment>,
    /// Packets marked lost that [`RateSampler::take_lost`] has reported.
    reported_lost: u64,
    /// Whether the flow was application-limited at the original transmission of the segment retransmitted last.
    original_app_limited: bool,
    /// Bytes sent that [`Self::take_sent`] has not returned yet.
    unreported: u32,
}

/// The counters at a segment's last transmission.
#[derive(Clone, Copy, Debug)]
struct Snapshot {
    seq: u64,
    first_tx: Micros,
    /// [`CONSUMED`] once the segment was SACKed.
    delivered_at: Micros,
    delivered: u64,
    /// The low bits, as of `lost`: only differences are used.
    delivered_ce: u32,
    /// Packets marked lost since the start of the connection.
    lost: u32,
    /// Packets in flight, this one included.
    in_flight: u32,
    app_limited: bool,
    /// The segment was marked lost.
    is_lost: bool,
}

/// Counters of the scoreboard at a transmission.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SendCounts {
    /// Segments in the queue without this one.
    pub out: u32,
    /// Packets in flight with this one.
    pub in_flight: u32,
    /// Packets marked lost since the start of the connection.
    pub lost: u64,
}

/// The most recently sent segment among those delivered by the current acknowledgment.
#[derive(Clone, Copy, Debug)]
struct SampledSegment {
    snapshot: Snapshot,
    prior_time: Micros,
    end: u64,
    send_interval: u64,
    is_retransmitted: bool,
}

/// Further input from an acknowledgment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SampleInput {
    /// Packets in flight before it.
    pub prior_in_flight: u32,
    /// Packets newly marked lost.
    pub losses: u32,
    /// … and since the start of the connection.
    pub lost: u64,
    /// RTT, as in [`RateSample::rtt`].
    pub rtt: Option<Duration>,
    /// It acknowledged a single segment, shorter than full and never retransmitted, with nothing SACKed and nothing
    /// else reported.
    pub lone_runt: bool,
    /// As [`RateSample::acks_probe`].
    pub acks_probe: bool,
}

/// A time on the clock of the samples.
type Micros = u64;

fn span(micros: u64) -> Duration {
    Duration::from_micros(micros as i64)
}

impl RateSampler {
    /// No segment sent yet. As in Linux the SYN counts as delivered.
    pub fn new() -> Self {
        Self {
            delivered: 1,
            delivered_ce: 0,
            delivered_at: 0,
            first_tx: 0,
            app_limited: None,
            min_rtt: MinFilter::new(MIN_RTT_WINDOW),
            snapshots: Deque::new(),
            sampled: None,
            reported_lost: 0,
            original_app_limited: false,
            unreported: 0,
        }
    }

    /// Packets delivered since the start, the SYN included.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// … with a CE mark.
    pub fn delivered_ce(&self) -> u64 {
        self.delivered_ce
    }

    /// Time of the last delivery.
    pub fn delivered_at(&self) -> Instant {
        Instant::from_nanos(self.delivered_at * 1_000)
    }

    /// Whether the flow is application-limited.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited.is_some()
    }

    /// Minimum RTT of the last 300 s.
    pub fn min_rtt(&self) -> Option<Duration> {
        self.min_rtt.minimum()
    }

    /// Whether the flow was application-limited at the original transmission of the segment retransmitted last.
    pub fn original_app_limited(&self) -> bool {
        self.original_app_limited
    }

    /// A segment is sent or retransmitted.
    pub fn on_sent(&mut self, segment: &Segment, counters: SendCounts) {
        let snapshot = self.snapshot(segment, counters);
        if self.snapshots.back().is_none_or(|last| last.seq < segment.seq) {
            self.snapshots.push_back(snapshot);
        } else if let Some(i) = self.position(segment) {
            self.original_app_limited = self.snapshots[i].app_limited;
            self.snapshots[i] = snapshot;
        }
    }

    /// A new segment is sent, after all others.
    #[inline]
    pub fn on_sent_new(&mut self, segment: &Segment, counters: SendCounts) {
        debug_assert!(self.snapshots.back().is_none_or(|last| last.seq < segment.seq), "it is new");
        let snapshot = self.snapshot(segment, counters);
        self.snapshots.push_back(snapshot);
    }

    #[inline(always)]
    fn snapshot(&mut self, segment: &Segment, counters: SendCounts) -> Snapshot {
        self.unreported += u32::from(segment.len);
        let sent = micros_at(segment.sent);
        if counters.out == 0 {
            (self.first_tx, self.delivered_at) = (sent, sent);
        }
        Snapshot {
            seq: segment.seq,
            first_tx: self.first_tx,
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            delivered_ce: self.delivered_ce as u32,
            app_limited: self.app_limited.is_some(),
            in_flight: counters.in_flight,
            lost: counters.lost as u32,
            is_lost: false,
        }
    }

    /// Bytes sent since the last call.
    pub fn take_sent(&mut self) -> u32 {
        std::mem::take(&mut self.unreported)
    }

    /// Segments marked lost since the last call, oldest first.
    pub fn take_lost(&mut self, board: &Scoreboard) -> Vec<LostSegment> {
        let new = board.lost_total - std::mem::replace(&mut self.reported_lost, board.lost_total);
        let (mut losses, mut continues) = (Vec::new(), false);
        for (segment, snapshot) in board.segments().zip(self.snapshots.iter_mut()) {
            if losses.len() as u64 == new {
                break;
            }
            debug_assert_eq!(snapshot.seq, segment.seq, "a snapshot for each segment, in order");
            // A retransmission has a new snapshot.
            let is_lost = segment.tags.any(Tags::LOST) && !segment.tags.any(Tags::RETRANS);
            if is_lost && !snapshot.is_lost {
                snapshot.is_lost = true;
                losses.push(LostSegment {
                    tx_in_flight: snapshot.in_flight,
                    lost: ((board.lost_total - new + losses.len() as u64 + 1) as u32).wrapping_sub(snapshot.lost),
                    is_app_limited: snapshot.app_limited,
                    continues,
                });
            }
            continues = is_lost;
        }
        losses
    }

    /// A segment is newly SACKed.
    pub fn on_sacked(&mut self, segment: &Segment) {
        if let Some(i) = self.position(segment) {
            self.consider(segment, i);
            self.snapshots[i].delivered_at = CONSUMED;
        }
    }

    /// [`Self::on_sacked`] of segment `i` of the retransmission queue.
    #[inline]
    pub fn on_sacked_at(&mut self, i: usize, segment: &Segment) {
        debug_assert_eq!(self.snapshots[i].seq, segment.seq, "a snapshot for each segment, in order");
        self.consider(segment, i);
        self.snapshots[i].delivered_at = CONSUMED;
    }

    /// The oldest segment is acknowledged and leaves the queue.
    pub fn on_acknowledged(&mut self, segment: &Segment) {
        if let Some(snapshot) = self.snapshots.front() {
            debug_assert_eq!(snapshot.seq, segment.seq, "a snapshot for each segment, in order");
            self.consider(segment, 0);
            self.snapshots.pop_front();
        }
    }

    /// Discards snapshots of segments that begin below `seq` (QUIC, whose packets leave out of order).
    pub fn forget_below(&mut self, seq: u64) {
        while self.snapshots.front().is_some_and(|snapshot| snapshot.seq < seq) {
            self.snapshots.pop_front();
        }
    }

    /// The segment at `seq` is lost, as loss number `lost` of the connection; `continues` if the one before is lost,
    /// too.
    pub fn loss_of(&self, seq: u64, lost: u64, continues: bool) -> Option<LostSegment> {
        let snapshot = &self.snapshots[self.find_snapshot(seq)?];
        Some(LostSegment {
            tx_in_flight: snapshot.in_flight,
            lost: (lost as u32).wrapping_sub(snapshot.lost),
            is_app_limited: snapshot.app_limited,
            continues,
        })
    }

    /// An acknowledgment delivered `packets`, and reports `ce` of them as marked.
    pub fn count(&mut self, packets: u32, ce: u32) {
        self.delivered += packets as u64;
        self.delivered_ce += ce as u64;
    }

    /// Adds an RTT to the minimum filter.
    pub fn observe_rtt(&mut self, now: Instant, rtt: Duration) {
        // Linux: a time below the clock's resolution counts as a tick.
        self.min_rtt.observe(now, if rtt > Duration::ZERO { rtt } else { TICK });
    }

    /// Discards the sample of an old acknowledgment.
    pub fn discard(&mut self) {
        self.sampled = None;
    }

    /// The sample of an acknowledgment that delivered `packets`, `ce` of them marked, which were counted before.
    #[inline(always)]
    pub fn generate(&mut self, now: Instant, packets: u32, ce: u32, context: &SampleInput) -> RateSample {
        let before = self.sampled.as_ref().map(|chosen| chosen.snapshot.delivered);
        let is_ack_delayed = context.lone_runt && before.is_some_and(|before| before + 1 == self.delivered);
        let exceeds_min = |rtt: &Duration| self.min_rtt.minimum().is_some_and(|min| *rtt > min);
        if let Some(rtt) = context.rtt.filter(|rtt| !(is_ack_delayed && exceeds_min(rtt))) {
            self.observe_rtt(now, rtt);
        }
        let now = micros_at(now);
        if self.app_limited.is_some_and(|mark| self.delivered > mark) {
            self.app_limited = None;
        }
        if packets > 0 {
            self.delivered_at = now;
        }
        let &SampleInput { losses, lost, prior_in_flight, rtt, acks_probe, .. } = context;
        let mut sample = RateSample {
            acked_sacked: packets,
            ce,
            losses,
            prior_in_flight,
            rtt,
            is_ack_delayed,
            acks_probe,
            ..Default::default()
        };
        if let Some(SampledSegment { snapshot, prior_time, send_interval, is_retransmitted, .. }) = &self.sampled {
            let (send_interval, ack_interval) = (span(*send_interval), span(now.saturating_sub(*prior_time)));
            let interval = send_interval.max(ack_interval);
            sample.delivered = Some((self.delivered - snapshot.delivered) as u32);
            sample.delivered_ce = (self.delivered_ce as u32).wrapping_sub(snapshot.delivered_ce);
            sample.interval = self.min_rtt.minimum().filter(|&min| interval >= min).map(|_| interval);
            (sample.send_interval, sample.ack_interval) = (send_interval, ack_interval);
            sample.prior_delivered = snapshot.delivered;
            sample.is_app_limited = snapshot.app_limited;
            sample.is_retransmitted = *is_retransmitted;
            sample.tx_in_flight = snapshot.in_flight;
            sample.lost = (lost as u32).wrapping_sub(snapshot.lost);
        }
        self.sampled = None;
        sample
    }

    /// The application has no data while `in_flight` packets are in flight: samples do not show the path's rate until
    /// these are delivered.
    pub fn mark_app_limited(&mut self, in_flight: u32) {
        self.app_limited = Some(self.delivered + in_flight as u64);
    }

    /// Considers a delivered segment as the sampled one, if its snapshot `i` is unused.
    #[inline]
    fn consider(&mut self, segment: &Segment, i: usize) {
        // Copied only if chosen.
        let snapshot = &self.snapshots[i];
        let prior_time = snapshot.delivered_at;
        if prior_time == CONSUMED {
            return;
        }
        let (sent, end) = (micros_at(segment.sent), segment.end());
        if self.sampled.as_ref().is_some_and(|last| (sent, end) <= (self.first_tx, last.end)) {
            return;
        }
        let is_retransmitted = segment.tags.any(Tags::EVER_RETRANS);
        self.first_tx = sent;
        let send_interval = sent.saturating_sub(snapshot.first_tx);
        self.sampled = Some(SampledSegment { snapshot: *snapshot, prior_time, end, send_interval, is_retransmitted });
    }

    /// Index of a segment's snapshot.
    #[inline]
    fn position(&self, segment: &Segment) -> Option<usize> {
        let first = self.snapshots.front()?.seq;
        // Full segments are equidistant.
        let guess = (segment.seq.saturating_sub(first) / segment.len.max(1) as u64) as usize;
        match self.snapshots.get(guess).is_some_and(|snapshot| snapshot.seq == segment.seq) {
            true => Some(guess),
            false => self.find_snapshot(segment.seq),
        }
    }

    fn find_snapshot(&self, seq: u64) -> Option<usize> {
        let i = self.snapshots.partition_point(|snapshot| snapshot.seq < seq);
        self.snapshots.get(i).is_some_and(|snapshot| snapshot.seq == seq).then_some(i)
    }
}

/// Sentinel: this snapshot has been consumed.
const CONSUMED: Micros = Micros::MAX;

/// Linux `tcp_min_rtt_wlen`.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(300);

/// Linux counts an RTT of zero as a jiffy, of 1 ms.
const TICK: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests;
