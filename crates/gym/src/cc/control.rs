//! The congestion control of a connection under an agent.

use super::board::{Board, LEAST_CWND};
use super::law::Law;
use sojourn_aqm::{Instant, Rate, Rng};
use sojourn_tcp::cc::{
    Ack, AnyCc, Burst, Cause, CongestionControl, DeliveryControl, Flight, Loss, Needs, SteeringControl, Window,
    WindowControl, WindowEvent,
};
use sojourn_tcp::stack::Stack;
use sojourn_tcp::{RateSample, State};
use std::sync::Arc;

/// Obeys what stands on a board, and tells it what acknowledgments tell. Orders take effect with the next acknowledgment.
#[derive(Clone, Debug)]
pub(super) struct Steered {
    board: Arc<Board>,
    law: Law,
    /// What goes on below a law that does not steer.
    base: AnyCc,
    /// What `base` needs by itself.
    needs: Needs,
    gain: f64,
    /// Whether a time-out leaves the window to the agent.
    keeps: bool,
    /// What the agent wants: segments, or bits per second.
    wanted: f64,
    /// The window of the beginning.
    first: u32,
    /// After a time-out the window grows anew, by what is delivered, until it is what the agent wants.
    collapsed: bool,
}

impl Steered {
    pub fn new(board: Arc<Board>, law: Law, base: AnyCc, gain: f64, keeps: bool) -> Self {
        let needs = base.needs();
        Self { board, law, base, needs, gain, keeps, wanted: 0.0, first: 0, collapsed: false }
    }

    /// Does what is due.
    fn obey(&mut self, flight: &mut Flight) {
        let mut state = self.board.lock();
        while let Some(action) = state.due(flight.now) {
            match self.law {
                Law::Native => {}
                Law::CwndScale => {
                    let (cwnd, most) = (flight.window.cwnd, state.most_cwnd(self.first));
                    let wanted = libm::round(self.law.act(action, f64::from(cwnd), self.gain)) as u32;
                    if wanted > cwnd {
                        flight.window.cwnd = wanted.min(most.max(cwnd));
                    } else if wanted < cwnd {
                        flight.window.cwnd = wanted.max(LEAST_CWND.min(cwnd));
                        // Else slow start would take back what was asked for.
                        flight.window.ssthresh = flight.window.ssthresh.min(flight.window.cwnd);
                    }
                }
                Law::RateScale | Law::Rate => {
                    let (least, most) = state.rates_bps(self.first);
                    self.wanted = self.law.act(action, self.wanted, self.gain).clamp(least, most);
                }
                Law::Cwnd | Law::CwndChoice => {
                    let most = state.most_cwnd(self.first).max(LEAST_CWND);
                    let wanted = self.law.act(action, self.wanted, self.gain);
                    self.wanted = wanted.clamp(LEAST_CWND.into(), most.into());
                }
            }
        }
    }

    /// Sets window and rate to what is wanted; `delivered` segments let a window grow that has collapsed.
    fn set(&mut self, flight: &mut Flight, delivered: u32) {
        let wanted = if self.law.paces() {
            flight.pacing_rate = Some(Rate::from_bps(self.wanted as u64));
            self.board.lock().most_cwnd(self.first).max(LEAST_CWND)
        } else {
            libm::round(self.wanted) as u32
        };
        let grown = flight.window.cwnd.saturating_add(delivered);
        self.collapsed = self.collapsed && grown < wanted;
        flight.window.cwnd = if self.collapsed { grown } else { wanted };
    }

    fn note(&self, flight: &Flight) {
        let mut state = self.board.lock();
        let seen = &mut state.seen;
        if flight.lost > seen.lost {
            seen.last_loss = Some(flight.now);
        }
        (seen.delivered, seen.delivered_ce, seen.lost) = (flight.delivered, flight.delivered_ce, flight.lost);
        (seen.in_flight, seen.cwnd, seen.mss) = (flight.in_flight, flight.window.cwnd, flight.window.mss);
        (seen.srtt, seen.is_app_limited) = (flight.srtt, flight.is_app_limited);
        seen.pacing_bps = flight.pacing_rate.map(|rate| rate.as_bps());
    }
}

impl CongestionControl for Steered {
    fn needs(&self) -> Needs {
        let law = self.law;
        if law.steers() {
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
        // Differs: below an agent the base takes the host for one that does not pace.
        if !is_paced {
            self.base.attach(stack, false);
        }
    }
    fn seed(&mut self, rng: Rng) {
        self.base.seed(rng);
    }
    fn without_ecn(&self) -> Option<AnyCc> {
        let base = self.base.without_ecn()?;
        Some(AnyCc::own(Self::new(Arc::clone(&self.board), self.law, base, self.gain, self.keeps)))
    }
    fn burst(&self, rate: Option<Rate>) -> Burst {
        let burst = self.base.burst(rate);
        if self.law.steers() { Burst::AtLeast(burst.least()) } else { burst }
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

impl DeliveryControl for Steered {
    fn acked(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.board.lock().measure(ack.now, rtt);
        }
    }
    fn opened(&mut self, flight: &mut Flight) {
        self.first = flight.window.cwnd;
        let rtt = flight.min_rtt.unwrap_or(flight.srtt);
        {
            let mut state = self.board.lock();
            state.seen.is_open = true;
            state.first_delivered = flight.delivered;
            state.seen.mss = flight.window.mss;
            state.rtts.since = flight.now;
            state.measure(flight.now, rtt);
            self.wanted = if self.law.paces() { state.rate_of(self.first) } else { self.first.into() };
        }
        if self.law.steers() {
            self.set(flight, 0);
        } else {
            self.base.opened(flight);
        }
        self.note(flight);
    }
    fn delivered(&mut self, flight: &mut Flight, packets: u32, ce: u32) {
        if !self.law.steers() && (self.needs.samples || self.needs.steers) {
            self.base.delivered(flight, packets, ce);
        }
        self.obey(flight);
        self.note(flight);
    }
}

// With this face neither the law nor the base steers.
impl WindowControl for Steered {
    fn ssthresh(&mut self, window: &Window) -> u32 {
        self.base.ssthresh(window)
    }
    fn grow(&mut self, window: &mut Window, ack: &Ack, is_limited: bool) {
        match is_limited {
            true => self.base.grow(window, || *ack),
            false => self.base.unused(window, || *ack),
        }
    }
    fn acked(&mut self, window: &mut Window, ack: &Ack) {
        match self.needs.reports {
            true => self.base.reported(window, ack),
            false => self.base.acked(window, || *ack),
        }
    }
    fn own_ssthresh(&mut self, window: &Window, cause: Cause) -> Option<u32> {
        match cause {
            Cause::Loss => self.base.ssthresh_on_loss(window),
            Cause::TimeOut => Some(self.base.timeout_ssthresh(window)),
        }
    }
    fn state_changed(&mut self, state: State, now: Instant, nxt: u64) {
        self.base.state_changed(state, now, nxt);
    }
    fn event(&mut self, window: &mut Window, event: WindowEvent) {
        self.base.event(window, event);
    }
    fn min_cwnd(&mut self, window: &Window) -> u32 {
        self.base.min_cwnd(window)
    }
    fn undone(&mut self, window: &Window) -> u32 {
        self.base.undone(window)
    }
}

impl SteeringControl for Steered {
    fn opened(&mut self, flight: &mut Flight) {
        DeliveryControl::opened(self, flight);
    }
    fn steer(&mut self, flight: &mut Flight, sample: &RateSample) {
        if self.law.steers() {
            self.set(flight, sample.acked_sacked);
        } else {
            self.base.steer(flight, sample);
        }
        self.note(flight);
    }
    fn entered(&mut self, flight: &mut Flight, state: State) {
        if !self.law.steers() {
            self.base.entered(flight, state);
        } else if state == State::Loss {
            self.collapsed = !self.keeps;
            if self.keeps {
                self.set(flight, 0);
            }
        }
    }
    fn before_reduction(&mut self, window: &Window) {
        if !self.law.steers() {
            self.base.ssthresh(window);
        }
    }
    fn lost(&mut self, flight: &mut Flight, loss: &Loss) {
        self.base.lost(flight, loss);
    }
    fn probe_repaired(&mut self, flight: &mut Flight, is_app_limited: bool) {
        self.base.probe_repaired(flight, is_app_limited);
    }
    fn resumed(&mut self, flight: &mut Flight) {
        if !self.law.steers() {
            self.base.resumed(flight);
        }
    }
    fn undone(&mut self, window: &Window) -> u32 {
        if self.law.steers() { window.cwnd } else { self.base.undone(window) }
    }
}
