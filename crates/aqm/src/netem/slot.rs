//! Slots: packets leave in groups, as on a medium with intermittent access (`get_slot_next` of `sch_netem.c`).

use super::config::Settings;
use super::crandom::Crandom;
use super::distribution::DelayDistribution;
use crate::rng::Rng;

/// Start of the next slot, and the remainder of the current one.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    delays: SlotDelay,
    max_packets: i64,
    max_bytes: i64,
    /// In nanoseconds.
    next: i64,
    packets_left: i64,
    bytes_left: i64,
}

/// Time until the next slot, in nanoseconds.
#[derive(Clone, Debug)]
enum SlotDelay {
    Uniform { min: i64, span: i64 },
    Distributed(DelayDistribution),
}

impl Slots {
    /// Slots of `c`, starting at time zero; `None` if there are no slots.
    pub fn new(c: &Settings) -> Option<Self> {
        let (min, max) = (c.slot_min.as_nanos(), c.slot_max.as_nanos());
        let delays = if c.slot_jitter.as_nanos() > 0 {
            SlotDelay::Distributed(DelayDistribution::new(
                c.slot_delay.as_nanos(),
                c.slot_jitter.as_nanos() as i32,
                c.slot_distribution,
            ))
        } else if max > 0 || min > 0 {
            SlotDelay::Uniform { min, span: max.max(min) - min }
        } else {
            return None;
        };
        let bound = |max: u64| if max == 0 { i32::MAX as i64 } else { max as i64 };
        let (max_packets, max_bytes) = (bound(c.slot_packets), bound(c.slot_bytes.0));
        Some(Self { delays, max_packets, max_bytes, next: 0, packets_left: max_packets, bytes_left: max_bytes })
    }

    /// Starts a slot at `now`, when the queue was changed.
    pub fn begin(&mut self, now: i64) {
        self.next = now;
    }

    /// Start of the slot for a packet with departure time `time_to_send`, checked at `now`. A slot that started before
    /// the departure time is used up.
    #[inline]
    pub fn begins(&mut self, now: i64, time_to_send: i64, rng: &mut Rng) -> i64 {
        if self.next < time_to_send {
            self.renew(now, rng);
        }
        self.next
    }

    /// Charges a packet sent at `now` to the slot.
    #[inline]
    pub fn sent(&mut self, now: i64, len: u32, rng: &mut Rng) {
        self.packets_left -= 1;
        self.bytes_left -= len as i64;
        if self.packets_left <= 0 || self.bytes_left <= 0 {
            self.renew(now, rng);
        }
    }

    fn renew(&mut self, now: i64, rng: &mut Rng) {
        let delay = match &self.delays {
            SlotDelay::Uniform { min, span } => min + ((rng.next_u32() as i128 * *span as i128) >> 32) as i64,
            SlotDelay::Distributed(spread) => spread.next(&mut Crandom::new(0.0, 0), rng),
        };
        (self.next, self.packets_left, self.bytes_left) = (now + delay, self.max_packets, self.max_bytes);
    }
}
