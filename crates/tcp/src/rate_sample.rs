//! Delivery-rate samples, one per acknowledgment.
//!
//! Source: Linux 6.1 `tcp_rate.c` (`tcp_rate_skb_sent`, `tcp_rate_skb_delivered`, `tcp_rate_gen`,
//! `tcp_rate_check_app_limited`), `tcp_clean_rtx_queue` for delayed acknowledgments, `tcp_update_rtt_min`;
//! draft-ietf-ccwg-bbr, section "Delivery Rate Samples", in packets instead of bytes. Times are whole microseconds.
//!
//! Each segment carries a snapshot of the connection's counters from its last transmission. An acknowledgment compares
//! them with the current counters, for the segment sent last among those that it delivered.
//!
//! Differs: receivers never renege on a SACK, so no sample is left out for that. Data below the socket keeps a
//! connection from counting as application-limited only with small queues (`linux-6.1`); with other stacks nothing is
//! known to wait there.

mod sampler;

pub(crate) use sampler::{RateSampler, SampleInput, SendCounts};

use sojourn_aqm::{Duration, Rate};

/// Rate sample of one acknowledgment (Linux `struct rate_sample`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateSample {
    /// Packets delivered since the sampled segment was sent; `None` if this acknowledgment delivered no segment with a
    /// snapshot.
    pub delivered: Option<u32>,
    /// … those of them with a CE mark.
    pub delivered_ce: u32,
    /// Time in which they were delivered: the maximum of [`send_interval`](Self::send_interval) and
    /// [`ack_interval`](Self::ack_interval). `None` without a sample, or if it is below the minimum RTT: then the
    /// segment was retransmitted needlessly, and its original was acknowledged.
    pub interval: Option<Duration>,
    /// Time between the transmissions of the last segment delivered before the sampled one was sent, and of the sampled
    /// one.
    pub send_interval: Duration,
    /// Time between their deliveries.
    pub ack_interval: Duration,
    /// [`Flight::delivered`](super::cc::Flight::delivered) when the sampled segment was sent; zero without a sample.
    pub prior_delivered: u64,
    /// Packets that this acknowledgment newly acknowledged or SACKed.
    pub acked_sacked: u32,
    /// … those of them that it reports as CE-marked.
    pub ce: u32,
    /// Packets marked lost on this acknowledgment.
    pub losses: u32,
    /// Packets in flight before this acknowledgment.
    pub prior_in_flight: u32,
    /// Packets in flight including the sampled segment when it was sent (Linux `tx_in_flight` of BBRv3); zero without a
    /// sample.
    pub tx_in_flight: u32,
    /// Packets marked lost since the sampled segment was sent (`lost`).
    pub lost: u32,
    /// RTT of the newest segment that it delivered and that was never retransmitted; otherwise from the echoed
    /// timestamp.
    pub rtt: Option<Duration>,
    /// The rate may have been limited by the application, not by the network.
    pub is_app_limited: bool,
    /// The sampled segment was retransmitted.
    pub is_retransmitted: bool,
    /// Probably a delayed acknowledgment of a single short segment: the RTT includes the delay.
    pub is_ack_delayed: bool,
    /// It acknowledges a loss probe that was a retransmission, or its original; later acknowledgments decide
    /// (`is_acking_tlp_retrans_seq`).
    pub acks_probe: bool,
}

impl RateSample {
    /// Delivery rate with segments of `mss` bytes of payload; `None` without a valid sample.
    pub fn rate(&self, mss: u32) -> Option<Rate> {
        let (delivered, interval) = (self.delivered?, self.interval?);
        let bits = delivered as u128 * mss as u128 * 8;
        let bps = (bits * 1_000_000_000).checked_div(interval.as_nanos() as u128)?;
        Some(Rate::from_bps(bps.min(u64::MAX as u128) as u64))
    }
}
