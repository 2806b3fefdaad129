//! A run packet by packet: an agent judges each that arrives at the bottleneck.

use crate::setup::{Refused, Setup};
use sojourn_aqm::policy::{Board, Entry, Law, Observer};
use sojourn_aqm::{Ecn, Instant};
use sojourn_sim::scenario::Scenario;
use sojourn_sim::{Arriving, Simulation, Summary};
use std::sync::Arc;

/// A place for such episodes.
pub struct Packets {
    setup: Setup,
    board: Arc<Board>,
    observer: Observer,
    scenario: Option<Scenario>,
    run: Option<(Simulation, Option<Arriving>)>,
    mtu: f64,
}

/// Numbers of an observation beyond the entries: the packet's bytes over the largest packet's, whether it understands marks,
/// and whether it carries ECT(1).
pub const OF_PACKET: usize = 3;

/// What a packet is worth that is let in, and what delay and a drop cost.
const LET_IN: f64 = 1.0;
const COST: f64 = 0.5;
const MOST_DELAY: f64 = 10.0;

impl Packets {
    /// A place for episodes in which agents see `setup`'s entries.
    pub fn new(mut setup: Setup) -> Self {
        setup.sight.law = Law::Packet;
        setup.start = None;
        let board = Arc::new(Board::new(setup.sight.has(Entry::Flows)));
        let observer = Observer::new(setup.sight.clone());
        Self { setup, board, observer, scenario: None, run: None, mtu: 1.0 }
    }

    /// Numbers of an observation.
    pub fn width(&self) -> usize {
        self.setup.sight.len() + OF_PACKET
    }

    /// Lets the next episodes be of `scenario`.
    pub fn set(&mut self, scenario: Scenario) -> Result<(), Refused> {
        if scenario.links.iter().any(|hop| hop.wlan.is_some()) {
            let text = "packets are not judged one by one beside a wireless LAN; let all be links";
            return Err(Refused::Place("links", text.into()));
        }
        self.mtu = f64::from(scenario.link.mtu);
        (self.scenario, self.run) = (Some(self.setup.place(scenario, &self.board)?), None);
        Ok(())
    }

    /// Begins an episode with `seed` and goes on to the first packet; whether there is one.
    pub fn reset(&mut self, seed: u64) -> bool {
        let Some(scenario) = &self.scenario else { return false };
        self.run = None;
        self.board.clear();
        self.observer.clear();
        let mut simulation = Simulation::gated(scenario, seed);
        let arriving = simulation.next_arrival();
        self.observer.look(simulation.now(), &self.board);
        self.run = Some((simulation, arriving));
        arriving.is_some()
    }

    /// Judges the packet that has arrived, and goes on to the next one. Returns what it was worth, and whether it was the
    /// last one.
    pub fn step(&mut self, action: f64) -> (f64, bool) {
        let Some((simulation, Some(_))) = &mut self.run else { return (0.0, true) };
        let now = simulation.now();
        Law::Packet.act(action, &self.board);
        let before = self.board.counts();
        let delay = (now - Instant::from_nanos(before.head.min(now.as_nanos()))).as_secs_f64();
        let arriving = simulation.next_arrival();
        // Nothing else arrives in between, and nothing but arrivals is dropped.
        let dropped = self.board.counts().dropped > before.dropped;
        let cost = COST * (delay / sojourn_aqm::policy::REFERENCE).min(MOST_DELAY);
        self.observer.look(simulation.now(), &self.board);
        let over = arriving.is_none();
        self.run.as_mut().expect("it is under way").1 = arriving;
        (if dropped { -COST } else { LET_IN } - cost, over)
    }

    /// Writes the observation: the entries, then what is known of the packet that has arrived.
    pub fn observe(&self, into: &mut [f32]) {
        let (entries, packet) = into.split_at_mut(self.setup.sight.len());
        self.observer.write(entries);
        let arriving = self.run.as_ref().and_then(|(_, arriving)| *arriving);
        let of = |number: fn(&Arriving) -> f64| arriving.as_ref().map_or(0.0, number);
        packet[0] = (of(|arriving| f64::from(arriving.bytes)) / self.mtu) as f32;
        packet[1] = of(|arriving| f64::from(u8::from(arriving.ecn.is_ect()))) as f32;
        packet[2] = of(|arriving| f64::from(u8::from(arriving.ecn == Ecn::Ect1))) as f32;
    }

    /// The instant of the packet that has arrived, or the end, in seconds.
    pub fn time_s(&self) -> f64 {
        self.run.as_ref().map_or(0.0, |(simulation, _)| (simulation.now() - Instant::ZERO).as_secs_f64())
    }

    /// Ends the episode, which [`Packets::reset`] follows: what `sojourn run` prints, with the fingerprint. What is left of
    /// the scenario is run under the last verdict.
    pub fn finish(&mut self) -> Option<Summary> {
        self.run.take().map(|(simulation, _)| simulation.finish().summary)
    }
}
