//! What every run reports, at no cost in memory per packet.

use crate::capture::replay::ReplaySummary;
use crate::emodel::{mos, r_factor};
use crate::media::MediaSummary;
use crate::playback::VideoSummary;
use crate::quantiles::Quantiles;
use crate::responsiveness::RpmSummary;
use crate::status::{Datagrams, Payload};
use crate::tally::Counts;
use crate::wlan::WlanSummary;
use serde::Serialize;
use sojourn_aqm::{DropReason, Duration};
use std::collections::BTreeMap;

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
    /// Jain's fairness index of the goodputs of bulk flows, where exactly one forward group has any.
    pub jain: Option<f64>,
    /// The two directions of the bottleneck; where there are several, of the first.
    pub links: Links,
    /// The other bottlenecks.
    pub hops: Vec<HopSummary>,
    /// The channel, where the bottleneck, or the first of several, is a wireless LAN: `forward` is the queue of the access
    /// point then, `reverse` those of the stations together.
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
    /// The channel, where it is a wireless LAN, as in [`Summary`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wlan: Option<WlanSummary>,
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
    /// Drops by arrivals, both of the packets that arrived in the window.
    pub drop_rate: f64,
    /// Marks by arrivals, likewise.
    pub mark_rate: f64,
    /// Time average of waiting packets.
    pub mean_backlog_packets: f64,
    /// Sojourn time of the packets sent.
    pub sojourn_ms: Quantiles,
    /// The queues within its discipline, if there are several by packets' headers: the two of a coupled pair, tins, bands,
    /// classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<QueueSummary>,
}

/// A queue within a discipline in numbers, inside the statistics window; as in [`LinkSummary`].
#[derive(Clone, Debug, Serialize)]
pub struct QueueSummary {
    /// Its name within the discipline: `L4S`, `Voice`, `band 1`, `class 1:10`.
    pub name: String,
    /// Packets whose transmission began.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets that arrived at it.
    pub arrived: u64,
    /// Packets dropped.
    pub dropped: u64,
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

impl LinkSummary {
    /// Of counts over a span in which `usable` could have been used.
    pub(crate) fn of(counts: &Counts, span: Duration, usable: u64) -> Self {
        let utilisation = if usable > 0 { counts.used as f64 / usable as f64 } else { 0.0 };
        let dropped: u64 = counts.dropped.iter().sum();
        // A reason that only changes bring is there where they brought it.
        let is_there = |&&r: &&DropReason| r != DropReason::Replaced || counts.dropped[r as usize] > 0;
        let by_reason =
            DropReason::ALL.iter().filter(is_there).map(|&r| (r.name(), counts.dropped[r as usize])).collect();
        Self {
            utilisation,
            packets: counts.departed,
            bytes: counts.bytes,
            arrived: counts.arrived,
            dropped,
            dropped_by: by_reason,
            lost: counts.lost,
            marked: counts.marked,
            drop_rate: counts.share(counts.dropped_of_arrived),
            mark_rate: counts.share(counts.marked_of_arrived),
            mean_backlog_packets: counts.area as f64 / span.as_nanos() as f64,
            sojourn_ms: Quantiles::of(counts.sojourn()),
            queues: Vec::new(),
        }
    }
}

impl QueueSummary {
    /// Of the counts of a queue over a span.
    pub(crate) fn of(name: String, counts: &Counts, span: Duration) -> Self {
        let dropped: u64 = counts.dropped.iter().sum();
        Self {
            name,
            packets: counts.departed,
            bytes: counts.bytes,
            arrived: counts.arrived,
            dropped,
            marked: counts.marked,
            drop_rate: counts.share(counts.dropped_of_arrived),
            mark_rate: counts.share(counts.marked_of_arrived),
            mean_backlog_packets: counts.area as f64 / span.as_nanos() as f64,
            sojourn_ms: Quantiles::of(counts.sojourn()),
        }
    }
}

/// A flow in numbers, inside the statistics window where a rate is meant, over the whole run else.
#[derive(Clone, Debug, Serialize)]
pub struct FlowSummary {
    /// Index over all groups.
    pub id: u32,
    /// Index of its group.
    pub group: u32,
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
    /// Mean of the round-trip times that its sender measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_ms: Option<f64>,
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
    /// Jain's fairness index of the goodputs of its flows, of a group of at least two bulk flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jain: Option<f64>,
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
    /// Mean of the round-trip times that its senders measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_ms: Option<f64>,
    /// Delay and loss of datagrams.
    #[serde(flatten)]
    pub datagrams: DatagramSummary,
    /// What players of video have seen, in a group of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub video: Option<VideoSummary>,
    /// What is sent of a capture, in a group that replays one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capture: Option<ReplaySummary>,
    /// What flows of media did and met with, in a group of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media: Option<MediaSummary>,
    /// The result of a test of responsiveness, over the whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rpm: Option<RpmSummary>,
}

/// What datagrams met with, inside the statistics window; `None` where none was received.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct DatagramSummary {
    /// Mean one-way delay.
    pub delay_ms: Option<f64>,
    /// Mean difference between the delays of successive datagrams, without its sign.
    pub delay_variation_ms: Option<f64>,
    /// Lost datagrams by those sent in the window before the last one received; what was sent before the window counts in
    /// neither.
    pub loss_rate: Option<f64>,
    /// Mean opinion score of a call (E-model); for a group the mean of its calls.
    pub mos: Option<f64>,
}

impl DatagramSummary {
    /// Of datagrams that another engine counted: those received, those that should have been, the sum of their delays
    /// and that of the differences between successive ones, in ns.
    pub fn counted(received: u64, expected: u64, delay_ns: u64, variation_ns: u64, is_voice: bool) -> Self {
        // Other engines tell arrivals by when they came: those sent before the window may be more than those that are late.
        let strays = received.saturating_sub(expected);
        Self::of(&Datagrams { received, strays, expected, delay_ns, variation_ns }, is_voice)
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
        let in_time = seen.received - seen.strays;
        let loss = (seen.expected > 0).then(|| 1.0 - in_time as f64 / seen.expected as f64);
        // A jitter buffer of twice the mean variation, which is Flent's approximation.
        let score = |loss: f64| mos(r_factor(delay_ms + 2.0 * variation_ms, 100.0 * loss));
        Self {
            delay_ms: Some(delay_ms),
            delay_variation_ms: Some(variation_ms),
            loss_rate: loss,
            mos: loss.filter(|_| is_voice).map(score),
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
}
