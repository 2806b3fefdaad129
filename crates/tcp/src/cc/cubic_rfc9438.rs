//! CUBIC as in RFC 9438, with HyStart++ (RFC 9406) in the first slow start.
//!
//! Names and order are those of the RFC. Windows are in segments with fractions; the sender uses the integer part.
//! `Differs:` a reduction starts from the window instead of the flight size, which the RFC allows if an unused window
//! does not grow.
//!
//! # When to use
//!
//! For the behaviour that the standard specifies; `cubic` is the one that Linux implements.

use super::hystart_pp::{HyStartPlusPlus, SlowStartStep};
use super::{Ack, CongestionControl, ControlDocs, Params, Window, WindowControl, WindowEvent};
use sojourn_aqm::params::Value;
use sojourn_aqm::{Duration, Instant, config};

config! {
    /// Parameters of CUBIC (RFC 9438 §4).
    pub struct Config {
        /// Factor of the window after a loss (beta_cubic).
        beta: f64 = 0.7, in Value::Number(0.0) => Value::Number(0.999);
        /// C, the aggressiveness in the concave and the convex region, in segments per cubed second.
        c: f64 = 0.4, in Value::Number(0.001) => Value::Number(1000.0);
        /// A loss before the window has reached W_max lowers W_max too (§4.7).
        fast_convergence: bool = true, in Value::Flag(false) => Value::Flag(true);
        /// HyStart++ (RFC 9406) may end the first slow start.
        hystart: bool = true, in Value::Flag(false) => Value::Flag(true);
    }
}

/// CUBIC (RFC 9438).
#[derive(Clone, Debug, Default)]
pub struct CubicRfc9438 {
    config: Config,
    /// Window with its fraction; its integer part is the sender's window unless recovery has changed that.
    cwnd: f64,
    w_max: f64,
    /// Window before the last reduction.
    cwnd_prior: f64,
    stage: Option<Epoch>,
    /// `w_max` and `stage` before the last reduction, for an undo.
    before: (f64, Option<Epoch>),
    /// The next stage starts at its plateau: after a time-out, and after slow start ends without a loss.
    plateau_is_here: bool,
    srtt: Option<Duration>,
    hystart: HyStartPlusPlus,
}

/// A congestion avoidance stage (RFC 9438 §4.1.2).
#[derive(Clone, Copy, Debug)]
struct Epoch {
    t_epoch: Instant,
    w_max: f64,
    k: f64,
    w_est: f64,
}

impl From<Config> for CubicRfc9438 {
    fn from(config: Config) -> Self {
        Self { config, ..Self::default() }
    }
}

impl CubicRfc9438 {
    /// §4.2: the stage begins with the first acknowledgment that grows the window in congestion avoidance.
    fn stage(&mut self, now: Instant) -> Epoch {
        let cwnd_epoch = self.cwnd;
        let known = self.w_max > cwnd_epoch && !self.plateau_is_here;
        let w_max = if known { self.w_max } else { cwnd_epoch };
        *self.stage.get_or_insert_with(|| {
            self.plateau_is_here = false;
            Epoch { t_epoch: now, w_max, k: libm::cbrt((w_max - cwnd_epoch) / self.config.c), w_est: cwnd_epoch }
        })
    }

    fn cong_avoid(&mut self, window: &mut Window, ack: &Ack) {
        self.follow(window);
        let first = window.ssthresh == Window::INFINITE_SSTHRESH;
        if first && self.config.hystart {
            match self.hystart.acked(ack) {
                SlowStartStep::Grow(segments) => self.cwnd += segments,
                SlowStartStep::Exit => {
                    self.plateau_is_here = true;
                    window.ssthresh = window.cwnd;
                }
            }
        } else if window.cwnd < window.ssthresh {
            self.cwnd = (self.cwnd + ack.packets as f64).min(window.ssthresh as f64);
        } else {
            self.avoid_congestion(ack);
        }
        window.cwnd = self.cwnd as u32;
    }

    fn avoid_congestion(&mut self, ack: &Ack) {
        let mut stage = self.stage(ack.now);
        let t = (ack.now - stage.t_epoch).as_secs_f64();
        let rtt = self.srtt.map_or(0.0, Duration::as_secs_f64);
        let segments_acked = ack.packets as f64;
        // §4.3: W_est grows by alpha until it reaches `cwnd_prior`, then by 1 like Reno.
        let alpha = if stage.w_est < self.cwnd_prior { self.config.alpha() } else { 1.0 };
        stage.w_est += alpha * segments_acked / self.cwnd;
        self.stage = Some(stage);
        if stage.w_cubic(t, self.config.c) < stage.w_est {
            self.cwnd = self.cwnd.max(stage.w_est);
        } else {
            // §4.4, §4.5
            let target = stage.w_cubic(t + rtt, self.config.c).clamp(self.cwnd, 1.5 * self.cwnd);
            self.cwnd += (target - self.cwnd) / self.cwnd * segments_acked;
        }
    }

    /// Recovery or idle time may have changed the sender's window.
    fn follow(&mut self, window: &Window) {
        if self.cwnd as u32 != window.cwnd {
            self.cwnd = window.cwnd as f64;
        }
    }

    /// §4.6, §4.7: threshold after a loss or a mark.
    fn reduce(&mut self, window: &Window) -> u32 {
        self.follow(window);
        self.cwnd_prior = self.cwnd;
        self.before = (self.w_max, self.stage);
        // Fast convergence: a flow whose window did not recover to W_max releases bandwidth to others.
        let lowers = self.cwnd < self.w_max && self.config.fast_convergence;
        let to = if lowers { (1.0 + self.config.beta) / 2.0 } else { 1.0 };
        self.w_max = self.cwnd * to;
        self.stage = None;
        ((self.cwnd * self.config.beta) as u32).max(2)
    }
}

impl Config {
    /// §4.3, equation 4.
    fn alpha(&self) -> f64 {
        3.0 * (1.0 - self.beta) / (1.0 + self.beta)
    }
}

impl Epoch {
    /// §4.2, equation 1.
    fn w_cubic(&self, t: f64, c: f64) -> f64 {
        let offset = t - self.k;
        c * offset * offset * offset + self.w_max
    }
}

impl ControlDocs for CubicRfc9438 {
    const SOURCE: &'static str = "RFC 9438; RFC 9406 (HyStart++)";
    const PARAMS: Params<Self> = Params::of::<Config>();
}

impl CongestionControl for CubicRfc9438 {
    fn window(&mut self) -> Option<&mut dyn WindowControl> {
        Some(self)
    }
}

impl WindowControl for CubicRfc9438 {
    fn ssthresh(&mut self, window: &Window) -> u32 {
        self.reduce(window)
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack, _: bool) {
        self.cong_avoid(window, ack);
    }

    fn on_ack(&mut self, _: &mut Window, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.srtt = Some(self.srtt.map_or(rtt, |srtt| srtt + (rtt - srtt) / 8));
        }
    }

    fn event(&mut self, _: &mut Window, event: WindowEvent) {
        match event {
            WindowEvent::TimedOut => {
                // §4.8: the curve of the next stage starts at its plateau.
                self.stage = None;
                self.plateau_is_here = true;
            }
            WindowEvent::Restarted { now, last_sent } => {
                // §5.8: idle time does not count as time since the last reduction.
                if let Some(stage) = &mut self.stage {
                    stage.t_epoch = (stage.t_epoch + (now - last_sent)).min(now);
                }
            }
            WindowEvent::Reduced => {}
        }
    }

    fn min_cwnd(&mut self, window: &Window) -> u32 {
        window.ssthresh
    }

    fn undo_cwnd(&mut self, window: &Window) -> u32 {
        // §4.9.2
        (self.w_max, self.stage) = self.before;
        window.cwnd.max(self.cwnd_prior as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::super::GrowthCounting;
    use super::*;
    use crate::state::CaState;

    struct Connection {
        cubic: CubicRfc9438,
        window: Window,
        now: Instant,
        rtt: Duration,
    }

    impl Connection {
        /// Connection after its first slow start.
        fn new(cwnd: u32, rtt_ms: i64) -> Self {
            let counting = GrowthCounting::Packets;
            let window = Window { cwnd, ssthresh: 2, cwnd_cnt: 0, bytes_acked: 0, mss: 1448, counting };
            let (cubic, rtt) = (CubicRfc9438::default(), Duration::from_millis(rtt_ms));
            Self { cubic, window, now: Instant::ZERO, rtt }
        }

        fn lose(&mut self) {
            self.window.ssthresh = self.cubic.ssthresh(&self.window);
            self.window.cwnd = self.window.ssthresh;
        }

        fn round(&mut self) {
            let (acks, start) = (self.window.cwnd, self.now);
            for i in 1..=acks {
                self.now = start + Duration::from_nanos(self.rtt.as_nanos() * i as i64 / acks as i64);
                let ack = Ack {
                    now: self.now,
                    packets: 1,
                    rtt: Some(self.rtt),
                    una: 1,
                    nxt: 2,
                    state: CaState::Open,
                    one_way: None,
                    slow_path: false,
                };
                self.cubic.on_ack(&mut self.window, &ack);
                self.cubic.grow(&mut self.window, &ack, true);
            }
        }
    }

    #[test]
    fn k_is_the_cube_root_of_what_was_lost_over_c() {
        for (w_max, k) in [(10, 1.9574), (100, 4.2172), (1000, 9.0856)] {
            let mut path = Connection::new(w_max, 100);
            path.lose();
            path.round();
            let stage = path.cubic.stage.unwrap();
            assert!((stage.k - k).abs() < 5e-5, "{w_max} segments: {} s, expected {k} s", stage.k);
        }
    }

    #[test]
    fn the_window_follows_equation_1() {
        let mut path = Connection::new(2000, 100);
        path.lose();
        path.round();
        let (start, k) = (path.cubic.stage.unwrap().t_epoch, (600.0f64 / 0.4).cbrt());
        for _ in 0..200 {
            path.round();
            let t = (path.now - start).as_secs_f64();
            let expected = 0.4 * (t - k).powi(3) + 2000.0;
            let error = (path.window.cwnd as f64 - expected) / expected;
            assert!(error.abs() < 0.01, "after {t} s: {}, expected {expected}", path.window.cwnd);
        }
    }

    #[test]
    fn in_the_reno_friendly_region_it_grows_by_alpha_and_then_by_one() {
        // RTT 5 ms: a loss took 30 of 100 segments; alpha = 0.529 regains them in 57 round trips, then one per round
        // trip.
        let mut path = Connection::new(100, 5);
        path.lose();
        let windows: Vec<u32> = (0..157).map(|_| (path.round(), path.window.cwnd).1).collect();
        assert!((98..=101).contains(&windows[56]), "{windows:?}");
        let grown = windows[156] - windows[56];
        assert!((95..=101).contains(&grown), "{grown} in 100 round trips");
    }

    #[test]
    fn after_a_time_out_the_curve_starts_at_its_plateau() {
        let mut path = Connection::new(100, 100);
        path.lose();
        path.cubic.event(&mut path.window, WindowEvent::TimedOut);
        path.window.cwnd = 70;
        path.round();
        let stage = path.cubic.stage.unwrap();
        assert_eq!((stage.k, stage.w_max), (0.0, 70.0));
        // The next reduction starts from the window reached.
        path.lose();
        path.round();
        assert!(path.cubic.stage.unwrap().k > 1.0);
    }

    #[test]
    fn fast_convergence_and_its_undoing() {
        let mut path = Connection::new(100, 100);
        path.lose();
        path.round();
        path.window.cwnd = 80;
        path.lose();
        assert_eq!((path.window.ssthresh, path.cubic.w_max), (56, 68.0));
        assert_eq!(path.cubic.undo_cwnd(&path.window), 80);
        assert_eq!(path.cubic.w_max, 100.0);
        assert!(path.cubic.stage.is_some(), "the stage goes on");
    }

    #[test]
    fn equation_1_and_the_reductions_follow_the_parameters() {
        for (beta, c, fast_convergence) in [(0.5, 0.4, true), (0.7, 4.0, false), (0.9, 0.05, true)] {
            let mut path = Connection::new(2000, 100);
            path.cubic = CubicRfc9438::from(Config { beta, c, fast_convergence, ..Config::default() });
            path.lose();
            assert_eq!(path.window.cwnd, (2000.0 * beta) as u32);
            path.round();
            let stage = path.cubic.stage.unwrap();
            let k = (2000.0 * (1.0 - beta) / c).cbrt();
            assert!((stage.k - k).abs() < 1e-3 * k, "{} s, expected {k} s", stage.k);
            for _ in 0..60 {
                path.round();
            }
            let t = (path.now - stage.t_epoch).as_secs_f64();
            let expected = c * (t - k).powi(3) + 2000.0;
            let error = (path.window.cwnd as f64 - expected) / expected;
            assert!(error.abs() < 0.02, "after {t} s: {}, expected {expected}", path.window.cwnd);
            path.window.cwnd = 1900;
            path.lose();
            let w_max = if fast_convergence { 1900.0 * (1.0 + beta) / 2.0 } else { 1900.0 };
            assert_eq!(path.cubic.w_max, w_max);
        }
    }

    #[test]
    fn the_reno_friendly_region_grows_by_the_alpha_of_beta() {
        // alpha = 3 (1 - 0.5) / (1 + 0.5) = 1: 50 segments in 50 round trips.
        let mut path = Connection::new(100, 5);
        path.cubic = CubicRfc9438::from(Config { beta: 0.5, ..Config::default() });
        path.lose();
        (0..50).for_each(|_| path.round());
        assert!((98..=101).contains(&path.window.cwnd), "{}", path.window.cwnd);
    }

    #[test]
    fn without_hystart_the_first_slow_start_does_not_end_by_delay() {
        let mut path = Connection::new(10, 100);
        path.cubic = CubicRfc9438::from(Config { hystart: false, ..Config::default() });
        path.window.ssthresh = Window::INFINITE_SSTHRESH;
        for rtt_ms in [100, 100, 120, 150, 200] {
            path.rtt = Duration::from_millis(rtt_ms);
            path.round();
        }
        assert_eq!((path.window.cwnd, path.window.ssthresh), (320, Window::INFINITE_SSTHRESH));
    }

    #[test]
    fn a_rising_rtt_ends_the_first_slow_start() {
        let mut path = Connection::new(10, 100);
        path.window.ssthresh = Window::INFINITE_SSTHRESH;
        let mut una = 0;
        for round in 0..12 {
            // From the third round trip on there is a queue.
            let rtt = Duration::from_millis(if round < 3 { 100 } else { 120 });
            let nxt = una + path.window.cwnd as u64 * 2;
            for _ in 0..path.window.cwnd {
                una += 1;
                let ack = Ack {
                    now: path.now,
                    packets: 1,
                    rtt: Some(rtt),
                    una,
                    nxt,
                    state: CaState::Open,
                    one_way: None,
                    slow_path: false,
                };
                path.cubic.on_ack(&mut path.window, &ack);
                path.cubic.grow(&mut path.window, &ack, true);
            }
            una = nxt;
            path.now += rtt;
        }
        // Windows 10, 20, 40, 80; eight acknowledgments later conservative slow start: 1.25 per round trip, five times.
        let expected = (88.0 + 72.0 / 4.0) * 1.25f64.powi(4);
        let ssthresh = path.window.ssthresh as f64;
        assert!((ssthresh / expected - 1.0).abs() < 0.05, "{ssthresh}, expected {expected}");
        assert!(path.window.cwnd < path.window.ssthresh + 10);
    }
}
