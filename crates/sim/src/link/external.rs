//! The server and the medium of a link for a host with its own queue and clock.
//!
//! The emulator serves real packets with these: it shares the code of rates, schedules, traces, losses and delays with
//! the simulator.

use super::any::AnyServer;
use super::change::stream;
use super::medium::Medium as Inner;
use super::server::{Server, ServerParams};
use super::steps::{RateChangeMode, VariableRate};
use crate::scenario::{LossSpec, RateChange, Service, Steps};
use crate::schedule::Quanta;
use crate::window::Window;
use sojourn_aqm::{Duration, Instant, Rate};

pub use super::server::TransmissionTimes;

/// The transmitter of a link: one packet at a time, or in delivery opportunities.
pub struct Transmitter(TransmitterKind);

enum TransmitterKind {
    /// A rate, which may change.
    Rate(VariableRate),
    /// Any other server.
    Fixed(Box<AnyServer>),
}

impl Transmitter {
    /// The idle server of link `index` in a run with `seed`; an opportunity carries `mtu` bytes. `None` for the channel
    /// of a wireless LAN, which is not a link.
    pub fn new(service: &Service, mtu: u32, seed: u64, index: usize) -> Option<Self> {
        let rate = |rate, ending| Some(Self(TransmitterKind::Rate(VariableRate::new(rate, ending))));
        match service {
            Service::Rate(constant) => rate(&Steps::constant(*constant), RateChangeMode::Fluid),
            Service::Steps(steps) if steps.change == RateChange::Fluid => rate(&steps.rate, RateChangeMode::Fluid),
            Service::Steps(steps) if steps.change == RateChange::Latch => rate(&steps.rate, RateChangeMode::Latch),
            _ => {
                let params = ServerParams { index, seed, mtu, window: Window::new([], Instant::NEVER) };
                AnyServer::new(service, &params).map(|server| Self(TransmitterKind::Fixed(Box::new(server))))
            }
        }
    }

    /// Starts the transmission of `bytes` at `start`, which is never before [`TransmissionTimes::free`] of the last
    /// one. A link with opportunities uses as many after `start` as the bytes need, and sends nothing else in them.
    pub fn send(&mut self, start: Instant, bytes: u32) -> TransmissionTimes {
        match &mut self.0 {
            TransmitterKind::Rate(rate) => rate.send(start, bytes),
            TransmitterKind::Fixed(server) => server.send(start, bytes),
        }
    }

    /// Sets the rate to `to` from `at` until the next step of the schedule; every sent packet must have started by
    /// `at`. Returns the new times of the last packet, if there is one; `None` if the link has no rate.
    pub fn change_rate(&mut self, at: Instant, to: Rate) -> Option<TransmissionTimes> {
        match &mut self.0 {
            TransmitterKind::Rate(rate) => rate.change(at, to),
            TransmitterKind::Fixed(_) => None,
        }
    }

    /// When the next opportunity is due, [`Instant::NEVER`] if none follows; `None` for a link without opportunities.
    pub fn opportunity(&self) -> Option<Instant> {
        match &self.0 {
            TransmitterKind::Rate(_) => None,
            TransmitterKind::Fixed(server) => server.opportunity(),
        }
    }

    /// Skips one opportunity.
    pub fn step(&mut self) {
        if let TransmitterKind::Fixed(server) = &mut self.0 {
            if let Some(opportunities) = server.opportunities() {
                opportunities.step();
            }
        }
    }

    /// Skips the opportunities up to and including `now`: there was nothing to send.
    pub fn pass(&mut self, now: Instant) {
        if let TransmitterKind::Fixed(server) = &mut self.0 {
            if let Some(opportunities) = server.opportunities() {
                opportunities.pass(now);
            }
        }
    }

    /// Capacity of the link between `from` and `to`: nanoseconds, bits of a fluid rate, or bytes of opportunity since
    /// the start. [`Transmitter::used`] has the same unit. `to` never decreases.
    pub fn usable(&mut self, from: Instant, to: Instant) -> u64 {
        match &mut self.0 {
            TransmitterKind::Rate(rate) => rate.capacity(from, to),
            TransmitterKind::Fixed(server) => server.usable(from, to),
        }
    }

    /// Part of [`Transmitter::usable`] that a transmission of `bytes` from `start` to `free` uses.
    pub fn used(&mut self, start: Instant, free: Instant, bytes: u32) -> u64 {
        match &mut self.0 {
            TransmitterKind::Rate(rate) => rate.capacity(start, free),
            TransmitterKind::Fixed(server) => server.used(start, free, bytes),
        }
    }
}

/// Times of a service's opportunities; a rate has one whenever it has accumulated `mtu` bytes. `None` for token buckets
/// and wireless LANs, which have neither.
pub fn opportunities(
    service: &Service,
    mtu: u32,
    seed: u64,
    index: usize,
) -> Option<Box<dyn Iterator<Item = Instant> + Send>> {
    match service {
        Service::Rate(rate) => return Some(Box::new(Quanta::new(&Steps::constant(*rate), mtu))),
        Service::Steps(steps) => return Some(Box::new(Quanta::new(&steps.rate, mtu))),
        _ => {}
    }
    let mut transmitter = Transmitter::new(service, mtu, seed, index)?;
    transmitter.opportunity()?;
    Some(Box::new(std::iter::from_fn(move || {
        let at = transmitter.opportunity()?;
        transmitter.step();
        Some(at)
    })))
}

/// The medium between a link's server and its far end: loss, and a delay that may change.
pub struct Medium(Box<Inner>);

impl Medium {
    /// The medium of link `index` in a run with `seed`. Packets overtake each other only if `reorder` is set.
    pub fn new(loss: Option<LossSpec>, delays: &Steps<Duration>, reorder: bool, seed: u64, index: usize) -> Self {
        Self(Inner::build(loss, delays, reorder, index, seed))
    }

    /// When a packet whose last bit leaves the server at `end` reaches the far end; `None` if it is lost. `end` never
    /// decreases.
    pub fn arrival(&mut self, end: Instant) -> Option<Instant> {
        self.0.arrival(end)
    }

    /// Whether a packet whose last bit leaves the server at `end` is lost: the first half of [`Self::arrival`].
    pub fn is_lost(&mut self, end: Instant) -> bool {
        self.0.is_lost(end)
    }

    /// When a packet that is not lost reaches the far end: the second half of [`Self::arrival`].
    pub fn delayed(&mut self, end: Instant) -> Instant {
        self.0.delayed(end)
    }

    /// Replaces the loss model, by change `number` of link `index` in a run with `seed`.
    pub fn set_loss(&mut self, loss: LossSpec, seed: u64, number: u64, index: usize) {
        self.0.set_loss(loss, stream(seed, "loss", number, index));
    }

    /// Sets the delay of packets that leave from `at` until the next step of the schedule.
    pub fn set_delay(&mut self, at: Instant, delay: Duration) {
        self.0.set_delay(at, delay);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use std::path::Path;

    fn service(keys: &str) -> Service {
        let text = format!(
            "duration = \"1 s\"\n[link]\n{keys}\n[[flows]]\nkind = \"tcp\"\nstack = \"linux-2.6.29\"\n\
                            cc = \"reno\"\nrtt = \"10 ms\""
        );
        Scenario::parse(&text, &[], Path::new("/")).unwrap().link.service
    }

    #[test]
    fn packets_follow_each_other_at_the_rate() {
        let mut link = Transmitter::new(&service("rate = \"1 Gbit/s\""), 1500, 1, 0).unwrap();
        assert_eq!(link.opportunity(), None);
        let mut at = Instant::ZERO;
        for i in 1..=1000 {
            at = link.send(at, 1500).free;
            assert_eq!(at.as_nanos(), i * 12_000);
        }
        assert_eq!(link.usable(Instant::ZERO, at), link.used(Instant::ZERO, at, 1_500_000));
    }

    /// Sends packets of odd sizes back to back, with unscheduled changes of the rate or the same ones in a schedule.
    #[test]
    fn a_rate_that_is_changed_is_as_one_of_a_schedule() {
        let (sizes, changes) =
            ([1500, 52, 1377, 1500, 64, 913], [(3_000_007, 1_234_567), (9_999_999, 0), (20_000_001, 7_000_001)]);
        for change in ["fluid", "latch"] {
            let steps: String = changes
                .iter()
                .map(|(at, bps)| format!(",{} bit/s@{at}ns", if change == "latch" { bps.max(&1000) } else { bps }))
                .collect();
            let planned = service(&format!("rate = \"5999999 bit/s@0s{steps}\"\nchange = \"{change}\""));
            let plain = service(&format!("rate = \"5999999 bit/s@0s\"\nchange = \"{change}\""));
            let [mut planned, mut changed] =
                [planned, plain].map(|service| Transmitter::new(&service, 1500, 1, 0).unwrap());
            let (mut left, mut start) = (changes.iter().peekable(), Instant::ZERO);
            for bytes in sizes.into_iter().cycle().take(60) {
                let expected = planned.send(start, bytes);
                let mut found = changed.send(start, bytes);
                while let Some(&(at, bps)) = left.next_if(|&&(at, _)| Instant::from_nanos(at) < found.free) {
                    let bps = if change == "latch" { bps.max(1000) } else { bps };
                    found = changed.change_rate(Instant::from_nanos(at), Rate::from_bps(bps)).unwrap();
                }
                assert_eq!(found, expected, "{change}, from {start:?}");
                start = expected.free;
            }
            assert_eq!(left.next(), None, "every change was made");
            assert_eq!(changed.usable(Instant::ZERO, start), planned.usable(Instant::ZERO, start));
        }
    }

    #[test]
    fn opportunities_of_a_rate_add_up() {
        let steps = service("rate = \"12 Mbit/s@0s,0 bit/s@2ms,24 Mbit/s@4ms\"");
        let at: Vec<u64> = opportunities(&steps, 1500, 1, 0).unwrap().take(5).map(|at| at.as_nanos()).collect();
        assert_eq!(at, [1_000_000, 2_000_000, 4_500_000, 5_000_000, 5_500_000]);
        assert!(
            opportunities(&service("bucket = \"1 Mbit/s\"\nburst = \"3 kB\"\npeak = \"2 Mbit/s\""), 1500, 1, 0)
                .is_none()
        );
    }

    #[test]
    fn a_medium_without_loss_keeps_order() {
        let ms = Duration::from_millis;
        let delays = Steps::from_ordered(vec![(Duration::ZERO, ms(20)), (ms(5), ms(10))]);
        let at = |reorder| {
            let mut medium = Medium::new(None, &delays, reorder, 1, 0);
            [0, 4, 5].map(|t| medium.arrival(Instant::ZERO + ms(t)).unwrap().as_nanos() / 1_000_000)
        };
        assert_eq!((at(false), at(true)), ([20, 24, 24], [20, 24, 15]));
    }
}
