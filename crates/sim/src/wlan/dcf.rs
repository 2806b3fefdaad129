//! The distributed coordination function (DCF): next transmitter and back-offs.
//!
//! Source: IEEE 802.11-2012 §9.3. Slots are not simulated one by one: a station's transmission time follows from its
//! counter and the instant from which it counts; a busy medium subtracts the whole slots that have passed.
//!
//! After a collision or an error, stations resume at different times, depending on what they received: colliders after
//! the ACK timeout and a DIFS, stations with an undecodable frame after an EIFS, stations that decoded the frame after
//! its acknowledgment, sent or not.

use crate::radio::phy::{ACK_TIMEOUT_EXTRA, EIFS_EXTRA, SIFS};
use sojourn_aqm::{Duration, Instant, Rng};

/// The stations that share a channel, without hidden nodes.
#[derive(Clone, Debug)]
pub struct Dcf {
    contenders: Vec<Contender>,
    slot: Duration,
    /// Additional wait after a frame that a station could not decode.
    after_error: Duration,
}

/// Contention parameters: `aifs`, `cwmin` and `cwmax` of hostapd.
#[derive(Clone, Copy, Debug)]
pub struct Contention {
    /// Idle slots after a SIFS before the back-off counts; 2 make a DIFS.
    pub aifs: u32,
    /// Initial and maximum contention window, in slots.
    pub cwmin: u32,
    pub cwmax: u32,
}

/// A station's contention state.
#[derive(Clone, Debug)]
struct Contender {
    rules: Contention,
    /// Idle time of the medium before slots count: the station's AIFS.
    pause: Duration,
    /// Slots count from this instant.
    available: Instant,
    /// Remaining back-off time.
    backoff: Duration,
    /// Current contention window: the maximum back-off in slots.
    window: u32,
    /// Whether there is a frame to send.
    has_frame: bool,
    /// When the station transmits if the medium stays idle; never without a frame.
    start: Instant,
    rng: Rng,
}

impl Dcf {
    /// Stations on a medium that has been idle for long. With `eifs`, a frame that could not be decoded is followed by
    /// an EIFS, as in the standard; otherwise as if the receiver had not detected it. Each draws its back-offs from its
    /// `stream`.
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

    /// Station `i`, which had nothing to send, has a frame. It transmits at once on an idle medium, unless the back-off
    /// after its last transmission is still running; on a busy medium it draws a back-off.
    pub fn on_frame(&mut self, now: Instant, i: usize) {
        let station = &mut self.contenders[i];
        debug_assert!(!station.has_frame, "a station with a frame is contending");
        station.has_frame = true;
        if now >= station.backoff_end() {
            (station.available, station.backoff) = (now, Duration::ZERO);
        } else if now < station.available && station.backoff == Duration::ZERO {
            station.draw(self.slot);
        }
        station.update_start();
    }

    /// Station `i` has nothing left to send. Its back-off continues.
    pub fn on_empty(&mut self, i: usize) {
        let station = &mut self.contenders[i];
        (station.has_frame, station.start) = (false, Instant::NEVER);
    }

    /// Whether station `i` has a frame.
    pub fn is_contending(&self, i: usize) -> bool {
        self.contenders[i].has_frame
    }

    /// When station `i` starts to count slots.
    pub fn available(&self, i: usize) -> Instant {
        self.contenders[i].available
    }

    /// When the next transmission starts if the medium stays idle; never if no station has a frame.
    pub fn next(&self) -> Instant {
        self.contenders.iter().fold(Instant::NEVER, |next, station| next.min(station.start))
    }

    /// The medium turns busy at `now`. Stations whose back-off ends now transmit; their indices replace the contents of
    /// `transmitters`. All others keep their back-off less the whole slots that have passed. The caller then reports to
    /// each station how the busy period ended.
    #[inline(always)]
    pub fn on_busy(&mut self, now: Instant, transmitters: &mut Vec<usize>) {
        transmitters.clear();
        let slot = self.slot.as_nanos() as u64;
        for (i, station) in self.contenders.iter_mut().enumerate() {
            if station.start == now {
                station.backoff = Duration::ZERO;
                transmitters.push(i);
            } else if station.backoff > Duration::ZERO && now > station.available {
                let idle = (now - station.available).as_nanos() as u64;
                let counted = Duration::from_nanos((idle - idle % slot) as i64);
                station.backoff -= counted.min(station.backoff);
            }
        }
    }

    /// Station `i` has decoded all frames up to `end`, when the medium falls idle.
    pub fn on_frame_ok(&mut self, i: usize, end: Instant) {
        self.contenders[i].set_idle_from(end);
    }

    /// [`Self::on_frame_ok`] for all stations.
    pub fn on_frame_ok_all(&mut self, end: Instant) {
        self.contenders.iter_mut().for_each(|station| station.set_idle_from(end));
    }

    /// Station `i` could not decode a frame that ended at `end`.
    pub fn on_frame_error(&mut self, i: usize, end: Instant) {
        self.contenders[i].set_idle_from(end + self.after_error);
    }

    /// Station `i` gets no acknowledgment of its frame, which ends at `end`; the medium is busy until `idle`.
    pub fn on_ack_timeout(&mut self, i: usize, end: Instant, idle: Instant) {
        let noticed = end + ACK_TIMEOUT_EXTRA + self.slot;
        self.contenders[i].set_idle_from(idle.max(noticed));
    }

    /// The attempt of station `i` has failed and is repeated: its window doubles.
    pub fn on_retry(&mut self, i: usize) {
        let station = &mut self.contenders[i];
        station.window = (2 * station.window + 1).min(station.rules.cwmax);
        station.draw(self.slot);
        station.update_start();
    }

    /// Station `i` has completed a frame: acknowledged or abandoned.
    pub fn on_complete(&mut self, i: usize) {
        let station = &mut self.contenders[i];
        station.window = station.rules.cwmin;
        station.draw(self.slot);
        station.update_start();
    }
}

impl Contender {
    /// The station detects the medium as idle from `end`.
    #[inline(always)]
    fn set_idle_from(&mut self, end: Instant) {
        self.available = end + self.pause;
        self.update_start();
    }

    /// Updates `start`.
    #[inline(always)]
    fn update_start(&mut self) {
        self.start = if self.has_frame { self.backoff_end() } else { Instant::NEVER };
    }

    /// When the back-off ends.
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

    /// Stations with the given back-offs after a busy period that ended at `end`.
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

    /// Remaining back-off of a station in slots.
    fn slots(dcf: &Dcf, i: usize) -> u32 {
        let backoff = dcf.contenders[i].backoff.as_nanos();
        assert_eq!(backoff % dcf.slot.as_nanos(), 0, "whole slots");
        (backoff / dcf.slot.as_nanos()) as u32
    }

    #[test]
    fn counters_freeze_while_the_medium_is_busy() {
        let (mut dcf, mut transmitters) = (contending(&[3, 5, 1], us(100)), Vec::new());
        assert_eq!(dcf.next(), us(100 + 28 + 9));
        dcf.on_busy(us(137), &mut transmitters);
        assert_eq!((&transmitters[..], backoffs(&dcf)), (&[2][..], vec![2, 4, 0]));
        dcf.on_empty(2);
        (0..3).for_each(|i| dcf.on_frame_ok(i, us(500)));
        assert_eq!(dcf.next(), us(500 + 28 + 18));
        dcf.on_busy(us(546), &mut transmitters);
        assert_eq!((&transmitters[..], backoffs(&dcf)), (&[0][..], vec![0, 2, 0]));
    }

    #[test]
    fn a_slot_in_which_the_medium_turns_busy_does_not_count() {
        // The second station waits for EIFS, so its slot boundaries differ from the first one's.
        let (mut dcf, mut transmitters) = (contending(&[9, 3], us(0)), Vec::new());
        dcf.on_frame_error(1, us(0));
        assert_eq!(dcf.next(), us(28 + 81));
        // 21 us after the EIFS: two whole slots and a part of the third.
        dcf.on_busy(us(109), &mut transmitters);
        assert_eq!((&transmitters[..], backoffs(&dcf)), (&[0][..], vec![0, 1]));
    }

    #[test]
    fn equal_counters_collide() {
        let (mut dcf, mut transmitters) = (contending(&[4, 7, 4], us(0)), Vec::new());
        dcf.on_busy(dcf.next(), &mut transmitters);
        assert_eq!(transmitters, [0, 2]);
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
        let (mut dcf, mut transmitters) = (contending(&[2, 6], us(0)), Vec::new());
        dcf.on_empty(1);
        dcf.on_busy(us(28 + 18), &mut transmitters);
        assert_eq!((&transmitters[..], backoffs(&dcf)), (&[0][..], vec![0, 4]));
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
        assert_eq!(
            dcf.contenders.iter().map(|station| station.available).collect::<Vec<_>>(),
            [us(528), us(588), us(528)]
        );
        dcf.on_ack_timeout(2, us(480), us(500));
        assert_eq!(dcf.contenders[2].available, us(480 + 39 + 28));
        let mut lenient = usual(1, false);
        lenient.on_frame_error(0, us(500));
        assert_eq!(lenient.contenders[0].available, us(528));
    }
    #[test]
    fn every_station_waits_by_its_own_rules() {
        // hostapd's access point: one slot longer than a DIFS, and a window that doubles twice.
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
