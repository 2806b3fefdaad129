//! A client for the test "Responsiveness under Working Conditions".
//!
//! Source: draft-ietf-ippm-responsiveness, sections "Test Parameters", "Measuring Responsiveness" and "Final
//! Algorithm", with its names: load-generating connections are added at each interval until the goodput, and then the
//! responsiveness, is stable; probes on their own connections (foreign) and on load-generating ones (self) alternate
//! all the time.
//!
//! Our choices for what the draft leaves open: a standard deviation is that of the values themselves (divided by their
//! number); a moving average over fewer intervals than MAD uses the intervals there are; the capacity that limits
//! probes is the goodput of the last interval, so the first interval has no probes. A TLS exchange is 1000 B and 3000
//! B, a probe's request 300 B and its response 1 B.

use super::app::{ActionQueue, App, AppRecord, ConnectionEvent};
use super::exchange::Exchange;
use crate::responsiveness::{Confidence, ProbeKind, ProbeSamples};
use crate::scenario::{RpmSpec, TcpSpec};
use sojourn_aqm::{Duration, Instant, Rng};
use std::collections::{BTreeMap, VecDeque};

pub(super) struct RpmClient {
    spec: RpmSpec,
    stop: Instant,
    rng: Rng,
    /// When the current interval ends; at first, when the test starts.
    interval_end: Instant,
    /// When the next probe is due, and whether it is a foreign one.
    probe_at: Instant,
    foreign_next: bool,
    gap: Duration,
    loads: BTreeMap<u32, LoadConnection>,
    foreign: BTreeMap<u32, ForeignProbe>,
    /// Load-generating connections whose bytes are still to be counted, and the bytes counted.
    counting: usize,
    counted: u64,
    counted_before: u64,
    /// Bytes of the last intervals, and the moving average of the goodput at the end of each.
    bytes: VecDeque<u64>,
    goodputs: VecDeque<f64>,
    saturated: bool,
    /// Responsiveness at the end of each interval since saturation.
    values: VecDeque<f64>,
    rounds: u32,
    samples: ProbeSamples,
    finished: bool,
}

/// A load-generating connection: its state, and the send times of the probes on it without a response.
#[derive(Default)]
struct LoadConnection {
    established: bool,
    load_requested: bool,
    probes: VecDeque<Instant>,
}

/// A foreign probe: the operation in progress, and its start.
struct ForeignProbe {
    kind: ProbeKind,
    since: Instant,
}

impl RpmClient {
    pub fn new(spec: &RpmSpec, (start, stop): (Instant, Instant), rng: Rng) -> Self {
        Self {
            spec: spec.clone(),
            stop,
            rng,
            interval_end: start,
            probe_at: Instant::NEVER,
            foreign_next: true,
            gap: Duration::ZERO,
            loads: BTreeMap::new(),
            foreign: BTreeMap::new(),
            counting: 0,
            counted: 0,
            counted_before: 0,
            bytes: VecDeque::new(),
            goodputs: VecDeque::new(),
            saturated: false,
            values: VecDeque::new(),
            rounds: 0,
            samples: ProbeSamples::new(spec.average, spec.trim, spec.tls),
            finished: false,
        }
    }

    fn add_load(&mut self, count: u32, actions: &mut ActionQueue) {
        let room = self.spec.most.saturating_sub(self.loads.len() as u32);
        for _ in 0..count.min(room) {
            self.loads.insert(actions.load(self.spec.unsent), LoadConnection::default());
        }
    }

    fn probe_exchange(&self, request: u64, response: u64) -> Exchange {
        Exchange { pause: Duration::ZERO, request, think: self.spec.think, response }
    }

    fn send_probe(&mut self, now: Instant, actions: &mut ActionQueue) {
        self.probe_at = now + self.gap;
        let is_foreign = self.foreign_next;
        self.foreign_next = !is_foreign;
        if is_foreign {
            self.foreign.insert(actions.open(), ForeignProbe { kind: ProbeKind::Tcp, since: now });
            return;
        }
        let established = self.loads.iter().filter(|(_, load)| load.established).count();
        let chosen = (self.rng.uniform() * established as f64) as usize;
        let exchange = self.probe_exchange(REQUEST, RESPONSE);
        if let Some((&number, load)) = self.loads.iter_mut().filter(|(_, load)| load.established).nth(chosen) {
            load.probes.push_back(now);
            actions.request(number, exchange);
        }
    }

    /// One step of the algorithm, after the bytes of the interval have been counted.
    fn step(&mut self, now: Instant, actions: &mut ActionQueue) {
        let RpmSpec { interval, average, increment, .. } = self.spec;
        let distance = average as usize;
        let arrived = self.counted - self.counted_before;
        self.counted_before = self.counted;
        push(&mut self.bytes, arrived, distance);
        let seconds = interval.as_secs_f64();
        let current = self.bytes.iter().sum::<u64>() as f64 * 8.0 / (self.bytes.len() as f64 * seconds);
        push(&mut self.goodputs, current, distance);
        self.rounds += 1;
        let mut final_value = false;
        if self.saturated {
            if let Some(value) = self.samples.rpm() {
                push(&mut self.values, value, distance);
                final_value = self.is_stable(&self.values, distance);
            }
        } else if self.is_stable(&self.goodputs, distance) {
            (self.saturated, self.rounds) = (true, 0);
            actions.record(AppRecord::Saturated(now));
        }
        if final_value {
            return self.end(now, Confidence::High, actions);
        }
        self.samples.next_interval();
        self.add_load(increment, actions);
        self.set_pace(now, arrived as f64 * 8.0 / seconds);
        self.interval_end = now + interval;
    }

    /// Whether the last `distance` values vary little.
    fn is_stable(&self, values: &VecDeque<f64>, distance: usize) -> bool {
        let Some(&newest) = values.back() else { return false };
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / count;
        values.len() == distance && variance.sqrt() < f64::from(self.spec.tolerance) / 100.0 * newest
    }

    /// Limits probes to a number per second and to a share of the load's goodput.
    fn set_pace(&mut self, now: Instant, goodput_bps: f64) {
        let by_share = 2.0 * f64::from(self.spec.share) / 100.0 * goodput_bps / (8.0 * PAIR);
        let rate = by_share.min(f64::from(self.spec.probes));
        if rate <= 0.0 {
            self.probe_at = Instant::NEVER;
            return;
        }
        self.gap = Duration::from_secs_f64(1.0 / rate);
        self.probe_at = now + self.gap;
    }

    /// Ends the test with the result, at the end of the algorithm or of the time.
    fn end(&mut self, now: Instant, confidence: Confidence, actions: &mut ActionQueue) {
        self.finished = true;
        (self.interval_end, self.probe_at) = (Instant::NEVER, Instant::NEVER);
        let goodput_bps = self.goodputs.back().copied().unwrap_or(0.0);
        actions.record(AppRecord::Rpm(self.samples.result(), confidence, now, goodput_bps, self.loads.len() as u32));
        self.loads.keys().chain(self.foreign.keys()).for_each(|&number| actions.close(number));
        self.foreign.clear();
    }

    /// Confidence in a result that has not become stable.
    fn confidence(&self) -> Confidence {
        let is_measured = self.saturated && self.rounds >= self.spec.average;
        if is_measured { Confidence::Medium } else { Confidence::Low }
    }

    /// Continues a foreign probe whose current operation is complete.
    fn on_foreign_event(&mut self, now: Instant, number: u32, actions: &mut ActionQueue) {
        let tls = self.spec.tls;
        let Some(probe) = self.foreign.get_mut(&number) else { return };
        let duration = now - probe.since;
        let (done, next) = match (probe.kind, tls) {
            (ProbeKind::Tcp, true) => (ProbeKind::Tcp, Some((ProbeKind::Tls, CLIENT_HELLO, SERVER_HELLO))),
            (ProbeKind::Tcp, false) | (ProbeKind::Tls, _) => (probe.kind, Some((ProbeKind::Http, REQUEST, RESPONSE))),
            (kind, _) => (kind, None),
        };
        match next {
            Some((kind, request, response)) => {
                (probe.kind, probe.since) = (kind, now);
                actions.request(number, self.probe_exchange(request, response));
            }
            None => {
                self.foreign.remove(&number);
                actions.close(number);
            }
        }
        self.sample(now, done, (duration, Duration::ZERO), actions);
    }

    fn sample(
        &mut self,
        now: Instant,
        kind: ProbeKind,
        (duration, in_socket): (Duration, Duration),
        actions: &mut ActionQueue,
    ) {
        self.samples.add(kind, duration, in_socket);
        actions.record(AppRecord::Probe { kind, sent_at: now - duration, duration, in_socket });
    }
}

impl App for RpmClient {
    fn due(&self) -> Instant {
        if self.finished { Instant::NEVER } else { self.interval_end.min(self.probe_at).min(self.stop) }
    }

    fn on_timer(&mut self, now: Instant, actions: &mut ActionQueue) {
        if now >= self.stop {
            return self.end(now, self.confidence(), actions);
        }
        if now < self.interval_end {
            return self.send_probe(now, actions);
        }
        if self.loads.is_empty() {
            self.add_load(self.spec.initial, actions);
            self.interval_end = now + self.spec.interval;
            return;
        }
        self.interval_end = Instant::NEVER;
        (self.counting, self.counted) = (self.loads.len(), 0);
        self.loads.keys().for_each(|&number| actions.count(number));
    }

    fn on_event(&mut self, now: Instant, number: u32, event: ConnectionEvent, actions: &mut ActionQueue) {
        if self.finished {
            return;
        }
        match event {
            ConnectionEvent::Counted(bytes) => {
                self.counted += bytes;
                self.counting -= 1;
                if self.counting == 0 {
                    self.step(now, actions);
                }
            }
            ConnectionEvent::Connected if self.loads.contains_key(&number) => {
                actions.request(number, self.probe_exchange(REQUEST, RESPONSE))
            }
            ConnectionEvent::ProbeAnswered { in_socket } => {
                let load = self.loads.get_mut(&number).expect("probes are answered on the connections of the load");
                load.established = true;
                // The first response is that to the request for the load.
                if std::mem::replace(&mut load.load_requested, true) {
                    let sent_at = load.probes.pop_front().expect("a response has a request");
                    self.sample(now, ProbeKind::Loaded, (now - sent_at, in_socket), actions);
                }
            }
            ConnectionEvent::Connected | ConnectionEvent::ResponseReceived => {
                self.on_foreign_event(now, number, actions)
            }
        }
    }

    fn close(&mut self, end: Instant, actions: &mut ActionQueue) {
        if !self.finished && self.rounds > 0 {
            self.end(end, self.confidence(), actions);
        }
    }

    fn tcp(&self) -> &TcpSpec {
        &self.spec.tcp
    }
}

/// Appends a value and keeps the last `max`.
fn push<T>(values: &mut VecDeque<T>, value: T, max: usize) {
    values.push_back(value);
    if values.len() > max {
        values.pop_front();
    }
}

/// Bytes of the requests and responses of probes; and of a foreign and a self probe together, by the draft's estimate.
const CLIENT_HELLO: u64 = 1000;
const SERVER_HELLO: u64 = 3000;
const REQUEST: u64 = 300;
const RESPONSE: u64 = 1;
const PAIR: f64 = 6000.0;
