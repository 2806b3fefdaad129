//! Values that one acknowledgment carries: segments newly acknowledged, SACKed or reported twice, and RTT samples.
//!
//! Source: Linux `tcp_ack`, `tcp_sacktag_one`, `tcp_clean_rtx_queue`, `tcp_ack_update_rtt`.

use crate::cc;
use crate::queue::SendQueue;
use crate::round_trip::RoundTrip;
use crate::segment::{AckedSegments, SackedSegments};
use crate::state::CaState;
use crate::{Header, HostTime};
use sojourn_aqm::{Duration, Instant};

/// One acknowledgment: the values from its header and the retransmission queue, and its consequences.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckInfo {
    /// SND.UNA moved.
    pub advanced: bool,
    pub acked: AckedSegments,
    pub sacked: SackedSegments,
    pub ece: bool,
    /// The timestamp that it echoes (TSecr).
    pub ts_ecr: u32,
    /// Segments that it newly delivered: acknowledged or SACKed.
    pub delivered: u32,
    /// RTT of the newest segment that it acknowledges, if that was never retransmitted.
    pub rtt: Option<Duration>,
    /// End of the duplicate that its D-SACK reports.
    pub duplicate_end: Option<u64>,
    /// A segment from before `high_seq` arrived that was never retransmitted.
    pub original_delivered: bool,
    /// Newly delivered packets that it reports as CE-marked.
    pub ce: u32,
    /// A retransmission was found to be lost.
    pub lost_retransmission: bool,
    /// The sender entered recovery on it.
    pub entered_recovery: bool,
    /// The retransmission timer has to be rearmed.
    pub rearms_timer: bool,
    /// Its outcome for a tail loss probe.
    pub probe: ProbeOutcome,
    pub send_times: SendTimes,
}

/// Send times of the segments that one acknowledgment covers and that were never retransmitted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SendTimes {
    pub first_acked: Option<Instant>,
    pub last_acked: Option<Instant>,
    pub first_sacked: Option<Instant>,
    pub last_sacked: Option<Instant>,
}

impl AckInfo {
    /// From the header alone.
    pub fn of(header: &Header, una: u64) -> Self {
        Self { advanced: header.ack > una, ts_ecr: header.ts_ecr, ..Self::default() }
    }

    /// Whether segments were acknowledged.
    pub fn data_acked(&self) -> bool {
        self.acked.packets > 0
    }
    /// Whether segments were acknowledged or SACKed.
    pub fn forward_progress(&self) -> bool {
        self.data_acked() || self.sacked.new
    }
    /// Whether SND.UNA moved, or segments were acknowledged or SACKed.
    pub fn any_progress(&self) -> bool {
        self.forward_progress() || self.advanced
    }
    /// A duplicate acknowledgment: SND.UNA did not move, and no segment was acknowledged.
    pub fn is_duplicate(&self) -> bool {
        !self.advanced && !self.data_acked()
    }

    /// The record for the congestion control, which counts `packets` of it.
    #[inline]
    pub fn cc_ack(&self, packets: u32, now: HostTime, state: CaState, queue: &SendQueue) -> cc::Ack {
        let (una, nxt) = (queue.una(), queue.nxt());
        cc::Ack { now: now.at, packets, rtt: self.rtt, una, nxt, state, one_way: None, slow_path: false }
    }

    /// The RTT of the newest segment that it covers and that was never retransmitted, else from the echoed timestamp;
    /// in microseconds, whatever the estimator's unit.
    pub fn sample_rtt(&self, now: HostTime, rtt: &RoundTrip) -> Option<Duration> {
        let micros = |at: Instant| (at.as_nanos() / 1_000) as i64;
        match self.newest_sent_at() {
            Some(sent) => Some(Duration::from_micros(micros(now.at) - micros(sent))),
            None => self
                .data_acked()
                .then(|| rtt.span(rtt.units_since(now, now.echoed(self.ts_ecr)).max(rtt.estimator().per_tick()))),
        }
    }

    /// Whether it acknowledged exactly one segment, never retransmitted, and carried no SACK, D-SACK or ECE.
    pub fn acks_one_original(&self) -> bool {
        let nothing_else = !self.sacked.new && !self.sacked.duplicate && !self.ece;
        self.acked.packets == 1 && self.send_times.first_acked.is_some() && !self.acked.retransmitted && nothing_else
    }

    /// Send time of the newest segment that it covers and that was never retransmitted.
    pub fn newest_sent_at(&self) -> Option<Instant> {
        self.send_times.last_sacked.or(self.send_times.last_acked.filter(|_| !self.acked.retransmitted))
    }
}

/// Outcome of an acknowledgment for a tail loss probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ProbeOutcome {
    /// No loss is indicated.
    #[default]
    NoLoss,
    /// It acknowledges the probe or the original; later acknowledgments decide.
    Ambiguous,
    /// The probe repaired a loss.
    Repaired,
}
