//! The congestion control of a connection under an agent.

use super::board::{Board, LEAST_CWND};
use super::law::Law;
use sojourn_aqm::{Instant, Rate, Rng};
use sojourn_tcp::cc::{Ack, AnyCc, CongestionControl, Flight, Loss, Needs, Report, Window};
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
            Needs { steers: true, samples: true, paces: law.paces(), reports: false, losses: false, ..self.needs }
        } else {
            Needs { samples: true, ..self.needs }
        }
    }
    fn attach(&mut self, stack: &Stack) {
        self.base.attach(stack);
    }
    fn acked(&mut self, window: &mut Window, ack: impl Fn() -> Ack) {
        let told = ack();
        if let Some(rtt) = told.rtt {
            self.board.lock().measure(told.now, rtt);
        }
        if !self.law.steers() {
            self.base.acked(window, ack);
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
        } else if self.needs.samples || self.needs.steers {
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
    fn increase(&mut self, window: &mut Window, packets: u32, ack: impl Fn() -> Ack) {
        self.base.increase(window, packets, ack);
    }
    fn unused(&mut self, window: &mut Window, packets: u32, ack: impl Fn() -> Ack) {
        if !self.law.steers() {
            self.base.unused(window, packets, ack);
        }
    }
    fn reported(&mut self, window: &mut Window, report: &Report) {
        if !self.law.steers() {
            self.base.reported(window, report);
        }
    }
    fn state_changed(&mut self, state: State, now: Instant, nxt: u64) {
        if !self.law.steers() {
            self.base.state_changed(state, now, nxt);
        }
    }
    fn ssthresh(&mut self, window: &Window) -> u32 {
        if self.law.steers() { window.ssthresh } else { self.base.ssthresh(window) }
    }
    fn ssthresh_on_loss(&mut self, window: &Window) -> Option<u32> {
        if self.law.steers() { None } else { self.base.ssthresh_on_loss(window) }
    }
    fn timeout_ssthresh(&mut self, window: &Window) -> u32 {
        if self.law.steers() { window.ssthresh } else { self.base.timeout_ssthresh(window) }
    }
    fn reduced(&mut self, window: &mut Window) {
        if !self.law.steers() {
            self.base.reduced(window);
        }
    }
    fn min_cwnd(&self, window: &Window) -> u32 {
        if self.law.steers() { LEAST_CWND } else { self.base.min_cwnd(window) }
    }
    fn undone(&mut self, window: &Window) -> u32 {
        if self.law.steers() { window.cwnd } else { self.base.undone(window) }
    }
    fn timed_out(&mut self) {
        if !self.law.steers() {
            self.base.timed_out();
        }
    }
    fn restarted(&mut self, now: Instant, last_sent: Instant) {
        if !self.law.steers() {
            self.base.restarted(now, last_sent);
        }
    }
    fn partial_ack_ends_recovery(&self) -> bool {
        !self.law.steers() && self.base.partial_ack_ends_recovery()
    }
    fn without_ecn(&self) -> Option<AnyCc> {
        let base = self.base.without_ecn()?;
        Some(AnyCc::own(Self::new(Arc::clone(&self.board), self.law, base, self.gain, self.keeps)))
    }
    fn seed(&mut self, rng: Rng) {
        self.base.seed(rng);
    }
    fn lost(&mut self, flight: &mut Flight, loss: &Loss) {
        self.base.lost(flight, loss);
    }
    fn probe_repaired(&mut self, flight: &mut Flight, is_app_limited: bool) {
        self.base.probe_repaired(flight, is_app_limited);
    }
    fn least_burst(&self, rate: Option<Rate>) -> u32 {
        self.base.least_burst(rate)
    }
    fn burst(&self) -> Option<u32> {
        if self.law.steers() { None } else { self.base.burst() }
    }
    fn resumed(&mut self, flight: &mut Flight) {
        if !self.law.steers() {
            self.base.resumed(flight);
        }
    }
}
