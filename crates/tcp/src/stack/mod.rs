//! TCP stacks: which mechanisms a sender and a receiver have, apart from the congestion control.

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

/// What a stack does: a table of mechanisms. One file, and one line in the registry below.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    /// Initial window in segments of up to 1460 bytes.
    pub initial_window: u32,
    /// Retransmission time-out before the first sample.
    pub rto_initial: Duration,
    /// Least variance term of the time-out: RTO ≥ srtt + this.
    pub rto_min: Duration,
    /// Largest time-out.
    pub rto_max: Duration,
    /// Resolution of timers and timestamps.
    pub tick: Duration,
    /// Resolution of RTT samples: the tick, or finer.
    pub rtt_unit: Duration,
    /// Timers lie in a wheel whose slots are the coarser the farther away they are (Linux 4.8 on).
    pub timer_wheel: bool,
    /// Timers count from when they are set, and not from the tick in which that is.
    pub exact_timers: bool,
    /// The state machine of loss recovery.
    pub machine: RecoveryMachine,
    /// What brings the window down in recovery and after a congestion mark.
    pub reduction: WindowReduction,
    /// Where the window is cut to what is in flight plus a small burst.
    pub moderation: Moderation,
    /// The answer to the SYN is acknowledged at once, and not by the first data only.
    pub acks_handshake: bool,
    /// Timestamps: every acknowledgment gives an RTT sample, and every header has twelve bytes more.
    pub timestamps: bool,
    /// Beside timestamps the options of a SYN take eight bytes, and those of SACK four besides the blocks; else they take
    /// none.
    pub pads_options: bool,
    /// How the time-out follows from the RTT.
    pub rto: RtoFormula,
    /// Largest window in segments where nothing else is said; the first slow-start threshold is the largest window.
    pub max_window: Option<u32>,
    /// The receiver acknowledges every segment, whatever else is said.
    pub acks_every_segment: bool,
    /// Largest reordering tolerance in packets.
    pub max_reordering: u32,
    /// Where nothing new can be sent, recovery also sends again what nobody missed yet (RFC 3517, NextSeg rule 3).
    pub forward_retransmit: bool,
    /// In recovery with SACK, also what was sent since it began may count as lost.
    pub marks_beyond_high_seq: bool,
    /// The state Disorder lasts as long as a reduction may be undone, and not as long as a retransmission is out.
    pub disorder_while_undoable: bool,
    /// A recovery that follows a time-out reduces the window once more.
    pub reduces_after_timeout: bool,
    /// After a time-out the window is one segment more than what may still arrive, and not one segment.
    pub keeps_flight_on_timeout: bool,
    /// The acknowledgment that undoes a reduction may tell of losses all the same.
    pub detects_after_undo: bool,
    /// How a needless reduction is undone.
    pub undo: UndoPolicy,
    /// Forward acknowledgment: everything more than `reordering` packets below the highest SACK is lost.
    pub fack: bool,
    /// Losses are told by time instead of by duplicates (RFC 8985).
    pub rack: bool,
    /// Early retransmit with a delay of a quarter of the RTT (RFC 5827).
    pub early_retransmit: bool,
    /// Tail loss probe.
    pub loss_probe: Option<ProbeTimeout>,
    /// SACK-enhanced F-RTO (RFC 5682) on a time-out, in the form that belongs to the machine.
    pub frto: bool,
    /// What the growth of the window counts.
    pub counting: GrowthCounting,
    /// The kernel's CUBIC.
    pub cubic: cubic::Version,
    /// When the window counts as used.
    pub validation: CwndValidation,
    /// The use of the window is looked at after every transmission, and not only after those that leave nothing to send.
    pub validates_every_send: bool,
    /// The window grows before what recovery asks for is sent, and not after.
    pub grows_before_sending: bool,
    /// The window grows with all that was delivered, SACKed segments included, and not with what was acknowledged.
    pub growth_counts_delivered: bool,
    /// Slow start again after a pause longer than the time-out (`tcp_slow_start_after_idle`).
    pub idle_restart: bool,
    /// A SYN that is sent again does not ask for ECN any more.
    pub ecn_fallback: bool,
    /// The receiver answers accurate ECN (RFC 9768), and the sender asks for it, where ECN is in use. For
    /// [`RecoveryMachine::Linux3_10`] only.
    pub accurate_ecn: bool,
    /// What is ECN-capable is sent as ECT(1), as L4S asks, and not as ECT(0).
    pub ect1: bool,
    /// Where ECN is in use or asked for, SYN and its answer are ECN-capable.
    pub ect_on_syn: bool,
    /// … acknowledgments without data.
    pub ect_on_acks: bool,
    /// … retransmissions.
    pub ect_on_retransmissions: bool,
    /// New segments leave in bursts, and the receiver acknowledges the end of a burst at once.
    pub bursts: bool,
    /// The application writes ahead, as far as a buffer of the socket takes it, in pieces that no burst crosses.
    pub buffers_sends: bool,
    /// What waits of a connection in its host below TCP is bounded, also in a wired host (`tcp_small_queue_check`).
    pub small_queues: bool,
    /// A last segment that carries the FIN, or a lone FIN, leaves whatever the congestion window says.
    pub fin_beyond_window: bool,
    /// With segmentation offload a burst is about a millisecond of the rate (`tcp_xmit_size_goal` since Linux 3.12); else it
    /// is as large as 64 kB. One that waits does so for two ticks in all (since 3.9), else from each look on.
    pub sizes_bursts_by_rate: bool,
    /// Bursts leave at a pacing rate that follows the window (as with the queue discipline fq), whatever the control needs.
    /// For [`RecoveryMachine::Linux3_10`] only.
    pub paces: bool,
    /// The receiver's window starts at 64 kB and grows with what arrives (`tcp_moderate_rcvbuf`); else it is unlimited.
    pub tunes_window: bool,
    /// Initial reordering tolerance in packets; also the largest burst after a pause.
    pub reordering: u32,
    /// Quick acknowledgments at the start of a connection: the first window advertised by two segments.
    pub quickacks_at_start: u32,
    /// Quick acknowledgments after a duplicate or a pause.
    pub quickacks: u32,
    /// Out-of-order data starts quick acknowledgments.
    pub quickacks_on_reordering: bool,
    /// Marks, and segments that are not ECN-capable among others, start two quick acknowledgments.
    pub quickacks_on_ecn: bool,
    /// Acknowledgments of out-of-order data beyond the third may wait for each other.
    pub compressed_acks: Option<CompressedAcks>,
    /// A segment beyond a hole joins those SACK blocks that the option still remembers, not all that has arrived.
    pub forgets_blocks: bool,
    /// Least delay of a delayed acknowledgment, and unit of its adaptation.
    pub ato_min: Duration,
}

/// The state machine of loss recovery (`tcp_fastretrans_alert`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryMachine {
    /// Up to 3.9: the window grows before recovery is considered, F-RTO comes before the loss state.
    Linux2_6,
    /// From 3.10 on: the window moves after recovery has been considered, F-RTO is part of the loss state.
    Linux3_10,
    /// ns-2: the window is halved at once and inflated by duplicates.
    Ns2,
}

/// How the time-out follows from smoothed RTT and deviation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoFormula {
    /// Linux: the variance term is at least `rto_min`, and falls slowly.
    Linux,
    /// RFC 6298: max(`rto_min`, srtt + 4 rttvar).
    Rfc6298,
}

/// What brings the window down to the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowReduction {
    /// One segment for two acknowledgments.
    RateHalving,
    /// Proportional rate reduction (RFC 6937); below the threshold the slow start reduction bound.
    Prr,
    /// PRR that below the threshold sends one more than was delivered only on progress without new losses.
    CarefulPrr,
}

/// How a reduction that turned out to be needless is undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndoPolicy {
    /// What the window becomes.
    pub window: UndoWindow,
    /// D-SACKs undo a reduction only if something was retransmitted.
    pub needs_retransmission: bool,
    /// After a time-out only an acknowledgment of new data is evidence.
    pub needs_progress: bool,
    /// Without SACK the time of the first retransmission may have been forgotten at the end of an episode; that it is
    /// missing is then no evidence that nothing was retransmitted.
    pub stamp_may_be_missing: bool,
}

/// The window after a reduction that turned out to be needless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoWindow {
    /// What the congestion control says; the threshold where that is not restored.
    Control,
    /// The window before the reduction.
    Prior,
}

/// Where the window is cut to what is in flight plus `reordering`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moderation {
    /// In every state but recovery, and after an undo.
    Always,
    /// In the states Disorder and Loss.
    Disorder,
    /// Nowhere.
    Never,
}

/// The time-out of a tail loss probe, and what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeTimeout {
    /// 3.10: 2 srtt, at least 10 ms; for a lone segment at least 1.5 srtt + 200 ms.
    Linux3_10,
    /// RFC 8985 §7.2 as in 6.1: 2 srtt + 2 ms; for a lone segment 2 srtt + 200 ms.
    Linux6_1,
}

/// When the window counts as used, so that it may grow (RFC 7661).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CwndValidation {
    /// In flight was at most `reordering` segments less than the window.
    InFlight,
    /// In flight was at most three segments less than the window, whatever the reordering.
    NearlyFull,
    /// The last round was limited by the window; in slow start twice its largest flight exceeds the window.
    Round,
}

/// Compressed acknowledgments (Linux 4.18 on).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompressedAcks {
    /// Longest wait.
    pub delay: Duration,
    /// … and at most the RTT divided by this.
    pub rtt_divisor: u32,
    /// Segments that may wait.
    pub max_segments: u32,
}

impl Stack {
    /// The stack's clock.
    pub const fn clock(&self) -> Clock {
        Clock::new(self.tick)
    }

    /// Whether the receiver's window grows: not if its size is fixed.
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

    /// Whether the application of its senders writes ahead into a buffer.
    pub fn has_send_buffer(&self) -> bool {
        self.buffers_sends
    }

    /// Whether its senders can be paced by their host: fq is part of Linux since 3.12.
    pub fn may_be_paced(&self) -> bool {
        self.recovers_first()
    }

    /// Whether it is a simulator's stack, ns-2's, to whose results the order of that simulator's events belongs.
    pub fn runs_in_ns2(&self) -> bool {
        self.machine == RecoveryMachine::Ns2
    }

    /// Whether an acknowledgment is dealt with in the order recovery, window, transmission.
    pub(super) fn recovers_first(&self) -> bool {
        self.machine == RecoveryMachine::Linux3_10
    }

    /// Whether its senders have no mechanism that follows every segment sent: bursts, the use of the window, the
    /// timing of single segments, and what only the machine from 3.10 on has (RACK, rate samples, pacing).
    pub(super) fn is_plain(&self) -> bool {
        let follows = self.bursts || self.validates_every_send || !self.timestamps;
        self.machine == RecoveryMachine::Linux2_6 && !follows
    }

    /// The tick at which a timer expires that is set at `now` for `ticks` from then.
    #[inline]
    pub(super) fn expiry(&self, now: Ticks, ticks: Ticks) -> Ticks {
        if self.timer_wheel { on_wheel(now, ticks) } else { now + ticks }
    }

    /// The stack called `name`.
    pub fn find(name: &str) -> Option<&'static Self> {
        STACKS.iter().find(|(n, _)| *n == name).map(|(_, stack)| *stack)
    }
}

/// Linux's timer wheel (`calc_index`): levels of 64 slots, each eight times as coarse as the one before; a timer
/// expires with the slot after its own, so never early.
pub(crate) fn on_wheel(now: Ticks, ticks: Ticks) -> Ticks {
    let mut level = 0;
    while level < 8 && ticks >= 63 << (3 * level) {
        level += 1;
    }
    (((now + ticks) >> (3 * level)) + 1) << (3 * level)
}

/// The newest Linux: the last one in the registry. Who sends, where nothing is said.
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

        const STACKS: &[(&str, &Stack)] = &[ $( ($name, &$module::STACK), )+ ];
    };
}

// Linux's in the order of their age, then the others.
stacks! {
    "linux-2.6.29" => linux_2_6_29, "Linux 2.6.29 (2009): IW 3, SACK + FACK + D-SACK, rate halving, F-RTO, RTO from 3 s";
    "linux-3.8" => linux_3_8, "Linux 3.8 (2013): IW 10, SACK + FACK + D-SACK, PRR, early retransmit, ABC, F-RTO, RTO from 1 s";
    "linux-3.13" => linux_3_13, "Linux 3.13 (2014): as 3.8 without ABC, with tail loss probe; slow start counts packets";
    "linux-6.1" => linux_6_1, "Linux 6.1 (2022): IW 10, RACK-TLP, PRR, F-RTO, growth counts packets, compressed ACKs";
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
