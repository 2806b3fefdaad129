//! A camera, whose encoder follows the estimate of the bandwidth, and a player.

use crate::peer::Application;
use sojourn_net::{Cx, Duration, Instant};
use str0m::bwe::{Bitrate, BweKind};
use str0m::media::{MediaTime, Mid};
use str0m::{Event, Rtc};

/// Rates of the video.
pub const START: Bitrate = Bitrate::mbps(1);
pub const MAX: Bitrate = Bitrate::mbps(8);

/// Time of the first frame.
const FIRST: Instant = Instant::from_nanos(5_000_000);

/// 30 frames per second, whose sizes vary by a fifth.
pub struct Camera {
    mid: Mid,
    random: fastrand::Rng,
    /// Bits per second that the encoder aims at.
    target: f64,
    /// Frames captured so far.
    frames: u64,
}

impl Camera {
    pub fn new(mid: Mid, seed: u64) -> Self {
        Self { mid, random: fastrand::Rng::with_seed(seed), target: START.as_f64(), frames: 0 }
    }

    fn capture(&self) -> Instant {
        FIRST + Duration::from_nanos((self.frames * 1_000_000_000 / 30) as i64)
    }
}

impl Application for Camera {
    fn on_event(&mut self, cx: &mut Cx<'_>, event: Event) {
        if let Event::EgressBitrateEstimate(BweKind::Twcc { estimate, .. }) = event {
            // A tenth is left to headers and retransmissions.
            self.target = 0.9 * estimate.as_f64().min(MAX.as_f64());
            cx.note("target", self.target / 1e6);
        }
    }

    fn proceed(&mut self, cx: &mut Cx<'_>, rtc: &mut Rtc, now: std::time::Instant) {
        while self.capture() <= cx.now() {
            let (time, spread) = (self.capture(), 0.8 + 0.4 * self.random.f64());
            self.frames += 1;
            // Nothing is sent before the call is connected.
            let Some(writer) = rtc.is_connected().then(|| rtc.writer(self.mid)).flatten() else { continue };
            let pt = writer.payload_params().next().expect("VP8 is negotiated").pt();
            // The frame carries its time of capture.
            let mut frame = vec![0; ((self.target * spread / 240.0) as usize).max(16)];
            frame[8..16].copy_from_slice(&time.as_nanos().to_be_bytes());
            let bytes = frame.len() as u64;
            writer.write(pt, now, MediaTime::from_90khz(self.frames * 3_000), frame).expect("the type is known");
            cx.offered(bytes);
            cx.note("frame", bytes as f64);
        }
    }

    fn next(&self) -> Option<Instant> {
        Some(self.capture())
    }
}

/// Counts each complete frame, from its capture, as a transfer.
pub struct Player;

impl Application for Player {
    fn on_event(&mut self, cx: &mut Cx<'_>, event: Event) {
        let Event::MediaData(frame) = event else { return };
        let time = frame.data[8..16].try_into().expect("a slice of eight bytes");
        cx.completed(Instant::from_nanos(u64::from_be_bytes(time)), frame.data.len() as u64);
    }

    fn proceed(&mut self, _: &mut Cx<'_>, _: &mut Rtc, _: std::time::Instant) {}
}
