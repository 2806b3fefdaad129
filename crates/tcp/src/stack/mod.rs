//! TCP stacks: the mechanisms of senders and receivers, apart from the congestion control.

mod counting;
pub mod cubic;
pub mod hystart;
mod linux_2_6_29;
mod linux_3_13;
mod linux_3_8;
mod linux_6_1;
mod ns2;

pub use counting::GrowthCounting;

use super::{Clock, Ticks};
use sojourn_aqm::Duration;

/// A stack as a table of mechanisms. A new stack is one file, and one line in the registry below.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    /// Initial window in segments of up to 1460 bytes.
    pub initial_window: u32,
    /// Retransmission time-out before the first RTT sample.
    pub rto_initial: Duration,
    /// Minimum variance term of the time-out: RTO ≥ srtt + this.
    pub rto_min: Duration,
    /// Maximum time-out.
    pub rto_max: Duration,
    /// Resolution of timers and timestamps.
    pub tick: Duration,
    /// Resolution of RTT samples: a tick, or finer.
    pub rtt_unit: Duration,
    /// Timers are kept in a wheel whose slots are coarser for later expiries (Linux 4.8 on).
    pub timer_wheel: bool,
    /// Timers count from the instant when they are set, not from the beginning of its tick.
    pub exact_timers: bool,
    /// The state machine of loss recovery.
    pub machine: RecoveryMachine,
    /// How the window is reduced in recovery and after a congestion mark.
    pub reduction: WindowReduction,
    /// When the window is limited to the segments in flight plus a small burst.
    pub moderation: Moderation,
    /// The SYN-ACK is acknowledged at once, not only by the first data.
    pub acks_handshake: bool,
    /// Timestamps: every acknowledgment gives an RTT sample, and every header has twelve more bytes.
    pub timestamps: bool,
    /// Besides timestamps, the options of a SYN take eight bytes, and a SACK option four in addition to its blocks;
    /// otherwise they take none.
    pub pads_options: bool,
    /// Formula of the time-out.
    pub rto: RtoFormula,
    /// Default maximum window in segments, which is also the initial slow-start threshold.
    pub max_window: Option<u32>,
    /// The receiver acknowledges every segment, regardless of its configuration.
    pub acks_every_segment: bool,
    /// Maximum reordering tolerance in packets.
    pub max_reordering: u32,
    /// If no new data can be sent, recovery also retransmits segments that are not marked lost (RFC 3517, NextSeg rule
    /// 3).
    pub forward_retransmit: bool,
    /// In recovery with SACK, segments sent since it began may be marked lost, too.
    pub marks_beyond_high_seq: bool,
    /// The state Disorder lasts as long as a reduction may be undone, not as long as a retransmission is outstanding.
    pub disorder_while_undoable: bool,
    /// A recovery after a time-out reduces the window again.
    pub reduces_after_timeout: bool,
    /// After a time-out the window is one segment more than the segments assumed in flight, not one segment.
    pub keeps_flight_on_timeout: bool,
    /// Losses are also detected on the acknowledgment that undoes a reduction.
    pub detects_after_undo: bool,
    /// How a spurious reduction is undone.
    pub undo: UndoPolicy,
    /// Forward acknowledgment: segments more than `reordering` packets below the highest SACK are lost.
    pub fack: bool,
    /// Losses are detected by time instead of by duplicates (RFC 8985).
    pub rack: bool,
    /// Early retransmit with a delay of a quarter of the RTT (RFC 5827).
    pub early_retransmit: bool,
    /// Tail loss probe.
    pub loss_probe: Option<ProbeTimeout>,
    /// SACK-enhanced F-RTO (RFC 5682) on a time-out, in the form of the recovery machine.
    pub frto: bool,
    /// Unit of window growth.
    pub counting: GrowthCounting,
    /// Version of the kernel's CUBIC.
    pub cubic: cubic::Version,
    /// When the flow counts as cwnd-limited.
    pub validation: CwndValidation,
    /// Usage of the window is checked after every transmission, not only after those that leave nothing to send.
    pub validates_every_send: bool,
    /// The window grows before recovery's transmissions, not after them.
    pub grows_before_sending: bool,
    /// The window grows by delivered segments, including SACKed ones, not by acknowledged segments.
    pub growth_counts_delivered: bool,
    /// Slow start after an idle time longer than the time-out (`tcp_slow_start_after_idle`).
    pub idle_restart: bool,
    /// A retransmitted SYN does not request ECN.
    pub ecn_fallback: bool,
    /// If ECN is in use, the sender requests accurate ECN (RFC 9768) and the receiver accepts it. For
    /// [`RecoveryMachine::Linux3_10`] only.
    pub accurate_ecn: bool,
    /// ECN-capable packets are ECT(1), as L4S requires, not ECT(0).
    pub ect1: bool,
    /// If ECN is requested or in use, SYN and SYN-ACK are ECN-capable.
    pub ect_on_syn: bool,
    /// … pure acknowledgments.
    pub ect_on_acks: bool,
    /// … retransmissions.
    pub ect_on_retransmissions: bool,
    /// New segments leave in bursts, and the receiver acknowledges the end of a burst at once.
    pub bursts: bool,
    /// The application writes ahead into a socket buffer of limited size, in skbs that no burst crosses. Differs: none
    /// before 6.1; those stacks keep their published results.
    pub buffers_sends: bool,
    /// Bytes below TCP are limited per connection (`tcp_small_queue_check`). Off before 6.1: an access link is an
    /// unbounded queue of one flow, so a limit mostly moves the wait into the socket.
    pub small_queues: bool,
    /// The last segment with the FIN, or a lone FIN, is sent regardless of the congestion window.
    pub fin_beyond_window: bool,
    /// With segmentation offload a burst is about a millisecond of the rate (`tcp_xmit_size_goal` since Linux 3.12),
    /// otherwise up to 64 kB. Its deferral ends after two ticks in total (since 3.9), otherwise two ticks after the
    /// last look.
    pub sizes_bursts_by_rate: bool,
    /// Bursts leave at a pacing rate that follows the window (as with fq), regardless of the control's needs. For
    /// [`RecoveryMachine::Linux3_10`] only.
    pub paces: bool,
    /// The receiver's window starts at 64 kB and grows with the arrivals (`tcp_moderate_rcvbuf`); otherwise it is
    /// unlimited.
    pub tunes_window: bool,
    /// Initial reordering tolerance in packets; also the maximum burst of a moderated window.
    pub reordering: u32,
    /// Quick acknowledgments at the start of a connection: the first advertised window divided by two segments.
    pub quickacks_at_start: u32,
    /// Quick acknowledgments after a duplicate or an idle time.
    pub quickacks: u32,
    /// Out-of-order data starts quick acknowledgments.
    pub quickacks_on_reordering: bool,
    /// A CE mark, or a segment that is not ECN-capable among others that are, starts two quick acknowledgments.
    pub quickacks_on_ecn: bool,
    /// Acknowledgments of out-of-order data after the third may be compressed.
    pub compressed_acks: Option<CompressedAcks>,
    /// A segment beyond a hole joins the SACK blocks that are still remembered, not all out-of-order data.
    pub forgets_blocks: bool,
    /// Minimum delay of a delayed acknowledgment, and unit of its adaptation.
    pub ato_min: Duration,
}

/// The state machine of loss recovery (`tcp_fastretrans_alert`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryMachine {
    /// Up to 3.9: the window grows before recovery, and F-RTO precedes the Loss state. Kept beside [`Self::Linux3_10`],
    /// because the order decides how much an acknowledgment that enters or leaves recovery adds to the window.
    Linux2_6,
    /// From 3.10 on: the window moves after recovery, and F-RTO is part of the Loss state.
    Linux3_10,
    /// ns-2: the window is halved at once and inflated by duplicates.
    Ns2,
}

/// Formula of the time-out from smoothed RTT and deviation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoFormula {
    /// Linux: the variance term is at least `rto_min`, and decreases slowly.
    Linux,
    /// RFC 6298: max(`rto_min`, srtt + 4 rttvar).
    Rfc6298,
}

/// Algorithm that reduces the window to the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowReduction {
    /// One segment less per two acknowledgments.
    RateHalving,
    /// Proportional rate reduction (RFC 6937); below the threshold the slow start reduction bound.
    Prr,
    /// PRR whose slow-start bound applies only on progress without new losses.
    CarefulPrr,
}

/// Rules for the undo of a spurious reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndoPolicy {
    /// The window after the undo.
    pub window: UndoWindow,
    /// D-SACKs undo a reduction only if something was retransmitted.
    pub needs_retransmission: bool,
    /// After a time-out only an acknowledgment of new data is evidence.
    pub needs_progress: bool,
    /// Without SACK the time of the first retransmission may have been discarded at the end of an episode; a missing
    /// time is then no evidence that nothing was retransmitted.
    pub stamp_may_be_missing: bool,
}

/// The window after an undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoWindow {
    /// The congestion control's choice; the threshold if that is not restored.
    Control,
    /// The window before the reduction.
    Prior,
}

/// When the window is limited to the segments in flight plus `reordering`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moderation {
    /// In every state except Recovery, and after an undo.
    Always,
    /// In the states Disorder and Loss.
    Disorder,
    /// Never.
    Never,
}

/// Time-out of a tail loss probe, and its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeTimeout {
    /// 3.10: 2 srtt, at least 10 ms; for a single segment at least 1.5 srtt + 200 ms.
    Linux3_10,
    /// RFC 8985 §7.2 as in 6.1: 2 srtt + 2 ms; for a single segment 2 srtt + 200 ms.
    Linux6_1,
}

/// When the flow counts as cwnd-limited, so that the window may grow (RFC 7661).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CwndValidation {
    /// The flight was at most `reordering` segments below the window.
    InFlight,
    /// The flight was at most three segments below the window, regardless of reordering.
    NearlyFull,
    /// The last round was limited by the window; in slow start twice its maximum flight exceeds the window.
    Round,
}

/// Compressed acknowledgments (Linux 4.18 on).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompressedAcks {
    /// Maximum delay.
    pub delay: Duration,
    /// … and at most the RTT divided by this.
    pub rtt_divisor: u32,
    /// Maximum number of segments whose acknowledgment is delayed.
    pub max_segments: u32,
}

impl Stack {
    /// The stack's clock.
    pub const fn clock(&self) -> Clock {
        Clock::new(self.tick)
    }

    /// Whether the receiver's window grows: not with a fixed `size`.
    pub(super) fn tunes_window_of(&self, size: Option<u64>) -> bool {
        self.tunes_window && size.is_none()
    }

    /// Whether the kernel has appropriate byte counting (`tcp_abc`, RFC 3465): Linux before 3.9.
    pub fn has_byte_counting(&self) -> bool {
        self.counting.may_be_bytes()
    }

    /// Whether its senders can leave segmentation to the device (TSO, GSO).
    pub fn has_segmentation_offload(&self) -> bool {
        self.machine != RecoveryMachine::Ns2
    }

    /// Whether the application of its senders writes ahead into a send buffer.
    pub fn has_send_buffer(&self) -> bool {
        self.buffers_sends
    }

    /// Whether its senders can be paced by their host: fq exists since Linux 3.12.
    pub fn may_be_paced(&self) -> bool {
        self.recovers_first()
    }

    /// Whether it is the stack of ns-2, whose results depend on the order of that simulator's events.
    pub fn runs_in_ns2(&self) -> bool {
        self.machine == RecoveryMachine::Ns2
    }

    /// Whether an acknowledgment is processed in the order recovery, window, transmission. Rate samples, pacing and
    /// controls that set the window need losses to be marked before the window moves, and the window to be set before
    /// anything is sent.
    pub(super) fn recovers_first(&self) -> bool {
        self.machine == RecoveryMachine::Linux3_10
    }

    /// Whether its senders have no mechanism that acts on every segment sent: bursts, window validation, timing of
    /// single segments, and those of the machine from 3.10 on (RACK, rate samples, pacing).
    pub(super) fn is_basic(&self) -> bool {
        let follows = self.bursts || self.validates_every_send || !self.timestamps;
        self.machine == RecoveryMachine::Linux2_6 && !follows
    }

    /// Expiry tick of a timer that is set at `now` to `ticks`.
    #[inline]
    pub(super) fn expiry(&self, now: Ticks, ticks: Ticks) -> Ticks {
        if self.timer_wheel { on_wheel(now, ticks) } else { now + ticks }
    }

    /// Name of a registered stack.
    pub fn name(&self) -> &'static str {
        STACKS.iter().find(|(_, stack)| std::ptr::eq(*stack, self)).map_or("", |(name, _)| name)
    }

    /// The stack called `name`.
    pub fn find(name: &str) -> Option<&'static Self> {
        STACKS.iter().find(|(n, _)| *n == name).map(|(_, stack)| *stack)
    }
}

/// Linux's timer wheel (`calc_index`): levels of 64 slots, each eight times as coarse as the one before. A timer
/// expires with the slot after its own, so never early.
pub(crate) fn on_wheel(now: Ticks, ticks: Ticks) -> Ticks {
    let mut level = 0;
    while level < 8 && ticks >= 63 << (3 * level) {
        level += 1;
    }
    (((now + ticks) >> (3 * level)) + 1) << (3 * level)
}

/// The newest Linux, which is the last one in the registry; the default stack.
pub const NEWEST: &str = {
    let (mut newest, mut i) = (NAMES[0].0, 0);
    while i < NAMES.len() {
        if is_linux(NAMES[i].0) {
            newest = NAMES[i].0;
        }
        i += 1;
    }
    newest
};

const fn is_linux(name: &str) -> bool {
    matches!(name.as_bytes(), [b'l', b'i', b'n', b'u', b'x', b'-', ..])
}

macro_rules! stacks {
    ($( $name:literal => $module:ident, $summary:literal; )+) => {
        /// Name and summary of every stack.
        pub const NAMES: &[(&str, &str)] = &[ $( ($name, $summary), )+ ];

        // A static, because a stack is identified by its address.
        static STACKS: &[(&str, &Stack)] = &[ $( ($name, &$module::STACK), )+ ];
    };
}

// Linux in order of age, then the others.
stacks! {
    "linux-2.6.29" => linux_2_6_29, "Linux 2.6.29 (2009): IW 3, SACK + FACK + D-SACK, rate halving, F-RTO, RTO from 3 s";
    "linux-3.8" => linux_3_8, "Linux 3.8 (2013): IW 10, SACK + FACK + D-SACK, PRR, early retransmit, ABC, F-RTO, RTO from 1 s";
    "linux-3.13" => linux_3_13, "Linux 3.13 (2014): as 3.8 without ABC, with tail loss probe; slow start counts packets";
    "linux-6.1" => linux_6_1, "Linux 6.1 (2022): IW 10, RACK-TLP, PRR, F-RTO, window growth counts packets, compressed ACKs";
    "ns2" => ns2, "ns-2: no timestamps, headers of 40 bytes, ticks of 10 ms, window_ 20, NewReno by window inflation";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_linux_is_the_last_one_of_a_list_in_the_order_of_age() {
        let linux = NAMES.iter().filter_map(|(name, _)| name.strip_prefix("linux-"));
        let ages: Vec<Vec<u32>> =
            linux.map(|version| version.split('.').map(|part| part.parse().expect("a number")).collect()).collect();
        assert!(ages.len() > 3 && ages.is_sorted(), "{ages:?}");
        let newest: Vec<String> = ages[ages.len() - 1].iter().map(u32::to_string).collect();
        assert_eq!(NEWEST, format!("linux-{}", newest.join(".")));
    }

    #[test]
    fn the_wheel_is_late_by_up_to_a_slot_of_its_level() {
        for (now, ticks, expiry) in [
            (0, 1, 2),
            (0, 40, 41),
            (7, 62, 70),
            // From 63 ticks on slots are 8 wide, from 504 on 64, from 4,032 on 512.
            (0, 63, 64),
            (1, 63, 72),
            (0, 200, 208),
            (5, 300, 312),
            (0, 503, 504),
            (0, 504, 512),
            (0, 1_000, 1_024),
            (0, 4_032, 4_096),
        ] {
            assert_eq!(on_wheel(now, ticks), expiry, "{ticks} ticks after {now}");
        }
    }
}
