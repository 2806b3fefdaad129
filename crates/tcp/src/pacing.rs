//! Pacing: the departure time of each burst follows from that of the one before and its duration at the pacing rate.
//!
//! Source: Linux 6.1 `tcp_update_skb_after_send`, `tcp_pacing_check`, `tcp_update_pacing_rate`, `tcp_tso_autosize`:
//! TCP's internal pacing, or that of the fq qdisc below, which gets the departure times (`sk_pacing_status`). A burst
//! is a unit of transmission: several segments if the stack sends bursts, otherwise one. A retransmission is a burst of
//! its own, unless it belongs to a burst that nothing has split since (`scoreboard/pieces.rs`).
//!
//! Differs: a segment sent in spite of pacing (the head on a time-out) carries the actual send time, not its
//! planned departure time.

use crate::cc::Window;
use crate::round_trip::RoundTrip;
use crate::stack::Stack;
use sojourn_aqm::{Duration, Instant, Rate};

/// Departure time of the next burst.
#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    /// Payload bits per second; `None` without a limit.
    rate: Option<Rate>,
    /// The departure time of the next burst (`tcp_wstamp_ns`).
    departure: Instant,
    /// When held segments are sent; `NEVER` if none are held.
    wakeup: Instant,
    /// Data segments sent.
    sent: u32,
    /// Upper bound of the rate (`sk_max_pacing_rate`).
    max_rate: Option<Rate>,
    /// The host's device holds each burst until its departure time, so segments are handed down at once
    /// (`SK_PACING_FQ`).
    paced_by_device: bool,
}

impl Pacer {
    /// The pacer, if the stack has one or the control needs it. No stack paces by itself: Linux holds segments back
    /// only if `sk_pacing_status` is set, by a control, by `SO_MAX_PACING_RATE`, or by fq on the host.
    pub fn for_stack(stack: &Stack, needed: bool) -> Option<Box<Self>> {
        (stack.paces || needed).then(|| Box::new(Self::unlimited()))
    }

    /// A pacer without a rate, which holds nothing back.
    pub fn unlimited() -> Self {
        let (departure, wakeup) = (Instant::ZERO, Instant::NEVER);
        Self { rate: None, departure, wakeup, sent: 0, max_rate: None, paced_by_device: false }
    }

    /// Payload bytes per second.
    pub fn bytes_per_s(&self) -> u64 {
        self.rate.map_or(u64::MAX, |rate| rate.as_bps() / 8)
    }

    /// The pacing rate.
    pub fn rate(&self) -> Option<Rate> {
        self.rate
    }

    /// Sets the rate; with `None` or zero nothing is held back.
    pub fn set_rate(&mut self, rate: Option<Rate>) {
        let rate = rate.filter(|rate| rate.as_bps() > 0);
        self.rate = rate.into_iter().chain(self.max_rate).min_by_key(|rate| rate.as_bps());
    }

    /// Sets an upper bound of the rate.
    pub fn set_max_rate(&mut self, max: Option<Rate>) {
        self.max_rate = max;
        self.set_rate(self.rate);
    }

    /// Leaves pacing to the host's device, which gets departure times.
    pub fn delegate_to_device(&mut self) {
        self.paced_by_device = true;
    }

    /// Departure time of a burst sent at `now`, if the host's device paces.
    #[inline]
    pub fn stamp(&self, now: Instant) -> Option<Instant> {
        self.paced_by_device.then(|| self.departure.max(now))
    }

    /// Departure time of the next burst; in the past if it need not wait.
    pub fn departure(&self) -> Instant {
        self.departure
    }

    /// When held segments are sent; `NEVER` if none are held.
    pub fn wakeup(&self) -> Instant {
        self.wakeup
    }

    /// Whether a burst has to wait; if so, until [`Self::wakeup`].
    pub fn must_wait(&mut self, now: Instant) -> bool {
        let held = self.departure > now && !self.paced_by_device;
        if held && self.wakeup == Instant::NEVER {
            self.wakeup = self.departure;
        }
        held
    }

    /// Ends the wait if it is over. Returns whether one ended.
    pub fn on_wakeup(&mut self, now: Instant) -> bool {
        let due = self.wakeup <= now;
        if due {
            self.wakeup = Instant::NEVER;
        }
        due
    }

    /// A burst of `segments` with `bytes` of payload is sent.
    pub fn on_burst(&mut self, now: Instant, segments: u32, bytes: u64) {
        let prior = self.departure;
        self.departure = prior.max(now);
        self.sent = self.sent.saturating_add(segments);
        let Some(rate) = self.rate.filter(|_| self.sent >= UNPACED_SEGMENTS) else { return };
        let took = rate.time_for(bytes);
        // A late burst earns credit, up to half of its duration.
        self.departure = self.departure + took - (took / 2).min(self.departure - prior);
    }

    /// Sets the rate for a control that sets none: 200 % of the window per RTT in the first half of slow start, 120 %
    /// after it, with `out` segments outstanding.
    pub fn follow_window(&mut self, window: &Window, out: u32, rtt: &RoundTrip) {
        let bytes_per_s = bytes_per_s(window, out, rtt);
        self.set_rate(Some(Rate::from_bps(bytes_per_s.saturating_mul(8))));
    }
}

/// Segments per burst at `bytes_per_s`: about a millisecond (2^-10 s) of the rate, more if the minimum RTT is below 8
/// ms; at least `min_segments`, at most `max` bytes.
pub(crate) fn burst(bytes_per_s: u64, mss: u32, min_segments: u32, max: u64, min_rtt: Option<Duration>) -> u32 {
    let near = min_rtt.map_or(0, |rtt| max.checked_shr((rtt.as_nanos() / 1_000) as u32 >> RTT_SHIFT).unwrap_or(0));
    let bytes = (bytes_per_s >> PACING_SHIFT).saturating_add(near).min(max);
    ((bytes / mss as u64) as u32).max(min_segments)
}

/// Pacing rate for a control that sets none (`tcp_update_pacing_rate`). Linux computes it for connections without
/// pacing, too, to size bursts.
pub(crate) fn bytes_per_s(window: &Window, out: u32, rtt: &RoundTrip) -> u64 {
    let percent = if window.cwnd < window.ssthresh / 2 { SLOW_START_PERCENT } else { PERCENT };
    let segments = window.cwnd.max(out) as u64;
    // As Linux: bytes per second from eight times the RTT in microseconds, which is taken as 1 before the first sample.
    let bytes = (window.mss as u64 * (1_000_000 / 100 * 8) * percent).saturating_mul(segments);
    bytes / rtt.srtt_us_x8().max(1)
}

/// Segments at the start of a connection that are not paced: the initial window.
const UNPACED_SEGMENTS: u32 = 10;

/// Linux `tcp_pacing_ss_ratio`.
const SLOW_START_PERCENT: u64 = 200;

/// Linux `tcp_pacing_ca_ratio`.
const PERCENT: u64 = 120;

/// Linux `sk_pacing_shift`.
pub(crate) const PACING_SHIFT: u32 = 10;

/// Linux `tcp_tso_rtt_log`.
const RTT_SHIFT: u32 = 9;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::GrowthCounting;

    fn paced(rate: u64) -> Pacer {
        let mut pacer = *Pacer::for_stack(Stack::find("linux-6.1").expect("a stack"), true).expect("it is needed");
        pacer.set_rate(Some(Rate::from_bps(rate)));
        pacer
    }

    fn us(us: u64) -> Instant {
        Instant::from_nanos(us * 1_000)
    }

    #[test]
    fn no_stack_paces_by_itself() {
        for (name, _) in crate::stack::NAMES {
            assert!(Pacer::for_stack(Stack::find(name).expect("a stack"), false).is_none(), "{name}");
        }
    }

    #[test]
    fn the_first_ten_segments_leave_at_once() {
        let mut pacer = paced(12_345_678);
        for _ in 0..4 {
            pacer.on_burst(us(500), 2, 2_896);
            assert!(!pacer.must_wait(us(500)));
        }
        pacer.on_burst(us(500), 2, 2_896);
        // The tenth is counted with its burst, whose 2,896 bytes take 1,876,608 ns. The credit is zero, because the
        // previous departure time was now.
        assert!(pacer.must_wait(us(500)));
        assert_eq!(pacer.wakeup().as_nanos(), 500_000 + 2_896 * 8_000_000_000 / 12_345_678);
    }

    #[test]
    fn lateness_is_made_up_for_by_half_of_a_burst_at_most() {
        // 1,448 bytes at 11.584 Mbit/s take 1 ms.
        let departures = |late: &[u64]| {
            let mut pacer = paced(11_584_000);
            pacer.on_burst(us(0), 10, 0);
            let send = |late: &u64| {
                let at = us(pacer.departure().as_nanos() / 1_000 + late);
                pacer.on_burst(at, 1, 1_448);
                pacer.departure().as_nanos() / 1_000
            };
            late.iter().map(send).collect::<Vec<_>>()
        };
        assert_eq!(departures(&[0, 0, 0]), [1_000, 2_000, 3_000]);
        assert_eq!(departures(&[0, 200, 0]), [1_000, 2_000, 3_000], "200 µs late, and made up for");
        assert_eq!(departures(&[0, 700, 0]), [1_000, 2_200, 3_200], "half of it is");
    }

    #[test]
    fn what_is_held_is_sent_at_its_departure() {
        let mut pacer = paced(11_584_000);
        (0..2).for_each(|_| pacer.on_burst(us(100), 9, 1_448));
        assert_eq!((pacer.wakeup(), pacer.must_wait(us(1_099)), pacer.wakeup()), (Instant::NEVER, true, us(1_100)));
        assert_eq!(
            (pacer.on_wakeup(us(1_099)), pacer.on_wakeup(us(1_100)), pacer.must_wait(us(1_100))),
            (false, true, false)
        );
        assert_eq!(pacer.wakeup(), Instant::NEVER);
        pacer.set_rate(None);
        pacer.on_burst(us(1_100), 1, 1_448);
        assert!(!pacer.must_wait(us(1_100)), "without a rate nothing waits");
    }

    #[test]
    fn the_rate_follows_the_window_where_the_control_sets_none() {
        let stack = Stack::find("linux-6.1").expect("a stack");
        let mut rtt = RoundTrip::new(stack);
        rtt.sample(43_217, 1, 1);
        let rate = |cwnd, ssthresh, out| {
            let counting = GrowthCounting::Packets;
            let window = Window { cwnd, ssthresh, cwnd_cnt: 0, bytes_acked: 0, mss: 1448, counting };
            let mut pacer = paced(1);
            pacer.follow_window(&window, out, &rtt);
            pacer.rate().expect("a rate").as_bps() / 8
        };
        assert_eq!(rate(13, 100, 3), 13 * 1448 * 80_000 * 200 / (8 * 43_217));
        assert_eq!(rate(50, 100, 3), 50 * 1448 * 80_000 * 120 / (8 * 43_217));
        assert_eq!(rate(13, 100, 57), 57 * 1448 * 80_000 * 200 / (8 * 43_217), "what is out may be more");
    }

    #[test]
    fn the_largest_rate_holds_whatever_is_set() {
        let mbps = |rate: u64| Some(Rate::from_bps(rate * 1_000_000));
        let mut pacer = paced(7_000_000);
        let rates = [mbps(9), mbps(5), None].map(|rate| {
            pacer.set_max_rate(mbps(6));
            pacer.set_rate(rate);
            pacer.rate()
        });
        assert_eq!(rates, [mbps(6), mbps(5), mbps(6)]);
        pacer.set_max_rate(None);
        pacer.set_rate(None);
        assert_eq!(pacer.rate(), None);
    }

    #[test]
    fn bursts_are_a_millisecond_of_the_rate_and_more_on_short_paths() {
        let burst = |mbit: u64, rtt_us: i64| {
            burst(paced(mbit * 1_000_000).bytes_per_s(), 1448, 2, 65_279, Some(Duration::from_micros(rtt_us)))
        };
        assert_eq!([burst(1, 40_000), burst(100, 40_000), burst(1_000, 40_000)], [2, 8, 45]);
        // 65,279 bytes, halved for each 512 µs: 127 at 4.7 ms.
        assert_eq!([burst(1, 400), burst(1, 1_600), burst(100, 4_700), burst(20, 1_600)], [45, 5, 8, 7]);
    }
}
