//! The summary of a run, whose size does not depend on the number of packets.

use crate::capture::replay::ReplaySummary;
use crate::emodel::{mos, r_factor};
use crate::media::MediaSummary;
use crate::playback::VideoSummary;
use crate::programs::ProgramSummary;
use crate::quantiles::Quantiles;
use crate::responsiveness::RpmSummary;
use crate::status::{Datagrams, Payload};
use crate::tally::Counts;
use crate::wlan::WlanSummary;
use serde::Serialize;
use sojourn_aqm::{DropReason, Duration};
use std::collections::BTreeMap;

/// The results of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Length of the run.
    pub duration_s: f64,
    /// Start of the statistics.
    pub warmup_s: f64,
    /// With an automatic warm-up: whether a steady state was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled: Option<bool>,
    /// Why no steady state was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_settled: Option<String>,
    /// Events processed.
    pub events: u64,
    /// Hash of every verdict and departure of every queue.
    pub fingerprint: String,
    /// Payload per second that arrived, without duplicates, of all forward flows and connections.
    pub goodput_bps: f64,
    /// Payload per second that they delivered in order.
    pub delivered_bps: f64,
    /// Jain's fairness index of the goodputs of bulk flows, if exactly one forward group has any.
    pub jain: Option<f64>,
    /// The two directions of the (first) bottleneck.
    pub links: Links,
    /// The other bottlenecks.
    pub hops: Vec<HopSummary>,
    /// The channel, if the (first) bottleneck is a wireless LAN: then `forward` is the queue of the access point and
    /// `reverse` the sum of the stations' queues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wlan: Option<WlanSummary>,
    /// Every group of flows.
    pub groups: Vec<GroupSummary>,
    /// Every flow that lasts the whole run; no short-lived connections.
    pub flows: Vec<FlowSummary>,
}

/// A bottleneck after the first one.
#[derive(Clone, Debug, Serialize)]
pub struct HopSummary {
    /// Its name in the scenario.
    pub name: String,
    /// Its two directions.
    #[serde(flatten)]
    pub links: Links,
    /// The channel, if it is a wireless LAN, as in [`Summary`].
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

/// Results of a link, inside the statistics window.
#[derive(Clone, Debug, Serialize)]
pub struct LinkSummary {
    /// Busy time of the transmitter per time; bits sent per bits possible if the rate changes (`fluid`); bytes carried
    /// per bytes of opportunity.
    pub utilisation: f64,
    /// Packets whose transmission started.
    pub packets: u64,
    /// Bytes of these packets, as the queue counts them.
    pub bytes: u64,
    /// Packets that arrived at the queue.
    pub arrived: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets dropped, by reason.
    pub dropped_by: BTreeMap<&'static str, u64>,
    /// Packets sent and then lost before the far end; these are no drops of the queue.
    pub lost: u64,
    /// Packets newly marked CE.
    pub marked: u64,
    /// Drops per arrival, of packets that arrived in the window.
    pub drop_rate: f64,
    /// Marks per arrival, of packets that arrived in the window.
    pub mark_rate: f64,
    /// Time average of the number of queued packets.
    pub mean_backlog_packets: f64,
    /// Sojourn time of the packets sent.
    pub sojourn_ms: Quantiles,
    /// The discipline's internal queues, if it sorts packets by their headers: the coupled pair, tins, bands, classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<QueueSummary>,
}

/// Results of a discipline's internal queue, inside the statistics window; as in [`LinkSummary`].
#[derive(Clone, Debug, Serialize)]
pub struct QueueSummary {
    /// Its name within the discipline: `L4S`, `Voice`, `band 1`, `class 1:10`.
    pub name: String,
    /// Packets whose transmission started.
    pub packets: u64,
    /// Bytes of these packets.
    pub bytes: u64,
    /// Packets that arrived at it.
    pub arrived: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets newly marked CE.
    pub marked: u64,
    /// Drops per arrival.
    pub drop_rate: f64,
    /// Marks per arrival.
    pub mark_rate: f64,
    /// Time average of the number of queued packets.
    pub mean_backlog_packets: f64,
    /// Sojourn time of the packets sent.
    pub sojourn_ms: Quantiles,
}

impl LinkSummary {
    /// From counts over `span`, with an available capacity of `usable`.
    pub(crate) fn of(counts: &Counts, span: Duration, usable: u64) -> Self {
        let utilisation = if usable > 0 { counts.used as f64 / usable as f64 } else { 0.0 };
        let dropped: u64 = counts.dropped.iter().sum();
        // `Replaced` comes only from a change of the queue manager; it is listed only if it occurred.
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
    /// From the counts of a queue over `span`.
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

/// Results of a flow: rates inside the statistics window, counts over the whole run.
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
    /// Payload that arrived and was delivered.
    #[serde(flatten)]
    pub payload: PayloadSummary,
    /// Data packets sent, over the whole run.
    pub sent: u64,
    /// Data packets retransmitted.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Mean of the RTTs that its sender measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_ms: Option<f64>,
    /// Delay and loss of datagrams.
    #[serde(flatten)]
    pub datagrams: DatagramSummary,
}

/// Payload at its receivers in the statistics window.
///
/// Duplicates do not count as arrivals. A byte is delivered when all bytes before it have arrived, so bytes that
/// arrived before the window may be delivered in it.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct PayloadSummary {
    /// Arrivals per second.
    pub goodput_bps: f64,
    /// Bytes that arrived.
    pub bytes: u64,
    /// Bytes delivered in order, per second.
    pub delivered_bps: f64,
    /// Bytes delivered in order.
    pub delivered_bytes: u64,
}

impl PayloadSummary {
    /// From bytes that another engine counted in a window of `window_s` seconds: arrivals without duplicates, and
    /// deliveries in order.
    pub fn counted(arrived: u64, delivered: u64, window_s: f64) -> Self {
        Self::of(&Payload { arrived, delivered }, window_s)
    }

    pub(crate) fn of(payload: &Payload, window_s: f64) -> Self {
        let &Payload { arrived, delivered } = payload;
        let rate = |bytes: u64| bytes as f64 * 8.0 / window_s;
        Self { goodput_bps: rate(arrived), bytes: arrived, delivered_bps: rate(delivered), delivered_bytes: delivered }
    }
}

/// Results of all flows and connections of a group; inside the statistics window unless stated otherwise.
#[derive(Clone, Debug, Serialize)]
pub struct GroupSummary {
    /// Kind of traffic.
    pub kind: &'static str,
    /// `forward` or `reverse`.
    pub direction: &'static str,
    /// Payload that arrived and was delivered.
    #[serde(flatten)]
    pub payload: PayloadSummary,
    /// Jain's fairness index of the goodputs of its flows, if it has at least two bulk flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jain: Option<f64>,
    /// Payload bytes of the transfers started.
    pub offered_bytes: u64,
    /// Flows started and connections opened.
    pub opened: u64,
    /// Connections closed.
    pub closed: u64,
    /// Transfers completed.
    pub transfers: u64,
    /// Their times from the start, connection establishment included, to the last byte.
    pub completion_ms: Quantiles,
    /// Data packets sent by the flows' sources, over the whole run.
    pub sent: u64,
    /// Data packets retransmitted, over the whole run.
    pub retransmissions: u64,
    /// Retransmission timeouts, over the whole run.
    pub timeouts: u64,
    /// Mean of the RTTs that its senders measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_ms: Option<f64>,
    /// Delay and loss of datagrams.
    #[serde(flatten)]
    pub datagrams: DatagramSummary,
    /// Statistics of its players, if it is a group of video clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub video: Option<VideoSummary>,
    /// The packets replayed, if it replays a capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capture: Option<ReplaySummary>,
    /// Statistics of its media flows, if it is a group of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media: Option<MediaSummary>,
    /// The result of its responsiveness test, over the whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rpm: Option<RpmSummary>,
    /// Datagrams and notes of its programs, if it is a group of endpoints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<ProgramSummary>,
}

/// Delay and loss of datagrams, inside the statistics window; `None` if none was received.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct DatagramSummary {
    /// Mean one-way delay.
    pub delay_ms: Option<f64>,
    /// Mean absolute difference between the delays of successive datagrams.
    pub delay_variation_ms: Option<f64>,
    /// Lost datagrams per datagram sent in the window up to the last one received; datagrams sent before the window do
    /// not count.
    pub loss_rate: Option<f64>,
    /// Mean opinion score of a call (E-model); for a group the mean of its calls.
    pub mos: Option<f64>,
}

impl DatagramSummary {
    /// From datagrams that another engine counted: received, expected, and in ns the sum of their delays and of the
    /// absolute differences between successive ones.
    pub fn counted(received: u64, expected: u64, delay_ns: u64, variation_ns: u64, is_voice: bool) -> Self {
        // Other engines assign datagrams to the window by arrival time: those sent before it may outnumber the late
        // ones.
        let strays = received.saturating_sub(expected);
        Self::of(&Datagrams { received, strays, expected, delay_ns, variation_ns }, is_voice)
    }

    /// The same with the mean score of a group's calls.
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
        // The delay of a jitter buffer of twice the mean variation: Flent's approximation.
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
