//! Processing of an acknowledgment: one function, compiled for several [kinds](AckKind) of acknowledgment.
//!
//! Source: Linux 6.1 and 2.6.29 `tcp_ack`. Up to Linux 3.9 the window grows before recovery; from 3.10 on recovery
//! decides first, then the window moves, then segments are sent.
//!
//! Decisions, and their places in Linux's `tcp_input.c`:
//!
//! | decision | here | Linux |
//! |---|---|---|
//! | kind of the acknowledgment | `Sender::classify` and `update_fast_path`; `on_segment` picks the [`AckKind`] of the class | header prediction in `tcp_rcv_established`, `flag` in `tcp_ack` |
//! | duplicate | [`AckInfo::is_duplicate`], read by the machines' `on_ack` | `FLAG_NOT_DUP` in `tcp_ack`, `tcp_fastretrans_alert` |
//! | … reported by D-SACK | [`reports_dsack`](crate::scoreboard::reports_dsack), counted by `Undo::count_duplicate` | `tcp_check_dsack` |
//! | SACK, also of a partial acknowledgment | `AckInfo::process_sacks` of `clean_rtx_queue.rs`, `Recovery::on_sacks`, `Scoreboard::tag`; whole segments only (`tag_range`) | `tcp_sacktag_write_queue`, `tcp_sacktag_one` |
//! | partial acknowledgment in recovery | `Linux3_10::try_undo_partial`, `Linux2_6::on_partial_ack` | `tcp_try_undo_partial` |
//! | loss by time (RACK), and its timer | `identify_loss` of `recovery/linux_3_10.rs`, `Rack::detect_if_advanced`; `Episode::on_reordering_timeout` | `tcp_identify_packet_loss`, `tcp_rack_mark_lost`, `tcp_rack_reo_timeout` |
//! | loss by count | `Episode::is_time_to_recover`, `Episode::mark_lost_by_count` | `tcp_time_to_recover`, `tcp_update_scoreboard` |
//! | tail loss probe: outcome | `Recovery::judge_probe` | `tcp_process_tlp_ack` |
//! | … schedule | `LossProbe::schedule`, after new data (`Transmission::after_sending_inline`), instead of a time-out (`recover_then_grow`, later stacks), after each acknowledgment (`on_ack_inline`, earlier ones) | `tcp_schedule_loss_probe` |
//! | … expiry | `Transmission::send_loss_probe` of `expiry.rs` | `tcp_send_loss_probe` (`tcp_output.c`) |
//! | spurious time-out (F-RTO) | `Linux3_10::on_ack_in_loss`; up to 3.9 `Recovery::test_time_out` | `tcp_process_loss`; `tcp_process_frto` |
//! | end of CWR and Recovery | `leave_finished_state` of the machine | `tcp_fastretrans_alert`, step D |
//! | end of Loss | `Linux3_10::on_ack_in_loss`, `Linux2_6::on_ack` | `tcp_process_loss`, `tcp_try_undo_loss` |
//! | retransmission and new data | `Sender::xmit_recovery`, `Sender::send_new` | `tcp_xmit_recovery`, `tcp_data_snd_check` |

use super::Sender;
use crate::ack::AckInfo;
use crate::context::{PriorState, Rexmit};
use crate::handshake::Phase;
use crate::kind::{AckKind, AnyAck, DuplicateAck, NewDataAck, PredictedAck};
use crate::stack::RecoveryMachine;
use crate::state::CaState;
use crate::{Flags, Header, HostTime, SenderEvent, Wire};
use sojourn_aqm::Instant;

/// Class of an acknowledgment by its header and the sender's state. Together with the recovery machine it selects the
/// [`AckKind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AckClass {
    Predicted,
    NewData,
    Duplicate,
    Any,
}

impl Sender {
    /// Processes a segment from the receiver.
    pub fn on_segment(&mut self, now: Instant, header: &Header, wire: &mut impl Wire) {
        let now = self.enter(now);
        wire.notify(|| SenderEvent::Received { header, len: self.transmission.output.len_of(header) });
        match (self.machine, self.classify(header)) {
            (RecoveryMachine::Linux2_6, AckClass::Predicted) => {
                self.on_ack_inline::<PredictedAck<false>>(now, header, wire)
            }
            (RecoveryMachine::Linux2_6, AckClass::NewData) => self.on_ack::<NewDataAck>(now, header, wire),
            (RecoveryMachine::Linux2_6, AckClass::Duplicate) => self.on_ack::<DuplicateAck>(now, header, wire),
            (RecoveryMachine::Linux3_10, AckClass::Predicted) if self.transmission.pacer.is_none() => {
                self.on_ack::<PredictedAck<true>>(now, header, wire)
            }
            (_, class) => self.on_segment_of(class, now, header, wire),
        }
        self.end_event(now, wire);
    }

    /// Class of a segment from the receiver. The bitwise `&` of flags and header fields makes one branch per class,
    /// instead of one per condition.
    #[inline(always)]
    pub(super) fn classify(&self, header: &Header) -> AckClass {
        let tx = &self.transmission;
        let una = tx.queue.una();
        let advances = (una < header.ack) & (header.ack <= tx.queue.nxt());
        let is_usual = !header.flags.has_any(Flags::SYN.with(Flags::ECE));
        if tx.is_fast_path & advances & header.sack.is_empty() & is_usual {
            AckClass::Predicted
        } else if !is_usual | self.recovery.tests_time_out() | !self.handshake.is_established() {
            AckClass::Any
        } else if advances {
            AckClass::NewData
        } else if header.ack == una {
            AckClass::Duplicate
        } else {
            AckClass::Any
        }
    }

    /// Processes a segment for which only the class's conditions hold.
    #[inline(never)]
    pub(super) fn on_segment_of(&mut self, class: AckClass, now: HostTime, header: &Header, wire: &mut impl Wire) {
        if self.transmission.pacer.is_some() {
            self.expire_pacer(now, wire);
        }
        match self.handshake.phase() {
            Phase::Closed => {}
            Phase::SynSent => self.on_syn_ack(now, header, wire),
            // The last acknowledgment of the handshake was lost: the receiver repeats its SYN-ACK.
            Phase::Established if header.flags.contains(Flags::SYN) => self.transmission.send_pure_ack(now, wire),
            Phase::Established => match (self.machine, class) {
                (RecoveryMachine::Linux2_6, _) => self.on_ack::<AnyAck<false>>(now, header, wire),
                (RecoveryMachine::Linux3_10, AckClass::Predicted) => {
                    self.on_ack::<PredictedAck<true>>(now, header, wire)
                }
                (RecoveryMachine::Linux3_10, _) => self.on_ack::<AnyAck<true>>(now, header, wire),
                (RecoveryMachine::Ns2, _) => self.on_ack_ns2(now, header, wire),
            },
        }
    }

    /// Sends segments held by the pacing timer, if that expires now: Linux runs expired timers before it processes
    /// packets that a device has received meanwhile. Acknowledgments of a paced flow arrive at exactly these instants.
    #[inline(never)]
    fn expire_pacer(&mut self, now: HostTime, wire: &mut impl Wire) {
        let Self { transmission: tx, recovery, control, .. } = self;
        if tx.pacer.as_mut().is_some_and(|pacer| pacer.on_wakeup(now.at)) {
            tx.send_held(now, control, recovery, wire);
        }
    }

    /// Sets whether the next acknowledgment may be a [`PredictedAck`]: the state is Open, no segment is tagged, and
    /// nothing needs more of it than its segments and their RTT. Only acknowledgments of the general kind and an
    /// expired timer change these conditions, so they are not evaluated per acknowledgment.
    #[inline(always)]
    fn update_fast_path(&mut self) {
        let Self { transmission: tx, recovery, control, .. } = self;
        let is_open = !tx.counts_deliveries && recovery.state() == CaState::Open;
        tx.is_fast_path = is_open && {
            let is_untouched = tx.board.is_untagged_from(tx.queue.una()) && tx.board.retransmit_hint.is_none();
            is_untouched && !recovery.tests_time_out() && !control.wants_reports() && !recovery.episode.probe.is_out()
        };
    }

    /// [`Self::on_ack_inline`], outlined.
    #[inline(never)]
    fn on_ack<K: AckKind>(&mut self, now: HostTime, header: &Header, wire: &mut impl Wire) {
        self.on_ack_inline::<K>(now, header, wire);
        if !K::FAST_PATH {
            self.update_fast_path();
        }
    }

    /// Processes an acknowledgment (`tcp_ack`).
    #[inline(always)]
    fn on_ack_inline<K: AckKind>(&mut self, now: HostTime, header: &Header, wire: &mut impl Wire) {
        let Self { transmission: tx, recovery, control, .. } = self;
        if K::ADVANCES.is_none() && header.ack > tx.queue.nxt() {
            return;
        }
        if K::RECOVERY_FIRST && !K::FAST_PATH && tx.counts_deliveries {
            tx.note_timestamp(header);
        }
        tx.output.update_ts_recent(header.ts_val);
        let before = PriorState::of::<K>(&tx.queue, &tx.board);
        let mut ack = AckInfo::of(header, before.una);
        ack.advanced = K::ADVANCES.unwrap_or(ack.advanced);
        let has_sack = !K::FAST_PATH && !header.sack.is_empty() && !tx.board.is_reno();
        if K::ADVANCES.is_none() && header.ack < before.una {
            // An old acknowledgment may still carry new SACKs.
            if has_sack {
                self.on_old_sacks::<K>(&mut ack, now, header, wire);
            }
            return;
        }
        if ack.advanced {
            let bytes = tx.queue.acknowledge(header.ack);
            if K::RECOVERY_FIRST {
                recovery.episode.timeouts = 0;
            } else {
                control.count_bytes(bytes, if K::FAST_PATH { CaState::Open } else { recovery.state() });
            }
        }
        if K::RECOVERY_FIRST {
            tx.offered.on_advertisement(tx.queue.una(), header.window);
        }
        if has_sack {
            recovery.episode.undo.count_duplicate(header, before.una, &tx.board);
            ack.process_sacks::<K>(header, now, recovery, tx.ack_context());
        }
        ack.ece = K::MAY_ECHO && tx.ecn.is_echo(header);
        if K::ADVANCES != Some(true) && tx.board.packets_out() == 0 {
            if K::RECOVERY_FIRST {
                self.on_ack_of_nothing::<K>(&mut ack, now);
            }
        } else {
            ack.clean_rtx_queue::<K>(&before, now, recovery, tx.ack_context());
            if K::RECOVERY_FIRST {
                tx.free_buffer();
                self.notify::<K>(&mut ack, now, header);
                self.recover_then_grow::<K>(&before, &mut ack, now, wire);
            } else {
                tx.on_cleaned(now, header, ack.acked.packets, (true, true));
                self.grow_then_recover::<K>(&before, &mut ack, now, wire);
            }
        }
        let Self { transmission: tx, recovery, control, .. } = self;
        tx.send_new_after::<K>(now, control, recovery, wire);
        if K::RECOVERY_FIRST {
            if K::FAST_PATH && tx.timer.take_postponed() {
                tx.rearm_timer(now, control, recovery);
            }
            tx.make_room(now, control, recovery, wire);
            if recovery.episode.probe.follows_every_ack() && tx.timer.expiry().is_some() {
                tx.schedule_loss_probe(now, false, control, recovery);
            }
        }
    }

    /// Processes the SACKs of an acknowledgment below SND.UNA.
    #[inline(never)]
    fn on_old_sacks<K: AckKind>(&mut self, ack: &mut AckInfo, now: HostTime, header: &Header, wire: &mut impl Wire) {
        let Self { transmission: tx, recovery, control, .. } = self;
        ack.process_sacks::<K>(header, now, recovery, tx.ack_context());
        if K::RECOVERY_FIRST {
            if let Some(sampler) = &mut tx.sampler {
                // As in Linux, deliveries by it are not counted.
                sampler.discard();
            }
            tx.show_flight(now, recovery.state(), control);
            let rexmit = recovery.on_ack::<K>(ack, &mut tx.cx(now, control));
            self.xmit_recovery(rexmit, now, wire);
        }
    }

    /// Processes an acknowledgment while nothing is outstanding: it may carry a D-SACK, or resolve a loss probe.
    #[inline(never)]
    fn on_ack_of_nothing<K: AckKind>(&mut self, ack: &mut AckInfo, now: HostTime) {
        let Self { transmission: tx, recovery, control, .. } = self;
        tx.show_flight(now, recovery.state(), control);
        if ack.sacked.duplicate {
            recovery.on_ack::<K>(ack, &mut tx.cx(now, control));
        }
        if recovery.judge_probe(ack, tx.queue.una()) {
            recovery.episode.reduce_at_once(&mut tx.cx(now, control));
        }
    }

    /// Notifies the control before recovery and the window are considered (`pkts_acked`, `in_ack_event`).
    #[inline(always)]
    fn notify<K: AckKind>(&mut self, ack: &mut AckInfo, now: HostTime, header: &Header) {
        let Self { transmission: tx, recovery, control, .. } = self;
        let state = if K::FAST_PATH { CaState::Open } else { recovery.state() };
        if !K::FAST_PATH && tx.counts_deliveries {
            tx.show_flight(now, state, control);
        }
        if ack.data_acked() {
            control.acked(|| ack.cc_ack(ack.acked.packets, now, state, &tx.queue));
        }
        if !K::FAST_PATH && control.wants_reports() {
            control.report(&tx.report(now, header, ack, state));
        }
        if !K::FAST_PATH && tx.counts_deliveries {
            tx.count_delivery(now, header, (ack, state), control);
        }
    }

    /// Up to Linux 3.9: the window grows, then recovery decides and sends.
    #[inline(always)]
    fn grow_then_recover<K: AckKind>(
        &mut self,
        before: &PriorState,
        ack: &mut AckInfo,
        now: HostTime,
        wire: &mut impl Wire,
    ) {
        let Self { transmission: tx, recovery, control, .. } = self;
        let tests = K::MAY_TEST && recovery.tests_time_out();
        let held = tests && recovery.test_time_out(ack, &mut tx.cx(now, control));
        let state = if K::FAST_PATH { CaState::Open } else { recovery.state() };
        let is_duplicate = K::ADVANCES.map_or_else(|| ack.is_duplicate(), |advances| !advances);
        let suspicious = !K::FAST_PATH && (is_duplicate || ack.sacked.new || ack.ece || state != CaState::Open);
        if ack.acked.packets > 0 {
            let (window, ece) = (&control.window, ack.ece);
            let may_raise = || (!ece || window.cwnd < window.ssthresh) && !recovery.is_reducing();
            let may_grow = !held && (!suspicious || may_raise());
            let (packets, last) = (ack.acked.packets, ack.acked.sent_once());
            let ack_info = || tx.cc_ack(now, packets, last, state);
            control.on_ack(packets, may_grow, (before.in_flight, recovery.reordering()), ack_info);
        }
        if suspicious {
            ack.delivered = (ack.acked.packets + tx.board.sacked_out).saturating_sub(before.sacked);
            let rexmit = recovery.on_ack::<K>(ack, &mut tx.cx(now, control));
            self.xmit_recovery(rexmit, now, wire);
        }
    }

    /// From Linux 3.10 on: recovery decides, the window moves, and retransmissions are sent.
    #[inline(always)]
    fn recover_then_grow<K: AckKind>(
        &mut self,
        before: &PriorState,
        ack: &mut AckInfo,
        now: HostTime,
        wire: &mut impl Wire,
    ) {
        let Self { transmission: tx, recovery, control, .. } = self;
        let mut rexmit = Rexmit::Nothing;
        if !K::FAST_PATH {
            recovery.episode.widen_reordering_window(ack, &tx.queue);
            if recovery.judge_probe(ack, tx.queue.una()) {
                recovery.episode.reduce_at_once(&mut tx.cx(now, control));
                tx.notify_repair(now, recovery.state(), control);
            }
            let is_suspicious = ack.is_duplicate() || ack.sacked.new || ack.sacked.duplicate || ack.ece;
            if is_suspicious || recovery.state() != CaState::Open {
                rexmit = recovery.on_ack::<K>(ack, &mut tx.cx(now, control));
            }
        }
        if ack.rearms_timer {
            // In the state Open, new data sets the timer of a stack with such probes to the same.
            let postpones = recovery.episode.probe.replaces_time_out() && control.usage.validates_every_send();
            if K::FAST_PATH && postpones {
                tx.timer.postpone();
            } else {
                tx.rearm_timer(now, control, recovery);
            }
        }
        if !K::FAST_PATH && tx.sampler.is_some() {
            tx.take_rate_sample(now, before, (ack, recovery.state()), control);
            if control.steers() {
                return self.xmit_recovery(rexmit, now, wire);
            }
        }
        if !K::FAST_PATH && recovery.is_reducing() {
            let lost = (tx.board.lost_total - before.lost) as u32;
            recovery.episode.reduction.step(ack, (lost, ack.entered_recovery), control, &tx.board);
            tx.follow_window(control);
            self.xmit_recovery(rexmit, now, wire);
        } else if control.grows_before_sending() {
            self.grow::<K>(before.in_flight, ack, now);
            self.xmit_recovery(rexmit, now, wire);
        } else {
            self.xmit_recovery(rexmit, now, wire);
            self.grow::<K>(before.in_flight, ack, now);
        }
    }

    /// Grows the window; the pacing rate follows it.
    #[inline(always)]
    fn grow<K: AckKind>(&mut self, prior_in_flight: u32, ack: &AckInfo, now: HostTime) {
        let Self { transmission: tx, recovery, control, .. } = self;
        let reordering = &recovery.episode.reordering;
        // With raised reordering, SACKs count for growth as well.
        let counts = if reordering.is_raised() { ack.forward_progress() } else { ack.data_acked() };
        if counts {
            let packets = control.growth_of(ack);
            let state = if K::FAST_PATH { CaState::Open } else { recovery.state() };
            let ack_info = || ack.cc_ack(packets, now, state, &tx.queue);
            control.grow(now, prior_in_flight, reordering.degree(), ack_info);
        }
        tx.follow_window(control);
    }
}
