//! Slots: packets leave in groups, as on a medium whose access is granted now and then (`get_slot_next` of
//! `sch_netem.c`).

use super::config::Settings;
use super::crandom::Crandom;
use super::distribution::DelayDistribution;
use crate::rng::Rng;

/// When a slot begins, and what is left of it.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    delays: SlotDelay,
    max_packets: i64,
    max_bytes: i64,
    /// Nanoseconds.
    next: i64,
    packets_left: i64,
    bytes_left: i64,
}

/// How long until the next slot, in nanoseconds.
#[derive(Clone, Debug)]
enum SlotDelay {
    Uniform { least: i64, span: i64 },
    Distributed(DelayDistribution),
}

impl Slots {
    /// Those of `c`, the first one at time zero; none where there are no slots.
    pub fn new(c: &Settings) -> Option<Self> {
        let (least, most) = (c.slot_min.as_nanos(), c.slot_max.as_nanos());
        let delays = if c.slot_jitter.as_nanos() > 0 {
            SlotDelay::Distributed(DelayDistribution::new(
                c.slot_delay.as_nanos(),
                c.slot_jitter.as_nanos() as i32,
                c.slot_distribution,
            ))
        } else if most > 0 || least > 0 {
            SlotDelay::Uniform { least, span: most.max(least) - least }
        } else {
            return None;
        };
        let bound = |most: u64| if most == 0 { i32::MAX as i64 } else { most as i64 };
        let (max_packets, max_bytes) = (bound(c.slot_packets), bound(c.slot_bytes.0));
        Some(Self { delays, max_packets, max_bytes, next: 0, packets_left: max_packets, bytes_left: max_bytes })
    }

    /// A slot begins at `now`, of a queue that was changed then.
    pub fn begin(&mut self, now: i64) {
        self.next = now;
    }

    /// When the slot begins, as a packet that may go at `time_to_send` finds it at `now`: a slot that begins before the
    /// packet could go is used up.
    #[inline]
    pub fn begins(&mut self, now: i64, time_to_send: i64, rng: &mut Rng) -> i64 {
        if self.next < time_to_send {
            self.renew(now, rng);
        }
        self.next
    }

    /// A packet leaves at `now`.
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
            SlotDelay::Uniform { least, span } => least + ((rng.next_u32() as i128 * *span as i128) >> 32) as i64,
            SlotDelay::Distributed(spread) => spread.next(&mut Crandom::new(0.0, 0), rng),
        };
        (self.next, self.packets_left, self.bytes_left) = (now + delay, self.max_packets, self.max_bytes);
    }
}
