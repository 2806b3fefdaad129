//! The distributed coordination function: who transmits next, and how long everybody waits then.
//!
//! Source: IEEE 802.11-2012 §9.3. Slots are not simulated one by one: a station's counter and the instant from which it
//! may count tell when it would transmit, and a busy medium takes off the whole slots that have passed.

use super::phy::{ACK_TIMEOUT, EIFS_SURPLUS, SLOT};
use sojourn_aqm::{Duration, Instant, Rng};

/// All stations that share a channel, each hearing all others.
#[derive(Clone, Debug)]
pub struct Dcf {
    contenders: Vec<Contender>,
    /// How much longer a station waits after a frame that it could not understand.
    after_error: Duration,
}

/// A station's part in the contention.
#[derive(Clone, Debug)]
struct Contender {
    /// How long the medium must be idle before slots are counted.
    idle_first: Duration,
    /// Slots are counted from here on.
    available: Instant,
    /// Slots still to count.
    backoff: u32,
    /// The back-off is drawn from 0 to this.
    window: u32,
    /// Whether there is a frame to send.
    waits: bool,
    rng: Rng,
}

impl Dcf {
    /// Stations that have all heard the medium idle for long, each with the time, a DIFS or an AIFS, for which it must be
    /// idle before the station counts slots. With `eifs` a frame that was not understood is followed by an EIFS, as the
    /// standard has it; else by no more than that time, as if the receiver had not even noticed it.
    pub fn new(idle_first: impl Iterator<Item = Duration>, seed: u64, eifs: bool) -> Self {
        let contender = |(i, idle_first)| Contender {
            idle_first,
            available: Instant::ZERO,
            backoff: 0,
            window: LEAST_WINDOW,
            waits: false,
            rng: Rng::stream(seed, "backoff", i as u64),
        };
        let after_error = if eifs { EIFS_SURPLUS } else { Duration::ZERO };
        Self { contenders: idle_first.enumerate().map(contender).collect(), after_error }
    }

    /// Station `i`, which had nothing to send, has a frame: an idle medium is used at once, unless the back-off after
    /// the last transmission is still running; a busy one calls for a back-off.
    pub fn frame_came(&mut self, now: Instant, i: usize) {
        let it = &mut self.contenders[i];
        debug_assert!(!it.waits, "a station with a frame is contending");
        it.waits = true;
        if now >= it.start() {
            (it.available, it.backoff) = (now, 0);
        } else if now < it.available && it.backoff == 0 {
            it.draw();
        }
    }

    /// Station `i` has nothing left to send. Its back-off goes on.
    pub fn is_empty(&mut self, i: usize) {
        self.contenders[i].waits = false;
    }

    /// Whether station `i` has a frame.
    pub fn is_contending(&self, i: usize) -> bool {
        self.contenders[i].waits
    }

    /// From when on station `i` counts slots: the medium has been idle for long enough.
    pub fn available(&self, i: usize) -> Instant {
        self.contenders[i].available
    }

    /// When the next transmission starts if nothing else happens; never if nobody has a frame.
    pub fn next(&self) -> Instant {
        let starts = self.contenders.iter().filter(|it| it.waits).map(Contender::start);
        starts.fold(Instant::NEVER, Instant::min)
    }

    /// The medium turns busy at `now`: all whose counters end now transmit, and are written to `who` in their order.
    /// Everybody else keeps what is left after the whole slots.
    pub fn turns_busy(&mut self, now: Instant, who: &mut Vec<usize>) {
        who.clear();
        for (i, it) in self.contenders.iter_mut().enumerate() {
            if it.waits && it.start() == now {
                it.backoff = 0;
                who.push(i);
            } else if now > it.available {
                let slots = (now - it.available).as_nanos() / SLOT.as_nanos();
                it.backoff = it.backoff.saturating_sub(slots.min(i64::from(u32::MAX)) as u32);
            }
        }
    }

    /// Station `i` has heard everything well up to `end`, when the medium falls idle.
    pub fn heard(&mut self, i: usize, end: Instant) {
        self.contenders[i].is_idle_from(end);
    }

    /// Station `i` has heard something up to `end` that it could not understand.
    pub fn heard_garbled(&mut self, i: usize, end: Instant) {
        self.contenders[i].is_idle_from(end + self.after_error);
    }

    /// Nobody answers station `i`, whose frame ends at `end`; the medium is busy until `idle`.
    pub fn heard_nothing(&mut self, i: usize, end: Instant, idle: Instant) {
        self.contenders[i].is_idle_from(idle.max(end + ACK_TIMEOUT));
    }

    /// The attempt of station `i` was in vain and there will be another one: its window doubles.
    pub fn failed(&mut self, i: usize) {
        let it = &mut self.contenders[i];
        it.window = (2 * it.window + 1).min(MOST_WINDOW);
        it.draw();
    }

    /// Station `i` is through with a frame: acknowledged, or given up.
    pub fn through(&mut self, i: usize) {
        let it = &mut self.contenders[i];
        it.window = LEAST_WINDOW;
        it.draw();
    }
}

impl Contender {
    fn start(&self) -> Instant {
        self.available + SLOT * i64::from(self.backoff)
    }

    fn is_idle_from(&mut self, idle: Instant) {
        self.available = idle + self.idle_first;
    }

    fn draw(&mut self) {
        self.backoff = self.rng.below(u64::from(self.window) + 1) as u32;
    }
}

/// aCWmin and aCWmax of the ERP.
const LEAST_WINDOW: u32 = 15;
const MOST_WINDOW: u32 = 1023;

#[cfg(test)]
mod tests {
    use super::super::phy::{AIFS, DIFS};
    use super::*;

    fn of(stations: usize, eifs: bool) -> Dcf {
        Dcf::new(std::iter::repeat_n(DIFS, stations), 1, eifs)
    }

    fn us(n: u64) -> Instant {
        Instant::from_nanos(n * 1_000)
    }

    /// Stations with these back-offs after a busy period that ended at `end`.
    fn contending(backoffs: &[u32], end: Instant) -> Dcf {
        let mut dcf = of(backoffs.len(), true);
        for (i, &backoff) in backoffs.iter().enumerate() {
            dcf.heard(i, end);
            dcf.contenders[i].backoff = backoff;
            dcf.contenders[i].waits = true;
        }
        dcf
    }

    fn backoffs(dcf: &Dcf) -> Vec<u32> {
        dcf.contenders.iter().map(|it| it.backoff).collect()
    }

    #[test]
    fn counters_freeze_while_the_medium_is_busy() {
        let (mut dcf, mut who) = (contending(&[3, 5, 1], us(100)), Vec::new());
        assert_eq!(dcf.next(), us(100 + 28 + 9));
        dcf.turns_busy(us(137), &mut who);
        assert_eq!((&who[..], backoffs(&dcf)), (&[2][..], vec![2, 4, 0]));
        dcf.is_empty(2);
        (0..3).for_each(|i| dcf.heard(i, us(500)));
        assert_eq!(dcf.next(), us(500 + 28 + 18));
        dcf.turns_busy(us(546), &mut who);
        assert_eq!((&who[..], backoffs(&dcf)), (&[0][..], vec![0, 2, 0]));
    }

    #[test]
    fn a_slot_in_which_the_medium_turns_busy_does_not_count() {
        // The second station waits for EIFS, so its slots end between those of the first one.
        let (mut dcf, mut who) = (contending(&[9, 3], us(0)), Vec::new());
        dcf.heard_garbled(1, us(0));
        assert_eq!(dcf.next(), us(28 + 81));
        // 21 us after its EIFS: two whole slots, and a part of the third.
        dcf.turns_busy(us(109), &mut who);
        assert_eq!((&who[..], backoffs(&dcf)), (&[0][..], vec![0, 1]));
    }

    #[test]
    fn equal_counters_collide() {
        let (mut dcf, mut who) = (contending(&[4, 7, 4], us(0)), Vec::new());
        dcf.turns_busy(dcf.next(), &mut who);
        assert_eq!(who, [0, 2]);
    }

    #[test]
    fn a_frame_at_an_empty_station() {
        let with = |backoff, now| {
            let mut dcf = of(1, true);
            dcf.heard(0, us(100));
            dcf.contenders[0].backoff = backoff;
            dcf.frame_came(us(now), 0);
            (dcf.next(), backoffs(&dcf)[0])
        };
        assert_eq!(with(0, 1_000), (us(1_000), 0), "idle for long: at once");
        assert_eq!(with(0, 128), (us(128), 0), "idle for a DIFS: at once");
        assert_eq!(with(3, 140), (us(155), 3), "the back-off after the last frame is still running");
        assert_eq!(with(3, 156), (us(156), 0), "it has run out");
        let (start, backoff) = with(0, 127);
        assert!(start == us(128 + 9 * u64::from(backoff)) && backoff <= 15, "not yet idle for a DIFS: drawn anew");
    }

    #[test]
    fn an_empty_station_counts_on_while_others_send() {
        let (mut dcf, mut who) = (contending(&[2, 6], us(0)), Vec::new());
        dcf.is_empty(1);
        dcf.turns_busy(us(28 + 18), &mut who);
        assert_eq!((&who[..], backoffs(&dcf)), (&[0][..], vec![0, 4]));
    }

    #[test]
    fn windows_double_up_to_the_largest_and_fall_back() {
        let mut dcf = of(1, true);
        let windows: Vec<u32> = (0..8)
            .map(|_| {
                dcf.failed(0);
                dcf.contenders[0].window
            })
            .collect();
        assert_eq!(windows, [31, 63, 127, 255, 511, 1023, 1023, 1023]);
        dcf.through(0);
        assert_eq!(dcf.contenders[0].window, 15);
        let mut drawn = [0; 16];
        for _ in 0..16_000 {
            dcf.through(0);
            drawn[dcf.contenders[0].backoff as usize] += 1;
        }
        assert!(drawn.iter().all(|&n| (850..1150).contains(&n)), "uniform from 0 to 15: {drawn:?}");
    }

    #[test]
    fn waits_after_a_busy_period() {
        let mut dcf = contending(&[0, 0, 0], us(0));
        dcf.heard(0, us(500));
        dcf.heard_garbled(1, us(500));
        dcf.heard_nothing(2, us(300), us(500));
        assert_eq!(dcf.contenders.iter().map(|it| it.available).collect::<Vec<_>>(), [us(528), us(588), us(528)]);
        dcf.heard_nothing(2, us(480), us(500));
        assert_eq!(dcf.contenders[2].available, us(480 + 39 + 28));
        let mut qos = Dcf::new([DIFS, AIFS].into_iter(), 1, true);
        qos.heard(1, us(500));
        assert_eq!(qos.contenders[1].available, us(537));
        qos.heard_garbled(1, us(500));
        assert_eq!(qos.contenders[1].available, us(597));
        let mut lenient = of(1, false);
        lenient.heard_garbled(0, us(500));
        assert_eq!(lenient.contenders[0].available, us(528));
    }
}
