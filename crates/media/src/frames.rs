//! Model of a video encoder: frames at a constant rate, with sizes that follow the target rate.
//!
//! A new target applies from the next frame. Key frames are larger than other frames by a factor; the others are
//! smaller so that the mean stays. The size of each frame is drawn uniformly around its nominal size. Of the models in
//! RFC 8593, which have more parameters, this one has the frame rate, the range of rates, key frames and the variation
//! of sizes.

use crate::HEADERS;
use sojourn_aqm::{Duration, Instant, Rng};

/// Parameters of a media source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Source {
    /// Minimum rate of the encoder, in bit/s.
    pub min_bps: f64,
    /// Initial rate, in bit/s.
    pub start_bps: f64,
    /// Maximum rate of the encoder, in bit/s.
    pub max_bps: f64,
    /// Frames per second; above zero.
    pub fps: u32,
    /// Time between key frames; `None` for no key frames.
    pub key_interval: Option<Duration>,
    /// Ratio of the size of a key frame to that of other frames; at least 1.
    pub key_ratio: f64,
    /// Maximum relative deviation of a frame's size from its nominal size, in [0, 1).
    pub spread: f64,
    /// Maximum payload of a packet in bytes; above zero.
    pub payload: u32,
    /// No frames are generated from the first of these instants until just before the second.
    pub pause: Option<(Instant, Instant)>,
}

impl Default for Source {
    fn default() -> Self {
        Self {
            min_bps: 150e3,
            start_bps: 150e3,
            max_bps: 1.5e6,
            fps: 30,
            key_interval: None,
            key_ratio: 1.0,
            spread: 0.0,
            payload: 1200,
            pause: None,
        }
    }
}

/// Generates the frames of a source.
#[derive(Clone, Debug)]
pub(crate) struct FrameGenerator {
    source: Source,
    start: Instant,
    stop: Instant,
    /// Index of the next frame since the start, counting through pauses.
    next: u64,
    rng: Rng,
}

impl FrameGenerator {
    pub fn new(source: Source, start: Instant, stop: Instant, rng: Rng) -> Self {
        Self { source, start, stop, next: 0, rng }
    }

    /// Time of the next frame; [`Instant::NEVER`] after the last one.
    pub fn due(&self) -> Instant {
        let at = self.at(self.next);
        if at < self.stop { at } else { Instant::NEVER }
    }

    /// Generates the next frame at a target rate; returns the payload of each packet.
    pub fn next(&mut self, rate_bps: f64) -> Vec<u32> {
        let Source { fps, spread, payload, .. } = self.source;
        let mean = rate_bps / 8.0 / f64::from(fps) * self.factor();
        let size = mean * (1.0 + spread * (2.0 * self.rng.uniform() - 1.0));
        self.next += 1;
        self.skip_pause();
        let packets = (size / f64::from(payload + HEADERS)).ceil().max(1.0);
        let body = ((size - packets * f64::from(HEADERS)) as u64).max(1);
        let packets = (packets as u64).min(body);
        (0..packets).map(|i| (body / packets + u64::from(i < body % packets)) as u32).collect()
    }

    /// Ratio of the next frame's nominal size to the mean size.
    fn factor(&self) -> f64 {
        let Source { key_ratio, .. } = self.source;
        let Some(every) = self.key_frame_interval() else { return 1.0 };
        let other = every as f64 / (every as f64 - 1.0 + key_ratio);
        if self.next % every == 0 { key_ratio * other } else { other }
    }

    /// Number of frames from one key frame to the next.
    fn key_frame_interval(&self) -> Option<u64> {
        let interval = self.source.key_interval?;
        Some(((interval.as_secs_f64() * f64::from(self.source.fps) + 0.5) as u64).max(1))
    }

    fn skip_pause(&mut self) {
        let Some((from, until)) = self.source.pause else { return };
        if self.at(self.next) >= from {
            while self.at(self.next) < until {
                self.next += 1;
            }
        }
    }

    /// Time of frame `number`. Integer arithmetic, so that no error accumulates.
    fn at(&self, number: u64) -> Instant {
        let nanos = u128::from(number) * 1_000_000_000 / u128::from(self.source.fps);
        self.start + Duration::from_nanos(nanos as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(source: Source) -> FrameGenerator {
        FrameGenerator::new(source, Instant::ZERO, Instant::NEVER, Rng::stream(91, "source", 3))
    }

    fn bytes(packets: &[u32]) -> u32 {
        packets.iter().map(|payload| payload + HEADERS).sum()
    }

    #[test]
    fn frames_have_the_rate_that_is_wanted_headers_included() {
        // 937 kbit/s at 24 frames per second are 4880.2 bytes: four packets of at most 1240.
        let mut source = frames(Source { fps: 24, ..Source::default() });
        let frame = source.next(937e3);
        assert_eq!((frame.len(), bytes(&frame)), (4, 4880));
        assert!(frame.iter().all(|&payload| payload <= 1200));
        // The minimum frame is one packet with one byte.
        assert_eq!(source.next(1.0), [1]);
    }

    #[test]
    fn key_frames_are_larger_and_the_mean_stays() {
        let source =
            Source { fps: 25, key_interval: Some(Duration::from_secs(2)), key_ratio: 6.0, ..Source::default() };
        let mut source = frames(source);
        let sizes: Vec<u32> = (0..100).map(|_| bytes(&source.next(2e6))).collect();
        let mean = sizes.iter().sum::<u32>() as f64 / 100.0;
        assert!((mean - 1e4).abs() < 2.0, "{mean}");
        for (number, size) in sizes.iter().enumerate() {
            // 50 / 55 of the mean size, and six times as much.
            let expected = if number % 50 == 0 { 54_545 } else { 9_090 };
            assert!(size.abs_diff(expected) <= 1, "{number}: {size}");
        }
    }

    #[test]
    fn sizes_vary_around_the_mean() {
        let mut source = frames(Source { spread: 0.3, ..Source::default() });
        let sizes: Vec<f64> = (0..9000).map(|_| f64::from(bytes(&source.next(1.2e6)))).collect();
        let mean = sizes.iter().sum::<f64>() / 9000.0;
        let variance = sizes.iter().map(|size| (size - mean) * (size - mean)).sum::<f64>() / 9000.0;
        // Uniform within ±30 %: the standard deviation is 0.3 / sqrt(3) of the mean.
        assert!((mean / 5000.0 - 1.0).abs() < 0.01, "{mean}");
        assert!((variance.sqrt() / mean / 0.173_205 - 1.0).abs() < 0.03, "{variance}");
        assert!(sizes.iter().all(|size| (3499.0..=6501.0).contains(size)));
    }

    #[test]
    fn frames_come_on_time_and_not_in_a_pause() {
        let ms = |ms| Instant::ZERO + Duration::from_millis(ms);
        let source = Source { fps: 7, pause: Some((ms(300), ms(900))), ..Source::default() };
        let mut source = FrameGenerator::new(source, Instant::ZERO, ms(1200), Rng::stream(1, "source", 0));
        let mut times = Vec::new();
        while source.due() < Instant::NEVER {
            times.push(source.due().as_nanos() / 1_000_000);
            source.next(1e6);
        }
        // Multiples of 1/7 s; 428, 571, 714 and 857 are in the pause, and 1285 is after the stop.
        assert_eq!(times, [0, 142, 285, 1000, 1142]);
    }
}
