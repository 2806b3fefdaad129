//! Congestion control of a connection that an agent controls.

use super::action::ActionKind;
use super::shared_state::{MIN_CWND, SharedState};
use sojourn_aqm::{Instant, Rate, Rng};
use sojourn_tcp::cc::{
    Ack, AnyCc, BurstSize, CongestionControl, CongestionEvent, DeliveryControl, Flight, LostSegment, Needs,
    SteeringControl, Window, WindowControl, WindowEvent,
};
use sojourn_tcp::stack::Stack;
use sojourn_tcp::{CaState, RateSample};
use std::sync::Arc;

/// Applies the agent's actions from the shared state, and records each ACK's measurements there. An action takes effect
/// with the next ACK.
#[derive(Clone, Debug)]
pub(super) struct AgentControl {
    state: Arc<SharedState>,
    action: ActionKind,
    /// Congestion control below actions that do not replace it.
    base: AnyCc,
    /// Needs of `base`.
    needs: Needs,
    gain: f64,
    /// Whether an RTO leaves the window to the agent.
    keeps_cwnd_on_rto: bool,
    /// Target window in segments, or target pacing rate in bit/s.
    target: f64,
    /// Initial window in segments.
    initial_cwnd: u32,
    /// Set by an RTO: the window grows by the delivered segments until it reaches the target again.
    collapsed: bool,
}

impl AgentControl {
    pub fn new(state: Arc<SharedState>, action: ActionKind, base: AnyCc, gain: f64, keeps_cwnd_on_rto: bool) -> Self {
        let needs = base.needs();
        Self { state, action, base, needs, gain, keeps_cwnd_on_rto, target: 0.0, initial_cwnd: 0, collapsed: false }
    }

    /// Applies all due actions.
    fn apply_actions(&mut self, flight: &mut Flight) {
        let mut state = self.state.lock();
        while let Some(action) = state.pop_due(flight.now) {
            match self.action {
                ActionKind::Native => {}
                ActionKind::CwndScale => {
                    let (cwnd, most) = (flight.window.cwnd, state.max_cwnd(self.initial_cwnd));
                    let wanted = libm::round(self.action.apply(action, f64::from(cwnd), self.gain)) as u32;
                    if wanted > cwnd {
                        flight.window.cwnd = wanted.min(most.max(cwnd));
                    } else if wanted < cwnd {
                        flight.window.cwnd = wanted.max(MIN_CWND.min(cwnd));
                        // Otherwise slow start would undo the reduction.
                        flight.window.ssthresh = flight.window.ssthresh.min(flight.window.cwnd);
                    }
                }
                ActionKind::RateScale | ActionKind::Rate => {
                    let (least, most) = state.rates_bps(self.initial_cwnd);
                    self.target = self.action.apply(action, self.target, self.gain).clamp(least, most);
                }
                ActionKind::Cwnd | ActionKind::CwndChoice => {
                    let most = state.max_cwnd(self.initial_cwnd).max(MIN_CWND);
                    let wanted = self.action.apply(action, self.target, self.gain);
                    self.target = wanted.clamp(MIN_CWND.into(), most.into());
                }
            }
        }
    }

    /// Sets window and rate to the target; after an RTO the window grows by `delivered` segments instead.
    fn set_target(&mut self, flight: &mut Flight, delivered: u32) {
        let wanted = if self.action.paces() {
            flight.pacing_rate = Some(Rate::from_bps(self.target as u64));
            self.state.lock().max_cwnd(self.initial_cwnd).max(MIN_CWND)
        } else {
            libm::round(self.target) as u32
        };
        let grown = flight.window.cwnd.saturating_add(delivered);
        self.collapsed = self.collapsed && grown < wanted;
        flight.window.cwnd = if self.collapsed { grown } else { wanted };
    }

    fn record(&self, flight: &Flight) {
        let mut state = self.state.lock();
        let ack = &mut state.last_ack;
        if flight.lost > ack.lost {
            ack.last_loss = Some(flight.now);
        }
        (ack.delivered, ack.delivered_ce, ack.lost) = (flight.delivered, flight.delivered_ce, flight.lost);
        (ack.in_flight, ack.cwnd, ack.mss) = (flight.in_flight, flight.window.cwnd, flight.window.mss);
        (ack.srtt, ack.is_app_limited) = (flight.srtt, flight.is_app_limited);
        ack.pacing_bps = flight.pacing_rate.map(|rate| rate.as_bps());
    }
}

impl CongestionControl for AgentControl {
    fn needs(&self) -> Needs {
        let law = self.action;
        if law.sets_rate_or_cwnd() {
            Needs {
                steers: true,
                samples: true,
                paces: law.paces(),
                reports: false,
                losses: false,
                partial_ack_ends_recovery: false,
                ..self.needs
            }
        } else {
            Needs { samples: true, ..self.needs }
        }
    }
    fn attach(&mut self, stack: &Stack, is_paced: bool) {
        // Differs: on a pacing host, the base below an agent is attached as if the host did not pace.
        if !is_paced {
            self.base.attach(stack, false);
        }
    }
    fn seed(&mut self, rng: Rng) {
        self.base.seed(rng);
    }
    fn without_ecn(&self) -> Option<AnyCc> {
        let base = self.base.without_ecn()?;
        Some(AnyCc::custom(Self::new(Arc::clone(&self.state), self.action, base, self.gain, self.keeps_cwnd_on_rto)))
    }
    fn burst(&self, rate: Option<Rate>) -> BurstSize {
        let burst = self.base.burst(rate);
        if self.action.sets_rate_or_cwnd() { BurstSize::AtLeast(burst.min_segments()) } else { burst }
    }
    fn window(&mut self) -> Option<&mut dyn WindowControl> {
        if self.needs().steers { None } else { Some(self) }
    }
    fn steering(&mut self) -> Option<&mut dyn SteeringControl> {
        if self.needs().steers { Some(self) } else { None }
    }
    fn deliveries(&mut self) -> Option<&mut dyn DeliveryControl> {
        Some(self)
    }
}

impl DeliveryControl for AgentControl {
    fn on_ack(&mut self, _: &mut Window, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.state.lock().measure(ack.now, rtt);
        }
    }
    fn on_established(&mut self, flight: &mut Flight) {
        self.initial_cwnd = flight.window.cwnd;
        let rtt = flight.min_rtt.unwrap_or(flight.srtt);
        {
            let mut state = self.state.lock();
            state.last_ack.is_open = true;
            state.first_delivered = flight.delivered;
            state.last_ack.mss = flight.window.mss;
            state.rtts.since = flight.now;
            state.measure(flight.now, rtt);
            self.target = if self.action.paces() { state.rate_of(self.initial_cwnd) } else { self.initial_cwnd.into() };
        }
        if self.action.sets_rate_or_cwnd() {
            self.set_target(flight, 0);
        } else {
            self.base.on_established(flight);
        }
        self.record(flight);
    }
    fn on_delivered(&mut self, flight: &mut Flight, packets: u32, ce: u32) {
        if !self.action.sets_rate_or_cwnd() && (self.needs.samples || self.needs.steers) {
            self.base.on_delivered(flight, packets, ce);
        }
        self.apply_actions(flight);
        self.record(flight);
    }
}

// Used if neither the action nor the base sets the window directly.
impl WindowControl for AgentControl {
    fn ssthresh(&mut self, window: &Window) -> u32 {
        self.base.ssthresh(window)
    }
    fn grow(&mut self, window: &mut Window, ack: &Ack, is_limited: bool) {
        match is_limited {
            true => self.base.grow(window, || *ack),
            false => self.base.on_unlimited_ack(window, || *ack),
        }
    }
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        match self.needs.reports {
            true => self.base.on_report(window, ack),
            false => self.base.on_ack(window, || *ack),
        }
    }
    fn event_ssthresh(&mut self, window: &Window, cause: CongestionEvent) -> Option<u32> {
        match cause {
            CongestionEvent::Loss => self.base.ssthresh_on_loss(window),
            CongestionEvent::TimeOut => Some(self.base.timeout_ssthresh(window)),
        }
    }
    fn state_changed(&mut self, window: &mut Window, state: CaState, now: Instant, nxt: u64) {
        self.base.state_changed(window, state, now, nxt);
    }
    fn event(&mut self, window: &mut Window, event: WindowEvent) {
        self.base.event(window, event);
    }
    fn min_cwnd(&mut self, window: &Window) -> u32 {
        self.base.min_cwnd(window)
    }
    fn undo_cwnd(&mut self, window: &Window) -> u32 {
        self.base.undo_cwnd(window)
    }
}

impl SteeringControl for AgentControl {
    fn on_established(&mut self, flight: &mut Flight) {
        DeliveryControl::on_established(self, flight);
    }
    fn steer(&mut self, flight: &mut Flight, sample: &RateSample) {
        if self.action.sets_rate_or_cwnd() {
            self.set_target(flight, sample.acked_sacked);
        } else {
            self.base.steer(flight, sample);
        }
        self.record(flight);
    }
    fn on_state(&mut self, flight: &mut Flight, state: CaState) {
        if !self.action.sets_rate_or_cwnd() {
            self.base.on_state(flight, state);
        } else if state == CaState::Loss {
            self.collapsed = !self.keeps_cwnd_on_rto;
            if self.keeps_cwnd_on_rto {
                self.set_target(flight, 0);
            }
        }
    }
    fn before_reduction(&mut self, window: &Window) {
        if !self.action.sets_rate_or_cwnd() {
            self.base.ssthresh(window);
        }
    }
    fn on_loss(&mut self, flight: &mut Flight, loss: &LostSegment) {
        self.base.on_loss(flight, loss);
    }
    fn probe_repaired(&mut self, flight: &mut Flight, is_app_limited: bool) {
        self.base.probe_repaired(flight, is_app_limited);
    }
    fn on_restart(&mut self, flight: &mut Flight) {
        if !self.action.sets_rate_or_cwnd() {
            self.base.on_restart(flight);
        }
    }
    fn undo_cwnd(&mut self, window: &Window) -> u32 {
        if self.action.sets_rate_or_cwnd() { window.cwnd } else { self.base.undo_cwnd(window) }
    }
}
