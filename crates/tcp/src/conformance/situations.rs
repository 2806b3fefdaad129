//! Connections whose path and application follow a script, and the rules that hold in them.

use super::connection::Transport;
use super::ends::{Ends, Event, MSS, RUNAWAY};
use super::path::Impairments;
use super::world::World;
use crate::cc::foreign::ControlDefinition;
use sojourn_aqm::{Duration, Instant, Rng};
use std::sync::Arc;

/// A scripted connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Situation {
    /// Unlimited data over a good path.
    GoodPath,
    /// Nothing arrives for three seconds.
    Blackout,
    /// The rate falls to a tenth and returns, and then the RTT doubles.
    Changes,
    /// The application writes three segments per 100 ms.
    Trickle,
    /// The application pauses for seven seconds.
    Idle,
    /// The bottleneck marks and does not drop.
    Marks,
}

impl Situation {
    pub const ALL: [Self; 6] = [Self::GoodPath, Self::Blackout, Self::Changes, Self::Trickle, Self::Idle, Self::Marks];

    /// Whether `transport` can carry it: QUIC's sender has no application that writes in pieces.
    pub fn fits(self, transport: Transport) -> bool {
        transport != Transport::Quic || !matches!(self, Self::Trickle | Self::Idle)
    }

    /// Plays the connection.
    pub fn play(self, transport: Transport, definition: Arc<dyn ControlDefinition>) -> Findings {
        let mut scene = Scene::new(transport.plain(definition, self == Self::Marks));
        match self {
            Self::GoodPath => good_path(&mut scene),
            Self::Blackout => blackout(&mut scene),
            Self::Changes => changes(&mut scene),
            Self::Trickle => trickle(&mut scene),
            Self::Idle => idle(&mut scene),
            Self::Marks => {
                scene.set(Impairments { queue: 1_000_000_000, marks_from: 5_000_000, ..Impairments::GOOD });
                scene.run(Event::Opens(None), 10);
            }
        }
        scene.check_bounds();
        scene.findings.is_runaway = scene.is_runaway;
        scene.findings
    }
}

/// Broken rules, and observations.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub stuck: Vec<String>,
    pub bounds: Vec<String>,
    /// Whether a window has no bound at all, so that further connections cost too much.
    pub is_runaway: bool,
    /// Bursts after an idle period.
    pub idle: Vec<String>,
}

/// A scripted connection in progress.
struct Scene {
    world: World<Box<dyn Ends>>,
    findings: Findings,
    usage: Usage,
    /// Maximum number of packets that path and queue have held so far.
    capacity: u64,
    /// Whether more is in flight than the path can ever hold; then the connection ends.
    is_runaway: bool,
    /// Time of the last transmission, and the longest time without one.
    last_sent: Instant,
    longest_gap: Duration,
}

/// Maximum window and maximum data in flight of a connection, and its first window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    pub initial_cwnd: u32,
    pub max_cwnd: u32,
    pub max_in_flight: u32,
}

impl Usage {
    pub fn observe(&mut self, ends: &dyn Ends) {
        let cwnd = ends.cwnd();
        if self.max_cwnd == 0 {
            self.initial_cwnd = cwnd;
        }
        self.max_cwnd = self.max_cwnd.max(cwnd);
        self.max_in_flight = self.max_in_flight.max(ends.in_flight());
    }

    /// Maximum window that this use of it justifies.
    pub fn limit(&self) -> u32 {
        USAGE_FACTOR * self.max_in_flight.max(self.initial_cwnd)
    }
}

impl Scene {
    fn new(ends: Box<dyn Ends>) -> Self {
        Self {
            world: World::scripted(ends, Impairments::GOOD, Rng::stream(0, "situation", 0)),
            findings: Findings::default(),
            usage: Usage::default(),
            capacity: Impairments::GOOD.capacity(),
            is_runaway: false,
            last_sent: Instant::ZERO,
            longest_gap: Duration::ZERO,
        }
    }

    fn set(&mut self, impairments: Impairments) {
        self.world.path.impairments = impairments;
        self.capacity = self.capacity.max(impairments.capacity());
    }

    /// Carries out `event` now, and runs for `seconds`. Returns the number of bytes that arrive meanwhile.
    fn run(&mut self, event: Event, seconds: i64) -> u64 {
        self.run_for(Some(event), Duration::from_secs(seconds))
    }

    fn run_for(&mut self, event: Option<Event>, span: Duration) -> u64 {
        let before = self.world.ends.delivered();
        if self.is_runaway {
            return 0;
        }
        if let Some(event) = event {
            if self.world.carry_out(event) > 0 {
                self.last_sent = self.world.now;
            }
        }
        let until = self.world.now + span;
        let Self { world, usage, last_sent, longest_gap, is_runaway, .. } = self;
        world.run_until(until, &mut |world, packets| {
            usage.observe(&*world.ends);
            if packets > 0 {
                *longest_gap = (*longest_gap).max(world.now - *last_sent);
                *last_sent = world.now;
            }
            *is_runaway = usage.max_in_flight >= RUNAWAY;
            *is_runaway
        });
        *longest_gap = (*longest_gap).max(until - *last_sent);
        self.world.ends.delivered() - before
    }

    fn continue_for(&mut self, seconds: i64) -> u64 {
        self.run_for(None, Duration::from_secs(seconds))
    }

    fn check_bounds(&mut self) {
        let (capacity, Usage { max_cwnd, initial_cwnd, max_in_flight }) = (self.capacity, self.usage);
        if u64::from(max_cwnd) > PATH_FACTOR * capacity.max(initial_cwnd.into()) {
            let text = format!("cwnd rises to {max_cwnd} on a path that holds {capacity} packets");
            self.findings.bounds.push(format!("{text}; at most {max_in_flight} are in flight"));
        }
    }

    fn require(&mut self, holds: bool, text: impl FnOnce() -> String) {
        if !holds && !self.is_runaway {
            self.findings.stuck.push(text());
        }
    }
}

fn good_path(scene: &mut Scene) {
    scene.run(Event::Opens(None), 10);
    scene.longest_gap = Duration::ZERO;
    scene.continue_for(10);
    let Usage { initial_cwnd, max_cwnd, .. } = scene.usage;
    scene.require(max_cwnd > initial_cwnd, || format!("cwnd never exceeds {initial_cwnd} on a path for 80 packets"));
    let gap = scene.longest_gap;
    scene.require(gap <= LONGEST_GAP, || format!("nothing is sent for {} s on a good path", gap.as_secs_f64()));
}

fn blackout(scene: &mut Scene) {
    scene.run(Event::Opens(None), 5);
    scene.set(Impairments::BLACKOUT);
    scene.continue_for(3);
    scene.set(Impairments::GOOD);
    // The time-out is at most twice as long as the blackout.
    let first = scene.continue_for(15);
    scene.require(first > 0, || "nothing arrives in the 15 s after a blackout of 3 s".to_string());
    let later = scene.continue_for(20);
    scene.require(later >= 20 * MSS, || format!("{later} bytes arrive from 15 s to 35 s after a blackout of 3 s"));
}

fn changes(scene: &mut Scene) {
    scene.run(Event::Opens(None), 5);
    scene.set(Impairments { rate: Impairments::GOOD.rate / 10, ..Impairments::GOOD });
    let slow = scene.continue_for(15);
    scene.set(Impairments::GOOD);
    let fast = scene.continue_for(5);
    scene.set(Impairments { slow: 140_000_000, ..Impairments::GOOD });
    let far = scene.continue_for(10);
    for (bytes, path) in
        [(slow, "when the rate falls to a tenth"), (fast, "when it returns"), (far, "at twice the RTT")]
    {
        scene.require(bytes >= 10 * MSS, || format!("{bytes} bytes arrive in 5 s or more {path}"));
    }
}

fn trickle(scene: &mut Scene) {
    scene.run(Event::Connects, 1);
    for _ in 0..200 {
        scene.run_for(Some(Event::Writes(3 * MSS)), Duration::from_millis(100));
    }
    let (cwnd, limit) = (scene.usage.max_cwnd, scene.usage.limit());
    if cwnd > limit {
        let most = scene.usage.max_in_flight;
        scene.findings.bounds.push(format!("cwnd rises to {cwnd} although at most {most} packets are in flight"));
    }
    let written = 600 * MSS;
    let arrived = scene.world.ends.delivered();
    scene.require(arrived + 60 * MSS >= written, || format!("{arrived} of {written} bytes arrive from a slow source"));
}

fn idle(scene: &mut Scene) {
    scene.run(Event::Connects, 1);
    scene.run(Event::Writes(2_000 * MSS), 7);
    let initial_cwnd = scene.usage.initial_cwnd;
    scene.continue_for(7);
    let cwnd = scene.world.ends.cwnd();
    let burst = scene.world.carry_out(Event::Writes(1_000 * MSS)) as u32;
    // RFC 5681 §4.1, RFC 2861: after so many time-outs the window is the initial one.
    if burst > initial_cwnd + initial_cwnd / 2 {
        scene.findings.idle.push(format!("{burst} packets leave at once after 7 s without data; cwnd was {cwnd}"));
    }
    scene.last_sent = scene.world.now;
    let bytes = scene.continue_for(20);
    scene.require(bytes > 100 * MSS, || format!("{bytes} bytes arrive in the 20 s after an idle period"));
}

/// Runs a connection over a path that has become good until data arrives; a sentence if none does.
pub(super) fn settle(world: &mut World<Box<dyn Ends>>) -> Option<String> {
    world.become_good();
    let (start, before) = (world.now, world.ends.delivered());
    if world.writes() {
        world.carry_out(Event::Writes(20 * MSS));
    }
    // A time-out is at most 120 s over TCP, and doubles without limit over QUIC: it is at most as long as the
    // connection was.
    let limit = (start - Instant::ZERO).max(Duration::from_secs(300));
    let has_moved =
        |world: &World<Box<dyn Ends>>| world.ends.delivered() >= before + 5 * MSS || world.ends.is_finished();
    let is_runaway = |world: &World<Box<dyn Ends>>| world.ends.in_flight() >= RUNAWAY;
    world.run_until(start + limit + limit, &mut |world, _| has_moved(world) || is_runaway(world));
    if has_moved(world) || is_runaway(world) {
        return None;
    }
    let (bytes, seconds) = (world.ends.delivered() - before, 2 * limit.as_nanos() / 1_000_000_000);
    Some(format!("{bytes} bytes arrive in {seconds} s after the path has become good, at {} s", start.as_secs_f64()))
}

/// Maximum window as a multiple of the packets that path and queue hold. Slow start fills them, and doubles the window
/// in the round trip until it learns of the losses: 2.1 with most registered controls.
const PATH_FACTOR: u64 = 4;
/// Maximum window as a multiple of the maximum data in flight of an application that never fills it: 1.0 with the
/// window validation of the stack, 2.0 with controls that keep twice what they measured, as BBR does.
const USAGE_FACTOR: u32 = 4;
/// Maximum time without a transmission on a good path: two time-outs in a row, and five probes of BBR.
const LONGEST_GAP: Duration = Duration::from_secs(5);
