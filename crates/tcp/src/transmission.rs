//! Transmission: new segments, as far as the windows allow, and retransmissions.
//!
//! Source: Linux `tcp_write_xmit`, `tcp_event_new_data_sent`, `tcp_retransmit_skb`. The size of bursts is in
//! `segmentation.rs`, their transmission in `in_bursts.rs`, retransmissions in `retransmit.rs`.

mod by_pipe;
mod in_bursts;
mod report;
mod retransmit;
mod small_queues;
mod writing;

use crate::cc::{self, Needs};
use crate::config::SenderConfig;
use crate::context::AckContext;
use crate::context::Cx;
use crate::control::Control;
use crate::ecn::EcnSender;
use crate::kind::{AckKind, AnyAck};
use crate::output::Output;
use crate::pacing::Pacer;
use crate::queue::SendQueue;
use crate::rate_sample::{RateSampler, SendCounts};
use crate::receive_window::OfferedWindow;
use crate::recovery::{Episode, Recovery};
use crate::round_trip::RoundTrip;
use crate::scoreboard::Scoreboard;
use crate::segment::{AckedSegments, Segment};
use crate::segmentation::Bursts;
use crate::send_buffer::SendBuffer;
use crate::small_queue::SmallQueue;
use crate::stack::Stack;
use crate::state::CaState;
use crate::timer::{RetransmitTimer, TimerPurpose};
use crate::validation::SendOutcome;
use crate::{Flags, Header, HostTime, Wire};
use sojourn_aqm::{Instant, Rate};

/// The sending side: the send sequence, the retransmission queue, and the mechanisms of transmission. Fields used for
/// every segment come first and share a cache line.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Transmission {
    /// Nothing is suspicious: the next acknowledgment may be a [`PredictedAck`](crate::kind::PredictedAck).
    pub is_fast_path: bool,
    /// The stack has none of the mechanisms after Linux 2.6. One test for the common case.
    pub is_basic_stack: bool,
    /// Deliveries are counted.
    pub counts_deliveries: bool,
    /// The wire is notified of bursts: they are super-packets.
    has_gso: bool,
    pub ecn: EcnSender,
    pub queue: SendQueue,
    pub output: Output,
    pub timer: RetransmitTimer,
    pub rtt: RoundTrip,
    /// Paces transmissions, if the stack or the control needs it.
    pub pacer: Option<Box<Pacer>>,
    /// Data below TCP, if that is limited (TSQ).
    small_queue: Option<Box<SmallQueue>>,
    /// The send buffer, if the application writes ahead.
    buffer: Option<Box<SendBuffer>>,
    /// Takes rate samples, if the control needs them.
    pub sampler: Option<Box<RateSampler>>,
    pub offered: OfferedWindow,
    pub board: Scoreboard,
    pub bursts: Bursts,
    /// Payload bytes per second, which sizes bursts without pacing.
    pub rate: u64,
    /// The host paces regardless of the control's needs, up to the given rate if any.
    host_paces: Option<Option<Rate>>,
    stack: &'static Stack,
}

cloned_in_place! {
    Transmission {
        is_fast_path, is_basic_stack, counts_deliveries, has_gso, ecn, queue, output, timer, rtt, pacer, small_queue, buffer, sampler, offered, board, bursts,
        rate, host_paces, stack,
    }
}

impl Transmission {
    /// No segment sent yet.
    pub fn new(config: &SenderConfig) -> Self {
        let (stack, needs) = (config.stack, config.cc.needs());
        let ecn = EcnSender::new(stack, config.ecn, &needs);
        let (queue, buffer) = (SendQueue::new(config.mss), SendBuffer::for_stack(stack));
        let mut new = Self {
            is_fast_path: false,
            is_basic_stack: stack.is_basic(),
            queue: if buffer.is_some() { queue.buffered() } else { queue },
            board: Scoreboard::new(config.sack),
            offered: OfferedWindow::new(stack, config.receive_window, config.mss),
            rtt: RoundTrip::new(stack),
            timer: RetransmitTimer::new(stack),
            counts_deliveries: false,
            ecn,
            output: Output::new(stack),
            sampler: None,
            pacer: None,
            host_paces: None,
            buffer,
            small_queue: SmallQueue::for_stack(stack),
            bursts: Bursts::new(stack),
            rate: u64::MAX,
            has_gso: false,
            stack,
        };
        new.apply_needs(&needs);
        new
    }

    /// Sets up the mechanisms that a control needs, before anything is sent.
    pub fn apply_needs(&mut self, needs: &Needs) {
        let observes = (needs.flight || needs.sent) && self.stack.recovers_first();
        let samples = needs.samples || needs.steers || observes;
        self.counts_deliveries = samples || self.ecn.requests_accurate();
        self.sampler = samples.then(|| Box::new(RateSampler::new()));
        self.pacer = Pacer::for_stack(self.stack, needs.paces || self.host_paces.is_some());
        if let (Some(pacer), Some(max)) = (&mut self.pacer, self.host_paces) {
            pacer.set_max_rate(max);
        }
    }

    /// The host paces, up to rate `max`; called before anything is sent.
    pub fn pace(&mut self, max: Option<Rate>, needs: &Needs) {
        self.host_paces = Some(max);
        self.apply_needs(needs);
    }

    /// The host's device paces by departure times; called before anything is sent.
    pub fn leave_pacing_to_device(&mut self, needs: &Needs) {
        self.pace(self.host_paces.flatten(), needs);
        if let Some(pacer) = &mut self.pacer {
            pacer.delegate_to_device();
        }
    }

    /// The stack.
    pub fn stack(&self) -> &'static Stack {
        self.stack
    }

    /// Bursts leave as super-packets.
    pub fn offload(&mut self) {
        (self.bursts, self.has_gso, self.is_basic_stack) = (Bursts::offloaded(self.stack), true, false);
    }

    /// Right edge of the receiver's window.
    #[inline]
    pub fn right_edge(&self) -> u64 {
        self.offered.right_edge(self.queue.una())
    }

    /// Sends new data as far as the windows allow.
    #[inline(always)]
    pub fn send_new(&mut self, now: HostTime, control: &mut Control, recovery: &mut Recovery, wire: &mut impl Wire) {
        self.send_new_after::<AnyAck<false>>(now, control, recovery, wire);
    }

    /// [`Self::send_new`] after an acknowledgment of kind `K`.
    #[inline(always)]
    pub fn send_new_after<K: AckKind>(
        &mut self,
        now: HostTime,
        control: &mut Control,
        recovery: &mut Recovery,
        wire: &mut impl Wire,
    ) {
        if !self.is_basic_stack {
            self.send_any(now, control, recovery, wire);
        } else if K::FAST_PATH {
            self.send_plain_inline::<K>(now, control, recovery, wire);
        } else if self.board.room(control.window.cwnd) > 0 || self.queue.is_app_exhausted() {
            self.send_plain(now, control, recovery, wire);
        }
    }

    #[inline(always)]
    fn send_any(&mut self, now: HostTime, control: &mut Control, recovery: &mut Recovery, wire: &mut impl Wire) {
        self.restart_if_idle(now, control, recovery);
        if self.bursts.are_used() && self.is_held(now) {
            self.on_held_back(now, control, recovery);
        } else {
            self.send_as_stack(u32::MAX, now, (control, recovery), wire);
        }
    }

    /// Before sending: restarts the window after an idle time.
    #[inline(always)]
    fn restart_if_idle(&mut self, now: HostTime, control: &mut Control, recovery: &Recovery) {
        if self.board.packets_out() == 0 {
            control.restart_after_idle(now, self.output.last_sent(), recovery.state(), &self.rtt);
        }
    }

    /// Sends new data with none of the mechanisms after Linux 2.6. Outlined, for callers outside the fast path.
    #[inline(never)]
    fn send_plain(&mut self, now: HostTime, control: &mut Control, recovery: &mut Recovery, wire: &mut impl Wire) {
        self.send_plain_inline::<AnyAck<false>>(now, control, recovery, wire);
    }

    /// [`Self::send_plain`], compiled into the caller.
    #[inline(always)]
    fn send_plain_inline<K: AckKind>(
        &mut self,
        now: HostTime,
        control: &mut Control,
        recovery: &mut Recovery,
        wire: &mut impl Wire,
    ) {
        self.restart_if_idle(now, control, recovery);
        let episode = &mut recovery.episode;
        let (right_edge, first) = (self.right_edge(), self.queue.nxt());
        // Each segment sent adds one in flight, and nothing else changes.
        let cwnd = control.window.cwnd;
        let mut room = if K::FAST_PATH { cwnd.saturating_sub(self.board.packets_out()) } else { self.board.room(cwnd) };
        while room > 0 && wire.has_room() {
            match self.queue.take_full(right_edge, now.at) {
                Some(segment) => self.send_taken::<K, true>(segment, now, (control, episode), wire),
                None => match self.queue.next_len(right_edge) {
                    Some(len) => self.send_last(len, now, (control, episode), wire),
                    None => break,
                },
            }
            room -= 1;
        }
        debug_assert_eq!(room, self.board.room(control.window.cwnd));
        if self.queue.is_app_exhausted() {
            self.after_sending(now, self.queue.nxt() > first, false, (control, recovery));
        }
    }

    /// Sends the next new segment as a burst of its own. Outlined.
    pub fn send_one(
        &mut self,
        len: u16,
        now: HostTime,
        (control, episode): (&mut Control, &mut Episode),
        wire: &mut impl Wire,
    ) {
        let (first, begins) = (self.queue.nxt(), self.next_start(wire));
        self.send_of_burst(len, now, (control, episode), wire);
        self.on_handed_down(now, begins, (1, self.queue.payload_since(first)), wire);
        self.after_burst(now, 1, first);
        self.check_space(control, episode.reordering.degree());
    }

    /// Sends a new segment if fewer than `limit` are in flight, regardless of the congestion window.
    pub fn send_beyond(
        &mut self,
        limit: u32,
        now: HostTime,
        (control, recovery): (&mut Control, &mut Recovery),
        wire: &mut impl Wire,
    ) {
        let next = self.queue.next_len(self.right_edge()).filter(|_| self.board.in_flight() < limit && wire.has_room());
        if let Some(len) = next {
            self.send_one(len, now, (control, &mut recovery.episode), wire);
        }
    }

    /// Whether pacing holds the next burst back.
    #[inline]
    pub fn is_held(&mut self, now: HostTime) -> bool {
        self.pacer.as_mut().is_some_and(|pacer| pacer.must_wait(now.at))
    }

    /// Sends the SYN and starts its time-out.
    pub fn send_syn(&mut self, now: HostTime, wire: &mut impl Wire) {
        self.timer.restart(now, &self.rtt);
        self.output.send_syn(self.ecn.of_syn(), now, wire);
    }

    /// Sends a pure acknowledgment.
    pub fn send_pure_ack(&mut self, now: HostTime, wire: &mut impl Wire) {
        self.output.send_pure_ack(self.queue.nxt(), self.ecn.of_ack(), now, wire);
    }

    /// Removes acknowledged segments; `samples` the RTT and `restarts` the timer.
    #[inline(always)]
    pub fn clean_acked(&mut self, now: HostTime, header: &Header, samples: bool, restarts: bool) -> AckedSegments {
        let una = self.queue.una();
        let acked = self.board.acknowledge::<AnyAck<false>>(una, |_, _| {});
        self.on_cleaned(now, header, acked.packets, (samples, restarts));
        acked
    }

    /// `packets` were removed: `samples` the RTT by the echoed timestamp and `restarts` the timer.
    #[inline(always)]
    pub fn on_cleaned(&mut self, now: HostTime, header: &Header, packets: u32, (samples, restarts): (bool, bool)) {
        let una = self.queue.una();
        if packets == 0 {
            return;
        }
        if let Some(since) = samples.then(|| self.rtt.since_sent(now, header.ts_ecr, una)).flatten() {
            self.rtt.sample(since as u32, una, self.queue.nxt());
        }
        if self.board.packets_out() == 0 {
            self.timer.stop();
        } else if restarts {
            self.timer.restart(now, &self.rtt);
        }
    }

    /// The record for the congestion control: `packets` were acknowledged, the newest was sent at `last`, if
    /// known; the RTT is in ticks.
    #[inline(always)]
    pub fn cc_ack(&self, now: HostTime, packets: u32, last: Option<Instant>, state: CaState) -> cc::Ack {
        let clock = self.rtt.clock();
        let rtt = last.map_or(0, |last| now.tick.saturating_sub(clock.ticks(last)));
        let rtt = (rtt > 0).then(|| clock.duration(rtt));
        let (una, nxt) = (self.queue.una(), self.queue.nxt());
        cc::Ack { now: now.at, packets, rtt, una, nxt, state, one_way: None, slow_path: false }
    }

    /// Rearms the timer after an acknowledgment (`tcp_set_xmit_timer`): for a probe if the stack sets those in place of
    /// the time-out.
    #[inline(always)]
    pub fn rearm_timer(&mut self, now: HostTime, control: &mut Control, recovery: &Recovery) {
        let probes = recovery.episode.probe.replaces_time_out();
        if !(probes && self.schedule_loss_probe(now, true, control, recovery)) {
            self.resume_timer(now);
        }
    }

    /// Returns the timer from another purpose to the time-out.
    pub fn resume_timer(&mut self, now: HostTime) {
        self.timer.resume(now, self.board.head().map(|head| head.sent), &self.rtt);
    }

    /// Sends a new segment that is not full, or the last one.
    #[inline(never)]
    fn send_last(
        &mut self,
        len: u16,
        now: HostTime,
        (control, episode): (&mut Control, &mut Episode),
        wire: &mut impl Wire,
    ) {
        self.send_next::<true>(len, now, (control, episode), wire);
    }

    #[inline(always)]
    fn send_next<const PLAIN: bool>(
        &mut self,
        len: u16,
        now: HostTime,
        (control, episode): (&mut Control, &mut Episode),
        wire: &mut impl Wire,
    ) {
        let segment = self.queue.take(len, now.at);
        self.send_taken::<AnyAck<false>, PLAIN>(segment, now, (control, episode), wire);
    }

    /// Sends a new segment taken from the queue.
    #[inline(always)]
    fn send_taken<K: AckKind, const PLAIN: bool>(
        &mut self,
        segment: Segment,
        now: HostTime,
        (control, episode): (&mut Control, &mut Episode),
        wire: &mut impl Wire,
    ) {
        if self.board.packets_out() == 0 || self.timer.is_taken_back() {
            self.time_new(now, control, episode);
        }
        self.board.push(segment);
        let (mut flags, ecn) = self.ecn.of_new();
        if !K::FAST_PATH && episode.is_reducing() {
            episode.reduction.on_sent(1);
        }
        self.bursts.on_sent(now.at);
        if !PLAIN {
            self.rtt.on_sent(now, &segment);
            if let Some(rack) = &mut episode.rack {
                rack.on_sent(&segment);
            }
            if let Some(sampler) = &mut self.sampler {
                let (out, in_flight) = (self.board.packets_out() - 1, self.board.in_flight());
                sampler.on_sent_new(&segment, SendCounts { out, in_flight, lost: self.board.lost_total });
            }
            flags = flags.with_if(Flags::PSH, self.bursts.pushes()).with_if(Flags::CUT, self.bursts.cuts());
        }
        self.output.send_data(&segment, (flags, ecn), now, wire);
    }

    /// New data starts the time-out if nothing was outstanding, and takes the timer back from a probe or an early
    /// retransmission.
    #[inline(never)]
    fn time_new(&mut self, now: HostTime, control: &mut Control, episode: &Episode) {
        if self.board.packets_out() == 0 {
            self.timer.restart(now, &self.rtt);
            control.on_restart(now.at, self.output.last_sent());
            if control.steers() {
                self.notify_resumed(now, episode.state, control);
            }
        } else if self.timer.purpose() != TimerPurpose::Reordering {
            self.resume_timer(now);
        }
    }

    #[inline(never)]
    fn after_sending(
        &mut self,
        now: HostTime,
        sent: bool,
        limited: bool,
        (control, recovery): (&mut Control, &mut Recovery),
    ) {
        self.after_sending_inline(now, sent, limited, (control, recovery));
    }

    /// [`Self::after_sending`], compiled into the caller.
    #[inline(always)]
    fn after_sending_inline(
        &mut self,
        now: HostTime,
        sent: bool,
        limited: bool,
        (control, recovery): (&mut Control, &mut Recovery),
    ) {
        let limited = limited || self.board.in_flight() >= control.window.cwnd;
        if !sent && !limited {
            return;
        }
        let (out, una, nxt) = (self.board.packets_out(), self.queue.una(), self.queue.nxt());
        let (state, is_app_exhausted) = (recovery.state(), self.queue.is_app_exhausted());
        let after = SendOutcome { sent, limited, out, una, nxt, state, is_app_exhausted };
        control.usage.after_sending(now, &after, &self.rtt, &mut control.window);
        if sent {
            self.schedule_loss_probe(now, false, control, recovery);
        }
    }

    /// Sets the timer for a tail loss probe; see [`LossProbe::schedule`](crate::tlp::LossProbe::schedule).
    #[inline(always)]
    pub fn schedule_loss_probe(
        &mut self,
        now: HostTime,
        advancing: bool,
        control: &mut Control,
        recovery: &Recovery,
    ) -> bool {
        // Most states of a flow with losses allow none.
        recovery.episode.probe.is_allowed(recovery.state()) && self.set_loss_probe(now, advancing, control, recovery)
    }

    #[inline(never)]
    fn set_loss_probe(&mut self, now: HostTime, advancing: bool, control: &mut Control, recovery: &Recovery) -> bool {
        recovery.episode.probe.schedule(advancing, &mut self.cx(now, control))
    }

    /// The state that an acknowledgment changes.
    #[inline]
    pub fn ack_context(&mut self) -> AckContext<'_> {
        let sampler = self.sampler.as_deref_mut();
        AckContext { queue: &self.queue, board: &mut self.board, rtt: &mut self.rtt, sampler }
    }

    /// The context of recovery.
    #[inline]
    pub fn cx<'a>(&'a mut self, now: HostTime, control: &'a mut Control) -> Cx<'a> {
        let right_edge = self.right_edge();
        Cx {
            now,
            queue: &self.queue,
            right_edge,
            board: &mut self.board,
            control,
            ecn: &mut self.ecn,
            rtt: &self.rtt,
            timer: &mut self.timer,
        }
    }
}

#[cfg(test)]
mod tests;
