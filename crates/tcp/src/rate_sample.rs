//! Delivery-rate samples: how fast the network delivered, told by each acknowledgment.
//!
//! Source: Linux 6.1 `tcp_rate.c` (`tcp_rate_skb_sent`, `tcp_rate_skb_delivered`, `tcp_rate_gen`,
//! `tcp_rate_check_app_limited`), `tcp_clean_rtx_queue` for delayed acknowledgments, `tcp_update_rtt_min`;
//! draft-ietf-ccwg-bbr, section "Delivery Rate Samples", in packets instead of bytes. Times are whole microseconds.
//!
//! Each segment carries a snapshot of the connection's counters from its last transmission. An acknowledgment compares
//! them with the counters now, for the segment among those delivered that was sent last.
//!
//! Differs: receivers here never take a SACK back, so no sample is left out for that; what waits below the socket is not
//! known, so it never keeps a connection from being limited by its application.

mod sampler;

pub(crate) use sampler::{RateSampler, SampleInput, SendCounts};

use sojourn_aqm::{Duration, Rate};

/// What one acknowledgment told of the rate of delivery (Linux `struct rate_sample`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateSample {
    /// Packets delivered since the segment was sent that the sample is of; none if this acknowledgment delivered no
    /// segment whose transmission was noted.
    pub delivered: Option<u32>,
    /// … and those of them that carried a congestion mark.
    pub delivered_ce: u32,
    /// The time in which they were delivered: the longer of [`send_interval`](Self::send_interval) and
    /// [`ack_interval`](Self::ack_interval). None without a sample, and where it is shorter than the least RTT: then the
    /// segment was sent again needlessly, and its original was acknowledged.
    pub interval: Option<Duration>,
    /// From the transmission of the segment that was delivered when that of the sample was sent, to the latter's.
    pub send_interval: Duration,
    /// From the acknowledgment of the former to that of the latter.
    pub ack_interval: Duration,
    /// [`Flight::delivered`](super::cc::Flight::delivered) when the segment was sent; zero without a sample.
    pub prior_delivered: u64,
    /// Packets that this acknowledgment delivered: acknowledged or SACKed for the first time.
    pub acked_sacked: u32,
    /// … and those of them that it reports to carry a congestion mark.
    pub ce: u32,
    /// Packets marked lost on this acknowledgment.
    pub losses: u32,
    /// Packets in flight before it.
    pub prior_in_flight: u32,
    /// Packets in flight once the segment of the sample had been sent (Linux `tx_in_flight` of BBRv3); zero without a
    /// sample.
    pub tx_in_flight: u32,
    /// Packets marked lost since it was sent (`lost`).
    pub lost: u32,
    /// RTT of the newest segment that it delivered and that was sent once; else by the timestamp echoed.
    pub rtt: Option<Duration>,
    /// The application, not the network, may have limited the rate.
    pub is_app_limited: bool,
    /// The segment was sent more than once.
    pub is_retransmitted: bool,
    /// Probably a delayed acknowledgment of a lone short segment: the RTT says little of the path.
    pub is_ack_delayed: bool,
    /// It acknowledges a loss probe that was a retransmission, or the original: nobody knows yet
    /// (`is_acking_tlp_retrans_seq`).
    pub acks_probe: bool,
}

impl RateSample {
    /// The rate of delivery with segments of `mss` bytes of payload; none without a valid sample.
    pub fn rate(&self, mss: u32) -> Option<Rate> {
        let (delivered, interval) = (self.delivered?, self.interval?);
        let bits = delivered as u128 * mss as u128 * 8;
        let bps = (bits * 1_000_000_000).checked_div(interval.as_nanos() as u128)?;
        Some(Rate::from_bps(bps.min(u64::MAX as u128) as u64))
    }
}
