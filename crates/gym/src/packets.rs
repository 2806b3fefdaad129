//! A run packet by packet: an agent judges each that arrives at the bottleneck.

use crate::setup::{Setup, SetupError};
use sojourn_aqm::policy::{ActionKind, Feature, Observer, SharedState};
use sojourn_aqm::{Ecn, Instant};
use sojourn_sim::scenario::Scenario;
use sojourn_sim::{OfferedPacket, Simulation, Summary};
use std::sync::Arc;

/// A place for such episodes.
pub struct PacketEpisode {
    setup: Setup,
    state: Arc<SharedState>,
    observer: Observer,
    scenario: Option<Scenario>,
    run: Option<(Simulation, Option<OfferedPacket>)>,
    mtu: f64,
}

/// Numbers of an observation beyond the entries: the packet's bytes over the largest packet's, whether it understands marks,
/// and whether it carries ECT(1).
pub const OF_PACKET: usize = 3;

/// What a packet is worth that is let in, and what delay and a drop cost.
const LET_IN: f64 = 1.0;
const COST: f64 = 0.5;
const MAX_DELAY: f64 = 10.0;

impl PacketEpisode {
    /// A place for episodes in which agents see `setup`'s entries.
    pub fn new(mut setup: Setup) -> Self {
        setup.spec.law = ActionKind::Packet;
        setup.start = None;
        let board = Arc::new(SharedState::new(setup.spec.has(Feature::Flows)));
        let observer = Observer::new(setup.spec.clone());
        Self { setup, state: board, observer, scenario: None, run: None, mtu: 1.0 }
    }

    /// Numbers of an observation.
    pub fn width(&self) -> usize {
        self.setup.spec.len() + OF_PACKET
    }

    /// Lets the next episodes be of `scenario`.
    pub fn set(&mut self, scenario: Scenario) -> Result<(), SetupError> {
        if scenario.links.iter().any(|hop| hop.wlan.is_some()) {
            let text = "packets cannot be judged one by one beside a wireless LAN; use links only";
            return Err(SetupError::Place("links", text.into()));
        }
        self.mtu = f64::from(scenario.link.mtu);
        (self.scenario, self.run) = (Some(self.setup.with_agent(scenario, &self.state)?), None);
        Ok(())
    }

    /// Begins an episode with `seed` and goes on to the first packet; whether there is one.
    pub fn reset(&mut self, seed: u64) -> bool {
        let Some(scenario) = &self.scenario else { return false };
        self.run = None;
        self.state.clear();
        self.observer.clear();
        let mut simulation = Simulation::with_gate(scenario, seed);
        let arriving = simulation.next_arrival();
        self.observer.sample(simulation.now(), &self.state);
        self.run = Some((simulation, arriving));
        arriving.is_some()
    }

    /// Judges the packet that has arrived, and goes on to the next one. Returns what it was worth, and whether it was the
    /// last one.
    pub fn step(&mut self, action: f64) -> (f64, bool) {
        let Some((simulation, Some(_))) = &mut self.run else { return (0.0, true) };
        let now = simulation.now();
        ActionKind::Packet.act(action, &self.state);
        let before = self.state.counts();
        let delay = (now - Instant::from_nanos(before.head.min(now.as_nanos()))).as_secs_f64();
        let arriving = simulation.next_arrival();
        // Nothing else arrives in between, and nothing but arrivals is dropped.
        let dropped = self.state.counts().dropped > before.dropped;
        let cost = COST * (delay / sojourn_aqm::policy::REFERENCE).min(MAX_DELAY);
        self.observer.sample(simulation.now(), &self.state);
        let over = arriving.is_none();
        self.run.as_mut().expect("it is under way").1 = arriving;
        (if dropped { -COST } else { LET_IN } - cost, over)
    }

    /// Writes the observation: the entries, then what is known of the packet that has arrived.
    pub fn observe(&self, into: &mut [f32]) {
        let (entries, packet) = into.split_at_mut(self.setup.spec.len());
        self.observer.write(entries);
        let arriving = self.run.as_ref().and_then(|(_, arriving)| *arriving);
        let of = |number: fn(&OfferedPacket) -> f64| arriving.as_ref().map_or(0.0, number);
        packet[0] = (of(|arriving| f64::from(arriving.bytes)) / self.mtu) as f32;
        packet[1] = of(|arriving| f64::from(u8::from(arriving.ecn.is_ect()))) as f32;
        packet[2] = of(|arriving| f64::from(u8::from(arriving.ecn == Ecn::Ect1))) as f32;
    }

    /// The instant of the packet that has arrived, or the end, in seconds.
    pub fn time_s(&self) -> f64 {
        self.run.as_ref().map_or(0.0, |(simulation, _)| (simulation.now() - Instant::ZERO).as_secs_f64())
    }

    /// Ends the episode, which [`PacketEpisode::reset`] follows: what `sojourn run` prints, with the fingerprint. What is left of
    /// the scenario is run under the last verdict.
    pub fn finish(&mut self) -> Option<Summary> {
        self.run.take().map(|(simulation, _)| simulation.finish().summary)
    }
}
