//! The distributed coordination function: who transmits next, and how long everybody waits then.
//!
//! Source: IEEE 802.11-2012 §9.3. Slots are not simulated one by one: a station's counter and the instant from which it
//! may count tell when it would transmit, and a busy medium takes off the whole slots that have passed.

use crate::radio::phy::{ACK_TIMEOUT_EXTRA, EIFS_EXTRA, SIFS};
use sojourn_aqm::{Duration, Instant, Rng};

/// All stations that share a channel, each hearing all others.
#[derive(Clone, Debug)]
pub struct Dcf {
    contenders: Vec<Contender>,
    slot: Duration,
    /// What a station waits longer after a frame that it could not understand.
    after_error: Duration,
}

/// How a station contends: `aifs`, `cwmin` and `cwmax` of hostapd.
#[derive(Clone, Copy, Debug)]
pub struct Contention {
    /// Slots after a SIFS for which the medium has to be idle before others are counted; 2 make a DIFS.
    pub aifs: u32,
    /// The window of the first attempt, and the largest one.
    pub cwmin: u32,
    pub cwmax: u32,
}

/// A station's part in the contention.
#[derive(Clone, Debug)]
struct Contender {
    rules: Contention,
    /// For how long the medium has to be idle before slots are counted.
    pause: Duration,
    /// Slots are counted from here on.
    available: Instant,
    /// How long those take that are still to count.
    backoff: Duration,
    /// The back-off is drawn from 0 to this.
    window: u32,
    /// Whether there is a frame to send.
    has_frame: bool,
    /// When it transmits if nothing else happens: slots are counted up to then; never if there is nothing to send.
    start: Instant,
    rng: Rng,
}

impl Dcf {
    /// Stations with these rules that have all heard the medium idle for long. With `eifs` a frame that was not
    /// understood is followed by an EIFS, as the standard has it; else as if the receiver had not even noticed it. Each draws
    /// its back-offs from its `stream`.
    pub fn new(
        rules: impl Iterator<Item = Contention>,
        slot: Duration,
        stream: impl Fn(usize) -> Rng,
        eifs: bool,
    ) -> Self {
        let contender = |(i, rules): (usize, Contention)| Contender {
            rules,
            pause: SIFS + slot * i64::from(rules.aifs),
            available: Instant::ZERO,
            backoff: Duration::ZERO,
            window: rules.cwmin,
            has_frame: false,
            start: Instant::NEVER,
            rng: stream(i),
        };
        let after_error = if eifs { EIFS_EXTRA } else { Duration::ZERO };
        Self { contenders: rules.enumerate().map(contender).collect(), slot, after_error }
    }

    /// Station `i`, which had nothing to send, has a frame: an idle medium is used at once, unless the back-off after
    /// the last transmission is still running; a busy one calls for a back-off.
    pub fn on_frame(&mut self, now: Instant, i: usize) {
        let it = &mut self.contenders[i];
        debug_assert!(!it.has_frame, "a station with a frame is contending");
        it.has_frame = true;
        if now >= it.backoff_end() {
            (it.available, it.backoff) = (now, Duration::ZERO);
        } else if now < it.available && it.backoff == Duration::ZERO {
            it.draw(self.slot);
        }
        it.update_start();
    }

    /// Station `i` has nothing left to send. Its back-off goes on.
    pub fn on_empty(&mut self, i: usize) {
        let it = &mut self.contenders[i];
        (it.has_frame, it.start) = (false, Instant::NEVER);
    }

    /// Whether station `i` has a frame.
    pub fn is_contending(&self, i: usize) -> bool {
        self.contenders[i].has_frame
    }

    /// From when on station `i` counts slots: the medium has been idle for long enough.
    pub fn available(&self, i: usize) -> Instant {
        self.contenders[i].available
    }

    /// When the next transmission starts if nothing else happens; never if nobody has a frame.
    pub fn next(&self) -> Instant {
        self.contenders.iter().fold(Instant::NEVER, |next, it| next.min(it.start))
    }

    /// The medium turns busy at `now`: all whose counters end now transmit, and are written to `who` in their order.
    /// Everybody else keeps what is left after the whole slots. Who has heard what then tells when they go on.
    #[inline(always)]
    pub fn on_busy(&mut self, now: Instant, transmitters: &mut Vec<usize>) {
        transmitters.clear();
        let slot = self.slot.as_nanos() as u64;
        for (i, it) in self.contenders.iter_mut().enumerate() {
            if it.start == now {
                it.backoff = Duration::ZERO;
                transmitters.push(i);
            } else if it.backoff > Duration::ZERO && now > it.available {
                let idle = (now - it.available).as_nanos() as u64;
                let counted = Duration::from_nanos((idle - idle % slot) as i64);
                it.backoff -= counted.min(it.backoff);
            }
        }
    }

    /// Station `i` has heard everything well up to `end`, when the medium falls idle.
    pub fn on_frame_ok(&mut self, i: usize, end: Instant) {
        self.contenders[i].set_idle_from(end);
    }

    /// The same of all of them.
    pub fn on_frame_ok_all(&mut self, end: Instant) {
        self.contenders.iter_mut().for_each(|it| it.set_idle_from(end));
    }

    /// Station `i` has heard something up to `end` that it could not understand.
    pub fn on_frame_error(&mut self, i: usize, end: Instant) {
        self.contenders[i].set_idle_from(end + self.after_error);
    }

    /// Nobody answers station `i`, whose frame ends at `end`; the medium is busy until `idle`.
    pub fn on_ack_timeout(&mut self, i: usize, end: Instant, idle: Instant) {
        let noticed = end + ACK_TIMEOUT_EXTRA + self.slot;
        self.contenders[i].set_idle_from(idle.max(noticed));
    }

    /// The attempt of station `i` was in vain and there will be another one: its window doubles.
    pub fn on_retry(&mut self, i: usize) {
        let it = &mut self.contenders[i];
        it.window = (2 * it.window + 1).min(it.rules.cwmax);
        it.draw(self.slot);
        it.update_start();
    }

    /// Station `i` is through with a frame: acknowledged, or given up.
    pub fn on_complete(&mut self, i: usize) {
        let it = &mut self.contenders[i];
        it.window = it.rules.cwmin;
        it.draw(self.slot);
        it.update_start();
    }
}

impl Contender {
    /// The medium is idle from `end` on, as far as it can tell.
    #[inline(always)]
    fn set_idle_from(&mut self, end: Instant) {
        self.available = end + self.pause;
        self.update_start();
    }

    /// Looks when its slots are counted.
    #[inline(always)]
    fn update_start(&mut self) {
        self.start = if self.has_frame { self.backoff_end() } else { Instant::NEVER };
    }

    /// When the last of its slots is over.
    #[inline(always)]
    fn backoff_end(&self) -> Instant {
        self.available + self.backoff
    }

    fn draw(&mut self, slot: Duration) {
        self.backoff = slot * self.rng.below(u64::from(self.window) + 1) as i64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::radio::phy::{LONG_SLOT, SHORT_SLOT};

    fn us(n: u64) -> Instant {
        Instant::from_nanos(n * 1_000)
    }

    fn stream(station: usize) -> Rng {
        Rng::stream(1, "backoff", station as u64)
    }

    const USUAL: Contention = Contention { aifs: 2, cwmin: 15, cwmax: 1023 };

    fn usual(stations: usize, eifs: bool) -> Dcf {
        Dcf::new(std::iter::repeat_n(USUAL, stations), SHORT_SLOT, stream, eifs)
    }

    /// Stations with these back-offs after a busy period that ended at `end`.
    fn contending(backoffs: &[u32], end: Instant) -> Dcf {
        let mut dcf = usual(backoffs.len(), true);
        for (i, &backoff) in backoffs.iter().enumerate() {
            dcf.on_frame_ok(i, end);
            dcf.contenders[i].backoff = dcf.slot * i64::from(backoff);
            dcf.contenders[i].has_frame = true;
            dcf.contenders[i].update_start();
        }
        dcf
    }

    fn backoffs(dcf: &Dcf) -> Vec<u32> {
        (0..dcf.contenders.len()).map(|i| slots(dcf, i)).collect()
    }

    /// The slots that a station has still to count.
    fn slots(dcf: &Dcf, i: usize) -> u32 {
        let backoff = dcf.contenders[i].backoff.as_nanos();
        assert_eq!(backoff % dcf.slot.as_nanos(), 0, "whole slots");
        (backoff / dcf.slot.as_nanos()) as u32
    }

    #[test]
    fn counters_freeze_while_the_medium_is_busy() {
        let (mut dcf, mut who) = (contending(&[3, 5, 1], us(100)), Vec::new());
        assert_eq!(dcf.next(), us(100 + 28 + 9));
        dcf.on_busy(us(137), &mut who);
        assert_eq!((&who[..], backoffs(&dcf)), (&[2][..], vec![2, 4, 0]));
        dcf.on_empty(2);
        (0..3).for_each(|i| dcf.on_frame_ok(i, us(500)));
        assert_eq!(dcf.next(), us(500 + 28 + 18));
        dcf.on_busy(us(546), &mut who);
        assert_eq!((&who[..], backoffs(&dcf)), (&[0][..], vec![0, 2, 0]));
    }

    #[test]
    fn a_slot_in_which_the_medium_turns_busy_does_not_count() {
        // The second station waits for EIFS, so its slots end between those of the first one.
        let (mut dcf, mut who) = (contending(&[9, 3], us(0)), Vec::new());
        dcf.on_frame_error(1, us(0));
        assert_eq!(dcf.next(), us(28 + 81));
        // 21 us after its EIFS: two whole slots, and a part of the third.
        dcf.on_busy(us(109), &mut who);
        assert_eq!((&who[..], backoffs(&dcf)), (&[0][..], vec![0, 1]));
    }

    #[test]
    fn equal_counters_collide() {
        let (mut dcf, mut who) = (contending(&[4, 7, 4], us(0)), Vec::new());
        dcf.on_busy(dcf.next(), &mut who);
        assert_eq!(who, [0, 2]);
    }

    #[test]
    fn a_frame_at_an_empty_station() {
        let with = |backoff, now| {
            let mut dcf = usual(1, true);
            dcf.on_frame_ok(0, us(100));
            dcf.contenders[0].backoff = dcf.slot * backoff;
            dcf.on_frame(us(now), 0);
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
        dcf.on_empty(1);
        dcf.on_busy(us(28 + 18), &mut who);
        assert_eq!((&who[..], backoffs(&dcf)), (&[0][..], vec![0, 4]));
    }

    #[test]
    fn windows_double_up_to_the_largest_and_fall_back() {
        let mut dcf = usual(1, true);
        let windows: Vec<u32> = (0..8)
            .map(|_| {
                dcf.on_retry(0);
                dcf.contenders[0].window
            })
            .collect();
        assert_eq!(windows, [31, 63, 127, 255, 511, 1023, 1023, 1023]);
        dcf.on_complete(0);
        assert_eq!(dcf.contenders[0].window, 15);
        let mut drawn = [0; 16];
        for _ in 0..16_000 {
            dcf.on_complete(0);
            drawn[slots(&dcf, 0) as usize] += 1;
        }
        assert!(drawn.iter().all(|&n| (850..1150).contains(&n)), "uniform from 0 to 15: {drawn:?}");
    }

    #[test]
    fn waits_after_a_busy_period() {
        let mut dcf = contending(&[0, 0, 0], us(0));
        dcf.on_frame_ok(0, us(500));
        dcf.on_frame_error(1, us(500));
        dcf.on_ack_timeout(2, us(300), us(500));
        assert_eq!(dcf.contenders.iter().map(|it| it.available).collect::<Vec<_>>(), [us(528), us(588), us(528)]);
        dcf.on_ack_timeout(2, us(480), us(500));
        assert_eq!(dcf.contenders[2].available, us(480 + 39 + 28));
        let mut lenient = usual(1, false);
        lenient.on_frame_error(0, us(500));
        assert_eq!(lenient.contenders[0].available, us(528));
    }
    #[test]
    fn every_station_waits_by_its_own_rules() {
        // hostapd's access point: a slot longer than a DIFS, and a window that doubles twice.
        let ap = Contention { aifs: 3, cwmin: 15, cwmax: 63 };
        let waits = |slot| {
            let mut dcf = Dcf::new([ap, USUAL].into_iter(), slot, stream, true);
            (0..2).for_each(|i| dcf.on_frame_ok(i, us(100)));
            let after_a_frame = [0, 1].map(|i| dcf.available(i));
            (0..2).for_each(|i| dcf.on_frame_error(i, us(100)));
            dcf.on_ack_timeout(1, us(100), us(100));
            (after_a_frame, [0, 1].map(|i| dcf.available(i)))
        };
        assert_eq!(waits(SHORT_SLOT), ([us(137), us(128)], [us(197), us(100 + 39 + 28)]));
        assert_eq!(waits(LONG_SLOT), ([us(170), us(150)], [us(230), us(100 + 50 + 50)]));
        let mut dcf = Dcf::new([ap].into_iter(), LONG_SLOT, stream, true);
        let windows = [0; 4].map(|_| {
            dcf.on_retry(0);
            dcf.contenders[0].window
        });
        assert_eq!(windows, [31, 63, 63, 63]);
        dcf.contenders[0].backoff = LONG_SLOT * 3;
        assert_eq!(dcf.contenders[0].backoff_end(), us(60));
    }
}
