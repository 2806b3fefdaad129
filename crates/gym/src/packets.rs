//! A run with one step per packet: an agent accepts, marks or drops each packet that arrives at the bottleneck.
//!
//! The simulator holds the packet at the first link and admits it at the same instant, before any other event, so the
//! run's fingerprint does not change. A thread per run would do the same for two context switches per packet.

use crate::setup::{Setup, SetupError};
use sojourn_aqm::policy::{ActionKind, Feature, Observer, SharedState};
use sojourn_aqm::{Ecn, Instant};
use sojourn_sim::scenario::Scenario;
use sojourn_sim::{OfferedPacket, Simulation, Summary};
use std::sync::Arc;

/// Runs episodes with one step per packet.
pub struct PacketEpisode {
    setup: Setup,
    state: Arc<SharedState>,
    observer: Observer,
    scenario: Option<Scenario>,
    run: Option<(Simulation, Option<OfferedPacket>)>,
    mtu: f64,
}

/// Values appended to an observation for the packet: its bytes over the MTU, whether it is ECN-capable, and whether it
/// carries ECT(1).
pub const PACKET_FEATURES: usize = 3;

/// Reward of an accepted packet.
const ACCEPT_REWARD: f64 = 1.0;
/// Cost of a drop, and of [`REFERENCE`](sojourn_aqm::policy::REFERENCE) of delay.
const PENALTY: f64 = 0.5;
/// Maximum delay that counts, in units of the reference.
const MAX_DELAY: f64 = 10.0;

impl PacketEpisode {
    /// Creates an environment whose observations have `setup`'s entries; its action and start are ignored.
    pub fn new(mut setup: Setup) -> Self {
        setup.spec.action = ActionKind::Packet;
        setup.start = None;
        let state = Arc::new(SharedState::new(setup.spec.has(Feature::Flows)));
        let observer = Observer::new(setup.spec.clone());
        Self { setup, state, observer, scenario: None, run: None, mtu: 1.0 }
    }

    /// Length of an observation.
    pub fn width(&self) -> usize {
        self.setup.spec.len() + PACKET_FEATURES
    }

    /// Sets the scenario of the following episodes.
    ///
    /// # Errors
    /// If an agent cannot control the scenario's bottleneck.
    pub fn set(&mut self, scenario: Scenario) -> Result<(), SetupError> {
        if scenario.links.iter().any(|hop| hop.wlan.is_some()) {
            let text = "packets cannot be judged one by one beside a wireless LAN; use links only";
            return Err(SetupError::Invalid("links", text.into()));
        }
        self.mtu = f64::from(scenario.link.mtu);
        (self.scenario, self.run) = (Some(self.setup.with_agent(scenario, &self.state)?), None);
        Ok(())
    }

    /// Starts an episode with `seed` and runs it until the first packet arrives; returns whether one does.
    pub fn reset(&mut self, seed: u64) -> bool {
        let Some(scenario) = &self.scenario else { return false };
        self.run = None;
        self.state.clear();
        self.observer.clear();
        let mut simulation = Simulation::with_gate(scenario, seed);
        let arrival = simulation.next_arrival();
        self.observer.sample(simulation.now(), &self.state);
        self.run = Some((simulation, arrival));
        arrival.is_some()
    }

    /// Applies `action` to the packet that has arrived, and runs until the next one arrives. Returns the reward and
    /// whether the packet was the last.
    pub fn step(&mut self, action: f64) -> (f64, bool) {
        let Some((simulation, Some(_))) = &mut self.run else { return (0.0, true) };
        let now = simulation.now();
        ActionKind::Packet.act(action, &self.state);
        let before = self.state.counts();
        let delay = (now - Instant::from_nanos(before.head.min(now.as_nanos()))).as_secs_f64();
        let arrival = simulation.next_arrival();
        // No other packet arrives in between, and this law drops on arrival only: a drop is of this packet.
        let dropped = self.state.counts().dropped > before.dropped;
        let cost = PENALTY * (delay / sojourn_aqm::policy::REFERENCE).min(MAX_DELAY);
        self.observer.sample(simulation.now(), &self.state);
        let over = arrival.is_none();
        self.run.as_mut().expect("it is under way").1 = arrival;
        (if dropped { -PENALTY } else { ACCEPT_REWARD } - cost, over)
    }

    /// Writes the observation: the entries, then the [`PACKET_FEATURES`] values of the packet that has arrived.
    pub fn observe(&self, into: &mut [f32]) {
        let (entries, packet) = into.split_at_mut(self.setup.spec.len());
        self.observer.write(entries);
        let arrival = self.run.as_ref().and_then(|(_, arrival)| *arrival);
        let of = |number: fn(&OfferedPacket) -> f64| arrival.as_ref().map_or(0.0, number);
        packet[0] = (of(|arrival| f64::from(arrival.bytes)) / self.mtu) as f32;
        packet[1] = of(|arrival| f64::from(u8::from(arrival.ecn.is_ect()))) as f32;
        packet[2] = of(|arrival| f64::from(u8::from(arrival.ecn == Ecn::Ect1))) as f32;
    }

    /// Arrival time of the current packet, or the end of the run, in seconds.
    pub fn time_s(&self) -> f64 {
        self.run.as_ref().map_or(0.0, |(simulation, _)| (simulation.now() - Instant::ZERO).as_secs_f64())
    }

    /// Ends the episode and returns the summary that `sojourn run` prints, with the fingerprint. The remainder of the
    /// scenario runs under the last action.
    pub fn finish(&mut self) -> Option<Summary> {
        self.run.take().map(|(simulation, _)| simulation.finish().summary)
    }
}
