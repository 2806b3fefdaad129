//! The sending endpoint. It arranges the mechanisms, each a type of its own.
//!
//! Source: Linux `tcp_input.c`, `tcp_output.c` and `tcp_timer.c`.
//!
//! The path of an acknowledgment is in `sender/ack.rs`, that of ns-2 in `sender/ns2.rs`.

mod ack;
mod ns2;

use crate::cc::Window;
use crate::config::SenderConfig;
use crate::context::Rexmit;
use crate::control::Control;
use crate::handshake::{Handshake, Phase};
use crate::recovery::Recovery;
use crate::stack::{RecoveryMachine, Stack};
use crate::state::CaState;
use crate::stats::SenderStats;
use crate::timer::TimerPurpose;
use crate::transmission::Transmission;
use crate::{Header, HostTime, SenderEvent, Wire, snapshot};
use sojourn_aqm::{Instant, Rate, Rng};

/// The sending half of a connection. Fields used for every segment come first, next to those that the host has before
/// it.
#[repr(C)]
#[derive(Debug)]
pub struct Sender {
    /// Selects the order of an acknowledgment's processing.
    machine: RecoveryMachine,
    transmission: Transmission,
    recovery: Recovery,
    control: Control,
    handshake: Handshake,
}

cloned_in_place! { Sender { machine, transmission, recovery, control, handshake } }

impl Sender {
    /// A closed connection.
    ///
    /// # Panics
    ///
    /// If the stack lacks a mechanism that the congestion control [needs](crate::cc::Needs::is_met_by).
    pub fn new(config: SenderConfig) -> Self {
        assert!(config.cc.needs().is_met_by(config.stack), "the stack has what the congestion control needs");
        let transmission = Transmission::new(&config);
        Self {
            machine: config.stack.machine,
            handshake: Handshake::new(),
            control: Control::from_config(&config, transmission.offered.bytes()),
            recovery: Recovery::new(config.stack, config.sack),
            transmission,
        }
    }

    /// With appropriate byte counting (RFC 3465): in slow start an acknowledgment counts for up to `max` segments, 1 or
    /// 2; 0 switches it off. Linux's `tcp_abc`.
    ///
    /// # Panics
    ///
    /// If the stack does not [have it](crate::stack::Stack::has_byte_counting).
    pub fn with_byte_counting(mut self, max: u32) -> Self {
        assert!(self.control.window.counting.may_be_bytes(), "the stack has appropriate byte counting");
        self.control.set_byte_counting(max);
        self
    }

    /// With segmentation offload: new segments leave in bursts by the stack's own rule, each burst between
    /// [`Wire::begin_burst`] and [`Wire::end_burst`].
    ///
    /// # Panics
    ///
    /// If the stack does not [have it](crate::stack::Stack::has_segmentation_offload).
    pub fn with_segmentation_offload(mut self) -> Self {
        self.transmission.offload();
        self.control.usage.may_defer();
        self
    }

    /// With pacing by the host, as fq or `SO_MAX_PACING_RATE` make Linux do: segments leave at 200 % of the window per
    /// RTT in the first half of slow start and 120 % after it, or at the control's rate, limited to `max` bits of
    /// payload per second.
    ///
    /// # Panics
    ///
    /// If the stack does not [have it](crate::stack::Stack::may_be_paced).
    pub fn with_pacing(mut self, max: Option<Rate>, stack: &Stack) -> Self {
        assert!(stack.may_be_paced(), "the stack can be paced");
        let needs = self.control.cc.needs();
        self.control.cc.attach(stack, true);
        self.transmission.pace(max, &needs);
        self
    }

    /// Limits the memory of unacknowledged data that the application has written, headers and descriptors included, to
    /// `max` bytes: the last value of Linux's `tcp_wmem`. Without it there is no limit.
    ///
    /// # Panics
    ///
    /// If the stack does not [have such a buffer](crate::stack::Stack::has_send_buffer).
    pub fn with_send_buffer(mut self, max: u64) -> Self {
        assert!(self.transmission.limit_buffer(max), "the stack has a send buffer");
        self
    }

    /// With Nagle's algorithm (RFC 896): a segment that is not full waits until nothing is outstanding.
    pub fn with_nagle(mut self) -> Self {
        self.transmission.queue.enable_nagle();
        self
    }

    /// Seeds the congestion control with a stream of random numbers.
    pub fn with_rng(mut self, rng: Rng) -> Self {
        self.control.cc.seed(rng);
        self
    }

    /// Becomes a copy of `other`, which is closed, with a stream of random numbers for the congestion control. Keeps
    /// its own memory for segments.
    pub fn become_like(&mut self, other: &Self, rng: Rng) {
        let memory = self.transmission.board.take_memory();
        self.clone_from(other);
        self.transmission.board.put_memory(memory);
        self.control.cc.seed(rng);
    }

    /// Opens the connection with `bytes` to send; `None` for an endless source.
    pub fn open(&mut self, now: Instant, bytes: Option<u64>, wire: &mut impl Wire) {
        let now = self.enter(now);
        self.transmission.queue.open(bytes);
        if self.transmission.stack().small_queues && wire.is_pacing() {
            self.control.cc.attach(self.transmission.stack(), true);
            let needs = self.control.cc.needs();
            self.transmission.leave_pacing_to_device(&needs);
        }
        self.handshake.on_syn_sent(now);
        self.transmission.send_syn(now, wire);
        self.end_event(now, wire);
    }

    /// Opens a connection with data in both directions. The data follows by [`Self::write`]; one handshake serves both
    /// directions.
    pub fn connect(&mut self, now: Instant, wire: &mut impl Wire) {
        self.open(now, Some(0), wire);
        self.transmission.queue.stay_open();
    }

    /// Passive side: the first segment after the SYN arrived, and data may be sent from now on. The RTT sample is the
    /// time since the SYN-ACK.
    pub fn accept(&mut self, now: Instant, header: &Header) {
        let now = self.enter(now);
        if self.handshake.on_connection(header) {
            self.transmission.ecn.on_accept();
            self.establish(now, header);
        }
    }

    /// The application, which has not stopped, writes `bytes`.
    pub fn write(&mut self, now: Instant, bytes: u64, wire: &mut impl Wire) {
        if self.handshake.is_established() {
            self.transmission.check_application(self.enter(now), &self.control, wire);
        }
        self.transmission.queue.write(bytes);
        self.on_room(now, wire);
    }

    /// The next write of the application is the last: a FIN follows it.
    pub fn end_with_next(&mut self) {
        self.transmission.queue.end();
    }

    /// The application stops: nothing but a FIN is sent for the first time.
    pub fn close(&mut self, now: Instant, wire: &mut impl Wire) {
        self.transmission.close();
        self.on_room(now, wire);
    }

    /// The host has room for new data again.
    pub fn on_room(&mut self, now: Instant, wire: &mut impl Wire) {
        if self.handshake.is_established() {
            let now = self.enter(now);
            self.send_new(now, wire);
            self.fill_send_buffer(now, wire);
            self.end_event(now, wire);
        }
    }

    /// Packets in the host's device have begun to leave or were dropped, after [`Wire::notify_on_departure`].
    pub fn on_departure(&mut self, now: Instant, wire: &mut impl Wire) {
        if self.handshake.is_established() {
            let now = self.enter(now);
            let Self { transmission: tx, recovery, control, .. } = self;
            tx.send_held(now, control, recovery, wire);
            tx.wake_application(now, control, recovery, wire);
            self.end_event(now, wire);
        }
    }

    /// To be called at [`Self::deadline`]; an early call does nothing.
    pub fn on_timer(&mut self, now: Instant, wire: &mut impl Wire) {
        let now = self.enter(now);
        let Self { transmission: tx, recovery, control, .. } = self;
        if tx.wait_is_over(now) {
            tx.send_held(now, control, recovery, wire);
        }
        if tx.timer.is_due(now) {
            wire.notify(|| SenderEvent::Expired(tx.timer.purpose()));
        }
        match self.handshake.phase() {
            _ if !self.transmission.timer.is_due(now) => {}
            Phase::Closed => self.transmission.timer.stop(),
            Phase::SynSent => {
                let tx = &mut self.transmission;
                tx.output.stats.timeouts += 1;
                tx.rtt.back_off();
                tx.ecn.on_syn_lost();
                if self.machine == RecoveryMachine::Ns2 {
                    // `TcpAgent::timeout`: a window of one segment was lost (`wnd_init_ = 1`, bugfix_ss_).
                    (self.control.window.cwnd, self.control.window.ssthresh) = (1, 2);
                }
                self.handshake.on_syn_sent(now);
                tx.send_syn(now, wire);
            }
            Phase::Established => self.on_expiry(now, wire),
        }
        let Self { transmission: tx, recovery, control, .. } = self;
        tx.wake_application(now, control, recovery, wire);
        self.end_event(now, wire);
    }

    /// When [`Self::on_timer`] is to be called.
    pub fn deadline(&self) -> Instant {
        let tx = &self.transmission;
        if tx.is_basic_stack {
            return tx.timer.deadline(tx.rtt.clock());
        }
        let timer = tx.timer.deadline(tx.rtt.clock()).min(tx.has_room_below_at());
        tx.pacer.as_ref().map_or(timer, |pacer| pacer.wakeup().min(timer))
    }

    /// Congestion window and slow-start threshold, in segments.
    pub fn window(&self) -> &Window {
        &self.control.window
    }

    /// Smoothed RTT in seconds; zero before the first sample.
    pub fn srtt_s(&self) -> f64 {
        self.transmission.rtt.srtt_s()
    }

    /// Sum of all RTT samples in nanoseconds, and their number.
    pub fn rtt_total(&self) -> (u64, u64) {
        self.transmission.rtt.total()
    }

    /// Segments in flight, by the sender's estimate.
    pub fn in_flight(&self) -> u32 {
        self.transmission.board.in_flight()
    }

    /// Bytes that the application has written and that were not sent yet.
    pub fn unsent_bytes(&self) -> u64 {
        self.transmission.queue.unsent_bytes()
    }

    /// State of congestion avoidance.
    pub fn state(&self) -> CaState {
        self.recovery.state()
    }

    /// Counters.
    pub fn stats(&self) -> &SenderStats {
        &self.transmission.output.stats
    }

    /// Next sequence number to be sent.
    #[cfg(any(test, feature = "conformance"))]
    pub(crate) fn nxt(&self) -> u64 {
        self.transmission.queue.nxt()
    }

    /// Whether everything is acknowledged, up to the FIN.
    pub fn is_finished(&self) -> bool {
        self.transmission.queue.fin_sent() && self.transmission.board.packets_out() == 0
    }

    /// Begins an event at `now`.
    #[inline]
    fn enter(&self, now: Instant) -> HostTime {
        self.transmission.rtt.clock().now(now)
    }

    fn on_syn_ack(&mut self, now: HostTime, header: &Header, wire: &mut impl Wire) {
        if !self.handshake.on_syn_ack(header) {
            return;
        }
        self.transmission.ecn.on_syn_ack(header.flags);
        if !self.transmission.ecn.is_used() {
            if let Some(cc) = self.control.cc.without_ecn() {
                self.transmission.apply_needs(&cc.needs());
                self.control.replace(self.transmission.stack(), cc);
            }
        }
        self.transmission.timer.stop();
        self.establish(now, header);
        if self.transmission.output.acks_handshake() {
            self.transmission.send_pure_ack(now, wire);
        }
        self.send_new(now, wire);
        self.fill_send_buffer(now, wire);
    }

    fn establish(&mut self, now: HostTime, header: &Header) {
        let tx = &mut self.transmission;
        tx.queue.established();
        tx.output.init_ts_recent(header.ts_val);
        if let Some(rtt) = self.handshake.rtt_sample(now, header, &tx.rtt) {
            tx.rtt.sample(rtt, tx.queue.una(), tx.queue.nxt());
            if let Some(rack) = &mut self.recovery.episode.rack {
                rack.observe_rtt(now.at, tx.rtt.span(rtt));
            }
            if let Some(sampler) = &mut tx.sampler {
                sampler.observe_rtt(now.at, tx.rtt.span(rtt));
            }
        }
        if let Some(sampler) = &mut tx.sampler {
            // The first write of the application is one into an idle connection.
            sampler.mark_app_limited(0);
        }
        tx.with_control(now, self.recovery.state(), &mut self.control, |cc, flight| cc.on_established(flight));
        tx.follow_window(&self.control);
        tx.open_buffer(&self.control, &self.recovery);
        self.control.usage.on_cwnd_checked(now);
    }

    /// The application writes, as far as there is room.
    fn fill_send_buffer(&mut self, now: HostTime, wire: &mut impl Wire) {
        let Self { transmission: tx, recovery, control, .. } = self;
        tx.write_ahead(now, control, recovery, wire);
    }

    /// Ends an event: reports what was sent to a control that wants it, and the rest of the event to a host that
    /// observes the sender.
    #[inline(always)]
    fn end_event(&mut self, now: HostTime, wire: &mut impl Wire) {
        if self.control.wants_sent() {
            self.transmission.notify_sent(now, self.recovery.state(), &mut self.control);
        }
        if wire.observes_sender() {
            snapshot::report_state(&mut self.transmission, &self.control, &self.recovery, wire);
        }
    }

    #[inline]
    fn send_new(&mut self, now: HostTime, wire: &mut impl Wire) {
        self.transmission.send_new(now, &mut self.control, &mut self.recovery, wire);
    }

    /// The timer has expired.
    #[inline(never)]
    fn on_expiry(&mut self, now: HostTime, wire: &mut impl Wire) {
        self.transmission.is_fast_path = false;
        let Self { transmission: tx, recovery, control, .. } = self;
        tx.show_flight(now, recovery.state(), control);
        let reordering = tx.timer.purpose() == TimerPurpose::Reordering;
        let rexmit = tx.on_expiry(now, control, recovery, wire);
        self.xmit_recovery(rexmit, now, wire);
        if reordering && self.transmission.timer.purpose() != TimerPurpose::Retransmit {
            self.transmission.resume_timer(now);
        }
    }

    /// Sends as requested by recovery (`tcp_xmit_recovery`).
    #[inline(always)]
    fn xmit_recovery(&mut self, rexmit: Rexmit, now: HostTime, wire: &mut impl Wire) {
        match rexmit {
            Rexmit::Nothing | Rexmit::Hold => {}
            Rexmit::Lost => {
                let cwnd = self.control.window.cwnd;
                self.transmission.retransmit_lost(now, cwnd, (&self.control, &mut self.recovery), wire);
            }
            _ => self.send_lost_and_new(rexmit, now, wire),
        }
    }

    #[inline(never)]
    fn send_lost_and_new(&mut self, rexmit: Rexmit, now: HostTime, wire: &mut impl Wire) {
        match rexmit {
            Rexmit::Nothing | Rexmit::Hold | Rexmit::Lost => {}
            Rexmit::ByPipe => self.transmission.send_by_pipe(now, &mut self.control, &mut self.recovery, wire),
            Rexmit::LostBeyond(more) => {
                let limit = self.control.window.cwnd + more;
                self.transmission.retransmit_lost(now, limit, (&self.control, &mut self.recovery), wire);
                // `send_one`: after retransmissions comes new data.
                self.transmission.send_beyond(limit, now, (&mut self.control, &mut self.recovery), wire);
            }
            Rexmit::Head | Rexmit::HeadOnly => {
                self.transmission.retransmit((0, 1), now, &mut self.recovery.episode, wire);
            }
            Rexmit::New => {
                self.send_new(now, wire);
                if self.transmission.queue.nxt() > self.recovery.episode.high_seq {
                    return;
                }
                self.recovery.end_test();
                self.xmit_recovery(Rexmit::Lost, now, wire);
            }
        }
    }
}

#[cfg(test)]
#[path = "tests/mod.rs"]
mod tests;
